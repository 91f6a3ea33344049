"""The rule engine on the past: each policy runs on a store in memory, which holds the memories at the start.

They have no content, words or vectors there, since no rule of a policy reads them. A pass is a unit of work that is
rolled back, so that the next one begins at the start again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache, partial
from itertools import groupby

from memotherm.embed.protocol import NoEmbedder
from memotherm.errors import LimitReached
from memotherm.model import Event, Hit, Memory, Priority, Retention, Scope, Tier, Why
from memotherm.model.actions import Action
from memotherm.remember.changes import Changes
from memotherm.remember.limits import Limits
from memotherm.settings import Settings
from memotherm.storage.open import open_store
from memotherm.storage.rows import apply_changes
from memotherm.storage.store import Transaction
from memotherm.storage.values import Cause, EventFilter, LogEntry, Record
from memotherm.text.tokens import count_tokens
from memotherm.tiers.active_policy import ActiveRules
from memotherm.tiers.engine import ClockCheck, RuleEngine
from memotherm.tiers.rules import Rule, Select, Situation
from memotherm.tiers.rules.properties import USE_WEIGHTS
from memotherm.tiers.timeline import Timeline, TimelineStep, is_first, moved_by_rule
from memotherm.tiers.working_memory import WorkingMemory
from memotherm.vectors.vectorizer import Vectorizer

_PAGE = 5000
#: A move back to a tier that a rule took the memory out of within this time is a flap.
_FLAP = timedelta(days=7)
#: The fields of an event that rules read.
_FIELDS = frozenset(
    {"kind", "tags", "tier", "tier_rule", "priority", "retention", "scope", "metadata", "source", "expires_at", "trust"}
)


@dataclass(slots=True)
class Outcome:
    """Counts of one pass."""

    #: Each demanded memory, its tier, and the rule that had put it there.
    asked: list[int] = field(default_factory=list)
    tiers: list[Tier] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)
    #: For each question that counts: the tokens of a turn, and the numbers of live and of active memories.
    tokens: list[int] = field(default_factory=list)
    live: list[int] = field(default_factory=list)
    active: list[int] = field(default_factory=list)
    #: By question: its answers in tiers that it did not search.
    unsearched: dict[int, tuple[int, ...]] = field(default_factory=dict)
    #: The moves of rules, and how many of them took a recent one back.
    moves: int = 0
    flaps: int = 0
    #: The tiers of the active memories at the end, by id.
    final: dict[str, Tier] = field(default_factory=dict)


class _UndoneError(Exception):
    """Rolls a pass back."""


class PastStore:
    """A store in memory with the memories at the start of a time line."""

    def __init__(self, timeline: Timeline, settings: Settings) -> None:
        self.timeline = timeline
        self.store = open_store(":memory:", replace(settings, recall_log="off"))
        #: The numbers of the memories here, by those of the past.
        self.nos = self.store.transact(self._fill)
        # The scopes of what is read here stay in memory, unlike of what a pass reads.
        self.store.records(list(self.nos.values()))

    def _fill(self, transaction: Transaction) -> dict[int, int]:
        for memory in self.timeline.born.values():
            transaction.space(memory.scope)
        cause = Cause(action=Action.REMEMBER, at=self.timeline.start)
        return {
            no: transaction.insert(transaction.space(memory.scope), memory, None, cause).no
            for no, memory in self.timeline.memories.items()
        }

    def run(
        self,
        rules: Sequence[Rule] | None,
        settings: Settings,
        unsearched: Mapping[int, tuple[int, ...]],
        tick: Callable[[int], None],
    ) -> Outcome:
        """Take the steps of the time line and let rules decide; then undo all of it.

        Args:
            rules: The rules of a policy that move memories between tiers; None takes the recorded moves.
            settings: Settings with the limits of the policy.
            unsearched: What each question would have found in tiers that it did not search, from the recorded moves.
            tick: Called with the number of steps taken.
        """
        one, done = _Pass(self, rules, replace(settings, recall_log="off"), unsearched), 0
        with suppress(_UndoneError), self.store.unit_of_work():
            for alone, group in groupby(self.timeline.steps, _is_alone):
                steps = list(group)
                for part in [[step] for step in steps] if alone else [steps]:
                    one.take(part)
                done += len(steps)
                tick(done)
            one.finish()
            raise _UndoneError
        return one.outcome

    def close(self) -> None:
        """Close the store."""
        self.store.close()


def _is_alone(step: TimelineStep) -> bool:
    """Return whether a step is a question or a run of the rules; all others between two of these are taken at once."""
    return isinstance(step, LogEntry) and bool(step.query or "run" in step.options)


class _Pass:
    """One pass over a time line."""

    def __init__(
        self,
        past: PastStore,
        rules: Sequence[Rule] | None,
        settings: Settings,
        unsearched: Mapping[int, tuple[int, ...]],
    ) -> None:
        self.outcome = Outcome()
        self._store = store = past.store
        self._nos = dict(past.nos)
        self._timeline = timeline = past.timeline
        self._decides = rules is not None
        self._settings = settings
        self._unsearched = unsearched
        self._spaces = store.spaces_within(timeline.scope)
        self._seen_from = cache(store.spaces)
        self._seq = store.seq()
        #: What each question was given.
        self._given: dict[int, set[int]] = {}
        #: All scopes, and those of sessions that are open.
        self._scopes = {memory.scope for memory in (*timeline.memories.values(), *timeline.born.values())}
        self._open: set[Scope] = set()

        def source() -> Sequence[Rule]:
            return rules or ()

        vectorizer = Vectorizer.open(store, NoEmbedder())
        self._limits = Limits(settings, source)
        changes = Changes(store, vectorizer, self._limits, settings)
        active = ActiveRules(adoption=0, rules=source, settings=settings)
        self._engine = RuleEngine(store, changes, vectorizer, active, ClockCheck(store, self))
        self._working = WorkingMemory(store, vectorizer, self._limits, self._engine, settings)

    def take(self, steps: Sequence[TimelineStep]) -> None:
        """Take a question, a run of the rules, or changes and uses, which are one transaction."""
        step = steps[0]
        if not _is_alone(step):
            self._store.transact(partial(self._change_all, steps))
        elif isinstance(step, LogEntry) and step.query:
            self._ask(step)
        elif isinstance(step, LogEntry) and self._decides:
            self._run(step)

    # Changes and uses

    def _change_all(self, steps: Sequence[TimelineStep], transaction: Transaction) -> None:
        """Apply changes and uses."""
        for step in steps:
            if isinstance(step, Event):
                if not (self._decides and moved_by_rule(step)):
                    self._change(transaction, step)
            elif isinstance(step, LogEntry):
                if "used" in step.options:
                    transaction.touch(self._known(step.returned), step.at)
            elif step.no in self._given.get(step.recall, self._nos):
                # What the policy did not return cannot be used later.
                transaction.touch(self._known((step.no,)), step.at, USE_WEIGHTS[step.strength])

    def _known(self, nos: Sequence[int]) -> list[int]:
        return [self._nos[no] for no in nos if no in self._nos]

    def _change(self, transaction: Transaction, event: Event) -> None:
        """Apply a recorded event as far as the limits admit it."""
        no = self._timeline.nos[event.memory_id]
        action = Action[event.action.upper()]
        cause = Cause(action=action, at=event.at, actor=event.actor, rule=event.rule, why=event.why)
        record = transaction.get(event.memory_id)
        if record is None:
            if is_first(event):
                after = self._timeline.born[no]
                if not self._admits(transaction, after, cause):
                    after = replace(after, tier=Tier.WARM, tier_rule="session.full")
                self._nos[no] = transaction.insert(transaction.space(after.scope), after, None, cause).no
            return
        before, values = record.memory, {name: now for name, (_, now) in event.changes.items()}
        after = apply_changes(before, {name: now for name, now in values.items() if name in _FIELDS})
        if "content" in values:
            tokens = count_tokens(values["content"], self._settings.tokenizer)
            after = replace(after, content=str(event.seq), tokens=tokens)
        if event.rule == "session.promote":
            after = replace(after, relevance=1.0)
        if not self._admits(transaction, after, cause, record):
            after = replace(after, tier=before.tier, tier_rule=before.tier_rule)
        transaction.change(record, after, cause)
        if event.rule == "duplicate":
            transaction.touch([record.no], event.at)

    def _admits(self, transaction: Transaction, after: Memory, cause: Cause, before: Record | None = None) -> bool:
        """Make room for a memory; return whether the limits of the policy admit it."""
        if self._decides:
            try:
                self._limits.admit(transaction, transaction.space(after.scope), after, cause, before)
            except LimitReached:
                return False
        return True

    # Questions

    def _ask(self, entry: LogEntry) -> None:
        demanded, more = self._timeline.demanded.get(entry.number), self._unsearched.get(entry.number, ())
        nos = [no for no in (*(demanded or ()), *entry.returned, *more) if no in self._nos]
        found = self._store.records(self._known(nos))
        records = {no: found[self._nos[no]] for no in nos}
        if demanded is not None:
            self._count(entry, demanded, records)
        searched = {no for no, record in records.items() if _is_searched(record.memory, entry)}
        if not self._decides:
            self.outcome.unsearched[entry.number] = tuple(
                no for no in demanded or () if no not in searched and no not in entry.returned
            )
            return
        given = [records[no] for no in (*entry.returned, *more) if no in searched]
        self._given[entry.number] = searched.intersection((*entry.returned, *more))
        promoted = self._promoted(entry, given) if "promote" in entry.options else frozenset()

        def count_use(transaction: Transaction) -> None:
            relevance = self._relevance(entry) if "average" in entry.options else {}
            for record in given:
                if record.memory.id not in promoted and record.no in relevance:
                    transaction.set_relevance(record.no, (record.memory.relevance + relevance[record.no]) / 2)
            if "used" in entry.options:
                transaction.touch([record.no for record in given], entry.at)

        self._store.transact(count_use)

    def _relevance(self, entry: LogEntry) -> dict[int, float]:
        """Return how well memories answered a question, where that decides something, by their numbers here."""
        return {self._nos[no]: value for no, value in entry.options.get("relevance", ()) if no in self._nos}

    def _promoted(self, entry: LogEntry, given: Sequence[Record]) -> frozenset[str]:
        """Run the rules of promotion, and return the ids of what they promoted."""
        relevance, scope = self._relevance(entry), self._timeline.scope_of(entry)
        hits = [
            Hit(memory=record.memory, score=0.0, why=Why(relevance=relevance.get(record.no, 0.0))) for record in given
        ]
        cause = Cause(action=Action.MOVE, at=entry.at)
        if "average" in entry.options:
            space = next((record.space for record in given if record.memory.scope == scope), 0)
            moves, _ = self._working.promote_hits(space, hits, cause)
            self._open |= {scope} if moves else set()
        else:
            moves, _ = self._engine.promote(hits, scope, self._spaces, cause)
        return frozenset(move.id for move in moves)

    def _count(self, entry: LogEntry, demanded: Sequence[int], records: Mapping[int, Record]) -> None:
        """Count the demanded memories of a question by tier."""
        outcome, counts = self.outcome, self._store.counts(self._spaces, entry.at).tiers
        hot, warm, cold = (counts[tier].memories for tier in Tier)
        scope = self._timeline.scope_of(entry)
        tokens = self._store.counts(self._seen_from(scope), entry.at).tiers[Tier.HOT].tokens
        for no in demanded:
            memory = records[no].memory if no in records else None
            tier = Tier.COLD if memory is None or memory.retention is not Retention.ACTIVE else memory.tier
            if memory is not None and tier is Tier.WARM:
                tokens += memory.tokens
            outcome.asked.append(no)
            outcome.tiers.append(tier)
            outcome.rules.append("" if memory is None else memory.tier_rule)
        outcome.tokens.append(tokens)
        outcome.live.append(hot + warm)
        outcome.active.append(hot + warm + cold)

    # Runs of the rules

    def _run(self, entry: LogEntry) -> None:
        opened = {scope for scope in self._scopes if scope.session in entry.options["open"]}

        def set_sessions(transaction: Transaction) -> None:
            for scope in opened | self._open:
                transaction.set_session(transaction.space(scope), "active" if scope in opened else "archived", entry.at)

        if opened or self._open:
            self._store.transact(set_sessions)
        self._open = opened
        scope, cause = Scope(**entry.options["scope"]), Cause(action=Action.MOVE, at=entry.at)
        if entry.options["run"] == "compact":
            self._engine.compact(scope, cause, dry_run=False)
        else:
            self._engine.maintain(scope, cause)

    def finish(self) -> None:
        """Count the moves of rules, and list the tiers at the end."""
        outcome, seq = self.outcome, self._seq
        last: dict[str, tuple[datetime, str]] = {}
        where = EventFilter(action=Action.MOVE)
        while events := self._store.ledger(self._spaces, seq, _PAGE, where, oldest_first=True):
            for event in filter(moved_by_rule, events):
                was, now = event.changes["tier"]
                at, left = last.get(event.memory_id, (event.at, ""))
                outcome.moves += 1
                outcome.flaps += left == now and event.at - at < _FLAP
                last[event.memory_id] = (event.at, was)
            seq = events[-1].seq
        situation = Situation(now=self._timeline.steps[-1].at, settings=self._settings)
        for record in self._store.select(self._spaces, Select(expired=None), situation):
            outcome.final[record.memory.id] = record.memory.tier


def _is_searched(memory: Memory, entry: LogEntry) -> bool:
    """Return whether a question can find a memory; hot and pinned memories are in every context."""
    if memory.retention is not Retention.ACTIVE:
        return False
    return memory.tier in entry.tiers or memory.tier is Tier.HOT or memory.priority is Priority.PINNED
