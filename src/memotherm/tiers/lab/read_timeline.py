"""The time line of a store, read from its ledger and its recall log, with the questions asked again."""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from memotherm.errors import InvalidInput
from memotherm.model import Event, Memory, Retention, Scope, Tier
from memotherm.model.recall import HIT_THRESHOLD, UseKind
from memotherm.recall.pipeline import Pipeline
from memotherm.recall.values import Question
from memotherm.settings import Settings
from memotherm.storage.rows import apply_changes
from memotherm.storage.store import Store
from memotherm.storage.values import LogEntry, Search, UseRow
from memotherm.text.tokens import count_tokens
from memotherm.tiers.lab.state import Asked, Born, Changed, Moved, Ran, Timeline, TimelineStep, Used
from memotherm.tiers.rules.properties import USE_WEIGHTS

_PAGE = 1000
_NAME_CHARS = 60
_INSTANT = timedelta(microseconds=1)
#: The fields that rules read.
_FIELDS = frozenset(
    {"kind", "tags", "tier", "tier_rule", "priority", "retention", "scope", "metadata", "source", "expires_at"}
)
_WRITTEN = frozenset({"content", "kind", "tags", "metadata", "source"})
#: Times that usually equal the creation time.
_TIMES = ("updated_at", "tier_since", "retention_since")
#: The rules in events of moves that a caller asked for.
_CALLERS = frozenset({"explicit", "session.promote"})
_REQUESTED = "spilled on request"
_HASH = re.compile(r"[0-9a-f]{64}")

#: Called with (done, total).
Progress = Callable[[int, int], None]


@dataclass(slots=True)
class _Past:
    """Memories, events and log entries read from a store."""

    #: Memory number -> index; indexes follow the order of numbers.
    indexes: dict[int, int] = field(default_factory=dict)
    #: As they are now; the steps take them away.
    memories: deque[Memory] = field(default_factory=deque)
    #: Those that are not active now.
    hidden: set[int] = field(default_factory=set)
    names: list[tuple[str, str]] = field(default_factory=list)
    scopes: dict[int, Scope] = field(default_factory=dict)
    #: The time and the number of the first event of each memory.
    first: list[tuple[datetime, int]] = field(default_factory=list)
    #: The later events of memories by index.
    changes: dict[int, list[Event]] = field(default_factory=lambda: defaultdict(list))
    log: list[LogEntry] = field(default_factory=list)
    later_uses: list[UseRow] = field(default_factory=list)

    def known(self, nos: Sequence[int]) -> tuple[int, ...]:
        """Return the indexes of memories that still have their content."""
        return tuple(index for no in nos if (index := self.indexes.get(no)) is not None)


def read_timeline(
    store: Store,
    pipeline: Pipeline,
    scope: Scope,
    now: datetime,
    settings: Settings,
    *,
    since: datetime | None = None,
    first: int = 10,
    progress: Progress | None = None,
) -> Timeline:
    """Read the time line of a scope; nothing is written.

    Args:
        store: The store.
        pipeline: What asks the logged questions again.
        scope: The scope.
        now: The end of the time line.
        settings: The settings of the store.
        since: When the period begins; None for the beginning of the log.
        first: How many of the best hits of a question it demands at most.
        progress: Called with (done, total) for the questions.
    """
    spaces = store.spaces_within(scope)
    past = _read(store, spaces, now)
    questions = [entry for entry in past.log if entry.query]
    if not questions:
        raise InvalidInput(
            "there is nothing to replay: the recall log has no questions. It is written while the setting recall_log "
            f"is text (it is {settings.recall_log}) and stored for log_days ({settings.log_days:g})"
        )
    start = past.log[0].at if since is None else max(since, past.log[0].at)
    steps = _Steps(past, start)
    steps.add_log(_demands(store, pipeline, past, scope, start, first, progress))
    steps.add_later_uses()
    if steps.questions and not steps.askable:
        raise InvalidInput(
            "none of the questions in the recall log can be asked again: they are stored as hashes, or have filters. "
            "Set recall_log = text and try again after some days"
        )
    return Timeline(
        steps=steps.ordered(),
        memories=len(past.names),
        names=past.names,
        start=start,
        questions=steps.questions,
        askable=steps.askable,
        followed=frozenset(use.recall for use in past.later_uses),
        notes=tuple(_notes(past, steps, start)),
    )


# Reading


def _read(store: Store, spaces: tuple[int, ...], now: datetime) -> _Past:
    past = _Past()
    after = 0
    while records := store.written_before(spaces, now, after, _PAGE):
        for record in records:
            memory = record.memory
            index = past.indexes[record.no] = len(past.memories)
            if memory.retention is not Retention.ACTIVE:
                past.hidden.add(index)
            past.names.append((memory.id, memory.content[:_NAME_CHARS]))
            past.scopes[record.space] = memory.scope
            # Without the content, which no rule looks at, and with equal times stored once.
            created = memory.created_at
            times: dict[str, Any] = {name: created for name in _TIMES if getattr(memory, name) == created}
            past.memories.append(replace(memory, content="", digest="", **times))
        after = records[-1].no
    _read_events(past, store, spaces)
    number = 0
    while entries := store.log_entries(spaces, number, _PAGE):
        past.log += [entry for entry in entries if entry.at <= now]
        number = entries[-1].number
    past.log.sort(key=lambda entry: (entry.at, entry.number))
    past.later_uses = [use for use in store.later_uses(spaces) if use.at <= now]
    return past


def _read_events(past: _Past, store: Store, spaces: tuple[int, ...]) -> None:
    """Read the events of the memories; of the first event only its time and number are needed."""
    indexes = {memory.id: index for index, memory in enumerate(past.memories)}
    first: dict[int, tuple[datetime, int]] = {}
    seq = 0
    while events := store.ledger(spaces, seq, _PAGE, oldest_first=True):
        for event in events:
            index = indexes.get(event.memory_id)
            if index is None or not event.changes:
                continue
            first.setdefault(index, (event.at, event.seq))
            if event.changes.get("retention", ("", ""))[0] is not None:
                past.changes[index].append(event)
        seq = events[-1].seq
    past.first = [first.get(index, (memory.created_at, 0)) for index, memory in enumerate(past.memories)]


# From events and entries of the log to steps


class _Steps:
    """The steps of a time line, each with its place in the order."""

    def __init__(self, past: _Past, start: datetime) -> None:
        self.questions = self.askable = 0
        self.earlier_uses = 0
        self._past = past
        self._start = start
        self._placed: list[tuple[datetime, int, int, int, TimelineStep]] = []
        #: By instant: the numbers of entries of the log for which rules ran, and of the last event at their end.
        self._bounds: dict[datetime, list[tuple[int, int]]] = defaultdict(list)
        for entry in past.log:
            if "seq" in entry.options:
                self._bounds[entry.at].append((entry.number, entry.options["seq"]))
        self._uses, self._weights, self._averaged = _logged_uses(past)
        for index in range(len(past.memories)):
            self._add_memory(index, past.memories.popleft(), past.changes.pop(index, []))

    def ordered(self) -> list[TimelineStep]:
        """Return the steps in order.

        At one instant, the entries of the log that name the last event are in order with the events. Between two of
        them come what callers do, then the other entries, then the moves of rules.
        """
        self._placed.sort(key=lambda placed: placed[:4])
        return [step for *_, step in self._placed]

    def _add_memory(self, index: int, memory: Memory, changes: Sequence[Event]) -> None:
        """Add the creation of a memory and its later events."""
        first = memory
        for event in reversed(changes):
            first = apply_changes(first, {name: was for name, (was, _) in event.changes.items()})
        born, seq = self._past.first[index]
        self._place_event(0, seq, Born(born, index, self._newborn(index, first, changes)))
        current = first
        for event in changes:
            after = apply_changes(current, {name: now for name, (_, now) in event.changes.items()})
            self._add_event(index, event, after)
            current = after

    def _newborn(self, index: int, first: Memory, changes: Sequence[Event]) -> Memory:
        """Return a memory as it was stored, with the uses that the log does not have."""
        changed = {name for event in changes for name in event.changes}
        uses = self._uses[index]
        unlogged = max(0, first.access_count - uses)
        self.earlier_uses += unlogged
        tokens = count_tokens(first.content) if "content" in changed else first.tokens
        averaged = index in self._averaged or any(map(_promoted, changes))
        return replace(
            first,
            content="",
            tokens=tokens,
            access_count=unlogged,
            accessed_at=first.accessed_at if not uses else None,
            use_weight=max(0.0, first.use_weight - self._weights[index]),
            recent_uses=first.recent_uses if not uses else 0.0,
            relevance=(1.0 if first.tier is Tier.HOT else 0.5) if averaged else first.relevance,
            updated_at=first.created_at if changed & _WRITTEN else first.updated_at,
            tier_since=first.created_at if "tier" in changed else first.tier_since,
            retention_since=first.created_at if "retention" in changed else first.retention_since,
            version=0,
        )

    def _add_event(self, index: int, event: Event, after: Memory) -> None:
        if _moved_by_rule(event):
            self._place_event(2, event.seq, Moved(event.at, index, after.tier, event.rule))
            return
        if event.rule == "duplicate":
            self._place_event(0, event.seq, Used(event.at, (index,)))
        values: dict[str, Any] = {name: getattr(after, name) for name in event.changes if name in _FIELDS}
        if "content" in event.changes:
            values |= {"content": "", "tokens": count_tokens(after.content)}
        if event.rule == "session.promote":
            values["relevance"] = 1.0
        if values:
            self._place_event(0, event.seq, Changed(event.at, index, values))

    def add_log(self, entries: Iterator[tuple[LogEntry, tuple[int, ...] | None, Scope]]) -> None:
        """Add log entries with their demanded memories; None for a query that cannot be repeated."""
        for entry, demanded, scope in entries:
            options, returned = entry.options, self._past.known(entry.returned)
            step: TimelineStep
            if "run" in options:
                step = Ran(entry.at, options["run"], Scope(**options["scope"]), frozenset(options["open"]))
            elif not entry.query:
                step = Used(entry.at, returned if "used" in options else ())
            else:
                within = entry.at >= self._start
                relevance = {
                    index: value
                    for no, value in options.get("relevance", ())
                    if (index := self._past.indexes.get(no)) is not None
                }
                step = Asked(
                    at=entry.at,
                    question=entry.number,
                    scope=scope,
                    tiers=entry.tiers,
                    returned=returned,
                    used="used" in options,
                    demanded=demanded or (),
                    relevance=relevance,
                    promote="promote" in options,
                    average="average" in options,
                    counted=within and demanded is not None,
                )
                self.questions += within
                self.askable += step.counted
            self._place_entry(entry.number, step)

    def add_later_uses(self) -> None:
        """Add the uses that followed recalls, after the entries of the log at the same moment."""
        last = self._past.log[-1].number
        for number, use in enumerate(self._past.later_uses, last + 1):
            step = Used(use.at, self._past.known((use.no,)), USE_WEIGHTS[use.strength], use.recall)
            self._place_entry(number, step)

    def _place_event(self, rank: int, seq: int, step: TimelineStep) -> None:
        part = sum(last < seq for _, last in self._bounds.get(step.at, ()))
        self._placed.append((step.at, part, rank, seq, step))

    def _place_entry(self, number: int, step: TimelineStep) -> None:
        part = sum(bound < number for bound, _ in self._bounds.get(step.at, ()))
        self._placed.append((step.at, part, 3 if isinstance(step, Ran) else 1, number, step))


def _logged_uses(past: _Past) -> tuple[Counter[int], defaultdict[int, float], set[int]]:
    """Return the logged uses per memory, their weights, and the memories with averaged relevance."""
    uses: Counter[int] = Counter()
    weights: defaultdict[int, float] = defaultdict(float)
    averaged: set[int] = set()
    for entry in past.log:
        if "used" in entry.options:
            for index in past.known(entry.returned):
                uses[index] += 1
                weights[index] += USE_WEIGHTS[UseKind.RETURNED]
        if "average" in entry.options:
            averaged.update(past.known([no for no, _ in entry.options["relevance"]]))
    for use in past.later_uses:
        for index in past.known((use.no,)):
            uses[index] += 1
            weights[index] += USE_WEIGHTS[use.strength]
    for index, events in past.changes.items():
        repeated = sum(event.rule == "duplicate" for event in events)
        uses[index] += repeated
        weights[index] += repeated
    return uses, weights, averaged


def _moved_by_rule(event: Event) -> bool:
    """Return whether a rule decided a move, so that a replay decides it again."""
    if event.action != "move" or event.rule in _CALLERS or event.rule.startswith("note."):
        return False
    return not event.why.endswith(_REQUESTED)


def _promoted(event: Event) -> bool:
    """Return whether a memory was promoted to hot, which sets its relevance."""
    if "tier" not in event.changes or event.changes["tier"][1] != Tier.HOT:
        return False
    return event.rule == "session.promote" or _moved_by_rule(event)


# Asking again


def _demands(
    store: Store,
    pipeline: Pipeline,
    past: _Past,
    around: Scope,
    start: datetime,
    first: int,
    progress: Progress | None,
) -> Iterator[tuple[LogEntry, tuple[int, ...] | None, Scope]]:
    """Yield the log entries with their demanded memories and their scope."""
    for done, entry in enumerate(past.log):
        if progress is not None and done % 100 == 0:
            progress(done, len(past.log))
        scope = past.scopes.get(entry.space, around)
        demanded: tuple[int, ...] | None = None
        if entry.query and entry.at >= start and not _HASH.fullmatch(entry.query) and "filtered" not in entry.options:
            spaces = (entry.space,) if "alone" in entry.options else store.spaces(scope)
            found = _asked_again(pipeline, past, entry, spaces, first)
            # Memories that were returned then and are hidden now cannot be found again.
            gone = [index for index in past.known(entry.returned) if index in past.hidden]
            demanded = tuple(dict.fromkeys((*found, *gone)))
        yield entry, demanded, scope


def _asked_again(pipeline: Pipeline, past: _Past, entry: LogEntry, spaces: tuple[int, ...], first: int) -> list[int]:
    """Repeat a query in all tiers, over the memories stored at the time it was asked."""
    search = Search(spaces=spaces, now=entry.at)
    question = Question(text=entry.query, search=search, serving=pipeline.store.identity())
    found, crowded = _answers(pipeline, past, question, first)
    if crowded and len(found) < first:
        question = replace(question, search=replace(search, until=entry.at + _INSTANT))
        found, _ = _answers(pipeline, past, question, first)
    return found


def _answers(pipeline: Pipeline, past: _Past, question: Question, first: int) -> tuple[list[int], bool]:
    """Return the best answers that were stored in time, and whether later ones may have taken the place of others.

    They have not if there are candidates that do not answer: all that answer are then among the candidates.
    """
    found: list[int] = []
    later, answering = False, True
    for candidate in pipeline.run(question, first, 0).ranked:
        index = past.indexes.get(candidate.no)
        answers = candidate.relevance >= HIT_THRESHOLD
        answering = answering and answers
        if index is None or not answers:
            continue
        if past.first[index][0] > question.search.now:
            later = True
        elif len(found) < first:
            found.append(index)
    return found, later and answering


def _notes(past: _Past, steps: _Steps, start: datetime) -> Iterator[str]:
    """Yield the limits of the replay, as sentences for the user."""
    if steps.askable < steps.questions:
        missing = steps.questions - steps.askable
        yield (
            f"{missing:,} of {steps.questions:,} questions ({missing / steps.questions:.0%}) could not be asked again: "
            "they are stored as hashes, or have filters"
        )
    if steps.earlier_uses:
        yield f"{steps.earlier_uses:,} uses are not in the log; they count from the beginning of their memories"
    if not any("run" in entry.options for entry in past.log if entry.at >= start):
        yield "the log has no run of compaction or maintenance in this period, so no rule of them could move anything"
