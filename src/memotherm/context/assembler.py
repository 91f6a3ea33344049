"""Assembling a context: reads the candidates from the store, packs them, and returns text and receipt.

Pinned and hot memories are looked up; only recalled memories are searched for. A memory that was
injected into a session before is left out unless it has changed since.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from memotherm.context.focus import WordFocus
from memotherm.context.keeping import first_without_space, kept_receipt
from memotherm.context.packing import Candidate, Limits, Packed, pack
from memotherm.context.packing.formats import format_of
from memotherm.context.values import Context, Entry, Receipt
from memotherm.errors import InvalidInput
from memotherm.model import Priority, Tier
from memotherm.model.clock import to_micros
from memotherm.model.fields import MemoryFields
from memotherm.model.literals import FormatName
from memotherm.model.value import Lazy
from memotherm.recall.log import RecallLog
from memotherm.recall.pipeline import Pipeline
from memotherm.recall.values import Question, Ranked, Ranking
from memotherm.rules.marks import is_blocker
from memotherm.settings import Settings
from memotherm.storage.contract import MemoryStore, SearchStore, UsageStore
from memotherm.storage.values import Find, ReceiptRow, Record
from memotherm.text.marker import without_blocks
from memotherm.text.tokens import counter

__all__ = ["Assembler", "Request", "settings_hash", "turn_query"]

#: The most hot memories that are considered, newest first, besides blockers and critical ones.
_MOST_HOT = 200
#: The most characters of a prompt that are searched for: its start and its end.
_QUERY_CHARS = 2000
_NOT_HASHED = {
    "store", "openai_api_key", "gemini_api_key", "redact", "redact_patterns", "capture_exclude",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """The arguments of a context."""

    spaces: tuple[int, ...]
    now: datetime
    question: Question | None = None
    budget: int = 2000
    format: FormatName = "markdown"
    #: Whether to count it as a use of the included memories, and to log it.
    track: bool = True
    #: The most tokens of recalled memories; None for no limit of their own.
    recalled_tokens: int | None = None
    #: What was injected before: memory number -> its `updated_at` then, in microseconds.
    injected: Mapping[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Selection:
    """The records read for one request so far, and which of them are not candidates."""

    #: What was injected before, as in the request.
    injected: Mapping[int, int]
    #: The records read so far, by number.
    records: dict[int, Record] = field(default_factory=dict)
    #: What is not a candidate, with its reason.
    skipped: list[Entry] = field(default_factory=list)
    ranking: Ranking = field(default_factory=Ranking)
    #: Why the hits of the search are not candidates; empty when they are.
    withheld: str = ""
    #: Those hits.
    withheld_hits: list[Entry] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    #: The digest of each candidate's content, and the candidate's id.
    ids_by_digest: dict[str, str] = field(default_factory=dict)

    def without_repeats(self, candidates: Iterable[tuple[Record, Candidate]]) -> Iterator[Candidate]:
        """Yield the candidates that were not injected before and whose content is not a duplicate."""
        for record, candidate in candidates:
            if record.no in self.records:
                continue
            self.records[record.no] = record
            memory = candidate.memory
            digest = memory.digest
            if self.injected and self.injected.get(record.no) == to_micros(memory.updated_at):
                self.skipped.append(_skipped(candidate, "given", "this session was given it before"))
            elif digest in self.ids_by_digest:
                original = self.ids_by_digest[digest]
                self.skipped.append(_skipped(candidate, "duplicate", f"{original} says the same"))
            else:
                self.ids_by_digest[digest] = memory.id
                yield candidate


class ContextStore(SearchStore, MemoryStore, UsageStore, Protocol):
    """The parts of a store that contexts use."""


class Assembler:
    """Assembles contexts: pinned memories, then hot ones, then the hits of a query."""

    def __init__(self, store: ContextStore, pipeline: Pipeline, settings: Settings) -> None:
        self._store = store
        self._pipeline = pipeline
        self._settings = settings
        self._recalls = RecallLog(store, settings)

    def context(self, request: Request) -> Context:
        """Return a context; with `track`, log it as a recall."""
        return self.assemble(request)[0]

    def assemble(self, request: Request) -> tuple[Context, list[Record]]:
        """Return a context and the records of the memories in it."""
        budget = _whole_budget(request.budget)
        text_format = format_of(request.format, self._settings.context_role)
        count = counter(self._settings.tokenizer)
        selection = _Selection(request.injected)
        with self._store.snapshot():
            listed = list(self._with_verification(selection.without_repeats(self._listed(request, selection)), request))
        # A second iterator over the hits, for the receipt that is kept: packing reads only as far as needed.
        recalled, considered = itertools.tee(
            self._with_verification(selection.without_repeats(self._recalled(request, selection)), request)
        )
        focus = None if request.question is None else WordFocus(request.question.text)
        packed = pack(listed, recalled, text_format, count, self._limits(request, budget), focus)
        receipt = self._receipt(request, selection, packed)
        sections = {
            candidate.number: candidate.section for candidate, _ in packed.chosen if candidate.number is not None
        }
        recall_id = None
        if request.track:
            # In this order: the first one reads more candidates, of which the second one returns some.
            without_space = list(first_without_space(itertools.chain(listed, considered), sections))
            skipped = self._not_candidates(selection)
            kept = kept_receipt(receipt, packed.chosen, without_space, skipped, self._settings)
            unsearched = {number for number, section in sections.items() if section != "recalled"}
            recall_id = self._log(request, selection.ranking, list(sections), unsearched, kept)
        context = Context(
            recall_id=recall_id,
            text=packed.text,
            tokens=packed.tokens,
            budget=budget,
            _included=packed.entries,
            receipt=receipt,
        )
        return context, [selection.records[number] for number in sections]

    def _limits(self, request: Request, budget: int) -> Limits:
        settings = self._settings
        return Limits(
            budget=budget,
            hot_tokens=settings.hot_max_tokens,
            hot_memories=settings.hot_max_facts,
            reserve=0 if request.question is None else settings.recall_max_tokens,
            recalled_tokens=request.recalled_tokens,
            entry_tokens=settings.context_entry_tokens,
            on_pinned_overflow=settings.on_pinned_overflow,
        )

    def _listed(self, request: Request, selection: _Selection) -> Iterator[tuple[Record, Candidate]]:
        """Yield the pinned and the hot memories, most important first."""
        for record in self._store.pinned(request.spaces, request.now):
            yield record, _candidate(record, "pinned", (record.no,))
        for record in self._hot(request, selection):
            yield record, _candidate(record, "hot", (_urgency(record.fields), record.no))

    def _hot(self, request: Request, selection: _Selection) -> list[Record]:
        """Return the hot memories, most urgent first, then newest first."""

        def find_hot(priority: Priority | None = None, tags: tuple[str, ...] | None = None) -> list[Record]:
            find = Find(now=request.now, tier=Tier.HOT, priority=priority, tags=tags, limit=_MOST_HOT + 1)
            return self._store.find(request.spaces, find)

        records = {record.no: record for record in find_hot()}
        if len(records) > _MOST_HOT:
            urgent = (*find_hot(priority=Priority.CRITICAL), *find_hot(tags=("blocker",)))
            records |= {record.no: record for record in urgent}
            selection.notes.append(
                f"more than {_MOST_HOT} memories are hot: the newest and the most urgent were considered"
            )
        unpinned = (record for record in records.values() if record.fields.priority is not Priority.PINNED)
        return sorted(unpinned, key=lambda record: (_urgency(record.fields), -record.no))

    def _recalled(self, request: Request, selection: _Selection) -> Iterator[tuple[Record, Candidate]]:
        """Search now, and return an iterator over the hits, best first; none where confidence is too low."""
        if request.question is None:
            return iter(())
        selection.ranking = self._pipeline.run(request.question, self._settings.context_hits)
        least = self._settings.context_min_confidence
        if selection.ranking.confidence < least:
            selection.withheld = f"confidence {selection.ranking.confidence} is below context_min_confidence {least}"
            return iter(())
        return self._hits(selection.ranking)

    def _hits(self, ranking: Ranking) -> Iterator[tuple[Record, Candidate]]:
        return _hits(ranking.ranked[: self._settings.context_hits], ranking.records)

    def _not_candidates(self, selection: _Selection) -> tuple[Entry, ...]:
        """Return the hits that too low a confidence leaves out, what was given before, and duplicates."""
        if selection.withheld and not selection.withheld_hits:
            candidates = selection.without_repeats(self._hits(selection.ranking))
            selection.withheld_hits = [
                _skipped(candidate, "context_min_confidence", selection.withheld) for candidate in candidates
            ]
        return (*selection.withheld_hits, *selection.skipped)

    def _with_verification(self, candidates: Iterable[Candidate], request: Request) -> Iterator[Candidate]:
        """Yield the candidates; an old fact says when it was last verified."""
        old = request.now - timedelta(days=self._settings.verified_days)
        for candidate in candidates:
            words = _verification(candidate.memory, old)
            yield candidate._replace(verified=words) if words else candidate

    def _receipt(self, request: Request, selection: _Selection, packed: Packed) -> Receipt:
        count = counter(self._settings.tokenizer)
        question = request.question
        return Receipt(
            at=request.now,
            query=None if question is None else question.text,
            budget=request.budget,
            tokens=packed.tokens,
            shares=packed.shares,
            tokenizer=count.name,
            exact=count.exact,
            format=request.format,
            tiers=() if question is None else question.tiers,
            confidence=None if question is None else selection.ranking.confidence,
            settings=settings_hash(self._settings),
            _included=packed.entries,
            # In this order: the first one reads all candidates, which completes what the second one returns.
            _left_out=Lazy(lambda: (*packed.left_out.value, *self._not_candidates(selection))),
            pinned_cut=packed.pinned_cut,
            notes=(*packed.notes, *selection.notes, *_withheld_note(selection)),
            degraded=selection.ranking.degraded,
        )

    def _log(
        self, request: Request, ranking: Ranking, included: Sequence[int], listed: Set[int], kept: ReceiptRow | None
    ) -> str | None:
        """Count the uses of the included memories, keep the receipt, log the context, and return its id."""
        track = self._settings.count_injected
        if request.question is not None:
            answers = ranking.ranked if ranking.confidence >= self._settings.context_min_confidence else ()
            return self._recalls.write(ranking, included, answers, track=track, injected=listed, receipt=kept)
        injected = included if track else ()
        if injected or kept:
            return self._recalls.count_injected(injected, request.now, request.spaces[-1], kept)
        return None


@functools.lru_cache(maxsize=16)
def settings_hash(settings: Settings) -> str:
    """Return the SHA-256 of every setting that can change a result."""
    values = {name: value for name, value in asdict(settings).items() if name not in _NOT_HASHED}
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def turn_query(prompt: str | None) -> str | None:
    """Return the query for a prompt: without recalled blocks, and shortened if it is very long."""
    if prompt is None:
        return None
    query = without_blocks(prompt).replace("\x00", "").encode("utf-8", "ignore").decode().strip()
    if len(query) > _QUERY_CHARS:
        query = f"{query[: _QUERY_CHARS // 2]}\n{query[-_QUERY_CHARS // 2 :]}"
    return query or None


def _whole_budget(budget: object) -> int:
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 0:
        raise InvalidInput(f"budget must be a whole number of tokens from 0, not {budget!r}")
    return budget


def _urgency(memory: MemoryFields) -> int:
    """Return the rank of a hot memory, most urgent first: critical, blocker, then by priority."""
    if memory.priority is Priority.CRITICAL:
        return 0
    if is_blocker(memory) and memory.priority is not Priority.LOW:
        return 1
    return memory.priority.rank


def _verification(memory: MemoryFields, old: datetime) -> str:
    """Return when a fact that was stated before `old` was last verified; nothing for other memories."""
    if memory.updated_at > old or (memory.kind != "fact" and memory.verified_at is None):
        return ""
    if memory.verified_at is not None and memory.verified_at >= memory.updated_at:
        return f"verified {memory.verified_at:%Y-%m-%d}"
    return f"not verified since {memory.updated_at:%Y-%m-%d}"


def _candidate(record: Record, section: str, order: tuple[int, ...]) -> Candidate:
    memory = record.fields
    if section == "pinned":
        reason = f"always included, kept in {memory.tier}"
    elif is_blocker(memory):
        reason = "an active blocker"
    else:
        reason = "current work" if memory.priority is Priority.NORMAL else f"current work, {memory.priority}"
    return Candidate(memory=memory, section=section, order=order, reason=reason, number=record.no)


def _hits(best: Sequence[Ranked], records: Mapping[int, Record]) -> Iterator[tuple[Record, Candidate]]:
    for position, ranked in enumerate(best):
        record = records.get(ranked.no)
        if record is not None:
            yield record, _hit(record, ranked, position)


def _hit(record: Record, ranked: Ranked, position: int) -> Candidate:
    memory = record.fields
    reason = f"hit {position + 1}, found in {memory.tier}"
    order = (memory.priority is Priority.LOW, position)
    return Candidate(memory, "recalled", order, reason, ranked.score, ranked, record.no)


def _withheld_note(selection: _Selection) -> list[str]:
    """Return why nothing that was found is included, where that is so."""
    if not selection.withheld or not selection.ranking.ranked:
        return []
    return [f"nothing that was found is included: {selection.withheld}"]


def _skipped(candidate: Candidate, rule: str, reason: str) -> Entry:
    return Entry(
        memory=candidate.whole,
        section=candidate.section,
        form=None,
        tokens=0,
        rule=rule,
        reason=f"{candidate.reason}; {reason}",
        score=candidate.score,
        _why=candidate.why,
    )
