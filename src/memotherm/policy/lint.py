"""What is suspicious about rules that can be read: contradictions, rules that are never asked, and flapping."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from memotherm.model import Memory, Scope, Tier
from memotherm.policy.ranges import contradictory, implies
from memotherm.rules.conditions import Condition, Table
from memotherm.rules.fields import FieldType
from memotherm.rules.findings import Finding
from memotherm.rules.rule import RuleSet, Situation
from memotherm.rules.table import TableRule
from memotherm.settings import Settings

__all__ = ["lint"]

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_MOST_EXAMPLES = 5000
#: In days. A memory is stored before a rule moves it.
_HOUR = 1 / 24
#: The share of the live memories that one run may move without a warning.
_MANY = 0.2


def lint(
    own: Sequence[TableRule],
    rules: Sequence[TableRule],
    settings: Settings,
    memories: Iterable[Memory] | None = None,
    now: datetime | None = None,
) -> Iterator[Finding]:
    """Yield what is suspicious about the own rules of a policy, among all its rules.

    With memories, also what the rules would do to them; without a moment, at the last use of one of them.
    """
    for place, rule in enumerate(own):
        yield from _contradictions(rule, place, settings)
        yield from _unreachable(rule, place, own, settings)
        if not rule.why:
            message = f"{rule.id} has no why: say the reason, which is shown in the history of a memory"
            yield Finding(code="P010", message=message, path=("rule", place), warning=True)
    if settings.cool_hot_days > settings.cool_warm_days:
        message = (
            f"cool_hot_days ({settings.cool_hot_days:g}) is more than cool_warm_days ({settings.cool_warm_days:g}): "
            "a hot memory would cool later than a warm one"
        )
        yield Finding(code="P008", message=message, path=("limits",))
    yield from _flapping(own, rules, settings)
    if memories is not None:
        listed = list(memories)
        moment = now or max((memory.used_at for memory in listed), default=_NOW)
        yield from _in_store(own, rules, Situation(now=moment, settings=settings), listed)


def _contradictions(rule: TableRule, place: int, settings: Settings) -> Iterator[Finding]:
    for table in rule.when.tables:
        for condition in table.conditions:
            if contradictory(condition, settings):
                message = f"{rule.id}: no memory can satisfy {condition.field.name} in when: loosen one comparison"
                yield Finding(code="P006", message=message, path=("rule", place, "when", condition.field.name))
        tier = table.named("tier")
        if tier is not None and len(rule.targets) == 1 and tier.values == (str(rule.targets[0][0]),):
            message = f"{rule.id}: when asks for tier = {tier.values[0]!r}, where to moves it: nothing would move"
            yield Finding(code="P006", message=message, path=("rule", place, "to"))


def _unreachable(rule: TableRule, place: int, own: Sequence[TableRule], settings: Settings) -> Iterator[Finding]:
    """Find an earlier rule of the same run that decides about everything that this one looks at."""
    for earlier in own[:place]:
        decides = not earlier.targets or any(not condition.tables[0].conditions for _, condition in earlier.targets)
        if earlier.run != rule.run or earlier.unless.tables or not decides:
            continue
        covered = all(
            any(_covers(wide, narrow, settings) for wide in earlier.when.tables) for narrow in rule.when.tables
        )
        if covered:
            message = f"{rule.id} is never asked: {earlier.id}, which comes first, decides about all that it matches"
            yield Finding(code="P005", message=message, path=("rule", place))
            return


def _covers(wide: Table, narrow: Table, settings: Settings) -> bool:
    """Tell whether every memory that satisfies one table satisfies the other."""
    return all(
        any(
            condition.field.name == stricter.field.name and implies(stricter, condition, settings)
            for stricter in narrow.conditions
        )
        for condition in wide.conditions
    )


# Flapping


def _flapping(own: Sequence[TableRule], rules: Sequence[TableRule], settings: Settings) -> Iterator[Finding]:
    """Find pairs of rules that move the same memory back and forth at one moment."""
    told: set[tuple[str, str]] = set()
    places = {rule.id: place for place, rule in enumerate(own)}
    for memory in itertools.islice(_examples(own, settings), _MOST_EXAMPLES):
        for first, second in _moved_back(memory, rules, settings):
            if (first in places or second in places) and (first, second) not in told:
                told |= {(first, second), (second, first)}
                pair = first if first == second else f"{first} and {second}"
                message = f"{pair} move a memory back and forth at one moment ({_described(memory)}): add a condition"
                yield Finding(code="P007", message=message, path=("rule", places.get(first, places.get(second, 0))))


def _moved_back(memory: Memory, rules: Sequence[TableRule], settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield the rules of moves that return a memory to a tier that it has just left."""
    situation = Situation(now=_NOW, settings=settings)
    sets = [RuleSet(rules, run, settings) for run in ("compact", "maintain")]
    left: dict[Tier, str] = {}
    for rule_set in itertools.chain(sets, sets):
        move = rule_set.first_move(memory, situation)
        if move is None:
            continue
        if move.to in left:
            yield left[move.to], move.rule
            return
        left[memory.tier] = move.rule
        memory = replace(memory, tier=move.to, tier_since=_NOW, tier_rule=move.rule)


def _described(memory: Memory) -> str:
    tags = f", tags {', '.join(memory.tags)}" if memory.tags else ""
    return f"{memory.tier} {memory.kind}{tags}, stored {(_NOW - memory.created_at).days} days ago"


def _examples(rules: Sequence[TableRule], settings: Settings) -> Iterator[Memory]:
    """Yield memories at the corners of the conditions of rules."""
    conditions = [
        condition
        for rule in rules
        for tables in (rule.when, rule.unless)
        for table in tables.tables
        for condition in table.conditions
    ]
    words = {
        name: list(dict.fromkeys(value for c in conditions if c.field.name == name for value in c.values))
        for name in ("kind", "tags", "source")
    }
    metadata: list[dict[str, Any]] = [{}] + [
        {c.field.name.removeprefix("metadata."): value}
        for c in conditions
        if c.field.name.startswith("metadata.")
        for value in c.values
    ]
    days = sorted({_HOUR, 400.0, *(max(_HOUR, corner) for corner in _corner_days(conditions, settings))})
    counts = sorted({0, 5, *_corner_counts(conditions, settings)})
    for tier, kind, tag, more, age, idle, uses in itertools.product(
        Tier, words["kind"] or ["fact"], [None, *words["tags"]], metadata, days, days, counts
    ):
        if idle > age:
            continue
        created = _NOW - timedelta(days=age)
        yield Memory(
            id="mem_example",
            content="",
            kind=kind,
            tags=() if tag is None else (tag,),
            tier=tier,
            scope=Scope(),
            metadata=more,
            tokens=10,
            created_at=created,
            updated_at=created,
            accessed_at=_NOW - timedelta(days=idle) if uses else None,
            last_used_at=_NOW - timedelta(days=idle) if uses else None,
            access_count=uses,
            use_weight=uses,
            recent_uses=uses,
            tier_since=created,
            retention_since=created,
        )


def _corner_days(conditions: Sequence[Condition], settings: Settings) -> Iterator[float]:
    for condition in conditions:
        if condition.field.type is FieldType.DURATION:
            for comparison in condition.comparisons:
                bound = comparison.bound(settings, duration=True)
                if isinstance(bound, timedelta):
                    yield bound / timedelta(days=1)


def _corner_counts(conditions: Sequence[Condition], settings: Settings) -> Iterator[int]:
    for condition in conditions:
        if condition.field.name in ("uses", "use_weight", "recent_uses"):
            for comparison in condition.comparisons:
                bound = comparison.bound(settings, duration=False)
                if not isinstance(bound, timedelta):
                    yield int(bound)


# With the memories of a store


def _in_store(
    own: Sequence[TableRule], rules: Sequence[TableRule], situation: Situation, memories: Sequence[Memory]
) -> Iterator[Finding]:
    settings = situation.settings
    sets = {run: RuleSet(rules, run, settings) for run in ("compact", "maintain")}
    matched: Counter[str] = Counter()
    moved: Counter[str] = Counter()
    for memory in memories:
        matched.update(rule.id for rule in own if rule.when.holds(memory, situation))
        for rule_set in sets.values():
            move = rule_set.first_move(memory, situation)
            if move is not None:
                moved[move.rule] += 1
    for place, rule in enumerate(own):
        if not matched[rule.id] and rule.run in sets:
            message = f"{rule.id} matches none of the {len(memories)} memories of this store"
            yield Finding(code="P011", message=message, path=("rule", place), warning=True)
        if moved[rule.id] > _MANY * len(memories):
            message = f"{rule.id} would move {moved[rule.id]} of {len(memories)} memories at once"
            yield Finding(code="P012", message=message, path=("rule", place), warning=True)
    pinned = sum(memory.tokens for memory in memories if memory.priority == "pinned")
    if pinned > settings.hot_max_tokens:
        message = f"hot_max_tokens is {settings.hot_max_tokens}, and the pinned memories of this store need {pinned}"
        yield Finding(code="P009", message=message, path=("limits", "hot_max_tokens"), warning=True)
