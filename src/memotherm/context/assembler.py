"""Assembling a context: reads the candidates from the store, packs them, and returns text and receipt.

Pinned and hot memories are looked up; only recalled memories are searched for. A memory that was
injected into a session before is left out unless it has changed since.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memotherm.context.formats import format_of
from memotherm.context.forms import Candidate, QueryFocus
from memotherm.context.packer import Limits, Packed, pack, reasons_for
from memotherm.context.selection import Selection, about_call, hits_of, listed, urgency, with_successors
from memotherm.context.standing import START_TOKENS, Standing, StandingFinder, in_order
from memotherm.context.values import Context, Receipt
from memotherm.errors import InvalidInput
from memotherm.model import Memory, Priority, Tier
from memotherm.model.clock import to_micros
from memotherm.model.memory import FormatName
from memotherm.model.receipts import Reason
from memotherm.model.value import Lazy
from memotherm.recall.pipeline import Pipeline
from memotherm.recall.recaller import RecallLog
from memotherm.recall.values import Question
from memotherm.settings import FIELDS, SECRET_NAMES, Settings, public
from memotherm.storage.store import Store
from memotherm.storage.values import ReceiptRow, Record, Search
from memotherm.text.content import without_blocks
from memotherm.text.tokens import counter
from memotherm.text.tool_calls import ToolCall

#: The most hot memories that are considered, newest first, besides blockers and critical ones.
_MOST_HOT = 200
#: The most characters of a prompt that are searched for: its start and its end.
_QUERY_CHARS = 2000
#: How many hits of the search compete for space: one for so many tokens of the budget, within these limits.
#: Reading 20 instead of 100 records takes 13 % off the CPU time of context(400), at 1,000 memories.
_TOKENS_PER_HIT = 40
_LEAST_HITS, _MOST_HITS = 20, 100
#: How many of the first hits bring what perhaps replaces them.
_MOST_SUCCEEDED = 5
#: The role in the format `messages`.
ROLE = "user"
_NOT_HASHED = {"store", "redact", "redact_patterns", "capture_exclude"}
#: The most memories that a stored receipt names as left out by the budget, and for another reason: hits of the
#: search, and pinned or hot ones, of which a well-kept store has fewer.
_MOST_HITS_NAMED, _MOST_LISTED_NAMED = 25, 200

#: id, section, form, tokens, reasons and score of an entry of a stored receipt; a reason is a code and its details.
StoredEntry = tuple[str, str, str | None, int, list[tuple[str | int | float, ...]], float | None, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """The arguments of a context."""

    spaces: tuple[int, ...]
    now: datetime
    question: Question | None = None
    budget: int = 2000
    format: FormatName = "markdown"
    #: Whether to log it, and to keep its receipt.
    track: bool = True
    #: The most tokens of recalled memories; None for no limit of their own.
    recalled_tokens: int | None = None
    #: Whether it begins a session: with the summary of the last one, and open tasks.
    begins: bool = False
    #: Whether the conversation was given nothing yet: its rules come with the first prompt.
    opens: bool = False
    #: What was injected before: memory number -> its `updated_at` then, in microseconds.
    injected: Mapping[int, int] = field(default_factory=dict)
    #: The tool call that it is for; then only what concerns it is included.
    call: ToolCall | None = None
    #: What may be out of date, and why.
    degraded: tuple[str, ...] = ()
    #: Returns the spaces of past sessions.
    past_spaces: Callable[[], tuple[int, ...]] | None = None
    #: Returns why a memory does not belong into the folder of the caller: what has ended it, or another branch.
    unfit: Callable[[Memory], Reason | None] | None = None
    #: Returns what became of the files that a memory is about; empty if they are as they were.
    changed_since: Callable[[Memory], str] | None = None
    #: Returns how many places later a hit comes, because it is about another package.
    places_behind: Callable[[Memory], int] | None = None
    #: Returns the memories with an anchor in one of some files, each with the place.
    anchored: Callable[[Sequence[str]], Sequence[tuple[Record, str]]] | None = None


class Assembler:
    """Assembles contexts: pinned memories, then hot ones, then the hits of a query."""

    def __init__(self, store: Store, pipeline: Pipeline, settings: Settings) -> None:
        self._store = store
        self._pipeline = pipeline
        self._settings = settings
        self._recalls = RecallLog(store, settings)

    def context(self, request: Request) -> Context:
        """Return a context; with `track`, log it as a recall."""
        return self._assemble(request)[0]

    def turn_context(self, space: int, request: Request, *, repeat: bool = False) -> Context:
        """Return a context for a turn of a session, without what was injected before and is unchanged.

        What it includes is recorded in the store, so that the separate processes of an agent's hooks share it.
        With `repeat`, it may include what was injected before.
        """
        given = {} if repeat else self._store.injected(space)
        if request.call is not None:
            return self._call_context(space, request, given)
        # What was shown at a tool call is negative, see `_call_context`.
        injected = {no: abs(moment) for no, moment in given.items()}
        opens = not injected and request.question is not None
        context, included = self._assemble(replace(request, injected=injected, opens=opens))
        if included and request.track:
            changed = {each.number: to_micros(each.memory.updated_at) for each in included if each.number is not None}
            self._store.mark_injected(space, changed)
        return context

    def _call_context(self, space: int, request: Request, given: Mapping[int, int]) -> Context:
        """Return the context of a tool call; nothing is logged if no memory concerns it.

        A rule that was given with a prompt is shown again at the call that it is about, once: the number of such a
        memory is recorded with a negative time.
        """
        shown = {no: -moment for no, moment in given.items() if moment < 0}
        context, included = self._assemble(replace(request, injected=shown))
        if included:
            changed = {each.number: -to_micros(each.memory.updated_at) for each in included if each.number is not None}
            self._store.mark_injected(space, changed)
        return context

    def mark_given(self, space: int, records: Iterable[Record]) -> None:
        """Record that a session itself says what some memories say: nor are they shown at a tool call."""
        self._store.mark_injected(space, {record.no: -to_micros(record.memory.updated_at) for record in records})

    def forget_turns(self, space: int) -> None:
        """Forget what was injected: the prompt of the session is new, or was summarised."""
        self._store.clear_injected(space)

    def _assemble(self, request: Request) -> tuple[Context, list[Candidate]]:
        """Return a context and the candidates that are in it."""
        settings, question = self._settings, request.question
        if isinstance(request.budget, bool) or not isinstance(request.budget, int) or request.budget < 0:
            raise InvalidInput(f"budget must be a whole number of tokens from 0, not {request.budget!r}")
        text_format = format_of(request.format, ROLE)
        count = counter(settings.tokenizer)
        selection = self._select(request)
        ranking = selection.ranking
        limits = Limits(
            budget=request.budget,
            hot_tokens=min(settings.hot_max_tokens, START_TOKENS) if request.begins else settings.hot_max_tokens,
            hot_memories=settings.hot_max_facts,
            reserve=0 if question is None else settings.recall_max_tokens,
            recalled_tokens=request.recalled_tokens,
            on_pinned_overflow=settings.on_pinned_overflow,
        )
        focus = None if question is None else QueryFocus(question.text)
        packed = pack(selection.listed, selection.hits, text_format, count.count, limits, focus, by_line=count.by_line)
        receipt = Receipt(
            at=request.now,
            query=None if question is None else question.text,
            budget=request.budget,
            tokens=packed.tokens,
            shares=packed.shares,
            tokenizer=count.name,
            exact=count.exact,
            format=request.format,
            tiers=() if question is None else question.search.tiers,
            confidence=None if ranking is None else ranking.confidence,
            settings=settings_hash(settings),
            _included=Lazy(lambda: packed.included),
            _left_out=Lazy(
                lambda: (
                    *packed.left_out.value,
                    *(each.candidate.entry(each.candidate.cause, each.reason) for each in selection.skipped),
                )
            ),
            pinned_cut=packed.pinned_cut or selection.pinned_cut,
            notes=(*packed.notes, *selection.notes),
            degraded=(*request.degraded, *(() if ranking is None else ranking.degraded)),
        )
        context = Context(
            recall_id=self._log(request, selection, packed)
            if request.track and (packed.text or not request.call)
            else None,
            text=packed.text,
            tokens=packed.tokens,
            budget=request.budget,
            receipt=receipt,
        )
        return context, [candidate for candidate, _ in packed.chosen]

    def _select(self, request: Request) -> Selection:
        """Read and search the memories, and return the candidates.

        Pinned and hot memories are read in the snapshot of the search. Hits are left out that are less relevant than
        the best ones, and all of them where confidence is too low.
        """
        settings, question, selection = self._settings, request.question, Selection()
        if question is not None and request.call is not None:
            with self._pipeline.ranked(question, _MOST_HITS) as state:
                self._pipeline.read(state, _MOST_HITS)
            selection.ranking = self._pipeline.finish(state)
            anchored = () if request.anchored is None else request.anchored(request.call.paths)
            concerned = about_call(request.call, selection.ranking, state.pinned_records, anchored)
            return self._chosen(concerned, request, selection, 0.0)
        if question is None:
            with self._store.snapshot() as selection.seen:
                pinned = self._store.pinned(Search(spaces=request.spaces, now=request.now))
                hot, standing = self._hot(request, selection), self._standing(request)
        else:
            wanted = max(_LEAST_HITS, request.budget // _TOKENS_PER_HIT) + len(request.injected)
            count = min(wanted, _MOST_HITS)
            with self._pipeline.ranked(question, _MOST_HITS) as state:
                relevant = selection.judge(state, count)
                self._pipeline.read(state, relevant if settings.context_min_confidence else count)
                hot, standing = self._hot(request, selection), self._standing(request)
            selection.ranking, pinned = self._pipeline.finish(state), state.pinned_records
        candidates = [listed(record, "pinned", (record.no,)) for record in pinned]
        selection.limit_pinned(candidates, settings.max_pinned, request.now)
        current = [listed(record, "hot", (urgency(record.memory), record.no)) for record in hot]
        candidates += in_order(standing, current)
        if selection.ranking is not None:
            find = functools.partial(self._found, request, selection.ranking.question.search.tiers)
            candidates += with_successors(hits_of(selection.ranking), find, _MOST_SUCCEEDED)
        return self._chosen(candidates, request, selection, settings.context_min_confidence)

    def _chosen(
        self, candidates: Iterable[Candidate], request: Request, selection: Selection, least: float
    ) -> Selection:
        selection.choose(candidates, request.injected, least, request.now, request.unfit)
        if request.places_behind is not None:
            selection.put_behind(request.places_behind)
        if request.changed_since is not None:
            selection.mark_changed(request.changed_since)
        return selection

    def _found(self, request: Request, tiers: Collection[Tier], memory_id: str) -> Record | None:
        """Return a memory that a search of some tiers may find; None if it was hidden since, or is in another tier."""
        record = self._store.get(request.spaces, memory_id)
        found = record is not None and record.memory.tier in tiers and record.memory.visible_at(request.now)
        return record if found else None

    def _hot(self, request: Request, selection: Selection) -> list[Record]:
        """Return the hot memories, most urgent first, then newest first."""

        def find_hot(priority: Priority | None = None, tags: tuple[str, ...] | None = None) -> list[Record]:
            return self._store.find(
                Search(
                    spaces=request.spaces,
                    now=request.now,
                    tiers=(Tier.HOT,),
                    priority=priority,
                    tags=tags,
                    limit=_MOST_HOT + 1,
                )
            )

        records = {record.no: record for record in find_hot()}
        if len(records) > _MOST_HOT:
            urgent = (*find_hot(priority=Priority.CRITICAL), *find_hot(tags=("blocker",)))
            records |= {record.no: record for record in urgent}
            selection.notes.append(
                f"more than {_MOST_HOT} memories are hot: the newest and the most urgent were considered"
            )
        unpinned = (record for record in records.values() if not _is_pinned(record))
        return sorted(unpinned, key=lambda record: (urgency(record.memory), -record.no))

    def _standing(self, request: Request) -> list[Standing]:
        """Return what a session starts with besides hot memories, and what a query such as "who am I?" asks for.

        A conversation that was given nothing yet, or was compacted, is given the rules with its first prompt.
        """
        finder = StandingFinder(self._store, request.spaces, request.now, request.past_spaces)
        if request.begins:
            return finder.start()
        first = finder.rules() if request.opens else ()
        return [*first, *(() if request.question is None else finder.asked(request.question.text))]

    def _log(self, request: Request, selection: Selection, packed: Packed) -> str | None:
        """Store the receipt, log the context, and return its id; this counts as a use of nothing."""
        settings, ranking = self._settings, selection.ranking
        sections = {
            candidate.number: candidate.section for candidate, _ in packed.chosen if candidate.number is not None
        }
        receipt = None
        if settings.log_days and request.budget:
            receipt = _stored_receipt(request, selection, packed, sections)
        included = list(sections)
        if ranking is not None:
            answers = ranking.ranked if ranking.confidence >= settings.context_min_confidence else ()
            return self._recalls.write(ranking, included, answers, receipt=receipt)
        if included or receipt:
            space, seen = request.spaces[-1], selection.seen
            return self._recalls.write_listed(included, request.now, space, receipt=receipt, seen=seen)
        return None


def _is_pinned(record: Record) -> bool:
    return record.memory.priority is Priority.PINNED


def _stored_receipt(
    request: Request, selection: Selection, packed: Packed, included: Collection[int]
) -> ReceiptRow | None:
    """Return the receipt as it is stored: what was included, and what was not, with the first hits of the search only.

    It has no query, and not the budgets that would have included a memory: these cost more than the context itself.
    None if nothing was considered.
    """
    entries: list[StoredEntry] = [
        (candidate.memory.id, candidate.section, form.name, form.cost, _stored(reasons_for(candidate, form)),
         _rounded(candidate.score), candidate.mark)
        for candidate, form in packed.chosen
    ]  # fmt: skip
    left_out = [each for each in (*selection.listed, *selection.hits) if each.number not in included]
    obstacles = packed.obstacles.value if left_out else {}
    entries += _named(_left_out(each, obstacles[each.memory.id]) for each in left_out)
    entries += _named(_left_out(each.candidate, each.reason) for each in selection.skipped)
    if not entries:
        return None
    given = sum(each.candidate.memory.tokens for each in selection.skipped if each.reason.code == "given")
    sizes = {"budget": request.budget, "tokens": packed.tokens, "given": given}
    return ReceiptRow(query=None, format=request.format, entries=entries, **sizes)


def _named(left_out: Iterable[StoredEntry]) -> Iterator[StoredEntry]:
    """Yield the first of what was left out: of the hits, and of the pinned and hot memories."""
    counts: Counter[bool] = Counter()
    for entry in left_out:
        is_hit = entry[1] == "recalled"
        counts[is_hit] += 1
        if counts[is_hit] <= (_MOST_HITS_NAMED if is_hit else _MOST_LISTED_NAMED):
            yield entry


def _left_out(candidate: Candidate, reason: Reason) -> StoredEntry:
    memory, reasons = candidate.memory, _stored((candidate.cause, reason))
    return memory.id, candidate.section, None, memory.tokens, reasons, _rounded(candidate.score), ""


def _stored(reasons: Iterable[Reason]) -> list[tuple[str | int | float, ...]]:
    return [(reason.code, *reason.details) for reason in reasons]


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 4)


@functools.lru_cache(maxsize=16)
def settings_hash(settings: Settings) -> str:
    """Return the SHA-256 of every setting that can change a result; a secret could be guessed from it."""
    names = FIELDS.keys() - SECRET_NAMES - _NOT_HASHED
    values = {name: public(getattr(settings, name)) for name in names}
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def turn_query(prompt: str | None) -> str | None:
    """Return the query for a prompt: without recalled blocks, and shortened if it is very long."""
    if prompt is None:
        return None
    query = without_blocks(prompt).replace("\x00", "").encode("utf-8", "ignore").decode().strip()
    if len(query) > _QUERY_CHARS:
        query = f"{query[: _QUERY_CHARS // 2]}\n{query[-_QUERY_CHARS // 2 :]}"
    return query or None
