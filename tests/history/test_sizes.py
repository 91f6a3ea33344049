"""Large files: the memory of a reader does not depend on their size."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memotherm.history.records import Reading
from memotherm.history.sources import SOURCES
from tests.history.reading import read, write_lines

#: Larger than a file whose entries are kept.
MB = 1_000_000


def peak(source: str, root: Path) -> tuple[int, int]:
    """Return how many records a source reads, and the most memory that this took."""
    reader = SOURCES[source]
    (transcript,) = reader.transcripts(root)
    tracemalloc.start()
    try:
        count = sum(1 for _ in reader.read(transcript, Reading()))
        return count, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def claude_code(root: Path, turns: int) -> None:
    output = "collected 300 items and an otter\n" * 1000
    entries: list[dict[str, Any]] = []

    def add(kind: str, name: str, content: object, **fields: object) -> None:
        parent = entries[-1]["uuid"] if entries else None
        entries.append({"parentUuid": parent, "isSidechain": False, "type": kind, "message": {"content": content},
                        "uuid": name, "sessionId": "s1", "cwd": "/w", **fields})  # fmt: skip

    for number in range(turns):
        name = f"t{number}"
        add("user", f"u{number}", "go on")
        add("assistant", f"a{number}", [{"type": "tool_use", "id": name, "name": "Bash", "input": {"command": "make"}}])
        result = [{"type": "tool_result", "tool_use_id": name, "content": output}]
        add("user", f"r{number}", result, toolUseResult={"stdout": output}, sourceToolAssistantUUID=f"a{number}")
    write_lines(root / "projects" / "p" / "s1.jsonl", entries)


def codex(root: Path, turns: int) -> None:
    output = "collected 300 items and an otter\n" * 1000
    entries: list[dict[str, Any]] = [{"timestamp": 1, "type": "session_meta", "payload": {"id": "t"}}]
    for number in range(turns):
        said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": f"go on {number}"}]}
        ran = {"type": "CommandExecution", "command": ["make"], "exit_code": 0, "aggregated_output": output}
        entries.append({"timestamp": 1, "type": "response_item", "payload": said})
        entries.append({"timestamp": 1, "type": "event_msg", "payload": {"type": "item_completed", "item": ran}})
    write_lines(root / "rollout-2026-11-01T09-00-00-t.jsonl", entries)


def opencode(root: Path, turns: int) -> None:
    root.mkdir(parents=True, exist_ok=True)
    state = {
        "status": "completed",
        "input": {"command": "make"},
        "output": "an otter\n" * 4000,
        "metadata": {"exit": 0},
    }
    part = json.dumps({"type": "tool", "tool": "bash", "state": state})
    with closing(sqlite3.connect(root / "opencode.db")) as connection:
        connection.executescript(
            """
            CREATE TABLE session (id TEXT, directory TEXT, time_updated INTEGER);
            CREATE TABLE message (id TEXT, session_id TEXT, data TEXT);
            CREATE TABLE part (id TEXT, message_id TEXT, data TEXT);
            CREATE INDEX part_message ON part (message_id);
            INSERT INTO session VALUES ('s1', '/w', 1);
            """
        )
        for number in range(turns):
            connection.execute("INSERT INTO message VALUES (?, 's1', ?)", (f"m{number}", '{"role":"assistant"}'))
            connection.executemany(
                "INSERT INTO part VALUES (?, ?, ?)", [(f"p{n}", f"m{number}", part) for n in range(2)]
            )
        connection.commit()


def chatgpt(root: Path, turns: int) -> None:
    root.mkdir(parents=True, exist_ok=True)
    hidden = {"author": {"role": "tool"}, "content": {"content_type": "text", "parts": ["an otter " * 5000]}}
    said = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["why?"]}}
    nodes = {"a": {"message": hidden, "parent": None}, "b": {"message": said, "parent": "a"}}
    with (
        zipfile.ZipFile(root / "export.zip", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("conversations.json", "w") as file,
    ):
        for number in range(turns):
            conversation = {"conversation_id": f"c{number}", "current_node": "b", "mapping": nodes}
            file.write(b"[" if not number else b",")
            file.write(json.dumps(conversation).encode())
        file.write(b"]")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "write"),
    [("claude-code", claude_code), ("codex", codex), ("opencode", opencode), ("chatgpt", chatgpt)],
)
def test_four_times_the_transcript_takes_the_same_memory(
    tmp_path: Path, source: str, write: Callable[[Path, int], None]
) -> None:
    """The output of tools is not held; what is held of an entry is a few hundred bytes."""
    write(tmp_path / "small", 100)
    write(tmp_path / "large", 400)

    few, less = peak(source, tmp_path / "small")
    many, more = peak(source, tmp_path / "large")

    assert many >= 4 * few > 0
    assert more < 1.5 * less + 0.5 * MB


@pytest.mark.slow
def test_a_line_of_thirty_megabytes_is_shortened_before_it_is_decoded(tmp_path: Path) -> None:
    """Its prompt keeps its beginning, up to a whole word; data without words is dropped."""
    blob, words = "A" * (20 * MB), "word " * (2 * MB)
    entry = {
        "parentUuid": None, "isSidechain": False, "type": "user", "sessionId": "s1", "uuid": "u1",
        "message": {"content": [{"type": "text", "text": f"Look: 🦦 {words}"}, {"type": "image", "data": blob}]},
    }  # fmt: skip
    path = tmp_path / "projects" / "p" / "s1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(entry, ensure_ascii=False) + "\n", "utf-8")

    count, most = peak("claude-code", tmp_path)
    (record,) = read("claude-code", tmp_path).records

    assert count == 1
    assert most < 100 * MB
    assert record.text.startswith("Look: 🦦 word word")
    assert set(record.text.split()[2:]) == {"word"}
    assert len(record.text) < 70_000


@pytest.mark.slow
def test_a_line_that_is_too_long_is_skipped_and_counted(tmp_path: Path) -> None:
    """The lines around it are read."""
    entries = [
        {"parentUuid": None, "isSidechain": False, "type": "user", "sessionId": "s1", "uuid": "u1",
         "message": {"content": "before"}},
        b'{"parentUuid":"u1","type":"user","uuid":"u2","message":{"content":"' + b"x" * (40 * MB) + b'"}}',
        {"parentUuid": "u2", "isSidechain": False, "type": "user", "sessionId": "s1", "uuid": "u3",
         "message": {"content": "after"}},
    ]  # fmt: skip
    write_lines(tmp_path / "projects" / "p" / "s1.jsonl", entries)

    _, most = peak("claude-code", tmp_path)
    found = read("claude-code", tmp_path)

    assert (found.texts("user"), found.reading.broken) == (["before", "after"], 1)
    assert most < 100 * MB


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the most memory of a process is read from /proc")
def test_a_value_of_a_database_that_is_too_long_is_not_loaded(tmp_path: Path) -> None:
    """SQLite takes memory of its own, so that of the whole process is looked at. The parts around it are read."""
    opencode(tmp_path, 2)
    with closing(sqlite3.connect(tmp_path / "opencode.db")) as connection:
        connection.execute("INSERT INTO part VALUES ('p1a', 'm0', zeroblob(?))", (200 * MB,))
        connection.execute("UPDATE part SET data = CAST(data AS TEXT) WHERE id = 'p1a'")
        connection.commit()
    program = """
import sys
from pathlib import Path
from memotherm.history.records import Reading
from memotherm.history.sources import SOURCES

(transcript,) = SOURCES["opencode"].transcripts(Path(sys.argv[1]))
reading = Reading()
count = sum(1 for _ in SOURCES["opencode"].read(transcript, reading))
most = next(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(count, reading.broken, int(most) // 1000)
"""

    done = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True)
    count, broken, most = map(int, done.stdout.split())

    assert (count, broken) == (4, 1)
    assert most < 150


@pytest.mark.slow
def test_a_hole_of_zeros_is_passed(tmp_path: Path) -> None:
    """A crash may leave one of any length in a file."""
    entry = json.dumps(
        {"parentUuid": None, "type": "user", "sessionId": "s1", "uuid": "u1", "message": {"content": "hi"}}
    )
    path = tmp_path / "projects" / "p" / "s1.jsonl"
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.seek(50 * MB)
        file.write(entry.encode())

    count, most = peak("claude-code", tmp_path)

    assert (count, most < 10 * MB) == (1, True)


def test_a_conversation_that_is_too_long_is_skipped_and_counted(tmp_path: Path) -> None:
    """Those around it are read."""
    said = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["kept"]}}
    small = json.dumps(
        {"conversation_id": "c", "current_node": "b", "mapping": {"b": {"message": said, "parent": None}}}
    )
    large = '{"mapping": {"b": ["' + 'x \\" ]' + "x" * (24 * MB) + '"]}}'
    (tmp_path / "conversations.json").write_text(f"[{small}, {large}, {small}]", "utf-8")

    found = read("chatgpt", tmp_path)

    assert (found.texts("user"), found.reading.broken) == (["kept", "kept"], 1)
