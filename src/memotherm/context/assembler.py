"""Assembling a context: reads the candidates from the store, packs them, and returns text and receipt.

Pinned and hot memories are looked up; only recalled memories are searched for. A memory that was
injected into a session before is left out unless it has changed since.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta

from memotherm.context.focus import WordFocus
from memotherm.context.keeping import first_without_space, kept_receipt
from memotherm.context.packing import Candidate, Limits, Packed, pack
from memotherm.context.packing.formats import format_of
from memotherm.context.selection import Selection, urgency
from memotherm.context.values import Context, Receipt
from memotherm.errors import InvalidInput
from memotherm.model import Priority, Tier
from memotherm.model.memory import FormatName
from memotherm.model.value import Lazy
from memotherm.recall.log import RecallLog
from memotherm.recall.pipeline import Pipeline
from memotherm.recall.values import Question, State
from memotherm.settings import Settings
from memotherm.storage.store import Store
from memotherm.storage.values import Find, ReceiptRow, Record
from memotherm.text.content import without_blocks
from memotherm.text.tokens import counter

__all__ = ["Assembler", "Request", "settings_hash", "turn_query"]

#: The most hot memories that are considered, newest first, besides blockers and critical ones.
_MOST_HOT = 200
#: The most characters of a prompt that are searched for: its start and its end.
_QUERY_CHARS = 2000
#: How many hits of the search compete for space.
_MAX_HITS = 100
#: After this time a context says when a fact was last verified.
_VERIFIED_WITHIN = timedelta(days=90)
#: The role in the format `messages`.
_ROLE = "user"
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


class Assembler:
    """Assembles contexts: pinned memories, then hot ones, then the hits of a query."""

    def __init__(self, store: Store, pipeline: Pipeline, settings: Settings) -> None:
        self._store = store
        self._pipeline = pipeline
        self._settings = settings
        self._recalls = RecallLog(store, settings)

    def context(self, request: Request) -> Context:
        """Return a context; with `track`, log it as a recall."""
        return self.assemble(request)[0]

    def assemble(self, request: Request) -> tuple[Context, list[Candidate]]:
        """Return a context and the candidates that are in it."""
        budget = _whole_budget(request.budget)
        text_format = format_of(request.format, _ROLE)
        count = counter(self._settings.tokenizer)
        old = request.now - _VERIFIED_WITHIN
        selection = Selection(request.injected, old, _MAX_HITS)
        listed = self._search(request, selection)
        # A second iterator over the hits, for the receipt that is kept: packing reads only as far as needed.
        recalled, considered = itertools.tee(() if selection.withheld else selection.hits())
        focus = None if request.question is None else WordFocus(request.question.text)
        limits = self._limits(request, budget)
        packed = pack(listed, recalled, text_format, count.count, limits, focus, by_line=count.by_line)
        receipt = self._receipt(request, selection, packed)
        sections = {
            candidate.number: candidate.section for candidate, _ in packed.chosen if candidate.number is not None
        }
        recall_id = None
        if request.track:
            # In this order: the first one reads more candidates, of which the second one returns some.
            without_space = list(first_without_space(itertools.chain(listed, considered), sections))
            skipped = selection.not_candidates()
            kept = kept_receipt(receipt, packed.chosen, without_space, skipped, self._settings)
            unsearched = {number for number, section in sections.items() if section != "recalled"}
            recall_id = self._log(request, selection, list(sections), unsearched, kept)
        context = Context(
            recall_id=recall_id,
            text=packed.text,
            tokens=packed.tokens,
            budget=budget,
            receipt=receipt,
        )
        return context, [candidate for candidate, _ in packed.chosen]

    def _limits(self, request: Request, budget: int) -> Limits:
        settings = self._settings
        return Limits(
            budget=budget,
            hot_tokens=settings.hot_max_tokens,
            hot_memories=settings.hot_max_facts,
            reserve=0 if request.question is None else settings.recall_max_tokens,
            recalled_tokens=request.recalled_tokens,
            on_pinned_overflow=settings.on_pinned_overflow,
        )

    def _hot(self, request: Request, selection: Selection) -> list[Record]:
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
        return sorted(unpinned, key=lambda record: (urgency(record.fields), -record.no))

    def _search(self, request: Request, selection: Selection) -> list[Candidate]:
        """Search for the query, if there is one, and return the candidates that are not searched for.

        These are read in the snapshot of the search. The hits are withheld where confidence is too low.
        """
        listed: list[Candidate] = []

        def read_listed(_state: State | None = None) -> None:
            with self._store.snapshot() as selection.seen:
                pinned = self._store.pinned(request.spaces, request.now)
                listed.extend(selection.listed(pinned, self._hot(request, selection)))

        if request.question is None:
            read_listed()
            return listed
        ranking = self._pipeline.run(request.question, _MAX_HITS, stages=(read_listed,))
        least = self._settings.context_min_confidence
        if ranking.confidence < least:
            selection.withheld = f"confidence {ranking.confidence} is below context_min_confidence {least}"
        selection.ranking = ranking
        return listed

    def _receipt(self, request: Request, selection: Selection, packed: Packed) -> Receipt:
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
            _left_out=Lazy(lambda: (*packed.left_out.value, *selection.not_candidates())),
            pinned_cut=packed.pinned_cut,
            notes=(*packed.notes, *selection.notes, *_withheld_note(selection)),
            degraded=selection.ranking.degraded,
        )

    def _log(
        self,
        request: Request,
        selection: Selection,
        included: Sequence[int],
        listed: Set[int],
        kept: ReceiptRow | None,
    ) -> str | None:
        """Count the uses of the included memories, keep the receipt, log the context, and return its id."""
        ranking, track = selection.ranking, self._settings.count_injected
        if request.question is not None:
            answers = ranking.ranked if ranking.confidence >= self._settings.context_min_confidence else ()
            return self._recalls.write(ranking, included, answers, track=track, injected=listed, receipt=kept)
        injected = included if track else ()
        if injected or kept:
            return self._recalls.count_injected(injected, request.now, request.spaces[-1], kept, selection.seen)
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


def _withheld_note(selection: Selection) -> list[str]:
    """Return why nothing that was found is included, where that is so."""
    if not selection.withheld or not selection.ranking.ranked:
        return []
    return [f"nothing that was found is included: {selection.withheld}"]
