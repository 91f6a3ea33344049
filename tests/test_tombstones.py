"""What was forgotten, superseded, corrected or purged does not come back unless somebody asks for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from memotherm import Memotherm
from memotherm.errors import Forbidden

OLD, NEW = "Ana's phone number is 650-555-0177", "Ana's phone number is 650-555-0199"
WAYS: dict[str, Callable[[Memotherm, str], object]] = {
    "forget": lambda mem, old: mem.forget(old),
    "forget with": lambda mem, old: mem.remember_many([{"content": NEW}], forget=[old]),
    "bulk": lambda mem, _: mem.bulk.forget(kind="fact", contains="0177"),
    "supersede": lambda mem, old: mem.remember(NEW, supersedes=old),
    "update": lambda mem, old: mem.update(old, content=NEW),
    "purge": lambda mem, old: mem.purge(old),
    "undo": lambda mem, old: mem.undo(mem.get(old).version),
}


def held(mem: Memotherm) -> list[str]:
    """Return the active contents that say the old number, in whatever form."""
    return [each.content for each in mem.find() if "0177" in each.content.replace(" ", "")]


@pytest.mark.parametrize("way", WAYS)
def test_it_does_not_come_back_by_itself(way: str, open_mem: Callable[..., Memotherm], tmp_path: Path) -> None:
    """Neither by a capture, nor by an import of another program or of an older export, nor by a note."""
    mem = open_mem(tmp_path / "memory.db")
    old = mem.remember(OLD)
    lines = [old.as_dict(), {**old.as_dict(), "id": "mem_" + "0" * 26}, {"content": OLD.upper()}]
    (tmp_path / "older.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    (tmp_path / "MEMORY.md").write_text(f"# People\n\n- {OLD}\n- Ben lives in Rome\n")
    WAYS[way](mem, old.id)
    mem.store.import_("jsonl", tmp_path / "older.jsonl")
    skipped = mem.notes(tmp_path).sync().skipped
    captured = [
        mem.capture(text)
        for text in (
            OLD,
            f"Note: {OLD}, says Ben.",
            "ANA'S  phone\u200b number is (650) 555 0177!",
            "Anas phone number is 6505550177",
        )
    ]

    assert held(mem) == []
    assert [each.status for each in captured] == ["skipped", "stored", "skipped", "skipped"]
    assert captured[1].memory.content == "Note: [forgotten], says Ben."  # type: ignore[union-attr]
    assert [each.path for each in skipped] == ["MEMORY.md"]
    assert mem.find(contains="Ben lives in Rome")


def test_whoever_asks_has_it_back(mem: Memotherm) -> None:
    """By `remember`, which says so in the ledger, by `restore`, and by an undo; then it is captured as before."""
    old = mem.remember(OLD)
    mem.forget(old.id)
    assert mem.capture(OLD).memory is None
    again = mem.remember(OLD)
    assert "after it was forgotten" in mem.history(again.id)[0].why
    assert mem.capture(f"She said: {OLD}").memory.content.endswith(OLD)  # type: ignore[union-attr]
    mem.forget(again.id)
    mem.restore(again.id)
    changed = mem.update(again.id, content=NEW)
    assert mem.capture(f"He said: {OLD}").memory.content == "He said: [forgotten]"  # type: ignore[union-attr]
    mem.undo(changed.version)
    assert mem.capture(f"They said: {OLD}").memory.content.endswith(OLD)  # type: ignore[union-attr]


@pytest.mark.parametrize("way", WAYS)
def test_only_a_person_stores_again_what_a_person_has_taken_away(way: str, mem: Memotherm) -> None:
    """An agent can neither remember, write, restore nor undo it."""
    other, old = mem.remember("Ben lives in Rome"), mem.by("person").remember(OLD)
    WAYS[way](mem.by("person"), old.id)
    tries: list[Callable[[], object]] = [
        lambda: mem.remember(OLD.upper()),
        lambda: mem.remember_many([{"content": "Ana likes tea"}, {"content": f"Note: {OLD}"}]),
        lambda: mem.update(other.id, content=OLD),
    ]
    if way != "purge":
        tries.append(lambda: mem.undo(mem.history(old.id)[-1].seq))
    if mem.find(retention="deleted"):
        tries.append(lambda: mem.restore(old.id))
    for attempt in tries:
        with pytest.raises(Forbidden, match="person"):
            attempt()
    assert held(mem) == []
    assert not mem.find(contains="tea")
    again = mem.by("person").remember(OLD)
    assert "after it was forgotten" in mem.history(again.id)[0].why
    assert mem.remember(OLD).id == again.id


def test_what_still_holds_is_not_forgotten(mem: Memotherm) -> None:
    """A correction of one sentence keeps the others, and a longer form of a memory keeps the shorter."""
    memory = mem.remember("Ana lives in Rome. She works at the harbour.")
    mem.update(memory.id, content="Ana lives in Rome. She works at the airport.")
    tea = mem.remember("Ben likes green tea")
    mem.remember("Ben likes green tea and coffee", supersedes=tea.id)
    short = mem.remember("tea time")
    mem.forget(short.id)

    text = "Today: Ana lives in Rome. She works at the harbour. Ben likes green tea. It is tea time somewhere."
    assert mem.capture(text).memory.content == text.replace("She works at the harbour.", "[forgotten]")  # type: ignore[union-attr]


def test_a_forgotten_passage_of_a_note_stays_out_when_another_line_changes(mem: Memotherm, tmp_path: Path) -> None:
    """The lines of the passage are marked one by one; headings are not."""
    file = tmp_path / "MEMORY.md"
    file.write_text("# The harbour of Rome\n\nThe gate code is 4711.\nThe boats leave at dawn.\n")
    notes = mem.notes(tmp_path)
    notes.sync()
    mem.purge(mem.find(kind="note")[0].id)
    file.write_text(
        "# The harbour of Rome\n\nThe gate code is 4711.\nThe boats leave at dawn.\nThe cafe has good tea.\n"
    )
    (skipped,) = notes.sync().skipped

    (memory,) = mem.find(kind="note")
    assert memory.content == "# The harbour of Rome\n\n[forgotten]\nThe cafe has good tea."
    assert "lines" in skipped.why
    assert notes.sync().skipped == ()
