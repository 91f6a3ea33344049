"""The chunks of a note have the scope of their notes, and keep it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from memotherm import Memotherm, Scope
from memotherm.errors import InvalidInput
from memotherm.model.actions import Action
from memotherm.storage.store import Transaction
from memotherm.storage.values import Cause


def chunk_of(view: Memotherm, workspace: Path, path: str) -> str:
    """Return the id of the first chunk of a note."""
    return next(hit.memory_id for hit in view.notes(workspace).search("maps database", min_score=0) if hit.path == path)


@pytest.mark.parametrize("scope", [Scope(), Scope(session="s1")], ids=str)
def test_a_chunk_of_a_note_cannot_be_widened(mem: Memotherm, workspace: Path, scope: Scope) -> None:
    """The error names the note and says what to do; nothing changes."""
    view = mem.scoped(**dict(scope.items()))
    chunk = chunk_of(view, workspace, "memory/projects/atlas.md")

    with pytest.raises(InvalidInput, match=r"part of memory/projects/atlas\.md.*open the folder from the wider scope"):
        view.move_out_of_session(chunk)

    assert view.get(chunk).scope == scope
    assert mem.check() == []


def test_a_sync_gives_a_chunk_back_to_its_note(mem: Memotherm, workspace: Path) -> None:
    """A chunk whose memory has another scope gets that of its notes again."""
    view = mem.scoped(session="s1")
    notes = view.notes(workspace)
    chunk = chunk_of(view, workspace, "memory/projects/atlas.md")

    def move(transaction: Transaction) -> None:
        record = transaction.get(chunk)
        assert record is not None
        cause = Cause(action=Action.MOVE_OUT_OF_SESSION, at=record.memory.created_at)
        transaction.change(record, replace(record.memory, scope=Scope()), cause)

    mem._services.store.transact(move)
    assert {problem.code for problem in mem.check()} == {"chunk"}

    notes.sync()

    assert mem.check() == []
    assert view.get(chunk).scope == view.scope
    assert [hit.memory_id for hit in notes.search("maps of glaciers", max_results=1)] == [chunk]
    assert view.history(chunk)[-1].rule == "note.scope"


def test_a_sync_gives_back_no_more_pinned_memories_than_the_limit(
    open_mem: Callable[..., Memotherm], workspace: Path
) -> None:
    """A pinned chunk from a scope that its note does not see is unpinned if the scope has all that it may have."""
    mem = open_mem(settings={"max_pinned": 1})
    view, other = mem.scoped(session="s1"), Scope(session="s2")
    notes = view.notes(workspace)
    notes.sync()
    chunk = view.pin(chunk_of(view, workspace, "memory/projects/atlas.md")).id

    def move(transaction: Transaction) -> None:
        record = transaction.get(chunk)
        assert record is not None
        cause = Cause(action=Action.RESCOPE, at=record.memory.created_at)
        transaction.change(record, replace(record.memory, scope=other), cause)

    mem._services.store.transact(move)
    view.remember("The one pinned memory", priority="pinned")
    notes.sync()
    assert view.get(chunk).priority == "normal"
    assert ("pinned", "normal") in [event.changes.get("priority") for event in view.history(chunk)]
    assert len(view.pinned()) == 1


@pytest.mark.parametrize("name", [b"a\tb", b"a\nb", "a\u200fb".encode(), b"a\xffb"])
def test_notes_of_a_folder_with_any_name_are_found_and_read(mem: Memotherm, tmp_path: Path, name: bytes) -> None:
    """A tab, a line break, a mark of direction, and bytes that are not UTF-8; a folder inside may have it, too."""
    root = tmp_path / os.fsdecode(name)
    inner = root / "memory" / ("x" if b"\xff" in name else os.fsdecode(name))
    inner.mkdir(parents=True)
    (inner / "n.md").write_text("The mascot is a walrus")
    notes = mem.notes(root)
    notes.sync()
    (hit,) = notes.search("mascot walrus")
    assert notes.get(hit.path).text == "The mascot is a walrus"
    assert mem.notes(root).sync().unchanged == 1
