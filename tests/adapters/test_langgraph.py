"""The LangGraph store: the answers of LangGraph's own store, and what ours adds."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import GetOp, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from memotherm import Memotherm, NotFound, Scope, StoreError
from memotherm.adapters.langgraph import MemothermStore
from memotherm.testing import FakeClock

WORDS = ["tea", "cup", "ship", "plan", "note", "rain", "port", "seat", "road", "lamp"]


def letters(texts: list[str]) -> list[list[float]]:
    """Embed texts by the letters that they have."""
    return [[text.count(chr(ord("a") + letter)) + 0.1 for letter in range(26)] for text in texts]


async def letters_later(texts: list[str]) -> list[list[float]]:
    return letters(texts)


INDEX: Any = {"dims": 26, "embed": letters, "fields": ["title", "tags[*]"]}


@pytest.fixture
def store(clock: FakeClock) -> Iterator[MemothermStore]:
    with MemothermStore(":memory:", settings={"embedder": "none"}, clock=clock) as opened:
        yield opened


def test_random_operations_have_the_answers_of_langgraphs_own_store() -> None:
    """Puts, deletions, gets, filtered searches and listings agree, scores within 1e-3."""
    chance = random.Random(5)
    theirs = InMemoryStore(index=INDEX)
    with MemothermStore(":memory:", index=INDEX, rank="cosine") as ours:
        for step in range(120):
            namespace = tuple(chance.choices(("a", "b", "c/d", "e%"), k=chance.randint(1, 3)))
            key = f"key {chance.randint(0, 8)}"
            value = {"title": f"{chance.choice(WORDS)} {step}", "tags": chance.sample(WORDS, 2), "n": step % 7}
            put = PutOp(namespace, key, None if chance.random() < 0.2 else value, False if key == "key 8" else None)
            for store in (ours, theirs):
                store.batch([put])
        for limit, query in [(10, "tea cup"), (3, "rain"), (70, "road lamp"), (5, None)]:
            for prefix in (), ("a",), ("c/d",), ("c",):
                for conditions in None, {"n": {"$gte": 3}}, {"n": 2}, {"tags": ["tea", "cup"]}:
                    mine, other = (
                        store.search(prefix, query=query, filter=conditions, limit=limit) for store in (ours, theirs)
                    )
                    assert len(mine) == len(other)
                    scored = [item for item in other if item.score is not None]
                    assert [item.score for item in mine[: len(scored)]] == pytest.approx(
                        [item.score for item in scored], abs=1e-3
                    )
                    for item in mine:
                        stored = theirs.get(item.namespace, item.key)
                        assert stored is not None
                        assert stored.value == item.value
        holding = {item.namespace for item in theirs.search((), limit=1000)}
        for arguments in {}, {"prefix": ("a", "*")}, {"suffix": ("b",)}, {"prefix": ("c/d",), "suffix": ("*", "a")}:
            # The other store also lists namespaces whose items were deleted.
            listed: list[tuple[str, ...]] = theirs.list_namespaces(**arguments, limit=1000)
            assert ours.list_namespaces(**arguments, limit=1000) == [each for each in listed if each in holding]
        assert ours.list_namespaces(max_depth=1, limit=2) == sorted({each[:1] for each in holding})[:2]


def test_an_item_that_is_put_again_keeps_its_first_time_and_its_history(
    store: MemothermStore, clock: FakeClock
) -> None:
    """Overwriting and deleting are events, which can be undone."""
    store.put(("users", "ada"), "seat", {"text": "window"})
    first = store.get(("users", "ada"), "seat")
    clock.advance(timedelta(hours=1))
    store.put(("users", "ada"), "seat", {"text": "aisle"})
    second = store.get(("users", "ada"), "seat")

    assert first is not None
    assert second is not None
    assert second.created_at == first.created_at
    assert second.updated_at - first.updated_at == timedelta(hours=1)
    memory = store.memory.get(key="langgraph/users/ada//seat")
    store.memory.undo(store.memory.history(memory.id)[-1].seq)
    assert store.get(("users", "ada"), "seat").value == first.value  # type: ignore[union-attr]
    store.delete(("users", "ada"), "seat")
    assert store.get(("users", "ada"), "seat") is None
    store.memory.restore(memory.id)
    assert store.get(("users", "ada"), "seat").value == first.value  # type: ignore[union-attr]


def test_reading_renews_the_time_to_live_unless_it_should_not(clock: FakeClock) -> None:
    """An item expires its minutes after the last read that renews it; its own ttl goes before the default."""
    with MemothermStore(":memory:", ttl={"default_ttl": 10}, settings={"embedder": "none"}, clock=clock) as store:
        for key, ttl in (("renewed", 10.0), ("left", 10.0), ("kept", None)):
            store.put(("cache",), key, {"text": key}, ttl=ttl)
        store.put(("cache",), "default", {"text": "default"})
        clock.advance(timedelta(minutes=6))
        assert store.get(("cache",), "renewed") is not None
        assert store.get(("cache",), "left", refresh_ttl=False) is not None
        assert len(store.search(("cache",), filter={"text": "default"})) == 1
        clock.advance(timedelta(minutes=6))
        assert {item.key for item in store.search(("cache",), refresh_ttl=False)} == {"renewed", "default", "kept"}
        assert store.sweep_ttl() == 1
        clock.advance(timedelta(minutes=6))
        assert [item.key for item in store.search(("cache",))] == ["kept"]


def test_a_batch_that_is_refused_leaves_everything_as_it_was(store: MemothermStore) -> None:
    """Reads of a batch see the state before its writes, and one bad value stops all of them."""
    store.put(("a",), "old", {"text": "old"})
    with pytest.raises(TypeError, match="JSON"):
        store.batch(
            [PutOp(("a",), "new", {"text": "new"}), PutOp(("a",), "bad", {"x": object()}), PutOp(("a",), "old", None)]
        )
    with pytest.raises(ValueError, match="Unsupported operator: \\$near"):
        store.search(("a",), filter={"text": {"$near": 1}})
    assert [item.key for item in store.search(())] == ["old"]

    results = store.batch(
        [PutOp(("a",), "k", {"n": 1}), GetOp(("a",), "k"), SearchOp(("a",)), PutOp(("a",), "k", {"n": 2})]
    )
    assert results[1] is None
    assert [item.key for item in results[2]] == ["old"]  # type: ignore[union-attr]
    assert store.get(("a",), "k").value == {"n": 2}  # type: ignore[union-attr]


def test_a_deletion_that_fails_stores_nothing_of_its_batch(tmp_path: Path) -> None:
    """Values and deletions of a batch are one transaction."""
    path = tmp_path / "items.db"
    with MemothermStore(path, settings={"embedder": "none"}) as store:
        store.put(("a",), "old", {"text": "old"})
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(
                "CREATE TRIGGER refuse BEFORE UPDATE OF retention ON memories BEGIN SELECT RAISE(ABORT, 'refused'); END"
            )
        with pytest.raises(StoreError, match="refused"):
            store.batch([PutOp(("a",), "new", {"text": "new"}), PutOp(("a",), "old", None)])
        assert [item.key for item in store.search(())] == ["old"]


def test_a_value_may_be_longer_than_what_is_indexed(clock: FakeClock) -> None:
    """The whole value comes back, and the beginning of its text is found."""
    settings = {"embedder": "none", "max_content_chars": 100}
    with MemothermStore(":memory:", settings=settings, clock=clock) as store:
        value = {"text": f"tea with milk {'and more ' * 50}"}
        store.put(("files",), "long", value)
        assert [item.value for item in store.search(("files",), query="milk")] == [value]


def test_a_search_by_cosines_stays_inside_its_scope(tmp_path: Path) -> None:
    """The nearest vectors of another user are not found, and those above the scope are."""
    for user in (None, "ada", "bob"):
        with MemothermStore(tmp_path / "m.db", index=INDEX, rank="cosine", scope=Scope(user=user)) as store:
            store.put(("notes",), f"of {user}", {"title": "tea"})
            found = {item.key for item in store.search(("notes",), query="tea", filter={"title": "tea"})}
            assert found == {"of None", f"of {user}"}


def test_words_decide_where_the_order_is_hybrid() -> None:
    """The default order finds a name that the embedder cannot tell from its letters."""
    items = {"one": "part TX-1189 is late", "two": "part TX-9811 is late", "three": "part XT-8911 is late"}
    with MemothermStore(":memory:", index={"dims": 26, "embed": letters, "fields": ["text"]}) as store:
        for key, text in items.items():
            store.put(("parts",), key, {"text": text})
        assert store.search(("parts",), query="where is TX-9811", limit=1)[0].key == "two"
        assert len(store.search(("parts",), query="where is TX-9811")) == 3


def test_coroutines_and_coroutine_embeddings_work() -> None:
    """The asynchronous methods answer as the others do, with a function of coroutines as embeddings."""

    async def run() -> list[str]:
        async with MemothermStore(":memory:", index={"dims": 26, "embed": letters_later}, rank="cosine") as store:
            await asyncio.gather(*(store.aput(("w",), word, {"text": word}) for word in WORDS))
            await store.adelete(("w",), "tea")
            assert await store.alist_namespaces() == [("w",)]
            assert await store.aget(("w",), "tea") is None
            return [item.key for item in await store.asearch(("w",), query='{"text": "rain"}', limit=1)]

    assert asyncio.run(run()) == ["rain"]


def test_an_open_memory_serves_as_store_on_every_kind_of_store(
    open_mem: Callable[..., Memotherm], tmp_path: Path
) -> None:
    """Items live beside other memories, and a scope does not see the items of another."""
    mem = open_mem(tmp_path / "memory.db")
    mem.remember("tea without a key")
    ada, bob = (MemothermStore(mem.scoped(user=user)) for user in ("ada", "bob"))
    ada.put(("drinks",), "k", {"text": "tea with milk", "hot": True})
    bob.put(("drinks",), "k", {"text": "tea with lemon", "hot": False})

    assert [item.value["text"] for item in ada.search(("drinks",), query="tea")] == ["tea with milk"]
    assert ada.search((), filter={"hot": False}) == []
    assert ada.list_namespaces() == [("drinks",)]
    bob.delete(("drinks",), "k")
    assert bob.search(()) == []
    assert len(ada.search(())) == 1
    with pytest.raises(NotFound):
        mem.get(key="langgraph/drinks//k")
    with pytest.raises(ValueError, match="pass its path"):
        MemothermStore(mem, rank="cosine")
