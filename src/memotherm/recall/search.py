"""One question, two searches, one order."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice, repeat, zip_longest
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memotherm.embed.calibration import Scale
from memotherm.model import Priority, Tier
from memotherm.model.clock import from_micros, to_micros
from memotherm.recall.ranking import (
    IDEAS,
    Evidence,
    Ranked,
    TermMatrix,
    Weights,
    behind,
    coverage,
    newer_first,
    rank,
)
from memotherm.settings import Settings
from memotherm.storage.contract import Store
from memotherm.storage.values import CandidateRow, CandidateText, Filter, Record, Scores
from memotherm.text.times import nearness, spans
from memotherm.text.words import is_fragment, weighed_words, words
from memotherm.vectors.vectorizer import QueryVector, Vectorizer, missing_vectors

__all__ = ["Question", "Ranking", "Search"]

_FIRST_PERSON = re.compile(r"\b(?:i|my|me|mine|myself|i'm|i've|i'd)\b", re.IGNORECASE)
#: How an assistant's log names the person it talks with.
_USER = "user"
#: How surely a question is about what its author said when it only speaks of "I": a name is sure.
_PERSONAL = 0.7
#: How many candidates are ranked together; measured, more of them change nothing that comes first.
_BLOCK = 100
#: No memory has this number.
_NOBODY = 0
#: A query of more words than this says nothing more, and costs.
_MOST_WORDS = 64


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


class _Legs(NamedTuple):
    """What both legs found."""

    #: The memories, each leg naming its next best in turn.
    numbers: list[int]
    asked: QueryVector
    cosines: Scores
    strengths: Scores
    degraded: tuple[str, ...]


class Search:
    """Hybrid search over one store."""

    def __init__(self, store: Store, vectorizer: Vectorizer, settings: Settings) -> None:
        self._store = store
        self._vectorizer = vectorizer
        self._settings = settings
        #: What each idea is worth; an evaluation may leave one out.
        self.ideas = IDEAS

    def rank(self, question: Question, depth: int) -> Ranking:
        """Return the best candidates of both legs in order.

        They are ranked in blocks of a fixed size, and a later block stands behind an earlier one,
        so the answer for a smaller depth begins the answer for a larger one.

        Args:
            question: What is asked, and where to look.
            depth: How many candidates are wanted; one block is the least.
        """
        weighed = dict(islice(weighed_words(question.text, self.ideas.frame).items(), _MOST_WORDS))
        asked = self._vectorizer.for_query(question.text)
        size = min(self._settings.pool_size, _BLOCK * max(1, math.ceil(depth / _BLOCK)))
        # The question is embedded outside: a service may take its time, and a snapshot holds up others.
        with self._store.snapshot():
            pinned = self._store.pinned(question.spaces, question.where.now)
            found = self._legs(question, weighed, asked, size)
            ranking = self._ranked(question, found, found.numbers[:_BLOCK], pinned, weighed)
            for start in range(_BLOCK, len(found.numbers), _BLOCK):
                block = self._ranked(question, found, found.numbers[start : start + _BLOCK], (), weighed)
                ranking.ranked.extend(behind(ranking.ranked, block.ranked))
        return replace(ranking, degraded=(*([asked.reason] if asked.reason else ()), *found.degraded))

    def _ranked(
        self,
        question: Question,
        found: _Legs,
        numbers: Sequence[int],
        pinned: Sequence[Record],
        weighed: Mapping[str, float],
    ) -> Ranking:
        """Return one block of candidates in order, and pinned memories apart."""
        weights = Weights.of(self._settings, penalise=question.penalise, ideas=self.ideas)
        now = to_micros(question.where.now)
        candidates = self._candidates(question, numbers, pinned)
        scale = found.asked.scale
        evidence = self._evidence(question, found, candidates, weighed, scale)
        records = {record.no: record for record in pinned}
        loose = rank(evidence, weights, scale, now, question.min_score)
        if Priority.PINNED in evidence.priorities:
            loose = [each for each in loose if each.priority is not Priority.PINNED]
        held = [each for each in rank(evidence, weights, scale, now, 0.0) if each.no in records] if records else []
        return Ranking(
            ranked=newer_first(loose, _versionable(loose[: self.ideas.versions], candidates), self.ideas),
            pinned=[(records[each.no], each) for each in held],
        )

    def records(self, nos: Sequence[int]) -> Mapping[int, Record]:
        """Return what was ranked, as it was when it was ranked: from the same place."""
        return self._store.records(nos)

    # Finding candidates

    def _legs(self, question: Question, weighed: Mapping[str, float], asked: QueryVector, size: int) -> _Legs:
        """Return what each leg found, and what is missing."""
        worded = self._store.search_text(question.spaces, question.tiers, list(weighed), size, question.where)
        near: Scores = {}
        degraded: tuple[str, ...] = ()
        if asked.vector is not None:
            near = self._store.search_vector(
                question.spaces, question.tiers, asked.vector, size, question.where, asked.by
            )
        if late := self._store.replica_lag():
            degraded = (late,)
        if self._vectorizer.enabled and (waiting := self._store.pending(question.spaces)):
            degraded = (*degraded, missing_vectors(waiting))
        return _Legs(_in_turn(near, worded, size), asked, near, worded, degraded)

    def _candidates(
        self, question: Question, numbers: Sequence[int], pinned: Sequence[Record]
    ) -> dict[int, CandidateRow]:
        """Return those that may be shown; pinned memories are candidates in every tier."""
        shown = self._store.candidates(question.spaces, question.tiers, numbers, question.where)
        if pinned:
            held = [record.no for record in pinned]
            shown |= self._store.candidates(question.spaces, tuple(Tier), held, question.where)
        return shown

    # Weighing them

    def _evidence(
        self,
        question: Question,
        found: _Legs,
        candidates: Mapping[int, CandidateRow],
        weighed: Mapping[str, float],
        scale: Scale,
    ) -> Evidence:
        columns = _columns(candidates)
        nos = columns["no"]
        known = self._cosines(question, found, nos)
        cosines = np.array([known.get(no, math.nan) for no in nos], np.float64)
        return Evidence(
            nos=np.array(nos, np.int64),
            cosines=cosines,
            closeness=scale.relevance(cosines),
            texts=np.array([found.strengths.get(no, math.nan) for no in nos], np.float64),
            priorities=columns["priority"],
            tiers=columns["tier"],
            access_counts=np.array(columns["access_count"], np.float64),
            accessed=np.array(columns["accessed_at"], np.float64),
            coverage=self._coverage(question, candidates, columns, weighed) if weighed else np.zeros(len(nos)),
            authors=_meant(question.text, columns["author"], frozenset(weighed)),
            nearness=_timely(question, columns["created_at"]),
        )

    def _cosines(self, question: Question, found: _Legs, numbers: Sequence[int]) -> dict[int, float]:
        """Return the cosines of all, whichever leg has found them."""
        if found.asked.vector is None:
            return {}
        unseen = [no for no in numbers if no not in found.cosines]
        if not unseen:
            return found.cosines
        return found.cosines | self._store.similarities(
            question.spaces, tuple(Tier), unseen, found.asked.vector, found.asked.by
        )

    def _coverage(
        self,
        question: Question,
        candidates: Mapping[int, CandidateRow],
        columns: Mapping[str, Sequence[Any]],
        weighed: Mapping[str, float],
    ) -> NDArray[np.float64]:
        total, frequencies = self._store.frequencies(question.spaces, question.tiers, list(weighed))
        texts = columns["words"]
        previous = np.full(len(candidates), -1, np.int64)
        if any(columns["previous"]):
            known: Mapping[int, CandidateRow | CandidateText] = {**candidates, **self._earlier(candidates)}
            rows = {no: row for row, no in enumerate(known)}
            texts = [each.words for each in known.values()]
            previous = np.array([rows.get(each.previous or 0, -1) for each in known.values()], np.int64)
        worded = TermMatrix(
            has=_having(texts, weighed),
            lengths=np.array([text.count(" ") + 1 for text in texts], np.float64),
            previous=previous,
            candidates=len(candidates),
        )
        return coverage(worded, weighed, total, frequencies, self.ideas)

    def _earlier(self, candidates: Mapping[int, CandidateRow]) -> dict[int, CandidateText]:
        """Return what was said one and two turns before, where that is not known already."""
        found: dict[int, CandidateText] = {}
        asked: Mapping[int, CandidateRow | CandidateText] = candidates
        for _ in range(2):
            missing = {each.previous for each in asked.values() if each.previous} - candidates.keys() - found.keys()
            if not missing:
                break
            asked = said = self._store.candidate_texts(sorted(missing))
            found |= said
        return found


def _in_turn(near: Iterable[int], worded: Iterable[int], size: int) -> list[int]:
    """Return the memories that two legs found, each leg naming its next best in turn, up to a number of them."""
    turns = dict.fromkeys(chain.from_iterable(zip_longest(near, worded, fillvalue=_NOBODY)))
    turns.pop(_NOBODY, None)
    return list(islice(turns, size))


def _columns(candidates: Mapping[int, CandidateRow]) -> dict[str, tuple[Any, ...]]:
    """Return what is known of the candidates, field by field."""
    values = zip(*candidates.values(), strict=True) if candidates else repeat(())
    return dict(zip(CandidateRow._fields, values, strict=False))


def _having(texts: Sequence[str], words: Iterable[str]) -> NDArray[np.bool_]:
    """Return which texts (rows) have which words (columns)."""
    # With a space on both sides of each word, one search for " word " tells whether a memory has it.
    wanted = [f" {word}" if is_fragment(word) else f" {word} " for word in words]
    spaced = [f" {text} " for text in texts]
    found = bytes([word in text for word in wanted for text in spaced])
    return np.frombuffer(found, np.bool_).reshape(len(wanted), len(texts)).T


def _versionable(ranked: Sequence[Ranked], candidates: Mapping[int, CandidateRow]) -> dict[int, str]:
    """Return the words of the best candidates that may be versions of each other."""
    front = (candidates[each.no] for each in ranked)
    return {each.no: each.words for each in front if each.kind != "message"}


def _timely(question: Question, created: Sequence[int]) -> NDArray[np.float64]:
    """Return how near each moment is to the times that a question names."""
    wanted = spans(question.text, question.where.now.date())
    if not wanted:
        return np.zeros(len(created))
    return np.array([nearness(from_micros(moment).date(), wanted) for moment in created], np.float64)


def _meant(question: str, authors: Sequence[str], asked: frozenset[str]) -> NDArray[np.float64]:
    """Return for each author how surely the question is about what they said."""
    personal = _FIRST_PERSON.search(question) is not None
    meant = {author: _surely_meant(author, asked, personal=personal) for author in set(authors)}
    return np.array([meant[author] for author in authors], np.float64)


def _surely_meant(author: str, asked: frozenset[str], *, personal: bool) -> float:
    """Return how surely the question is about what this author said: by name, or because it speaks of "I"."""
    if author and asked & set(words(author)):
        return 1.0
    return _PERSONAL if personal and author.casefold() == _USER else 0.0
