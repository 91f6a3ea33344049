"""Sessions of OpenClaw and of pi."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memotherm.history.sources import SOURCES
from tests.history.reading import read, write_lines

Json = dict[str, Any]
HEADER: Json = {"type": "session", "id": "o1", "timestamp": "2026-11-01T09:00:00Z", "cwd": "/w/api"}


def message(name: str, parent: str | None, role: str, *content: Json | str, **fields: Any) -> Json:
    blocks = [{"type": "text", "text": each} if isinstance(each, str) else each for each in content]
    return {"type": "message", "id": name, "parentId": parent, "timestamp": "2026-11-01T09:00:05Z",
            "message": {"role": role, "content": blocks, **fields}}  # fmt: skip


def file_of(root: Path, name: str = "o1") -> Path:
    return root / "agents" / "main" / "sessions" / f"{name}.jsonl"


def store(root: Path, *entries: Json | str, session: str = "o1") -> Path:
    path = root / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS transcript_events (session_id TEXT, seq INTEGER, event_json TEXT)"
        )
        for seq, entry in enumerate(entries):
            data = entry if isinstance(entry, str) else json.dumps(entry)
            connection.execute("INSERT INTO transcript_events VALUES (?, ?, ?)", (session, seq, data))
        connection.commit()
    return path


CHAT = [
    HEADER,
    message("u", None, "user", "run the tests"),
    message("a", "u", "assistant", {"type": "thinking", "thinking": "hmm"}, "Running.",
            {"type": "toolCall", "id": "c", "name": "exec", "arguments": {"command": "pytest -q"}}),
    message("r", "a", "toolResult", "collected 3\nNo module named 'yaml'", toolCallId="c", isError=True),
    {"type": "compaction", "id": "k", "parentId": "r", "timestamp": "2026-11-01T09:01:00Z", "summary": "They ran."},
    message("z", "k", "user", "thanks"),
]  # fmt: skip
TOLD = [
    ("user", "run the tests"), ("assistant", "Running."), ("command", "pytest -q"), ("user", "thanks"),
]  # fmt: skip


def test_a_file_becomes_prompts_answers_and_commands(tmp_path: Path) -> None:
    """With the folder of the header."""
    write_lines(file_of(tmp_path), CHAT)

    found = read("openclaw", tmp_path)

    assert found.told() == TOLD
    assert (found.records[2].failed, found.records[2].output) == (True, "No module named 'yaml'")
    assert found.records[0].time == datetime(2026, 11, 1, 9, 0, 5, tzinfo=UTC)
    assert {(record.session, record.project) for record in found.records} == {("o1", "/w/api")}


def test_a_database_has_the_same_lines(tmp_path: Path) -> None:
    """A broken one is counted."""
    store(tmp_path, *CHAT, "{broken")

    found = read("openclaw", tmp_path)

    assert (found.told(), found.reading.broken) == (TOLD, 1)


def test_a_session_in_a_file_and_in_the_database_is_read_once(tmp_path: Path) -> None:
    """The file may have the older lines, and the database the newer ones."""
    write_lines(file_of(tmp_path), CHAT[:4])
    store(tmp_path, *CHAT[1:])

    found = read("openclaw", tmp_path)

    assert found.told() == TOLD
    assert len(found.transcripts) == 1


def test_a_branch_that_was_left_is_not_read(tmp_path: Path) -> None:
    """The last entry decides; entries without parents are all read."""
    tree = [
        HEADER,
        message("a", None, "user", "hello"),
        message("b", "a", "user", "left"),
        message("c", "a", "user", "kept"),
    ]
    write_lines(file_of(tmp_path), tree)
    assert read("openclaw", tmp_path).texts("user") == ["hello", "kept"]

    write_lines(file_of(tmp_path), [HEADER, *({**entry, "parentId": None} for entry in tree[1:])])
    assert read("openclaw", tmp_path).texts("user") == ["hello", "left", "kept"]


def test_prompts_of_the_program_are_left_out(tmp_path: Path) -> None:
    """Its heartbeat and its timer."""
    said = ("Read HEARTBEAT.md if it exists", "[cron:1 daily] Do it.", "hello")
    write_lines(
        file_of(tmp_path), [HEADER, *(message(str(number), None, "user", text) for number, text in enumerate(said))]
    )

    assert read("openclaw", tmp_path).texts("user") == ["hello"]


def test_copies_of_files_are_not_listed(tmp_path: Path) -> None:
    """Checkpoints, and what was deleted or reset."""
    for name in ("o1.checkpoint.2", "o1.deleted.2026", "o1.reset.2026", "o1.bak"):
        write_lines(file_of(tmp_path, name), CHAT)

    assert list(SOURCES["openclaw"].transcripts(tmp_path)) == []


def test_a_copy_of_a_session_has_the_same_ids(tmp_path: Path) -> None:
    """A fork begins with the entries of the original."""
    write_lines(file_of(tmp_path / "1"), CHAT)
    write_lines(file_of(tmp_path / "2", "o2"), [{**HEADER, "id": "o2"}, *CHAT[1:]])

    first, second = (read("openclaw", tmp_path / name) for name in ("1", "2"))

    assert [record.id for record in first.records] == [record.id for record in second.records]


def test_sessions_of_pi_are_read(tmp_path: Path) -> None:
    """From its own folder."""
    write_lines(tmp_path / ".pi" / "agent" / "sessions" / "--w-api--" / "2026_o1.jsonl", CHAT)
    (root,) = SOURCES["openclaw"].roots({}, tmp_path)

    assert read("openclaw", root).told() == TOLD


def test_an_unknown_database_is_named(tmp_path: Path) -> None:
    """It is no empty history."""
    path = store(tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE transcript_events RENAME TO events_v9")

    assert read("openclaw", tmp_path).reading.problem == "it has none of the known tables"


def test_a_cycle_of_parents_is_counted(tmp_path: Path) -> None:
    """The entries in it are read once."""
    write_lines(file_of(tmp_path), [HEADER, message("u", "a", "user", "hello"), message("a", "u", "assistant", "Hi.")])

    found = read("openclaw", tmp_path)

    assert (found.told(), found.reading.broken) == ([("user", "hello"), ("assistant", "Hi.")], 1)
