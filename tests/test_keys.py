"""External keys: the caller's own name for a memory, unique in a scope."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

import memotherm
from memotherm import Memotherm
from memotherm.errors import InvalidInput, NotFound, StaleWrite
from memotherm.testing import FakeClock, HashEmbedder
from tests.helpers import contents
from tests.stores import located

Open = Callable[..., Memotherm]


def test_remembering_a_key_again_updates_the_memory_and_keeps_its_history(mem: Memotherm, clock: FakeClock) -> None:
    """The second call replaces the values, and keeps id, first time, pin and every former content."""
    first = mem.remember("Ship on Friday", key="plan", tags=["draft"], metadata={"by": "ann"})
    mem.pin(first.id)
    clock.advance(days=1)
    second = mem.remember("Ship on Monday", key="plan", kind="decision", metadata={"by": "bob"})

    assert (second.id, second.created_at, second.updated_at) == (first.id, first.created_at, clock.now)
    assert (second.content, second.kind, second.tags, second.metadata) == (
        "Ship on Monday",
        "decision",
        (),
        {"by": "bob"},
    )
    assert (second.key, second.priority) == ("plan", "pinned")
    assert mem.get(key="plan") == second
    assert contents(mem.find()) == ["Ship on Monday"]
    assert contents(mem.recall("Monday").pinned) == ["Ship on Monday"]
    changed = mem.history(first.id)[-1]
    assert (changed.rule, changed.changes["content"]) == ("key", ("Ship on Friday", "Ship on Monday"))
    assert mem.undo(changed.seq).content == "Ship on Friday"


def test_a_key_is_unique_in_its_scope_and_the_narrowest_scope_wins(mem: Memotherm) -> None:
    """Scopes share no key: each has its own memory, and a view finds its own before a wider one."""
    ann, bob = mem.scoped(user="ann"), mem.scoped(user="bob")
    shared = mem.remember("Editor: vim", key="editor")
    own = ann.remember("Editor: emacs", key="editor")

    assert shared.id != own.id
    assert (mem.get(key="editor").id, ann.get(key="editor").id, bob.get(key="editor").id) == (
        shared.id,
        own.id,
        shared.id,
    )
    rival = mem.scoped(tenant="rival")
    rival.remember("Editor: nano", key="secret")
    with pytest.raises(NotFound, match="no memory with the key 'secret'"):
        ann.get(key="secret")
    assert ann.inspect.keys() == ["editor"]


@pytest.mark.sqlite
def test_memories_with_keys_are_not_merged_by_content(mem: Memotherm) -> None:
    """The key says which memory is meant, so that equal contents under other keys stay apart."""
    ids = {mem.remember("the same", key=key).id for key in ("a", "b", None)}

    assert len(ids) == 3
    assert mem.remember("the same").id in ids


@pytest.mark.sqlite
def test_a_batch_takes_keys_and_the_last_of_equal_ones_wins(mem: Memotherm) -> None:
    """Repeated keys in one call are one memory with one event for each of them."""
    memories = mem.remember_many([{"content": f"version {number}", "key": "log"} for number in range(3)])

    assert len({memory.id for memory in memories}) == 1
    assert mem.get(key="log").content == "version 2"
    assert [event.action for event in mem.history(memories[0].id)] == ["remember", "update", "update"]


@pytest.mark.sqlite
@pytest.mark.parametrize("verb", ["forget", "archive"])
def test_a_hidden_memory_keeps_its_key_and_comes_back_under_it(mem: Memotherm, verb: str) -> None:
    """A forgotten key is not found; remembering it again makes the same memory active."""
    memory = mem.remember("one", key="k")
    getattr(mem, verb)(memory.id)

    with pytest.raises(NotFound):
        mem.get(key="k")
    assert mem.inspect.keys() == []
    again = mem.remember("two", key="k", tier="hot")
    assert (again.id, again.retention, again.tier) == (memory.id, "active", "hot")
    assert contents(mem.recall("two")) == ["two"]


@pytest.mark.sqlite
def test_a_version_says_what_the_key_must_have(mem: Memotherm) -> None:
    """0 is for a key without a visible memory; another version, or a version without a key, stores nothing."""
    first = mem.remember("first", key="plan", version=0)
    with pytest.raises(StaleWrite, match="'plan' has version"):
        mem.remember("second", key="plan", version=0)
    second = mem.remember("second", key="plan", version=first.version)
    with pytest.raises(StaleWrite, match="'plan' has version"):
        mem.remember_many([{"content": "else"}, {"content": "third", "key": "plan", "version": first.version}])
    with pytest.raises(StaleWrite, match="'other' has no memory"):
        mem.remember("third", key="other", version=second.version)
    for wrong in ({"version": 0}, {"key": "plan", "version": -1}, {"key": "plan", "version": "0"}):
        with pytest.raises(InvalidInput, match="version"):
            mem.remember_many([{"content": "third", **wrong}])
    assert [memory.content for memory in mem.find()] == ["second"]

    mem.forget(first.id)
    assert mem.remember("again", key="plan", version=0).id == first.id


def test_a_batch_stores_and_deletes_all_or_nothing(mem: Memotherm) -> None:
    """The deletions are in the ledger with their reason, and can be undone."""
    old = mem.remember("old")
    for forget in ([old.id, "mem_missing"], old.id):
        with pytest.raises((NotFound, InvalidInput)):
            mem.remember_many([{"content": "new"}], forget=forget)
    assert [memory.content for memory in mem.find()] == ["old"]

    mem.remember_many([{"content": "new"}], forget=[old.id], why="replaced")
    event = mem.history(old.id)[-1]
    assert ([memory.content for memory in mem.find()], event.action, event.why) == (["new"], "forget", "replaced")
    mem.undo(event.seq)
    mem.remember_many([], forget=[old.id])
    assert [memory.content for memory in mem.find()] == ["new"]


def test_an_expired_memory_comes_back_under_its_key(mem: Memotherm, clock: FakeClock) -> None:
    """The expiry is that of the last call."""
    memory = mem.remember("one", key="k", ttl="1h")
    clock.advance(hours=2)

    assert mem.inspect.keys() == []
    assert mem.remember("two", key="k").expires_at is None
    assert mem.get(key="k").id == memory.id


def test_a_purge_frees_the_key_and_removes_it_from_the_ledger(mem: Memotherm) -> None:
    """The next memory with the key is a new one, and no event of the old one names the key."""
    memory = mem.remember("one", key="ann@example.org")
    mem.update(memory.id, key="ann@example.com")
    mem.purge(memory.id)

    assert mem.remember("two", key="ann@example.com").id != memory.id
    assert "example" not in repr(mem.history(memory.id))


def test_a_key_can_change_unless_another_memory_has_it(mem: Memotherm) -> None:
    """`update` renames; a key of a memory that is only hidden is taken too, and so is one in the target scope."""
    first, second = mem.remember("one", key="a"), mem.remember("two", key="b")

    assert mem.update(first.id, key="c").key == "c"
    assert mem.get(key="c").id == first.id
    mem.forget(second.id)
    with pytest.raises(InvalidInput, match=f"belongs to {second.id} \\(deleted\\)"):
        mem.update(first.id, key="b")
    session = mem.scoped(session="s1").remember("three", key="c")
    with pytest.raises(InvalidInput, match=f"belongs to {first.id}"):
        mem.scoped(session="s1").move_out_of_session(session.id)


def test_keys_are_listed_by_prefix_and_depth(mem: Memotherm) -> None:
    """With a depth, keys are cut behind a slash and listed once, page by page."""
    names = ["a/b/c", "a/b/d", "a/e", "a/é/x", "b", "ab/1", "z/" + "y/" * 30]
    mem.remember_many([{"content": name, "key": name} for name in names])

    assert mem.inspect.keys() == sorted(names)
    assert mem.inspect.keys(depth=1) == ["a/", "ab/", "b", "z/"]
    assert mem.inspect.keys("a/", depth=1) == ["a/b/", "a/e", "a/é/"]
    assert mem.inspect.keys("a/", depth=2) == ["a/b/c", "a/b/d", "a/e", "a/é/x"]
    assert mem.inspect.keys("a", depth=1) == ["a/", "ab/"]
    assert mem.inspect.keys("nothing") == []
    assert mem.inspect.keys(depth=1, limit=2) == ["a/", "ab/"]
    assert mem.inspect.keys(depth=1, limit=2, after="ab/") == ["b", "z/"]
    assert mem.inspect.keys(limit=1, after="a/e") == ["a/é/x"]


@pytest.mark.sqlite
def test_prefixes_of_many_keys_are_listed_past_one_page(mem: Memotherm) -> None:
    """A prefix that more keys have than one page is skipped by the index."""
    mem.remember_many([{"content": f"{number}", "key": f"a/{number:04}", "index": False} for number in range(1200)])
    mem.remember("last", key="b/1")

    assert mem.inspect.keys(depth=1) == ["a/", "b/"]
    assert len(mem.inspect.keys()) == 1000
    assert mem.inspect.keys(after="a/0999")[-1] == "b/1"


def test_without_index_no_vector_is_ever_made(open_mem: Open, tmp_path: Path) -> None:
    """The words are found, the embedder never sees the content, and neither maintenance nor updates embed it."""
    embedder = HashEmbedder(record=True)
    mem = open_mem(tmp_path / "plain.db", embedder=embedder)
    memory = mem.remember("The vault code is heliotrope", key="code", index=False)
    mem.remember("Otters swim")
    mem.update(memory.id, content="The vault code is heliotropic")
    mem.maintain()
    mem.store.reembed()

    assert memory.index is False
    assert not any("vault" in text for text in embedder.texts)
    assert mem.status().pending_vectors == 0
    assert (mem.recall("heliotropic").degraded, contents(mem.recall("heliotropic"))[0]) == (
        (),
        "The vault code is heliotropic",
    )
    other = HashEmbedder(name="other", record=True)
    with memotherm.open(located(tmp_path / "plain.db"), embedder=other) as reopened:
        reopened.store.reembed()
        assert reopened.check() == []
        assert not any("vault" in text for text in other.texts)
    with memotherm.open(located(tmp_path / "plain.db"), embedder=other) as reopened:
        indexed = reopened.remember("The vault code is heliotropic", key="code")
        assert (indexed.id, indexed.index) == (memory.id, True)
        assert reopened.status().pending_vectors == 0
        reopened.undo(indexed.version)
        assert (reopened.get(memory.id).index, reopened.check()) == (False, [])


@pytest.mark.sqlite
def test_a_past_state_keeps_what_was_not_indexed(mem: Memotherm, clock: FakeClock) -> None:
    """A recall of an earlier moment finds the former content of a key."""
    mem.remember("the blue plan", key="plan", index=False)
    then = clock.now
    clock.advance(days=1)
    mem.remember("the red plan", key="plan")

    assert contents(mem.recall("plan", as_of=then + timedelta(hours=1))) == ["the blue plan"]


@pytest.mark.sqlite
@pytest.mark.parametrize("key", ["", "  ", "a\nb", "x" * 401, 3, "a\x00"])
def test_a_key_that_cannot_be_stored_is_refused(mem: Memotherm, key: object) -> None:
    """An empty or long key, or one with control characters, is an error, and nothing is stored."""
    with pytest.raises(InvalidInput):
        mem.remember("one", key=key)  # type: ignore[arg-type]
    assert mem.find().memories == ()


@pytest.mark.sqlite
def test_get_takes_an_id_or_a_key(mem: Memotherm) -> None:
    """Neither or both is an error."""
    memory = mem.remember("one", key="k")
    for arguments in ({}, {"memory_id": memory.id, "key": "k"}):
        with pytest.raises(InvalidInput, match="either the id of a memory or a key"):
            mem.get(**arguments)


@pytest.mark.sqlite
def test_copies_of_a_store_keep_keys(open_mem: Open, mem: Memotherm, tmp_path: Path) -> None:
    """A checkpoint has the keys, and what is without vectors stays without them."""
    mem.remember("one", key="k", index=False)
    memotherm.restore(mem.checkpoint(tmp_path / "copy.db"), tmp_path / "restored.db")
    restored = open_mem(tmp_path / "restored.db")

    assert (restored.get(key="k").content, restored.get(key="k").index) == ("one", False)
