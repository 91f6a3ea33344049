"""The stages of a recall, in order, and the engine that runs them.

    question      words and vector of the query, or of each part of a long one
    candidates    text search, vector search, pinned memories     inside one snapshot
    aliases       the same with other names, if there are any     inside one snapshot
    evidence      cosines, covered words, authors, times          inside one snapshot
    fusion        scores                                          inside one snapshot
    confidence    whether the candidates answer at all            inside one snapshot
    versions      the newer of two versions first                 inside one snapshot
    past          the same in past sessions, if nothing answers   inside one snapshot
    records       as many of the best as the caller wants         inside one snapshot
    rerank        optional: a model's order of the best
    log           `RecallLog`, when the caller knows what it returned

The query is embedded before the snapshot, and the reranker runs after it: a model may take its time, and an
open snapshot delays a purge.

A long query, such as a bug report or a log, is searched in parts: the words and the vector of the whole are about
everything and close to nothing. Most of its sentences are answered by no memory; the one that is decides.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import accumulate, chain, islice

from memotherm.embed.protocol import ScoreTexts
from memotherm.model import Memory, Retention
from memotherm.recall.confidence import EstimateConfidence
from memotherm.recall.evidence import GatherEvidence
from memotherm.recall.rank import Fuse, OrderSuccessors, OrderVersions
from memotherm.recall.selecting import ALIAS, alias_names, with_aliases
from memotherm.recall.values import DEFAULT_RANKING, Question, Ranked, Ranking, RankingOptions, Stage, State, scores_of
from memotherm.settings import Settings
from memotherm.storage.store import Store
from memotherm.storage.values import EVERY_TIER, Prefetch
from memotherm.text.content import pluralize
from memotherm.text.framing import without_framing
from memotherm.text.mentions import mentioned_names
from memotherm.text.phrases import is_filler, sentences
from memotherm.text.words import query_words, weighed_words
from memotherm.vectors.vectorizer import Vectorizer

#: More words of a query than this cost time and improve nothing.
_MOST_TERMS = 64
#: How many of the best candidates are reranked: a cross-encoder on a CPU scores 20 in less than a second.
RERANKED = 20
#: The least confidence of what was said in past sessions.
_PAST_CONFIDENCE = 0.9


class Pipeline:
    """Hybrid search over one store."""

    def __init__(
        self, store: Store, vectorizer: Vectorizer, settings: Settings, options: RankingOptions = DEFAULT_RANKING
    ) -> None:
        weights, reranker = options.weights, options.reranker
        #: The weights and the reranker.
        self.options = options
        self.store = store
        self._vectorizer = vectorizer
        self._candidates = FindCandidates(store, vectorizer, settings)
        self._stages: tuple[Stage, ...] = (
            self._candidates,
            AddAliases(store, self._candidates),
            GatherEvidence(store, weights),
            Fuse(settings, weights),
            EstimateConfidence(),
            OrderVersions(weights),
            OrderSuccessors(store),
        )
        self._floor = settings.context_min_confidence
        self._rerank = None if reranker is None else Rerank(reranker, RERANKED)
        #: How many records the reranker needs, whatever the caller wants.
        self._least = 0 if reranker is None else RERANKED

    def run(self, question: Question, depth: int, count: int | None = None) -> Ranking:
        """Return the best candidates in order, and as many of their records as are wanted, or all."""
        with self.ranked(question, depth) as state:
            self.read(state, depth if count is None else count)
        return self.finish(state)

    @contextmanager
    def ranked(self, question: Question, depth: int) -> Iterator[State]:
        """Rank the candidates of a query; until the context is left, the caller's reads see the same snapshot.

        Candidates are ranked in blocks of a fixed size, and a later block follows an earlier one, so the answer
        for a smaller depth begins the answer for a larger one.
        """
        parts = [self._part(question, text, depth) for text in query_parts(question.text)]
        with self.store.snapshot(self._candidates.prefetch(parts[0])) as seen:
            for part in parts:
                part.seen = seen
                for stage in self._stages:
                    stage(part)
            state = joined_parts(parts, question) if len(parts) > 1 else parts[0]
            if question.past_spaces is not None and state.confidence < self._floor:
                self._add_past(state, question.past_spaces())
            yield state

    def _part(self, question: Question, text: str, depth: int) -> State:
        """Return the state of a query, or of a part of a long one, before the search."""
        started = time.perf_counter_ns()
        framed = without_framing(text)
        query = self._vectorizer.for_query(framed.text, question.serving)
        return State(
            question=replace(question, text=text),
            depth=max(depth, self._least),
            framed=framed,
            terms=dict(islice(weighed_words(framed.text, self.options.weights.framing_word).items(), _MOST_TERMS)),
            query=query,
            started=started,
            degraded=[query.reason] if query.reason else [],
        )

    def _add_past(self, state: State, spaces: tuple[int, ...]) -> None:
        """Add what was said in past sessions, if that answers the query and nothing else does.

        It is searched apart, so that any amount of it changes neither the order nor the confidence of the rest.
        """
        if not spaces:
            return
        question = state.question
        search = replace(question.search, spaces=spaces)
        past = State(
            question=replace(question, search=search), depth=state.depth, framed=state.framed, terms=state.terms,
            query=state.query, started=state.started, seen=state.seen,
        )  # fmt: skip
        for stage in self._stages:
            stage(past)
        if past.confidence >= max(_PAST_CONFIDENCE, self._floor):
            state.ranked = sorted([*state.ranked, *past.ranked], key=lambda candidate: -candidate.score)
            state.confidence = past.confidence

    def read(self, state: State, count: int) -> None:
        """Read the records of the best candidates; each memory is made from its row when it is used."""
        state.records = self.store.records([no for no, _ in scores_of(state.ranked, max(count, self._least))])

    def finish(self, state: State) -> Ranking:
        """Rerank the candidates whose records were read, if there is a reranker, and return the ranking."""
        if self._rerank is not None:
            self._rerank(state)
        pinned = {record.no: record for record in state.pinned_records}
        return Ranking(
            question=state.question,
            ranked=state.ranked,
            pinned=[(pinned[candidate.no], candidate) for candidate in state.pinned],
            records=state.records,
            confidence=state.confidence,
            degraded=tuple(dict.fromkeys(state.degraded)),
            started=state.started,
            seen=state.seen,
        )


#: How many candidates are ranked together; measured, more of them change nothing that comes first.
_BLOCK = 100


class FindCandidates:
    """Searches by words and by vector, and reads what ranking needs of the results."""

    def __init__(self, store: Store, vectorizer: Vectorizer, settings: Settings) -> None:
        self._store = store
        self._vectorizer = vectorizer
        self._settings = settings

    def __call__(self, state: State) -> None:
        """Add the candidates in blocks of a fixed size, so that they do not depend on how many are wanted."""
        question, size = state.question, self._size(state)
        search = question.search
        wider = replace(search, spaces=question.all_spaces) if question.pinned_spaces else search
        state.pinned_records = self._store.pinned(wider)
        self._search(state, size)
        pinned = [record.no for record in state.pinned_records]
        nearest, matching = (
            [no for no in scores if no not in pinned] for scores in (state.vector_scores, state.text_scores)
        )
        nos = _alternate(nearest, matching, size)
        for start in range(0, max(1, len(nos)), _BLOCK):
            block = nos[start : start + _BLOCK]
            state.blocks.append(self._store.candidates(search, block))
        if pinned:
            # Pinned memories are candidates in every tier.
            others = self._store.candidates(replace(wider, tiers=EVERY_TIER), pinned)
            state.blocks[0] = state.blocks[0].joined([others])
            state.pinned_rows = len(others)
        found = state.blocks[0]
        if len(found) and not any(state.frequencies.values()) and not found.words.lengths.any():
            state.degraded.append("the text index has no words of these memories: `memotherm store check` tells more")

    def prefetch(self, state: State) -> Prefetch:
        """Return what is going to be read first."""
        question, query = state.question, state.query
        return Prefetch(
            search=question.search,
            words=tuple(state.terms),
            vector=query.vector,
            by=query.identity,
            limit=self._size(state),
            pinned_spaces=question.all_spaces,
            pending=self._vectorizer.enabled,
        )

    def _size(self, state: State) -> int:
        return min(self._settings.pool_size, _BLOCK * max(1, math.ceil(state.depth / _BLOCK)))

    def _search(self, state: State, size: int) -> None:
        """Run both searches, and note what is missing."""
        search, query = state.question.search, state.query
        words = list(dict.fromkeys((*state.terms, *(word for _, other in state.also for word in other))))
        matches = self._store.search_text(search, words, size)
        state.text_scores, state.total, state.frequencies = matches
        if query.vector is not None:
            state.vector_scores = self._store.search_vector(search, query.vector, size, query.identity)
        state.degraded += self._store.recall_problems()
        searches_active = self._vectorizer.enabled and Retention.ACTIVE in search.retentions
        if searches_active and (waiting := self._store.pending(search.spaces)):
            state.degraded.append(self._vectorizer.missing(waiting))


def _alternate(first: list[int], second: list[int], size: int) -> list[int]:
    """Return the results of two searches, alternating between them, without repetitions."""
    both = min(len(first), len(second))
    merged = [0] * (2 * both)
    merged[::2], merged[1::2] = first[:both], second[:both]
    return list(dict.fromkeys(merged + first[both:] + second[both:]))[:size]


class AddAliases:
    """The stage after the candidates: if one of them is an alias of a name in the query, its other names are searched.

    A memory with another name counts as one with the name in the query.
    """

    def __init__(self, store: Store, find_candidates: Stage) -> None:
        self._store = store
        self._find_candidates = find_candidates

    def __call__(self, state: State) -> None:
        """Find the candidates again if there are other names; without an alias among them, nothing is read."""
        first, question = state.blocks[0], state.question
        if ALIAS not in first.kind:
            return
        aliases = [no for no, kind in zip(first.no.tolist(), first.kind, strict=True) if kind == ALIAS]
        named = map(alias_names, self._store.records(aliases).values())
        known = dict.fromkeys(chain.from_iterable(named))
        for name in mentioned_names(list(known))(question.text):
            asked = [word for word in query_words(name) if word in state.terms]
            others = with_aliases(self._store, question.search, [name])[1:]
            state.also += [(asked, other) for other in map(query_words, others) if asked and other]
        if state.also:
            state.blocks.clear()
            self._find_candidates(state)


class Rerank:
    """Orders the best candidates by the score of a reranker; the others follow in their order.

    The number of candidates does not depend on the limit of a query, so the answer for a smaller limit begins
    the answer for a larger one. If the reranker fails, the order stays and the recall says so.
    """

    def __init__(self, score: ScoreTexts, count: int) -> None:
        self._score = score
        self._count = count

    def __call__(self, state: State) -> None:
        """Reorder the best candidates."""
        best = state.ranked[: self._count]
        if not best:
            return
        texts = [state.records[candidate.no].memory.content for candidate in best]
        try:
            scores = [float(score) for score in self._score(state.question.text, texts)]
        except Exception as exc:  # noqa: BLE001 - a recall has an answer whatever a plugin raises
            state.degraded.append(f"not reranked: the reranker failed: {type(exc).__name__}: {exc}")
            return
        if len(scores) != len(best):
            returned = f"{pluralize(len(scores), 'score')} for {pluralize(len(best), 'text')}"
            state.degraded.append(f"not reranked: the reranker returned {returned}")
            return
        if not all(map(math.isfinite, scores)):
            state.degraded.append("not reranked: the reranker returned a score that is not a finite number")
            return
        scored = [candidate._replace(rerank=score) for candidate, score in zip(best, scores, strict=True)]
        scored.sort(key=lambda candidate: -(candidate.rerank or 0.0))
        state.ranked = [*scored, *state.ranked[self._count :]]


def nearest(store: Store, vectorizer: Vectorizer, question: Question, limit: int) -> list[tuple[Memory, float]]:
    """Return memories and their cosines, nearest first; none if the query has no vector."""
    query = vectorizer.for_query(question.text, question.serving)
    if query.vector is None or limit == 0:
        return []
    with store.snapshot():
        cosines = store.search_vector(question.search, query.vector, limit, query.identity)
        records = store.records(list(cosines))
        return [(records[no].memory, cosine) for no, cosine in cosines.items()]


#: A shorter query, or one of fewer sentences, is searched as a whole.
_SHORT, _FEWEST = 200, 3
#: Of a longer one, so many characters at the beginning and at the end are searched: between them are logs and code.
_FIRST, _LAST = 2000, 1000
#: A shorter sentence belongs to the next one.
_LEAST = 25
#: The most parts; each costs as much as a query of its own.
_MOST = 8


def query_parts(query: str) -> list[str]:
    """Return the parts of a query that are searched apart; a short query is its only part."""
    if len(query) <= _SHORT:
        return [query]
    ends = [query] if len(query) <= _FIRST + _LAST else [query[:_FIRST], query[-_LAST:]]
    found: list[str] = []
    short = ""
    for sentence in (each.strip() for end in ends for each in sentences(end) if not is_filler(each)):
        short = f"{short} {sentence}".strip()
        if len(short) >= _LEAST:
            found.append(short)
            short = ""
    if len(found) < _FEWEST:
        return [query]
    size = -(-len(found) // _MOST)
    return [" ".join(found[start : start + size]) for start in range(0, len(found), size)]


#: How much a place in the ranking of its part costs a candidate, in units of confidence: parts take turns, the one
#: that is answered best first.
_PLACE = 0.05


def joined_parts(states: Sequence[State], question: Question) -> State:
    """Return the state of the part that is answered best, with the candidates of all parts."""
    best = max(states, key=lambda state: state.confidence)
    turns: dict[int, tuple[float, Ranked]] = {}
    for state in states:
        for place, candidate in enumerate(state.ranked):
            turn = state.confidence - _PLACE * place
            if candidate.no not in turns or turn > turns[candidate.no][0]:
                turns[candidate.no] = turn, candidate
    ordered = [candidate for _, candidate in sorted(turns.values(), key=lambda each: -each[0])]
    degraded = [reason for state in states for reason in state.degraded]
    return replace(best, question=question, ranked=_falling(ordered), degraded=degraded)


def _falling(ordered: Sequence[Ranked]) -> list[Ranked]:
    """Return candidates in their order with scores that never rise; `newer` has what was subtracted."""
    limits = accumulate((candidate.score for candidate in ordered), min)
    return [
        candidate._replace(score=limit, newer=candidate.newer - (candidate.score - limit))
        for candidate, limit in zip(ordered, limits, strict=True)
    ]
