"""Conversations of Cursor, of the editor and of the command line."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memotherm.history.sources import SOURCES
from tests.history.reading import read, write_lines

Json = dict[str, Any]
MS = 1_793_523_600_000
BEGUN = datetime.fromtimestamp(MS / 1000, UTC)


def write(
    user: Path, values: dict[str, Json | str | None], table: str = "cursorDiskKV", at: str = "globalStorage"
) -> Path:
    path = user / at / "state.vscdb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE {table} (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        rows = [(key, json.dumps(value) if isinstance(value, dict) else value) for key, value in values.items()]
        connection.executemany(f"INSERT INTO {table} VALUES (?, ?)", rows)
        connection.commit()
    return path


def composer(*bubbles: str, **fields: Any) -> Json:
    headers = [{"bubbleId": bubble, "type": 1} for bubble in bubbles]
    uri = {"fsPath": "/w/api"}
    return {"composerId": "c1", "name": "Fix", "createdAt": MS, "fullConversationHeadersOnly": headers,
            "workspaceIdentifier": {"uri": uri}, **fields}  # fmt: skip


def test_a_conversation_becomes_prompts_answers_commands_and_edits(tmp_path: Path) -> None:
    """In the order of its list."""
    command = {"name": "run_terminal_cmd", "status": "completed", "rawArgs": json.dumps({"command": "make"}),
               "result": json.dumps({"output": "make: error 2", "exitCodeV2": 2})}  # fmt: skip
    edit = {"name": "edit_file", "status": "completed", "rawArgs": json.dumps({"target_file": "app.py"})}
    refused = {"name": "run_terminal_cmd", "status": "rejected", "rawArgs": json.dumps({"command": "rm -r /"})}
    write(
        tmp_path,
        {
            "composerData:c1": composer("b2", "b1", "b3", "b4", "b5"),
            "bubbleId:c1:b1": {
                "type": 2,
                "text": "Looking.",
                "createdAt": "2026-11-01T09:05:00Z",
                "thinking": {"text": "x"},
            },
            "bubbleId:c1:b2": {"type": 1, "text": "why stale?"},
            "bubbleId:c1:b3": {"type": 2, "text": "", "toolFormerData": command},
            "bubbleId:c1:b4": {"type": 2, "text": "", "toolFormerData": edit},
            "bubbleId:c1:b5": {"type": 2, "text": "", "toolFormerData": refused},
        },
    )

    found = read("cursor", tmp_path)

    assert found.told() == [
        ("user", "why stale?"), ("assistant", "Looking."), ("command", "make"), ("edit", "app.py"),
    ]  # fmt: skip
    assert (found.records[2].failed, found.records[2].output) == (True, "make: error 2")
    assert [record.time for record in found.records[:2]] == [BEGUN, datetime(2026, 11, 1, 9, 5, tzinfo=UTC)]
    assert {(record.session, record.project) for record in found.records} == {("c1", "/w/api")}


def test_bubbles_that_are_not_listed_were_discarded(tmp_path: Path) -> None:
    """Listed ones may be gone."""
    write(
        tmp_path,
        {
            "composerData:c1": composer("b1", "gone"),
            "bubbleId:c1:b1": {"type": 1, "text": "why stale?"},
            "bubbleId:c1:b0": {"type": 1, "text": "orphan"},
        },
    )

    assert read("cursor", tmp_path).texts("user") == ["why stale?"]


def test_null_and_broken_values_stop_nothing_else(tmp_path: Path) -> None:
    """A conversation without a value is not listed, a broken one is counted."""
    write(
        tmp_path,
        {
            "composerData:c0": None,
            "composerData:c1": composer("b1", "b2", "b3"),
            "composerData:c9": "{broken",
            "bubbleId:c1:b1": None,
            "bubbleId:c1:b2": "{broken",
            "bubbleId:c1:b3": {"type": 1, "text": "hi"},
        },
    )

    found = read("cursor", tmp_path)

    assert found.texts("user") == ["hi"]
    assert [reading.broken for reading in found.readings] == [1, 1]


def test_an_older_conversation_holds_its_messages(tmp_path: Path) -> None:
    """In place of the list of their ids."""
    write(tmp_path, {"composerData:c1": composer(conversation=[{"type": 1, "text": "hi", "bubbleId": "b1"}])})

    assert read("cursor", tmp_path).texts("user") == ["hi"]


def test_a_conversation_without_a_folder_has_that_of_its_workspace(tmp_path: Path) -> None:
    """If a workspace lists it."""
    listed = {"composer.composerData": {"allComposers": [{"composerId": "c1"}]}}
    workspace = write(tmp_path, listed, table="ItemTable", at="workspaceStorage/abc").parent
    (workspace / "workspace.json").write_text('{"folder":"file:///w/site"}', "utf-8")
    bare = {"type": 1, "text": "hi"}
    write(
        tmp_path,
        {f"composerData:{name}": composer("b", workspaceIdentifier=None) for name in ("c1", "c2")}
        | {f"bubbleId:{name}:b": bare for name in ("c1", "c2")},
    )

    found = read("cursor", tmp_path)

    assert {(record.session, record.project) for record in found.records} == {("c1", "/w/site"), ("c2", "")}


def test_the_state_of_a_conversation_changes_with_it(tmp_path: Path) -> None:
    """And with no other."""
    write(tmp_path, {"composerData:c1": composer(lastUpdatedAt=1), "composerData:c2": composer(lastUpdatedAt=1)})
    before = list(SOURCES["cursor"].transcripts(tmp_path))
    write(tmp_path, {"composerData:c1": composer(lastUpdatedAt=1), "composerData:c2": composer(lastUpdatedAt=2)})

    after = list(SOURCES["cursor"].transcripts(tmp_path))

    assert [one == other for one, other in zip(before, after, strict=True)] == [True, False]


def test_a_database_without_the_table_is_named(tmp_path: Path) -> None:
    """It is no empty history; one with an empty table is."""
    write(tmp_path, {}, table="somethingElse")
    assert read("cursor", tmp_path).reading.problem == "it has none of the known tables"
    write(tmp_path, {})
    assert read("cursor", tmp_path).transcripts == []


def test_sessions_of_the_command_line_have_the_time_of_their_file(tmp_path: Path) -> None:
    """There are no others, and no results of tools."""
    path = write_lines(
        tmp_path / "projects" / "w-api" / "agent-transcripts" / "x1" / "x1.jsonl",
        [
            {"role": "user", "message": {"content": [{"type": "text", "text": "<user_query>\nwhy?\n</user_query>"}]}},
            {"role": "assistant", "message": {"content": [
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "name": "Shell", "input": {"command": "make"}},
                {"type": "tool_use", "name": "Write", "input": {"path": "/w/api/a.py"}},
                {"type": "tool_use", "name": "Read", "input": {"path": "/w/api/b.py"}},
            ]}},
        ],
    )  # fmt: skip
    os.utime(path, (MS / 1000, MS / 1000))

    found = read("cursor", tmp_path)

    assert found.told() == [("user", "why?"), ("assistant", "Looking."), ("command", "make"), ("edit", "/w/api/a.py")]
    assert {(record.session, record.time) for record in found.records} == {("x1", BEGUN)}


def test_the_folders_are_where_the_variables_say(tmp_path: Path) -> None:
    """Of the editor and of the command line."""
    for name in ("config/Cursor/User", "cli"):
        (tmp_path / name).mkdir(parents=True)
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "CURSOR_CONFIG_DIR": str(tmp_path / "cli")}

    assert SOURCES["cursor"].roots(environment, tmp_path) == [tmp_path / "config/Cursor/User", tmp_path / "cli"]
