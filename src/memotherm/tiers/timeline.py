"""The time line of a store, read from its ledger and its recall log, with the questions asked again."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from memotherm.errors import InvalidInput
from memotherm.model import Event, Memory, Retention, Scope, Tier
from memotherm.model.recall import HIT_THRESHOLD, USE_WINDOW, UseKind
from memotherm.recall.as_of import count_until, histories_until, state_after
from memotherm.recall.pipeline import Pipeline
from memotherm.recall.values import Question
from memotherm.settings import Settings
from memotherm.storage.store import Store
from memotherm.storage.values import LogEntry, Record, Search, UseRow
from memotherm.tiers.rules.properties import USE_WEIGHTS

_PAGE = 1000
_INSTANT = timedelta(microseconds=1)
#: The rules in events of moves that a caller asked for.
_CALLERS = frozenset({"explicit", "session.promote"})
_REQUESTED = "spilled on request"
_HASH = re.compile(r"[0-9a-f]{64}")

#: Called with (done, total).
Progress = Callable[[int, int], None]
#: A change of a memory; a question, uses without one, or a run of the rules; a use that followed a question.
TimelineStep = Event | LogEntry | UseRow


def is_first(event: Event) -> bool:
    """Return whether an event is the first of its memory."""
    return event.changes.get("retention", ("", ""))[0] is None


def moved_by_rule(event: Event) -> bool:
    """Return whether a rule decided a move, so that a replay decides it again."""
    if event.action != "move" or event.rule in _CALLERS or event.rule.startswith("note."):
        return False
    return not event.why.endswith(_REQUESTED)


def _promoted(event: Event) -> bool:
    """Return whether a memory was promoted to hot, which sets its relevance."""
    to_hot = "tier" in event.changes and event.changes["tier"][1] == Tier.HOT
    return to_hot and (event.rule == "session.promote" or moved_by_rule(event))


@dataclass(kw_only=True, slots=True)
class Timeline:
    """What happened to the memories of a scope in a period; numbers are those of the store."""

    scope: Scope
    start: datetime
    #: The memories just before the start, by number, and those stored since, as they were stored.
    memories: dict[int, Memory] = field(default_factory=dict)
    born: dict[int, Memory] = field(default_factory=dict)
    #: The numbers by id, when each memory was stored, and those that are not active now.
    nos: dict[str, int] = field(default_factory=dict)
    stored: dict[int, datetime] = field(default_factory=dict)
    hidden: set[int] = field(default_factory=set)
    scopes: dict[int, Scope] = field(default_factory=dict)
    #: What happened, in order.
    steps: list[TimelineStep] = field(default_factory=list)
    #: The number of questions, and the answers in all tiers, best first, of those that could be asked again.
    questions: int = 0
    demanded: dict[int, tuple[int, ...]] = field(default_factory=dict)
    #: Uses that the log does not have.
    unlogged_uses: int = 0

    def scope_of(self, entry: LogEntry) -> Scope:
        """Return the scope in which a question was asked."""
        return self.scopes.get(entry.space, self.scope)

    def notes(self) -> Iterator[str]:
        """Yield the limits of the replay, as sentences for the user."""
        missing = self.questions - len(self.demanded)
        if missing:
            yield (
                f"{missing:,} of {self.questions:,} questions ({missing / self.questions:.0%}) could not be asked "
                "again: they are stored as hashes, or have filters"
            )
        if self.unlogged_uses:
            yield f"{self.unlogged_uses:,} uses are not in the log; they count from the beginning of their memories"
        if not any(isinstance(step, LogEntry) and "run" in step.options for step in self.steps):
            yield "the log has no run of compaction or maintenance in this period, so no rule of them moved anything"


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
    log = [entry for entry in _log_entries(store, spaces) if entry.at <= now]
    if not any(entry.query for entry in log):
        raise InvalidInput(
            "there is nothing to replay: the recall log has no questions. It is written while the setting recall_log "
            f"is text (it is {settings.recall_log}) and stored for log_days ({settings.log_days:g})"
        )
    start = min(entry.at for entry in log)
    start = start if since is None else max(since, start)
    timeline = Timeline(scope=scope, start=start)
    later_uses = [use for use in store.later_uses(spaces) if use.at <= now]
    uses, events = _LoggedUses(log, later_uses, start), list[Event]()
    for record, history in histories_until(store, spaces, now):
        events += _add_memory(timeline, uses, record, [each for each in history if each.changes], settings.tokenizer)
    entries = [entry for entry in log if entry.at >= start]
    timeline.steps = _ordered(events, entries, [use for use in later_uses if use.at >= start])
    questions = [entry for entry in entries if entry.query]
    timeline.questions = len(questions)
    for done, entry in enumerate(questions):
        if progress is not None and done % 100 == 0:
            progress(done, len(questions))
        if not _HASH.fullmatch(entry.query) and "filtered" not in entry.options:
            timeline.demanded[entry.number] = _demanded(store, pipeline, timeline, entry, first)
    if questions and not timeline.demanded:
        raise InvalidInput(
            "none of the questions in the recall log can be asked again: they are stored as hashes, or have filters. "
            "Set recall_log = text and try again after some days"
        )
    return timeline


def _log_entries(store: Store, spaces: Sequence[int]) -> Iterator[LogEntry]:
    number = 0
    while page := store.log_entries(spaces, number, _PAGE):
        yield from page
        number = page[-1].number


# Memories


class _LoggedUses:
    """The uses of each memory that the log has: those before the start, and how many there are since."""

    def __init__(self, log: Sequence[LogEntry], later_uses: Sequence[UseRow], start: datetime) -> None:
        self.before: defaultdict[int, list[tuple[datetime, float]]] = defaultdict(list)
        self.counts: Counter[int] = Counter()
        self.weights: defaultdict[int, float] = defaultdict(float)
        #: The memories whose relevance was averaged since.
        self.averaged: set[int] = set()
        used = [(entry.at, no, UseKind.RETURNED) for entry in log if "used" in entry.options for no in entry.returned]
        for at, no, kind in (*used, *((use.at, use.no, use.strength) for use in later_uses)):
            if at < start:
                self.before[no].append((at, USE_WEIGHTS[kind]))
            else:
                self.counts[no] += 1
                self.weights[no] += USE_WEIGHTS[kind]
        for entry in log:
            if "average" in entry.options and entry.at >= start:
                self.averaged.update(no for no, _ in entry.options["relevance"])


def _last_use(uses: Iterable[tuple[datetime, float]]) -> tuple[datetime | None, float]:
    """Return the time of the last of some uses, and the recent uses then."""
    accessed, recent = None, 0.0
    for at, weight in sorted(uses):
        recent = weight + (recent if accessed is not None and accessed > at - USE_WINDOW else 0.0)
        accessed = at
    return accessed, recent


def _add_memory(
    timeline: Timeline, uses: _LoggedUses, record: Record, history: Sequence[Event], tokenizer: str
) -> Sequence[Event]:
    """Add a memory as it was at the start, or as it was stored since; return its events since."""
    memory, no = record.memory, record.no
    timeline.nos[memory.id], timeline.scopes[record.space] = no, memory.scope
    timeline.stored[no] = history[0].at if history else memory.created_at
    if memory.retention is not Retention.ACTIVE:
        timeline.hidden.add(no)
    count = count_until(history, timeline.start - _INSTANT)
    later = history[max(1, count) :]
    then = state_after(memory, history, max(1, count), tokenizer) or memory
    repeated = sum(event.rule == "duplicate" for event in later)
    used = uses.counts[no] + repeated
    before = max(0, then.access_count - used)
    earlier = [*uses.before[no], *((event.at, 1.0) for event in history[:count] if event.rule == "duplicate")]
    timeline.unlogged_uses += max(0, before - len(earlier))
    accessed, recent = _last_use(earlier) if used else (then.accessed_at, then.recent_uses)
    relevance = then.relevance
    if no in uses.averaged or any(map(_promoted, later)):
        relevance = 1.0 if then.tier is Tier.HOT else 0.5
    (timeline.memories if count or not history else timeline.born)[no] = replace(
        then,
        # No rule reads the content.
        content=then.digest,
        digest="",
        key=None,
        supersedes=None,
        index=False,
        access_count=before,
        use_weight=max(0.0, then.use_weight - uses.weights[no] - repeated),
        accessed_at=accessed,
        recent_uses=recent,
        relevance=relevance,
    )
    return history[count:]


def _ordered(events: Sequence[Event], entries: Sequence[LogEntry], uses: Sequence[UseRow]) -> list[TimelineStep]:
    """Return steps in order of time.

    At one instant, the entries of the log that name the last event are in order with the events. Between two of them
    come what callers do, then the other entries, then the moves of rules.
    """
    #: By instant: the numbers of entries of the log for which rules ran, and of the last event at their end.
    bounds: dict[datetime, list[tuple[int, int]]] = defaultdict(list)
    for entry in entries:
        if "seq" in entry.options:
            bounds[entry.at].append((entry.number, entry.options["seq"]))
    placed: list[tuple[datetime, int, int, int, TimelineStep]] = []
    for event in events:
        part = sum(last < event.seq for _, last in bounds.get(event.at, ()))
        placed.append((event.at, part, 2 if moved_by_rule(event) else 0, event.seq, event))
    end = max((entry.number for entry in entries), default=0) + 1
    logged: list[tuple[int, LogEntry | UseRow]] = [(entry.number, entry) for entry in entries]
    for number, step in (*logged, *enumerate(uses, end)):
        part = sum(bound < number for bound, _ in bounds.get(step.at, ()))
        ran = isinstance(step, LogEntry) and "run" in step.options
        placed.append((step.at, part, 3 if ran else 1, number, step))
    return [step for *_, step in sorted(placed, key=lambda each: each[:4])]


# Questions


def _demanded(store: Store, pipeline: Pipeline, timeline: Timeline, entry: LogEntry, first: int) -> tuple[int, ...]:
    """Ask a question again in all tiers, and return its answers among the memories stored at its time."""
    spaces = (entry.space,) if "alone" in entry.options else store.spaces(timeline.scope_of(entry))
    search = Search(spaces=spaces, now=entry.at)
    question = Question(text=entry.query, search=search, serving=pipeline.store.identity())
    found, crowded = _answers(pipeline, timeline.stored, question, first)
    if crowded and len(found) < first:
        earlier = replace(question, search=replace(search, until=entry.at + _INSTANT))
        found, _ = _answers(pipeline, timeline.stored, earlier, first)
    # Memories that were returned then and are hidden now cannot be found again.
    return tuple(dict.fromkeys((*found, *(no for no in entry.returned if no in timeline.hidden))))


def _answers(
    pipeline: Pipeline, stored: Mapping[int, datetime], question: Question, first: int
) -> tuple[list[int], bool]:
    """Return the best answers that were stored in time, and whether later ones may have taken the place of others.

    They have not if there are candidates that do not answer: all that answer are then among the candidates.
    """
    ranked = pipeline.run(question, first, 0).ranked
    answers = [each.no for each in ranked if each.relevance >= HIT_THRESHOLD and each.no in stored]
    in_time = [no for no in answers if stored[no] <= question.search.now]
    answering = all(each.relevance >= HIT_THRESHOLD for each in ranked)
    return in_time[:first], answering and len(in_time) < len(answers)
