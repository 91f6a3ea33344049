"""From the selection of a rule to one statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from memotherm.model import Tier
from memotherm.model.clock import to_micros
from memotherm.rules.select import Select, metadata_text
from memotherm.storage.statements import Row, Statements

__all__ = ["selected_rows"]

_DURATIONS = {
    "unused_for": "where_unused",
    "older_than": "where_older",
    "unchanged_for": "where_unchanged",
    "in_tier_for": "where_in_tier",
    "in_retention_for": "where_in_retention",
}

_MICROSECOND = timedelta(microseconds=1)

#: The name of a condition, and its parameters.
Condition = tuple[str, dict[str, object]]


def selected_rows(
    statements: Statements, spaces: Sequence[int], selects: Select, now: datetime, after: int, limit: int
) -> list[Row]:
    """Return the rows of the memories that a selection names, in order of number."""
    values: dict[str, object] = {"spaces": list(spaces), "after": after, "limit": limit}
    state: list[Condition] = [
        ("where_retentions", {"retentions": [retention.rank for retention in selects.retentions]})
    ]
    if selects.expired is not None:
        state.append(("where_expired" if selects.expired else "where_unexpired", {"now": to_micros(now)}))
    parts = [_joined(statements, [*state, *_conditions(selects, now)], "", values)]
    if selects.either:
        alternatives = [
            _joined(statements, list(_conditions(part, now)), f"_{chr(ord('a') + place)}", values)
            for place, part in enumerate(selects.either)
        ]
        parts.append(f"({' OR '.join(alternatives)})")
    # What is likely to be most of the table is read in its own order.
    narrow = selects.tiers == (Tier.HOT,) or selects.kinds is not None or selects.tags is not None
    marks = {"space": "space" if narrow else "+space", "conditions": " AND ".join(parts)}
    return statements.rows_of("select", marks, **values)


def _conditions(selects: Select, now: datetime) -> Iterator[Condition]:
    """Yield the conditions of a selection, without those on retention and expiry."""
    yield "where_tiers", {"tiers": [tier.rank for tier in selects.tiers]}
    if selects.kinds is not None:
        yield "where_kinds", {"kinds": list(selects.kinds)}
    if selects.tags is not None:
        yield "where_tags", {"tags": list(selects.tags)}
    if selects.priorities is not None:
        yield "where_priorities", {"priorities": [priority.rank for priority in selects.priorities]}
    for name, condition in _DURATIONS.items():
        duration = getattr(selects, name)
        if duration is not None:
            yield condition, {name: to_micros(now) - duration // _MICROSECOND}
    if selects.used_in_tier is not None:
        yield "where_used_in_tier" if selects.used_in_tier else "where_unused_in_tier", {}
    if isinstance(selects.used_within, timedelta):
        yield "where_used_within", {"used_within": to_micros(now) - selects.used_within // _MICROSECOND}
    for key, accepted in selects.metadata.items():
        yield "where_metadata", {"metadata_key": key, "metadata": [metadata_text(value) for value in accepted]}


def _joined(statements: Statements, conditions: list[Condition], suffix: str, values: dict[str, object]) -> str:
    """Return conditions joined by AND, and add their parameters to `values` under names of their own."""
    texts = []
    for place, (name, parameters) in enumerate(conditions):
        own = f"{suffix}_{chr(ord('a') + place)}"
        texts.append(statements.fragment(name, own))
        values.update({f"{parameter}{own}": value for parameter, value in parameters.items()})
    return f"({' AND '.join(texts)})"
