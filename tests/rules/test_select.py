"""A store selects what the conditions of a rule say."""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memotherm import Memory, Priority, Retention, Scope, Select, Settings, Situation, Tier, Trust
from memotherm.errors import InvalidInput
from memotherm.storage.open import open_store
from memotherm.storage.store import Store
from memotherm.testing import FakeClock
from memotherm.text.content import digest
from memotherm.tiers.rules.conditions import Condition, FieldType
from memotherm.tiers.rules.properties import CLOSED, OPEN, heat, recent_uses
from tests.stores import a_store, insert_all

DAYS = st.integers(0, 6).map(lambda days: timedelta(days=days))
KINDS = ("fact", "decision", "preference")
TAGS = ("task", "blocker", "ünïcode")
SOURCES = ("agent", "file:notes/a.md", "o'hara")
SESSIONS = (None, "s1", "s2")
VALUES: tuple[Any, ...] = ("open", " Done\u2003", 'naïve "quoted"', 3, 2.5, True, False)


def subset(values: Any) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(st.sampled_from(list(values)), unique=True).map(tuple)


def some(values: Any) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(list(values)), unique=True, min_size=1)


MEMORIES = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(KINDS),
        "tags": subset(TAGS),
        "tier": st.sampled_from(Tier),
        "priority": st.sampled_from(Priority),
        "retention": st.sampled_from([Retention.ACTIVE, Retention.ACTIVE, Retention.ARCHIVED, Retention.DELETED]),
        "trust": st.sampled_from(Trust),
        "source": st.sampled_from(SOURCES),
        "session": st.sampled_from(SESSIONS),
        "metadata": st.dictionaries(
            st.sampled_from(("status", "state", "näme")), st.none() | st.sampled_from(VALUES), max_size=2
        ),
        "tokens": st.integers(0, 5),
        "uses": st.integers(0, 5),
        "created": DAYS,
        "updated": DAYS,
        "moved": DAYS,
        "retained": DAYS,
        "used": st.none() | DAYS,
        "expires": st.none() | st.integers(-2, 2),
    }
)
COMPARISON = st.sampled_from(("<", "<=", ">", ">=", "==", "!="))
DURATION = st.tuples(COMPARISON, st.integers(0, 6)).map(lambda pair: f"{pair[0]} {pair[1]}d")
NUMBER = st.tuples(COMPARISON, st.sampled_from((0, 1, 2.5, 4))).map(lambda pair: f"{pair[0]} {pair[1]}")
DURATIONS = ("age", "idle", "used", "unchanged", "untouched", "in_tier", "in_retention", "expires_in")
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "tier": some(map(str, Tier)),
    "kind": some(KINDS),
    "tags": some(TAGS),
    "tags.all": some(TAGS),
    "priority": some(map(str, Priority)),
    "trust": some(map(str, Trust)),
    "source": some(SOURCES),
    "status": some(("open", "done", "none")),
    "session": some(("open", "ended", "none")),
    "tier_rule": some(("default", "explicit")),
    "scope.session": some(("s1", "s2")),
    "scope.user": some(("ann",)),
    "metadata.näme": some(VALUES),
    "metadata.status": NUMBER,
    "setting.tiering": st.booleans(),
    "setting.cool_hot_days": NUMBER,
    **{name: st.booleans() for name in ("blocker", "blocker_waits", "note", "moved", "used_in_tier")},
    **dict.fromkeys(DURATIONS, DURATION),
    **dict.fromkeys(("tokens", "uses", "use_weight", "recent_uses", "relevance", "query_relevance"), NUMBER),
    "heat": st.sampled_from(("< 1", ">= 0.5", "> 2")),
}
#: A few conditions at a time, so that something is left to select.
TABLES = st.lists(st.sampled_from(list(FIELDS)), unique=True, max_size=3).flatmap(
    lambda names: st.fixed_dictionaries({name: FIELDS[name] for name in names})
)
SELECTS = st.fixed_dictionaries(
    {},
    optional={
        "tiers": subset(Tier).filter(bool),
        "retentions": subset([Retention.ACTIVE, Retention.ARCHIVED, Retention.DELETED]).filter(bool),
        "expired": st.sampled_from([None, True, False]),
        "when": st.lists(TABLES, min_size=1, max_size=3),
        "unless": st.lists(TABLES, max_size=2),
        "ids": st.none() | subset([f"mem_{number:03d}" for number in range(4)]),
    },
).map(lambda fields: Select(**fields))


def stored(number: int, fields: dict[str, Any], clock: FakeClock) -> Memory:
    now = clock()
    content = f"memory {number}"
    return Memory(
        id=f"mem_{number:03d}",
        content=content,
        digest=digest(content),
        scope=Scope(session=fields["session"]),
        **{name: fields[name] for name in ("kind", "tags", "tier", "priority", "retention", "trust", "source")},
        metadata=fields["metadata"],
        tokens=fields["tokens"],
        access_count=fields["uses"],
        use_weight=fields["uses"],
        recent_uses=fields["uses"],
        relevance=fields["uses"] / 5,
        created_at=now - fields["created"],
        updated_at=now - fields["updated"],
        tier_since=now - fields["moved"],
        retention_since=now - fields["retained"],
        accessed_at=None if fields["used"] is None else now - fields["used"],
        expires_at=None if fields["expires"] is None else now + timedelta(days=fields["expires"]),
    )


# What the conditions mean, once more

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


def value_of(name: str, memory: Memory, situation: Situation) -> Any:
    """Return the value of a field, None if a memory has none."""
    first, _, rest = name.partition(".")
    now = situation.now
    state = next((memory.metadata[key] for key in ("status", "state") if memory.metadata.get(key) is not None), "")
    state = str(state).strip().lower()
    session = memory.scope.session
    values: dict[str, Callable[[], Any]] = {
        "metadata": lambda: memory.metadata.get(rest),
        "scope": lambda: getattr(memory.scope, rest),
        "setting": lambda: getattr(situation.settings, rest),
        "trust": lambda: tuple(Trust)[: memory.trust.rank + 1],
        "status": lambda: "done" if state in CLOSED else "open" if state in OPEN else "none",
        "session": lambda: "none" if session is None else "open" if session in situation.open_sessions else "ended",
        "blocker": lambda: "blocker" in memory.tags and state not in CLOSED,
        "blocker_waits": lambda: situation.blocker_waits,
        "note": lambda: memory.source.startswith("file:"),
        "moved": lambda: memory.tier_since > memory.created_at,
        "used_in_tier": lambda: memory.accessed_at is not None and memory.accessed_at > memory.tier_since,
        "age": lambda: now - memory.created_at,
        "idle": lambda: now - memory.last_accessed_at,
        "used": lambda: memory.accessed_at and now - memory.accessed_at,
        "unchanged": lambda: now - memory.updated_at,
        "untouched": lambda: now - max(memory.updated_at, memory.last_accessed_at),
        "in_tier": lambda: now - memory.tier_since,
        "in_retention": lambda: now - memory.retention_since,
        "expires_in": lambda: memory.expires_at and memory.expires_at - now,
        "uses": lambda: memory.access_count,
        "recent_uses": lambda: recent_uses(memory, now) + 1 if situation.recalled else memory.recent_uses,
        "heat": lambda: heat(memory, now),
        "query_relevance": lambda: situation.recalled.get(memory.id, 0.0),
    }
    return values[first]() if first in values else getattr(memory, first)


def holds(condition: Condition, memory: Memory, situation: Situation) -> bool:
    found = value_of(condition.field.name, memory, situation)
    if found is None:
        return False
    if condition.field.type is FieldType.TAGS:
        return set(condition.values) <= set(found) if condition.all else bool(set(condition.values) & set(found))
    if not condition.comparisons:
        return any(found == value and isinstance(found, bool) is isinstance(value, bool) for value in condition.values)
    if isinstance(found, bool) or not isinstance(found, int | float | timedelta):
        return False
    return all(_COMPARE[compare](found, bound) for compare, bound in condition.bounds(situation.settings))


def selected(select: Select, memory: Memory, situation: Situation) -> bool:
    when, unless = (
        any(all(holds(condition, memory, situation) for condition in table) for table in tables)
        for tables in select.tables
    )
    return (
        when
        and not unless
        and memory.tier in select.tiers
        and memory.retention in select.retentions
        and (select.expired is None or memory.expired_at(situation.now) is select.expired)
        and (select.ids is None or memory.id in select.ids)
    )


SITUATIONS = st.fixed_dictionaries(
    {
        "open_sessions": subset(("s1", "s2")).map(frozenset),
        "blocker_waits": st.booleans(),
        "recalled": st.sampled_from(({}, {"mem_000": 0.5, "mem_001": 4.0, "mem_002": 0.0})),
    }
)


@pytest.mark.slow
@given(
    st.lists(MEMORIES, min_size=1, max_size=8),
    st.lists(SELECTS, min_size=1, max_size=4),
    st.fixed_dictionaries(FIELDS),
    SITUATIONS,
)
def test_a_store_selects_what_the_conditions_say(
    memories: list[dict[str, Any]], selects: list[Select], fields: dict[str, Any], known: dict[str, Any]
) -> None:
    """On every store, for every condition alone and for every combination of them."""
    clock = FakeClock()
    situation = Situation(now=clock(), settings=Settings(), **known)
    with a_store() as place:
        store = open_store(str(place), Settings())
        try:
            written = [stored(number, memory, clock) for number, memory in enumerate(memories)]
            spaces = {insert_all(store, memory.scope, [memory], clock()) for memory in written}
            alone = [Select(when={name: value}) for name, value in fields.items()]
            for select in [*selects, *alone]:
                found = store.select(tuple(spaces), select, situation)

                expected = [memory.id for memory in written if selected(select, memory, situation)]
                assert [record.memory.id for record in found] == expected
        finally:
            store.close()


def test_a_selection_inside_a_transaction_sees_its_changes() -> None:
    """Which nobody else sees yet."""
    clock = FakeClock()
    with a_store() as place:
        store = open_store(str(place), Settings())
        memory = Memory(id="mem_a", content="a", digest=digest("a"), **_now(clock))
        space = insert_all(store, Scope(), [memory], clock())
        assert _kinds(store, space, clock, "fact") == ["mem_a"]
        assert _kinds(store, space, clock, "task") == []
        store.close()


def _now(clock: FakeClock) -> dict[str, Any]:
    return dict.fromkeys(("created_at", "updated_at", "tier_since", "retention_since"), clock())


def _kinds(store: Store, space: int, clock: FakeClock, kind: str) -> list[str]:
    situation = Situation(now=clock(), settings=Settings())
    return store.transact(
        lambda transaction: [
            record.memory.id for record in transaction.select((space,), Select(when={"kind": kind}), situation)
        ]
    )


def test_pages_begin_behind_a_number() -> None:
    """Nothing is skipped and nothing comes twice."""
    clock = FakeClock()
    situation = Situation(now=clock(), settings=Settings())
    memories = [
        Memory(id=f"mem_{number:03d}", content=f"{number}", digest=digest(f"{number}"), **_now(clock))
        for number in range(5)
    ]
    with a_store() as place:
        store = open_store(str(place), Settings())
        space = insert_all(store, Scope(), memories, clock())
        first = store.select((space,), Select(), situation, 0, 2)
        rest = store.select((space,), Select(), situation, first[-1].no, 10)
        store.close()

    assert [record.memory.id for record in [*first, *rest]] == [memory.id for memory in memories]


def test_a_setting_names_a_duration() -> None:
    """So that a rule follows what the user has set."""
    ((condition,),), _ = Select(when={"idle": ">= cool_hot_days"}).tables

    assert list(condition.bounds(Settings(cool_hot_days=3))) == [(">=", timedelta(days=3))]


def test_a_selection_takes_one_value_for_several() -> None:
    """Of its own fields and of its conditions."""
    select = Select(tiers="hot", order="id", when={"kind": "fact", "metadata": {"votes": 3}})  # type: ignore[arg-type]

    assert (select.tiers, select.order) == ((Tier.HOT,), ("id",))
    assert select == Select(tiers=("hot",), order=("id",), when=[{"kind": ["fact"], "metadata.votes": [3]}])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "fields",
    [
        {"during": "sometimes"},
        {"tiers": ("tepid",)},
        {"order": ("weight",)},
        {"when": {"priority": "urgent"}},
        {"when": {"kinds": "fact"}},
        {"when": {"age": ">= three fortnights"}},
        {"unless": [{"kind": "fact"}, {"tokens": "> nan"}]},
        {"when": {"metadata.votes": 1 << 70}},
        {"when": "kind"},
    ],
)
def test_a_selection_refuses_what_does_not_exist(fields: dict[str, object]) -> None:
    """With the words that do."""
    with pytest.raises(InvalidInput, match=r"one of|use|did you mean|write|neither|unit|Unicode|such as|out of range"):
        Select(**fields)  # type: ignore[arg-type]
