"""Transcripts of Claude Code."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memotherm.history.sources import SOURCES
from tests.history.reading import Read, read, write_lines

Json = dict[str, Any]


def entry(kind: str, uuid: str, parent: str | None, **fields: Any) -> Json:
    """Return an entry of the tree, with the fields in the order of the program."""
    order = int("".join(filter(str.isdigit, uuid)) or 0)
    return {
        "parentUuid": parent, "isSidechain": False, "type": kind, **fields, "uuid": uuid,
        "timestamp": f"2026-11-01T09:{order:02}:00.000Z", "cwd": "/w/api", "sessionId": "s1",
        "version": "2.1.325", "gitBranch": "main",
        **{name: value for name, value in fields.items() if name in ("sessionId", "timestamp", "isSidechain")},
    }  # fmt: skip


def prompt(uuid: str, parent: str | None, content: Any, **fields: Any) -> Json:
    return entry("user", uuid, parent, message={"role": "user", "content": content}, **fields)


def answer(uuid: str, parent: str | None, *blocks: Json | str, message: str = "", **fields: Any) -> Json:
    content = [text(block) if isinstance(block, str) else block for block in blocks]
    message = message or f"msg_{uuid}"
    return entry("assistant", uuid, parent, message={"id": message, "role": "assistant", "content": content}, **fields)


def text(said: str) -> Json:
    return {"type": "text", "text": said}


def call(name: str, tool: str = "Bash", **arguments: str) -> Json:
    return {"type": "tool_use", "id": name, "name": tool, "input": arguments}


def result(uuid: str, parent: str, name: str, content: Any, failed: bool = False, source: str = "") -> Json:
    block = {"type": "tool_result", "tool_use_id": name, "content": content, "is_error": failed}
    raw = f"Error: {content}" if failed else {"stdout": content}
    return prompt(uuid, parent, [block], toolUseResult=raw, sourceToolAssistantUUID=source or parent)


def read_session(home: Path, *entries: Json | bytes, name: str = "s1") -> Read:
    write_lines(home / "projects" / "-w-api" / f"{name}.jsonl", entries)
    return read("claude-code", home)


def test_a_session_becomes_prompts_answers_commands_and_edits(tmp_path: Path) -> None:
    """Each with its time, folder and branch; a failed command has its error lines."""
    found = read_session(
        tmp_path,
        {"type": "mode", "mode": "normal", "sessionId": "s1"},
        prompt("u1", None, "run the tests", promptSource="typed"),
        answer("a2", "u1", "Running.", call("t1", command="pytest -q")),
        result("u3", "a2", "t1", "Exit code 1\ncollected 3\nModuleNotFoundError: No module named 'yaml'", failed=True),
        answer("a4", "u3", call("t2", "Edit", file_path="/w/api/app.py", old_string="a", new_string="b")),
        result("u5", "a4", "t2", "The file was updated"),
        answer("a6", "u5", "pyyaml was missing."),
        {"type": "ai-title", "aiTitle": "Missing yaml", "sessionId": "s1"},
    )

    assert found.told() == [
        ("user", "run the tests"),
        ("assistant", "Running."),
        ("command", "pytest -q"),
        ("edit", "/w/api/app.py"),
        ("assistant", "pyyaml was missing."),
    ]
    command = found.records[2]
    assert (command.failed, command.output) == (True, "ModuleNotFoundError: No module named 'yaml'")
    assert found.records[0].time == datetime(2026, 11, 1, 9, 1, tzinfo=UTC)
    assert {(record.session, record.parent, record.project, record.branch) for record in found.records} == {
        ("s1", "", "/w/api", "main")
    }
    assert (found.reading.version, found.reading.records, found.reading.problem) == ("2.1.325", 5, "")


def test_the_second_copies_of_messages_are_not_read(tmp_path: Path) -> None:
    """Requests to the API hold every message again; their lines are not even decoded."""
    copy = {"type": "api-request-blob", "sessionId": "s1", "message": {"role": "user", "content": "run the tests"}}
    broken = b'{"type":"api-request","sessionId":"s1", not json'
    snapshot = entry("attachment", "x2", "u1", attachment={"type": "prompt_snapshot", "messages": ["run the tests"]})

    found = read_session(
        tmp_path, prompt("u1", None, "run the tests"), copy, broken, snapshot, answer("a3", "x2", "ok")
    )

    assert found.told() == [("user", "run the tests"), ("assistant", "ok")]
    assert (found.reading.broken, found.reading.unknown) == (0, {})


def test_an_answer_in_several_lines_is_read_once(tmp_path: Path) -> None:
    """One line for each block, with a queued prompt between two of them."""
    queued = entry(
        "attachment", "q3", "a2", attachment={"type": "queued_command", "prompt": "also lint", "commandMode": "prompt"}
    )

    found = read_session(
        tmp_path,
        prompt("u1", None, "run the tests"),
        answer("a2", "u1", "First.", message="m", apiBlockIndex=0),
        queued,
        answer("a4", "q3", "Second.", message="m", apiBlockIndex=1),
        prompt("u5", "a4", "also lint", promptSource="queued"),
    )

    assert found.told() == [
        ("user", "run the tests"), ("assistant", "First."), ("user", "also lint"), ("assistant", "Second."),
    ]  # fmt: skip


def test_of_growing_copies_the_last_one_counts(tmp_path: Path) -> None:
    """It keeps the id of the first, so that a transcript read in between has the same records."""
    start = [prompt("u1", None, "why"), answer("a2", "u1", "Be", message="m")]
    grown = [*start, answer("a3", "u1", "Because", message="m"), answer("a4", "u1", "Because of yaml.", message="m")]

    before = read_session(tmp_path / "1", *start).records[1]
    found = read_session(tmp_path / "2", *grown)

    assert found.told() == [("user", "why"), ("assistant", "Because of yaml.")]
    assert found.records[1].id == before.id


def test_equal_answers_to_different_prompts_are_all_kept(tmp_path: Path) -> None:
    """Even if an API gives every answer the same id."""
    found = read_session(
        tmp_path,
        prompt("u1", None, "one"), answer("a2", "u1", "Done.", message="m"),
        prompt("u3", "a2", "two"), answer("a4", "u3", "Done.", message="m"),
    )  # fmt: skip

    assert found.texts("assistant") == ["Done.", "Done."]
    assert len({record.id for record in found.records}) == 4


@pytest.mark.parametrize(
    "fields",
    [{"isMeta": True}, {"promptSource": "system"}, {"sourceToolUseID": "t"}, {"toolUseResult": "x"}],
)
def test_entries_that_the_user_did_not_type_are_left_out(tmp_path: Path, fields: Json) -> None:
    """Whatever their text is."""
    found = read_session(tmp_path, prompt("u1", None, "hello"), prompt("u2", "u1", "not typed", **fields))

    assert found.texts("user") == ["hello"]


@pytest.mark.parametrize(
    "said",
    [
        "<local-command-stdout>x</local-command-stdout>", "<bash-input>ls</bash-input>",
        "<system-reminder>x</system-reminder>",
        "<task-notification><result>12</result></task-notification>", "<teammate-message>x", "<tick>", "<channel>x",
        "<ide_opened_file>unclosed", "[Request interrupted by user for tool use]",
        "<command-name>/clear</command-name><command-args></command-args>",
    ],
)  # fmt: skip
def test_texts_of_the_program_in_the_users_name_are_left_out(tmp_path: Path, said: str) -> None:
    """They begin with tags of the program."""
    assert read_session(tmp_path, prompt("u1", None, "hello"), prompt("u2", "u1", said)).texts("user") == ["hello"]


@pytest.mark.parametrize(
    ("content", "typed"),
    [
        ("<ide_selection>x = 1</ide_selection>\nwhy is this 1?", "why is this 1?"),
        ([text("<ide_opened_file>a.py</ide_opened_file>"), text("explain")], "explain"),
        ([text("explain"), text("<system-reminder>x</system-reminder>")], "explain"),
        ("<command-message>x</command-message><command-name>/x</command-name><command-args>y</command-args>", "/x y"),
        ([{"type": "image", "source": {"data": "aaaa"}}, text("what is this?")], "what is this?"),
    ],
)  # fmt: skip
def test_what_the_user_typed_is_kept_without_what_stands_around_it(tmp_path: Path, content: Any, typed: str) -> None:
    """Selections of an editor, reminders, images and the tags of a command."""
    assert read_session(tmp_path, prompt("u1", None, content)).texts("user") == [typed]


def test_a_command_that_the_user_refused_did_not_fail(tmp_path: Path) -> None:
    """It never ran."""
    refusal = "The user doesn't want to proceed with this tool use."
    found = read_session(
        tmp_path,
        prompt("u1", None, "clean up"), answer("a2", "u1", call("t1", command="rm -rf /")),
        result("u3", "a2", "t1", refusal, failed=True), answer("a4", "u3", call("t2", command="ls")),
    )  # fmt: skip

    assert [(record.text, record.failed) for record in found.records] == [("clean up", False), ("ls", False)]


def test_a_subagent_has_a_session_of_its_own(tmp_path: Path) -> None:
    """Its parent is the session that started it."""
    child = tmp_path / "projects" / "-w-api" / "s1" / "subagents" / "workflows" / "agent-x1.jsonl"
    common = {"isSidechain": True, "agentId": "x1"}
    write_lines(child, [prompt("c1", None, "count the tests", **common), answer("c2", "c1", "There are 12.", **common)])

    found = read_session(tmp_path, prompt("u1", None, "how many tests?"))

    assert {(record.session, record.parent, record.text) for record in found.records} == {
        ("s1", "", "how many tests?"), ("x1", "s1", "count the tests"), ("x1", "s1", "There are 12."),
    }  # fmt: skip


def test_a_compaction_loses_nothing(tmp_path: Path) -> None:
    """The entries before it are linked by their logical parent; its summary is left out."""
    found = read_session(
        tmp_path,
        prompt("u1", None, "run the tests"), answer("a2", "u1", "They pass."),
        entry("system", "b3", None, subtype="compact_boundary", logicalParentUuid="a2"),
        prompt("u4", "b3", "This session is being continued. They ran the tests.", isCompactSummary=True),
        prompt("u5", "u4", "now deploy"),
    )  # fmt: skip

    assert found.told() == [
        ("user", "run the tests"), ("assistant", "They pass."),
        ("user", "now deploy"),
    ]  # fmt: skip


def test_a_fork_has_the_ids_and_the_session_of_the_original(tmp_path: Path) -> None:
    """What the copy repeats is the same records."""
    rows = [prompt("u1", None, "run the tests"), answer("a2", "u1", "They pass.", call("t1", command="make"))]
    origin = {"forkedFrom": {"sessionId": "s1", "messageUuid": "-"}}
    original = read_session(tmp_path / "1", *rows)

    fork = read_session(
        tmp_path / "2",
        *({**row, "sessionId": "s2", **origin} for row in rows),
        prompt("u3", "a2", "another way", sessionId="s2"),
        name="s2",
    )

    assert [(record.id, record.session) for record in fork.records if record.text != "another way"] == [
        (record.id, "s1") for record in original.records
    ]
    assert [record.session for record in fork.records if record.text == "another way"] == ["s2"]


def test_a_replay_by_a_background_session_has_the_same_ids(tmp_path: Path) -> None:
    """Under another id of the session."""
    rows = [prompt("u1", None, "run the tests"), answer("a2", "u1", "They pass.")]
    original = read_session(tmp_path / "1", *rows)
    replay = read_session(tmp_path / "2", *({**row, "sessionId": "s9", "sessionKind": "bg"} for row in rows), name="s9")

    assert [record.id for record in replay.records] == [record.id for record in original.records]


def test_a_branch_that_repeats_its_lines_is_read_once(tmp_path: Path) -> None:
    """A branch of a compacted file repeats the lines before the compaction without a parent."""
    rows = [prompt("u1", None, "one"), answer("a2", "u1", "1"), prompt("u3", "a2", "two"), answer("a4", "u3", "2")]
    repeated = [{**row, "parentUuid": None} for row in rows]

    for entries in ([*rows, *repeated], [*repeated, *rows]):
        found = read_session(tmp_path, *entries, prompt("u5", "a4", "three"))
        assert [record.text for record in found.records] == ["one", "1", "two", "2", "three"]


def test_an_edited_prompt_replaces_the_first_version(tmp_path: Path) -> None:
    """The branch that the user left is not read."""
    found = read_session(
        tmp_path,
        prompt("u1", None, "hello"), answer("a2", "u1", "Hi."),
        prompt("u3", "a2", "use tabs"), answer("a4", "u3", "Tabs it is."),
        prompt("u5", "a2", "use spaces"), answer("a6", "u5", "Spaces it is."),
    )  # fmt: skip

    assert [record.text for record in found.records] == ["hello", "Hi.", "use spaces", "Spaces it is."]


def test_the_last_entry_is_the_one_that_the_program_names(tmp_path: Path) -> None:
    """A rewind without a new prompt only moves the mark; prompts after the mark move on."""
    rows = [prompt("u1", None, "hello"), answer("a2", "u1", "Hi."), prompt("u3", "a2", "no"), answer("a4", "u3", "Ok.")]
    mark = {"type": "last-prompt", "lastPrompt": "hello", "leafUuid": "a2", "sessionId": "s1"}

    assert read_session(tmp_path, *rows, mark).texts("user") == ["hello"]
    assert read_session(tmp_path, *rows, mark, prompt("u5", "a2", "yes")).texts("user") == ["hello", "yes"]
    assert read_session(tmp_path, *rows[:1], mark, rows[1]).texts("assistant") == ["Hi."]


def test_parallel_calls_are_no_branches(tmp_path: Path) -> None:
    """Their results hang beside the path."""
    found = read_session(
        tmp_path,
        prompt("u1", None, "check"),
        answer("a2", "u1", call("t1", command="make lint"), message="m", apiBlockIndex=0),
        answer("a3", "a2", call("t2", command="make test"), message="m", apiBlockIndex=1),
        result("u4", "a2", "t1", "Exit code 2\nlint error", failed=True),
        result("u5", "a3", "t2", "ok"),
        answer("a6", "u5", "Lint fails."),
    )

    assert [(record.text, record.failed) for record in found.records if record.role == "command"] == [
        ("make lint", True), ("make test", False),
    ]  # fmt: skip


def test_torn_and_broken_lines_are_counted_and_bridged(tmp_path: Path) -> None:
    """NUL bytes before a line, a mark of the byte order, a torn tail, and a broken line in the middle of the path."""
    first = b"\xef\xbb\xbf" + json.dumps(prompt("u1", None, "hello")).encode()
    after_crash = b"\0" * 5000 + json.dumps(prompt("u3", "a2", "again")).encode()
    path = write_lines(
        tmp_path / "projects" / "-w-api" / "s1.jsonl",
        [first, b'{"parentUuid":"u1","uuid":"a2', after_crash, answer("a4", "u3", "Yes.")],
    )
    with path.open("ab") as file:
        file.write(b'{"parentUuid":"a4","isSidechain":false,"type":"user","mess')

    found = read("claude-code", tmp_path)

    assert [record.text for record in found.records] == ["hello", "again", "Yes."]
    assert (found.reading.broken, found.reading.problem) == (2, "")


def test_unknown_types_are_counted_by_name(tmp_path: Path) -> None:
    """A file of nothing else is a problem, not an empty session."""
    new = {"type": "message-v9", "sessionId": "s1", "body": "hello"}

    assert read_session(tmp_path, prompt("u1", None, "hello"), new, new).reading.unknown == {"message-v9": 2}
    found = read_session(tmp_path, new)
    assert (found.records, found.reading.problem) == ([], "it has no record of a known type")


def test_answers_that_no_model_gave_are_left_out(tmp_path: Path) -> None:
    """Errors of the API, and texts that the program made up."""
    synthetic = answer("a2", "u1", "No response requested.")
    synthetic["message"]["model"] = "<synthetic>"

    found = read_session(
        tmp_path, prompt("u1", None, "hello"), synthetic, answer("a3", "a2", "API Error: 500", isApiErrorMessage=True)
    )

    assert found.told() == [("user", "hello")]


def test_only_regular_files_below_the_root_are_listed(tmp_path: Path) -> None:
    """Links lead outside, a pipe would block, and a session of another project stays where it is."""
    home, outside = tmp_path / "home", tmp_path / "outside"
    secret = write_lines(outside / "-w-x" / "s2.jsonl", [prompt("u9", None, "secret")])
    read_session(home, prompt("u1", None, "hello"))
    folder = home / "projects" / "-w-api"
    (folder / "link.jsonl").symlink_to(secret)
    (home / "projects" / "linked").symlink_to(outside / "-w-x")
    os.mkfifo(folder / "pipe.jsonl")

    found = read("claude-code", home)

    assert [transcript.path.name for transcript in found.transcripts] == ["s1.jsonl"]
    assert found.texts("user") == ["hello"]


def test_a_file_that_became_a_link_is_not_followed(tmp_path: Path) -> None:
    """Between listing and reading."""
    secret = write_lines(tmp_path / "outside.jsonl", [prompt("u9", None, "secret")])
    found = read_session(tmp_path / "home", prompt("u1", None, "hello"))
    path = found.transcripts[0].path
    path.unlink()
    path.symlink_to(secret)
    reading = type(found.reading)()

    assert list(SOURCES["claude-code"].read(found.transcripts[0], reading)) == []
    assert reading.problem


def test_the_folder_is_where_the_variable_says(tmp_path: Path) -> None:
    """Or below the home folder; folders that do not exist are left out."""
    (tmp_path / "other" / "projects").mkdir(parents=True)
    source = SOURCES["claude-code"]

    assert source.roots({"CLAUDE_CONFIG_DIR": str(tmp_path / "other")}, tmp_path) == [tmp_path / "other" / "projects"]
    assert source.roots({}, tmp_path) == []


def test_a_transcript_changes_when_its_file_does(tmp_path: Path) -> None:
    """The state of an unchanged file stays equal."""
    first = read_session(tmp_path, prompt("u1", None, "hello")).transcripts[0]
    again = read("claude-code", tmp_path).transcripts[0]
    grown = read_session(tmp_path, prompt("u1", None, "hello"), answer("a2", "u1", "Hi.")).transcripts[0]

    assert first == again
    assert grown.changed != first.changed


def test_a_cycle_of_parents_is_counted_and_bridged(tmp_path: Path) -> None:
    """The entry before the cycle stands for the parent that is wrong."""
    found = read_session(
        tmp_path,
        prompt("u1", None, "hello"),
        answer("a2", "u1", "Hi."),
        prompt("u3", "a4", "again"),
        answer("a4", "u3", "Yes."),
        prompt("u5", "a4", "thanks"),
    )

    assert [record.text for record in found.records] == ["hello", "Hi.", "again", "Yes.", "thanks"]
    assert (found.reading.broken, found.reading.problem) == (1, "")
    whole = read_session(tmp_path / "whole", prompt("u1", "a2", "hello"), answer("a2", "u1", "Hi."))
    assert [record.text for record in whole.records] == ["hello", "Hi."]
    assert whole.reading.broken == 1
