"""Files of any shape: each value of a transcript replaced by others, files cut off, foreign and binary ones."""

from __future__ import annotations

import copy
import json
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memotherm.history.sources import SOURCES
from tests.history.reading import read, write_lines

Json = Any
TIME = "2026-11-01T09:00:00Z"
ODD: list[Json] = [
    None,
    7,
    -1,
    1e300,
    True,
    "",
    "x",
    "\ud800\0",
    [],
    {},
    [None],
    [["x"]],
    {"type": "text"},
    {"x": [{}]},
]

CLAUDE_CODE = [
    {"parentUuid": None, "type": "user", "uuid": "u", "sessionId": "s", "cwd": "/w", "timestamp": TIME, "version": "2",
     "message": {"content": [{"type": "text", "text": "hi"}]}},
    {"parentUuid": "u", "type": "assistant", "uuid": "a", "sessionId": "s", "apiBlockIndex": 0, "timestamp": TIME,
     "message": {"id": "m", "content": [{"type": "text", "text": "A"}, {"type": "tool_use", "id": "t", "name": "Bash",
                                                                         "input": {"command": "make"}}]}},
    {"parentUuid": "a", "type": "user", "uuid": "r", "sessionId": "s", "sourceToolAssistantUUID": "a",
     "timestamp": TIME, "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "is_error": True,
                              "content": [{"type": "text", "text": "error"}]}]}},
    {"parentUuid": "r", "type": "attachment", "uuid": "q", "sessionId": "s", "forkedFrom": {"sessionId": "o"},
     "attachment": {"type": "queued_command", "prompt": "more", "commandMode": "prompt"}},
    {"type": "ai-title", "aiTitle": "T", "sessionId": "s"},
    {"type": "last-prompt", "leafUuid": "q", "sessionId": "s"},
]  # fmt: skip
CODEX = [
    {"timestamp": TIME, "type": "session_meta", "payload": {"id": "t", "cwd": "/w", "git": {"branch": "b"},
     "source": {"subagent": {"thread_spawn": {"parent_thread_id": "p"}}}, "forked_from_id": "p"}},
    {"timestamp": TIME, "type": "turn_context", "payload": {"turn_id": "1", "cwd": "/w"}},
    {"timestamp": TIME, "type": "response_item", "payload": {"type": "message", "role": "user",
     "internal_chat_message_metadata_passthrough": {"turn_id": "1", "content_item_kinds": ["user.text"]},
     "content": [{"type": "input_text", "text": "hi"}]}},
    {"timestamp": TIME, "type": "response_item", "payload": {"type": "function_call", "name": "shell", "call_id": "c",
     "arguments": '{"command": ["bash", "-lc", "make"]}'}},
    {"timestamp": TIME, "type": "response_item", "payload": {"type": "function_call_output", "call_id": "c",
     "output": '{"output": "error", "metadata": {"exit_code": 1}}'}},
    {"timestamp": TIME, "type": "response_item", "payload": {"type": "local_shell_call", "call_id": "d",
     "action": {"command": ["ls"]}}},
    {"timestamp": TIME, "type": "event_msg", "payload": {"type": "item_completed", "item": {"type": "FileChange",
     "changes": {"a.py": {}}}}},
    {"timestamp": TIME, "type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 0}},
    {"timestamp": TIME, "type": "compacted", "payload": {"message": "S"}},
]  # fmt: skip
GEMINI = [
    {"sessionId": "g", "directories": ["/w"]},
    {"id": "1", "type": "user", "timestamp": TIME, "content": [{"text": "hi"}]},
    {"id": "2", "type": "gemini", "timestamp": TIME, "content": "A", "toolCalls": [
        {"name": "run_shell_command", "args": {"command": "make"}, "status": "error",
         "result": [{"functionResponse": {"response": {"output": "error"}}}]}]},
    {"$set": {"messages": [{"id": "3", "type": "user", "content": "x"}]}},
    {"$rewindTo": "3"},
]  # fmt: skip
COPILOT = [
    {"type": "session.start", "id": "1", "timestamp": TIME, "data": {"sessionId": "k", "context": {"cwd": "/w"}}},
    {"type": "user.message", "id": "2", "timestamp": TIME, "data": {"content": "hi"}},
    {"type": "tool.execution_start", "id": "3",
     "data": {"toolCallId": "c", "toolName": "bash", "arguments": {"command": "x"}}},
    {"type": "tool.execution_complete", "id": "4",
     "data": {"toolCallId": "c", "success": False, "result": {"content": "e"}}},
    {"type": "session.snapshot_rewind", "id": "5", "data": {"upToEventId": "4"}},
]  # fmt: skip
VS_CODE = [
    {"kind": 0, "v": {"sessionId": "v", "requests": []}},
    {"kind": 2, "k": ["requests"], "i": 0, "v": [
        {"requestId": "r", "timestamp": 1, "message": {"text": "hi"}, "response": [
            {"value": "A"}, {"kind": "textEditGroup", "uri": {"path": "/a"}},
            {"kind": "toolInvocationSerialized", "toolSpecificData": {
                "kind": "terminal", "commandLine": {"original": "make"}, "terminalCommandState": {"exitCode": 1}}}]}]},
    {"kind": 1, "k": ["requests", 0, "response", 0], "v": {"value": "B"}},
    {"kind": 3, "k": ["requests", 0]},
]  # fmt: skip
OPENCLAW = [
    {"type": "session", "id": "o", "timestamp": TIME, "cwd": "/w"},
    {"type": "message", "id": "u", "parentId": None, "timestamp": TIME,
     "message": {"role": "user", "content": [{"type": "text", "text": "hi"}]}},
    {"type": "message", "id": "a", "parentId": "u", "message": {"role": "assistant", "content": [
        {"type": "toolCall", "id": "c", "name": "exec", "arguments": {"command": "x"}}]}},
    {"type": "message", "id": "r", "parentId": "a",
     "message": {"role": "toolResult", "toolCallId": "c", "isError": True, "content": "e"}},
]  # fmt: skip
GOOSE = [
    {"working_dir": "/w", "description": "T"},
    {"role": "assistant", "created": 1, "content": [{"type": "text", "text": "A"}, {"type": "toolRequest", "id": "t",
     "toolCall": {"value": {"name": "shell", "arguments": {"command": "x"}}}}]},
    {"role": "user", "created": 1, "content": [{"type": "toolResponse", "id": "t", "toolResult": {"status": "error",
                                                                                                   "error": "e"}}]},
]  # fmt: skip
CURSOR = [
    {"role": "user", "message": {"content": [{"type": "text", "text": "<user_query>hi</user_query>"}]}},
    {"role": "assistant", "message": {"content": [{"type": "tool_use", "name": "Shell", "input": {"command": "x"}}]}},
]
CLINE = [
    {"role": "user", "content": [{"type": "text", "text": "<task>hi</task>"}], "ts": 1},
    {"role": "assistant", "content": [{"type": "tool_use", "name": "execute_command", "input": {"command": "x"}}]},
]
CHATGPT = [
    {"conversation_id": "x", "title": "T", "create_time": 1.0, "current_node": "b", "mapping": {
        "a": {"message": None, "parent": None},
        "b": {"message": {"author": {"role": "user"}, "recipient": "all", "create_time": 1.0, "metadata": {},
                          "content": {"content_type": "text", "parts": ["hi"]}}, "parent": "a"}}},
]  # fmt: skip
CLAUDE = [
    {"uuid": "y", "name": "T", "created_at": TIME, "chat_messages": [
        {"uuid": "p", "sender": "human", "text": "hi", "content": [{"type": "text", "text": "hi"}], "created_at": TIME,
         "parent_message_uuid": ""},
        {"uuid": "q", "sender": "assistant", "text": "A", "created_at": TIME, "parent_message_uuid": "p"}]},
]  # fmt: skip

LINES: dict[str, tuple[str, str, list[Json]]] = {
    "claude-code": ("claude-code", "projects/p/s.jsonl", CLAUDE_CODE),
    "codex": ("codex", "sessions/rollout-2026-11-01T09-00-00-t.jsonl", CODEX),
    "gemini": ("gemini", "tmp/p/chats/session-1.jsonl", GEMINI),
    "copilot": ("copilot", "session-state/k/events.jsonl", COPILOT),
    "copilot in VS Code": ("copilot", "workspaceStorage/h/chatSessions/v.jsonl", VS_CODE),
    "openclaw": ("openclaw", "agents/a/sessions/o.jsonl", OPENCLAW),
    "goose": ("goose", "20260101.jsonl", GOOSE),
    "cursor": ("cursor", "projects/p/agent-transcripts/x.jsonl", CURSOR),
}
ARRAYS: dict[str, tuple[str, str, list[Json]]] = {
    "cline": ("cline", "tasks/1/api_conversation_history.json", CLINE),
    "chatgpt": ("chatgpt", "conversations.json", CHATGPT),
    "claude-export": ("claude-export", "conversations.json", CLAUDE),
}


def places(value: Json, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every value inside a value."""
    if path:
        yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*path, key))


def changed(entries: list[Json]) -> Iterator[list[Json]]:
    """Yield the entries with one value replaced by each odd one."""
    for path in places(entries):
        for odd in ODD:
            other = copy.deepcopy(entries)
            holder = other
            for key in path[:-1]:
                holder = holder[key]
            holder[path[-1]] = odd
            yield other


def write_array(path: Path, entries: list[Json]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(entries), "utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", [*LINES, *ARRAYS])
def test_a_value_of_another_type_is_no_error(tmp_path: Path, name: str) -> None:
    """Every value of a transcript, replaced by each of several others; the texts can always be stored."""
    source, path, entries = (LINES | ARRAYS)[name]
    write: Callable[[Path, list[Json]], object] = write_lines if name in LINES else write_array
    assert read_from(tmp_path, source, path, entries, write) > 0

    for other in changed(entries):
        read_from(tmp_path, source, path, other, write)


def read_from(
    root: Path, source: str, path: str, entries: list[Json], write: Callable[[Path, list[Json]], object]
) -> int:
    """Write a transcript, read it, and return how many entries are known."""
    write(root / path, entries)
    found = read(source, root)
    for record in found.records:
        texts = (record.id, record.session, record.parent, record.text, record.project, record.branch, record.output)
        assert all(isinstance(text, str) for text in texts), (entries, record)
        assert b"\0" not in "".join(texts).encode(), (entries, record)
    assert not any("unknown shape" in reading.problem for reading in found.readings), (entries, found.readings)
    return sum(reading.known for reading in found.readings)


@pytest.mark.parametrize("name", [*LINES, "cline"])
@pytest.mark.parametrize(
    "entry",
    [
        {"v": 9, "rec": {"x": 1}}, {"type": "novel", "data": {"a": 1}}, {"kind": "x"},
        {"type": "message_v3", "payload": {"type": "turn", "text": "hi"}}, {"event": "user", "body": "hi", "id": "7"},
        {"id": "1", "type": "prompt", "content": "hi", "timestamp": 1}, {"role": "operator", "body": "x"},
    ],
)  # fmt: skip
def test_a_file_of_an_unknown_generation_is_a_problem(tmp_path: Path, name: str, entry: Json) -> None:
    """Whatever its entries have in common with known ones; it is read again by a later version."""
    source, path, _ = (LINES | ARRAYS)[name]
    write: Callable[[Path, list[Json]], object] = write_lines if name in LINES else write_array
    write(tmp_path / path, [entry] * 4)
    found = read(source, tmp_path)
    assert (found.records, bool(found.reading.problem)) == ([], True), found.reading


@pytest.mark.parametrize("name", [*LINES, *ARRAYS])
def test_a_file_that_ends_anywhere_is_no_error(tmp_path: Path, name: str) -> None:
    """Nor is one with bytes that are no text."""
    source, path, entries = (LINES | ARRAYS)[name]
    file = tmp_path / path
    if name in LINES:
        write_lines(file, entries)
    else:
        write_array(file, entries)
    data, chance = file.read_bytes(), random.Random(1)

    for _ in range(40):
        cut = data[: chance.randrange(len(data))]
        place = chance.randrange(len(data))
        noisy = data[:place] + chance.randbytes(20) + data[place + 20 :]
        for other in (cut, noisy, chance.randbytes(3000)):
            file.write_bytes(other)
            found = read(source, tmp_path)
            assert not any("unknown shape" in reading.problem for reading in found.readings), other


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ("opencode", "opencode.db"), ("cursor", "globalStorage/state.vscdb"), ("goose", "sessions.db"),
        ("openclaw", "agents/a/agent/openclaw-agent.sqlite"), ("hermes", "state.db"),
    ],
)  # fmt: skip
def test_a_damaged_database_is_named_or_not_one(tmp_path: Path, source: str, path: str) -> None:
    """Whatever bytes follow the header."""
    file, chance = tmp_path / path, random.Random(2)
    file.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE x (y)")
    data = file.read_bytes()

    for other in (b"", data[:50], data[:100], data[:100] + chance.randbytes(9000), data[:16] + chance.randbytes(200)):
        file.write_bytes(other)
        found = read(source, tmp_path)
        assert found.records == []
        assert all(reading.problem and "unknown shape" not in reading.problem for reading in found.readings)


def test_no_source_reads_the_files_of_another(tmp_path: Path) -> None:
    """A folder with everything: each record belongs to the source whose files it is in."""
    for source, path, entries in LINES.values():
        write_lines(tmp_path / source / path, entries)
    for source, path, entries in ARRAYS.values():
        write_array(tmp_path / source / path, entries)

    for name in SOURCES:
        for other in SOURCES:
            if other != name:
                found = read(name, tmp_path / other)
                assert not found.records, (name, other, found.transcripts)
