"""The stages of a recall, in order, and the engine that runs them.

    question      words and vector of the query
    candidates    text search, vector search, pinned memories     inside one snapshot
    evidence      cosines, covered words, authors, times          inside one snapshot
    fusion        scores                                          inside one snapshot
    confidence    whether the candidates answer at all            inside one snapshot
    versions      the newer of two versions first                 inside one snapshot
    records       the memories of the best candidates             inside one snapshot
    rerank        optional: a model's order of the best
    log           `RecallLog`, when the caller knows what it returned

The query is embedded before the snapshot, and the reranker runs after it: a model may take its time, and an
open snapshot delays a purge.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import islice

from memotherm.recall.candidates import FindCandidates
from memotherm.recall.confidence import EstimateConfidence
from memotherm.recall.evidence import GatherEvidence
from memotherm.recall.fusion import Fuse
from memotherm.recall.rerank import Rerank
from memotherm.recall.values import Question, Ranking, Stage, State, scores_of
from memotherm.recall.versions import OrderVersions
from memotherm.recall.weights import DEFAULT_RANKING, RankingOptions
from memotherm.settings import Settings
from memotherm.storage.store import Store
from memotherm.text.words import weighed_words
from memotherm.vectors.vectorizer import Vectorizer

__all__ = ["Pipeline"]

#: More words of a query than this cost time and improve nothing.
_MOST_TERMS = 64


class Pipeline:
    """Hybrid search over one store."""

    def __init__(
        self, store: Store, vectorizer: Vectorizer, settings: Settings, options: RankingOptions = DEFAULT_RANKING
    ) -> None:
        weights, reranker = options.weights, options.reranker
        #: The weights and the reranker.
        self.options = options
        self._store = store
        self._vectorizer = vectorizer
        self._candidates = FindCandidates(store, vectorizer, settings)
        self._ranking: tuple[Stage, ...] = (
            self._candidates,
            GatherEvidence(store, weights),
            Fuse(settings, weights),
            EstimateConfidence(),
            OrderVersions(weights),
        )
        self._after: tuple[Stage, ...] = () if reranker is None else (Rerank(reranker, settings.rerank_candidates),)
        #: How many records the reranker needs, whatever the caller wants.
        self._least = 0 if reranker is None else settings.rerank_candidates

    def run(self, question: Question, depth: int, count: int | None = None, *, stages: Sequence[Stage] = ()) -> Ranking:
        """Return the best candidates in order, with their records.

        Candidates are ranked in blocks of a fixed size, and a later block follows an earlier one, so the answer
        for a smaller depth begins the answer for a larger one.

        Args:
            question: The query, and where to look.
            depth: How many candidates are wanted; one block is the least.
            count: How many records are read; as many as `depth` unless given.
            stages: Stages of the caller, which run before the records are read.
        """
        started = time.perf_counter_ns()
        state = State(
            question=question,
            depth=max(depth, self._least),
            count=max(depth if count is None else count, self._least),
            terms=dict(islice(weighed_words(question.text, self.options.weights.framing_word).items(), _MOST_TERMS)),
            query=self._vectorizer.for_query(question.text),
        )
        if state.query.reason:
            state.degraded.append(state.query.reason)
        with self._store.snapshot(self._candidates.search(state)) as seen:
            for stage in (*self._ranking, *stages, self._read_records):
                stage(state)
        for stage in self._after:
            stage(state)
        pinned = {record.no: record for record in state.pinned_records}
        return Ranking(
            question=question,
            ranked=state.ranked,
            pinned=[(pinned[candidate.no], candidate) for candidate in state.pinned],
            records=state.records,
            confidence=state.confidence,
            degraded=tuple(state.degraded),
            started=started,
            seen=seen,
        )

    def _read_records(self, state: State) -> None:
        """Add the records of the best candidates; each is made from its row when it is used."""
        state.records = self._store.records([no for no, _ in scores_of(state.ranked, state.count)])
