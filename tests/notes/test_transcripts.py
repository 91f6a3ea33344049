"""Transcripts of three hosts: off by default, what people said only, in steps, nothing recalled."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memotherm import Memotherm
from memotherm.notes.files import transcript
from memotherm.notes.notes import Notes
from tests.notes.ids import spec
from tests.notes.index import cited

INJECTED = "<memotherm-memory>\nThe stored secret is a narwhal.\n</memotherm-memory>"

CLAUDE: list[dict[str, Any]] = [
    {"type": "summary", "summary": "A talk about pumas"},
    {"type": "user", "message": {"role": "user", "content": "Where do pumas live?"}, "sessionId": "a"},
    {"type": "user", "isMeta": True, "message": {"role": "user", "content": "Caveat: meta text about yaks"}},
    {"type": "assistant", "message": {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "hidden thoughts on yaks"},
        {"type": "text", "text": "Pumas live in\n the Andes."},
        {"type": "tool_use", "name": "Bash", "input": {"command": "ls yaks"}}]}},
    {"type": "user", "message": {"role": "user", "content": [
        {"type": "tool_result", "content": "yaks in a tool result"}]}},
    {"type": "user", "message": {"role": "user", "content": f"{INJECTED}\nAnd condors?"}},
]  # fmt: skip
CODEX: list[dict[str, Any]] = [
    {"type": "session_meta", "payload": {"id": "x", "instructions": "yaks"}},
    {"type": "response_item", "payload": {"type": "message", "role": "developer", "content": [
        {"type": "input_text", "text": "developer yaks"}]}},
    {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [
        {"type": "input_text", "text": "<environment_context>\nyaks\n</environment_context>"}]}},
    {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [
        {"type": "input_text", "text": "Where do pumas live?"}]}},
    {"type": "response_item", "payload": {"type": "function_call_output", "output": "yaks"}},
    {"type": "event_msg", "payload": {"type": "agent_message", "message": "yaks twice"}},
    {"type": "response_item", "payload": {"type": "message", "role": "assistant", "content": [
        {"type": "output_text", "text": "Pumas live in the Andes."}]}},
]  # fmt: skip
OPENCLAW: list[dict[str, Any]] = [
    {"type": "session", "version": 3, "id": "x", "cwd": "/yaks"},
    {"type": "message", "message": {"role": "user", "content": [{"type": "text", "text": "Where do pumas live?"}]}},
    {"type": "message", "message": {"role": "toolResult", "content": [{"type": "text", "text": "yaks"}]}},
    {"type": "message", "message": {"role": "assistant", "content": [
        {"type": "text", "text": "Pumas live in the Andes."}, {"type": "toolCall", "name": "yaks"}]}},
    {"type": "compaction", "summary": "yaks"},
]  # fmt: skip


def written(file: Path, entries: list[dict[str, Any]]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return file


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    written(tmp_path / "sessions" / "claude.jsonl", CLAUDE)
    return tmp_path / "sessions"


def enabled(open_mem: Callable[..., Memotherm], workspace: Path, sessions: Path, **more: Any) -> Notes:
    settings = {"experimental_session_memory": True, "transcript_paths": (str(sessions),), **more}
    return open_mem(settings=settings).notes(workspace)


@spec("O28")
@pytest.mark.parametrize("entries", [CLAUDE, CODEX, OPENCLAW], ids=["claude", "codex", "openclaw"])
def test_three_hosts_are_understood(entries: list[dict[str, Any]]) -> None:
    """User and assistant, white space collapsed, each in the line of its entry."""
    data = "".join(json.dumps(entry) + "\n" for entry in entries).encode()
    found = transcript(data)
    said = [line for line in found if line]

    assert said[:2] == ["User: Where do pumas live?", "Assistant: Pumas live in the Andes."]
    assert "yaks" not in "\n".join(found)
    assert len(found) == len(entries)


@spec("O48")
def test_what_was_recalled_is_never_captured_again() -> None:
    """The injected block is left out, the rest of the message stays."""
    found = transcript("".join(json.dumps(entry) + "\n" for entry in CLAUDE).encode())

    assert found[-1] == "User: And condors?"
    assert "narwhal" not in "\n".join(found)


@spec("O28")
def test_transcripts_are_indexed_when_enabled_and_only_then(
    open_mem: Callable[..., Memotherm], workspace: Path, sessions: Path
) -> None:
    """They are found by a search in notes, cited by their lines, and do not come up in a plain recall."""
    off = open_mem(settings={"transcript_paths": (str(sessions),)}).notes(workspace)
    assert all(hit.source == "memory" for hit in off.search("pumas Andes", 20, 0.0))

    mem = open_mem(settings={"experimental_session_memory": True, "transcript_paths": (str(sessions),)})
    notes = mem.notes(workspace)
    (hit,) = notes.search("pumas Andes", 1)
    assert hit.citation == "sessions/claude.jsonl#L2-L6"
    assert hit.source == "sessions"
    assert notes.get(hit.citation).text.split("\n")[2] == "Assistant: Pumas live in the Andes."
    assert mem.recall("pumas Andes", min_score=0.5).hits == ()


@spec("O43")
def test_a_transcript_is_read_again_after_50_messages(
    open_mem: Callable[..., Memotherm], workspace: Path, sessions: Path
) -> None:
    """49 wait, the fiftieth brings them all; the old chunks are not embedded again."""
    notes = enabled(open_mem, workspace, sessions)
    notes.sync()
    said = [{"role": "user", "content": f"Fact {number} on ibexes"} for number in range(50)]
    more = [{"type": "user", "message": message} for message in said]
    written(sessions / "claude.jsonl", [*CLAUDE, *more[:49]])
    assert notes.sync().waiting == ("sessions/claude.jsonl",)
    written(sessions / "claude.jsonl", [*CLAUDE, *more])
    done = notes.sync()

    assert done.changed == ("sessions/claude.jsonl",)
    assert any("ibexes" in hit.snippet for hit in notes.search("ibexes"))


@spec("O44")
def test_a_transcript_that_waits_for_more_messages_is_reported_as_stale(
    open_mem: Callable[..., Memotherm], workspace: Path, sessions: Path
) -> None:
    """The search cannot know the new messages and says so; lines without a message make nothing stale."""
    notes = enabled(open_mem, workspace, sessions)
    before = notes.search("ibexes")
    written(sessions / "claude.jsonl", [*CLAUDE, {"type": "tool", "x": "y"}])
    silent = notes.search("ibexes")
    message = {"type": "user", "message": {"role": "user", "content": "A fact on ibexes"}}
    written(sessions / "claude.jsonl", [*CLAUDE, message])
    waiting = notes.search("ibexes")

    assert not before.stale
    assert not silent.stale
    assert waiting.stale
    assert waiting.degraded == ("sessions/claude.jsonl has new messages that are not indexed yet",)


@spec("O43")
def test_a_transcript_is_read_again_after_100_kilobytes(
    open_mem: Callable[..., Memotherm], workspace: Path, sessions: Path
) -> None:
    """Whatever those are."""
    notes = enabled(open_mem, workspace, sessions)
    notes.sync()
    size = (sessions / "claude.jsonl").stat().st_size
    for growth, changed in ((99_999, ()), (100_000, ("sessions/claude.jsonl",))):
        filler = {"type": "tool", "x": ""}
        filler["x"] = "y" * (growth - len(json.dumps(filler)) - 1)
        file = written(sessions / "claude.jsonl", [*CLAUDE, filler])
        assert file.stat().st_size - size == growth
        assert notes.sync().changed == changed


def test_turning_transcripts_off_takes_them_out(
    open_mem: Callable[..., Memotherm], workspace: Path, sessions: Path, tmp_path: Path
) -> None:
    """Nothing of them is left."""
    path = tmp_path / "a.db"
    settings = {"experimental_session_memory": True, "transcript_paths": (str(sessions),)}
    assert "sessions/claude.jsonl" in open_mem(path, settings=settings).notes(workspace).sync().added
    off = open_mem(path).notes(workspace)

    assert off.sync().removed == ("sessions/claude.jsonl",)
    assert cited(off.search("pumas Andes", min_score=0.6)) == []


def test_a_line_that_is_being_written_is_no_harm(
    open_mem: Callable[..., Memotherm], workspace: Path, sessions: Path
) -> None:
    """Nor is one that is no JSON, or nested beyond reason, or half of a surrogate pair."""
    with (sessions / "claude.jsonl").open("ab") as file:
        file.write(b'not json\n{"a":' + b"[" * 100_000 + b"\n")
        file.write(b'{"type": "user", "message": {"role": "user", "content": "half \\ud800 pair"}}\n')
        file.write(b'{"type": "user", "message": {"role": "user", "cont')
    notes = enabled(open_mem, workspace, sessions)
    notes.sync()

    assert "half ? pair" in notes.get("sessions/claude.jsonl").text


def test_plain_messages_are_a_transcript() -> None:
    """One object with a role and a content per line, as chat programs export them; other roles are left out."""
    lines = [
        {"role": "system", "content": "You are a zoologist."},
        {"role": "user", "content": "Where do pumas live?"},
        {"role": "assistant", "content": [{"type": "text", "text": "In the Andes."}]},
        {"type": "message", "role": "user", "content": "And condors?"},
        {"type": "event", "role": "user", "content": "yaks"},
        {"role": "user"},
    ]
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()

    assert transcript(data) == [
        "", "User: Where do pumas live?", "Assistant: In the Andes.", "User: And condors?", "", "",
    ]  # fmt: skip
