"""Rules: what a rule is, and the decisions of one run.

A rule is pure: it sees a memory and a `Situation`, and returns a move, `STAY` or None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from typing import NamedTuple, Protocol, runtime_checkable

from memotherm.errors import InvalidInput
from memotherm.model import Memory, Move, Retention, Scope, Tier
from memotherm.settings import Settings
from memotherm.tiers.rules.select import Select

__all__ = [
    "ACTIVE_HOT",
    "STAY",
    "Decision",
    "HotUse",
    "Rule",
    "RuleSet",
    "RuleSource",
    "Selector",
    "Situation",
    "Stay",
    "checked_rules",
    "decide_all",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class HotUse:
    """Hot memories after the moves decided so far."""

    memories: int = 0
    tokens: int = 0
    #: The number of memories and their tokens by scope.
    by_scope: Mapping[Scope, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, memories: Iterable[Memory]) -> HotUse:
        """Return the use by memories."""
        by_scope: dict[Scope, tuple[int, int]] = {}
        for memory in memories:
            count, tokens = by_scope.get(memory.scope, (0, 0))
            by_scope[memory.scope] = (count + 1, tokens + memory.tokens)
        return cls(
            memories=sum(count for count, _ in by_scope.values()),
            tokens=sum(tokens for _, tokens in by_scope.values()),
            by_scope=by_scope,
        )

    def plus(self, memory: Memory) -> HotUse:
        """Return the use with one more memory."""
        memories, tokens = self.by_scope.get(memory.scope, (0, 0))
        return HotUse(
            memories=self.memories + 1,
            tokens=self.tokens + memory.tokens,
            by_scope={**self.by_scope, memory.scope: (memories + 1, tokens + memory.tokens)},
        )

    def seen_from(self, scope: Scope) -> HotUse:
        """Return the part of the use that a scope sees."""
        seen = {other: counts for other, counts in self.by_scope.items() if scope.sees(other)}
        return HotUse(
            memories=sum(memories for memories, _ in seen.values()),
            tokens=sum(tokens for _, tokens in seen.values()),
            by_scope=seen,
        )

    def has_room_for(self, memory: Memory, settings: Settings) -> bool:
        """Return whether a memory fits into the caps of hot and the limit of its session."""
        if self.memories + 1 > settings.hot_max_facts or self.tokens + memory.tokens > settings.hot_max_tokens:
            return False
        _, in_session = self.by_scope.get(memory.scope, (0, 0))
        return memory.scope.session is None or in_session + memory.tokens <= settings.hot_token_limit


@dataclass(frozen=True, kw_only=True, slots=True)
class Situation:
    """What a rule may know apart from the memory."""

    now: datetime
    settings: Settings
    #: The sessions that are active.
    open_sessions: frozenset[str] = frozenset()
    #: During compact and maintain: hot memories after the moves decided so far.
    hot: HotUse = field(default_factory=HotUse)
    #: During promote: whether a recall has found the memory, and how well it answers the query, 0 to 1.
    recalled: bool = False
    relevance: float = 0.0
    #: During maintain, if the clock may have jumped ahead: the time at which a purge must have been due already.
    due_at: datetime | None = None
    #: During spill: why room is needed.
    reason: str = ""


class Stay(Enum):
    """The decision that a memory stays where it is, whatever the rules after this one say."""

    STAY = "stay"


#: Keeps a memory where it is for the rest of the run.
STAY = Stay.STAY


@runtime_checkable
class Rule(Protocol):
    """Decides whether a memory moves. It must not read anything but its arguments.

    A rule may also have a method `enabled(settings) -> bool`; when that returns False, the rule does not run.
    """

    @property
    def id(self) -> str:
        """The name of the rule in the ledger and in metrics."""

    @property
    def selects(self) -> Select:
        """Which memories it looks at, and when."""

    def decide(self, memory: Memory, situation: Situation) -> Move | Stay | None:
        """Return the move for a selected memory, STAY to keep it, or None to leave it to the rules after this one."""


#: Returns the rules in their order; plugins are looked up when rules first run, not when a store is opened.
RuleSource = Callable[[], Sequence[Rule]]


def checked_rules(rules: Iterable[object]) -> tuple[Rule, ...]:
    """Return the rules if each is well-formed and no id occurs twice."""
    checked: list[Rule] = []
    for rule in rules:
        rule_id = getattr(rule, "id", None)
        if not isinstance(rule_id, str) or not rule_id.strip():
            raise InvalidInput(f"the rule {rule!r} needs an id, such as id = 'house.contracts'")
        if not isinstance(getattr(rule, "selects", None), Select):
            raise InvalidInput(f"the rule {rule_id} needs selects = Select(...), which says what it looks at")
        if not isinstance(rule, Rule) or isinstance(rule, type):
            raise InvalidInput(f"the rule {rule_id} must be an instance with a method decide(memory, situation)")
        if any(rule_id == other.id for other in checked):
            raise InvalidInput(f"two rules have the id {rule_id}: give each its own")
        checked.append(rule)
    return tuple(checked)


class RuleSet:
    """Rules of one run in their order, with the failures of that run."""

    def __init__(self, rules: Iterable[Rule], during: str, settings: Settings) -> None:
        #: Rule id -> the exception it raised.
        self.failures: dict[str, str] = {}
        self._rules: list[tuple[Rule, Select]] = []
        for rule in rules:
            if rule.selects.during != during:
                continue
            try:
                if _enabled(rule, settings):
                    self._rules.append((rule, rule.selects.resolved(settings)))
            except Exception as exc:  # noqa: BLE001 - a rule of another package may raise anything
                self._fail(rule, exc)

    def __iter__(self) -> Iterator[tuple[Rule, Select]]:
        """Yield each rule that has not failed, with its resolved selection."""
        return iter([(rule, selects) for rule, selects in self._rules if rule.id not in self.failures])

    def decide(self, rule: Rule, memory: Memory, situation: Situation) -> Move | Stay | None:
        """Return the decision of a rule; a rule that raises is recorded and skipped from then on."""
        if rule.id in self.failures:
            return None
        try:
            decision: object = rule.decide(memory, situation)
            if decision is not None and not isinstance(decision, Move | Stay):
                kind = type(decision).__name__
                raise InvalidInput(f"decide() must return a Move, STAY or None, not {kind}")  # noqa: TRY301
        except Exception as exc:  # noqa: BLE001 - a rule of another package may raise anything
            self._fail(rule, exc)
            return None
        if not isinstance(decision, Move):
            return decision
        if decision.to is memory.tier and decision.retention in (None, memory.retention):
            return None
        policy = getattr(rule, "policy", "")
        return replace(decision, id=memory.id, from_tier=memory.tier, rule=rule.id, policy=policy)

    def _fail(self, rule: Rule, error: Exception) -> None:
        self.failures[rule.id] = f"{type(error).__name__}: {error}"

    def still_holds(self, move: Move, memory: Memory, situation: Situation) -> bool:
        """Return whether the rule would decide the same move for the current memory, if there is room."""
        for rule, selects in self:
            if rule.id == move.rule:
                again = self.decide(rule, memory, situation) if selects.matches(memory, situation.now) else None
                return isinstance(again, Move) and (again.to, again.retention) == (move.to, move.retention)
        return False

    def first_decision(self, memory: Memory, situation: Situation) -> Move | Stay | None:
        """Return the first decision of the rules that select the memory."""
        for rule, selects in self:
            if selects.matches(memory, situation.now):
                decision = self.decide(rule, memory, situation)
                if decision is not None:
                    return decision
        return None

    def first_move(self, memory: Memory, situation: Situation) -> Move | None:
        """Return the move that the rules decide together, or None if the memory stays."""
        decision = self.first_decision(memory, situation)
        return decision if isinstance(decision, Move) else None

    def degraded(self) -> tuple[str, ...]:
        """Return one line for each rule that raised."""
        return tuple(
            f"the rule {rule_id} failed and moved nothing: {error}" for rule_id, error in self.failures.items()
        )


def _enabled(rule: Rule, settings: Settings) -> bool:
    enabled = getattr(rule, "enabled", None)
    return enabled is None or bool(enabled(settings))


# Decisions of one run

#: Selects hot and active memories, expired or not.
ACTIVE_HOT = Select(tiers=(Tier.HOT,), expired=None)

#: Returns the memories of a selection in order of number.
Selector = Callable[[Select], Iterable[Memory]]


class Decision(NamedTuple):
    """A move, and the memory as it was when the rule decided."""

    memory: Memory
    move: Move


def decide_all(
    rules: RuleSet,
    situation: Situation,
    selected: Selector,
    *,
    own: Callable[[Memory], bool] = lambda _: True,
    beside: Callable[[], Iterable[Memory]] = tuple,
) -> list[Decision]:
    """Return the decisions of one run, in the order of the rules; each memory moves at most once.

    Hot memories are decided first, so that rules that promote know what stays hot.

    Args:
        rules: The rules of the run.
        situation: What they may know.
        selected: Returns what a rule looks at.
        own: Whether a memory may be changed.
        beside: Returns more hot memories, which stay and count towards the caps.
    """
    decided: dict[str, Decision | Stay] = {}
    hot = [memory for memory in selected(ACTIVE_HOT) if own(memory)]
    for memory in hot:
        move = rules.first_move(memory, situation)
        if move is not None:
            decided[memory.id] = Decision(memory, move)
    moves = [decision for decision in decided.values() if isinstance(decision, Decision)]
    leaving = {decision.memory.id for decision in moves if decision.move.rule not in rules.failures}
    staying = [memory for memory in hot if memory.id not in leaving and memory.visible_at(situation.now)]
    staying += beside()
    _decide_others(rules, replace(situation, hot=HotUse.of(staying)), selected, own, decided)
    by_rule: dict[str, list[Decision]] = {rule.id: [] for rule, _ in rules}
    for decision in decided.values():
        if isinstance(decision, Decision) and decision.move.rule in by_rule:
            by_rule[decision.move.rule].append(decision)
    for rule, selects in rules:
        if not selects.order:
            by_rule[rule.id].sort(key=lambda decision: decision.memory.id)
    return [decision for decisions in by_rule.values() for decision in decisions]


def _decide_others(
    rules: RuleSet,
    situation: Situation,
    selected: Selector,
    own: Callable[[Memory], bool],
    decided: dict[str, Decision | Stay],
) -> None:
    """Decide the memories that are not active and hot, with one selection for each rule."""
    for rule, selects in rules:
        others = _without_hot(selects)
        if others is None:
            continue
        memories = selected(others)
        for memory in selects.sorted(list(memories)) if selects.order else memories:
            if memory.id in decided or not own(memory):
                continue
            move = rules.decide(rule, memory, situation)
            if move is None:
                continue
            if isinstance(move, Stay):
                decided[memory.id] = move
                continue
            decided[memory.id] = Decision(memory, move)
            if move.to is Tier.HOT and move.retention is None:
                situation = replace(situation, hot=situation.hot.plus(memory))


def _without_hot(selects: Select) -> Select | None:
    """Return the part of a selection that is not active and hot; None when nothing is left."""
    if Retention.ACTIVE not in selects.retentions:
        return selects
    tiers = tuple(tier for tier in selects.tiers if tier is not Tier.HOT)
    return replace(selects, tiers=tiers) if tiers else None
