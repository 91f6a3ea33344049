"""From the selection of a rule to one statement: the only place where the conditions of rules are tested."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from memotherm.model import Memory, Priority, Tier, Trust
from memotherm.model.clock import to_micros
from memotherm.model.recall import USE_WINDOW, UseKind
from memotherm.storage.filters import Compiler
from memotherm.storage.statements import Row, Statements, marked
from memotherm.tiers.rules.conditions import Condition, FieldType, Select, Table
from memotherm.tiers.rules.properties import CLOSED, FILE_SOURCE, HALF_LIFE_DAYS, OPEN, USE_WEIGHTS
from memotherm.tiers.rules.rule import Situation
from memotherm.tiers.rules.where import AllOf, FieldTest, one_of

_MICROSECOND = timedelta(microseconds=1)
_LAST_USE = "coalesce(accessed_at, created_at)"
_COLUMNS = {
    "tier": "tier",
    "kind": "kind",
    "priority": "priority",
    "source": "source",
    "tier_rule": "tier_rule",
    "tokens": "tokens",
    "uses": "access_count",
    "use_weight": "use_weight",
    "recent_uses": "recent_uses",
    "relevance": "relevance",
    # Durations, by the moment that they are counted from.
    "age": "created_at",
    "idle": _LAST_USE,
    "used": "accessed_at",
    "unchanged": "updated_at",
    "untouched": f"CASE WHEN updated_at > {_LAST_USE} THEN updated_at ELSE {_LAST_USE} END",
    "in_tier": "tier_since",
    "in_retention": "retention_since",
    "expires_in": "expires_at",
    # What is true or false.
    "note": f"substr(source, 1, {len(FILE_SOURCE)}) = '{FILE_SOURCE}'",
    "moved": "tier_since > created_at",
    "used_in_tier": "accessed_at > tier_since",
}
#: The operators of SQL, and those of a moment whose duration is compared.
_OPERATORS = {"==": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_FLIPPED = {"==": "=", "!=": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_RANKS: dict[str, Any] = {"tier": Tier, "priority": Priority}
#: The whitespace of Unicode.
_BLANKS = "".join(filter(str.isspace, map(chr, range(0x3001))))
#: Keeps moments within 64 bits.
_FAR = 1 << 62


def selected_rows(
    statements: Statements,
    spaces: Sequence[int],
    selects: Select,
    situation: Situation,
    after: int,
    limit: int,
    read: Sequence[Memory] | None = None,
) -> list[Row]:
    """Return the rows of the memories that a selection names, in order of number.

    Args:
        statements: The statements of a transaction.
        spaces: Where to look.
        selects: The selection.
        situation: What its conditions may name.
        after: The number behind which to begin.
        limit: How many at most.
        read: Only these memories, with the uses that they have here: some are not written yet.
    """
    compiler = _Conditions(statements, situation)
    when, unless = (compiler.possible(tables, selects.tiers) for tables in selects.tables)
    if not when or () in unless or not selects.tiers or selects.ids == ():
        return []
    now = to_micros(situation.now)
    conditions = [
        compiler.named("where_tiers", {"tiers": [tier.rank for tier in selects.tiers]}),
        compiler.named("where_retentions", {"retentions": [retention.rank for retention in selects.retentions]}),
    ]
    if selects.ids is not None:
        conditions.append(compiler.named("where_ids", {"ids": list(selects.ids)}))
    if selects.expired is not None:
        conditions.append(compiler.named("where_expired" if selects.expired else "where_unexpired", {"now": now}))
    if () not in when:
        conditions.append(compiler.one_of(when))
    if unless:
        conditions.append(f"({compiler.one_of(unless)} IS NOT TRUE)")
    # What is likely to be most of the table is read in its own order.
    narrow = selects.ids is not None or read is not None or all(_is_narrow(table, selects.tiers) for table in when)
    marks = {"space": "space" if narrow else "+space", "conditions": " AND ".join(conditions)}
    values = {"spaces": list(spaces), "after": after, "limit": limit, **compiler.values}
    if read is not None:
        return statements.rows_of("select_read", marks, read=json.dumps(dict(map(_uses, read))), **values)
    return statements.rows_of("select", marks, **values)


def _uses(memory: Memory) -> tuple[str, list[float | None]]:
    """Return the id of a memory, and its columns that uses change."""
    at = None if memory.accessed_at is None else to_micros(memory.accessed_at)
    return memory.id, [at, memory.access_count, memory.recent_uses, memory.use_weight]


def _is_narrow(table: Table, tiers: Sequence[Tier]) -> bool:
    """Return whether conditions are likely to hold for few memories."""
    return tuple(tiers) == (Tier.HOT,) or any(
        condition.field.name in ("kind", "tags", "blocker") or condition.values == (Tier.HOT,) for condition in table
    )


class _Conditions(Compiler):
    """Makes the text of the conditions of rules in one situation."""

    def __init__(self, statements: Statements, situation: Situation) -> None:
        super().__init__(statements)
        self._situation = situation
        self._now = to_micros(situation.now)

    def possible(self, tables: Sequence[Table], tiers: Sequence[Tier]) -> list[Table]:
        """Return the tables that may hold in some tiers, without the conditions that are known to hold there."""
        possible = []
        for table in tables:
            known = [(condition, self._known(condition, tiers)) for condition in table]
            if all(holds is not False for _, holds in known):
                possible.append(tuple(condition for condition, holds in known if holds is None))
        return possible

    def _known(self, condition: Condition, tiers: Sequence[Tier]) -> bool | None:
        """Return whether a condition on the situation or the tier holds; None if the memories decide."""
        first, _, name = condition.field.name.partition(".")
        if first == "tier":
            common = set(tiers) & set(map(Tier.of, condition.values))
            return len(common) == len(set(tiers)) if len(common) in (0, len(set(tiers))) else None
        if first == "blocker_waits":
            return self._situation.blocker_waits in condition.values
        if first != "setting":
            return None
        found = getattr(self._situation.settings, name)
        if condition.comparisons:
            bounds = condition.bounds(self._situation.settings)
            is_number = isinstance(found, int | float) and not isinstance(found, bool)
            return is_number and all(_COMPARE[compare](found, bound) for compare, bound in bounds)
        return any(found == value and isinstance(found, bool) is isinstance(value, bool) for value in condition.values)

    def one_of(self, tables: Sequence[Table]) -> str:
        """Return the text of the condition that one of several tables holds."""
        texts = [" AND ".join(map(self._condition, table)) for table in tables]
        return f"({' OR '.join(f'({text})' for text in texts)})"

    def _condition(self, condition: Condition) -> str:
        """Return the text of a condition; null where the memory lacks the field."""
        name, values = condition.field.name, list(condition.values)
        if name == "tags":
            wanted = [[tag] for tag in values] if condition.all else [values]
            return " AND ".join(self.named("where_tags", {"tags": tags}) for tags in wanted)
        if name == "trust":
            least = min(Trust(value).rank for value in values)
            return self._compared("trust", ">=", least)
        if name.startswith("metadata."):
            return self._metadata_value(condition)
        if condition.field.type is FieldType.YES_NO:
            return self._true(name, values)
        if condition.field.type is FieldType.DURATION:
            return self._duration(condition)
        field = self._value_of(name)
        if condition.comparisons:
            bounds = condition.bounds(self._situation.settings)
            return " AND ".join(self._compared(field, _OPERATORS[compare], bound) for compare, bound in bounds)
        if name in _RANKS:
            values = [_RANKS[name].of(value).rank for value in values]
        return self._in(field, values)

    def _true(self, name: str, values: Sequence[bool]) -> str:
        """Return the condition that something is true, or that it is not."""
        text = _COLUMNS.get(name, "")
        if name == "blocker":
            tagged, status = self.named("where_tags", {"tags": ["blocker"]}), self._value_of("status")
            text = f"{tagged} AND {self._in(status, ['open', 'none'])}"
        return " OR ".join(f"(({text}) IS {'' if value else 'NOT '}TRUE)" for value in values)

    def _duration(self, condition: Condition) -> str:
        """Return the comparison of a duration, as one of the moment that it is counted from or to."""
        moment = _COLUMNS[condition.field.name]
        ahead = condition.field.name == "expires_in"
        texts = []
        for compare, bound in condition.bounds(self._situation.settings):
            micros = self._now + (1 if ahead else -1) * (bound // _MICROSECOND)
            flipped = (_OPERATORS if ahead else _FLIPPED)[compare]
            texts.append(self._compared(moment, flipped, max(-_FAR, min(_FAR, micros))))
        return " AND ".join(texts)

    def _metadata_value(self, condition: Condition) -> str:
        path = (condition.field.name.removeprefix("metadata."),)
        if not condition.comparisons:
            return self.metadata(one_of(path, condition.values))
        bounds = condition.bounds(self._situation.settings)
        tests = tuple(FieldTest(path, _OPERATORS[compare], float(bound)) for compare, bound in bounds)
        return self.metadata(AllOf(tests))

    def _value_of(self, name: str) -> str:
        """Return the text of the value of a field."""
        if name.startswith("scope."):
            column = name.removeprefix("scope.")
            return marked(self.named("field_scope", {}), {"column": "user_" if column == "user" else column})
        if name == "session":
            # No session has an empty name.
            return self.named("field_session", {"open": ["", *sorted(self._situation.open_sessions)]})
        if name == "status":
            state = self.named("field_state", {"blanks": _BLANKS})
            status = self.named("field_status", {"closed": sorted(CLOSED), "open": sorted(OPEN)})
            return marked(status, {"state": state})
        if name == "heat":
            half_life = timedelta(days=HALF_LIFE_DAYS) // _MICROSECOND
            return self.named("field_heat", {"now": self._now, "half_life": half_life})
        if name == "query_relevance":
            return self.named("field_query_relevance", {"recalled": json.dumps(dict(self._situation.recalled))})
        if name == "recent_uses" and self._situation.recalled:
            window = self._now - USE_WINDOW // _MICROSECOND
            return self.named("field_recalled_uses", {"window": window, "weight": USE_WEIGHTS[UseKind.RETURNED]})
        return _COLUMNS[name]

    def _in(self, field: str, values: Sequence[Any]) -> str:
        return marked(self.named("field_in", {"values": list(values)}), {"field": field})

    def _compared(self, field: str, compare: str, bound: float) -> str:
        return marked(self.named("field_compares", {"bound": bound}), {"field": field, "compare": compare})
