"""Checks of a policy: its own tests, and a linter for contradictions and for what it would do to a store."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from memotherm.errors import InvalidInput
from memotherm.model import Memory, Move, Priority, Scope, Tier
from memotherm.model.actions import Action
from memotherm.model.clock import as_duration
from memotherm.model.value import Value
from memotherm.settings import Settings
from memotherm.storage.open import open_store
from memotherm.storage.store import Store, Transaction
from memotherm.storage.values import Cause, Search
from memotherm.tiers.rules.conditions import NEVER, RUNS, Condition, Finding, Findings, suggestion
from memotherm.tiers.rules.rule import Rule, RuleSet, Selector, Situation
from memotherm.tiers.rules.table import TableRule

# Tests

#: The moment at which tests run.
_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_KEYS = ("name", "run", "memory", "expect", "relevance")
_EXPECTED = ("tier", "rule")
_MEMORY = (
    "content", "kind", "tags", "tier", "priority", "scope", "metadata", "source", "tokens",
    "age", "idle", "unchanged", "in_tier", "expires_in", "uses", "use_weight", "recent_uses", "relevance",
    "tier_rule", "session",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One test of a policy file."""

    name: str
    run: str
    memory: Memory
    #: The tier that the memory has after the run.
    tier: Tier
    #: The rule that must have moved it; None accepts any.
    rule: str | None = None
    #: The sessions that are open.
    open_sessions: frozenset[str] = frozenset()
    #: In the run `promote`: how well the memory answers the query.
    relevance: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class CaseResult(Value):
    """The result of one test of a policy file."""

    name: str
    passed: bool
    #: What happened instead; empty when it passed.
    detail: str = ""
    #: The move that the rules decided.
    move: Move | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return f"{'PASS' if self.passed else 'FAIL'} {self.name}{f': {self.detail}' if self.detail else ''}"


def run_cases(cases: Sequence[Case], rules: Sequence[Rule], settings: Settings) -> list[CaseResult]:
    """Run the tests of a policy against rules."""
    with stored_examples(case.memory for case in cases) as (store, spaces):
        return [
            _result(case, RuleSet(rules, case.run), settings, store.selector(spaces, read=[case.memory]))
            for case in cases
        ]


def _result(case: Case, rules: RuleSet, settings: Settings, selected: Selector) -> CaseResult:
    """Return the result of one test."""
    situation = Situation(
        now=_NOW,
        settings=settings,
        open_sessions=case.open_sessions,
        recalled={case.memory.id: case.relevance} if case.run == "promote" else {},
        reason="a session needs room",
    )
    move = next((decision.move for decision in rules.decisions(selected, situation)), None)
    tier = case.memory.tier if move is None or move.retention is not None else move.to
    problems = list(rules.degraded())
    if tier is not case.tier:
        moved = f", moved by {move.rule}" if move is not None else ""
        problems.append(f"expected {case.tier}, but it is {tier}{moved}")
    elif case.rule is not None and (move is None or move.rule != case.rule):
        problems.append(f"expected {case.rule} to move it, but {'nothing' if move is None else move.rule} did")
    return CaseResult(name=case.name, passed=not problems, detail="; ".join(problems), move=move)


def read_case(table: Mapping[str, Any], path: tuple[str | int, ...], found: Findings) -> Case | None:
    """Read a test from a table; add findings to `found`, and return None if there is an error."""
    before = len(found)
    found.check_keys(table, _KEYS, *path)
    described, expected = table.get("memory"), table.get("expect")
    name, run = str(table.get("name", f"test {path[-1]}")), table.get("run", "compact")
    if run not in RUNS:
        found.add("P002", f"unknown run {run!r}: {suggestion(str(run), RUNS)}", *path, "run")
    if not isinstance(described, Mapping) or not isinstance(expected, Mapping):
        found.add("P002", 'a test needs memory = { ... } and expect = { tier = "..." }', *path)
        return None
    found.check_keys(described, _MEMORY, *path, "memory")
    found.check_keys(expected, _EXPECTED, *path, "expect")
    try:
        memory = replace(_memory(described), id=f"mem_test_{path[-1]}")
        tier = Tier.of(expected.get("tier", memory.tier))
        relevance = float(table.get("relevance", 0.0))
    except (InvalidInput, TypeError, ValueError) as exc:
        found.add("P002", str(exc), *path)
        return None
    if len(found) > before:
        return None
    session = memory.scope.session
    is_open = described.get("session", "open") == "open" and session is not None
    return Case(
        name=name,
        run=run,
        memory=memory,
        tier=tier,
        rule=expected.get("rule"),
        open_sessions=frozenset({session} if is_open and session is not None else ()),
        relevance=relevance,
    )


def _memory(described: Mapping[str, Any]) -> Memory:
    """Return the memory that a test describes by durations before now."""
    created = _NOW - _duration(described.get("age", "0d"))
    ago = {name: _NOW - _duration(described[name]) for name in ("idle", "unchanged", "in_tier") if name in described}
    uses = int(described.get("uses", described.get("recent_uses", 1 if "idle" in described else 0)))
    scope = dict(described.get("scope", {}))
    if "session" in described:
        scope.setdefault("session", "test")
    return Memory(
        id="mem_test",
        content=str(described.get("content", "")),
        kind=str(described.get("kind", "fact")),
        tags=tuple(described.get("tags", ())),
        tier=Tier.of(described.get("tier", "warm")),
        priority=Priority.of(described.get("priority", "normal")),
        scope=Scope(**scope),
        metadata=dict(described.get("metadata", {})),
        source=str(described.get("source", "agent")),
        tokens=int(described.get("tokens", 10)),
        created_at=created,
        updated_at=ago.get("unchanged", created),
        accessed_at=ago.get("idle", created if uses else None),
        expires_at=_NOW + _duration(described["expires_in"]) if "expires_in" in described else None,
        access_count=uses,
        use_weight=float(described.get("use_weight", uses)),
        recent_uses=float(described.get("recent_uses", uses)),
        relevance=float(described.get("relevance", 0.5)),
        tier_since=ago.get("in_tier", created),
        tier_rule=str(described.get("tier_rule", "default")),
        retention_since=created,
    )


def _duration(value: object) -> timedelta:
    """Return a duration, which may be 0."""
    if value in (0, "0", "0d"):
        return timedelta(0)
    if not isinstance(value, str | int | float):
        raise InvalidInput(f"a duration is text such as '7d', not {value!r}")
    return as_duration(value)


# Linter

#: The share of the live memories that one run may move without a warning.
_MANY = 0.2


def _is_empty(condition: Condition, settings: Settings) -> bool:
    """Return whether no value satisfies the comparisons of a condition; durations are compared in seconds."""
    # A bound, and whether it is excluded. The greater of two is the stricter one, so upper bounds are negative.
    low = high = (-math.inf, False)
    for name, bound in condition.bounds(settings):
        number = bound.total_seconds() if isinstance(bound, timedelta) else float(bound)
        if name in (">", ">=", "=="):
            low = max(low, (number, name == ">"))
        if name in ("<", "<=", "=="):
            high = max(high, (-number, name == "<"))
    return low[0] > -high[0] or (low[0] == -high[0] and (low[1] or high[1]))


def lint(own: Sequence[TableRule], settings: Settings) -> Iterator[Finding]:
    """Yield findings about a policy's own rules, in their order."""
    for place, rule in enumerate(own):
        yield from _contradictions(rule, place, settings)
        if not rule.why:
            message = f"{rule.id} has no why: say the reason, which is shown in the history of a memory"
            yield Finding(code="P010", message=message, path=("rule", place), warning=True)
    if settings.cool_hot_days > settings.cool_warm_days:
        message = (
            f"cool_hot_days ({settings.cool_hot_days:g}) is more than cool_warm_days ({settings.cool_warm_days:g}): "
            "a hot memory would cool later than a warm one"
        )
        yield Finding(code="P008", message=message, path=("limits",))


def _contradictions(rule: TableRule, place: int, settings: Settings) -> Iterator[Finding]:
    for table in rule.when:
        for condition in table:
            if condition.comparisons and _is_empty(condition, settings):
                name = condition.field.name
                message = f"{rule.id}: no memory can satisfy {name} in when: loosen one comparison"
                yield Finding(code="P006", message=message, path=("rule", place, "when", name))
        tier = next((condition for condition in table if condition.field.name == "tier"), None)
        if tier is not None and len(rule.targets) == 1 and tier.values == (str(rule.targets[0][0]),):
            message = f"{rule.id}: when asks for tier = {tier.values[0]!r}, where to moves it: nothing would move"
            yield Finding(code="P006", message=message, path=("rule", place, "to"))


# With the memories of a store


def lint_in_store(
    own: Sequence[TableRule],
    rules: Sequence[TableRule],
    situation: Situation,
    store: Store,
    spaces: Sequence[int],
    count: int,
) -> Iterator[Finding]:
    """Yield warnings about the effect of a policy's rules on the memories of a store, of which there are `count`."""
    moved = Counter(
        decision.move.rule
        for run in ("compact", "maintain")
        for decision in RuleSet(rules, run).decisions(store.selector(spaces), situation)
    )
    for place, rule in enumerate(own):
        if rule.run not in ("compact", "maintain"):
            continue
        if not store.select(spaces, replace(rule.selects, unless=NEVER), situation, limit=1):
            message = f"{rule.id} matches none of the {count} memories of this store"
            yield Finding(code="P011", message=message, path=("rule", place), warning=True)
        if moved[rule.id] > _MANY * count:
            message = f"{rule.id} would move {moved[rule.id]} of {count} memories at once"
            yield Finding(code="P012", message=message, path=("rule", place), warning=True)
    pinned = sum(record.memory.tokens for record in store.pinned(Search(spaces=tuple(spaces), now=situation.now)))
    limit = situation.settings.hot_max_tokens
    if pinned > limit:
        message = f"hot_max_tokens is {limit}, and the pinned memories of this store need {pinned}"
        yield Finding(code="P009", message=message, path=("limits", "hot_max_tokens"), warning=True)


# Examples


@contextmanager
def stored_examples(memories: Iterable[Memory]) -> Iterator[tuple[Store, tuple[int, ...]]]:
    """Yield a store that holds some memories as they are, and its spaces."""
    store = open_store(":memory:", Settings())

    def fill(transaction: Transaction) -> None:
        for memory in memories:
            cause = Cause(action=Action.REMEMBER, at=memory.created_at)
            transaction.insert(transaction.space(memory.scope), memory, None, cause)

    try:
        store.transact(fill)
        yield store, store.spaces_within(Scope())
    finally:
        store.close()
