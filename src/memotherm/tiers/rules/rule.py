"""Rules: what a rule is, and the decisions of one run.

A rule is pure: it sees a memory and a `Situation`, and returns a move, `STAY` or None.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from itertools import chain
from typing import NamedTuple, Protocol, runtime_checkable

from memotherm.errors import InvalidInput
from memotherm.model import Memory, Move, Retention, Scope, Tier
from memotherm.settings import Settings
from memotherm.tiers.rules.properties import is_blocker
from memotherm.tiers.rules.select import Select, Word, words_of


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

    A rule may also have a method `enabled(settings) -> bool`; when that returns False, the rule does not run. Memories
    from the web and from imports become hot only by a rule with `names_trust = True`.
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


class RuleSet:
    """Rules of one run in their order, with the failures of that run."""

    def __init__(self, rules: Iterable[Rule], during: str, settings: Settings) -> None:
        self.during = during
        #: Rule id -> the exception it raised.
        self.failures: dict[str, str] = {}
        self._rules: list[tuple[Rule, Select]] = []
        #: Word -> the places of the rules that look at memories with it; None -> of those that look at any.
        self._places: defaultdict[Word | None, list[int]] = defaultdict(list)
        for rule in rules:
            if rule.selects.during != during:
                continue
            enabled = getattr(rule, "enabled", None)
            try:
                if enabled is None or enabled(settings):
                    self._rules.append((rule, rule.selects.resolved(settings)))
            except Exception as exc:  # noqa: BLE001 - a rule of another package may raise anything
                self._fail(rule, exc)
        for place, (_, selects) in enumerate(self._rules):
            for word in selects.words:
                self._places[word].append(place)

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
        if decision.to is Tier.HOT and memory.trust.is_low and not getattr(rule, "names_trust", False):
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

    def first_move(self, memory: Memory, situation: Situation) -> Move | None:
        """Return the move that the rules decide together, or None if the memory stays."""
        places = (self._places.get(word, ()) for word in (None, *words_of(memory)))
        for place in sorted(set(chain.from_iterable(places))):
            rule, selects = self._rules[place]
            if selects.matches(memory, situation.now):
                decision = self.decide(rule, memory, situation)
                if decision is not None:
                    return decision if isinstance(decision, Move) else None
        return None

    def spills(self, hot: Iterable[Memory], situation: Situation) -> Iterator[tuple[Memory, Move]]:
        """Yield the hot memories that spill rules move out, in the order of the rules."""
        left = {memory.id: memory for memory in hot}
        for rule, selects in self:
            selected = [memory for memory in left.values() if selects.matches(memory, situation.now)]
            for memory in selects.sorted(selected):
                decision = self.decide(rule, memory, situation)
                if isinstance(decision, Stay):
                    del left[memory.id]
                elif decision is not None and decision.to is not Tier.HOT:
                    yield left.pop(memory.id), decision

    def degraded(self) -> tuple[str, ...]:
        """Return one line for each rule that raised."""
        return tuple(
            f"the rule {rule_id} failed and moved nothing: {error}" for rule_id, error in self.failures.items()
        )


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
    #: Memory id -> its decision; None if a rule keeps it where it is.
    decided: dict[str, Decision | None] = {}
    hot = [memory for memory in selected(ACTIVE_HOT) if own(memory)]
    for memory in hot:
        move = rules.first_move(memory, situation)
        if move is not None:
            decided[memory.id] = Decision(memory, move)
    leaving = {found.memory.id for found in decided.values() if found and found.move.rule not in rules.failures}
    staying = [memory for memory in hot if memory.id not in leaving and memory.visible_at(situation.now)]
    situation = replace(situation, hot=HotUse.of([*staying, *beside]))
    staying.sort(key=lambda memory: memory.last_accessed_at)
    _decide_others(rules, situation, selected, own, decided, staying)
    by_rule: dict[str, list[Decision]] = {rule.id: [] for rule, _ in rules}
    for found in decided.values():
        if found is not None and found.move.rule in by_rule:
            by_rule[found.move.rule].append(found)
    for rule, selects in rules:
        if not selects.order:
            by_rule[rule.id].sort(key=lambda found: found.memory.id)
    return [found for decisions in by_rule.values() for found in decisions]


def _decide_others(
    rules: RuleSet,
    situation: Situation,
    selected: Selector,
    own: Callable[[Memory], bool],
    decided: dict[str, Decision | None],
    hot: list[Memory],
) -> None:
    """Decide the memories that are not active and hot, with one selection for each rule.

    `hot` are those that stay hot unless a blocker needs their place, least recently used first.
    """
    for rule, selects in rules:
        tiers = selects.tiers
        if Retention.ACTIVE in selects.retentions:
            tiers = tuple(tier for tier in tiers if tier is not Tier.HOT)
        memories = selected(replace(selects, tiers=tiers)) if tiers else ()
        for memory in selects.sorted(list(memories)) if selects.order else memories:
            if memory.id in decided or not own(memory):
                continue
            decision = rules.decide(rule, memory, situation)
            if decision is None and rules.during == "compact" and is_blocker(memory):
                for displaced in _displaced(rules, rule, memory, situation, hot):
                    hot.remove(displaced.memory)
                    decided[displaced.memory.id] = displaced
                    situation = replace(situation, hot=situation.hot.plus(displaced.memory, -1))
                decision = rules.decide(rule, memory, situation)
            if isinstance(decision, Stay):
                decided[memory.id] = None
            elif decision is not None:
                decided[memory.id] = Decision(memory, decision)
                if decision.to is Tier.HOT and decision.retention is None:
                    situation = replace(situation, hot=situation.hot.plus(memory))


def _displaced(
    rules: RuleSet, rule: Rule, blocker: Memory, situation: Situation, hot: Iterable[Memory]
) -> list[Decision]:
    """Return the moves that make room for a blocker that a rule would move to hot; none if there cannot be enough."""
    if rules.decide(rule, blocker, replace(situation, hot=HotUse())) is None:
        return []
    displaced, use = list[Decision](), situation.hot
    for memory in hot:
        move = rules.first_move(memory, replace(situation, blocker_waits=True))
        if move is not None:
            displaced.append(Decision(memory, move))
            use = use.plus(memory, -1)
            if rules.decide(rule, blocker, replace(situation, hot=use)) is not None:
                return displaced
    return []
