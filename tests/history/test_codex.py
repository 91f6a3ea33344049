"""Rollouts of Codex."""

from __future__ import annotations

import importlib
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memotherm.history.sources import SOURCES
from tests.history.reading import Read, read, write_lines

Json = dict[str, Any]


def line(kind: str, minute: int = 0, /, **payload: Any) -> Json:
    return {"timestamp": f"2026-11-01T09:{minute:02}:00Z", "ordinal": minute, "type": kind, "payload": payload}


def meta(name: str = "th1", **fields: Any) -> Json:
    return line("session_meta", 0, id=name, session_id="tree", cwd="/w/api", cli_version="0.166.0",
                git={"branch": "main"}, **fields)  # fmt: skip


def message(role: str, said: str, minute: int = 0, **fields: Any) -> Json:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": said}]
    return line("response_item", minute, type="message", role=role, content=content, **fields)


def event(kind: str, minute: int = 0, /, **fields: Any) -> Json:
    return line("event_msg", minute, type=kind, **fields)


def item(kind: str, **fields: Any) -> Json:
    return event("item_completed", item={"type": kind, **fields})


def turn(name: str) -> Json:
    return line("turn_context", turn_id=name, cwd="/w/api")


def write(home: Path, *entries: Json | bytes, name: str = "th1") -> None:
    write_lines(home / "sessions" / "2026" / "11" / "01" / f"rollout-2026-11-01T09-00-00-{name}.jsonl", entries)


def read_thread(home: Path, *entries: Json | bytes) -> Read:
    write(home, *entries)
    return read("codex", home)


def test_a_thread_becomes_prompts_answers_commands_and_edits(tmp_path: Path) -> None:
    """Each with its time, folder and branch; a failed command has its error lines."""
    found = read_thread(
        tmp_path,
        meta(),
        turn("t1"),
        message("user", "run the tests", 2),
        item("UserMessage", content=[{"type": "text", "text": "run the tests"}]),
        item("CommandExecution", id="c1", command=["bash", "-lc", "pytest -q"], exit_code=1,
             aggregated_output="collected 3\nNo module named 'yaml'\n"),
        item("FileChange", changes={"/w/api/app.py": {"type": "update", "unified_diff": "@@"}}),
        item("AgentMessage", content=[{"type": "Text", "text": "pyyaml was missing."}]),
        message("assistant", "pyyaml was missing.", 3),
    )  # fmt: skip

    assert found.told() == [
        ("user", "run the tests"),
        ("command", "pytest -q"),
        ("edit", "/w/api/app.py"),
        ("assistant", "pyyaml was missing."),
    ]
    assert (found.records[1].failed, found.records[1].output) == (True, "No module named 'yaml'")
    assert found.records[0].time == datetime(2026, 11, 1, 9, 2, tzinfo=UTC)
    assert {(record.session, record.project, record.branch) for record in found.records} == {("th1", "/w/api", "main")}
    assert (found.reading.version, found.reading.problem) == ("0.166.0", "")


@pytest.mark.parametrize(
    ("prompt", "reply"),
    [
        (event("user_message", message="run the tests"), event("agent_message", message="They pass.")),
        (
            item("UserMessage", content=[{"type": "text", "text": "run the tests"}]),
            item("AgentMessage", content=[{"type": "Text", "text": "They pass."}]),
        ),
    ],
)
def test_events_are_read_where_there_are_no_messages(tmp_path: Path, prompt: Json, reply: Json) -> None:
    """Only then: everything else would be there twice."""
    expected = [("user", "run the tests"), ("assistant", "They pass.")]
    messages = [message("user", "run the tests"), message("assistant", "They pass.")]

    assert read_thread(tmp_path, meta(), prompt, reply).told() == expected
    assert read_thread(tmp_path, meta(), messages[0], prompt, reply, messages[1]).told() == expected


@pytest.mark.parametrize(
    "said",
    [
        "<environment_context><cwd>/w</cwd></environment_context>", "<user_instructions>x</user_instructions>",
        "# AGENTS.md instructions for /w\n\nUse tabs.", "<turn_aborted>x</turn_aborted>",
    ],
)  # fmt: skip
def test_texts_of_the_program_in_the_users_name_are_left_out(tmp_path: Path, said: str) -> None:
    """And those of developers."""
    found = read_thread(
        tmp_path, meta(), message("user", said), message("developer", "Be brief."), message("user", "hi")
    )

    assert found.told() == [("user", "hi")]


def test_newer_files_say_which_parts_the_user_typed(tmp_path: Path) -> None:
    """By the kind of each part of a message."""
    content = [{"type": "input_text", "text": "context"}, {"type": "input_text", "text": "why?"}]
    kinds = {"content_item_kinds": ["harness.context", "user.text"], "turn_id": "t1"}
    said = line("response_item", type="message", role="user", content=content,
                internal_chat_message_metadata_passthrough=kinds)  # fmt: skip

    assert read_thread(tmp_path, meta(), said).told() == [("user", "why?")]


def test_the_context_of_an_editor_is_removed(tmp_path: Path) -> None:
    """The prompt stands behind it."""
    said = "# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\nwhy is it slow?"

    assert read_thread(tmp_path, meta(), message("user", said)).told() == [("user", "why is it slow?")]


@pytest.mark.parametrize(
    ("call", "output", "command", "failed"),
    [
        (
            {"type": "function_call", "name": "exec_command", "arguments": '{"cmd":"make"}', "call_id": "1"},
            "Chunk ID: 1\nProcess exited with code 2\nOutput:\nmake: error 2\n", "make", True,
        ),
        (
            {"type": "function_call", "name": "shell", "arguments": '{"command":["sh","-c","make"]}', "call_id": "1"},
            '{"output":"make: error 2\\n","metadata":{"exit_code":2}}', "make", True,
        ),
        (
            {"type": "function_call", "name": "shell_command", "arguments": '{"command":"make"}', "call_id": "1"},
            "Exit code: 0\nWall time: 1 s\nOutput:\nno error\n", "make", False,
        ),
        (
            {"type": "local_shell_call", "call_id": "1", "action": {"type": "exec", "command": ["ls", "my dir"]}},
            {"content": "x"}, "ls 'my dir'", False,
        ),
    ],
)  # fmt: skip
def test_older_files_have_calls_and_outputs(
    tmp_path: Path, call: Json, output: object, command: str, failed: bool
) -> None:
    """The verdict stands in the text of the output."""
    returned = line("response_item", type="function_call_output", call_id="1", output=output)

    found = read_thread(tmp_path, meta(), message("user", "build"), line("response_item", **call), returned)

    (record,) = found.records[1:]
    assert (record.text, record.failed) == (command, failed)
    assert record.output == ("make: error 2" if failed else "")


def test_patches_name_the_edited_files(tmp_path: Path) -> None:
    """As a call of their own, or inside a command."""
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Add File: b.py\n+z\n*** End Patch"
    heredoc = json.dumps({"cmd": f"apply_patch <<'EOF'\n{patch}\nEOF"})

    found = read_thread(
        tmp_path,
        meta(),
        line("response_item", type="custom_tool_call", name="apply_patch", call_id="1", input=patch),
        line("response_item", type="custom_tool_call_output", call_id="1", output="Success. Updated: a.py"),
        line("response_item", type="function_call", name="exec_command", call_id="2", arguments=heredoc),
    )

    assert found.told() == [("edit", "a.py"), ("edit", "b.py")] * 2


def test_a_command_is_read_once_where_it_is_there_in_several_forms(tmp_path: Path) -> None:
    """As a call, as an older event and as an item."""
    found = read_thread(
        tmp_path,
        meta(),
        line("response_item", type="function_call", name="shell", arguments='{"command":["make"]}', call_id="1"),
        event("exec_command_end", call_id="1", command=["make"], exit_code=0, aggregated_output=""),
        item("CommandExecution", id="1", command=["make"], exit_code=0),
        line("response_item", type="function_call_output", call_id="1", output="Exit code: 0"),
    )

    assert found.told() == [("command", "make")]


@pytest.mark.parametrize(
    "origin",
    [{"forked_from_id": "th1"}, {"source": {"subagent": {"thread_spawn": {"parent_thread_id": "th1"}}}}],
)
def test_a_fork_or_subagent_leaves_out_the_turns_of_its_parent(tmp_path: Path, origin: Json) -> None:
    """They are copied with new times, behind a copy of the parent's first line."""
    copied = [turn("t1"), message("user", "run the tests", 5), message("assistant", "They pass.", 6)]
    write(tmp_path, meta(), *copied)
    own = [turn("t2"), message("user", "count them", 7), message("assistant", "12.", 8)]
    write(tmp_path, meta("th2", **origin), meta("th1"), *copied, *own, name="th2")

    found = read("codex", tmp_path)

    parent = "th1" if "source" in origin else ""
    assert [(record.session, record.parent, record.text) for record in found.records] == [
        ("th1", "", "run the tests"), ("th1", "", "They pass."), ("th2", parent, "count them"), ("th2", parent, "12."),
    ]  # fmt: skip


def test_copied_turns_keep_their_ids_without_the_parents_file(tmp_path: Path) -> None:
    """So they are known if the parent was read before its file was deleted."""
    copied = [turn("t1"), message("user", "run the tests"), message("assistant", "They pass.")]
    original = read_thread(tmp_path / "1", meta(), *copied)
    write(tmp_path / "2", meta("th2", forked_from_id="gone"), meta(), *copied, name="th2")

    assert [each.id for each in read("codex", tmp_path / "2").records] == [each.id for each in original.records]


def test_a_subagent_without_a_copy_is_read_whole(tmp_path: Path) -> None:
    """Half of them have none."""
    write(tmp_path, meta(), turn("t1"), message("user", "run the tests"))
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": "th1"}}}
    write(tmp_path, meta("th2", source=spawned), turn("t2"), message("user", "count them"), name="th2")

    assert read("codex", tmp_path).texts("user") == ["run the tests", "count them"]


def test_threads_that_serve_the_program_are_left_out(tmp_path: Path) -> None:
    """Nobody typed the prompt of a review."""
    found = read_thread(tmp_path, meta(source={"subagent": "review"}), message("user", "Review these changes."))

    assert (found.records, found.reading.problem) == ([], "")


def test_turns_that_were_taken_back_are_left_out(tmp_path: Path) -> None:
    """Also by several rollbacks, one after the other."""
    turns = [[message("user", f"prompt {number}"), message("assistant", f"answer {number}")] for number in range(5)]

    found = read_thread(
        tmp_path, meta(), *turns[0], *turns[1], event("thread_rolled_back", num_turns=1), *turns[2], *turns[3],
        event("thread_rolled_back", num_turns=1), event("thread_rolled_back", num_turns=1), *turns[4],
    )  # fmt: skip

    assert found.texts("user") == ["prompt 0", "prompt 4"]
    assert found.texts("assistant") == ["answer 0", "answer 4"]


def test_more_turns_can_be_taken_back_than_there_are(tmp_path: Path) -> None:
    """Then all of them are."""
    found = read_thread(tmp_path, meta(), message("user", "x"), event("thread_rolled_back", num_turns=9))

    assert found.records == []


def test_a_compaction_loses_nothing(tmp_path: Path) -> None:
    """The turns before it stay; what the program says about them is left out."""
    found = read_thread(tmp_path, meta(), message("user", "hi"), line("compacted", message="They said hi."))

    assert found.told() == [("user", "hi")]


def test_the_oldest_files_have_no_envelopes(tmp_path: Path) -> None:
    """A line about the session, then bare items; nobody knows when they were said."""
    found = read_thread(
        tmp_path,
        {"id": "old", "timestamp": "2025-05-01T09:00:00Z", "instructions": None},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]},
    )

    assert [(record.session, record.text, record.time) for record in found.records] == [
        ("old", "hi", None), ("old", "Hello.", None),
    ]  # fmt: skip


def test_torn_and_unknown_lines_are_counted(tmp_path: Path) -> None:
    """A file of nothing else is a problem."""
    new = line("hologram", x=1)

    found = read_thread(
        tmp_path, meta(), new, message("user", "hi"), b'{"timestamp":"2026-11-01T09:00:00Z","type":"res'
    )
    assert (found.texts("user"), found.reading.broken, found.reading.unknown) == (["hi"], 1, {"hologram": 1})
    found = read_thread(tmp_path, new)
    assert found.reading.problem == "it has no record of a known type"


def test_of_a_plain_and_a_compressed_file_the_plain_one_is_read(tmp_path: Path) -> None:
    """A compressed one alone is read where Python can, and named where it cannot."""
    write(tmp_path, meta(), message("user", "hi"))
    path = next((tmp_path / "sessions").rglob("*.jsonl"))
    packed = Path(f"{path}.zst")
    readable = sys.version_info >= (3, 14)
    compressed = importlib.import_module("compression.zstd").compress(path.read_bytes()) if readable else b"any"
    packed.write_bytes(compressed)

    assert [transcript.path for transcript in SOURCES["codex"].transcripts(tmp_path)] == [path]
    path.unlink()
    found = read("codex", tmp_path)
    assert found.texts("user") == (["hi"] if readable else [])
    assert readable or "Zstandard" in found.reading.problem


def test_the_folders_are_where_the_variable_says(tmp_path: Path) -> None:
    """Sessions, and those that were archived."""
    for name in ("sessions", "archived_sessions"):
        (tmp_path / "other" / name).mkdir(parents=True)

    roots = SOURCES["codex"].roots({"CODEX_HOME": str(tmp_path / "other")}, tmp_path)

    assert roots == [tmp_path / "other" / "sessions", tmp_path / "other" / "archived_sessions"]
