"""From a ranking to hits: promotion, uses and the recall log."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memotherm.model import Hit, Move, Priority, Recall, Tier, Why
from memotherm.model.clock import new_id
from memotherm.model.memory import SUMMARY
from memotherm.model.recall import HIT_THRESHOLD, SEARCH_COLD, UseKind
from memotherm.recall.confidence import subject_words
from memotherm.recall.pipeline import Pipeline
from memotherm.recall.values import Question, Ranked, Ranking, State, best_relevance, scores_of
from memotherm.settings import Settings
from memotherm.storage.store import Store
from memotherm.storage.values import RecallEntry, ReceiptRow, Record, Use
from memotherm.text.content import pluralize, title
from memotherm.text.redaction import redactor
from memotherm.tiers.rules.properties import USE_WEIGHTS

#: Memories with how they were ranked.
Results = Sequence[tuple[Record, Ranked]]


def _hits(results: Results) -> tuple[Hit, ...]:
    return tuple(Hit(memory=record.memory, score=candidate.score, why=candidate.why) for record, candidate in results)


def _newest(pinned: Results, limit: int) -> tuple[Results, tuple[str, ...]]:
    """Return at most `limit` pinned memories, the newest, and a line that says so if there are more."""
    if len(pinned) <= limit:
        return pinned, ()
    newest = set(sorted(record.no for record, _ in pinned)[len(pinned) - limit :])
    said = f"{len(pinned)} memories are pinned, and max_pinned is {limit}: the oldest were left out"
    return [each for each in pinned if each[0].no in newest], (said,)


def _relevances(results: Results) -> list[tuple[int, float]]:
    """Return the numbers of hits with their relevance."""
    return [(record.no, candidate.relevance) for record, candidate in results]


def _averages(ranking: Ranking, results: Results, promoted: Sequence[str]) -> list[tuple[int, float]]:
    """Return the numbers of hits in the searched spaces with their new running relevance; a promotion has set it."""
    return [
        (record.no, (record.memory.relevance + candidate.relevance) / 2)
        for record, candidate in results
        if record.space in ranking.question.search.spaces and record.memory.id not in promoted
    ]


def _numbers(promoted: Sequence[str], results: Results) -> list[int]:
    """Return the numbers of hits that were promoted, in the order of their ids."""
    numbers = {record.memory.id: record.no for record, _ in results} if promoted else {}
    return [numbers[memory_id] for memory_id in promoted]


#: The moves of hits to hot, and the rules that failed.
Promotion = tuple[Sequence[Move], tuple[str, ...]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """What a query has found, before anything is promoted or logged."""

    ranking: Ranking
    limit: int
    #: The pinned memories and the hits, as they were ranked and as the caller gets them.
    results: Results
    answers: Sequence[Ranked]
    pinned: tuple[Hit, ...]
    hits: tuple[Hit, ...]
    hint: str
    degraded: tuple[str, ...]


class Recaller:
    """Answers queries, counts the use of the hits, and writes the log."""

    def __init__(self, store: Store, pipeline: Pipeline, settings: Settings) -> None:
        self._store = store
        self._pipeline = pipeline
        self._settings = settings
        self._cold = ColdSearch(pipeline, settings)
        self._log = RecallLog(store, settings)

    def recall(self, question: Question, limit: int, *, track: bool = True) -> Recall:
        """Return the best memories, and the pinned ones beside them."""
        return self.answer(self.search(question, limit), track=track)

    def search(self, question: Question, limit: int) -> Found:
        """Return the best memories, at most `limit` of them, and the pinned ones."""
        with self._pipeline.ranked(question, limit) as state:
            self._pipeline.read(state, limit)
            promising = self._cold.is_promising(state)
        ranking = self._pipeline.finish(state)
        best = [(ranking.records[candidate.no], candidate) for candidate in ranking.ranked[:limit]]
        better = self._cold.better(question, ranking) if promising else []
        asked = question.search.priority is Priority.PINNED
        shown, cut = (ranking.pinned, ()) if asked else _newest(ranking.pinned, self._settings.max_pinned)
        pinned, hits = _hits(shown), _hits(best)
        return Found(
            ranking=ranking,
            limit=limit,
            results=[*shown, *best],
            answers=[candidate for _, candidate in best],
            pinned=() if asked else pinned,
            hits=pinned[:limit] if asked else hits,
            hint=_cold_hint(better),
            degraded=(*ranking.degraded, *cut),
        )

    def answer(
        self, found: Found, promotion: Promotion | None = None, *, track: bool = True, average: bool = False
    ) -> Recall:
        """Log what was found, and return it.

        Args:
            found: What was found.
            promotion: What the rules have made of the hits; None if they were not asked.
            track: Whether this is logged and counts as a use of the hits.
            average: Whether the running relevance of the hits in the searched spaces moves half-way to that of
                this query, unless they were promoted.
        """
        ranking, results = found.ranking, found.results
        moves, failures = promotion or ((), ())
        promoted = [move.id for move in moves]
        recall_id = None
        # A recall that may move something is always logged: a replay needs it.
        if track or promotion is not None:
            recall_id = self._log.write(
                ranking,
                [record.no for record, _ in results],
                found.answers,
                track=track,
                promoted=_numbers(promoted, results),
                relevance=_averages(ranking, results, promoted) if average and track else (),
                options={
                    "limit": found.limit,
                    **({"average": True} if average and track else {}),
                    **({"promote": True, "seq": self._store.seq()} if promotion is not None else {}),
                    **({"relevance": _relevances(results)} if promotion is not None or average else {}),
                },
            )
        return Recall(
            recall_id=recall_id,
            query=ranking.question.text,
            hits=found.hits,
            pinned=found.pinned,
            promoted=tuple(promoted),
            tiers=ranking.question.search.tiers,
            confidence=ranking.confidence,
            degraded=(*found.degraded, *failures),
            hint=found.hint,
        )

    def list(self, question: Question, limit: int, *, track: bool = True) -> Recall:
        """Return the memories that pass the filters of a question without a text, newest first; all have score 0."""
        search = question.search
        newest = self._store.find(replace(search, limit=limit))
        if newest and track:
            self._log.write_listed([record.no for record in newest], search.now, search.spaces[-1], track=True)
        hits = tuple(Hit(memory=record.memory, score=0.0, why=Why()) for record in newest)
        return Recall(query=question.text, hits=hits, tiers=search.tiers)


#: By how much confidence and relevance in cold must exceed those of the live answer.
_CLEARLY = 0.1
#: The least share of the words about the subject that no live memory has, for which cold is searched.
_SUBJECT = 0.4
#: How many of the best cold memories are looked at.
_MOST_IN_COLD = 10


class ColdSearch:
    """Looks for better matches in cold, if it was not searched and the live answer is weak."""

    def __init__(self, pipeline: Pipeline, settings: Settings) -> None:
        self._pipeline = pipeline
        self._settings = settings

    def is_promising(self, state: State) -> bool:
        """Return, in the snapshot of the recall, whether cold is worth a search.

        A memory there must have enough of the words about the subject that no live memory has: a search takes as long
        as the recall itself, and looking up these few words a tenth of it.
        """
        best = best_relevance(state.ranked) or 0.0
        is_strong = best >= HIT_THRESHOLD and state.confidence >= self._settings.context_min_confidence
        if is_strong or Tier.COLD in state.question.search.tiers:
            return False
        unknown = [word for word in subject_words(state.terms) if not state.frequencies.get(word)]
        return bool(unknown) and self._covered(state, unknown) >= _SUBJECT

    def _covered(self, state: State, words: Sequence[str]) -> float:
        """Return the largest share of some words that a cold memory has, weighted by their rarity there."""
        found = self._pipeline.store.search_text(replace(state.question.search, tiers=(Tier.COLD,)), words, 1)
        others = [(count, max(0, found.total - count)) for count in found.frequencies.values()]
        most = sum(math.log(1 + (without + 0.5) / (count + 0.5)) for count, without in others)
        return max(found.scores.values(), default=0.0) / most

    def better(self, question: Question, ranking: Ranking) -> Results:
        """Return what is clearly better in cold than the live answer."""
        in_cold = replace(question.search, tiers=(Tier.COLD,))
        cold = self._pipeline.run(replace(question, search=in_cold), _MOST_IN_COLD)
        if cold.confidence < max(self._settings.context_min_confidence, ranking.confidence + _CLEARLY):
            return []
        least = max(HIT_THRESHOLD, (best_relevance(ranking.ranked) or 0.0) + _CLEARLY)
        found = [(cold.records[hit.no], hit) for hit in cold.ranked[:_MOST_IN_COLD] if hit.relevance >= least]
        # The summary of a session repeats what other memories say.
        return [(record, hit) for record, hit in found if record.memory.kind != SUMMARY]


def _cold_hint(better: Results) -> str:
    """Return a sentence about better matches in cold; empty if there are none."""
    if not better:
        return ""
    return f"{pluralize(len(better), 'better match')} in cold: {title(better[0][0].memory.content)} {SEARCH_COLD}"


_CANDIDATES_LOGGED = 50


def _logged_query(query: str, settings: Settings) -> str | None:
    """Return a query as the log and the receipts keep it, without secrets; None if they keep no queries."""
    return redactor(settings).redact(query).text if settings.recall_log == "text" else None


class RecallLog:
    """Logs queries and their results, and counts uses, as the settings say."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings

    def write(
        self,
        ranking: Ranking,
        returned: Sequence[int],
        answers: Sequence[Ranked],
        *,
        track: bool = False,
        promoted: Sequence[int] = (),
        relevance: Sequence[tuple[int, float]] = (),
        receipt: ReceiptRow | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> str | None:
        """Log a recall, count the uses of what it returned, and return its id; None if it is not kept.

        The best relevance of `answers` decides whether the query counts as answered. `relevance` has memories with
        their new running relevance, `options` what a replay needs to know beside that.
        """
        best, search = best_relevance(answers), ranking.question.search
        query = _logged_query(ranking.question.text, self._settings)
        entry = RecallEntry(
            id=new_id("rec", search.now),
            at=search.now,
            space=search.spaces[-1] if search.spaces else None,
            query=query or hashlib.sha256(ranking.question.text.encode()).hexdigest(),
            tiers=search.tiers,
            micros=(time.perf_counter_ns() - ranking.started) // 1000,
            candidates=scores_of(ranking.ranked, _CANDIDATES_LOGGED),
            returned=returned,
            promoted=promoted,
            degraded=ranking.degraded,
            best=best or 0.0,
            found=best is not None and best >= HIT_THRESHOLD,
            relevance=relevance,
            receipt=None if receipt is None else receipt._replace(query=query),
            seen=ranking.seen,
            options={
                **({"filtered": True} if search.selective else {}),
                **({"alone": True} if len(search.spaces) == 1 else {}),
                **(options or {}),
            },
        )
        return self._log(entry, track=track, keep=True)

    def write_listed(
        self,
        nos: Sequence[int],
        now: datetime,
        space: int,
        *,
        track: bool = False,
        named: bool = True,
        receipt: ReceiptRow | None = None,
        seen: int | None = None,
    ) -> str | None:
        """Log that memories were read without a query, and return the id; None if it is not kept.

        Unless it is `named`, feedback cannot be about it. `seen` is the number of the last event when they were read.
        """
        entry = RecallEntry(
            id=new_id("rec", now) if named else "", at=now, space=space, query="", tiers=(), micros=0, candidates=(),
            returned=nos, receipt=receipt, seen=seen,
        )  # fmt: skip
        return self._log(entry, track=track, keep=bool(nos))

    def _log(self, entry: RecallEntry, *, track: bool, keep: bool) -> str | None:
        """Count the uses of what was returned, if it is tracked, and keep the entry, if the settings keep any."""
        uses = [Use(no, USE_WEIGHTS[UseKind.RETURNED]) for no in entry.returned] if track else []
        keep = keep and self._settings.recall_log != "off"
        if not (keep or uses or entry.receipt):
            return None
        used = {"used": True} if uses else {}
        self._store.log_recall(replace(entry, uses=uses, options={**used, **entry.options}), keep=keep)
        return entry.id if keep and entry.space is not None else None
