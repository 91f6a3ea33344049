"""One question, two searches, one order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from thermocline.clock import from_micros, to_micros
from thermocline.model import Priority, Tier
from thermocline.rank import Evidence, Ranked, Weights, Worded, coverage, newer_first, rank
from thermocline.services.vectors import Asked, Vectorizer
from thermocline.settings import Settings
from thermocline.storage.store import Candidate, Filter, Record, Saying, Store
from thermocline.text.words import is_fragment, weighed_words, words
from thermocline.when import nearness, spans

__all__ = ["Question", "Ranking", "Search"]

_FIRST_PERSON = re.compile(r"\b(?:i|my|me|mine|myself|i'm|i've|i'd)\b", re.IGNORECASE)
#: How an assistant's log names the person it talks with.
_USER = "user"
#: How many of the best candidates are compared with each other.
_FRONT = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A query with everything that limits its answer, except how many hits are wanted."""

    text: str
    spaces: tuple[int, ...]
    tiers: tuple[Tier, ...]
    where: Filter
    min_score: float
    #: Whether lower tiers rank lower (queries that span all tiers).
    penalise: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranking:
    """All candidates in order, pinned ones apart, and what did not work."""

    ranked: list[Ranked] = field(default_factory=list)
    pinned: list[tuple[Record, Ranked]] = field(default_factory=list)
    degraded: tuple[str, ...] = ()


class Search:
    """Hybrid search over one store."""

    def __init__(self, store: Store, vectorizer: Vectorizer, settings: Settings) -> None:
        self._store = store
        self._vectorizer = vectorizer
        self._settings = settings

    def rank(self, question: Question) -> Ranking:
        """Return every candidate of both legs in order; the pool does not depend on any limit."""
        weights = Weights.of(self._settings, penalise=question.penalise)
        now = to_micros(question.where.now)
        weighed = weighed_words(question.text)
        pinned = self._store.pinned(question.spaces, question.where.now)
        strengths = self._text_leg(question, weighed)
        asked = self._vectorizer.for_query(question.text)
        candidates, cosines, degraded = self._gather(question, asked, strengths, pinned)
        sayings = self._store.sayings(list(candidates))
        evidence = self._evidence(question, candidates, cosines, strengths, weighed, sayings)
        scale = asked.scale
        records = {record.no: record for record in pinned}
        unpinned = [each for each in evidence if each.priority is not Priority.PINNED]
        ranked = rank(unpinned, weights, scale, now, question.min_score)
        return Ranking(
            ranked=newer_first(ranked, _versionable(ranked, candidates, sayings)),
            pinned=[
                (records[each.no], each)
                for each in rank([each for each in evidence if each.no in records], weights, scale, now, 0.0)
            ],
            degraded=degraded,
        )

    def records(self, nos: Sequence[int]) -> dict[int, Record]:
        """Return what was ranked, as it was when it was ranked: from the same place."""
        return self._store.records(nos)

    # Finding candidates

    def _text_leg(self, question: Question, weighed: Mapping[str, float]) -> dict[int, float]:
        found = self._store.search_text(
            question.spaces, question.tiers, list(weighed), self._settings.pool_size, question.where
        )
        return {each.no: each.strength for each in found}

    def _gather(
        self, question: Question, asked: Asked, strengths: Mapping[int, float], pinned: Sequence[Record]
    ) -> tuple[dict[int, Candidate], dict[int, float], tuple[str, ...]]:
        """Return what either leg found and may be shown, with cosines for all, and what is missing."""
        vector, cosines = asked.vector, dict[int, float]()
        degraded = [asked.reason] if asked.reason else []
        if vector is not None:
            found = self._store.search_vector(
                question.spaces, question.tiers, vector, self._settings.pool_size, question.where, asked.by
            )
            cosines = {each.no: each.strength for each in found}
        if late := self._store.behind():
            degraded.append(late)
        if self._vectorizer.enabled and (waiting := self._store.pending(question.spaces)):
            degraded.append(f"{waiting} memories wait for their vectors: run reembed")
        nos = list(dict.fromkeys([*cosines, *strengths]))
        shown = self._store.candidates(question.spaces, question.tiers, nos, question.where)
        if pinned:
            shown |= self._store.candidates(
                question.spaces, tuple(Tier), [record.no for record in pinned], question.where
            )
        if vector is not None:
            unseen = [no for no in shown if no not in cosines]
            if unseen:
                cosines |= self._store.similarities(question.spaces, tuple(Tier), unseen, vector, asked.by)
        return shown, cosines, tuple(degraded)

    # Weighing them

    def _evidence(
        self,
        question: Question,
        candidates: Mapping[int, Candidate],
        cosines: Mapping[int, float],
        strengths: Mapping[int, float],
        weighed: Mapping[str, float],
        sayings: Mapping[int, Saying],
    ) -> list[Evidence]:
        covered = self._coverage(question, sayings, weighed)
        asked = frozenset(weighed)
        authored = {no: saying.author for no, saying in sayings.items() if saying.author}
        personal = _FIRST_PERSON.search(question.text) is not None
        wanted = spans(question.text, question.where.now.date())
        return [
            Evidence(
                no=no,
                cosine=cosines.get(no),
                text=strengths.get(no),
                priority=each.priority,
                tier=each.tier,
                access_count=each.access_count,
                accessed_at=each.accessed_at,
                coverage=covered.get(no, 0.0),
                author=no in authored and _is_meant(authored[no], asked, personal=personal),
                nearness=nearness(from_micros(each.created_at).date(), wanted) if wanted else 0.0,
            )
            for no, each in candidates.items()
        ]

    def _coverage(
        self, question: Question, sayings: Mapping[int, Saying], weighed: Mapping[str, float]
    ) -> dict[int, float]:
        if not weighed or not sayings:
            return {}
        total, frequencies = self._store.frequencies(question.spaces, question.tiers, list(weighed))
        earlier = self._earlier(sayings)
        known = {**earlier, **sayings} if earlier else sayings
        # Words stand between spaces, so that one search for " word " tells whether a memory has it.
        asked = [(word, f" {word}" if is_fragment(word) else f" {word} ") for word in weighed]
        worded = {no: _worded(saying, known, asked) for no, saying in sayings.items()}
        return coverage(worded, weighed, total, frequencies)

    def _earlier(self, sayings: Mapping[int, Saying]) -> dict[int, Saying]:
        """Return what was said one and two turns before, where that is not known already."""
        found: dict[int, Saying] = {}
        asked = sayings
        for _ in range(2):
            missing = {each.previous for each in asked.values() if each.previous} - set(sayings) - set(found)
            if not missing:
                break
            asked = self._store.sayings(sorted(missing))
            found |= asked
        return found


def _worded(saying: Saying, known: Mapping[int, Saying], asked: Sequence[tuple[str, str]]) -> Worded:
    """Return which of the question's words a memory has, and those before it in its conversation."""
    before = []
    link = saying
    for _ in range(2):
        if link.previous is None or link.previous not in known:
            break
        link = known[link.previous]
        before.append((_having(link, asked), link.length))
    return Worded(_having(saying, asked), saying.length, before)


def _having(saying: Saying, asked: Sequence[tuple[str, str]]) -> frozenset[str]:
    text = saying.words
    return frozenset([word for word, spaced in asked if spaced in text])


def _versionable(
    ranked: Sequence[Ranked], candidates: Mapping[int, Candidate], sayings: Mapping[int, Saying]
) -> dict[int, frozenset[str]]:
    """Return the words of the best candidates that may be versions of each other."""
    return {
        each.no: frozenset(sayings[each.no].words.split())
        for each in ranked[:_FRONT]
        if each.no in sayings and candidates[each.no].kind != "message"
    }


def _is_meant(author: str, asked: frozenset[str], *, personal: bool) -> bool:
    """Tell whether the question is about what this author said."""
    if not author:
        return False
    return (personal and author.casefold() == _USER) or bool(asked & set(words(author)))
