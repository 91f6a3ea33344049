"""The memories of a replay under one policy, and what the steps of the time line do to them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memotherm.model import Memory, Move, Priority, Retention, Scope, Tier
from memotherm.model.clock import to_micros
from memotherm.model.uses import Strength
from memotherm.policy.replay.columns import Columns
from memotherm.policy.replay.quiet import quiet_until
from memotherm.policy.replay.timeline import Asked, Ran
from memotherm.rules.deciding import ACTIVE_HOT, decide_all
from memotherm.rules.heat import use_weight
from memotherm.rules.rule import Rule, RuleSet, Situation, Stay
from memotherm.rules.select import Select
from memotherm.settings import Settings

__all__ = ["FLAP", "Moves", "State", "is_pinned"]

#: A move back to a tier that a rule took the memory out of within this time is a flap.
FLAP = timedelta(days=7)
#: The uses that `access_count` counts.
_COUNTED = (None, Strength.RETURNED, Strength.INJECTED)
_WRITTEN = frozenset({"content", "kind", "tags", "metadata", "source"})


@dataclass(slots=True)
class Moves:
    """The moves that rules have made."""

    count: int = 0
    flaps: int = 0
    #: The last move of each memory: when, from which tier, and the rule.
    last: dict[int, tuple[datetime, Tier, str]] = field(default_factory=dict)

    def add(self, index: int, at: datetime, was: Tier, now: Tier, rule: str) -> None:
        """Count a move."""
        self.count += 1
        before = self.last.get(index)
        if before is not None and before[1] is now and at - before[0] < FLAP:
            self.flaps += 1
        self.last[index] = (at, was, rule)


class State:
    """All memories under one policy."""

    def __init__(self, count: int, rules: Sequence[Rule], settings: Settings) -> None:
        self.memories: list[Memory | None] = [None] * count
        self.moves = Moves()
        #: Whether sessions have a limit; what is recorded fits by itself.
        self.limited = False
        self._settings = settings
        self._window = timedelta(days=settings.use_window_days)
        self._columns = Columns(count)
        self._indexes: dict[str, int] = {}
        self._rules = {run: RuleSet(rules, run, settings) for run in ("compact", "maintain", "spill", "promote")}
        #: For each rule, until when it decides nothing about each memory, in microseconds.
        self._quiet = {
            rule.id: np.zeros(count, np.int64) for run in ("compact", "maintain") for rule, _ in self._rules[run]
        }
        #: The hot memories of each scope, and the tokens of them.
        self._hot: dict[Scope, set[int]] = defaultdict(set)
        self._hot_tokens: dict[Scope, int] = defaultdict(int)
        #: The number of hot and warm memories.
        self.live = 0
        #: The number of active memories.
        self.active = 0

    # Reading

    def tier(self, index: int) -> Tier | None:
        """Return the tier of a memory; None if it is not active."""
        memory = self.memories[index]
        return None if memory is None or memory.retention is not Retention.ACTIVE else memory.tier

    def hot_tokens(self, scope: Scope) -> int:
        """Return the tokens of the hot memories that a scope sees."""
        return sum(tokens for other, tokens in self._hot_tokens.items() if tokens and scope.sees(other))

    def final(self) -> dict[str, Tier]:
        """Return the tiers of the active memories by id."""
        return {
            memory.id: memory.tier
            for memory in self.memories
            if memory is not None and memory.retention is Retention.ACTIVE
        }

    # Changing

    def put(self, index: int, memory: Memory) -> None:
        """Store a new or changed memory."""
        before = self.memories[index]
        if before is None:
            self._indexes[memory.id] = index
        else:
            self._count(index, before, -1)
        self.memories[index] = memory
        self._columns.put(index, memory, before)
        self._count(index, memory, 1)
        self._wake(index)

    def _count(self, index: int, memory: Memory, sign: int) -> None:
        if memory.retention is not Retention.ACTIVE:
            return
        self.active += sign
        if memory.tier is Tier.COLD:
            return
        self.live += sign
        if memory.tier is Tier.HOT:
            self._hot_tokens[memory.scope] += sign * memory.tokens
            (self._hot[memory.scope].add if sign > 0 else self._hot[memory.scope].discard)(index)

    def _wake(self, index: int) -> None:
        for quiet in self._quiet.values():
            quiet[index] = 0

    def add(self, index: int, memory: Memory) -> None:
        """Store a new memory, making room for it if it is hot in a session."""
        if memory.tier is Tier.HOT and not self._admitted(index, memory, memory.created_at):
            memory = replace(memory, tier=Tier.WARM, tier_rule="session.full")
        self.put(index, memory)

    def change(self, index: int, values: dict[str, Any], at: datetime) -> None:
        """Apply what a caller has changed."""
        before = self.memories[index]
        if before is None:
            return
        after = replace(before, **values)
        if after.tier is Tier.HOT and not self._admitted(index, after, at, before):
            after = replace(after, tier=before.tier, tier_rule=before.tier_rule)
        self.put(index, _dated(before, after, at, updated=not _WRITTEN.isdisjoint(values)))

    def use(self, indexes: Iterable[int], at: datetime, strength: Strength | None) -> None:
        """Count a use of each memory; None stands for a memory that was stored once more."""
        weight = 1.0 if strength is None else use_weight(strength, self._settings)
        times = 1 if strength in _COUNTED else 0
        for index in indexes:
            memory = self.memories[index]
            if memory is None or memory.retention is Retention.PURGED:
                continue
            self.memories[index] = replace(
                memory,
                access_count=memory.access_count + times,
                accessed_at=at,
                **(self._weighed(memory, weight, at) if weight else {}),
            )
            self._columns.use(index, at, weighed=weight > 0)
            self._wake(index)

    def _weighed(self, memory: Memory, weight: float, at: datetime) -> dict[str, Any]:
        """Return what a use with a weight changes."""
        within = memory.last_used_at is not None and memory.last_used_at > at - self._window
        recent = weight + (memory.recent_uses if within else 0)
        return {"last_used_at": at, "use_weight": memory.use_weight + weight, "recent_uses": recent}

    def average(self, relevance: Iterable[tuple[int, float]]) -> None:
        """Move the running relevance of memories half-way to that of a query."""
        for index, value in relevance:
            memory = self.memories[index]
            if memory is not None:
                self.memories[index] = replace(memory, relevance=(memory.relevance + value) / 2)
                self._wake(index)

    def move(self, index: int, tier: Tier, rule: str, at: datetime, keep: Collection[str] = ()) -> bool:
        """Let a rule move a memory, making room for it without some others; tell whether it moved."""
        before = self.memories[index]
        if before is None or before.tier is tier or not before.visible_at(at):
            return False
        after = replace(before, tier=tier, tier_rule=rule)
        if tier is Tier.HOT and not self._admitted(index, after, at, before, keep):
            return False
        self.moves.add(index, at, before.tier, tier, rule)
        self.put(index, _dated(before, after, at, updated=False))
        return True

    # Rules

    def run(self, step: Ran) -> None:
        """Run the rules of compaction or maintenance."""
        rules, columns = self._rules[step.run], self._columns
        situation = Situation(now=step.at, settings=self._settings, open_sessions=step.open_sessions)
        seen = columns.seen_from(step.scope)
        among = columns.inside(step.scope) if step.run == "maintain" else seen
        decisions = decide_all(
            _Watched(rules, self),
            situation,
            lambda selects, rule: self._selected(selects, step.at, among, rule),
            own=(lambda _: True) if step.run == "maintain" else (lambda memory: step.scope.may_change(memory.scope)),
            beside=lambda: self._selected(ACTIVE_HOT, step.at, seen & ~among, None),
        )
        for decision in sorted(decisions, key=lambda decision: decision.move.to is Tier.HOT):
            memory = self.memories[self._indexes[decision.memory.id]]
            if memory is not None and memory.tier is decision.move.from_tier:
                self._apply(decision.move, step.at)

    def promote(self, asked: Asked, given: Sequence[int]) -> None:
        """Run the rules of promotion on what a query returned.

        A query of a session promotes its own memories only, and none of them spills another one.
        """
        rules, situation = self._rules["promote"], Situation(now=asked.at, settings=self._settings, recalled=True)
        moves: list[Move] = []
        for index in given:
            memory = self.memories[index]
            if memory is None or not asked.scope.may_change(memory.scope):
                continue
            if asked.average and memory.scope != asked.scope:
                continue
            relevance = asked.relevance.get(index, 0.0)
            move = rules.first_move(memory, replace(situation, relevance=relevance))
            if move is not None:
                moves.append(move)
        promoted: set[str] = set()
        for move in moves:
            if self._apply(move, asked.at, promoted) and asked.average:
                promoted.add(move.id)

    def _apply(self, move: Move, at: datetime, keep: Collection[str] = ()) -> bool:
        return self.move(self._indexes[move.id], move.to, move.rule, at, keep)

    def _selected(
        self, selects: Select, now: datetime, among: NDArray[np.bool_], rule: Rule | None
    ) -> Iterator[Memory]:
        """Yield what a rule has to look at: what it selects, without what it has decided nothing about."""
        if rule is not None:
            among = among & (self._quiet[rule.id] <= to_micros(now))
        decided = Columns.decides(selects)
        for index in self._columns.selected(selects, now, among).tolist():
            memory = self.memories[index]
            if memory is not None and (decided or selects.matches(memory, now)):
                yield memory

    def keep_quiet(self, rule: Rule, memory: Memory, situation: Situation) -> None:
        """Remember until when a rule decides nothing about a memory."""
        until = quiet_until(rule, memory, situation)
        if until is not None:
            self._quiet[rule.id][self._indexes[memory.id]] = to_micros(until)

    # The limit of a session

    def _admitted(
        self, index: int, after: Memory, at: datetime, before: Memory | None = None, keep: Collection[str] = ()
    ) -> bool:
        """Spill hot memories of a session until one more fits, except those to keep; tell whether it does."""
        if not self.limited or after.scope.session is None or not after.visible_at(at):
            return True
        counted = before is not None and before.tier is Tier.HOT and before.visible_at(at)
        needed = after.tokens - (before.tokens if before is not None and counted else 0)
        hot = [
            (other, memory)
            for other in self._hot[after.scope]
            if (memory := self.memories[other]) is not None and memory.visible_at(at)
        ]
        free = self._settings.hot_token_limit - sum(memory.tokens for _, memory in hot)
        if free >= needed:
            return True
        if not self._settings.auto_spill or after.tokens > self._settings.hot_token_limit:
            return False
        chosen: list[Move] = []
        for memory, move in self._spills([memory for other, memory in hot if other != index], at):
            if memory.id in keep:
                continue
            chosen.append(move)
            free += memory.tokens
            if free >= needed:
                for spilled in chosen:
                    self._apply(spilled, at)
                return True
        return False

    def _spills(self, hot: list[Memory], at: datetime) -> Iterator[tuple[Memory, Move]]:
        """Yield what the spill rules would move out, in the order of the rules."""
        situation = Situation(now=at, settings=self._settings, reason="made room in hot")
        rules = self._rules["spill"]
        left = {memory.id: memory for memory in sorted(hot, key=lambda memory: memory.id, reverse=True)}
        for rule, selects in rules:
            for memory in selects.sorted([memory for memory in left.values() if selects.matches(memory, at)]):
                decision = rules.decide(rule, memory, situation)
                if isinstance(decision, Stay):
                    del left[memory.id]
                elif decision is not None and decision.to is not Tier.HOT:
                    yield left.pop(memory.id), decision


class _Watched(RuleSet):
    """Rules of one run that tell the state when one of them decides nothing about a memory."""

    def __init__(self, rules: RuleSet, state: State) -> None:
        self.failures = rules.failures
        self._rules = rules._rules
        self._state = state

    def decide(self, rule: Rule, memory: Memory, situation: Situation) -> Move | Stay | None:
        decision = super().decide(rule, memory, situation)
        if decision is None and memory.tier is not Tier.HOT:
            self._state.keep_quiet(rule, memory, situation)
        return decision


def _dated(before: Memory, after: Memory, at: datetime, *, updated: bool) -> Memory:
    """Return a changed memory with the times that follow from its changes."""
    return replace(
        after,
        updated_at=at if updated else before.updated_at,
        tier_since=at if before.tier is not after.tier else before.tier_since,
        retention_since=at if before.retention is not after.retention else before.retention_since,
    )


def is_pinned(memory: Memory | None) -> bool:
    """Tell whether a memory is pinned, so that every query returns it."""
    return memory is not None and memory.priority is Priority.PINNED
