"""From what a search or a listing reads to one statement."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from memotherm.model.clock import to_micros
from memotherm.storage.statements import Row, Statements, marked
from memotherm.storage.values import AFTER_PREFIX, EVERY_TIER, Search
from memotherm.text.content import case_variants
from memotherm.tiers.rules.where import AllOf, FieldTest, Not, json_type
from memotherm.tiers.rules.where import Condition as MetadataCondition

#: Larger than any number of a memory.
_EVERY = 1 << 62

NumberedRow = TypeVar("NumberedRow", bound=tuple[Any, ...])

#: The name of a condition and its parameters, or a condition on the metadata.
Condition = tuple[str, dict[str, object]] | MetadataCondition


def found_rows(statements: Statements, search: Search, *, in_order: bool = False) -> list[Row]:
    """Return the rows of a page of a listing; `in_order` lets SQLite read the table in its own order."""
    values, marks = _listing(statements, search, in_order=in_order)
    if search.order != "newest" or search.skip:
        marks["order"] = statements.fragment(f"order_{search.order}", "")
        return statements.rows_of("find_sorted", marks, limit=search.limit, skip=search.skip, **values)
    before = _EVERY if search.before is None else search.before
    return statements.rows_of("find", marks, before=before, limit=search.limit, **values)


def found_count(statements: Statements, search: Search, *, in_order: bool = False) -> int:
    """Return how many memories a listing has."""
    values, marks = _listing(statements, search, in_order=in_order)
    ((count,),) = statements.rows_of("found_count", marks, **values)
    return int(count)


def found_kinds(statements: Statements, search: Search, *, in_order: bool = False) -> dict[str, int]:
    """Return how many memories of each kind a listing has, the most frequent kind first."""
    values, marks = _listing(statements, search, in_order=in_order)
    return {kind: int(count) for kind, count in statements.rows_of("found_kinds", marks, **values)}


def hidden_rows(statements: Statements, search: Search) -> list[Row]:
    """Return the rows of all memories of a search that are in no index: archived, deleted, proposed, expired."""
    values, marks = _listing(statements, search, ("where_hidden", {"now": to_micros(search.now)}))
    return statements.rows_of("find", marks, before=_EVERY, limit=_EVERY, **values)


def _listing(
    statements: Statements, search: Search, *more: Condition, in_order: bool = False
) -> tuple[dict[str, object], dict[str, object]]:
    """Return the parameters and the marks of a statement that lists memories."""
    compiler = Compiler(statements)
    conditions = compiler.joined([*_found(search), *more])
    marks: dict[str, object] = {"space": "+space" if in_order else "space", "conditions": conditions}
    return {"spaces": list(search.spaces), **compiler.values}, marks


def compiled_filter(statements: Statements, search: Search) -> tuple[str, dict[str, object]]:
    """Return the conditions of a search as one on memories, expiry included, and its parameters."""
    compiler = Compiler(statements)
    unexpired: Condition = ("where_unexpired", {"now": to_micros(search.now)})
    return compiler.joined([unexpired, *_filtered(search)]), compiler.values


def filtered_numbers(statements: Statements, nos: Sequence[int], search: Search) -> set[int]:
    """Return those of some memories that the conditions of a search let through."""
    conditions, values = compiled_filter(statements, search)
    return {no for (no,) in statements.rows_of("filtered", {"conditions": conditions}, nos=list(nos), **values)}


def passing_rows(statements: Statements, rows: list[NumberedRow], search: Search) -> list[NumberedRow]:
    """Return those of some rows (number, space, tier, priority, kind, and more) that pass its conditions."""
    if search.kinds is not None:
        rows = [row for row in rows if row[4] in search.kinds]
    if rows and search.selective_beside_kinds:
        passing = filtered_numbers(statements, [row[0] for row in rows], search)
        rows = [row for row in rows if row[0] in passing]
    return rows


def _found(search: Search) -> Iterator[Condition]:
    """Yield the conditions of a listing."""
    if len(search.retentions) == 1:
        yield "where_retention", {"retention": search.retentions[0].rank}
    else:
        yield "where_retentions", {"retentions": [retention.rank for retention in search.retentions]}
    if not search.hidden:
        yield "where_unexpired", {"now": to_micros(search.now)}
    if len(search.tiers) < len(EVERY_TIER):
        yield "where_tiers", {"tiers": [tier.rank for tier in search.tiers]}
    yield from _filtered(search)


def _contained(text: str) -> dict[str, Any]:
    """Return the values of `where_contains`: the databases ignore case differently, or only of ASCII.

    `glob` is a pattern of GLOB with every case of each character. `pattern` is one of LIKE, escaped by `!`, for a
    content in which each character of `cased` was replaced by that of `folded`.
    """
    variants = {char: case_variants(char) for char in text}
    glob = "".join(f"[{variants[char]}]" if len(variants[char]) > 1 or char in "*?[" else char for char in text)
    folded = "".join(f"!{char}" if char in "!%_" else variants[char][0] for char in text)
    pairs = [(cased, each[0]) for each in dict.fromkeys(variants.values()) for cased in each[1:]]
    return {
        "glob": f"*{glob}*",
        "pattern": f"%{folded}%",
        "cased": "".join(cased for cased, _ in pairs),
        "folded": "".join(fold for _, fold in pairs),
    }


def _filtered(search: Search) -> Iterator[Condition]:
    """Yield the conditions of a search."""
    if search.priority is not None:
        yield "where_priorities", {"priorities": [search.priority.rank]}
    if search.trust is not None:
        yield "where_trust", {"trust": search.trust.rank}
    if search.contains is not None:
        yield "where_contains", _contained(search.contains)
    for name in ("kinds", "tags", "sources", "ids", "nos"):
        if (values := getattr(search, name)) is not None:
            yield f"where_{name}", {name: list(values)}
    for name in ("since", "until", "true_at"):
        if (moment := getattr(search, name)) is not None:
            yield f"where_{name}", {name: to_micros(moment)}
    if search.prefix is not None:
        yield "where_prefix", {"first": search.prefix, "last": search.prefix + AFTER_PREFIX}
    if search.where is not None:
        yield search.where


class Compiler:
    """Makes the text of conditions, and collects their parameters under names of their own."""

    def __init__(self, statements: Statements) -> None:
        self._statements = statements
        self._count = 0
        self.values: dict[str, object] = {}

    def joined(self, conditions: Iterator[Condition] | Sequence[Condition]) -> str:
        """Return conditions joined by AND."""
        texts = [
            self.named(*condition) if isinstance(condition, tuple) else self.metadata(condition)
            for condition in conditions
        ]
        return f"({' AND '.join(texts) or '1 = 1'})"

    def named(self, name: str, parameters: dict[str, object]) -> str:
        """Return the text of a named condition."""
        suffix = f"_{_letters(self._count)}"
        self._count += 1
        self.values.update({f"{parameter}{suffix}": value for parameter, value in parameters.items()})
        return self._statements.fragment(name, suffix)

    def metadata(self, condition: MetadataCondition) -> str:
        """Return the text of a condition on the metadata."""
        if isinstance(condition, FieldTest):
            return self._field(condition)
        if isinstance(condition, Not):
            return f"(NOT {self.metadata(condition.condition)})"
        texts = [self.metadata(part) for part in condition.conditions]
        if isinstance(condition, AllOf):
            return f"({' AND '.join(texts) or '1 = 1'})"
        return f"({' OR '.join(texts) or '1 = 0'})"

    def _field(self, field: FieldTest) -> str:
        """Return the text of the test of one value: a step for each key that leads to it, and the test."""
        sources, keys = [], []
        parent = self.named("metadata_root", {})
        for depth, step in enumerate(field.path):
            node = f"node_{_letters(depth)}"
            source = self.named("metadata_element" if isinstance(step, int) else "metadata_member", {"key": step})
            sources.append(marked(source, {"parent": parent, "node": node}))
            keys.append(marked(self.named("metadata_key", {"key": step}), {"node": node}))
            parent = marked(self.named("metadata_inner", {}), {"node": node})
        test = marked(self._test(field), {"node": node})
        marks = {"sources": ", ".join(sources), "keys": " AND ".join(keys), "test": test}
        return marked(self.named("metadata_exists", {}), marks)

    def _test(self, field: FieldTest) -> str:
        """Return the text of a test, with a mark for the value."""
        value = field.value
        if field.test == "one_of":
            typed: dict[str, list[object]] = {"text": [], "number": [], "boolean": []}
            for name, accepted in value:
                typed[name].append(accepted)
            words = [str(accepted).lower() for accepted in typed["boolean"]]
            numbers = json.dumps(typed["number"])
            return self.named("test_one_of", {"texts": typed["text"], "numbers": numbers, "words": words})
        if field.test in ("exists", "not_null", "object"):
            return self.named(f"test_{field.test}", {})
        if field.test in ("members", "elements"):
            return self.named(f"test_{field.test}", {"length": value})
        operand = value if isinstance(value, str) else json.dumps(value)
        compared = self.named(f"test_{json_type(value)}", {"value": operand})
        return marked(compared, {"compare": field.test})


def _letters(number: int) -> str:
    """Return a number as letters, because the names of parameters have no digits."""
    letters = chr(ord("a") + number % 26)
    return letters if number < 26 else _letters(number // 26 - 1) + letters
