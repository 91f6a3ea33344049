"""The decisions of one run of the rules, whatever selects the memories."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

from memotherm.model import Memory, Move, Retention, Tier
from memotherm.rules.rule import HotUse, Rule, RuleSet, Situation, Stay
from memotherm.rules.select import Select

__all__ = ["ACTIVE_HOT", "Decision", "Selector", "decide_all"]

#: Selects what is hot and active, expired or not.
ACTIVE_HOT = Select(tiers=(Tier.HOT,), expired=None)

#: Returns the memories of a selection in order of their number; the rule is the one that will decide about them.
Selector = Callable[[Select, Rule | None], Iterable[Memory]]


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

    Hot memories are decided first, so that rules that bring others to hot know what stays there.

    Args:
        rules: The rules of the run.
        situation: What they may know.
        selected: Returns what a rule looks at.
        own: Whether a memory may be changed.
        beside: Returns more hot memories, which stay and count towards the caps.
    """
    decided: dict[str, Decision | Stay] = {}
    hot = [memory for memory in selected(ACTIVE_HOT, None) if own(memory)]
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
        memories = selected(others, rule)
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
