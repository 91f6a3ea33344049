"""Filters: times, metadata and retention in listings and recalls, applied inside the store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from memotherm import Memotherm, Retention
from memotherm.errors import Forbidden, InvalidInput, StaleWrite
from memotherm.testing import FakeClock


def contents(found: Any) -> set[str]:
    return {getattr(item, "memory", item).content for item in found}


def test_a_listing_and_a_recall_take_the_same_filters(
    open_mem: Callable[..., Memotherm], clock: FakeClock, tmp_path: Any
) -> None:
    """Both answer with what matches the metadata and lies between the times."""
    mem = open_mem(tmp_path / "memory.db")
    mem.remember("deploy the web shop", metadata={"status": "open", "votes": 5, "author": {"name": "Ada"}})
    clock.advance(timedelta(days=2))
    mem.remember("deploy the database", metadata={"status": "done", "votes": 1})
    mem.remember("deploy on Fridays", metadata={"votes": "many"})
    shop, database, fridays = "deploy the web shop", "deploy the database", "deploy on Fridays"
    expected: list[tuple[dict[str, Any], set[str]]] = [
        ({"where": {"status": "open"}}, {shop}),
        ({"where": {"status": {"$ne": "open"}}}, {database, fridays}),
        ({"where": {"votes": {"$gte": 1}}}, {shop, database}),
        ({"where": {"author": {"name": "Ada"}}}, {shop}),
        ({"where": {"status": {"$in": ["open", "done"]}, "votes": {"$lt": 3}}}, {database}),
        ({"since": "1d"}, {database, fridays}),
        ({"until": clock() - timedelta(days=1)}, {shop}),
        ({"since": "3d", "until": clock().isoformat(), "where": {}}, {shop}),
        ({"where": {"status": "' OR 1=1 --"}}, set()),
    ]
    for filters, matching in expected:
        assert contents(mem.find(**filters)) == matching, filters
        assert contents(mem.recall("deploy", **filters)) == matching, filters
    assert contents(mem.recall("deploy", where={"status": "open"}, as_of=clock())) == {shop}


def test_a_filter_finds_what_a_pool_of_candidates_would_not_reach(
    open_mem: Callable[..., Memotherm], tmp_path: Any
) -> None:
    """The filter is part of the search, so better matches that it excludes do not crowd out the only one."""
    mem = open_mem(tmp_path / "memory.db", settings={"pool_size": 50})
    mem.remember_many(
        {"content": f"tea tea tea number{number}", "metadata": {"n": number, "team": "blue"}} for number in range(120)
    )
    mem.remember("a single cup of tea among many other words that nobody asks for", metadata={"team": "red"})

    for tiers in ("hot", "warm"), ("hot", "warm", "cold"):
        hits = mem.recall("tea", limit=5, tiers=tiers, where={"team": "red"})
        assert [hit.memory.metadata["team"] for hit in hits] == ["red"]
    assert mem.recall("tea", limit=5, where={"n": {"$gt": 117}, "team": "blue"}).hits


def test_any_retention_lists_all_that_is_not_purged(mem: Memotherm) -> None:
    """With the same filters and pages as the others."""
    kept, archived, deleted, purged = (mem.remember(f"memory {number}", metadata={"n": number}) for number in range(4))
    mem.archive(archived.id)
    mem.forget(deleted.id)
    mem.purge(purged.id)

    assert [memory.id for memory in mem.find(retention="any")] == [deleted.id, archived.id, kept.id]
    assert [memory.id for memory in mem.find(retention="any", where={"n": {"$gte": 1}})] == [deleted.id, archived.id]
    first = mem.find(retention="any", limit=2)
    assert [memory.id for memory in mem.find(retention="any", limit=2, cursor=first.cursor)] == [kept.id]


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("filters", "says"),
    [
        ({"since": "yesterday"}, "since cannot be 'yesterday'.*7d"),
        ({"until": 5}, "until must be a datetime"),
        ({"since": FakeClock()().replace(tzinfo=None)}, "since must have a time zone"),
        ({"since": "99999999w"}, "out of range"),
        ({"where": ["status"]}, "where must be a mapping"),
        ({"retention": "gone"}, "unknown retention"),
    ],
)
def test_a_wrong_filter_says_what_to_write(mem: Memotherm, filters: dict[str, Any], says: str) -> None:
    """The same in a listing and in a recall."""
    with pytest.raises(InvalidInput, match=says):
        mem.find(**filters)
    if "retention" not in filters:
        with pytest.raises(InvalidInput, match=says):
            mem.recall("anything", **filters)


def test_many_memories_are_forgotten_and_brought_back_by_a_filter(mem: Memotherm) -> None:
    """All or none, within the scope, and only what the filter names."""
    mem.remember_many({"content": f"ticket {number}", "metadata": {"sprint": number % 2}} for number in range(6))
    other = mem.scoped(project="other").remember("ticket of another project", metadata={"sprint": 1})

    assert len(mem.bulk.forget(where={"sprint": 1}, dry_run=True)) == 3
    with pytest.raises(StaleWrite, match="3 memories match the filters, not 5"):
        mem.bulk.forget(where={"sprint": 1}, count=5)
    assert len(mem.find()) == 6

    gone = mem.bulk.forget("the sprint is over", where={"sprint": 1}, count=3)
    assert {memory.retention for memory in gone} == {Retention.DELETED}
    assert [event.why for event in mem.history(gone[0].id)][-1] == "the sprint is over"
    assert [memory.metadata for memory in mem.find()] == [{"sprint": 0}] * 3
    assert mem.scoped(project="other").get(other.id).retention is Retention.ACTIVE

    assert len(mem.bulk.restore(where={"sprint": 1})) == 3
    assert len(mem.find()) == 6


def test_many_memories_are_erased_by_a_filter(mem: Memotherm) -> None:
    """Deleted ones included; only their events remain."""
    secret, kept = mem.remember("a secret", metadata={"case": 7}), mem.remember("no secret")
    mem.forget(mem.remember("an older secret", metadata={"case": 7}).id)

    assert len(mem.bulk.purge(where={"case": 7})) == 2
    assert [memory.id for memory in mem.find(retention="any")] == [kept.id]
    assert mem.history(secret.id)[-1].action == "purge"


def test_memories_of_several_scopes_are_changed_together(mem: Memotherm) -> None:
    """At and below the scope, all or none, those of each tenant; what is above or beside it is left."""
    shop = mem.scoped(project="shop")
    above = mem.remember("Ana is above", tags=["ana"])
    beside = mem.scoped(project="mill").remember("Ana is beside", tags=["ana"])
    own = shop.remember("Ana owns the shop", tags=["ana"])
    inner = shop.scoped(user="ben").by("person").remember("Ben likes Ana", tags=["ana"])
    with pytest.raises(Forbidden, match=inner.id):
        shop.bulk.purge(tags=["ana"], count=2, include_narrower=True)
    assert shop.get(own.id).content == "Ana owns the shop"

    person = mem.by("person")
    assert len(person.scoped(project="shop").bulk.forget(tags=["ana"], include_narrower=True)) == 2
    assert contents(mem.find(include_narrower=True)) == {above.content, beside.content}
    assert len(person.bulk.restore(ids=[own.id, inner.id], include_narrower=True)) == 2
    tenant = mem.scoped(tenant="acme").scoped(project="shop").remember("Ana is a customer", tags=["ana"])
    assert len(person.bulk.purge(tags=["ana"], count=5, include_narrower=True)) == 5
    assert contents(mem.find(retention="any", include_narrower=True)) == set()
    assert mem.scoped(tenant="acme", project="shop").history(tenant.id)[-1].action == "purge"


def test_proposals_of_several_scopes_are_decided_together(mem: Memotherm) -> None:
    """By a person, in one call."""
    ids = [mem.scoped(project=name).remember("Ana owns it", source="extracted").id for name in ("shop", "mill")]
    with pytest.raises(Forbidden):
        mem.bulk.approve(ids=ids, include_narrower=True)
    assert len(mem.by("person").bulk.approve(ids=ids[:1], include_narrower=True)) == 1
    assert len(mem.bulk.reject(contains="Ana", include_narrower=True)) == 1
    assert mem.scoped(project="shop").get(ids[0]).retention is Retention.ACTIVE


def test_nothing_is_changed_without_a_filter(mem: Memotherm) -> None:
    """So that a forgotten argument does not empty a store."""
    mem.remember("a fact")
    for change in (mem.bulk.forget, mem.bulk.purge, mem.bulk.restore):
        with pytest.raises(InvalidInput, match="no filter is given"):
            change(retention="any")
    with pytest.raises(InvalidInput, match="unknown filter 'wher'"):
        mem.bulk.forget(wher={"a": 1})  # type: ignore[call-arg]
    assert len(mem.find()) == 1


def test_archived_and_deleted_memories_are_searched_on_request(mem: Memotherm, clock: FakeClock) -> None:
    """With their retention, in their scope only, and without counting a use; purged ones are gone."""
    active = mem.remember("The harbour opens at six")
    archived = mem.remember("The harbour opened at seven", key="hours")
    deleted = mem.scoped(user="ana").remember("The harbour of Ana opens at five")
    purged = mem.remember("The harbour opens never")
    mem.archive(archived.id)
    mem.scoped(user="ana").forget(deleted.id)
    mem.purge(purged.id)

    def found(view: Memotherm, retention: str) -> set[tuple[str, str]]:
        return {(hit.memory.id, str(hit.memory.retention)) for hit in view.recall("harbour opens", retention=retention)}

    assert found(mem, "active") == {(active.id, "active")}
    assert found(mem, "archived") == {(archived.id, "archived")}
    assert found(mem, "deleted") == set()
    assert found(mem.scoped(user="ana"), "any") == {
        (active.id, "active"), (archived.id, "archived"), (deleted.id, "deleted"),
    }  # fmt: skip
    assert mem.get(archived.id).access_count == 0
    with pytest.raises(InvalidInput, match="purged"):
        mem.recall("harbour", retention="purged")


def test_hidden_memories_are_ranked_with_active_ones_and_filtered_in_the_store(
    open_mem: Callable[..., Memotherm], clock: FakeClock, tmp_path: Any
) -> None:
    """The order is that of the time when all were active; filters, tiers and scopes select hidden memories too."""
    mem = open_mem(tmp_path / "memory.db")
    shown = mem.remember("the ferry leaves the harbour at noon", metadata={"n": 1})
    mem.remember("the ferry of the harbour is late", tier="warm", ttl="1h", metadata={"n": 2})
    archived = mem.remember("the ferry leaves the harbour at noon on Sundays", key="ferry/1", metadata={"n": 3})
    deleted = mem.remember("a ferry ticket costs four crowns", kind="decision", metadata={"n": 4})
    cold = mem.remember("the ferry leaves the harbour in winter", tier="cold", metadata={"n": 5})
    below = mem.scoped(user="ana").remember("Ana takes the ferry from the harbour", metadata={"n": 6})
    mem.remember_many({"content": f"the ferry number {number} leaves", "metadata": {"n": 0}} for number in range(40))

    def found(retention: str = "any", **filters: Any) -> list[int]:
        asked = "when does the ferry leave the harbour at noon"
        hits = mem.recall(asked, 100, retention=retention, min_score=0.0, track=False, **filters)
        return [number for hit in hits if (number := hit.memory.metadata["n"])]

    before = found("active")
    mem.archive(archived.id)
    for memory in (deleted, cold):
        mem.forget(memory.id)
    mem.scoped(user="ana").forget(below.id)
    clock.advance(hours=2)

    assert sorted(before) == [1, 2, 3, 4]
    assert found() == before
    assert found("active") == [1]
    assert found("deleted") == [4]
    assert found("any", tiers=("cold",)) == found("deleted", where={"n": 5}, tiers=("warm", "cold")) == [5]
    assert found(prefix="ferry/") == found("archived") == [3]
    assert found(kinds=["decision", "task"]) == [4]
    assert sorted(found("deleted", include_narrower=True)) == [4, 6]
    assert sorted(found(where={"n": {"$in": [2, 4]}})) == [2, 4]
    assert mem.recall("ferry", retention="any", where={"n": 1})[0].memory == mem.get(shown.id)


def test_a_prefix_selects_memories_by_their_keys(open_mem: Callable[..., Memotherm], tmp_path: Any) -> None:
    """Listings, recalls and changes of many take the beginning of a key, in which no character is a wildcard."""
    mem = open_mem(tmp_path / "memory.db")
    for key in ("notes/a", "notes/b", "notes_/c", "other"):
        mem.remember(f"tea {key}", key=key)
    mem.remember("tea without a key")

    assert (
        contents(mem.find(prefix="notes/"))
        == contents(mem.recall("tea", prefix="notes/"))
        == {
            "tea notes/a",
            "tea notes/b",
        }
    )
    assert contents(mem.recall("tea", prefix="n%")) == contents(mem.find(prefix="notes/c")) == set()
    assert len(mem.find(prefix="")) == 5
    assert len(mem.bulk.forget(prefix="notes/")) == 2
    assert mem.inspect.keys() == ["notes_/c", "other"]
