"""A filter on metadata lets through what it says, in the statements of each store."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memotherm import Memory, Retention, Scope, Settings
from memotherm.errors import InvalidInput
from memotherm.model.clock import new_id
from memotherm.storage.open import open_store
from memotherm.storage.values import EVERY_RETENTION, Search
from memotherm.testing import FakeClock
from memotherm.text.content import digest
from memotherm.tiers.rules.where import AllOf, AnyOf, Condition, FieldTest, Not, json_type, parsed_where
from tests.helpers import examples
from tests.stores import a_store, insert_all

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}


def holds(condition: Condition, metadata: Mapping[str, Any]) -> bool:
    """Return whether metadata meets a condition: what the filter means, once more."""
    if isinstance(condition, AllOf):
        return all(holds(part, metadata) for part in condition.conditions)
    if isinstance(condition, AnyOf):
        return any(holds(part, metadata) for part in condition.conditions)
    if isinstance(condition, Not):
        return not holds(condition.condition, metadata)
    value: Any = metadata
    for step in condition.path:
        if isinstance(step, int):
            if not isinstance(value, list) or step >= len(value):
                return False
        elif not isinstance(value, Mapping) or step not in value:
            return False
        value = value[step]
    return passes(value, condition)


def passes(value: Any, test: FieldTest) -> bool:
    """Return whether a value passes a test."""
    if test.test == "one_of":
        return isinstance(value, str | int | float) and (json_type(value), value) in test.value
    if test.test in ("members", "elements"):
        kind = Mapping if test.test == "members" else list
        return isinstance(value, kind) and len(value) == test.value
    simple = {"not_null": value is not None, "object": isinstance(value, Mapping), "exists": True}
    if test.test in simple:
        return simple[test.test]
    return json_type(value) == json_type(test.value) and _COMPARE[test.test](value, test.value)


#: Names with the characters of JSON paths, of SQL and of its parameters.
KEYS = ("a", "b", "$x", 'a"b', "a.b", "a'b", "0", "", "ü\\n", "a\nb", "%(a)s", ":a")
SCALARS: tuple[Any, ...] = (None, True, False, 0, 1, 1.0, -2.5, 2**62, 0.30000000000000004, "", "1", "a", "A", "ü",
                            "true", "a'b")  # fmt: skip
VALUES = st.recursive(
    st.sampled_from(SCALARS),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=2),
    max_leaves=4,
)
METADATA = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=3)
COMPARED = st.sampled_from([value for value in SCALARS if value is not None and not isinstance(value, bool)])
OPERATORS = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("$eq", "$ne"), VALUES),
        **dict.fromkeys(("$gt", "$gte", "$lt", "$lte"), COMPARED),
        **dict.fromkeys(("$in", "$nin"), st.lists(VALUES, max_size=3)),
        "$exists": st.booleans(),
    },
).filter(bool)
FILTERS = st.dictionaries(
    st.sampled_from(KEYS),
    OPERATORS | st.recursive(VALUES, lambda inner: st.dictionaries(st.sampled_from(KEYS[:3]), inner | OPERATORS)),
    max_size=2,
)


def valid(where: dict[str, Any]) -> bool:
    try:
        parsed_where(where)
    except InvalidInput:
        return False
    return True


def stored(metadata: dict[str, Any], number: int, clock: FakeClock) -> Memory:
    moment, content = clock() - timedelta(days=number), f"word number{number}"
    return Memory(
        id=new_id("mem", moment), content=content, digest=digest(content), metadata=metadata, created_at=moment,
        updated_at=moment, tier_since=moment, retention_since=moment,
        retention=Retention.ARCHIVED if number == 1 else Retention.ACTIVE,
    )  # fmt: skip


EXAMPLES = st.tuples(
    st.lists(METADATA, min_size=1, max_size=8),
    st.lists(FILTERS.filter(valid), min_size=1, max_size=4),
    st.none() | st.tuples(st.integers(0, 4), st.integers(0, 4)),
)


def test_a_store_finds_what_the_filter_says(store_kind: str) -> None:
    """In a listing and in a search, on every store, for every value and every name of a field."""
    clock = FakeClock()
    with a_store() as place:
        store = open_store(str(place), Settings())

        @settings(max_examples=examples(30 if store_kind == "sqlite" else 20))
        @given(EXAMPLES)
        def check(example: Any) -> None:
            metadata, filters, days = example
            since, until = (None, None) if days is None else (clock() - timedelta(days=day) for day in days)
            # What some memory has is a filter that lets it through.
            filters = [*filters, *(fields for fields in metadata[:2] if valid(fields))]
            written = [stored(fields, number, clock) for number, fields in enumerate(metadata)]
            space = insert_all(store, Scope(session=written[0].id), written, clock())
            for where in filters:
                condition = parsed_where(where)
                expected = [
                    memory
                    for memory in written
                    if holds(condition, memory.metadata)
                    and (since is None or since <= memory.created_at)
                    and (until is None or memory.created_at < until)
                ]
                active_ones = Search(spaces=(space,), now=clock(), where=condition, since=since, until=until)
                every = replace(active_ones, retentions=EVERY_RETENTION)
                listed = [record.memory.id for record in store.find(every)]
                assert listed == [memory.id for memory in reversed(expected)], where

                active = {memory.id for memory in expected if memory.retention is Retention.ACTIVE}
                for search, ids in ((active_ones, active), (every, {memory.id for memory in expected})):
                    hits = store.search_text(search, ["word"], 100).scores
                    assert {record.memory.id for record in store.records(list(hits)).values()} == ids, where

        try:
            check()
        finally:
            store.close()


@pytest.mark.sqlite
def test_filters_follow_the_values_of_json() -> None:
    """Missing equals null, a boolean is no number, and types that differ do not compare."""
    metadata: dict[str, Any] = {"votes": 3, "done": False, "author": {"name": "Ada", "born": 1815}, "at": [1, {"b": 2}]}
    matching: list[dict[str, Any]] = [
        {},
        {"votes": 3.0, "done": False},
        {"votes": {"$gte": 3, "$lt": 4}},
        {"author": {"name": "Ada"}},
        {"author": {"born": {"$in": [1815, "x"]}}},
        {"at": [1, {"b": {"$gt": 1}}]},
        {"gone": None},
        {"gone": {"$ne": 1}},
        {"gone": {"$exists": False}},
        {"author": {"$eq": {"born": 1815, "name": "Ada"}}},
    ]
    differing: list[dict[str, Any]] = [
        {"done": 0},
        {"votes": "3"},
        {"votes": {"$gt": "2"}},
        {"author": {"$eq": {"name": "Ada"}}},
        {"author": "Ada"},
        {"at": [1]},
        {"votes": {"$exists": True, "$nin": [3]}},
        {"votes": {"name": None}},
    ]
    assert [where for where in matching if not holds(parsed_where(where), metadata)] == []
    assert [where for where in differing if holds(parsed_where(where), metadata)] == []


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("status=open", "a mapping"),
        ({"a": {"$regex": "x"}}, r"unknown operator '\$regex'.*\$eq"),
        ({"a": {"$gt": 1, "b": 2}}, "unknown operator 'b'"),
        ({"a": {"$gt": None}}, "a number or a text"),
        ({"a": {"$gt": True}}, "a number or a text"),
        ({"a": {"$in": "x"}}, "a list of values"),
        ({"a": {"$exists": 1}}, "true or false"),
        ({"a": 2**63}, "64 bits"),
        ({"a": -(2**63) - 1}, "64 bits"),
        ({"a": float("nan")}, "finite"),
        ({"a": "x\x00"}, "without NUL"),
        ({"a\ud800": 1}, "Unicode"),
        ({"a": "\udfff"}, "Unicode"),
        ({5: 1}, "named by a text"),
        ({"a": object()}, "JSON values"),
        ({str(number): number for number in range(101)}, "101 conditions"),
        ({"a": {"$in": list(range(1001))}}, "at most 1000"),
    ],
)
def test_a_filter_that_cannot_be_read_says_why(where: Any, says: str) -> None:
    """Before anything is read."""
    with pytest.raises(InvalidInput, match=says):
        parsed_where(where)


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("where", "metadata", "found"),
    [
        ({"a": 2**63 - 1}, {"a": 2**63 - 1}, True),
        ({"a": -(2**63)}, {"a": -(2**63)}, True),
        ({"a": "\ud7ff\ue000"}, {"a": "\ud7ff\ue000"}, True),
        ({"a": None}, {}, True),
        ({"a": {"b": None}}, {"a": {"c": 1}}, True),
        ({"a": {"$eq": {"b": None}}}, {"a": {"c": 1}}, False),
        ({"a": {"$eq": {"b": None}}}, {"a": {"b": None}}, True),
        ({"a": {"$exists": True}}, {"a": None}, True),
        ({"a": {"$ne": 1}}, {}, True),
        ({"a": {"b": 1}}, {"a": 1}, False),
    ],
)
def test_a_filter_finds_the_largest_numbers_and_tells_null_from_missing(
    where: dict[str, Any], metadata: dict[str, Any], found: bool
) -> None:
    """Null equals what is missing, except in an object that is compared as a whole."""
    assert holds(parsed_where(where), metadata) is found


@pytest.mark.sqlite
def test_a_deep_filter_is_refused() -> None:
    """As deep metadata is."""
    where: Any = 1
    for _ in range(40):
        where = {"a": where}
    with pytest.raises(InvalidInput, match="32 levels"):
        parsed_where(where)
