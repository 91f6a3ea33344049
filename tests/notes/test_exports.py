"""Importing the exports of other programs, with their times, users and ids."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import memotherm
from memotherm import Memotherm, Trust
from memotherm.testing import FakeClock


@pytest.fixture
def mem(clock: FakeClock, tmp_path: Path) -> Iterator[Memotherm]:
    """A memory in a file; how the drafts are stored is tested on both stores elsewhere."""
    with memotherm.open(tmp_path / "memory.db", embedder="none", clock=clock) as mem:
        yield mem
        assert mem.check() == []


def told(mem: Memotherm) -> dict[str, str]:
    return {memory.content: memory.kind for memory in mem.find(limit=500)}


#: What each program exports, and the content, kind, tags, metadata, scope and time that it becomes.
EXPORTS: dict[str, tuple[object, tuple[Any, ...]]] = {
    "mem0": (
        {
            "results": [
                {
                    "id": "a1", "memory": "Likes tea", "hash": "x", "metadata": {"mood": "calm"}, "user_id": "ana",
                    "agent_id": "cook", "run_id": "r1", "categories": ["food"],
                    "created_at": "2025-03-01T02:00:00-08:00", "updated_at": None,
                },
                {"id": "a2", "memory": None},
                {"id": "a3", "memory": "gone", "expiration_date": "2025-01-01"},
            ]
        },
        ("Likes tea", "fact", ("food",), {"mood": "calm", "run_id": "r1", "original_id": "a1"},
         {"user": "ana", "agent": "cook"}),
    ),
    "claude-mem": (
        {
            "observations": [{
                "id": 7, "project": "shop", "type": "decision", "title": "Likes tea", "narrative": None, "text": None,
                "facts": "[]", "concepts": '["food"]', "files_modified": '["tea.py"]',
                "created_at_epoch": 1740823200000,
            }],
            "summaries": [],
        },
        ("Likes tea", "decision", ("decision", "food"), {"original_id": "7", "files": ["tea.py"]}, {"project": "shop"}),
    ),
    "hindsight": (
        {"items": [{
            "id": "a1", "text": "Likes tea", "fact_type": "world", "context": "kitchen", "tags": ["food"],
            "mentioned_at": "2025-03-01T10:00:00Z", "entities": "",
        }], "total": 1},
        ("Likes tea", "fact", ("world", "food"), {"context": "kitchen", "original_id": "a1"}, {}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", EXPORTS)
def test_the_export_of_another_program(kind: str, mem: Memotherm, tmp_path: Path) -> None:
    """Times, users, projects and ids are kept, and a second import stores nothing twice."""
    data, (content, sort, tags, metadata, scope) = EXPORTS[kind]
    export = tmp_path / "export.json"
    export.write_text(json.dumps(data))
    first, second = mem.store.import_(kind, export), mem.store.import_(kind, export)

    (memory,) = mem.scoped(**scope).find()
    assert (memory.content, memory.kind, memory.tags, memory.metadata) == (content, sort, tags, metadata)
    assert dict(memory.scope.items()) == scope
    assert memory.created_at == datetime(2025, 3, 1, 10, tzinfo=UTC)
    assert (first.stored, second.stored, second.duplicates) == (1, 0, 1)
    assert len(first.skipped) == (2 if kind == "mem0" else 0)


@pytest.mark.parametrize(
    ("kind", "entry"),
    [
        ("hindsight", [{"id": "h1", "text": None}]),
        ("mcp-memory", {"type": "entity", "name": "Ada", "entityType": "person", "observations": [None]}),
        ("mcp-memory", {"type": "relation", "from": "Ada", "relationType": None, "to": "tea"}),
        ("jsonl", {"content": "It was forgotten", "retention": "deleted"}),
    ],
)
def test_an_entry_without_text_or_that_was_deleted_is_not_stored(
    kind: str, entry: object, mem: Memotherm, tmp_path: Path
) -> None:
    """It is skipped with a reason, not stored as the word None or as an active memory."""
    (tmp_path / "export.jsonl").write_text(json.dumps(entry))
    imported = mem.store.import_(kind, tmp_path / "export.jsonl")

    assert (imported.stored, len(imported.skipped)) == (0, 1)
    assert told(mem) == {}


@pytest.mark.parametrize("kind", ["mem0", "hindsight"])
def test_one_tag_as_text_is_one_tag(kind: str, mem: Memotherm, tmp_path: Path) -> None:
    """Its letters are no tags."""
    entry = {"memory": "Likes tea", "text": "Likes tea", "tags": "food", "categories": "food"}
    (tmp_path / "export.json").write_text(json.dumps([entry]))
    mem.store.import_(kind, tmp_path / "export.json")

    assert [memory.tags for memory in mem.find()] == [("food",)]


def test_an_export_keeps_trust_and_times(mem: Memotherm, clock: FakeClock, tmp_path: Path) -> None:
    """A fact that was verified, bounded in time or taken from the web is so after it has moved to another store."""
    memory = mem.remember("Ana keeps the keys")
    clock.advance(days=30)
    verified = replace(mem.verify(memory.id), trust=Trust.WEB, valid_from=clock.now, valid_until=clock.now)
    (tmp_path / "export.jsonl").write_text(json.dumps(verified.as_dict()))
    with memotherm.open(tmp_path / "other.db", embedder="none", clock=clock) as other:
        other.store.import_("jsonl", tmp_path / "export.jsonl")
        (copy,) = other.find()

    assert (copy.created_at, copy.verified_at) == (verified.created_at, clock.now)
    assert (copy.trust, copy.valid_from, copy.valid_until) == ("web", clock.now, clock.now)


def test_the_database_of_claude_mem(mem: Memotherm, tmp_path: Path) -> None:
    """It is read without an export, and not changed."""
    with closing(sqlite3.connect(tmp_path / "claude-mem.db")) as database, database:
        database.execute("CREATE TABLE observations (id INTEGER, project TEXT, text TEXT, type TEXT, created_at TEXT)")
        database.execute("CREATE TABLE session_summaries (id INTEGER, project TEXT, learned TEXT, created_at TEXT)")
        database.execute("INSERT INTO observations VALUES (1, 'shop', 'The port is 5433', 'discovery', '2025-03-01')")
        database.execute("INSERT INTO session_summaries VALUES (1, 'shop', 'Tea sells well', '2025-03-01')")
    before = (tmp_path / "claude-mem.db").read_bytes()
    mem.store.import_("claude-mem", tmp_path)

    assert told(mem.scoped(project="shop")) == {"The port is 5433": "fact", "Learned: Tea sells well": "context"}
    assert (tmp_path / "claude-mem.db").read_bytes() == before


def test_an_import_reports_its_progress_and_keeps_what_is_done(mem: Memotherm, tmp_path: Path) -> None:
    """After an interruption the same call goes on."""
    (tmp_path / "all.jsonl").write_text("".join(f'{{"content": "fact number {n}"}}\n' for n in range(450)))

    def interrupt(done: int, total: int) -> None:
        if done == 400:
            raise KeyboardInterrupt(total)

    with pytest.raises(KeyboardInterrupt, match="450"):
        mem.store.import_("jsonl", tmp_path / "all.jsonl", interrupt)
    rest = mem.store.import_("jsonl", tmp_path / "all.jsonl")
    assert (rest.stored, rest.duplicates) == (50, 400)
