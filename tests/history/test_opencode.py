"""Sessions of opencode: databases of versions 1 and 2, and the files before."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memotherm.history.records import Reading
from memotherm.history.sources import SOURCES
from tests.history.reading import read

Json = dict[str, Any]
MS = 1_793_523_600_000
VERSION_1 = """
    CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, slug TEXT, directory TEXT, title TEXT,
        version TEXT, revert TEXT, time_created INTEGER, time_updated INTEGER);
    CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
    CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER,
        time_updated INTEGER, data TEXT);
    CREATE INDEX part_message_idx ON part (message_id);
    CREATE TABLE account (id TEXT, access_token TEXT);
"""
VERSION_2 = """
    CREATE TABLE session_v2 (id TEXT PRIMARY KEY, parent_id TEXT, fork_session_id TEXT, fork_boundary TEXT,
        directory TEXT, title TEXT, revert TEXT, time_archived INTEGER, time_created INTEGER, time_updated INTEGER);
    CREATE TABLE session_message (id TEXT PRIMARY KEY, session_id TEXT, type TEXT, seq INTEGER, time_created INTEGER,
        time_updated INTEGER, data TEXT);
"""


class Store:
    """A database of opencode."""

    def __init__(self, root: Path, *schemas: str) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.path = root / "opencode.db"
        self._parts = 0
        with closing(sqlite3.connect(self.path)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript("".join(schemas))

    def add(self, table: str, **row: Any) -> None:
        values = [json.dumps(value) if isinstance(value, dict) else value for value in row.values()]
        with closing(sqlite3.connect(self.path)) as connection:
            marks = ", ".join("?" * len(row))
            connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", values)
            connection.commit()

    def session(self, name: str = "ses_1", **row: Any) -> None:
        self.add("session", **{"id": name, "directory": "/w/api", "title": "Tests", "version": "1.18.33",
                               "time_created": MS, "time_updated": MS, **row})  # fmt: skip

    def message(self, name: str, role: str, *parts: Json | str, session: str = "ses_1", **info: Any) -> None:
        self.add("message", id=name, session_id=session, data={"role": role, "time": {"created": MS}, **info})
        for part in parts:
            self._parts += 1
            data = {"type": "text", "text": part} if isinstance(part, str) else part
            row = json.dumps(data, separators=(",", ":"))
            self.add("part", id=f"prt_{self._parts:04}", message_id=name, session_id=session, data=row)


def tool(
    name: str, status: str = "completed", metadata: Json | None = None, output: str = "", **arguments: Any
) -> Json:
    state = {"status": status, "input": arguments, "output": output, "metadata": metadata or {}}
    return {"type": "tool", "tool": name, "callID": "c", "state": state}


def test_a_session_becomes_prompts_answers_commands_and_edits(tmp_path: Path) -> None:
    """A failed command is completed, with an exit code."""
    store = Store(tmp_path, VERSION_1)
    store.session()
    store.message("msg_1", "user", "run the tests")
    store.message(
        "msg_2", "assistant", {"type": "step-start"}, {"type": "reasoning", "text": "hmm"}, "Running.",
        tool("bash", metadata={"exit": 1}, output="collected 3\nNo module named 'yaml'", command="pytest -q"),
        tool("edit", filePath="/w/api/app.py"), tool("read", filePath="/w/secret.py"),
    )  # fmt: skip

    found = read("opencode", tmp_path)

    assert found.told() == [
        ("user", "run the tests"), ("assistant", "Running."), ("command", "pytest -q"), ("edit", "/w/api/app.py"),
    ]  # fmt: skip
    assert (found.records[2].failed, found.records[2].output) == (True, "No module named 'yaml'")
    assert found.records[0].time == datetime.fromtimestamp(MS / 1000, UTC)
    assert {(record.session, record.project) for record in found.records} == {("ses_1", "/w/api")}
    assert (found.reading.version, found.reading.broken) == ("1.18.33", 0)


def test_texts_that_nobody_typed_are_left_out(tmp_path: Path) -> None:
    """Synthetic and ignored parts of a prompt."""
    store = Store(tmp_path, VERSION_1)
    store.session()
    hidden = [{"type": "text", "text": "file contents", key: True} for key in ("synthetic", "ignored")]
    store.message("msg_1", "user", hidden[0], "why?", hidden[1])

    assert read("opencode", tmp_path).texts("user") == ["why?"]


def test_reverted_messages_are_left_out(tmp_path: Path) -> None:
    """From the named one on."""
    store = Store(tmp_path, VERSION_1)
    store.session(revert={"messageID": "msg_3"})
    for number, said in enumerate(("one", "1", "two", "2"), 1):
        store.message(f"msg_{number}", "user" if number % 2 else "assistant", said)

    assert [record.text for record in read("opencode", tmp_path).records] == ["one", "1"]


def test_a_subagent_has_its_parent(tmp_path: Path) -> None:
    """The answer of a compaction, which repeats what was said, is left out."""
    store = Store(tmp_path, VERSION_1)
    store.session("ses_2", parent_id="ses_1", title="New session - 2026-11-01")
    store.message("msg_1", "assistant", "They ran the tests.", session="ses_2", summary=True)
    store.message("msg_2", "assistant", "They pass.", session="ses_2")

    (record,) = read("opencode", tmp_path).records

    assert (record.session, record.parent, record.text) == ("ses_2", "ses_1", "They pass.")


def fill_version_2(store: Store, name: str = "ses_1", **row: Any) -> None:
    store.add("session_v2", **{"id": name, "directory": "/w/api", "title": "Tests 2", "time_created": MS,
                               "time_updated": MS + 5, **row})  # fmt: skip
    state = {"status": "error", "input": {"command": "make"}, "error": {"message": "make: error 2"}}
    answer = [{"type": "reasoning", "text": "hmm"}, {"type": "text", "text": "Ok."}]
    call = {"type": "tool", "id": "t", "name": "shell", "state": state}
    rows: list[tuple[str, str, Json]] = [
        ("msg_1", "user", {"text": "run the tests"}),
        ("msg_0", "model-switched", {}),
        ("msg_2", "assistant", {"content": [*answer, call]}),
        ("msg_3", "synthetic", {"text": "file contents"}),
        ("msg_4", "shell", {"command": "ls"}),
        ("msg_5", "compaction", {"summary": "They ran the tests."}),
        ("msg_6", "hologram", {}),
    ]  # fmt: skip
    for seq, (message, kind, data) in enumerate(rows):
        store.add("session_message", id=message, session_id=name, type=kind, seq=seq, time_created=MS, data=data)


def test_version_2_is_read_in_its_order(tmp_path: Path) -> None:
    """Also without the tables of version 1."""
    store = Store(tmp_path, VERSION_2)
    fill_version_2(store)

    found = read("opencode", tmp_path)

    assert found.told() == [
        ("user", "run the tests"), ("assistant", "Ok."), ("command", "make"), ("command", "ls"),
    ]  # fmt: skip
    assert (found.records[2].failed, found.records[2].output) == (True, "make: error 2")
    assert found.reading.unknown == {"hologram": 1}


def test_version_2_wins_over_version_1_and_keeps_the_ids(tmp_path: Path) -> None:
    """A session that only version 1 has is read from there."""
    store = Store(tmp_path, VERSION_1, VERSION_2)
    store.session()
    store.message("msg_1", "user", "run the tests, stale")
    before = read("opencode", tmp_path).records[0]
    store.session("ses_old")
    store.message("msg_9", "user", "only in version 1", session="ses_old")
    fill_version_2(store)

    found = read("opencode", tmp_path)

    assert sorted(found.texts("user")) == ["only in version 1", "run the tests"]
    assert before.id in {record.id for record in found.records}


def test_a_session_that_version_2_has_without_messages_is_read_from_version_1(tmp_path: Path) -> None:
    """Its tables may be there and empty."""
    store = Store(tmp_path, VERSION_1, VERSION_2)
    store.session()
    store.message("msg_1", "user", "hi")
    store.add("session_v2", id="ses_1", directory="/w/api", time_updated=MS)

    assert read("opencode", tmp_path).texts("user") == ["hi"]


def test_files_of_earlier_versions_are_read_unless_the_database_has_them(tmp_path: Path) -> None:
    """By the id of the session."""
    storage = tmp_path / "storage"

    def write(path: str, value: Json) -> None:
        (storage / path).parent.mkdir(parents=True, exist_ok=True)
        (storage / path).write_text(json.dumps(value), "utf-8")

    for name in ("ses_1", "ses_7"):
        write(f"session/p/{name}.json", {"id": name, "directory": "/w/old", "title": "Old", "time": {"created": MS}})
        write(f"message/{name}/msg_{name}.json", {"id": f"msg_{name}", "role": "user", "time": {"created": MS}})
        write(f"part/msg_{name}/prt_1.json", {"type": "text", "text": f"from a file of {name}"})
    store = Store(tmp_path, VERSION_1)
    store.session()
    store.message("msg_1", "user", "from the database")

    found = read("opencode", tmp_path)

    assert found.texts("user") == ["from the database", "from a file of ses_7"]
    assert {record.project for record in found.records if record.session == "ses_7"} == {"/w/old"}


def test_the_state_of_a_session_is_the_time_of_its_update(tmp_path: Path) -> None:
    """Another session of the same file does not change it."""
    store = Store(tmp_path, VERSION_1)
    store.session()
    (before,) = SOURCES["opencode"].transcripts(tmp_path)
    store.session("ses_2", time_updated=MS + 1)

    first, second = SOURCES["opencode"].transcripts(tmp_path)

    assert first.changed == before.changed
    assert second.changed != first.changed
    assert first.size + second.size == pytest.approx(store.path.stat().st_size, abs=1)


def test_a_broken_part_stops_nothing_else(tmp_path: Path) -> None:
    """It is counted."""
    store = Store(tmp_path, VERSION_1)
    store.session()
    store.message("msg_1", "user", "hi")
    store.add("part", id="prt_9", message_id="msg_1", session_id="ses_1", data='{"type":"text","te')

    found = read("opencode", tmp_path)

    assert (found.texts("user"), found.reading.broken) == (["hi"], 1)


@pytest.mark.parametrize("schema", ["CREATE TABLE session_v9 (id TEXT);", "CREATE TABLE session (name TEXT);"])
def test_a_database_of_an_unknown_version_is_named(tmp_path: Path, schema: str) -> None:
    """It is no empty history."""
    Store(tmp_path, schema)

    assert read("opencode", tmp_path).reading.problem


def test_a_damaged_database_is_named(tmp_path: Path) -> None:
    """Whether it is cut off or overwritten."""
    store = Store(tmp_path, VERSION_1)
    data = store.path.read_bytes()
    store.path.write_bytes(data[:100] + b"x" * 5000)

    assert read("opencode", tmp_path).reading.problem


def test_reading_leaves_nothing_beside_the_database(tmp_path: Path) -> None:
    """No log, no index of it, and the file itself is as it was."""
    store = Store(tmp_path, VERSION_1)
    store.session()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    read("opencode", tmp_path)

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_rows_that_are_only_in_the_log_are_read(tmp_path: Path) -> None:
    """While the program has the database open."""
    store = Store(tmp_path, VERSION_1)
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("INSERT INTO session (id, directory, time_updated) VALUES ('ses_1', '/w', 1)")
        connection.execute(
            "INSERT INTO message (id, session_id, data) VALUES ('msg_1', 'ses_1', '{\"role\":\"user\"}')"
        )
        connection.execute(
            'INSERT INTO part (id, message_id, data) VALUES (\'p\', \'msg_1\', \'{"type":"text","text":"hi"}\')'
        )
        connection.commit()
        assert read("opencode", tmp_path).texts("user") == ["hi"]


def test_links_are_not_followed(tmp_path: Path) -> None:
    """Neither to a database nor to a folder of messages."""
    outside = Store(tmp_path / "outside", VERSION_1)
    outside.session()
    home = tmp_path / "home"
    for name in ("session/p", "message"):
        (home / "storage" / name).mkdir(parents=True)
    (home / "opencode.db").symlink_to(outside.path)
    (home / "storage" / "session" / "p" / "ses_1.json").write_text('{"id":"ses_1","title":"T"}', "utf-8")
    (tmp_path / "outside" / "msg_1.json").write_text('{"id":"msg_1","role":"user"}', "utf-8")
    (home / "storage" / "message" / "ses_1").symlink_to(tmp_path / "outside")

    found = read("opencode", home)

    assert found.records == []


def test_a_session_that_is_gone_is_no_error(tmp_path: Path) -> None:
    """Between listing and reading, the whole file too."""
    store = Store(tmp_path, VERSION_1)
    store.session()
    (found,) = SOURCES["opencode"].transcripts(tmp_path)
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("DELETE FROM session")
        connection.commit()
    reading = Reading()

    assert list(SOURCES["opencode"].read(found, reading)) == []
    store.path.unlink()
    assert list(SOURCES["opencode"].read(found, reading)) == []
    assert reading.problem
