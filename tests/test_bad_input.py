"""Invalid arguments are refused with a clear message, and nothing is half-written."""

from __future__ import annotations

import math
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import memotherm
from memotherm import Memory, Memotherm, MemothermError, Scope
from memotherm.errors import (
    ContentTooLarge,
    InvalidInput,
    NotAStore,
    NotFound,
    PluginNotFound,
    SchemaTooNew,
    SettingsError,
    StaleWrite,
    StoreClosed,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreUnavailable,
)
from memotherm.testing import FakeClock, HashEmbedder
from tests.helpers import contents, opened, python

Call = Callable[[Memotherm, str], object]
SURROGATE = "half a character: \ud83d"


@pytest.fixture(name="mem")
def _mem(tmp_path: Path) -> Iterator[Memotherm]:
    with opened(tmp_path / "agent.db", clock=FakeClock()) as mem:
        yield mem
        assert mem.check() == []


def whole(mem: Memotherm) -> object:
    """Return everything a failed call must leave as it was."""
    return mem.find(limit=1000), mem.find(retention="deleted"), mem.status().seq, mem.status().tiers


def refused(mem: Memotherm, call: Call, error: type[MemothermError], says: str) -> None:
    """Make a call on a memory that exists, and require an error and an untouched store."""
    known = mem.remember("The harbour opens at dawn", tags=["harbour"], metadata={"since": 1999})
    before = whole(mem)

    with pytest.raises(error, match=says) as caught:
        call(mem, known.id)

    assert type(caught.value) is error
    assert whole(mem) == before
    assert mem.check() == []


CONTENT = [
    pytest.param("", InvalidInput, "empty", id="empty"),
    pytest.param(" \t\n\u3000", InvalidInput, "empty", id="whitespace"),
    pytest.param("x" * 5_000_000, ContentTooLarge, "max_content_chars", id="5-MB"),
    pytest.param("a\x00b", InvalidInput, "NUL character at position 1: remove it", id="NUL"),
    pytest.param(SURROGATE, InvalidInput, "surrogate", id="lone-surrogate"),
    pytest.param(None, InvalidInput, "must be text, not NoneType", id="None"),
    pytest.param(b"bytes", InvalidInput, "must be text, not bytes", id="bytes"),
    pytest.param(["a", "list"], InvalidInput, "must be text, not list", id="list"),
]


@pytest.mark.parametrize(("content", "error", "says"), CONTENT)
def test_content_that_is_no_text_is_refused(
    mem: Memotherm, content: Any, error: type[MemothermError], says: str
) -> None:
    """Every way to store a content refuses what cannot be stored."""
    refused(mem, lambda mem, _: mem.remember(content), error, says)
    refused(mem, lambda mem, _: mem.remember_many([{"content": "fine"}, {"content": content}]), error, says)
    if content is not None:
        refused(mem, lambda mem, known: mem.update(known, content=content), error, says)


@pytest.mark.parametrize(("content", "error", "says"), CONTENT[1:2] + CONTENT[3:])
def test_a_query_that_is_no_text_is_refused(
    mem: Memotherm, content: Any, error: type[MemothermError], says: str
) -> None:
    """Recall refuses the same texts that cannot be stored; an empty one lists."""
    refused(mem, lambda mem, _: mem.recall(content), error, says)


def test_a_query_may_be_long_but_not_endless(mem: Memotherm) -> None:
    """A query of megabytes is a mistake."""
    refused(mem, lambda mem, _: mem.recall("x " * 1_000_000), ContentTooLarge, "limit is 100,000: shorten it$")


class Sliced(HashEmbedder):
    """Cuts long texts without looking, because this test is about size and not about good cuts."""

    def split(self, text: str) -> list[str]:
        return [text[start : start + 2000] for start in range(0, len(text), 1900)]


@pytest.mark.slow
def test_a_large_content_is_kept_whole_where_the_setting_allows_it(tmp_path: Path) -> None:
    """Five megabytes come back exactly, and the words of their end are found."""
    content = "All was quiet on the night shift.\n" * 150_000 + "The culprit was a loose cable."
    with opened(tmp_path / "agent.db", embedder=Sliced(), settings={"max_content_chars": 10_000_000}) as mem:
        memory = mem.remember(content)
        mem.remember("something else")

        assert len(content) > 5_000_000
        assert mem.get(memory.id).content == content
        assert memory.id in [hit.memory.id for hit in mem.recall("loose cable culprit")]
        assert mem.check() == []


BAD_ARGUMENTS: dict[str, tuple[Call, type[MemothermError], str]] = {
    "tier": (lambda mem, _: mem.remember("x", tier="lukewarm"), InvalidInput, "use one of hot, warm, cold"),
    "tier-type": (lambda mem, _: mem.remember("x", tier=1.5), InvalidInput, "use one of hot"),  # type: ignore[arg-type]
    "tier-fourth": (lambda mem, _: mem.remember("x", tier="archive"), InvalidInput, "use one of hot"),
    "priority": (lambda mem, _: mem.remember("x", priority="urgent"), InvalidInput, "use one of pinned"),
    "priority-number": (lambda mem, _: mem.remember("x", priority=5), InvalidInput, "use one of pinned"),
    "priority-negative": (lambda mem, _: mem.remember("x", priority=-1), InvalidInput, "use one of pinned"),
    "kind-shape": (lambda mem, _: mem.remember("x", kind="Not A Kind"), InvalidInput, "lower-case word"),
    "kind-empty": (lambda mem, _: mem.remember("x", kind=""), InvalidInput, "lower-case word"),
    "kind-type": (lambda mem, _: mem.remember("x", kind=7), InvalidInput, "lower-case word"),  # type: ignore[arg-type]
    "tags-text": (lambda mem, _: mem.remember("x", tags="blocker"), InvalidInput, r"tags=\['blocker'\]"),
    "tags-type": (lambda mem, _: mem.remember("x", tags=5), InvalidInput, "tags"),  # type: ignore[arg-type]
    "tags-inside": (lambda mem, _: mem.remember("x", tags=[5]), InvalidInput, "must be text"),  # type: ignore[list-item]
    "tags-empty": (lambda mem, _: mem.remember("x", tags=["a", " "]), InvalidInput, "empty"),
    "tags-surrogate": (lambda mem, _: mem.remember("x", tags=[SURROGATE]), InvalidInput, "surrogate"),
    "tags-many": (lambda mem, _: mem.remember("x", tags=[str(n) for n in range(65)]), InvalidInput, "in metadata"),
    "metadata-type": (lambda mem, _: mem.remember("x", metadata=[1]), InvalidInput, "mapping"),  # type: ignore[arg-type]
    "metadata-object": (lambda mem, _: mem.remember("x", metadata={"a": object()}), InvalidInput, "plain JSON"),
    "metadata-nan": (lambda mem, _: mem.remember("x", metadata={"a": math.nan}), InvalidInput, "plain JSON"),
    "metadata-surrogate": (lambda mem, _: mem.remember("x", metadata={"a": SURROGATE}), InvalidInput, "plain JSON"),
    "metadata-deep": (lambda mem, _: mem.remember("x", metadata={"a": nested(100_000)}), InvalidInput, "plain JSON"),
    "metadata-large": (
        lambda mem, _: mem.remember("x", metadata={"a": "b" * 10_000_000}),
        InvalidInput,
        "the limit is",
    ),
    "source": (lambda mem, _: mem.remember("x", source=""), InvalidInput, "source is empty"),
    "ttl-text": (lambda mem, _: mem.remember("x", ttl="soon"), InvalidInput, "for example 30s"),
    "ttl-zero": (lambda mem, _: mem.remember("x", ttl=0), InvalidInput, "greater than 0"),
    "ttl-negative": (lambda mem, _: mem.remember("x", ttl=-5), InvalidInput, "greater than 0"),
    "ttl-nan": (lambda mem, _: mem.remember("x", ttl=math.nan), InvalidInput, "out of range"),
    "ttl-endless": (lambda mem, _: mem.remember("x", ttl=1e300), InvalidInput, "out of range"),
    "ttl-beyond": (lambda mem, _: mem.remember("x", ttl=timedelta.max), InvalidInput, "leave it out"),
    "ttl-digits": (lambda mem, _: mem.remember("x", ttl="9" * 400 + "d"), InvalidInput, "out of range"),
    "ttl-type": (lambda mem, _: mem.remember("x", ttl=[7]), InvalidInput, "such as '7d'"),  # type: ignore[arg-type]
    "supersedes": (lambda mem, _: mem.remember("x", supersedes="mem_none"), NotFound, "mem_none"),
    "supersedes-itself": (
        lambda mem, known: mem.remember("The harbour opens at dawn", supersedes=known),
        InvalidInput,
        "cannot supersede itself",
    ),
    "many-field": (lambda mem, _: mem.remember_many([{"content": "x", "teir": "hot"}]), InvalidInput, "unknown field"),
    "many-content": (lambda mem, _: mem.remember_many([{"kind": "fact"}]), InvalidInput, "'content'"),
    "many-text": (lambda mem, _: mem.remember_many(["x"]), InvalidInput, "content"),  # type: ignore[list-item]
    "many-number": (lambda mem, _: mem.remember_many([5]), InvalidInput, "content"),  # type: ignore[list-item]
    "many-one": (lambda mem, _: mem.remember_many({"content": "x"}), InvalidInput, "content"),  # type: ignore[dict-item]
    "get": (lambda mem, _: mem.get("mem_none"), NotFound, "mem_none"),
    "get-type": (lambda mem, _: mem.get(5), NotFound, "no memory 5"),  # type: ignore[arg-type]
    "get-surrogate": (lambda mem, _: mem.get(SURROGATE), InvalidInput, "surrogate"),
    "move": (lambda mem, known: mem.move(known, "tepid"), InvalidInput, "use one of hot"),
    "move-unknown": (lambda mem, _: mem.move("mem_none", "hot"), NotFound, "mem_none"),
    "move-surrogate": (lambda mem, _: mem.move(SURROGATE, "hot"), InvalidInput, "surrogate"),
    "move-why": (lambda mem, known: mem.move(known, "cold", why=SURROGATE), InvalidInput, "surrogate"),
    "move-why-type": (lambda mem, known: mem.move(known, "cold", why=object()), InvalidInput, "type"),  # type: ignore[arg-type]
    "prioritize": (lambda mem, known: mem.prioritize(known, "top"), InvalidInput, "use one of pinned"),
    "pin-unknown": (lambda mem, _: mem.pin("mem_none"), NotFound, "mem_none"),
    "update-unknown": (lambda mem, _: mem.update("mem_none", content="x"), NotFound, "mem_none"),
    "update-kind": (lambda mem, known: mem.update(known, kind="NO"), InvalidInput, "lower-case word"),
    "update-ttl": (lambda mem, known: mem.update(known, ttl="never"), InvalidInput, "for example"),
    "archive-unknown": (lambda mem, _: mem.archive("mem_none"), NotFound, "mem_none"),
    "forget-unknown": (lambda mem, _: mem.forget("mem_none"), NotFound, "mem_none"),
    "restore-unknown": (lambda mem, _: mem.restore("mem_none"), NotFound, "mem_none"),
    "purge-unknown": (lambda mem, _: mem.purge("mem_none"), NotFound, "mem_none"),
    "history-unknown": (lambda mem, _: mem.history("mem_none"), NotFound, "mem_none"),
    "get-memory": (lambda mem, _: mem.get(mem.find().memories[0]), InvalidInput, "give memory.id"),  # type: ignore[arg-type]
    "pin-memory": (lambda mem, _: mem.pin(mem.find().memories[0]), InvalidInput, "give memory.id"),  # type: ignore[arg-type]
    "forget-memory": (lambda mem, _: mem.forget(mem.find().memories[0]), InvalidInput, "give memory.id"),  # type: ignore[arg-type]
    "purge-memory": (lambda mem, _: mem.purge(mem.find().memories[0]), InvalidInput, "give memory.id"),  # type: ignore[arg-type]
    "undo-unknown": (lambda mem, _: mem.undo(10_000), NotFound, "event 10000"),
    "undo-huge": (lambda mem, _: mem.undo(1 << 80), InvalidInput, "too large"),
    "undo-type": (lambda mem, _: mem.undo("last"), InvalidInput, "the number of one event"),  # type: ignore[arg-type]
    "limit-negative": (lambda mem, _: mem.recall("x", limit=-1), InvalidInput, "from 0 to 200"),
    "limit-huge": (lambda mem, _: mem.recall("x", limit=10**30), InvalidInput, "from 0 to 200"),
    "limit-type": (lambda mem, _: mem.recall("x", limit="5"), InvalidInput, "whole number"),  # type: ignore[arg-type]
    "limit-bool": (lambda mem, _: mem.recall("x", limit=True), InvalidInput, "whole number"),
    "limit-fraction": (lambda mem, _: mem.recall("x", limit=1.5), InvalidInput, "whole number"),  # type: ignore[arg-type]
    "min_score-low": (lambda mem, _: mem.recall("x", min_score=-0.1), InvalidInput, "between 0 and 1"),
    "min_score-high": (lambda mem, _: mem.recall("x", min_score=1.1), InvalidInput, "between 0 and 1"),
    "min_score-nan": (lambda mem, _: mem.recall("x", min_score=math.nan), InvalidInput, "between 0 and 1"),
    "min_score-type": (lambda mem, _: mem.recall("x", min_score="high"), InvalidInput, "between 0 and 1"),  # type: ignore[arg-type]
    "tiers": (lambda mem, _: mem.recall("x", tiers=("hot", "ice")), InvalidInput, "use one of hot"),
    "tiers-type": (lambda mem, _: mem.recall("x", tiers=5), InvalidInput, "tiers"),  # type: ignore[arg-type]
    "kinds-type": (lambda mem, _: mem.recall("x", kinds=5), InvalidInput, "kind"),  # type: ignore[arg-type]
    "kinds-inside": (lambda mem, _: mem.recall("x", kinds=[object()]), InvalidInput, "kind"),  # type: ignore[list-item]
    "recall-tags": (lambda mem, _: mem.recall("x", tags="blocker"), InvalidInput, r"tags=\["),
    "find-tier": (lambda mem, _: mem.find(tier="ice"), InvalidInput, "use one of hot"),
    "find-retention": (lambda mem, _: mem.find(retention="lost"), InvalidInput, "use one of active"),
    "find-kind": (lambda mem, _: mem.find(kind=object()), InvalidInput, "kind|type"),  # type: ignore[arg-type]
    "find-kind-surrogate": (lambda mem, _: mem.find(kind=SURROGATE), InvalidInput, "kind|surrogate"),
    "find-limit": (lambda mem, _: mem.find(limit=-1), InvalidInput, "from 0 to 1000"),
    "find-limit-huge": (lambda mem, _: mem.find(limit=1001), InvalidInput, "from 0 to 1000"),
    "cursor": (lambda mem, _: mem.find(cursor="page 2"), InvalidInput, "the last page came with"),
    "cursor-digits": (lambda mem, _: mem.find(cursor="before-" + "9" * 5000), InvalidInput, "the last page came with"),
    "cursor-type": (lambda mem, _: mem.find(cursor=object()), InvalidInput, "the last page came with"),  # type: ignore[arg-type]
    "scope-field": (lambda mem, _: mem.scoped(user=""), InvalidInput, "non-empty"),
    "scope-type": (lambda mem, _: mem.scoped(user=5), InvalidInput, "non-empty"),  # type: ignore[arg-type]
    "scope-NUL": (lambda mem, _: mem.scoped(user="a\x00b"), InvalidInput, "printable"),
    "scope-surrogate": (lambda mem, _: mem.scoped(user="\ud800"), InvalidInput, "printable"),
    "scope-long": (lambda mem, _: mem.scoped(user="u" * 201), InvalidInput, "at most 200"),
    "scope-wider": (lambda mem, _: mem.scoped(user="a").scoped(user="b"), InvalidInput, "only be narrowed"),
    "checkpoint-exists": (lambda mem, _: mem.checkpoint(mem.status().store), InvalidInput, "choose a new file"),
}


def nested(depth: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


@pytest.mark.parametrize("name", BAD_ARGUMENTS)
def test_a_wrong_argument_is_refused(mem: Memotherm, name: str) -> None:
    """The error is ours, says what to do, and leaves the store as it was."""
    call, error, says = BAD_ARGUMENTS[name]

    refused(mem, call, error, says)


def test_one_bad_memory_in_a_batch_stores_none(mem: Memotherm) -> None:
    """A batch is stored whole or not at all, whatever is wrong with its last one."""
    fine = [{"content": f"fine {number}"} for number in range(5)]
    for bad in ({"content": ""}, {"content": "x", "tier": "?"}, {"content": "x", "supersedes": "mem_none"}):
        refused(mem, lambda mem, _, bad=bad: mem.remember_many([*fine, bad]), *_expected(bad))  # type: ignore[misc]


def _expected(bad: dict[str, str]) -> tuple[type[MemothermError], str]:
    return (NotFound, "mem_none") if "supersedes" in bad else (InvalidInput, "empty|use one of")


@pytest.mark.parametrize(
    "verb", ["get", "history", "pin", "unpin", "archive", "forget", "restore", "purge", "move", "prioritize", "update"]
)
def test_an_id_of_another_scope_does_not_exist(mem: Memotherm, verb: str) -> None:
    """No verb reads or changes what belongs to somebody else, and none tells that it exists."""
    theirs = mem.scoped(user="ann").remember("Ann's diary", tags=["private"])
    extra: dict[str, tuple[Any, ...]] = {"move": ("cold",), "prioritize": ("low",)}
    mine = mem.scoped(user="bob")

    with pytest.raises(NotFound) as caught:
        getattr(mine, verb)(theirs.id, *extra.get(verb, ()), **({"content": "mine now"} if verb == "update" else {}))
    with pytest.raises(NotFound) as unknown:
        getattr(mine, verb)("mem_0", *extra.get(verb, ()), **({"content": "mine now"} if verb == "update" else {}))

    assert str(caught.value).replace(theirs.id, "mem_0") == str(unknown.value)
    assert mem.scoped(user="ann").get(theirs.id) == theirs


def test_an_event_of_another_scope_cannot_be_undone(mem: Memotherm) -> None:
    """The ledger's numbers are shared, its lines are not."""
    ann = mem.scoped(user="ann")
    moved = ann.move(ann.remember("Ann's diary").id, "cold")

    with pytest.raises(NotFound, match="no event"):
        mem.scoped(user="bob").undo(moved.version)

    assert ann.get(moved.id).tier == "cold"


def test_a_memory_of_another_scope_cannot_be_superseded(mem: Memotherm) -> None:
    """Superseding archives the older memory, so it needs the right to see it."""
    theirs = mem.scoped(user="ann").remember("Ann's diary")

    with pytest.raises(NotFound):
        mem.scoped(user="bob").remember("My diary now", supersedes=theirs.id)

    assert contents(mem.scoped(user="bob").find()) == []
    assert mem.scoped(user="ann").get(theirs.id).retention == "active"


def test_a_purged_memory_is_gone_for_every_verb(mem: Memotherm) -> None:
    """After a purge only the history remains."""
    memory = mem.remember("A password: hunter2")
    mem.purge(memory.id)

    for call in (
        lambda: mem.get(memory.id),
        lambda: mem.update(memory.id, content="again"),
        lambda: mem.move(memory.id, "hot"),
        lambda: mem.pin(memory.id),
        lambda: mem.restore(memory.id),
        lambda: mem.purge(memory.id),
        lambda: mem.remember("x", supersedes=memory.id),
    ):
        with pytest.raises(NotFound):
            call()
    assert [event.action for event in mem.history(memory.id)] == ["remember", "purge"]


@pytest.mark.parametrize("verb", ["archive", "forget"])
def test_what_is_hidden_is_read_only(mem: Memotherm, verb: str) -> None:
    """A hidden memory changes only by being restored, and the error says so."""
    memory: Memory = getattr(mem, verb)(mem.remember("an old plan").id)
    calls: list[Callable[[], object]] = [
        lambda: mem.update(memory.id, content="a new plan"),
        lambda: mem.move(memory.id, "hot"),
        lambda: mem.pin(memory.id),
        lambda: mem.prioritize(memory.id, "low"),
    ]

    for call in calls:
        with pytest.raises(InvalidInput, match="restore it first"):
            call()
    assert mem.get(memory.id) == memory


def test_an_event_with_later_ones_on_top_cannot_be_undone(mem: Memotherm) -> None:
    """Undoing is refused when it would silently take back more than was asked."""
    memory = mem.remember("The plan")
    first = mem.move(memory.id, "hot")
    second = mem.move(memory.id, "cold")

    with pytest.raises(StaleWrite, match="undo those first"):
        mem.undo(first.version)

    assert mem.get(memory.id) == second


def test_an_event_of_a_purged_memory_cannot_be_undone(mem: Memotherm) -> None:
    """What was purged does not come back, and the error says why."""
    memory = mem.remember("The plan")
    moved = mem.move(memory.id, "hot")
    mem.purge(memory.id)

    for event in mem.history(memory.id):
        with pytest.raises(InvalidInput, match="purged and its content is gone"):
            mem.undo(event.seq)
    assert moved.id == memory.id


CLOSED: list[Callable[[Memotherm], object]] = [
    lambda mem: mem.remember("x"),
    lambda mem: mem.remember_many([{"content": "x"}]),
    lambda mem: mem.recall("x"),
    lambda mem: mem.get("mem_0"),
    lambda mem: mem.find(),
    lambda mem: mem.move("mem_0", "hot"),
    lambda mem: mem.update("mem_0", content="x"),
    lambda mem: mem.purge("mem_0"),
    lambda mem: mem.undo(1),
    lambda mem: mem.status(),
    lambda mem: mem.check(),
    lambda mem: mem.store.reembed(),
    lambda mem: mem.scoped(user="u").find(),
]


@pytest.mark.parametrize("place", ["file", "memory"])
def test_a_closed_memory_says_so(tmp_path: Path, place: str) -> None:
    """Every verb after close() names the remedy; closing again is harmless."""
    mem = opened(":memory:" if place == "memory" else tmp_path / "agent.db")
    mem.remember("The harbour opens at dawn")
    mem.close()
    mem.close()

    for call in CLOSED:
        with pytest.raises(StoreClosed, match="open it again"):
            call(mem)
    with pytest.raises(StoreClosed, match="open it again"):
        mem.checkpoint(tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


# Files that are not ours


def left_alone(path: Path, error: type[MemothermError], says: str) -> None:
    """Opening, restoring from and checking a file fails, and its folder is byte for byte as before."""
    before = {file.name: file.read_bytes() for file in sorted(path.parent.iterdir())}
    with pytest.raises(error, match=says):
        opened(path)
    with pytest.raises(error, match=says):
        memotherm.restore(path, path.with_name("restored.db"))

    assert {file.name: file.read_bytes() for file in sorted(path.parent.iterdir())} == before


@pytest.mark.parametrize(
    "data", [b"Dear diary\n", b"SQLite", b"SQLite format 3\x00 and then prose" * 100, b"\x00" * 5000]
)
def test_a_foreign_file_is_left_as_it_is(tmp_path: Path, data: bytes) -> None:
    """A file that is no database is neither opened nor changed."""
    path = tmp_path / "diary.txt"
    path.write_bytes(data)

    left_alone(path, NotAStore, "choose another path")


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_the_database_of_another_program_is_left_as_it_is(tmp_path: Path, journal: str) -> None:
    """Another program's SQLite file is recognised and not touched, whatever its journal."""
    path = tmp_path / "browser.db"
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal}")
        connection.execute("CREATE TABLE memories (id INTEGER PRIMARY KEY, url TEXT)")
        connection.execute("INSERT INTO memories (url) VALUES ('https://example.org')")
    connection.close()

    left_alone(path, NotAStore, "another program")


def test_a_newer_schema_is_left_as_it_is(tmp_path: Path) -> None:
    """A store of a later version is refused with the way to upgrade."""
    path = tmp_path / "agent.db"
    with opened(path) as mem:
        mem.remember("written in the future")
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 999")
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()

    left_alone(path, SchemaTooNew, "pip install --upgrade memotherm")


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    """A file of no bytes belongs to nobody, as after `touch agent.db`."""
    path = tmp_path / "agent.db"
    path.touch()

    with opened(path) as mem:
        mem.remember("here")
        assert mem.check() == []


def test_an_empty_file_is_no_checkpoint(tmp_path: Path) -> None:
    """Restoring from nothing fails and leaves nothing behind."""
    (tmp_path / "empty.db").touch()

    with pytest.raises(NotAStore, match="choose another"):
        memotherm.restore(tmp_path / "empty.db", tmp_path / "agent.db")

    assert sorted(file.name for file in tmp_path.iterdir()) == ["empty.db"]


# Places where nothing can be stored


def test_places_that_cannot_hold_a_store_are_refused(tmp_path: Path) -> None:
    """A missing folder, a folder, a file as folder: each error names the place and what to do."""
    (tmp_path / "file").write_text("x")
    cases = {
        tmp_path / "missing" / "agent.db": "does not exist: create it first",
        tmp_path: "is a folder: name a file in it",
        tmp_path / "file" / "agent.db": "does not exist: create it first|cannot open",
        tmp_path / ("n" * 300): "cannot",
    }

    for path, says in cases.items():
        with pytest.raises(StoreUnavailable, match=says):
            opened(path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file"]


@pytest.mark.parametrize(
    ("url", "error", "says"),
    [
        ("", InvalidInput, "name a file"),
        ("a\x00b", InvalidInput, "name a file"),
        ("mysql://host/db", InvalidInput, "use a path"),
        ("postgresql://u:secret@127.0.0.1:1/db", StoreUnavailable, "check that the server runs"),
        (5, InvalidInput, "path"),
        (b"agent.db", InvalidInput, "path"),
    ],
)
def test_a_url_that_names_no_store_is_refused(url: Any, error: type[MemothermError], says: str) -> None:
    """What `open` cannot understand is said, without repeating a password."""
    with pytest.raises(error, match=says) as caught:
        opened(url)

    assert "secret" not in str(caught.value)


def test_an_unknown_embedder_is_refused_before_a_file_is_made(tmp_path: Path) -> None:
    """A wrong name for the embedder leaves no empty store behind."""
    with pytest.raises(PluginNotFound, match="Known: auto, gemini, local, none, openai"):
        memotherm.open(tmp_path / "agent.db", embedder="telepathy")

    assert list(tmp_path.iterdir()) == []


def test_a_wrong_setting_is_refused_before_a_file_is_made(tmp_path: Path) -> None:
    """A misspelt or impossible setting is named, and the nearest one suggested."""
    for settings, says in (({"max_pined": 3}, "max_pinned"), ({"pool_size": 0}, "between 1"), ({"fusion": "x"}, "rrf")):
        with pytest.raises(SettingsError, match=says):
            opened(tmp_path / "agent.db", settings=settings)

    assert list(tmp_path.iterdir()) == []


def test_a_default_place_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    """The folder of the default store may be impossible too."""
    (tmp_path / "file").write_text("x")

    with pytest.raises(StoreUnavailable, match="file"):
        memotherm.open(embedder="none", settings={"store": str(tmp_path / "file" / "folder" / "agent.db")})


@pytest.fixture(name="small_disk")
def _small_disk(tmp_path: Path) -> Iterator[Path]:
    """Yield a folder on a disk of one megabyte, where this machine lets us make one; else any folder."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = _mounted(folder, "-t", "tmpfs", "-o", "size=1m", "tmpfs")
    yield folder
    if mounted:
        subprocess.run(["umount", "--lazy", folder], check=True)


def _mounted(folder: Path, *how: str) -> bool:
    command = shutil.which("mount")
    if command is None or os.geteuid() != 0:
        return False
    return subprocess.run([command, *how, folder], capture_output=True, check=False).returncode == 0


def test_a_full_disk_loses_nothing_that_was_acknowledged(small_disk: Path) -> None:
    """When the disk fills up, the write that did not fit is taken back, and the rest goes on."""
    if not os.path.ismount(small_disk):
        return  # the same is shown below with a limit on file size, which needs no rights
    path = small_disk / "agent.db"
    stored: list[str] = []
    with opened(path) as mem:
        with pytest.raises(StoreFull, match="free some"):
            write_until_refused(mem, stored)

        assert stored
        assert [memory.id for memory in mem.find(limit=1000)][::-1] == stored
        assert mem.recall("entry 0")[0].memory.id == stored[0]

    subprocess.run(["mount", "-o", "remount,size=8m", small_disk], check=True)
    with opened(path, embedder=HashEmbedder()) as mem:
        assert [memory.id for memory in mem.find(limit=1000)][::-1] == stored
        assert mem.check() == []
        assert mem.remember("there is room again").content == "there is room again"


def write_until_refused(mem: Memotherm, stored: list[str]) -> None:
    for number in range(10_000):
        stored.append(mem.remember(f"entry {number}: " + f"{number:x} " * 500).id)  # noqa: PERF401 - kept on failure


def test_a_store_cannot_be_made_on_a_full_disk(small_disk: Path) -> None:
    """A new store on a disk without room fails in our words."""
    if not os.path.ismount(small_disk):
        return
    (small_disk / "filler").write_bytes(b"x" * (1 << 20))

    with pytest.raises((StoreFull, StoreUnavailable), match=r"free some|has space"):
        opened(small_disk / "agent.db")


def test_a_read_only_disk_is_said_to_be_one(small_disk: Path) -> None:
    """A store on a disk that became read-only can be read, refuses a change, and is unharmed when that ends."""
    if not os.path.ismount(small_disk):
        return
    path = small_disk / "agent.db"
    with opened(path) as mem:
        mem.remember("written before")
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)

    with opened(path) as mem:
        assert contents(mem.find()) == ["written before"]
        with pytest.raises(StoreUnavailable, match="writable"):
            mem.remember("written after")
    with pytest.raises(StoreUnavailable, match="writable"):
        opened(small_disk / "new.db")

    subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)
    with opened(path) as mem:
        assert contents(mem.find()) == ["written before"]
        assert mem.check() == []


LIMITED = """
import resource, signal, sys
import memotherm
from tests.helpers import HashEmbedder
from memotherm.errors import StoreFull, StoreUnavailable

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with memotherm.open(sys.argv[1], embedder=HashEmbedder()) as mem:
    mem.remember("before the limit")
    resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, resource.RLIM_INFINITY))
    stored = []
    try:
        while True:
            stored.append(mem.remember(f"entry {len(stored)}: " + f"{len(stored):x} " * 500).id)
    except (StoreFull, StoreUnavailable) as exc:
        print(str(exc), file=sys.stderr)
    assert mem.recall("entry 0")[0].memory.id == stored[0]
    print("\\n".join(stored))
"""


def test_a_limit_on_file_size_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """The same as a full disk, on every machine: the file may not grow beyond a limit."""
    path = tmp_path / "agent.db"
    done = python(LIMITED, path)

    assert done.returncode == 0, done.stderr
    assert "space" in done.stderr
    stored = done.stdout.split()
    assert len(stored) > 5
    with opened(path) as mem:
        found = mem.find(limit=1000)
        assert [memory.id for memory in found][::-1][1:] == stored
        assert mem.check() == []
        assert mem.remember("there is room again").content == "there is room again"


# Damage


def damaged(path: Path, size: int = 4096) -> None:
    """Overwrite bytes in the middle of the file."""
    with path.open("r+b") as handle:
        handle.seek(path.stat().st_size // 2)
        handle.write(bytes(range(256)) * (size // 256))


def test_a_damaged_file_is_reported(tmp_path: Path) -> None:
    """Bytes overwritten in the middle are found by check(), and no foreign error reaches a caller."""
    path = tmp_path / "agent.db"
    with opened(path) as mem:
        mem.remember_many([{"content": f"entry {number}: " + f"{number:x} " * 200} for number in range(300)])
        mem.checkpoint(tmp_path / "copy.db")
    damaged(path, 65_536)

    with opened(path) as mem:
        assert mem.check() != []
        for number in range(300):
            try:
                mem.recall(f"entry {number}")
            except StoreDamaged as exc:
                assert "restore" in str(exc)  # noqa: PT017 - a read may also miss the damage
    assert memotherm.restore(tmp_path / "copy.db", tmp_path / "new.db").exists()
    with opened(tmp_path / "new.db") as mem:
        assert mem.check() == []


def test_a_file_cut_short_is_reported(tmp_path: Path) -> None:
    """A file that lost its end does not open as if nothing had happened."""
    path = tmp_path / "agent.db"
    with opened(path) as mem:
        mem.remember_many([{"content": f"entry {number}: " + f"{number:x} " * 200} for number in range(300)])
    os.truncate(path, path.stat().st_size // 2)

    try:
        with opened(path) as mem:
            assert mem.check() != []
    except StoreError as exc:
        assert "restore" in str(exc)  # noqa: PT017 - which of the two depends on what was lost


def test_a_scope_argument_of_the_wrong_type_is_refused() -> None:
    """`scope` is a Scope; anything else is refused at once."""
    with pytest.raises(InvalidInput, match="Scope"):
        opened(scope={"user": "u1"})
    with pytest.raises(InvalidInput, match="printable"):
        opened(scope=Scope(user="a\nb"))
