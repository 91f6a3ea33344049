"""A memory as a list item and a list item as a memory: one thing, and conflicts are shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memotherm import Memotherm, Retention
from memotherm.errors import InvalidInput, NotFound
from memotherm.notes.notes import Notes
from tests.notes.index import index


def found(mem: Memotherm, query: str) -> list[str]:
    return [hit.memory.id for hit in mem.recall(query, tiers=("hot", "warm", "cold"), min_score=0.5)]


def test_an_exported_memory_is_one_thing(mem: Memotherm, notes: Notes, workspace: Path) -> None:
    """It is a line of the note, and a recall, a search and a second export find one."""
    memory = mem.remember("Quokkas smile at cameras", tags=["zoo"], priority="important")
    done = notes.export(memory.id)

    assert (workspace / "MEMORY.md").read_text().endswith(f"\n- Quokkas smile at cameras <!-- {memory.id} -->\n")
    assert done.citation == "MEMORY.md#L5"
    assert found(mem, "quokkas smile cameras") == [memory.id]
    assert [(hit.memory_id, hit.citation) for hit in notes.search("quokkas smile", 1)] == [(memory.id, "MEMORY.md#L5")]
    again = notes.export(memory.id)
    assert (again.written, again.citation) == (False, "MEMORY.md#L5")
    kept = mem.get(memory.id)
    assert (kept.tags, str(kept.priority), kept.source) == (("zoo",), "important", "agent")
    assert mem.remember("Quokkas smile at cameras").id == memory.id
    assert mem.check() == []


def test_an_adopted_item_is_one_thing(mem: Memotherm, notes: Notes, workspace: Path) -> None:
    """The line carries the id, the rest of the file is untouched, and adopting it again changes nothing."""
    before = (workspace / "MEMORY.md").read_text().split("\n")
    memory = notes.adopt("MEMORY.md", 3)
    after = (workspace / "MEMORY.md").read_text().split("\n")

    assert memory.content == "The user prefers metric units"
    assert after == [*before[:2], f"- The user prefers metric units <!-- {memory.id} -->", *before[3:]]
    assert notes.adopt("MEMORY.md", 3).id == memory.id
    assert found(mem, "user prefers metric units") == [memory.id]
    assert mem.metrics() is not None


def test_adopting_what_is_remembered_already_links_the_two(mem: Memotherm, notes: Notes) -> None:
    """The memory that says the same becomes the line's memory; there is no second one."""
    memory = mem.remember("Deploys happen on Tuesday")

    assert notes.adopt("MEMORY.md", 4).id == memory.id
    assert found(mem, "deploys happen tuesday") == [memory.id]


def test_an_edit_of_the_line_changes_the_memory(mem: Memotherm, notes: Notes, workspace: Path) -> None:
    """With an event; id, tags and priority stay."""
    memory = notes.adopt("MEMORY.md", 4)
    mem.pin(memory.id)
    file = workspace / "MEMORY.md"
    file.write_text(file.read_text().replace("on Tuesday", "on Thursday\n  and never on Friday"))
    notes.sync()
    after = mem.get(memory.id)

    assert after.content == "Deploys happen on Thursday\nand never on Friday"
    assert str(after.priority) == "pinned"
    assert "note.edited" in [event.rule for event in mem.history(memory.id)]
    assert notes.conflicts() == []


def test_a_change_of_the_memory_is_shown_until_it_is_settled(mem: Memotherm, notes: Notes, workspace: Path) -> None:
    """Nothing is written to the file by itself."""
    memory = notes.adopt("MEMORY.md", 3)
    text = (workspace / "MEMORY.md").read_text()
    mem.update(memory.id, content="The user prefers imperial units")
    (conflict,) = notes.sync().conflicts

    assert (workspace / "MEMORY.md").read_text() == text
    assert (conflict.in_file, conflict.in_memory) == (
        "The user prefers metric units",
        "The user prefers imperial units",
    )
    assert "the memory was changed and the note was not" in str(conflict)
    notes.resolve(memory.id, "memory")
    assert "imperial" in (workspace / "MEMORY.md").read_text()
    assert notes.conflicts() == []


def test_when_both_change_neither_wins_by_itself(mem: Memotherm, notes: Notes, workspace: Path) -> None:
    """Both stay as they are until somebody decides."""
    memory = notes.adopt("MEMORY.md", 3)
    mem.update(memory.id, content="The user likes yards")
    file = workspace / "MEMORY.md"
    file.write_text(file.read_text().replace("prefers metric", "insists on metric"))
    (conflict,) = notes.sync().conflicts

    assert conflict.why == "both were changed"
    assert mem.get(memory.id).content == "The user likes yards"
    assert "insists on metric" in file.read_text()
    assert notes.resolve(memory.id, "file").content == "The user insists on metric units"
    assert notes.conflicts() == []
    with pytest.raises(NotFound, match="no conflict"):
        notes.resolve(memory.id, "file")
    with pytest.raises(InvalidInput, match="file or memory"):
        notes.resolve(memory.id, "both")


def test_a_forgotten_memory_that_its_note_still_tells_is_shown(mem: Memotherm, notes: Notes, workspace: Path) -> None:
    """It is not found, and keeping the memory's side takes the line out."""
    memory = notes.adopt("MEMORY.md", 3)
    mem.forget(memory.id)
    (conflict,) = notes.sync().conflicts

    assert "deleted and the note still says it" in conflict.why
    assert found(mem, "metric units") == []
    notes.resolve(memory.id, "memory")
    assert "metric" not in (workspace / "MEMORY.md").read_text()
    assert mem.get(memory.id).retention is Retention.DELETED


def test_a_memory_outlives_its_line(mem: Memotherm, notes: Notes, workspace: Path) -> None:
    """A deleted line, or a deleted file, leaves the memory where it was before."""
    memory = notes.adopt("MEMORY.md", 3)
    (workspace / "MEMORY.md").unlink()
    done = notes.sync()

    assert done.unlinked == (memory.id,)
    assert found(mem, "user prefers metric units") == [memory.id]
    assert "path" not in mem.get(memory.id).metadata
    assert mem.check() == []


def test_a_line_that_was_copied_is_linked_once(mem: Memotherm, notes: Notes, workspace: Path) -> None:
    """In the same file or in another one; the copy is an ordinary line."""
    memory = notes.adopt("MEMORY.md", 3)
    line = (workspace / "MEMORY.md").read_text().split("\n")[2]
    (workspace / "memory" / "copy.md").write_text(f"# Copy\n\n{line}\n{line}\n")
    notes.sync()
    rows = [row for row in index(mem, notes) if "metric" in row[4]]

    assert [row[0] for row in rows].count("MEMORY.md") == 1
    assert len({memory.id for memory in mem.find(limit=50) if "metric" in memory.content}) == len(rows)
    assert mem.get(memory.id).metadata["path"] == "MEMORY.md"


def test_a_foreign_id_in_a_line_links_nothing(mem: Memotherm, notes: Notes, workspace: Path) -> None:
    """An id that does not exist, or that belongs to somebody else, is just a comment."""
    theirs = mem.scoped(user="u2").remember("Their secret is a platypus")
    (workspace / "MEMORY.md").write_text(f"- mine <!-- mem_nothere -->\n- platypus tale <!-- {theirs.id} -->\n")
    notes.sync()

    assert mem.scoped(user="u2").get(theirs.id).content == "Their secret is a platypus"
    assert "path" not in mem.scoped(user="u2").get(theirs.id).metadata
    assert notes.conflicts() == []


def test_line_ends_stay_as_they_are(mem: Memotherm, notes: Notes, workspace: Path) -> None:
    """A file from Windows is still one after an adoption and a settled conflict."""
    file = workspace / "MEMORY.md"
    file.write_bytes(b"# M\r\n\r\n- first fact\r\n- second fact\r\n")
    memory = notes.adopt("MEMORY.md", 3)
    mem.update(memory.id, content="first fact, corrected")
    notes.resolve(memory.id, "memory")

    assert file.read_bytes() == f"# M\r\n\r\n- first fact, corrected <!-- {memory.id} -->\r\n- second fact\r\n".encode()


def test_what_cannot_be_linked_says_why(mem: Memotherm, notes: Notes) -> None:
    """No item there, a note already, another scope, a hidden memory."""
    notes.sync()
    with pytest.raises(NotFound, match=r"no list item at MEMORY\.md#L1"):
        notes.adopt("MEMORY.md", 1)
    (hit,) = notes.search("glaciers", 1)
    with pytest.raises(InvalidInput, match="is a note already"):
        notes.export(hit.memory_id)
    wider = mem.remember("A fact of everybody")
    with pytest.raises(InvalidInput, match="another scope"):
        mem.scoped(user="u1").notes(notes.root).export(wider.id)
    mem.archive(wider.id)
    with pytest.raises(InvalidInput, match="restore it"):
        notes.export(wider.id)


def test_pinned_memories_count_wherever_they_stand(open_mem: Callable[..., Memotherm], workspace: Path) -> None:
    """Writing a pinned memory into a note does not make room for another one."""
    from memotherm.errors import LimitReached

    mem = open_mem(settings={"max_pinned": 1})
    pinned = mem.remember("The one pinned fact", priority="pinned")
    mem.notes(workspace).export(pinned.id)

    with pytest.raises(LimitReached):
        mem.remember("Another one", priority="pinned")
    assert mem.update(pinned.id, tags=["x"]).tags == ("x",)


def test_a_nested_item_is_a_memory_of_its_own(mem: Memotherm, notes: Notes, workspace: Path) -> None:
    """Its indent and its mark stay when the memory's side is kept."""
    file = workspace / "memory" / "nested.md"
    file.write_text("- outer\n  1. inner gecko\n  2. other\n- last\n")
    memory = notes.adopt("memory/nested.md", 2)
    mem.update(memory.id, content="inner gecko\nwith two lines")
    notes.resolve(memory.id, "memory")

    assert file.read_text() == (
        f"- outer\n  1. inner gecko <!-- {memory.id} -->\n     with two lines\n  2. other\n- last\n"
    )
    assert notes.conflicts() == []
    assert found(mem, "inner gecko") == [memory.id]


def test_a_list_a_thousand_levels_deep_is_indexed(notes: Notes, workspace: Path) -> None:
    """Also where an item has a memory of its own."""
    items = [f"{'  ' * level}- the otter of level {level}" for level in range(1000)]
    (workspace / "memory" / "deep.md").write_text("\n".join(items), "utf-8")

    assert "memory/deep.md" in notes.sync().added
    assert notes.search("otter level 999", 1)[0].path == "memory/deep.md"
    assert notes.adopt("memory/deep.md", 1000).content == "the otter of level 999"
