"""Rules: what a rule is, and the decisions of one run.

A rule is pure: it sees a memory and a `Situation`, and returns a move, `STAY` or None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from operator import attrgetter
from typing import NamedTuple, Protocol, runtime_checkable

from memotherm.errors import InvalidInput
from memotherm.model import Memory, Move, Retention, Scope, Tier
from memotherm.settings import Settings
from memotherm.tiers.rules.conditions import Select
from memotherm.tiers.rules.properties import is_blocker


@dataclass(frozen=True, kw_only=True, slots=True)
class HotUse:
    """Hot memories after the moves decided so far."""

    #: The number of memories and their tokens by scope.
    by_scope: Mapping[Scope, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, memories: Iterable[Memory]) -> HotUse:
        """Return the use by memories."""
        by_scope: dict[Scope, tuple[int, int]] = {}
        for memory in memories:
            count, tokens = by_scope.get(memory.scope, (0, 0))
            by_scope[memory.scope] = (count + 1, tokens + memory.tokens)
        return cls(by_scope=by_scope)

    @property
    def memories(self) -> int:
        """The number of memories."""
        return sum(count for count, _ in self.by_scope.values())

    @property
    def tokens(self) -> int:
        """The tokens of the memories."""
        return sum(tokens for _, tokens in self.by_scope.values())

    def plus(self, memory: Memory, times: int = 1) -> HotUse:
        """Return the use with one more memory, or with -1 without it."""
        count, tokens = self.by_scope.get(memory.scope, (0, 0))
        return HotUse(by_scope={**self.by_scope, memory.scope: (count + times, tokens + times * memory.tokens)})

    def seen_from(self, scope: Scope) -> HotUse:
        """Return the part of the use that a scope sees."""
        return HotUse(by_scope={other: counts for other, counts in self.by_scope.items() if scope.sees(other)})

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
    #: During compact: whether an active blocker has no room in hot.
    blocker_waits: bool = False
    #: During promote: the ids of what a recall has found, and how well each memory answers the query, 0 to 1.
    recalled: Mapping[str, float] = field(default_factory=dict)
    #: The same of the memory that is decided.
    relevance: float = 0.0
    #: Of a rule that moves to several tiers: the one whose conditions hold for the memory.
    target: Tier | None = None
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

    Memories from the web and from imports become hot only by a rule with `names_trust = True`.
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
    checked: dict[str, Rule] = {}
    for rule in rules:
        rule_id = getattr(rule, "id", None)
        if not isinstance(rule_id, str) or not rule_id.strip():
            raise InvalidInput(f"the rule {rule!r} needs an id, such as id = 'house.contracts'")
        if not isinstance(getattr(rule, "selects", None), Select):
            raise InvalidInput(f"the rule {rule_id} needs selects = Select(...), which says what it looks at")
        if not isinstance(rule, Rule) or isinstance(rule, type):
            raise InvalidInput(f"the rule {rule_id} must be an instance with a method decide(memory, situation)")
        if rule_id in checked:
            raise InvalidInput(f"two rules have the id {rule_id}: give each its own")
        checked[rule_id] = rule
    return tuple(checked.values())


#: Returns the memories of a selection in order of number: only a store knows them.
Selector = Callable[[Select, Situation], Iterable[Memory]]


class Decision(NamedTuple):
    """A move, and the memory as it was when the rule decided."""

    memory: Memory
    move: Move


class RuleSet:
    """Rules of one run in their order, with the failures of that run."""

    def __init__(self, rules: Iterable[Rule], during: str) -> None:
        self.during = during
        #: Rule id -> the exception it raised.
        self.failures: dict[str, str] = {}
        self._rules = [rule for rule in rules if rule.selects.during == during]

    def __iter__(self) -> Iterator[Rule]:
        """Yield each rule that has not failed."""
        return iter([rule for rule in self._rules if rule.id not in self.failures])

    def asked(self, selected: Selector, situation: Situation) -> Iterator[tuple[Rule, Memory, Tier | None]]:
        """Yield each rule with each memory that it has to decide about, and the tier whose conditions hold."""
        for rule in self:
            for memory, target in _selected_by(rule, selected, situation):
                yield rule, memory, target

    def decide(self, rule: Rule, memory: Memory, situation: Situation) -> Move | Stay | None:
        """Return the decision of a rule; a rule that raises is recorded and skipped from then on."""
        if rule.id in self.failures:
            return None
        if situation.recalled:
            situation = replace(situation, relevance=situation.recalled.get(memory.id, 0.0))
        try:
            decision: object = rule.decide(memory, situation)
            if decision is not None and not isinstance(decision, Move | Stay):
                kind = type(decision).__name__
                raise InvalidInput(f"decide() must return a Move, STAY or None, not {kind}")  # noqa: TRY301
        except Exception as exc:  # noqa: BLE001 - a rule of another package may raise anything
            self.failures[rule.id] = f"{type(exc).__name__}: {exc}"
            return None
        if not isinstance(decision, Move):
            return decision
        if decision.to is memory.tier and decision.retention in (None, memory.retention):
            return None
        if decision.to is Tier.HOT and memory.trust.is_low and not getattr(rule, "names_trust", False):
            return None
        policy = getattr(rule, "policy", "")
        return replace(decision, id=memory.id, from_tier=memory.tier, rule=rule.id, policy=policy)

    def decisions(self, selected: Selector, situation: Situation) -> Iterator[Decision]:
        """Yield what the rules decide about each memory alone, in the order of the rules; the first one wins."""
        decided: set[str] = set()
        for rule, memory, target in self.asked(selected, situation):
            if memory.id in decided:
                continue
            decision = self.decide(rule, memory, replace(situation, target=target))
            if decision is not None:
                decided.add(memory.id)
            if isinstance(decision, Move):
                yield Decision(memory, decision)

    def still_holds(self, move: Move, selected: Selector, situation: Situation) -> bool:
        """Return whether the rule would decide the same move for the memory as it is now, if there is room."""
        for rule in (rule for rule in self if rule.id == move.rule):
            for memory, target in _selected_by(rule, _only(selected, move.id), situation):
                again = self.decide(rule, memory, replace(situation, target=target))
                return isinstance(again, Move) and (again.to, again.retention) == (move.to, move.retention)
        return False

    def degraded(self) -> tuple[str, ...]:
        """Return one line for each rule that raised."""
        return tuple(
            f"the rule {rule_id} failed and moved nothing: {error}" for rule_id, error in self.failures.items()
        )


def _selected_by(rule: Rule, selected: Selector, situation: Situation) -> Iterable[tuple[Memory, Tier | None]]:
    """Return what a rule has to decide about in its order, with the tier whose conditions hold."""
    choices: Sequence[tuple[Tier | None, Select]] = getattr(rule, "choices", ((None, rule.selects),))
    if len(choices) == 1 and not rule.selects.order:
        ((target, selects),) = choices
        return ((memory, target) for memory in selected(selects, situation))
    found = [(memory, target) for target, selects in choices for memory in selected(selects, situation)]
    targets = {memory.id: target for memory, target in found}
    ordered = rule.selects.sorted(sorted((memory for memory, _ in found), key=attrgetter("id")))
    return [(memory, targets[memory.id]) for memory in ordered]


def _only(selected: Selector, *ids: str) -> Selector:
    """Return a selector of some memories."""
    return lambda selects, situation: selected(replace(selects, ids=ids), situation)


# Decisions of one run

#: Selects hot and active memories, expired or not.
ACTIVE_HOT = Select(tiers=(Tier.HOT,), expired=None)


def decide_all(
    rules: RuleSet,
    situation: Situation,
    selected: Selector,
    *,
    own: Callable[[Memory], bool] = lambda _: True,
    beside: Iterable[Memory] = (),
) -> list[Decision]:
    """Return the decisions of one run, in the order of the rules; each memory moves at most once.

    Hot memories are decided first, so that rules that promote know what stays hot.

    Args:
        rules: The rules of the run.
        situation: What they may know.
        selected: Returns what a rule looks at.
        own: Whether a memory may be changed.
        beside: More hot memories, which stay and count towards the caps.
    """
    selected_hot = _of_hot(selected, own)
    hot = list(selected_hot(ACTIVE_HOT, situation))
    #: Memory id -> its decision; None if a rule keeps it where it is.
    decided: dict[str, Decision | None] = {
        found.memory.id: found for found in (rules.decisions(selected_hot, situation) if hot else ())
    }
    leaving = {found.memory.id for found in decided.values() if found and found.move.rule not in rules.failures}
    staying = [memory for memory in hot if memory.id not in leaving and memory.visible_at(situation.now)]
    situation = replace(situation, hot=HotUse.of([*staying, *beside]))
    _decide_others(rules, situation, selected, own, decided)
    by_rule: dict[str, list[Decision]] = {rule.id: [] for rule in rules}
    for found in decided.values():
        if found is not None and found.move.rule in by_rule:
            by_rule[found.move.rule].append(found)
    for rule in rules:
        if not rule.selects.order:
            by_rule[rule.id].sort(key=lambda found: found.memory.id)
    return [found for decisions in by_rule.values() for found in decisions]


def _decide_others(
    rules: RuleSet,
    situation: Situation,
    selected: Selector,
    own: Callable[[Memory], bool],
    decided: dict[str, Decision | None],
) -> None:
    """Decide the memories that are not active and hot, with one selection for each rule."""
    displaceable: list[Decision] | None = None
    for rule, memory, target in rules.asked(_of_others(selected), situation):
        if memory.id in decided or not own(memory):
            continue
        asked = replace(situation, target=target)
        decision = rules.decide(rule, memory, asked)
        if decision is None and rules.during == "compact" and is_blocker(memory):
            if displaceable is None:
                waiting = rules.decisions(_of_hot(selected, own), replace(situation, blocker_waits=True))
                displaceable = sorted(waiting, key=lambda found: found.memory.last_accessed_at)
            for displaced in _displaced(rules, rule, memory, asked, displaceable, decided):
                decided[displaced.memory.id] = displaced
                situation = replace(situation, hot=situation.hot.plus(displaced.memory, -1))
            decision = rules.decide(rule, memory, replace(situation, target=target))
        if isinstance(decision, Stay):
            decided[memory.id] = None
        elif decision is not None:
            decided[memory.id] = Decision(memory, decision)
            if decision.to is Tier.HOT and decision.retention is None:
                situation = replace(situation, hot=situation.hot.plus(memory))


def _displaced(
    rules: RuleSet,
    rule: Rule,
    blocker: Memory,
    situation: Situation,
    displaceable: Iterable[Decision],
    decided: Mapping[str, object],
) -> list[Decision]:
    """Return the moves that make room for a blocker that a rule would move to hot; none if there cannot be enough."""
    if rules.decide(rule, blocker, replace(situation, hot=HotUse())) is None:
        return []
    displaced, use = list[Decision](), situation.hot
    for found in displaceable:
        if found.memory.id not in decided:
            displaced.append(found)
            use = use.plus(found.memory, -1)
            if rules.decide(rule, blocker, replace(situation, hot=use)) is not None:
                return displaced
    return []


def _of_hot(selected: Selector, own: Callable[[Memory], bool]) -> Selector:
    """Return a selector of the hot and active memories that may be changed."""

    def select(selects: Select, situation: Situation) -> Iterable[Memory]:
        if Tier.HOT not in selects.tiers or Retention.ACTIVE not in selects.retentions:
            return ()
        return filter(own, selected(replace(selects, tiers=(Tier.HOT,), retentions=(Retention.ACTIVE,)), situation))

    return select


def _of_others(selected: Selector) -> Selector:
    """Return a selector of all other memories."""

    def select(selects: Select, situation: Situation) -> Iterable[Memory]:
        tiers = selects.tiers
        if Retention.ACTIVE in selects.retentions:
            tiers = tuple(tier for tier in tiers if tier is not Tier.HOT)
        return selected(replace(selects, tiers=tiers), situation) if tiers else ()

    return select
