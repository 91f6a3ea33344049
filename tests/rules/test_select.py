"""A selection means the same in Python and in the statement that each store makes of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memotherm import Memory, Priority, Retention, Scope, Select, Settings, Tier
from memotherm.storage.open import open_store
from memotherm.testing import FakeClock
from memotherm.text.content import digest
from tests.stores import a_store, insert_all

DAYS = st.integers(0, 6).map(lambda days: timedelta(days=days))
KINDS = ("fact", "decision", "preference")
TAGS = ("task", "blocker", "ünïcode")
VALUES: tuple[Any, ...] = ("open", "done", 'naïve "quoted"', 3, 2.5, True, False)


def subset(values: Any) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(st.sampled_from(list(values)), unique=True).map(tuple)


MEMORIES = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(KINDS),
        "tags": subset(TAGS),
        "tier": st.sampled_from(Tier),
        "priority": st.sampled_from(Priority),
        "retention": st.sampled_from([Retention.ACTIVE, Retention.ACTIVE, Retention.ARCHIVED, Retention.DELETED]),
        "metadata": st.dictionaries(st.sampled_from(("status", "näme")), st.sampled_from(VALUES), max_size=2),
        "created": DAYS,
        "updated": DAYS,
        "moved": DAYS,
        "retained": DAYS,
        "used": st.none() | DAYS,
        "expires": st.none() | st.integers(-2, 2),
    }
)
CONDITIONS: dict[str, st.SearchStrategy[Any]] = {
    "tiers": subset(Tier).filter(bool),
    "kinds": subset(KINDS).filter(bool),
    "tags": subset(TAGS).filter(bool),
    "priorities": subset(Priority).filter(bool),
    "unused_for": DAYS,
    "older_than": DAYS,
    "unchanged_for": DAYS,
    "in_tier_for": DAYS,
    "in_retention_for": DAYS,
    "used_in_tier": st.booleans(),
    "used_within": DAYS,
    "metadata": st.dictionaries(st.sampled_from(("status", "näme")), subset(VALUES).filter(bool), max_size=2),
}
PARTS = st.fixed_dictionaries({}, optional=CONDITIONS).map(lambda fields: Select(**fields))
SELECTS = st.fixed_dictionaries(
    {},
    optional={
        **CONDITIONS,
        "retentions": subset([Retention.ACTIVE, Retention.ARCHIVED, Retention.DELETED]).filter(bool),
        "expired": st.sampled_from([None, True, False]),
        "either": st.lists(PARTS, max_size=3).map(tuple),
    },
).map(lambda fields: Select(**fields))


def stored(number: int, fields: dict[str, Any], clock: FakeClock) -> Memory:
    now = clock()
    content = f"memory {number}"
    return Memory(
        id=f"mem_{number:03d}",
        content=content,
        digest=digest(content),
        kind=fields["kind"],
        tags=fields["tags"],
        tier=fields["tier"],
        priority=fields["priority"],
        retention=fields["retention"],
        metadata=fields["metadata"],
        created_at=now - fields["created"],
        updated_at=now - fields["updated"],
        tier_since=now - fields["moved"],
        retention_since=now - fields["retained"],
        accessed_at=None if fields["used"] is None else now - fields["used"],
        expires_at=None if fields["expires"] is None else now + timedelta(days=fields["expires"]),
    )


@given(st.lists(MEMORIES, min_size=1, max_size=8), st.lists(SELECTS, min_size=1, max_size=4))
def test_a_store_selects_what_the_selection_says(memories: list[dict[str, Any]], selects: list[Select]) -> None:
    """On every store, for every combination of conditions."""
    clock = FakeClock()
    with a_store() as place:
        store = open_store(str(place), Settings())
        try:
            written = [stored(number, fields, clock) for number, fields in enumerate(memories)]
            space = insert_all(store, Scope(), written, clock())
            for select in selects:
                found = store.select((space,), select.resolved(Settings()), clock(), 0, 100)

                expected = [memory.id for memory in written if select.matches(memory, clock())]
                assert [record.memory.id for record in found] == expected
        finally:
            store.close()


def test_pages_begin_behind_a_number() -> None:
    """Nothing is skipped and nothing comes twice."""
    clock = FakeClock()
    fields = {"kind": "fact", "tags": (), "tier": Tier.WARM, "priority": Priority.NORMAL}
    times = dict.fromkeys(("created", "updated", "moved", "retained"), timedelta(0))
    whole: dict[str, Any] = {
        **fields,
        **times,
        "retention": Retention.ACTIVE,
        "metadata": {},
        "used": None,
        "expires": None,
    }
    with a_store() as place:
        store = open_store(str(place), Settings())
        space = insert_all(store, Scope(), [stored(number, whole, clock) for number in range(5)], clock())
        first = store.select((space,), Select(), clock(), 0, 2)
        rest = store.select((space,), Select(), clock(), first[-1].no, 10)
        store.close()

    assert [record.memory.id for record in [*first, *rest]] == [f"mem_{number:03d}" for number in range(5)]
    assert replace(Select(), kinds=("fact",)).matches(first[0].memory, clock())


def test_a_setting_names_a_duration() -> None:
    """So that a rule follows what the user has set."""
    select = Select(unused_for="cool_hot_days", older_than="2w").resolved(Settings(cool_hot_days=3))

    assert (select.unused_for, select.older_than) == (timedelta(days=3), timedelta(weeks=2))
