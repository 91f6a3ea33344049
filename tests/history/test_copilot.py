"""Sessions of Copilot CLI, and chats of Copilot in VS Code."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memotherm.history.sources import SOURCES
from tests.history.reading import Read, read, write_lines

Json = dict[str, Any]


def event(name: str, kind: str, **data: Any) -> Json:
    return {"type": kind, "id": name, "parentId": None, "timestamp": f"2026-11-01T09:00:{int(name):02}Z", "data": data}


START = event("1", "session.start", sessionId="k1", context={"cwd": "/w/api", "branch": "main"})


def read_session(home: Path, *entries: Json | bytes) -> Read:
    write_lines(home / "session-state" / "k1" / "events.jsonl", [START, *entries])
    return read("copilot", home)


def test_a_session_becomes_prompts_answers_commands_and_edits(tmp_path: Path) -> None:
    """What the model got instead of the prompt is left out."""
    found = read_session(
        tmp_path,
        event("2", "user.message", content="run the tests", transformedContent="<current_datetime>run the tests"),
        event("3", "assistant.message", messageId="m", content="Running."),
        event("4", "tool.execution_start", toolCallId="c", toolName="bash", arguments={"command": "pytest -q"}),
        event("5", "tool.execution_complete", toolCallId="c", success=False,
              result={"content": "collected 3\nNo module named 'yaml'"}),
        event("6", "tool.execution_start", toolCallId="d", toolName="edit", arguments={"path": "/w/api/app.py"}),
        event("7", "tool.execution_complete", toolCallId="d", success=True),
        event("8", "session.compaction_complete", summaryContent="They ran the tests."),
    )  # fmt: skip

    assert found.told() == [
        ("user", "run the tests"), ("assistant", "Running."), ("command", "pytest -q"), ("edit", "/w/api/app.py"),
    ]  # fmt: skip
    assert (found.records[2].failed, found.records[2].output) == (True, "No module named 'yaml'")
    assert found.records[0].time == datetime(2026, 11, 1, 9, 0, 2, tzinfo=UTC)
    assert {(record.session, record.project, record.branch) for record in found.records} == {("k1", "/w/api", "main")}


@pytest.mark.parametrize(
    "ended",
    [{"shellExecution": {"exitCode": 1}}, {"result": {"content": "an error\n<shellId: 0 completed with exit code 1>"}}],
)
def test_a_command_with_an_exit_code_failed(tmp_path: Path, ended: Json) -> None:
    """Its execution was a success."""
    found = read_session(
        tmp_path,
        event("4", "tool.execution_start", toolCallId="c", toolName="bash", arguments={"command": "make"}),
        event("5", "tool.execution_complete", toolCallId="c", success=True, **ended),
        event("6", "tool.execution_start", toolCallId="d", toolName="bash", arguments={"command": "ls"}),
        event("7", "tool.execution_complete", toolCallId="d", success=True, shellExecution={"exitCode": 0}),
    )

    assert [(record.text, record.failed) for record in found.records] == [("make", True), ("ls", False)]


def test_prompts_that_the_program_makes_are_left_out(tmp_path: Path) -> None:
    """Those that let the agent go on by itself."""
    found = read_session(tmp_path, event("2", "user.message", content="Continue.", isAutopilotContinuation=True))

    assert found.records == []


def test_a_rewind_drops_the_events_after_its_target(tmp_path: Path) -> None:
    """Also one after another."""
    prompts = [event(str(number), "user.message", content=f"prompt {number}") for number in range(2, 6)]
    rewind = event("9", "session.snapshot_rewind", upToEventId="3", eventsRemoved=2)

    assert read_session(tmp_path, *prompts, rewind).texts("user") == ["prompt 2", "prompt 3"]
    again = event("9", "session.snapshot_rewind", upToEventId="2", eventsRemoved=1)
    assert read_session(tmp_path, *prompts, rewind, again).texts("user") == ["prompt 2"]


def test_the_work_of_a_subagent_names_the_session_as_parent(tmp_path: Path) -> None:
    """It carries the call that started it."""
    found = read_session(tmp_path, event("2", "assistant.message", content="There are 12.", parentToolCallId="c7"))

    (record,) = found.records
    assert (record.session, record.parent) == ("k1:c7", "k1")


def test_broken_and_unknown_events_are_counted(tmp_path: Path) -> None:
    """By name."""
    found = read_session(tmp_path, event("2", "hologram.shown"), b'{"type":"user.mess')

    assert (found.reading.unknown, found.reading.broken) == ({"hologram.shown": 1}, 1)


# Chats of VS Code


def workspace(user: Path) -> Path:
    folder = user / "workspaceStorage" / "abc"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "workspace.json").write_text('{"folder":"file:///w/my%20api"}', "utf-8")
    return folder


REQUEST: Json = {"requestId": "r1", "timestamp": 1793523600000, "message": {"text": "why?"}, "response": []}


def test_a_chat_is_the_state_that_its_log_leaves(tmp_path: Path) -> None:
    """Whole states, changes of a value, added and removed ones."""
    terminal = {
        "kind": "toolInvocationSerialized",
        "toolSpecificData": {
            "kind": "terminal",
            "commandLine": {"original": "make"},
            "terminalCommandState": {"exitCode": 2},
            "terminalCommandOutput": {"text": "make: error 2"},
        },
    }
    answer = [
        {"kind": "thinking", "value": "hmm"},
        terminal,
        {"kind": "textEditGroup", "uri": {"path": "/w/api/app.py"}},
    ]
    discarded = {**REQUEST, "requestId": "r2", "message": {"text": "discarded"}}
    last = {**REQUEST, "requestId": "r3", "message": {"text": "and now?"}}
    write_lines(
        workspace(tmp_path) / "chatSessions" / "v1.jsonl",
        [
            {"kind": 0, "v": {"sessionId": "v1", "requests": []}},
            {"kind": 2, "k": ["requests"], "v": [REQUEST]},
            {"kind": 2, "k": ["requests"], "v": [discarded]},
            {"kind": 2, "k": ["requests"], "v": [last], "i": 1},
            {"kind": 1, "k": ["requests", 0, "response"], "v": [*answer, {"value": "Because "}]},
            {"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "of yaml."}]},
            {"kind": 1, "k": ["customTitle"], "v": "Yaml"},
            {"kind": 1, "k": ["draft"], "v": "x"},
            {"kind": 3, "k": ["draft"]},
            {"kind": 1, "k": ["requests", 99, "response"], "v": []},
        ],
    )

    found = read("copilot", tmp_path)

    assert found.told() == [
        ("user", "why?"), ("command", "make"), ("edit", "/w/api/app.py"), ("assistant", "Because of yaml."),
        ("user", "and now?"),
    ]  # fmt: skip
    assert found.records[1].output == "make: error 2"
    assert {record.project for record in found.records} == {"/w/my api"}
    assert found.records[0].time == datetime.fromtimestamp(1793523600, UTC)


def test_older_chats_and_those_without_a_folder_are_read(tmp_path: Path) -> None:
    """A converted one only once."""
    state = {"sessionId": "v2", "requests": [{**REQUEST, "response": [{"value": "Because."}]}]}
    for folder in (workspace(tmp_path) / "chatSessions", tmp_path / "globalStorage" / "emptyWindowChatSessions"):
        folder.mkdir(parents=True)
        (folder / "v2.json").write_text(json.dumps(state), "utf-8")
    write_lines(workspace(tmp_path) / "chatSessions" / "v2.jsonl", [{"kind": 0, "v": state}])

    found = read("copilot", tmp_path)

    assert [record.text for record in found.records] == ["why?", "Because."] * 2
    assert len(found.transcripts) == 2


def test_transcripts_are_read_where_there_is_no_chat(tmp_path: Path) -> None:
    """Newer versions write both, or only one."""
    said = event("2", "user.message", content="run the tests")
    for name in ("v1", "v9"):
        write_lines(workspace(tmp_path) / "GitHub.copilot-chat" / "transcripts" / f"{name}.jsonl", [said])
    write_lines(workspace(tmp_path) / "chatSessions" / "v1.jsonl", [{"kind": 0, "v": {"requests": [REQUEST]}}])

    found = read("copilot", tmp_path)

    assert [(record.session, record.text) for record in found.records] == [("v9", "run the tests"), ("v1", "why?")]
    assert found.records[0].project == "/w/my api"


def test_a_chat_of_another_format_is_named(tmp_path: Path) -> None:
    """With the kinds that are unknown."""
    write_lines(workspace(tmp_path) / "chatSessions" / "v1.jsonl", [{"kind": 7, "v": {}}])

    reading = read("copilot", tmp_path).reading

    assert (reading.problem, reading.unknown) == ("it has no record of a known type", {"kind 7": 1})


def test_the_folders_of_all_systems_are_looked_at(tmp_path: Path) -> None:
    """Those that exist, with remote machines."""
    for name in (".copilot", ".config/Code/User", ".vscode-server/data/User"):
        (tmp_path / name).mkdir(parents=True)

    assert SOURCES["copilot"].roots({}, tmp_path) == [
        tmp_path / ".copilot", tmp_path / ".config/Code/User", tmp_path / ".vscode-server/data/User",
    ]  # fmt: skip
