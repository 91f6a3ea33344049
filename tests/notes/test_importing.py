"""Importing what other programs keep: entries as memories, nothing twice, nothing silently dropped."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memotherm import Memotherm
from memotherm.errors import InvalidInput, NotFound
from memotherm.notes.imports import KINDS
from memotherm.testing import FakeClock


def told(mem: Memotherm) -> dict[str, str]:
    return {memory.content: memory.kind for memory in mem.find(limit=500)}


def test_importing_again_brings_nothing_twice(mem: Memotherm, tmp_path: Path) -> None:
    """And tells so."""
    export = tmp_path / "all.json"
    export.write_text(json.dumps([{"memory": text} for text in ("One", "Two of them", "Two of them")]))
    first, second = mem.store.import_("mem0", export), mem.store.import_("mem0", export)

    assert (first.stored, first.duplicates) == (2, 1)
    assert (second.stored, second.duplicates) == (0, 3)
    assert str(second) == "0 memories from 1 file (3 known already)"


def test_the_reference_memory_server(mem: Memotherm, tmp_path: Path) -> None:
    """Observations and relations as sentences; a line that is neither is named."""
    file = tmp_path / "memory.jsonl"
    entries = [
        {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["Writes Rust", "Lives in Kyiv"]},
        {"type": "entity", "name": "Acme", "entityType": "company", "observations": []},
        {"type": "relation", "from": "Ada", "to": "Acme", "relationType": "works_at"},
        {"type": "spell"},
    ]
    file.write_text("".join(json.dumps(entry) + "\n" for entry in entries) + "{broken\n")
    done = mem.store.import_("mcp-memory", file)

    assert set(told(mem)) == {"Ada: Writes Rust", "Ada: Lives in Kyiv", "Acme is a company", "Ada works at Acme"}
    assert [each.path for each in done.skipped] == ["memory.jsonl#L4", "memory.jsonl#L5"]
    assert mem.store.import_("mcp-memory", tmp_path).duplicates == 4


def test_lines_that_hold_no_memory_are_named(mem: Memotherm, tmp_path: Path) -> None:
    """What stands in the others is kept."""
    entries: list[object] = [{"content": "kept"}, {"content": 5}, {"content": " "}, {"tier": "hot"}, ["content"]]
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    done = mem.store.import_("jsonl", tmp_path / "all.jsonl")

    assert set(told(mem)) == {"kept"}
    assert [each.path for each in done.skipped] == [f"all.jsonl#L{line}" for line in (2, 3, 4, 5)]
    assert "its content is empty, or no text" in done.skipped[0].why


def test_an_entry_that_cannot_be_stored_does_not_end_the_import(mem: Memotherm, tmp_path: Path) -> None:
    """Its line is named with the reason, and all others are stored, before it and after it."""
    entries: list[dict[str, object]] = [{"content": f"fact number {number}"} for number in range(300)]
    entries[10] = {"content": "a fact", "kind": "Not A Kind!"}
    entries[250] = {"content": "x" * 2_000_000}
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    done = mem.store.import_("jsonl", tmp_path / "all.jsonl")

    assert (done.stored, done.duplicates) == (298, 0)
    assert [each.path for each in done.skipped] == ["all.jsonl#L11", "all.jsonl#L251"]
    assert "kind" in done.skipped[0].why
    assert str(done) == "298 memories from 1 file (0 known already, 2 skipped)"


def test_injected_blocks_are_not_imported(mem: Memotherm, tmp_path: Path) -> None:
    """What was recalled is not remembered again."""
    block = "<memotherm-memory>\n- recalled\n</memotherm-memory>"
    export = tmp_path / "all.json"
    export.write_text(json.dumps({"observations": [{"title": "kept", "text": block}, {"text": block}]}))
    mem.store.import_("claude-mem", export)

    assert "kept" in told(mem)
    assert all("memotherm-memory" not in content for content in told(mem))


def test_what_cannot_be_imported_says_why(mem: Memotherm, tmp_path: Path) -> None:
    """An unknown kind, a path that is not there."""
    with pytest.raises(InvalidInput, match=f"import one of {', '.join(KINDS)}"):
        mem.store.import_("mem1", tmp_path)
    with pytest.raises(NotFound, match="does not exist"):
        mem.store.import_("mem0", tmp_path / "nowhere")
    (tmp_path / "other.json").write_text('{"unknown": true}')
    for kind in ("mem0", "claude-mem", "hindsight"):
        assert mem.store.import_(kind, tmp_path / "other.json").stored == 0


def test_an_import_restores_what_was_archived_as_archived(
    open_mem: Callable[..., Memotherm], clock: FakeClock, tmp_path: Path
) -> None:
    """Archived memories of an export stay archived, none is stored twice, and the expiry follows the given clock."""
    clock.now = datetime(2031, 5, 1, tzinfo=UTC)
    entries = [
        {"content": "an active otter", "retention": "active", "created_at": "2030-01-01T00:00:00+00:00"},
        {"content": "an archived otter", "retention": "archived"},
        {
            "content": "an archived and expired otter",
            "retention": "archived",
            "expires_at": "2031-04-01T00:00:00+00:00",
        },
        {"content": "an expired otter", "expires_at": "2031-04-30T00:00:00+00:00"},
        {"content": "an otter for a day", "expires_at": "2031-05-02T00:00:00+00:00"},
    ]
    export = tmp_path / "all.jsonl"
    export.write_text("".join(json.dumps(entry) + "\n" for entry in entries), "utf-8")
    mem = open_mem(tmp_path / "target.db")
    first, again = mem.store.import_("jsonl", export), mem.store.import_("jsonl", export)

    archived = {"an archived otter", "an archived and expired otter"}
    assert (first.stored, again.stored, again.duplicates, len(first.skipped)) == (4, 0, 4, 1)
    assert {memory.content for memory in mem.find(retention="archived")} == archived
    assert [memory.created_at for memory in mem.find(limit=9)][-1] == datetime(2030, 1, 1, tzinfo=UTC)
    assert {memory.content for memory in mem.find()} == {"an active otter", "an otter for a day"}
    assert {hit.memory.content for hit in mem.recall("otter")} == {"an active otter", "an otter for a day"}
    clock.advance(days=2)
    assert {memory.content for memory in mem.find()} == {"an active otter"}
    restored = mem.restore(next(iter(mem.find(retention="archived"))).id)
    assert restored.content in {hit.memory.content for hit in mem.recall("archived otter")}
