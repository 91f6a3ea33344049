"""The tests of a policy file: a memory, a run of the rules, and what is expected of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from memotherm.errors import InvalidInput
from memotherm.model import Memory, Move, Priority, Scope, Tier
from memotherm.model.clock import as_duration
from memotherm.model.value import Value
from memotherm.rules.findings import Finding, suggestion
from memotherm.rules.rule import Rule, RuleSet, Situation
from memotherm.rules.select import RUNS
from memotherm.settings import Settings

__all__ = ["Case", "CaseResult", "read_case", "run_case"]

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
    """What one test of a policy file found."""

    name: str
    passed: bool
    #: What happened instead; empty when it passed.
    detail: str = ""
    #: The move that the rules decided.
    move: Move | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return f"{'PASS' if self.passed else 'FAIL'} {self.name}{f': {self.detail}' if self.detail else ''}"


def run_case(case: Case, rules: Sequence[Rule], settings: Settings) -> CaseResult:
    """Run one test against rules."""
    situation = Situation(
        now=_NOW,
        settings=settings,
        open_sessions=case.open_sessions,
        recalled=case.run == "promote",
        relevance=case.relevance,
        reason="a session needs room",
    )
    run = RuleSet(rules, case.run, settings)
    move = run.first_move(case.memory, situation)
    tier = case.memory.tier if move is None or move.retention is not None else move.to
    problems = list(run.degraded())
    if tier is not case.tier:
        moved = f", moved by {move.rule}" if move is not None else ""
        problems.append(f"expected {case.tier}, but it is {tier}{moved}")
    elif case.rule is not None and (move is None or move.rule != case.rule):
        problems.append(f"expected {case.rule} to move it, but {'nothing' if move is None else move.rule} did")
    return CaseResult(name=case.name, passed=not problems, detail="; ".join(problems), move=move)


def read_case(table: Mapping[str, Any], path: tuple[str | int, ...], found: list[Finding]) -> Case | None:
    """Return the test of a table; add what is wrong to `found`, and return None if there is an error."""
    before = len(found)
    _unknown(table, _KEYS, path, found)
    described, expected = table.get("memory"), table.get("expect")
    name, run = str(table.get("name", f"test {path[-1]}")), table.get("run", "compact")
    if run not in RUNS:
        message = f"unknown run {run!r}: {suggestion(str(run), RUNS)}"
        found.append(Finding(code="P002", message=message, path=(*path, "run")))
    if not isinstance(described, Mapping) or not isinstance(expected, Mapping):
        message = 'a test needs memory = { ... } and expect = { tier = "..." }'
        found.append(Finding(code="P002", message=message, path=path))
        return None
    _unknown(described, _MEMORY, (*path, "memory"), found)
    _unknown(expected, _EXPECTED, (*path, "expect"), found)
    try:
        memory = _memory(described)
        tier = Tier.of(expected.get("tier", memory.tier))
        relevance = float(table.get("relevance", 0.0))
    except (InvalidInput, TypeError, ValueError) as exc:
        found.append(Finding(code="P002", message=str(exc), path=path))
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


def _unknown(table: Mapping[str, Any], known: Sequence[str], path: tuple[str | int, ...], found: list[Finding]) -> None:
    found.extend(
        Finding(code="P001", message=f"unknown key {key}: {suggestion(key, known)}", path=(*path, key))
        for key in table
        if key not in known
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
        last_used_at=ago.get("idle", created if uses else None),
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
