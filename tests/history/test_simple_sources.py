"""Cline, Roo, Aider, Goose and Hermes."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memotherm.history.sources import SOURCES
from tests.history.reading import read, write_lines

Json = dict[str, Any]
MS = 1_793_523_600_000
BEGUN = datetime.fromtimestamp(MS / 1000, UTC)


def text(said: str) -> Json:
    return {"type": "text", "text": said}


def write_json(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), "utf-8")
    return path


def database(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)


# Cline and Roo


def test_a_session_of_cline_is_read(tmp_path: Path) -> None:
    """That of the lead; other agents are told by it. A call may have several commands, each with its result."""
    call = {"type": "tool_use", "id": "t", "name": "run_commands", "input": {"commands": ["make", "make test"]}}
    edit = {"type": "tool_use", "id": "e", "name": "editor", "input": {"path": "/w/api/a.py", "new_text": "1"}}
    results = [{"query": "make", "result": "ok", "success": True}, {"result": "make: error 2", "success": False}]
    messages = [
        {"id": "1", "role": "user", "content": [text('<user_input mode="act">hi</user_input>')], "ts": MS},
        {"id": "2", "role": "assistant", "content": [text("Hello."), call], "ts": MS},
        {"id": "3", "role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": results}]},
        {"id": "4", "role": "assistant", "content": [edit], "ts": MS},
    ]
    for name, agent in (("c1", "lead"), ("c2", "helper")):
        whole = {"version": 1, "agent": agent, "sessionId": name, "origin": {"version": "3.0.65"}, "messages": messages}
        write_json(tmp_path / "sessions" / name / f"{name}.messages.json", whole)
        write_json(tmp_path / "sessions" / name / f"{name}.json", {"session_id": name, "cwd": "/w/api"})

    found = read("cline", tmp_path)

    assert found.told() == [
        ("user", "hi"), ("assistant", "Hello."), ("command", "make"), ("command", "make test"), ("edit", "/w/api/a.py"),
    ]  # fmt: skip
    assert [record.output for record in found.records if record.failed] == ["make: error 2"]
    assert {(record.session, record.time, record.project) for record in found.records} == {("c1", BEGUN, "/w/api")}
    assert [reading.problem for reading in found.readings] == ["", ""]
    assert found.readings[0].version == "3.0.65"


CALL = "<execute_command>\n<command>make</command>\n</execute_command>"
TASK = [
    {"role": "user", "content": [text("<task>\nhi\n</task>"), text("<environment_details>x</environment_details>")]},
    {"role": "assistant", "content": [text(f"<thinking>hmm</thinking>I run it.\n{CALL}")]},
    {"role": "user", "content": [text("[execute_command for 'make'] Result:\nmake: error 2")]},
    {"role": "assistant", "content": [text("<write_to_file><path>a.py</path><content>x</content></write_to_file>")]},
    {"role": "user", "content": [text("<feedback>use tabs</feedback>\n<environment_details>x</environment_details>")]},
    {"role": "assistant", "content": [text("<attempt_completion><result>Done.</result></attempt_completion>")]},
]  # fmt: skip
TOLD = [
    ("user", "hi"), ("assistant", "I run it."), ("command", "make"), ("edit", "a.py"), ("user", "use tabs"),
    ("assistant", "Done."),
]  # fmt: skip


@pytest.mark.parametrize("source", ["cline", "roo"])
def test_a_task_is_read_without_what_the_program_adds(tmp_path: Path, source: str) -> None:
    """Its time is that of its begin, its folder that of the item or of the list of tasks."""
    folder = tmp_path / "tasks" / str(MS)
    write_json(folder / "api_conversation_history.json", TASK)
    if source == "roo":
        write_json(folder / "history_item.json", {"id": str(MS), "ts": MS, "task": "hi", "workspace": "/w/api"})
    else:
        write_json(tmp_path / "state" / "taskHistory.json", [{"id": str(MS), "cwdOnTaskInitialization": "/w/api"}])

    found = read(source, tmp_path)

    assert found.told() == TOLD
    assert {(record.time, record.project) for record in found.records} == {(BEGUN, "/w/api")}


def test_cline_and_roo_have_folders_of_their_own(tmp_path: Path) -> None:
    """In the data of the editors."""
    storage = tmp_path / ".config" / "Code" / "User" / "globalStorage"
    for name in ("saoudrizwan.claude-dev", "rooveterinaryinc.roo-cline"):
        (storage / name).mkdir(parents=True)
    (tmp_path / "cline" / "data").mkdir(parents=True)

    assert SOURCES["cline"].roots({"CLINE_DIR": str(tmp_path / "cline")}, tmp_path) == [
        tmp_path / "cline" / "data", storage / "saoudrizwan.claude-dev",
    ]  # fmt: skip
    assert SOURCES["roo"].roots({}, tmp_path) == [storage / "rooveterinaryinc.roo-cline"]


# Aider


AIDER = """
# aider chat started at 2026-11-01 09:00:00

> Aider v0.86
#### fix the port
#### in app.py

I change it:

```python
#### not a prompt
> not a notice
port = 5433
```

Done.

> Applied edit to app.py
> Running pytest -q

# aider chat started at 2026-11-02 10:00:00
```
never closed

# aider chat started at 2026-11-03 10:00:00
#### thanks
"""


def test_a_history_of_aider_is_split_into_sessions(tmp_path: Path) -> None:
    """Marks in code are none, and code that is not closed ends with its session."""
    (tmp_path / ".aider.chat.history.md").write_text(AIDER, "utf-8")

    found = read("aider", tmp_path)

    answer = "I change it:\n\n```python\n#### not a prompt\n> not a notice\nport = 5433\n```\n\nDone."
    assert found.told() == [
        ("user", "fix the port\nin app.py"), ("assistant", answer), ("edit", "app.py"), ("command", "pytest -q"),
        ("assistant", "```\nnever closed"), ("user", "thanks"),
    ]  # fmt: skip
    assert len({record.session for record in found.records}) == 3
    assert found.records[0].time == datetime(2026, 11, 1, 9).astimezone(UTC)
    assert {record.project for record in found.records} == {str(tmp_path)}


def test_a_history_that_grows_keeps_its_ids(tmp_path: Path) -> None:
    """There are none in the file."""
    path = tmp_path / ".aider.chat.history.md"
    path.write_text(AIDER, "utf-8")
    before = read("aider", tmp_path)
    path.write_text(f"{AIDER}\nYou are welcome.\n#### bye\n", "utf-8")

    after = read("aider", path)

    assert [record.id for record in after.records][: len(before.records)] == [record.id for record in before.records]
    assert len({record.id for record in after.records}) == len(after.records)


def test_a_file_is_a_history_of_aider_by_its_first_lines(tmp_path: Path) -> None:
    """If it has another name."""
    notes, history = tmp_path / "notes.md", tmp_path / "old-chat.md"
    notes.write_text("# Notes\n", "utf-8")
    history.write_text(AIDER, "utf-8")

    assert read("aider", notes).transcripts == []
    assert read("aider", history).texts("user") == ["fix the port\nin app.py", "thanks"]
    assert SOURCES["aider"].roots({"AIDER_CHAT_HISTORY_FILE": str(history)}, tmp_path) == [history]


# Goose


GOOSE = """
    CREATE TABLE sessions (id TEXT PRIMARY KEY, description TEXT, working_dir TEXT, created_at TIMESTAMP,
        updated_at TIMESTAMP);
    CREATE TABLE messages (id INTEGER PRIMARY KEY, message_id TEXT, session_id TEXT, role TEXT, content_json TEXT,
        created_timestamp INTEGER);
    INSERT INTO sessions VALUES ('20261101_1', 'Greeting', '/w/api', '2026-11-01T09:00:00Z', '2026-11-01T09:00:00Z');
"""
SHELL = {"type": "toolRequest", "id": "t", "toolCall": {"status": "success", "value": {
    "name": "developer__shell", "arguments": {"command": "make"}}}}  # fmt: skip
FAILED = {"type": "toolResponse", "id": "t", "toolResult": {"status": "error", "error": "make: error 2"}}


def goose_rows(*contents: tuple[str, object]) -> str:
    values = ", ".join(
        f"('m{number}', '20261101_1', '{role}', '{json.dumps(content)}', {MS // 1000})"
        for number, (role, content) in enumerate(contents)
    )
    return f"INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp) VALUES {values};"


def test_a_session_of_goose_is_read_from_its_database(tmp_path: Path) -> None:
    """A failed call has its error; a broken message is counted."""
    rows = goose_rows(("user", [text("hi")]), ("assistant", [text("Hello."), SHELL]), ("user", [FAILED]))
    broken = (
        "INSERT INTO messages (message_id, session_id, role, content_json) VALUES ('x', '20261101_1', 'user', '{');"
    )
    database(tmp_path / "sessions.db", GOOSE + rows + broken)

    found = read("goose", tmp_path)

    assert found.told() == [("user", "hi"), ("assistant", "Hello."), ("command", "make")]
    assert (found.records[2].failed, found.records[2].output) == (True, "make: error 2")
    assert {record.project for record in found.records} == {"/w/api"}
    assert (found.records[0].time, found.reading.broken) == (BEGUN, 1)


def test_older_sessions_of_goose_are_files(tmp_path: Path) -> None:
    """Read unless the database has them."""
    for name in ("20261101_1", "20250101_1"):
        entries = [
            {"working_dir": "/w/old", "description": "Old"},
            {"role": "user", "created": 1, "content": [text(name)]},
        ]
        write_lines(tmp_path / f"{name}.jsonl", entries)
    database(tmp_path / "sessions.db", GOOSE + goose_rows(("user", [text("hi")])))

    found = read("goose", tmp_path)

    assert found.texts("user") == ["hi", "20250101_1"]


def test_the_state_of_a_session_of_goose_counts_its_messages(tmp_path: Path) -> None:
    """The time of its update alone may stay."""
    database(tmp_path / "sessions.db", GOOSE)
    (before,) = SOURCES["goose"].transcripts(tmp_path)
    database(tmp_path / "sessions.db", goose_rows(("user", [text("hi")])))

    (after,) = SOURCES["goose"].transcripts(tmp_path)

    assert before.changed != after.changed


# Hermes


def test_the_messages_of_hermes_are_read_from_all_profiles(tmp_path: Path) -> None:
    """Tools and empty messages are left out."""
    for name in (".", "profiles/work"):
        database(
            tmp_path / name / "state.db",
            f"""
            CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, timestamp REAL);
            INSERT INTO messages (session_id, role, content, timestamp) VALUES
                ('{name}', 'user', 'hi', {MS / 1000}), ('{name}', 'tool', null, {MS / 1000 + 1}),
                ('{name}', 'assistant', 'Hello.', {MS / 1000 + 2});
            """,
        )

    found = read("hermes", tmp_path)

    assert [(record.session, record.text) for record in found.records] == [
        ("profiles/work", "hi"), ("profiles/work", "Hello."), (".", "hi"), (".", "Hello."),
    ]  # fmt: skip
    assert found.records[0].time == BEGUN


@pytest.mark.parametrize(("source", "name"), [("goose", "sessions.db"), ("hermes", "state.db")])
def test_an_unknown_database_is_named(tmp_path: Path, source: str, name: str) -> None:
    """It is no empty history."""
    database(tmp_path / name, "CREATE TABLE talk (x);")

    assert read(source, tmp_path).reading.problem == "it has none of the known tables"
