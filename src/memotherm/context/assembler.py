"""Which memories an agent reads before it works: gathered here, packed and written by pure functions.

Pinned memories come from a list, hot ones from a tier lookup, and only the rest from a search. What
was given to a session before is left out again unless it has changed since.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime

from memotherm.context.items import Offer
from memotherm.context.packing import Limits, Packed, pack
from memotherm.context.rendering import format_of
from memotherm.context.values import Context, Entry, Later, Receipt
from memotherm.errors import InvalidInput
from memotherm.model import Memory, Priority, Tier
from memotherm.model.clock import to_micros
from memotherm.recall.log import RecallLog
from memotherm.recall.pipeline import Pipeline
from memotherm.recall.values import Question, Ranked, Ranking
from memotherm.rules.marks import is_blocker
from memotherm.settings import Settings
from memotherm.storage.contract import Store
from memotherm.storage.values import Find, Record
from memotherm.text.marker import without_blocks
from memotherm.text.tokens import counter

__all__ = ["Assembler", "Request", "settings_hash", "turn_query"]

#: Hot memories that are looked at, newest first, beside blockers and critical ones.
_MOST_HOT = 200
#: What is searched for of a very long prompt: its beginning and its end.
_QUERY_CHARS = 2000
_NOT_HASHED = {"store", "openai_api_key", "gemini_api_key"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """A context that is wanted."""

    spaces: tuple[int, ...]
    now: datetime
    question: Question | None = None
    budget: int = 2000
    format: str = "markdown"
    #: Whether it counts as use of what is in it, and is logged.
    track: bool = True
    #: The most that recalled memories may cost; None = what is left.
    recalled_tokens: int | None = None
    #: What need not come again: memory number -> when it had last changed.
    given: Mapping[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Found:
    """What was found for one request, as far as somebody came to it."""

    #: What need not come again, as in the request.
    given: Mapping[int, int]
    #: What was come to, by id.
    records: dict[str, Record] = field(default_factory=dict)
    #: What is not offered, with its reason.
    passed_over: list[Entry] = field(default_factory=list)
    ranking: Ranking = field(default_factory=Ranking)
    notes: list[str] = field(default_factory=list)
    #: The digests of what is offered, and which memory says it.
    said: dict[str, str] = field(default_factory=dict)

    def offered(self, offers: Iterable[tuple[Record, Offer]]) -> Iterator[Offer]:
        """Yield the offers that are new, and pass over the others; the same words are offered once."""
        for record, offer in offers:
            memory = record.memory
            if memory.id in self.records:
                continue
            self.records[memory.id] = record
            if self.given and self.given.get(record.no) == to_micros(memory.updated_at):
                self.passed_over.append(_passed(offer, "given", "this session was given it before"))
            elif memory.digest in self.said:
                self.passed_over.append(_passed(offer, "duplicate", f"{self.said[memory.digest]} says the same"))
            else:
                self.said[memory.digest] = memory.id
                yield offer


class Assembler:
    """Puts contexts together: pinned memories, then the hot block, then what a query finds."""

    def __init__(self, store: Store, pipeline: Pipeline, settings: Settings) -> None:
        self._store = store
        self._pipeline = pipeline
        self._settings = settings
        self._recalls = RecallLog(store, settings)

    def context(self, request: Request) -> Context:
        """Return a context and leave, unless told otherwise, a line in the log of recalls."""
        return self.assemble(request)[0]

    def assemble(self, request: Request) -> tuple[Context, list[Record]]:
        """Return a context and the memories in it as they are stored."""
        budget = _whole_budget(request.budget)
        form = format_of(request.format, self._settings.context_role)
        count = counter(self._settings.tokenizer)
        found = _Found(request.given)
        listed = list(found.offered(self._listed(request, found)))
        recalled = found.offered(self._recalled(request, found))
        packed = pack(listed, recalled, form, count, self._limits(request, budget))
        receipt = self._receipt(request, found, packed)
        included = [found.records[entry.id] for entry in packed.included]
        if request.track:
            self._log(request, found.ranking, [record.no for record in included])
        context = Context(
            text=packed.text,
            tokens=packed.tokens,
            budget=budget,
            included=receipt.included,
            receipt=receipt,
        )
        return context, included

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

    def _listed(self, request: Request, found: _Found) -> Iterator[tuple[Record, Offer]]:
        """Yield the pinned and the hot memories, most important first."""
        for record in self._store.pinned(request.spaces, request.now):
            yield record, _listed(record, "pinned", (record.no,))
        for record in self._hot(request, found):
            yield record, _listed(record, "hot", (_urgency(record.memory), record.no))

    def _hot(self, request: Request, found: _Found) -> list[Record]:
        """Return the hot memories, most urgent first, newest first among equals: a lookup, not a search."""

        def look(priority: Priority | None = None, tags: tuple[str, ...] | None = None) -> list[Record]:
            find = Find(now=request.now, tier=Tier.HOT, priority=priority, tags=tags, limit=_MOST_HOT + 1)
            return self._store.find(request.spaces, find)

        records = {record.no: record for record in look()}
        if len(records) > _MOST_HOT:
            urgent = (*look(priority=Priority.CRITICAL), *look(tags=("blocker",)))
            records |= {record.no: record for record in urgent}
            found.notes.append(
                f"more than {_MOST_HOT} memories are hot: the newest and the most urgent were considered"
            )
        unpinned = (record for record in records.values() if record.memory.priority is not Priority.PINNED)
        return sorted(unpinned, key=lambda record: (_urgency(record.memory), -record.no))

    def _recalled(self, request: Request, found: _Found) -> Iterator[tuple[Record, Offer]]:
        """Search now, and return what was found, best first, each made when somebody comes to it."""
        if request.question is None:
            return iter(())
        found.ranking = self._pipeline.run(request.question, self._settings.context_hits)
        return _hits(found.ranking.ranked[: self._settings.context_hits], found.ranking.records)

    def _receipt(self, request: Request, found: _Found, packed: Packed) -> Receipt:
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
            settings=settings_hash(self._settings),
            included=packed.included,
            # In this order: to tell what was left out is to come to everything that was found.
            rest=Later(lambda: (*packed.left_out, *found.passed_over)),
            pinned_cut=packed.pinned_cut,
            notes=(*packed.notes, *found.notes),
            degraded=found.ranking.degraded,
        )

    def _log(self, request: Request, ranking: Ranking, included: Sequence[int]) -> None:
        """Count the use of what was injected; a context with a query is a recall and logged as one."""
        touched = included if self._settings.count_injected else ()
        if request.question is not None:
            self._recalls.write(ranking, included, ranking.ranked, touched=touched)
        elif touched:
            self._recalls.count_use(touched, request.now)


@functools.lru_cache(maxsize=16)
def settings_hash(settings: Settings) -> str:
    """Return the SHA-256 of every setting that can change an answer."""
    values = {name: value for name, value in asdict(settings).items() if name not in _NOT_HASHED}
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def turn_query(prompt: str | None) -> str | None:
    """Return what to search for at a prompt: without recalled blocks, and not all of a very long one."""
    if prompt is None:
        return None
    own = without_blocks(prompt).replace("\x00", "").encode("utf-8", "ignore").decode().strip()
    if len(own) > _QUERY_CHARS:
        own = f"{own[: _QUERY_CHARS // 2]}\n{own[-_QUERY_CHARS // 2 :]}"
    return own or None


def _whole_budget(budget: object) -> int:
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 0:
        raise InvalidInput(f"budget must be a whole number of tokens from 0, not {budget!r}")
    return budget


def _urgency(memory: Memory) -> int:
    """Return how urgent a hot memory is, from 0: critical, blocking, then as its priority says."""
    if memory.priority is Priority.CRITICAL:
        return 0
    if is_blocker(memory) and memory.priority is not Priority.LOW:
        return 1
    return memory.priority.rank


def _listed(record: Record, section: str, place: tuple[int, ...]) -> Offer:
    memory = record.memory
    if section == "pinned":
        reason = f"always included, kept in {memory.tier}"
    elif is_blocker(memory):
        reason = "an active blocker"
    else:
        reason = "current work" if memory.priority is Priority.NORMAL else f"current work, {memory.priority}"
    return Offer(memory=memory, section=section, place=place, reason=reason)


def _hits(best: Sequence[Ranked], records: Mapping[int, Record]) -> Iterator[tuple[Record, Offer]]:
    for place, each in enumerate(best):
        record = records.get(each.no)
        if record is not None:
            yield record, _hit(record, each, place)


def _hit(record: Record, ranked: Ranked, place: int) -> Offer:
    low = record.memory.priority is Priority.LOW
    reason = f"hit {place + 1}, found in {record.memory.tier}"
    return Offer(record.memory, "recalled", (low, place), reason, ranked.score, lambda: ranked.why)


def _passed(offer: Offer, rule: str, reason: str) -> Entry:
    return Entry(
        memory=offer.memory,
        section=offer.section,
        form=None,
        tokens=0,
        rule=rule,
        reason=f"{offer.reason}; {reason}",
        score=offer.score,
        explain=offer.explain,
    )
