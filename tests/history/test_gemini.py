"""Chats of Gemini CLI."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memotherm.history.sources import SOURCES
from tests.history.reading import Read, read, write_lines

Json = dict[str, Any]
HEADER: Json = {"sessionId": "g1", "projectHash": "h", "startTime": "2026-11-01T09:00:00Z", "kind": "main"}


def message(name: str, kind: str, content: Any, **fields: Any) -> Json:
    return {"id": name, "timestamp": "2026-11-01T09:00:01Z", "type": kind, "content": content, **fields}


def user(name: str, *texts: str) -> Json:
    return message(name, "user", [{"text": each} for each in texts])


def write(home: Path, *entries: Json | bytes, name: str = "session-2026-11-01-g1.jsonl") -> Path:
    return write_lines(home / ".gemini" / "tmp" / "api" / "chats" / name, entries)


def read_chat(home: Path, *entries: Json | bytes) -> Read:
    write(home, HEADER, *entries)
    return read("gemini", home / ".gemini")


def test_a_chat_becomes_prompts_answers_commands_and_edits(tmp_path: Path) -> None:
    """With the exit code in the output of a command, and without notices of the program."""
    output = "Command: make\nStderr: make: *** no rule\nError: (none)\nExit Code: 2\n"
    calls = [
        {"id": "c", "name": "run_shell_command", "args": {"command": "make"}, "status": "success",
         "result": [{"functionResponse": {"response": {"output": output}}}]},
        {"id": "d", "name": "replace", "args": {"file_path": "/w/api/Makefile"}, "status": "success"},
        {"id": "e", "name": "write_file", "args": {"file_path": "/w/x"}, "status": "cancelled"},
    ]  # fmt: skip

    found = read_chat(
        tmp_path,
        user("1", "why does it fail"),
        message("2", "gemini", "Looking.", toolCalls=calls, thoughts=[{"subject": "secret thought"}]),
        message("3", "info", "Update available"),
    )

    assert found.told() == [
        ("user", "why does it fail"), ("assistant", "Looking."), ("command", "make"), ("edit", "/w/api/Makefile"),
    ]  # fmt: skip
    assert (found.records[2].failed, found.records[2].output) == (True, "Stderr: make: *** no rule")
    assert found.records[0].time == datetime(2026, 11, 1, 9, 0, 1, tzinfo=UTC)


def test_the_last_version_of_a_message_counts(tmp_path: Path) -> None:
    """It stays where the first one was."""
    found = read_chat(
        tmp_path, user("1", "why"), message("2", "gemini", "Loo"), message("3", "gemini", "Then."),
        message("2", "gemini", "Looking."), {"$set": {"lastUpdated": "2026-11-01T09:00:03Z"}},
    )  # fmt: skip

    assert [record.text for record in found.records] == ["why", "Looking.", "Then."]


def test_all_messages_can_be_replaced(tmp_path: Path) -> None:
    """By an entry that sets them."""
    found = read_chat(tmp_path, user("1", "old"), {"$set": {"messages": [user("9", "new")]}}, user("10", "newer"))

    assert found.texts("user") == ["new", "newer"]


def test_a_chat_that_is_resumed_keeps_its_times_and_commands(tmp_path: Path) -> None:
    """All messages are written again, with the time of then, and with calls that have no results."""
    call = {"name": "run_shell_command", "args": {"command": "make"}, "status": "error", "result": "make: error 2"}
    answer = message("2", "gemini", "Looking.", toolCalls=[call])
    bare = [{"text": "Looking."}, {"functionCall": {"name": "run_shell_command", "args": {"command": "make"}}}]
    again = [
        {**user("1", "why"), "timestamp": "2026-11-09T09:00:00Z"},
        {**message("2", "gemini", bare), "timestamp": "2026-11-09T09:00:00Z"},
        {**user("2_response"), "content": [{"functionResponse": {"response": {"output": "make: error 2"}}}]},
    ]

    before = read_chat(tmp_path, user("1", "why"), answer)
    after = read_chat(tmp_path, user("1", "why"), answer, HEADER, {"$set": {"messages": again}})

    assert after.records == before.records
    assert [(record.role, record.failed) for record in after.records][2] == ("command", True)


def test_a_rewind_drops_a_message_and_all_later_ones(tmp_path: Path) -> None:
    """One to an unknown message drops everything."""
    chat = [user("1", "one"), message("2", "gemini", "1"), user("3", "two"), message("4", "gemini", "2")]

    assert read_chat(tmp_path, *chat, {"$rewindTo": "3"}, user("5", "three")).texts("user") == ["one", "three"]
    assert read_chat(tmp_path, *chat, {"$rewindTo": "unknown"}, user("5", "three")).texts("user") == ["three"]


def test_the_context_of_a_session_and_of_hooks_is_left_out(tmp_path: Path) -> None:
    """In front of a prompt, behind it, or instead of it."""
    found = read_chat(
        tmp_path,
        user("1", "<session_context>\nToday is Sunday.\n</session_context>"),
        user("2", "why?\n<hook_context>The port is 5433.</hook_context>", "<hook_context>x</hook_context>"),
    )

    assert found.texts("user") == ["why?"]


def test_the_project_is_the_folder_that_the_program_notes(tmp_path: Path) -> None:
    """Beside the chats, in a list of projects, or nowhere: the name of the folder may be a hash."""
    assert read_chat(tmp_path, user("1", "hi")).records[0].project == ""
    (tmp_path / ".gemini" / "projects.json").write_text(json.dumps({"projects": {"/w/listed": "api"}}), "utf-8")
    assert read_chat(tmp_path, user("1", "hi")).records[0].project == "/w/listed"
    (tmp_path / ".gemini" / "tmp" / "api" / ".project_root").write_text("/w/api\n", "utf-8")
    assert read_chat(tmp_path, user("1", "hi")).records[0].project == "/w/api"


def test_a_subagent_has_the_session_of_its_folder_as_parent(tmp_path: Path) -> None:
    """Its chat is below the chats."""
    write(tmp_path, {**HEADER, "sessionId": "g2", "kind": "subagent"}, user("1", "count"), name="g1/g2.jsonl")

    (record,) = read("gemini", tmp_path / ".gemini").records

    assert (record.session, record.parent) == ("g2", "g1")


def test_an_older_file_is_read_unless_it_was_converted(tmp_path: Path) -> None:
    """The ids are the same in both."""
    whole = {**HEADER, "messages": [user("1", "hi"), message("2", "gemini", "Hello.")]}
    path = write(tmp_path, name="session-2026-11-01-g1.json")
    path.write_text(json.dumps(whole, indent=2), "utf-8")

    before = read("gemini", tmp_path / ".gemini")
    after = read_chat(tmp_path, user("1", "hi"), message("2", "gemini", "Hello."), user("3", "more"))

    assert before.texts("user") == ["hi"]
    assert [record.id for record in after.records][:2] == [record.id for record in before.records]
    assert len(after.transcripts) == 1


def test_left_over_files_are_not_listed(tmp_path: Path) -> None:
    """Unreadable and temporary copies."""
    for name in ("session-1.jsonl.unreadable-2", "session-1.unreadable-2.jsonl", "session-1.tmp-3.jsonl"):
        write(tmp_path, HEADER, name=name)

    assert list(SOURCES["gemini"].transcripts(tmp_path / ".gemini")) == []


def test_broken_and_unknown_entries_are_counted(tmp_path: Path) -> None:
    """A file of another format is a problem."""
    found = read_chat(tmp_path, user("1", "hi"), message("2", "hologram", "x"), b'{"id":"3","ty')
    assert (found.reading.broken, found.reading.unknown) == (1, {"hologram": 1})
    write(tmp_path, {"chat": 1})
    assert read("gemini", tmp_path / ".gemini").reading.problem == "it has no record of a known type"


def test_the_folder_is_where_the_variable_says(tmp_path: Path) -> None:
    """It names the home folder."""
    (tmp_path / "other" / ".gemini").mkdir(parents=True)

    assert SOURCES["gemini"].roots({"GEMINI_CLI_HOME": str(tmp_path / "other")}, tmp_path) == [
        tmp_path / "other" / ".gemini"
    ]
