"""The conditions of rules on memories that no store holds: a replay keeps them in lists."""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from memotherm.model import Memory, Trust
from memotherm.tiers.rules import Select, Situation
from memotherm.tiers.rules.conditions import Condition, FieldType
from memotherm.tiers.rules.properties import OPEN, heat, in_file, is_blocker, is_closed, recent_uses

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def matches(select: Select, memory: Memory, situation: Situation) -> bool:
    """Return whether a memory is selected."""
    when, unless = (
        any(all(_holds(condition, memory, situation) for condition in table) for table in tables)
        for tables in select.tables
    )
    return (
        memory.tier in select.tiers
        and memory.retention in select.retentions
        and (select.expired is None or memory.expired_at(situation.now) is select.expired)
        and when
        and not unless
    )


def _holds(condition: Condition, memory: Memory, situation: Situation) -> bool:
    found = _value_of(condition.field.name, memory, situation)
    if found is None:
        return False
    if condition.field.type is FieldType.TAGS:
        return set(condition.values) <= set(found) if condition.all else not set(condition.values).isdisjoint(found)
    if not condition.comparisons:
        return any(found == value and isinstance(found, bool) is isinstance(value, bool) for value in condition.values)
    if isinstance(found, bool) or not isinstance(found, int | float | timedelta):
        return False
    return all(_COMPARE[compare](found, bound) for compare, bound in condition.bounds(situation.settings))


def _value_of(name: str, memory: Memory, situation: Situation) -> Any:  # noqa: ANN401
    first, _, rest = name.partition(".")
    read = _READ.get(first)
    return getattr(memory, first) if read is None else read(memory, situation, rest)


def _status(memory: Memory) -> str:
    if is_closed(memory):
        return "done"
    state = next((memory.metadata[key] for key in ("status", "state") if memory.metadata.get(key) is not None), "")
    return "open" if str(state).strip().lower() in OPEN else "none"


def _session(memory: Memory, situation: Situation) -> str:
    if memory.scope.session is None:
        return "none"
    return "open" if memory.scope.session in situation.open_sessions else "ended"


_READ: dict[str, Callable[[Memory, Situation, str], Any]] = {
    "metadata": lambda memory, _, name: memory.metadata.get(name),
    "scope": lambda memory, _, name: getattr(memory.scope, name),
    "setting": lambda _, situation, name: getattr(situation.settings, name),
    "trust": lambda memory, *_: tuple(Trust)[: memory.trust.rank + 1],
    "status": lambda memory, *_: _status(memory),
    "session": lambda memory, situation, _: _session(memory, situation),
    "blocker": lambda memory, *_: is_blocker(memory),
    "blocker_waits": lambda _, situation, __: situation.blocker_waits,
    "note": lambda memory, *_: in_file(memory),
    "moved": lambda memory, *_: memory.tier_since > memory.created_at,
    "used_in_tier": lambda memory, *_: memory.accessed_at is not None and memory.accessed_at > memory.tier_since,
    "age": lambda memory, situation, _: situation.now - memory.created_at,
    "idle": lambda memory, situation, _: situation.now - memory.last_accessed_at,
    "used": lambda memory, situation, _: memory.accessed_at and situation.now - memory.accessed_at,
    "unchanged": lambda memory, situation, _: situation.now - memory.updated_at,
    "untouched": lambda memory, situation, _: situation.now - max(memory.updated_at, memory.last_accessed_at),
    "in_tier": lambda memory, situation, _: situation.now - memory.tier_since,
    "in_retention": lambda memory, situation, _: situation.now - memory.retention_since,
    "expires_in": lambda memory, situation, _: memory.expires_at and memory.expires_at - situation.now,
    "uses": lambda memory, *_: memory.access_count,
    "recent_uses": lambda memory, situation, _: (
        recent_uses(memory, situation.now) + 1 if situation.recalled else memory.recent_uses
    ),
    "heat": lambda memory, situation, _: heat(memory, situation.now),
    "query_relevance": lambda memory, situation, _: situation.recalled.get(memory.id, 0.0),
}
