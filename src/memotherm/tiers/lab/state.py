"""The time line of a store as steps, and the memories of a replay under one policy that follow them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memotherm.model import Memory, Move, Retention, Scope, Tier
from memotherm.model.recall import USE_WINDOW
from memotherm.settings import Settings
from memotherm.tiers.lab.columns import Columns
from memotherm.tiers.lab.matching import matches
from memotherm.tiers.rules.rule import ACTIVE_HOT, Rule, RuleSet, Selector, Situation, decide_all
from memotherm.tiers.rules.select import Select

# Time line


class Born(NamedTuple):
    """A memory was stored."""

    at: datetime
    place: int
    #: As it was then, without its content.
    memory: Memory


class Changed(NamedTuple):
    """A caller changed a memory."""

    at: datetime
    place: int
    #: The new values by field.
    values: Mapping[str, Any]


class Moved(NamedTuple):
    """A rule moved a memory; only the recorded history follows it."""

    at: datetime
    place: int
    tier: Tier
    rule: str


class Used(NamedTuple):
    """Memories were used without a query, or after one."""

    at: datetime
    places: tuple[int, ...]
    weight: float = 1.0
    #: The question that had returned them, for a use that followed it.
    question: int | None = None


class Asked(NamedTuple):
    """A query, its results, and its answers in all tiers."""

    at: datetime
    #: Its position among the questions.
    question: int
    scope: Scope
    tiers: tuple[Tier, ...]
    #: The returned memories, in order.
    returned: tuple[int, ...]
    #: Whether results counted as used.
    used: bool
    #: Its answers, best first; empty if the query cannot be repeated.
    demanded: tuple[int, ...]
    #: How well memories answered it, where that decides something.
    relevance: Mapping[int, float]
    #: Whether the rules of promotion ran, and whether the running relevance was averaged.
    promote: bool
    average: bool
    #: Whether the question counts: it can be repeated and is inside the period.
    counted: bool


class Ran(NamedTuple):
    """The rules ran."""

    at: datetime
    #: compact or maintain.
    run: str
    scope: Scope
    open_sessions: frozenset[str]


TimelineStep = Born | Changed | Moved | Used | Asked | Ran


@dataclass(frozen=True, kw_only=True, slots=True)
class Timeline:
    """Everything that a replay needs of a store, in order of time."""

    steps: Sequence[TimelineStep]
    #: The number of memories; steps name them by their place in this order.
    memories: int
    #: The id and the beginning of the content of each memory.
    names: Sequence[tuple[str, str]]
    #: When the rules of the policy take over from the recorded moves.
    start: datetime
    #: How many questions the log has in the period, and how many could be asked again.
    questions: int = 0
    askable: int = 0
    #: The questions that uses have followed.
    followed: frozenset[int] = frozenset()
    #: Limits of the replay, as sentences for the user.
    notes: tuple[str, ...] = field(default=())


# State

#: A move back to a tier that a rule took the memory out of within this time is a flap.
FLAP = timedelta(days=7)
_WRITTEN = frozenset({"content", "kind", "tags", "metadata", "source"})


class State:
    """All memories under one policy."""

    def __init__(self, count: int, rules: Sequence[Rule], settings: Settings, start: datetime) -> None:
        self.memories: list[Memory | None] = [None] * count
        #: The moves of rules since the start of the period, and how many of them took a recent one back.
        self.moves = self.flaps = 0
        self._start = start
        #: The last move of each memory: when, and from which tier.
        self._last_moves: dict[int, tuple[datetime, Tier]] = {}
        #: Whether the token limit of sessions applies; recorded moves already respect it.
        self.limited = False
        self._settings = settings
        self._columns = Columns(count)
        self._indexes: dict[str, int] = {}
        self._rules = {run: RuleSet(rules, run) for run in ("compact", "maintain", "spill", "promote")}
        #: The hot memories of each scope, and the tokens of them.
        self._hot: dict[Scope, set[int]] = defaultdict(set)
        self._hot_tokens: dict[Scope, int] = defaultdict(int)
        #: How many changes there were; a memory's version is the number of its last one.
        self._changed = 0
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
        self._columns.put(index, memory)
        self._count(index, memory, 1)

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

    def add(self, index: int, memory: Memory) -> None:
        """Store a new memory, making room for it if it is hot in a session."""
        if memory.tier is Tier.HOT and not self._admitted(index, memory, memory.created_at):
            memory = replace(memory, tier=Tier.WARM, tier_rule="session.full")
        self._put_changed(index, memory)

    def _put_changed(self, index: int, memory: Memory) -> None:
        self._changed += 1
        self.put(index, replace(memory, version=self._changed))

    def change(self, index: int, values: dict[str, Any], at: datetime) -> None:
        """Apply a change made by a caller."""
        before = self.memories[index]
        if before is None:
            return
        after = replace(before, **values)
        if after.tier is Tier.HOT and not self._admitted(index, after, at, before):
            after = replace(after, tier=before.tier, tier_rule=before.tier_rule)
        self._put_changed(index, _dated(before, after, at, updated=not _WRITTEN.isdisjoint(values)))

    def use(self, indexes: Iterable[int], at: datetime, weight: float) -> None:
        """Count a use of each memory."""
        for index in indexes:
            memory = self.memories[index]
            if memory is None or memory.retention is Retention.PURGED:
                continue
            within = memory.accessed_at is not None and memory.accessed_at > at - USE_WINDOW
            used = replace(
                memory,
                access_count=memory.access_count + 1,
                accessed_at=at,
                use_weight=memory.use_weight + weight,
                recent_uses=weight + (memory.recent_uses if within else 0),
            )
            self.put(index, used)

    def average(self, relevance: Iterable[tuple[int, float]]) -> None:
        """Move the running relevance of memories half-way to that of a query."""
        for index, value in relevance:
            memory = self.memories[index]
            if memory is not None:
                self.memories[index] = replace(memory, relevance=(memory.relevance + value) / 2)

    def move(self, index: int, tier: Tier, rule: str, at: datetime, keep: Collection[str] = ()) -> bool:
        """Move a memory by a rule, making room but sparing `keep`; return whether it moved."""
        before = self.memories[index]
        if before is None or before.tier is tier or not before.visible_at(at):
            return False
        after = replace(before, tier=tier, tier_rule=rule, relevance=1.0 if tier is Tier.HOT else before.relevance)
        if tier is Tier.HOT and not self._admitted(index, after, at, before, keep):
            return False
        if at >= self._start:
            last = self._last_moves.get(index)
            self.moves += 1
            self.flaps += last is not None and last[1] is tier and at - last[0] < FLAP
        self._last_moves[index] = (at, before.tier)
        self._put_changed(index, _dated(before, after, at, updated=False))
        return True

    # Rules

    def run(self, step: Ran) -> None:
        """Run the rules of compaction or maintenance."""
        rules, columns = self._rules[step.run], self._columns
        situation = Situation(now=step.at, settings=self._settings, open_sessions=step.open_sessions)
        seen = columns.seen_from(step.scope)
        among = columns.inside(step.scope) if step.run == "maintain" else seen
        decisions = decide_all(
            rules,
            situation,
            lambda selects, at: self._selected(selects, at, among),
            own=(lambda _: True) if step.run == "maintain" else (lambda memory: step.scope.may_change(memory.scope)),
            beside=self._selected(ACTIVE_HOT, situation, seen & ~among),
        )
        for decision in sorted(decisions, key=lambda decision: decision.move.to is Tier.HOT):
            memory = self.memories[self._indexes[decision.memory.id]]
            if memory is not None and memory.tier is decision.move.from_tier:
                self._apply(decision.move, step.at)

    def promote(self, asked: Asked, given: Sequence[int]) -> None:
        """Run the promotion rules on the results of a query.

        A query of a session promotes its own memories only, and none of them spills another one.
        """
        found: dict[str, tuple[Memory, float]] = {}
        for index in given:
            memory = self.memories[index]
            if memory is None or not asked.scope.may_change(memory.scope):
                continue
            if asked.average and memory.scope != asked.scope:
                continue
            found[memory.id] = (memory, asked.relevance.get(index, 0.0))
        recalled = {memory_id: relevance for memory_id, (_, relevance) in found.items()}
        situation = Situation(now=asked.at, settings=self._settings, recalled=recalled)
        selected = _among([memory for memory, _ in found.values()])
        earned = {decision.move.id: decision.move for decision in self._rules["promote"].decisions(selected, situation)}
        moves = [earned[memory_id] for memory_id in found if memory_id in earned]
        promoted: set[str] = set()
        for move in moves:
            if self._apply(move, asked.at, promoted) and asked.average:
                promoted.add(move.id)

    def _apply(self, move: Move, at: datetime, keep: Collection[str] = ()) -> bool:
        return self.move(self._indexes[move.id], move.to, move.rule, at, keep)

    def _selected(self, selects: Select, situation: Situation, among: NDArray[np.bool_]) -> Iterator[Memory]:
        for index in self._columns.candidates(selects, among):
            memory = self.memories[index]
            if memory is not None and matches(selects, memory, situation):
                yield memory

    # The limit of a session

    def _admitted(
        self, index: int, after: Memory, at: datetime, before: Memory | None = None, keep: Collection[str] = ()
    ) -> bool:
        """Spill hot memories of a session, sparing `keep`, until one more fits; return whether it fits."""
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
        others = sorted((memory for other, memory in hot if other != index), key=lambda memory: memory.id)
        situation = Situation(now=at, settings=self._settings, reason="made room in hot")
        chosen: list[Move] = []
        for memory, move in self._rules["spill"].decisions(_among(others), situation):
            if memory.id in keep:
                continue
            chosen.append(move)
            free += memory.tokens
            if free >= needed:
                for spilled in chosen:
                    self._apply(spilled, at)
                return True
        return False


def _among(memories: Sequence[Memory]) -> Selector:
    """Return the function that selects some of these memories."""
    return lambda selects, situation: [memory for memory in memories if matches(selects, memory, situation)]


def _dated(before: Memory, after: Memory, at: datetime, *, updated: bool) -> Memory:
    """Return a changed memory with the times that follow from its changes."""
    return replace(
        after,
        updated_at=at if updated else before.updated_at,
        tier_since=at if before.tier is not after.tier else before.tier_since,
        retention_since=at if before.retention is not after.retention else before.retention_since,
    )
