"""Hooks as hosts call them: a process with JSON on standard input that always exits with 0."""

from __future__ import annotations

import io
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import memotherm
from memotherm import Scope, Settings
from memotherm.doctor import hook_findings
from memotherm.hooks import log, turns
from memotherm.hooks.capture import WorkerResult, process_spool
from memotherm.hooks.entry import answer_event
from memotherm.hooks.events import Options, Told, answer, context_size, parse_event, truncated
from memotherm.hooks.hosts import CLIENTS, PREFIXES, Host
from memotherm.hooks.project import project_at
from memotherm.hooks.spool import Spool
from memotherm.hooks.turns import Content
from memotherm.mcp.server import CORE
from memotherm.notes.files import transcript
from memotherm.testing import FakeClock
from memotherm.tools import TOOLS
from tests.helpers import ROOT, python
from tests.plugins import install_plugin

FACT = "The staging database is called heron"

#: What each host sends in one session, as recorded or as its schema says.
SESSIONS: dict[str, list[dict[str, Any]]] = {
    "claude": [
        {"hook_event_name": "SessionStart", "source": "startup", "transcript_path": "/t.jsonl", "cwd": "/w"},
        {"hook_event_name": "UserPromptSubmit", "prompt": "Tell me about the staging database", "permission_mode": "x"},
        {"hook_event_name": "Stop", "stop_hook_active": False, "last_assistant_message": "It is the heron database."},
        {"hook_event_name": "PreCompact", "trigger": "manual", "custom_instructions": ""},
        {"hook_event_name": "SessionEnd", "reason": "other"},
    ],
    "codex": [
        {"hook_event_name": "SessionStart", "source": "startup", "transcript_path": None, "model": "gpt-5"},
        {"hook_event_name": "UserPromptSubmit", "prompt": "Tell me about the staging database", "turn_id": "1"},
        {"hook_event_name": "Stop", "turn_id": "1", "last_assistant_message": "It is the heron database."},
        {"hook_event_name": "PreCompact", "turn_id": "1", "trigger": "auto"},
        {"hook_event_name": "SessionEnd", "reason": "other"},
    ],
    "gemini": [
        {"hook_event_name": "SessionStart", "source": "startup", "timestamp": "2026-11-01T00:00:00Z"},
        {"hook_event_name": "BeforeAgent", "prompt": "Tell me about the staging database"},
        {"hook_event_name": "AfterAgent", "prompt": "Tell me about the staging database",
         "prompt_response": "It is the heron database."},
        {"hook_event_name": "PreCompress", "trigger": "auto"},
        {"hook_event_name": "SessionEnd", "reason": "exit"},
    ],
    "cursor": [
        {"hook_event_name": "sessionStart", "conversation_id": "s1", "workspace_roots": ["/w"]},
        {"hook_event_name": "beforeSubmitPrompt", "conversation_id": "s1", "prompt": "Tell me about staging"},
        {"hook_event_name": "stop", "conversation_id": "s1", "status": "completed"},
        {"hook_event_name": "sessionEnd", "conversation_id": "s1"},
    ],
    "openclaw": [
        {"hook_event_name": "session_start"},
        {"hook_event_name": "before_prompt_build", "prompt": "Tell me about the staging database", "cwd": "/w"},
        {"hook_event_name": "agent_end", "reply": "It is the heron database."},
        {"hook_event_name": "before_compaction"},
        {"hook_event_name": "session_end"},
    ],
    "opencode": [
        {"hook_event_name": "session.created"},
        {"hook_event_name": "chat.message", "prompt": "Tell me about the staging database", "cwd": "/w"},
        {"hook_event_name": "session.idle", "reply": "It is the heron database."},
        {"hook_event_name": "session.compacted"},
        {"hook_event_name": "session.deleted"},
    ],
}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data home with one hot fact; words only, which needs no model."""
    monkeypatch.setenv("MEMOTHERM_HOME", str(tmp_path))
    monkeypatch.setenv("MEMOTHERM_EMBEDDER", "none")
    with memotherm.open() as mem:
        mem.remember(FACT, tags=["blocker"], tier="hot")
    return tmp_path


def hook(payload: bytes | dict[str, Any], *arguments: str, deadline: float = 100) -> tuple[str, str]:
    """Run the hook as a fork of the daemon does; it must say nothing but one JSON object."""
    event = io.TextIOWrapper(io.BytesIO(_event(payload)))
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, patch.object(sys, "stdin", event):
        kept = [os.dup(1), os.dup(2)]
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        try:
            code = answer_event(["--deadline", str(deadline), "--no-worker", *arguments], time.monotonic())
        finally:
            for number, former in enumerate(kept, 1):
                os.dup2(former, number)
                os.close(former)
        out.seek(0)
        err.seek(0)
        return _checked(code, out.read().decode(), err.read().decode())


def process(payload: bytes | dict[str, Any], *arguments: str, deadline: float = 100) -> tuple[str, str]:
    """Run the hook as a host does; it must leave with 0 and say nothing but one JSON object."""
    done = subprocess.run(
        [sys.executable, "-m", "memotherm", "hook", "--deadline", str(deadline), "--no-worker", *arguments],
        input=_event(payload), capture_output=True, timeout=120,
    )  # fmt: skip
    return _checked(done.returncode, done.stdout.decode(), done.stderr.decode())


def _event(payload: bytes | dict[str, Any]) -> bytes:
    return payload if isinstance(payload, bytes) else json.dumps({"session_id": "s1", **payload}).encode()


def _checked(code: int, out: str, err: str) -> tuple[str, str]:
    assert code == 0, err
    if out:
        assert isinstance(json.loads(out), dict)
    return out, err


@pytest.mark.parametrize("named", ["", " ", "\t\n", None, 7])
def test_what_is_no_name_of_a_session_is_none(named: object) -> None:
    """Such an event belongs to the session of its folder, as one without an id does."""
    told = {"hook_event_name": "UserPromptSubmit", "prompt": "The otter is called Nemo", "cwd": "/srv/otter"}
    event, without = parse_event({**told, "session_id": named}), parse_event(told)
    assert event is not None
    assert event == without


@pytest.mark.parametrize("client", SESSIONS)
def test_a_session_of_every_host(client: str, home: Path):
    """The memory is given in the host's form, once, and only where the host takes it."""
    answers = {event["hook_event_name"]: hook(event)[0] for event in SESSIONS[client]}
    said: list[Any] = [json.loads(text) if text else None for text in answers.values()]
    start, prompt, *others = said

    assert others == [None] * len(others)
    if client == "openclaw":
        assert start is None
        assert FACT in prompt["prependContext"]
    elif client == "opencode":
        assert FACT in start["text"]
        assert prompt is None or FACT not in prompt["text"]
    elif client == "cursor":
        assert FACT in start["additional_context"]
        assert prompt is None
    else:
        assert set(start) == {"hookSpecificOutput"}
        assert start["hookSpecificOutput"]["hookEventName"] == "SessionStart"
        assert FACT in start["hookSpecificOutput"]["additionalContext"]
        # What the session was given already is not given again.
        assert prompt is None or FACT not in prompt["hookSpecificOutput"]["additionalContext"]


def test_a_session_starts_with_the_number_of_proposals(home: Path):
    """One line, and none of what they say."""
    with memotherm.open() as mem:
        mem.remember("The crane is blue", source="extracted")
    text = json.loads(hook(SESSIONS["claude"][0])[0])["hookSpecificOutput"]["additionalContext"]

    assert text.endswith("1 proposal waits: `memotherm review` lists them.")
    assert FACT in text
    assert "crane" not in text


@pytest.mark.parametrize("client", ["claude", "gemini", "openclaw"])
def test_what_was_said_is_kept_when_its_reply_is_there(client: str, home: Path):
    """Nothing before; then prompt and reply as one memory, once, and the end of the session after it."""
    spool = Spool(home / "spool")
    start, prompt, reply, _compact, end = SESSIONS[client]
    for event in (start, prompt):
        hook(event)

    assert process_spool(spool).captured == 0
    hook(reply)
    assert process_spool(spool).captured == 1
    hook(end)
    done = process_spool(spool)

    assert (done.captured, done.ended, done.failed) == (0, 1, ())
    assert spool.waiting() == []
    with memotherm.open() as mem:
        (said,) = mem.find(kind="message")
        (fact,) = mem.find(tier="hot")
    assert said.content == "Tell me about the staging database\nIt is the heron database."
    assert said.metadata["role"] == "assistant"
    assert (fact.content, fact.use_weight) == (FACT, 1.0)  # the answer reflects it; being injected counts nothing


def test_what_one_session_was_told_is_there_for_another_at_its_next_prompt(home: Path):
    """The running conversation itself gets it back only after its context was compacted."""
    told = {"hook_event_name": "UserPromptSubmit", "prompt": "The walrus of the zoo is painted purple"}
    asks = {"hook_event_name": "UserPromptSubmit", "prompt": "Which colour is the walrus of the zoo?"}
    scope = ("--project", "zoo", "--user", "ana")
    hook({**told, "session_id": "first"}, *scope)
    assert "purple" not in hook({**asks, "session_id": "second"}, *scope, "--no-capture")[0]
    hook({"hook_event_name": "Stop", "session_id": "first", "last_assistant_message": "Noted."}, *scope)
    assert process_spool(Spool(home / "spool")).captured == 1

    first, second = ({**asks, "session_id": session} for session in ("first", "second"))
    assert "purple" in hook(second, *scope, "--no-capture")[0]
    assert "purple" not in hook(first, *scope, "--no-capture")[0]
    assert "purple" not in hook({**asks, "session_id": "third"}, "--project", "bank", "--no-capture")[0]
    hook({"hook_event_name": "PreCompact", "session_id": "first", "trigger": "auto"}, *scope)
    assert "purple" in hook(first, *scope, "--no-capture")[0]


def test_compaction_of_the_host_lets_everything_come_again(home: Path):
    """After PreCompact, the next prompt brings what the summary may have lost."""
    prompt = {"hook_event_name": "UserPromptSubmit", "prompt": "Tell me about the staging database"}
    first, again = hook(prompt)[0], hook(prompt)[0]
    hook({"hook_event_name": "PreCompact", "trigger": "auto"})
    after = hook(prompt)[0]

    assert FACT in first
    assert FACT not in again
    assert FACT in after


@pytest.mark.parametrize(
    "payload",
    [b"", b"   \n", b"{", b"null", b"[1, 2]", b'"text"', b"\xff\xfe\x00", b"{}", b'{"hook_event_name": 7}',
     b'{"hook_event_name": "PreToolUse", "session_id": "s1"}', b"[" * 100_000],
    ids=lambda value: repr(value[:24]),
)  # fmt: skip
def test_what_is_no_event_of_ours_says_nothing(payload: bytes, home: Path):
    """Empty, broken and foreign input: exit 0, nothing on standard output, nothing kept."""
    assert hook(payload)[0] == ""
    assert not (home / "spool").exists() or Spool(home / "spool").waiting() == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["--nonsense"],
        ["--deadline", "soon"],
        ["--budget", "-3"],
        ["--client"],
        ["--project", ""],
        ["--store", "/nil/x"],
    ],
    ids=" ".join,
)
def test_options_that_cannot_be_are_no_reason_to_block(arguments: list[str], home: Path):
    """Usage errors would erase the user's prompt: there are none."""
    hook({"hook_event_name": "SessionStart"}, *arguments)


def test_an_event_by_its_name_on_the_command_line(home: Path):
    """Hosts without a name in the input say it as an argument."""
    assert FACT in hook({}, "SessionStart")[0]


@pytest.mark.parametrize(
    ("payload", "arguments"),
    [(SESSIONS["claude"][0], ()), (SESSIONS["claude"][0], ("--nonsense",)), (b"", ()), (b"[" * 100_000, ())],
)
def test_a_process_answers_as_a_fork_of_the_daemon_does(
    payload: bytes | dict[str, Any], arguments: tuple[str, ...], home: Path
) -> None:
    """An event, an option that is none, nothing at all, and what is no event."""
    out, err = process(payload, *arguments)

    assert (out, err) == hook(payload, *arguments)
    assert (FACT in out) is isinstance(payload, dict)


def test_without_a_store_it_begins_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The first session of all finds nothing, and leaves an empty store that is in order."""
    monkeypatch.setenv("MEMOTHERM_HOME", str(tmp_path / "new" / "home"))
    monkeypatch.setenv("MEMOTHERM_EMBEDDER", "none")

    assert hook({"hook_event_name": "SessionStart"})[0] == ""
    with memotherm.open() as mem:
        assert mem.check() == []


def test_a_file_that_is_no_store_is_left_alone(home: Path, tmp_path: Path):
    """The hook complains on standard error and touches nothing."""
    letter = tmp_path / "letter.db"
    letter.write_text("Dear reader, " * 500, "utf-8")

    out, err = hook({"hook_event_name": "SessionStart"}, "--store", str(letter))

    assert out == ""
    assert "letter.db" in err
    assert letter.read_text("utf-8") == "Dear reader, " * 500


def test_settings_that_cannot_be_read_are_no_reason_to_block(home: Path, monkeypatch: pytest.MonkeyPatch):
    """A misspelt setting is one line on standard error."""
    monkeypatch.setenv("MEMOTHERM_MAX_PINED", "3")
    out, err = hook({"hook_event_name": "SessionStart"})

    assert out == ""
    assert "max_pined" in err


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "PreCompact"])
def test_a_locked_store_is_left_after_the_deadline(event: str, home: Path):
    """Another process holds the store: nothing is said, and what was said is spooled."""
    with closing(sqlite3.connect(home / "memory.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        out, err = process({"hook_event_name": event, "prompt": "Remember this turn well"}, deadline=0.8)

    assert out == ""
    assert "deadline" in err
    assert len(Spool(home / "spool").waiting()) == (0 if event == "SessionStart" else 1)


def test_a_huge_prompt_is_answered(home: Path):
    """Megabytes in, at most 9,000 characters out."""
    out, _ = hook({"hook_event_name": "UserPromptSubmit", "prompt": "staging database heron " * 200_000})

    assert FACT in out
    assert len(json.loads(out)["hookSpecificOutput"]["additionalContext"]) <= 9000


def test_the_limits_hold_whatever_is_stored(home: Path):
    """Many long memories: 9,000 characters and 2,400 tokens at most, with the marker closed."""
    with memotherm.open() as mem:
        for number in range(60):
            mem.remember(f"blocker {number}: " + f"internationalization{number} " * 40, tags=["blocker"], tier="hot")
    out, _ = hook({"hook_event_name": "SessionStart"}, "--budget", "99999")
    text = json.loads(out)["hookSpecificOutput"]["additionalContext"]

    assert 1000 < len(text) <= 9000
    assert text.startswith("<memotherm-memory>")
    assert text.endswith("</memotherm-memory>")


@pytest.mark.parametrize("length", [0, 30, 8999, 9000, 9001, 20_000])
def test_a_block_is_cut_at_a_line(length: int):
    """A text that is too long loses whole lines, never its end."""
    text = "<memotherm-memory>\n" + "- a memory\n" * (length // 11) + "</memotherm-memory>"
    cut = truncated(text, 9000)

    assert len(cut) <= 9000
    assert cut.endswith("</memotherm-memory>")
    assert set(cut.split("\n")) <= {"<memotherm-memory>", "- a memory", "</memotherm-memory>"}
    assert len(text) > 9000 or cut == text


def test_recalled_text_is_never_kept(home: Path):
    """What stands between our marks was recalled; around it, what was said counts."""
    block = f"<memotherm-memory>\n- {FACT}, secretly\n</memotherm-memory>"
    hook({"hook_event_name": "UserPromptSubmit", "prompt": block})
    hook({"hook_event_name": "UserPromptSubmit", "prompt": f"We renamed the server to egret.\n{block}"})
    hook({"hook_event_name": "SessionEnd"})
    process_spool(Spool(home / "spool"))

    with memotherm.open() as mem:
        assert [memory.content for memory in mem.find(kind="fact")] == ["We renamed the server to egret.", FACT]


def test_what_says_nothing_is_not_kept(home: Path):
    """Commands to the host, its own reminders, short questions and silence."""
    spool = Spool(home / "spool")
    for text in ("/compact", "!ls", "<system-reminder>be brief</system-reminder>", "Which one?", "ok", "NO_REPLY"):
        spool.add({"do": "capture", "role": "user", "text": text, "session": "s", "client": "claude"})

    assert process_spool(spool, include_running=True) == WorkerResult(skipped=6)


@pytest.mark.parametrize("prefix", PREFIXES)
def test_what_a_host_says_in_the_name_of_the_user_is_not_kept(prefix: str, home: Path):
    """Neither as a prompt nor from a transcript."""
    spool = Spool(home / "spool")
    job = {"do": "capture", "session": "s1", "client": "claude", "role": "user"}
    spool.add({**job, "text": f"{prefix} Our mascot is a purple walrus"})
    line = {"type": "user", "message": {"role": "user", "content": f"{prefix} Our mascot is a purple walrus"}}

    assert process_spool(spool, include_running=True).captured == 0
    assert transcript(json.dumps(line).encode()) == [""]


def test_a_stop_that_a_stop_hook_caused_keeps_nothing(home: Path):
    """`stop_hook_active` means that the host is in a loop of its own."""
    hook({"hook_event_name": "Stop", "stop_hook_active": True, "last_assistant_message": "Once more the same."})

    assert Spool(home / "spool").waiting() == []


def test_secrets_reach_neither_the_spool_nor_the_store(home: Path) -> None:
    """What looks like a credential is replaced before a job is written, and the worker says how often."""
    said = "Deploy with password: hunter2 and <private>meet at noon</private> tell Bob"
    hook({"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": said}, "--no-worker")
    hook({"hook_event_name": "SessionEnd", "session_id": "s1"}, "--no-worker")
    (job, _) = (path.read_text() for path in Spool(home / "spool").waiting())
    assert "Deploy with password: [redacted] and [redacted] tell Bob" in job
    result = process_spool(Spool(home / "spool"))
    assert (result.captured, result.redacted) == (1, 2)
    assert b"hunter2" not in b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())


@pytest.mark.parametrize("excluded", ["{}/client*,other", "s1"])
def test_a_folder_or_session_that_is_excluded_is_not_captured(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, excluded: str
) -> None:
    """Nothing of its conversations is spooled or logged, and memories are recalled as before."""
    monkeypatch.setenv("MEMOTHERM_CAPTURE_EXCLUDE", excluded.format(tmp_path))
    folder = tmp_path / "clients" / "acme"
    folder.mkdir(parents=True)
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": "Tell me of the staging heron"}
    output, _ = hook({**prompt, "cwd": str(folder)}, "--no-worker")
    assert FACT in output
    assert Spool(home / "spool").waiting() == []
    assert b"Tell me of the" not in b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())


def test_capture_can_be_refused(home: Path):
    """`--no-capture` recalls and keeps nothing, but sessions still end."""
    hook({"hook_event_name": "UserPromptSubmit", "prompt": "Something private"}, "--no-capture")
    hook({"hook_event_name": "SessionEnd"}, "--no-capture")

    assert process_spool(Spool(home / "spool")) == WorkerResult(ended=1)


def test_the_replies_are_read_from_the_transcript_where_the_host_does_not_tell_them(home: Path, tmp_path: Path):
    """Older hosts name a file; every prompt gets its own reply, the last message before the next prompt."""
    talk = [
        ("user", "Where is staging?"), ("assistant", "Let me look."), ("assistant", "Staging runs on egret-2."),
        ("user", "continue"), ("assistant", "Done."),
        ("user", "Who owns billing?"), ("assistant", "Priya owns billing since May."),
        ("user", "continue"), ("assistant", "The cutover is planned for 12 May in runbook.md."),
    ]  # fmt: skip
    lines = [{"type": role, "message": {"role": role, "content": text}} for role, text in talk]
    file = tmp_path / "t.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    spool = Spool(home / "spool")
    job = {"do": "capture", "session": "s1", "client": "cursor"}
    for text in (text for role, text in talk if role == "user"):
        spool.add({**job, "role": "user", "text": text})
        spool.add({**job, "role": "assistant", "transcript": str(file)})
    spool.add({**job, "role": "assistant", "transcript": str(tmp_path / "missing.jsonl")})

    assert process_spool(spool, include_running=True) == WorkerResult(captured=3, skipped=2)
    with memotherm.open() as mem:
        assert [memory.content for memory in mem.find(kind="message")][::-1] == [
            "Where is staging?\nStaging runs on egret-2.",
            "Who owns billing?\nPriya owns billing since May.",
            "The cutover is planned for 12 May in runbook.md.",
        ]


def test_a_hook_without_a_reply_names_the_transcript(home: Path, tmp_path: Path):
    """The last reply counts if the prompt is not known."""
    file = tmp_path / "t.jsonl"
    reply = {"role": "assistant", "content": "The staging server is heron-4, since May."}
    file.write_text(json.dumps(reply) + "\n", "utf-8")
    hook({"hook_event_name": "Stop", "transcript_path": str(file)})
    assert process_spool(Spool(home / "spool"), include_running=True).captured == 1


@pytest.mark.parametrize(
    ("prompt", "reply", "stored"),
    [
        ("Which port does staging use?", "Staging listens on 5433. Anything else?",
         "Which port does staging use?\nStaging listens on 5433."),
        ("数据库用哪个端口？", "数据库使用 5433 端口。还需要什么吗？", "数据库用哪个端口？\n数据库使用 5433 端口。"),
        ("Wie heißt der Release-Branch", "Der Branch heißt quayside. Sag Bescheid, wenn du noch etwas brauchst.",
         "Wie heißt der Release-Branch\nDer Branch heißt quayside."),
        ("The mascot is a walrus. Thanks!", "Noted, the mascot is a walrus.", "The mascot is a walrus."),
        ("Stream the rows of the importer", "I rewrote `rows` in importer.py. All tests pass.",
         "Stream the rows of the importer\nI rewrote `rows` in importer.py."),
        ("run the tests", "Two tests fail in tests/test_auth.py.", "Two tests fail in tests/test_auth.py."),
        ("run the tests", "All tests pass.", None),
        ("Which port does staging use?", "I don't know, sorry.", None),
        ("Which port does staging use?", "", None),
        ("hello", "Hello! How can I help you today?", None),
    ],
)  # fmt: skip
def test_a_turn_is_one_memory(prompt: str, reply: str, stored: str | None, home: Path):
    """A question with the conclusion of its answer, a statement, or nothing; dated when it was said."""
    spool = Spool(home / "spool")
    job = {"do": "capture", "session": "s1", "client": "claude"}
    weeks_ago = time.time_ns() - 20 * 86_400 * 10**9
    asked = spool.add({**job, "role": "user", "text": prompt})
    asked.rename(spool.folder / f"{weeks_ago:020d}-1-x.job.json")
    if reply:
        spool.add({**job, "role": "assistant", "text": reply})
    process_spool(spool, include_running=True)

    with memotherm.open() as mem:
        found = [memory for memory in mem.find() if memory.content != FACT and memory.kind != "summary"]
    assert [memory.content for memory in found] == ([stored] if stored else [])
    assert all(abs(memory.created_at.timestamp() - weeks_ago / 1e9) < 1 for memory in found)


def test_a_long_reply_is_reduced_to_its_conclusion(home: Path):
    """The sentences that share words with the question or name something, at most sixty tokens."""
    spool = Spool(home / "spool")
    job = {"do": "capture", "session": "s1", "client": "claude"}
    chatter = "This is a long sentence with many words that says little about the subject at hand. " * 12
    spool.add({**job, "role": "user", "text": "How does the cache work?"})
    spool.add({**job, "role": "assistant", "text": f"{chatter}So the cache keeps 500 entries in Redis. {chatter}"})
    process_spool(spool, include_running=True)

    with memotherm.open() as mem:
        (said,) = mem.find(kind="message")
    assert "the cache keeps 500 entries in Redis" in said.content
    assert said.tokens < 80


@pytest.mark.parametrize("runs", [True, False])
def test_the_end_of_a_session_compacts_after_capture_if_it_is_set_to(
    runs: bool, home: Path, monkeypatch: pytest.MonkeyPatch
):
    """H15, H16, W14: compaction follows what the session captured, and only with the setting."""
    monkeypatch.setenv("MEMOTHERM_COMPACTION_ON_SESSION_END", str(runs).lower())
    with memotherm.open() as mem:
        blocker = mem.remember("The build is broken", tags=["blocker"])
    hook({"hook_event_name": "UserPromptSubmit", "prompt": "Remember that the cake is a lie"})
    hook({"hook_event_name": "SessionEnd"})
    process_spool(Spool(home / "spool"))

    with memotherm.open() as mem:
        moves = [event for event in mem.history(blocker.id) if event.action == "move"]
        captured = mem.find(kind="rule")[0]
    assert len(moves) == (1 if runs else 0)
    assert not moves or moves[0].seq > captured.version


def test_a_project_keeps_to_itself(home: Path, tmp_path: Path):
    """`--project auto` takes the repository of the folder, for what is given and what is kept."""
    for name in ("shop", "bank"):
        (tmp_path / name / ".git").mkdir(parents=True)
        (tmp_path / name / "src").mkdir()
    said = {"hook_event_name": "UserPromptSubmit", "prompt": "Our mascot is a purple walrus"}
    hook({**said, "cwd": str(tmp_path / "shop" / "src")}, "--project", "auto")
    process_spool(Spool(home / "spool"), include_running=True)

    ask = {"hook_event_name": "UserPromptSubmit", "prompt": "mascot walrus", "session_id": "s2"}
    assert "purple" in hook({**ask, "cwd": str(tmp_path / "shop")}, "--project", "auto", "--no-capture")[0]
    assert "purple" not in hook({**ask, "cwd": str(tmp_path / "bank")}, "--project", "auto", "--no-capture")[0]


@pytest.mark.parametrize("session", ["", "main"])
def test_a_reply_belongs_to_the_turn_of_its_own_project(session: str, home: Path, tmp_path: Path):
    """Also when the host names no session, or gives the sessions of two projects the same name."""
    for name in ("shop", "bank"):
        (tmp_path / name).mkdir()

    def said(name: str, event: str, **fields: str) -> None:
        folder = str(tmp_path / name)
        hook({"hook_event_name": event, "session_id": session, "cwd": folder, **fields}, "--project", "auto")

    said("shop", "UserPromptSubmit", prompt="The mascot of the shop is a purple walrus")
    said("bank", "UserPromptSubmit", prompt="Which port has the gateway of the bank?")
    said("bank", "Stop", last_assistant_message="The gateway of the bank uses port 7001.")
    said("bank", "SessionEnd")
    first = process_spool(Spool(home / "spool"))
    assert (first.captured, first.ended, first.waiting, first.failed) == (1, 1, 1, ())
    said("shop", "Stop", last_assistant_message="Noted: the walrus is in assets/walrus.svg.")
    said("shop", "SessionEnd")
    process_spool(Spool(home / "spool"))

    with memotherm.open() as mem:
        stored = {
            name: mem.scoped(project=project_at(tmp_path / name).local).find(kind="message").memories
            for name in ("shop", "bank")
        }
    assert [memory.content for memory in stored["bank"]] == [
        "Which port has the gateway of the bank?\nThe gateway of the bank uses port 7001."
    ]
    assert [memory.content for memory in stored["shop"]] == [
        "The mascot of the shop is a purple walrus\nNoted: the walrus is in assets/walrus.svg."
    ]
    sessions = {memory.metadata["session"] for memories in stored.values() for memory in memories}
    assert len(sessions) == (1 if session else 2)


@pytest.mark.parametrize("folders", [("shop", "shop/src"), ("shop", "bank"), ("shop", "shop-feature")])
def test_a_session_without_an_id_is_that_of_its_working_tree(folders: tuple[str, str], tmp_path: Path):
    """Folders of one working tree share it; other folders and other hosts do not."""
    for name in ("shop/.git", "shop/src", "bank", "shop-feature"):
        (tmp_path / name).mkdir(parents=True)
    events = [
        parse_event({"hook_event_name": "Stop", "cwd": str(tmp_path / folder)}, client=client)
        for folder, client in (*((folder, "claude") for folder in folders), (folders[0], "codex"))
    ]
    one, two, of_codex = (event.session for event in events if event)
    assert (one == two) == (folders[1] == "shop/src")
    assert of_codex not in (one, two)


def test_long_ids_of_sessions_stay_different():
    """They are shortened, and keep a digest of the rest."""
    events = [parse_event({"hook_event_name": "Stop", "session_id": "s" * 300 + end}) for end in "ab"]
    one, two = (event.session for event in events if event)
    assert one != two
    assert max(len(one), len(two)) <= 200


def test_ids_of_sessions_have_no_characters_that_a_scope_cannot_have():
    """What is said in a session whose id has some is stored like anything else, and apart from other sessions."""
    named = ["a\0b", "ab", "a\nb", "\ud800", "\x1b", " ", "a\u200fb"]
    events = [
        parse_event({"hook_event_name": "Stop", "session_id": each, "cwd": "/"}, client="claude") for each in named
    ]
    found = [event.session for event in events if event]
    assert len(set(found)) == len(named)
    assert found[1] == "ab"
    assert all(map(str.isprintable, found))
    for session in found:
        Scope(session=session)


@pytest.mark.parametrize("name", [b"a\tb", b"a\nb", "a\u200fb".encode(), b"a\xffb"])
def test_a_folder_may_have_any_name(name: bytes, home: Path, tmp_path: Path):
    """What is said in it is captured and recalled there."""
    folder = tmp_path / os.fsdecode(name)
    folder.mkdir()
    said = {"hook_event_name": "UserPromptSubmit", "prompt": "Our mascot is a purple walrus", "cwd": str(folder)}
    hook(said, "--project", "auto")
    done = process_spool(Spool(home / "spool"), include_running=True)
    assert (done.captured, done.failed) == (1, ())

    ask = {"hook_event_name": "UserPromptSubmit", "prompt": "mascot walrus", "cwd": str(folder)}
    assert "purple" in hook({**ask, "session_id": "s2"}, "--project", "auto", "--no-capture")[0]


def test_what_users_say_about_themselves_reaches_all_their_projects(home: Path, tmp_path: Path):
    """A preference of one project is recalled in another one, and what is said about the project is not."""
    scope = ("--project", "auto", "--user", "ana")
    for name in ("shop", "bank"):
        (tmp_path / name / ".git").mkdir(parents=True)
    shop, bank = ({"hook_event_name": "UserPromptSubmit", "cwd": str(tmp_path / name)} for name in ("shop", "bank"))
    for prompt in ("I prefer answers about walruses in French", "Our walruses are painted purple"):
        hook({**shop, "prompt": prompt}, *scope)
    process_spool(Spool(home / "spool"), include_running=True)

    told = hook({**bank, "prompt": "walruses", "session_id": "s2"}, *scope, "--no-capture")[0]
    assert "in French" in told
    assert "purple" not in told
    with memotherm.open(scope=Scope(user="ana")) as mem:
        assert [memory.content for memory in mem.find(kind="preference")] == [
            "I prefer answers about walruses in French"
        ]
    with memotherm.open(scope=Scope(user="bob", project="bank")) as mem:
        assert not mem.find(kind="preference").memories


@pytest.mark.parametrize(
    ("prompt", "project", "user"),
    [
        ("Fix the test. And I don't like long comments.", {}, {"preference": "And I don't like long comments."}),
        ("Ich bin Vegetarier. Wir nehmen Postgres für die Rechnungen.",
         {"decision": "Wir nehmen Postgres für die Rechnungen."}, {"fact": "Ich bin Vegetarier."}),
        ("好的。端口改成 6000。", {"fact": "端口改成 6000。"}, {}),
        ("El demo es en Lisboa. Hay que entregarlo antes del viernes.",
         {"task": "El demo es en Lisboa. Hay que entregarlo antes del viernes."}, {}),
        ("We decided to keep Go. The report is due on 3 March. Thanks!",
         {"decision": "We decided to keep Go.", "task": "The report is due on 3 March."}, {}),
        ("I like this. " + "Now read the invoice of March and correct it. " * 20,
         {"message": ("Now read the invoice of March and correct it. " * 20).strip()}, {}),
    ],
)  # fmt: skip
def test_statements_become_memories_of_their_kind(
    prompt: str, project: dict[str, str], user: dict[str, str], home: Path
):
    """In their own words; those about the user for all projects, and nothing twice."""
    spool = Spool(home / "spool")
    job = {"do": "capture", "session": "s1", "client": "claude", "scope": {"project": "shop", "user": "ana"}}
    spool.add({**job, "role": "user", "text": prompt})
    spool.add({**job, "role": "assistant", "text": "Noted."})
    process_spool(spool, include_running=True)

    with memotherm.open(scope=Scope(project="shop", user="ana")) as mem:
        found = [memory for memory in mem.find() if memory.content != FACT and memory.kind != "summary"]
    about_user = [memory for memory in found if memory.scope.project is None]
    assert {memory.kind: memory.content for memory in about_user} == user
    assert {memory.kind: memory.content for memory in found if memory not in about_user} == project
    assert len(found) == len(user) + len(project)


@pytest.mark.slow
def test_the_next_session_starts_with_the_summary_of_the_last_one(home: Path):
    """What was decided, changed, asked and left open, at most 120 tokens, once for each session."""
    job = {"session_id": "s1", "cwd": str(home)}
    scope = ("--project", "shop", "--user", "ana")
    talk = [
        ("hello", "Hello!"),
        ("We decided to keep the invoices in Postgres.", "Noted."),
        ("Which port does staging use?", "Staging listens on 5433."),
        ("The demo for Lisbon has to be ready by Friday.", "OK."),
        *((f"The walrus_number {number} of the exhibition weighs {number * 31} pounds and likes fish", "OK.")
          for number in range(30)),
    ]  # fmt: skip
    spool = Spool(home / "spool")
    place = {"client": "claude", "session": "s1", "folder": str(home), "scope": {"project": "shop", "user": "ana"}}
    for prompt, reply in talk:
        spool.add({"do": "capture", "role": "user", "text": prompt, **place})
        spool.add({"do": "capture", "role": "assistant", "text": reply, **place})
    hook({"hook_event_name": "SessionEnd", **job}, *scope)
    process_spool(spool)
    started = hook({"hook_event_name": "SessionStart", "session_id": "s2", "cwd": str(home)}, *scope)[0]
    other = hook({"hook_event_name": "SessionStart", "session_id": "s3", "cwd": str(home)}, "--project", "bank")[0]

    assert "Decided: We decided to keep the invoices in Postgres" in started
    assert "Asked: Which port does staging use?" in started
    assert "The walrus_number 0 of" in started  # in its own words
    assert started.count("The demo for Lisbon has to be ready by Friday") == 1
    assert "Lisbon" not in other
    spool.add({"do": "capture", "role": "user", "text": "We decided to drop Redis.", **place})
    spool.add({"do": "capture", "role": "user", "text": "thanks", **place, "session": "s4"})
    process_spool(spool, include_running=True)
    with memotherm.open(scope=Scope(project="shop", user="ana")) as mem:
        (stored,) = mem.find(kind="summary")
        found = mem.recall("invoices Postgres")
    assert "drop Redis" in stored.content
    assert stored.tokens <= 120
    assert [hit.memory.kind for hit in found][:1] == ["decision"]
    assert "summary" not in {hit.memory.kind for hit in found}


def test_the_hook_starts_with_the_standard_library_alone(home: Path):
    """Nothing from elsewhere is loaded for an event that needs no memory; no numpy, click or sqlite3."""
    code = (
        "import atexit, os, sys\n"
        "leave = os._exit\n"
        "def payload(code):\n"
        "    own = {'memotherm', *sys.stdlib_module_names}\n"
        "    names = {name.split('.')[0] for name, module in sys.modules.items()"
        " if 'site-packages' in str(getattr(module, '__file__', ''))}\n"
        "    print(sorted((names - own - before) | ({'sqlite3', 'ctypes'} & set(sys.modules))), file=sys.stderr)\n"
        "    sys.stderr.flush()\n"
        "    leave(code)\n"
        "os._exit = payload\n"
        "before = {name.split('.')[0] for name in sys.modules}\n"
        "sys.argv = ['memotherm', 'hook', '--no-worker']\n"
        "from memotherm.__main__ import main\n"
        "main()\n"
    )
    for event in ({"hook_event_name": "Stop", "last_assistant_message": "All is done."}, {"hook_event_name": "Other"}):
        done = subprocess.run([sys.executable, "-c", code], input=json.dumps(event).encode(), capture_output=True)
        assert done.stderr.decode().strip() == "[]"
        assert done.returncode == 0


# What `doctor` sees


def doctor_findings(*arguments: str, limit: str = "") -> list[dict[str, str]]:
    """Return what `memotherm doctor` finds, with a limit of `ulimit` if one is given."""
    command = [sys.executable, "-m", "memotherm", "doctor", "--json", *arguments]
    words = ["bash", "-c", f'ulimit {limit}; exec "$@"', "bash", *command] if limit else command
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    found: list[dict[str, str]] = json.loads(done.stdout)["findings"]
    return found


def test_doctor_counts_the_recalls_of_the_week_that_missed_their_deadline(home: Path):
    """Older ones are not counted, and a line that is none of ours is ignored."""
    now = time.time()
    lines = [[now - 86_400 * day, "deadline", "of another day"] for day in (30, 8, 6, 2)]
    (home / "hooks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + "[" * 9999 + "\n{}\n")
    for event in ("SessionStart", "UserPromptSubmit"):
        assert hook({"hook_event_name": event, "prompt": "staging database"}, deadline=0)[0] == ""
    (found,) = (each for each in doctor_findings() if each["name"] == "hooks" and "deadline" in each["detail"])

    assert found["state"] == "warning"
    assert found["detail"].startswith("4 recalls missed the deadline in the last 7 days")
    assert "UserPromptSubmit" in found["detail"]
    assert "memotherm agent daemon start" in found["remedy"]


@pytest.mark.slow
def test_doctor_sees_what_hooks_said_to_nobody(home: Path):
    """The store that only the hooks name, here on a wrong port, is not the one that `doctor` checks."""
    for url in ("http://127.0.0.1:1", "postgresql://ana@127.0.0.1:1/x"):
        hook({"hook_event_name": "SessionStart"}, "--store", url)
        (found,) = (each for each in doctor_findings() if each["name"] == "hooks" and "failed" in each["detail"])
        assert (found["state"], url in found["detail"]) == ("warning", True)
        own = {each["name"]: each["state"] for each in doctor_findings("--store", url)}
        assert own["store"] == "failure"


def test_the_log_of_the_hooks_does_not_grow_for_ever(home: Path):
    """The newest entries stay."""
    for number in range(9000):
        log.add(log.ERROR, f"{number} " + "x" * 500)
    assert log.log_file().stat().st_size < 2_000_000
    assert log.last_week()[-1].detail.startswith("8999 ")


@pytest.mark.slow
def test_doctor_sees_that_nothing_can_be_written(home: Path):
    """A limit of the file size stands for a full disk: both fail when a file grows."""
    found = {each["name"]: each for each in doctor_findings(limit="-f 8")}
    assert {found[name]["state"] for name in ("data folder", "store", "write")} == {"failure"}
    assert f"{home}: nothing can be written" in found["data folder"]["detail"]
    assert "free space" in found["data folder"]["remedy"]
    found = {each["name"]: each for each in doctor_findings()}
    assert {found[name]["state"] for name in ("data folder", "permission", "write")} == {"ok"}


# The spool and its worker


def test_a_job_is_there_whole_or_not_at_all(tmp_path: Path):
    """Half-written files are not taken; what is no job is put aside where a person finds it."""
    spool = Spool(tmp_path / "spool")
    spool.add({"do": "end", "session": "s1"})
    (spool.folder / "0-1-x.part").write_text('{"do": "en', "utf-8")
    (spool.folder / "0-2-x.job.json").write_text("not json", "utf-8")
    (spool.folder / "0-3-x.job.json").write_text("[]", "utf-8")

    assert [job["do"] for _, job in spool.jobs()] == ["end"]
    assert len(list(spool.folder.glob("*.failed.json"))) == 2


def test_a_job_of_another_version_is_put_aside(home: Path):
    """It is reported, and does not block the others."""
    spool = Spool(home / "spool")
    spool.add({"do": "dance", "session": "s1"})
    spool.add({"do": "end", "session": "s1"})
    done = process_spool(spool)

    assert (done.ended, len(done.failed)) == (1, 1)
    assert spool.waiting() == []


_END = '{"do": "end", "session": "s0"'


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"do": ' * 100_000, "nested too deeply"),
        (_END, "not JSON"),
        ("[]", "not a JSON object"),
        ('{"session": "s0"}', "does not say what to do"),
        (_END + ', "retry_at": "x"}', "'retry_at' is not a number"),
        (_END + ', "retry_at": 1e300}', "'retry_at' is not a number"),
        (_END + ', "retry_at": NaN}', "'retry_at' is not a number"),
        (_END + ', "attempts": 1000000000}', "'attempts' is not a number"),
        (_END + ', "deaths": null}', "'deaths' is not a number"),
        (_END + ', "scope": "shop"}', "'scope' is not an object"),
        (_END + ', "scope": {"project": ["a", "b"]}}', "'scope' has values"),
        (_END + ', "scope": {"planet": "Mars"}}', "planet"),
        (_END + ', "settings": [1]}', "'settings' is not an object"),
        (_END + ', "settings": {"max_pined": 3}, "scope": {}, "store": null}', "max_pined"),
        (_END + ', "store": 7}', "'store' is not a text"),
        ('{"do": "end", "session": {"a": 1}}', "'session' is not a text"),
        ('{"do": ["end"], "session": "s0"}', "'do' is not a text"),
        ("\ud800", "utf-8"),
        ("pipe", "not a regular file"),
        ("folder", "not a regular file"),
    ],
)
def test_a_file_that_is_no_job_is_set_aside_with_the_reason(content: str, why: str, home: Path):
    """The jobs behind it are processed, and `doctor` and the worker say what is wrong with it."""
    spool = Spool(home / "spool")
    spool.add({"do": "end", "session": "s1"})
    bad = spool.folder / "00000000000000000001-1-x.job.json"
    if content == "pipe":
        os.mkfifo(bad)
    elif content == "folder":
        bad.mkdir()
    else:
        bad.write_bytes(content.encode("utf-8", "surrogatepass"))
    result = process_spool(spool)

    assert (result.ended, len(result.failed), spool.waiting()) == (1, 1, [])
    assert why in result.failed[0]
    ((path, reason),) = spool.failed().items()
    assert path.name == "00000000000000000001-1-x.failed.json"
    assert why in reason
    assert why in " ".join(finding.detail for finding in hook_findings())
    assert process_spool(spool) == WorkerResult()


_BLOCKING_EMBEDDER = """
import os
import signal
import threading
import numpy

class Embedder:
    name, dimensions = "pond-1", 4

    def embed(self, texts):
        if any("quicksand" in text for text in texts):
            threading.Event().wait()
        if any("volcano" in text for text in texts):
            os.kill(os.getpid(), signal.SIGKILL)
        return numpy.full((len(texts), 4), 0.5, numpy.float32)

offered = Embedder
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "seconds", "why"),
    # A worker that dies is noticed at once: the others have as long as a machine with much to do needs.
    [("quicksand", 20, "longer than 20 seconds"), ("volcano", 80, "3 workers died")],
)
def test_a_job_that_blocks_or_kills_the_worker_is_set_aside_and_the_others_go_on(
    word: str, seconds: float, why: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its whole turn is kept and named by `doctor`; tried again by hand, it is stored."""
    install_plugin(tmp_path, monkeypatch, _BLOCKING_EMBEDDER, "memotherm.embedders")
    store = str(home / "pond.db")
    spool = Spool(home / "spool")
    job = {"do": "capture", "client": "claude", "store": store, "scope": {}}
    for session, text in (("s1", "The otter lives in Kyiv"), ("s2", f"The {word} is in Lviv"), ("s3", "Owls eat")):
        spool.add({**job, "session": session, "role": "user", "text": f"{text} since March"})
        spool.add({**job, "session": session, "role": "assistant", "text": "Noted in places/animals.txt."})

    def work(embedder: str, *, seconds: float) -> WorkerResult:
        script = (
            "import json; from dataclasses import asdict; from memotherm.hooks.spool import user_spool\n"
            "from memotherm.hooks.worker import run_worker\n"
            f"print(json.dumps(asdict(run_worker(user_spool(), include_running=True, seconds={seconds}))))"
        )
        environment = {**os.environ, "MEMOTHERM_EMBEDDER": embedder, "PYTHONPATH": str(tmp_path)}
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, env=environment, timeout=110)
        return WorkerResult(**json.loads(done.stdout))

    result = work("pond", seconds=seconds)
    assert (result.captured, spool.waiting()) == (2, [])
    assert any(why in failed for failed in result.failed)
    assert len(spool.failed()) == 2
    (finding, _) = hook_findings()
    assert why in finding.detail
    assert finding.remedy.startswith("memotherm agent worker --once --retry")

    assert spool.retry() == 2
    again = work("none", seconds=60)
    assert (again.captured, len(again.failed), spool.failed()) == (1, 0, {})
    with memotherm.open(store, embedder="none") as mem:
        assert len([*mem.find(kind="message"), *mem.find(kind="fact")]) == 3


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_transcript_that_is_no_file_blocks_nothing(kind: str, home: Path, tmp_path: Path):
    """A pipe nobody writes to and an endless device are no transcripts; the other projects are served."""
    path = Path("/dev/zero")
    if kind == "pipe":
        path = tmp_path / "pipe"
        os.mkfifo(path)
    spool = Spool(home / "spool")
    spool.add({"do": "capture", "session": "s0", "client": "cursor", "role": "assistant", "transcript": str(path)})
    event = {"hook_event_name": "UserPromptSubmit", "transcript_path": str(path)}
    script = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))\n"
        "from memotherm.hooks.capture import process_spool\n"
        "from memotherm.hooks.events import context_size, parse_event\n"
        "from memotherm.hooks.spool import user_spool\n"
        f"print(context_size(parse_event({event!r})), process_spool(user_spool(), include_running=True).failed)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "None ()\n", done.stderr
    assert spool.waiting() == []


def test_a_job_that_kills_the_worker_is_set_aside_after_a_few_tries(home: Path, monkeypatch: pytest.MonkeyPatch):
    """It does not keep the jobs behind it from being processed, and an unknown error sets it aside at once."""
    spool = Spool(home / "spool")
    job = {"do": "capture", "role": "user", "client": "claude"}
    spool.add({**job, "session": "s1", "text": "This text kills whoever reads it"})
    spool.add({**job, "session": "s2", "text": "This text raises an error of ours"})
    spool.add({**job, "session": "s3", "text": "Our mascot is a purple walrus"})

    def contents_of(prompt: str, *rest: str) -> list[Content]:
        if "kills" in prompt:
            raise SystemExit
        if "raises" in prompt:
            raise RecursionError
        return turns.contents_of(prompt, *rest)

    monkeypatch.setattr("memotherm.hooks.capture.contents_of", contents_of)
    for _ in range(3):
        with pytest.raises(SystemExit):
            process_spool(spool, include_running=True)
    result = process_spool(spool, include_running=True)
    assert (result.captured, len(result.failed)) == (1, 2)
    assert (spool.waiting(), len(spool.failed())) == ([], 2)


def test_jobs_wait_for_a_store_that_cannot_be_written(home: Path, monkeypatch: pytest.MonkeyPatch):
    """Nothing is lost while another process holds the store."""
    monkeypatch.setenv("MEMOTHERM_BUSY_TIMEOUT_MS", "10")
    spool = Spool(home / "spool")
    spool.add({"do": "capture", "role": "user", "text": "The key is in a box", "session": "s1", "client": "claude"})
    with closing(sqlite3.connect(home / "memory.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert process_spool(spool, include_running=True).failed
    assert len(spool.waiting()) == 1
    assert process_spool(spool, include_running=True).captured == 1


def test_a_store_that_cannot_be_reached_does_not_block_the_jobs_of_others(home: Path):
    """Its jobs wait, in order; those behind them for another store are done, and its own once it is reachable."""
    spool = Spool(home / "spool")
    job = {"do": "capture", "role": "user", "session": "s1", "client": "claude"}
    missing = home / "missing" / "memory.db"
    spool.add({**job, "store": str(missing), "text": "Stored where nothing can be written"})
    spool.add({**job, "store": None, "text": "Our mascot is a purple walrus"})
    spool.add({**job, "store": str(missing), "do": "end"})
    spool.add({**job, "store": None, "do": "end"})
    result = process_spool(spool)

    assert (result.captured, result.ended, result.waiting, len(result.failed)) == (1, 1, 2, 1)
    assert "missing" in result.failed[0]
    missing.parent.mkdir()
    assert process_spool(spool, include_running=True).captured == 1
    assert spool.waiting() == []


def test_a_job_is_set_aside_when_its_store_has_been_unreachable_for_a_week(home: Path):
    """It is reported and can be inspected, and is not tried for ever."""
    spool = Spool(home / "spool")
    job = {"do": "end", "session": "s1", "store": str(home / "missing" / "memory.db")}
    week_ago = time.time_ns() - 8 * 86_400 * 10**9
    spool.add(job).rename(spool.folder / f"{week_ago:020d}-1-x.job.json")
    result = process_spool(spool)

    assert "not retried" in result.failed[0]
    assert spool.waiting() == []
    assert len(list(spool.folder.glob("*.failed.json"))) == 1


@pytest.mark.slow
def test_a_worker_uses_the_settings_of_the_folder_where_the_hook_ran(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A conversation of one project is not stored in the file of another, wherever the worker runs."""
    monkeypatch.setenv("MEMOTHERM_TRUST_PROJECT", "1")
    for name in ("shop", "bank"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "memotherm.toml").write_text('store = "own.db"\n', "utf-8")
        monkeypatch.chdir(tmp_path / name)
        hook({"hook_event_name": "UserPromptSubmit", "prompt": f"The mascot of the {name} is a purple walrus"})
    result = process_spool(Spool(home / "spool"), include_running=True)

    assert (result.captured, result.failed) == (2, ())
    for name in ("shop", "bank"):
        with memotherm.open(tmp_path / name / "own.db") as mem:
            assert [f"mascot of the {name}" in memory.content for memory in mem.find(kind="message")] == [True]


def test_a_broken_settings_file_loses_no_job(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Neither where the worker runs nor where the hook ran; the job is done when the file is correct."""
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "memotherm.toml").write_text("max_pined = 3\n", "utf-8")
    hook({"hook_event_name": "UserPromptSubmit", "prompt": "Our mascot is a purple walrus"})
    monkeypatch.chdir(broken)
    hook({"hook_event_name": "UserPromptSubmit", "prompt": "Our bakery is closed on Mondays", "session_id": "s2"})
    first = process_spool(Spool(home / "spool"), include_running=True)

    assert (first.captured, first.waiting, len(first.failed)) == (1, 1, 1)
    assert "max_pined" in first.failed[0]
    doctor = subprocess.run([sys.executable, "-m", "memotherm", "doctor"], capture_output=True, text=True, timeout=120)
    assert "1 jobs of" in doctor.stdout
    assert "max_pined" in doctor.stdout.split("1 jobs of")[1]
    (broken / "memotherm.toml").write_text("max_pinned = 3\n", "utf-8")
    assert process_spool(Spool(home / "spool"), include_running=True).captured == 1


def test_the_end_of_a_session_releases_texts_whose_settings_could_not_be_read(home: Path, tmp_path: Path):
    """They have no store yet, and belong to the session by its scope and id."""
    spool = Spool(home / "spool")
    spool.add({
        "do": "capture", "role": "user", "text": "Our mascot is a purple walrus", "session": "s1", "client": "claude",
        "scope": {"project": "auto"}, "folder": str(tmp_path), "started_in": str(tmp_path),
    })  # fmt: skip
    hook({"hook_event_name": "SessionEnd", "cwd": str(tmp_path)}, "--project", "auto")
    assert process_spool(spool).captured == 1


def test_a_job_that_fails_is_tried_again_after_growing_pauses(home: Path):
    """It is not tried during a pause, and each pause is twice as long as the one before."""
    spool = Spool(home / "spool")
    spool.add({"do": "end", "session": "s1", "store": str(home / "missing" / "memory.db")})
    clock = FakeClock()
    tried = []
    for minute in range(20):
        result = process_spool(spool, clock=clock)
        clock.advance(minutes=1)
        assert result.waiting == 1
        if result.failed:
            tried.append(minute)

    assert tried == [0, 1, 3, 7, 15]


def test_one_worker_at_a_time(home: Path):
    """A second worker leaves the spool to the first."""
    import fcntl

    spool = Spool(home / "spool")
    spool.add({"do": "end", "session": "s1"})
    with (spool.folder / "lock").open("a+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert process_spool(spool).busy
    assert process_spool(spool).ended == 1


def test_the_worker_command(home: Path):
    """`memotherm agent worker --once --json` prints its result."""
    Spool(home / "spool").add({"do": "end", "session": "s1"})
    done = subprocess.run(
        [sys.executable, "-m", "memotherm", "agent", "worker", "--once", "--json"],
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert json.loads(done.stdout)["ended"] == 1


# Reading and answering


def test_options_are_read_by_hand():
    """Both spellings, in any order; what is unknown is passed over."""
    options = Options(["--project=x", "--user", "u", "--new", "thing", "Stop", "--no-worker", "--budget", "500"])

    assert (options.scope, options.event, options.worker, options.budget) == (
        {"project": "x", "user": "u"}, "Stop", False, 500,
    )  # fmt: skip


@pytest.mark.parametrize(("client", "events"), SESSIONS.items())
def test_the_host_is_recognised_by_its_words(client: str, events: list[dict[str, Any]]):
    """The names of events and fields identify the host."""
    found = {event.host.client for each in events if (event := parse_event(each)) is not None}

    assert client in found


@pytest.mark.parametrize("host", CLIENTS.values(), ids=CLIENTS)
def test_a_host_with_hooks_has_every_moment_of_a_session(host: Host):
    """The start, a prompt, a stop, a compaction and the end; a text is injected at the start, a prompt or a tool."""
    moments = [event.moment for event in host.events.values()]

    assert {"start", "prompt", "compact", "stop", "end"} == set(moments) - {"tool", "agent"}
    assert {event.moment for event in host.events.values() if event.injects} <= {"start", "prompt", "tool", "agent"}
    assert all("*" not in event.matcher for event in host.events.values())
    # A plugin of ours chooses the tools itself.
    assert host.plugin or all(event.matcher for event in host.events.values() if event.moment == "tool")
    assert any(event.injects for event in host.events.values())


@pytest.mark.parametrize("name", ["Stop", "PreCompact", "SessionEnd", "AfterAgent", "PreCompress"])
def test_nothing_is_said_where_a_host_forbids_it(name: str):
    """Codex refuses hookSpecificOutput at Stop and PreCompact."""
    event = parse_event({"hook_event_name": name})

    assert event is not None
    assert answer(event, Told("text")) is None


def test_the_tenant_of_a_hook_counts(home: Path):
    """A memory of a tenant is recalled for a hook of that tenant alone."""
    with memotherm.open(scope=Scope(tenant="acme")) as mem:
        mem.remember("The acme staging database is called egret", tier="hot")
    event = {"hook_event_name": "UserPromptSubmit", "prompt": "Which staging database?"}

    assert "egret" in hook({**event, "session_id": "s1"}, "--tenant", "acme", "--no-capture")[0]
    assert "egret" not in hook({**event, "session_id": "s2"}, "--tenant", "globex", "--no-capture")[0]


@pytest.mark.parametrize("name", ["x;user=ana", "x%3Buser=ana caf\u00e9"])
def test_the_name_of_a_folder_is_in_the_project_and_in_nothing_else(name: str, home: Path, tmp_path: Path):
    """Whatever characters it has."""
    with memotherm.open(scope=Scope(project="x", user="ana")) as mem:
        mem.remember("The staging password of Ana is on the yellow note", tier="hot")
    with memotherm.open(scope=Scope(project=project_at(tmp_path / name).local)) as mem:
        mem.remember("The staging mascot is a purple walrus", tier="hot")
    (tmp_path / name).mkdir()
    event = {"hook_event_name": "UserPromptSubmit", "prompt": "staging", "cwd": str(tmp_path / name)}
    out, _ = hook(event, "--project", "auto", "--no-capture")

    assert "purple walrus" in out
    assert "yellow" not in out


# The plugins in the package


def test_the_plugins_are_well_formed():
    """Names, versions and commands agree with the package."""
    plugins = ROOT / "src" / "memotherm" / "plugins"
    for file in plugins.rglob("*.json"):
        assert isinstance(json.loads(file.read_text("utf-8")), dict)
    market = json.loads((plugins / ".claude-plugin" / "marketplace.json").read_text("utf-8"))
    (entry,) = market["plugins"]
    plugin = plugins / entry["source"]
    about = json.loads((plugin / ".claude-plugin" / "plugin.json").read_text("utf-8"))
    hooks = json.loads((plugin / "hooks" / "hooks.json").read_text("utf-8"))["hooks"]

    assert (about["name"], about["version"]) == (entry["name"], memotherm.__version__)
    assert all(parse_event({"hook_event_name": name}) is not None for name in hooks)
    assert len((plugin / "README.md").read_text("utf-8").split()) >= 40
    for name in ("package.json", "openclaw.plugin.json"):
        assert json.loads((plugins / "openclaw" / name).read_text("utf-8"))["description"]


def test_the_skill_and_the_guide_name_only_tools_that_are_offered_by_default():
    """The server that the plugin and `install` configure offers every tool that an agent or a user is told to use."""
    skill = ROOT / "src" / "memotherm" / "plugins" / "plugins" / "memotherm" / "skills" / "memory" / "SKILL.md"
    named = {
        name
        for page in (skill, ROOT / "docs" / "how-to" / "claude-code.md")
        for name in re.findall(r"`([a-z_]+)`", page.read_text("utf-8"))
        if name in TOOLS
    }

    assert "store_memory" in named
    assert named <= set(CORE)


def test_scopes_and_settings_of_a_hook_are_those_of_the_library(home: Path):
    """Everything a hook may say about a scope is a field of the scope."""
    options = Options(
        [word for name in ("tenant", "project", "environment", "user", "agent") for word in (f"--{name}", "x")]
    )

    assert Scope(**options.scope).items()
    assert Settings().silent_token == "NO_REPLY"
    assert os.environ["MEMOTHERM_HOME"] == str(home)


def test_a_prompt_before_the_context_is_compacted_asks_to_save(home: Path, tmp_path: Path) -> None:
    """Once per compaction, by the usage in the transcript, naming the note of the day, behind the memories."""
    transcript = tmp_path / "t.jsonl"
    usage = {"input_tokens": 12, "cache_read_input_tokens": 170_000, "cache_creation_input_tokens": 8000}
    lines = [{"type": "assistant", "message": {"role": "assistant", "usage": usage}}, {"type": "user", "message": {}}]
    transcript.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    (home / "config.toml").write_text(f'notes_root = "{tmp_path}"\n', "utf-8")
    event = {"hook_event_name": "UserPromptSubmit", "prompt": "staging database", "transcript_path": str(transcript)}

    first, again = (hook(event, "--client", "claude")[0] for _ in range(2))

    text = json.loads(first)["hookSpecificOutput"]["additionalContext"]
    assert text.index("heron") < text.index("</memotherm-memory>") < text.index("memory/20")
    assert "MEMORY.md" in text
    assert "Answer the user in full" in text
    assert "NO_REPLY" not in text
    assert "append" not in again


@pytest.mark.parametrize(("prompt", "asked"), [("staging database", True), ("<task-notification>done", False)])
def test_a_flush_names_no_place_that_cannot_be_written(home: Path, tmp_path: Path, prompt: str, asked: bool) -> None:
    """It names store_memory instead; a turn that the host began by itself is not asked."""
    (home / "config.toml").write_text(f'notes_root = "{tmp_path / "gone"}"\n', "utf-8")
    event = {"hook_event_name": "UserPromptSubmit", "prompt": prompt, "context_tokens": 190_000}

    text = hook(event, "--client", "claude")[0]

    assert ("with store_memory" in text) is asked
    assert "gone" not in text


def test_hooks_inject_the_notes_of_the_configured_folder_as_they_are(home: Path, tmp_path: Path) -> None:
    """In a store that has not seen them, and after an edit."""
    (home / "config.toml").write_text(f'notes_root = "{tmp_path}"\n', "utf-8")
    note = tmp_path / "MEMORY.md"
    note.write_text("- The codeword is kiwi.\n", "utf-8")
    assert "kiwi" in hook({"hook_event_name": "SessionStart"})[0]

    note.write_text("- The codeword is mango.\n", "utf-8")
    text = hook({"hook_event_name": "UserPromptSubmit", "prompt": "What is the codeword?"})[0]
    assert "mango" in text
    assert "kiwi" not in text


@pytest.mark.parametrize(
    ("client", "payload", "line", "size"),
    [
        ("claude", {"context_tokens": 5, "context_window": 9}, {}, (5, 9)),
        ("claude", {}, {"message": {"usage": {"input_tokens": 7, "output_tokens": 1}}}, (8, 200_000)),
        ("claude", {}, {"message": {"usage": {"input_tokens": 7}}, "isSidechain": True}, None),
        (
            "codex",
            {},
            {
                "payload": {
                    "type": "token_count",
                    "info": {"last_token_usage": {"total_tokens": 3}, "model_context_window": 4},
                }
            },
            (3, 4),
        ),
        ("codex", {}, {"payload": {"type": "token_count", "info": None}}, None),
        ("claude", {}, {"message": {"usage": [1]}}, None),
        ("claude", {}, [{"message": {"usage": {"input_tokens": 7}}}], None),
    ],
)
def test_the_size_of_a_context_is_read_from_the_event_or_the_transcript(
    client: str, payload: dict[str, Any], line: object, size: tuple[int, int] | None, tmp_path: Path
) -> None:
    """In the formats of Claude Code and Codex; anything else gives no size."""
    (tmp_path / "t.jsonl").write_text(json.dumps(line) + "\n{half", "utf-8")
    event = parse_event(
        {"hook_event_name": "UserPromptSubmit", "transcript_path": str(tmp_path / "t.jsonl"), **payload}, client=client
    )

    assert event is not None
    assert context_size(event) == size


def test_the_end_of_a_run_is_that_of_the_session(home: Path) -> None:
    """H15: `agent_end` runs compaction with `compact_every_run`, as `session.run_ended` does, and only then."""
    spool = Spool(home / "spool")
    with memotherm.open() as mem:
        fact = mem.remember("The deploy was finished", kind="decision", metadata={"status": "done"}, tier="hot")
    hook({"hook_event_name": "agent_end", "reply": "It is the heron database."})
    assert [job["do"] for _, job in spool.jobs()] == ["capture"]
    (home / "config.toml").write_text("compact_every_run = true\n", "utf-8")
    hook({"hook_event_name": "agent_end", "reply": "It is the heron database."})

    assert process_spool(spool).waiting == 0
    with memotherm.open() as mem:
        assert str(mem.get(fact.id).tier) == "cold"


@pytest.mark.parametrize("name", ["before_agent_start", "before_prompt_build"])
def test_the_names_of_openclaws_prompt_event(name: str) -> None:
    """H08: both inject recalled memories before the turn."""
    event = parse_event({"hook_event_name": name, "prompt": "staging database"})

    assert event is not None
    assert (event.host.client, event.moment) == ("openclaw", "prompt")
    assert answer(event, Told("hot")) == {"prependContext": "hot"}


def test_the_worker_runs_maintenance_but_not_too_often(home: Path) -> None:
    """After the jobs, for the stores that they are of, once per hour."""
    spool = Spool(home / "spool")
    past = FakeClock(datetime.now(UTC) - timedelta(days=2))

    def expired() -> str:
        with memotherm.open(clock=past) as mem:
            return mem.remember(f"for {past()} only", ttl="1h").id

    def retention(memory_id: str) -> str:
        hook({"hook_event_name": "SessionEnd"})
        assert process_spool(spool).failed == ()
        with memotherm.open() as mem:
            return str(mem.get(memory_id).retention)

    assert retention(expired()) == "deleted"
    past.advance(minutes=1)
    assert retention(expired()) == "active"


def test_an_end_that_is_worked_off_late_does_not_forget_what_a_resumed_session_was_given(home: Path) -> None:
    """Otherwise its next prompt would be given the same again."""
    start, end = {"hook_event_name": "SessionStart", "source": "resume"}, {"hook_event_name": "SessionEnd"}
    prompt = {"hook_event_name": "UserPromptSubmit", "prompt": "looks good to me"}
    assert FACT in hook(start, "--client", "codex")[0]
    hook(end, "--client", "codex")
    assert FACT in hook(start, "--client", "codex")[0]
    assert process_spool(Spool(home / "spool")).ended == 1
    assert hook(prompt, "--client", "codex") == ("", "")


def test_threads_that_load_for_a_hook_import_nothing():
    """Two threads that import the same packages can see modules that are not complete."""
    code = """
import sys, threading
from memotherm.hooks.warm_up import local_embedder, start_model, start_tokenizer
from memotherm.settings import Settings
from memotherm.text.tokens import count_tokens

imported = []
sys.addaudithook(lambda event, arguments: event == "import" and imported.append((threading.get_ident(), arguments[0])))
embedder = local_embedder(Settings())
start_tokenizer()
start_model(embedder)
embedder.begin_query("Where is the staging database?")
embedder.embed_query("Where is the staging database?")
count_tokens("Where is the staging database?")
own = [name for thread, name in imported if thread == threading.get_ident()]
print({"onnxruntime", "splintr"} <= set(own), len(imported) - len(own))
"""
    done = python(code)

    assert done.stdout == "True 0\n", done.stderr
