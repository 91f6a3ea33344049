"""`memotherm backfill`, `undo --batch`, and what `install` and `doctor` say about past sessions."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memotherm.history.sources import SOURCES
from tests.interfaces.test_commands import Cli, cli  # noqa: F401 - a fixture

_DAY = datetime.now(UTC) - timedelta(days=20)


def _session(home: Path, session: str, *turns: tuple[str, str], folder: str = "/w/api", day: datetime = _DAY) -> Path:
    """Write a session of Claude Code."""
    path = home / ".claude" / "projects" / folder.replace("/", "-") / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines, parent = [], None
    for number, (prompt, answer) in enumerate(turns):
        for role, content in (("user", prompt), ("assistant", [{"type": "text", "text": answer}])):
            uuid = f"{session}-{number}-{role}"
            message = {"id": f"m{number}", "role": role, "content": content}
            time = (day + timedelta(minutes=number)).isoformat().replace("+00:00", "Z")
            envelope = {
                "sessionId": session,
                "timestamp": time,
                "cwd": folder,
                "gitBranch": "main",
                "version": "2.1.300",
            }
            lines.append(
                {"type": role, "uuid": uuid, "parentUuid": parent, **envelope, "isSidechain": False, "message": message}
            )
            parent = uuid
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    return path


_TURNS = (
    ("why do the tests fail on staging?", "PyYAML 6.0 is missing in requirements-staging.txt."),
    ("We decided to use Postgres for the ledger.", "Noted."),
)


def test_a_preview_stores_nothing_and_names_what_was_found(cli: Cli, tmp_path: Path) -> None:  # noqa: F811
    """Program, projects, sessions, days, size, and what would be kept."""
    _session(tmp_path, "s1", *_TURNS)
    shown = cli("backfill", "--dry-run")
    assert "Claude Code: 1 session" in shown.out
    assert f"{_DAY:%Y-%m-%d}" in shown.out
    assert "to keep: 2 turns; 0 secrets replaced" in shown.out
    assert "this would store 2 turns" in shown.out
    (found,) = cli("backfill", "--dry-run", "--json").data["found"]
    assert (found["source"], found["sessions"], found["kept"]) == ("claude-code", 1, {"turn": 2})
    assert cli("list", "--everywhere", "--json").data["memories"] == []


def test_it_asks_and_refuses_without_a_terminal(cli: Cli, tmp_path: Path) -> None:  # noqa: F811
    """The preview is shown first."""
    _session(tmp_path, "s1", *_TURNS)
    refused = cli("backfill")
    assert refused.code == 2
    assert "Claude Code: 1 session" in refused.out
    assert "--yes" in refused.err


def test_what_was_said_last_month_is_recalled_and_undone(cli: Cli, tmp_path: Path) -> None:  # noqa: F811
    """The batch that the result names takes exactly that back."""
    _session(tmp_path, "s1", *_TURNS)
    result = cli("backfill", "--yes", "--json").data["result"]
    assert result["stored"] == 2
    recalled = cli("recall", "which package was missing on staging", "--everywhere", "--json").data
    assert "PyYAML" in json.dumps(recalled)
    assert "nothing new to store" in cli("backfill", "--yes").out
    undone = cli("undo", "--batch", result["batch"])
    assert "2 memories" in undone.out
    assert cli("list", "--everywhere", "--json").data["memories"] == []


def test_an_exclusion_holds_for_later_runs(cli: Cli, tmp_path: Path) -> None:  # noqa: F811
    """It becomes a setting, which the hooks obey, too; what hooks have stored is named with what removes it."""
    _session(tmp_path, "s1", *_TURNS, folder="/w/diary")
    cli("backfill", "--yes")
    project = next(each for each in cli("list", "--everywhere", "--json").data["memories"])["scope"]["project"]
    cli("remember", "The diary is kept in blue ink.", "--project", project)
    _session(tmp_path, "s2", *_TURNS, folder="/w/shop")
    _session(tmp_path, "s3", ("The diary has 300 pages.", "Noted."), folder="/w/diary")
    second = cli("backfill", "--yes", "--exclude", "diary")
    assert "memotherm erase --project diary-" in second.err
    assert cli("config", "show", "--json").data["capture_exclude"] == ["diary"]
    _session(
        tmp_path, "s3", ("The diary has 300 pages.", "Noted."), ("The diary is blue.", "Noted."), folder="/w/diary"
    )
    cli("backfill", "--yes")
    contents = json.dumps(cli("list", "--everywhere", "--json").data)
    assert "300 pages" not in contents
    assert "The diary is blue" not in contents


@pytest.mark.parametrize("pattern", ["diary", "/w/diary", "s1"])
def test_it_is_offered_to_forget_what_is_excluded_after_it_was_stored(cli: Cli, tmp_path: Path, pattern: str) -> None:  # noqa: F811
    """By project, folder or session, facts about the user included, and if the transcript is gone; only if asked to.

    Who says yes to storing has not said that something is to be forgotten.
    """
    path = _session(tmp_path, "s1", ("My dog is called Rex.", "Noted."), *_TURNS, folder="/w/diary")
    _session(tmp_path, "s2", ("The blog is made with Hugo.", "Noted."))
    cli("backfill", "--yes")
    path.unlink()
    for words in (("--exclude", pattern, "--yes"), ("--dry-run",), ("--yes",)):
        offered = cli("backfill", *words)
        assert "forget 3 memories of past sessions that are excluded now" in offered.err
        assert "--forget-excluded" in offered.err
        assert len(cli("list", "--everywhere", "--json").data["memories"]) == 4
    forgotten = cli("backfill", "--yes", "--forget-excluded", "--json").data
    assert (forgotten["excluded"], forgotten["forgotten"]) == (3, 3)
    (kept,) = cli("list", "--everywhere", "--json").data["memories"]
    assert "Hugo" in kept["content"]
    assert cli("backfill", "--yes", "--json").data["excluded"] == 0


def test_prompts_of_deleted_sessions_are_rescued(cli: Cli, tmp_path: Path) -> None:  # noqa: F811
    """Those of sessions with a transcript, or of which one was read, are not repeated."""
    _session(tmp_path, "s1", *_TURNS)
    gone = "the staging database moved to db-4.example.com"
    prompts = [("s1", _TURNS[0][0]), ("gone", gone)]
    lines = [
        {"display": text, "timestamp": _DAY.timestamp() * 1000, "project": "/w/api", "sessionId": session}
        for session, text in prompts
    ]
    (tmp_path / ".claude" / "history.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    assert cli("backfill", "--yes", "--json").data["result"]["stored"] == 3
    (rescued,) = cli("list", "--everywhere", "--contains", "db-4", "--json").data["memories"]
    assert rescued["trust"] == "import"
    assert rescued["metadata"]["transcript"] == "deleted"
    for transcript in (tmp_path / ".claude" / "projects").rglob("*.jsonl"):
        transcript.unlink()
    with (tmp_path / ".claude" / "history.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({**lines[0], "sessionId": "later", "display": "ok"}) + "\n")
    cli("backfill", "--yes")
    assert len(cli("list", "--everywhere", "--json").data["memories"]) == 3


def test_a_file_in_an_unknown_format_is_named(cli: Cli, tmp_path: Path) -> None:  # noqa: F811
    """It is no silent zero, and is looked at again by the next run."""
    path = _session(tmp_path, "s1", *_TURNS).with_name("s2.jsonl")
    path.write_text('{"kind": "new", "payload": {}}\n' * 3, "utf-8")
    for _ in range(2):
        shown = cli("backfill", "--yes")
        assert f"not read: {path}" in shown.out
    assert shown.code == 0


def test_transcripts_can_be_kept_longer(cli: Cli, tmp_path: Path) -> None:  # noqa: F811
    """The change is shown, written to the settings of Claude Code, and can be undone."""
    path = _session(tmp_path, "s1", *_TURNS)
    long_ago = (datetime.now(UTC) - timedelta(days=29)).timestamp()
    os.utime(path, (long_ago, long_ago))
    says = "Claude Code deletes transcripts after 30 days; your oldest transcript is 29 days old"
    assert says in cli("backfill", "--dry-run").err
    findings = cli("doctor", "--json").data["findings"]
    assert any(finding["detail"] == says for finding in findings)
    assert "1 past session" in cli("install", "claude-code", "--dry-run").err
    settings = tmp_path / ".claude" / "settings.json"
    assert "cleanupPeriodDays" in cli("agent", "keep-transcripts", "--dry-run").out
    assert not settings.exists()
    undo = cli("agent", "keep-transcripts").err
    assert json.loads(settings.read_text())["cleanupPeriodDays"] == 3650
    assert "memotherm agent keep-transcripts 30" in undo
    assert says not in cli("backfill", "--dry-run").err


@pytest.mark.skipif(sys.platform == "win32", reason="it has no pseudo-terminals")
@pytest.mark.parametrize(
    ("answers", "stored"),
    [pytest.param("n", 0, marks=pytest.mark.slow), pytest.param("y\nn", 0, marks=pytest.mark.slow), ("y\ny", 2)],
)
def test_install_offers_to_read_past_sessions_in_a_terminal(
    cli: Cli, tmp_path: Path, answers: str, stored: int  # noqa: F811
) -> None:  # fmt: skip
    """It asks before it reads them, shows what it found, and asks before it stores; once they are stored, no more."""
    _session(tmp_path, "s1", *_TURNS)

    def install() -> subprocess.CompletedProcess[str]:
        ours, theirs = os.openpty()
        os.write(ours, f"{answers}\n".encode())
        command = [sys.executable, "-m", "memotherm", "install", "claude-code"]
        with os.fdopen(ours, "rb"), os.fdopen(theirs, "rb") as terminal:
            return subprocess.run(command, stdin=terminal, capture_output=True, text=True, cwd=tmp_path, check=False)

    shown = install()
    assert "Read 1 past session of Claude Code now?" in shown.stderr
    assert ("Claude Code: 1 session" in shown.stdout) == (answers != "n")
    assert len(cli("list", "--everywhere", "--json").data["memories"]) == stored
    assert ("past session of Claude Code now?" in install().stderr) == (not stored)


@pytest.mark.slow
def test_new_sessions_arrive_while_it_watches(cli: Cli, tmp_path: Path) -> None:  # noqa: F811
    """Without a question, until it is interrupted."""
    _session(tmp_path, "s1", *_TURNS)
    command = [sys.executable, "-m", "memotherm", "backfill", "--watch", "--yes", "--every", "0.1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as watching:
        assert watching.stdout is not None
        assert any("2 memories of past sessions stored" in line for line in watching.stdout)
        _session(tmp_path, "s2", ("The blog is made with Hugo.", "Noted."))
        assert any("1 memory of past sessions stored" in line for line in watching.stdout)
        watching.send_signal(signal.SIGINT)
    assert len(cli("list", "--everywhere", "--json").data["memories"]) == 3


def test_a_timeline_has_days_projects_and_sessions(cli: Cli, tmp_path: Path) -> None:  # noqa: F811
    """Of warm and cold memories, in the days that are asked for."""
    _session(tmp_path, "s1", *_TURNS, day=datetime(2026, 3, 5, 9, tzinfo=UTC))
    _session(tmp_path, "s2", *_TURNS[:1], folder="/w/shop", day=datetime(2026, 3, 5, 11, tzinfo=UTC))
    _session(tmp_path, "s3", ("The blog is made with Hugo.", "Noted."), day=datetime(2026, 4, 2, 9, tzinfo=UTC))
    cli("backfill", "--yes")
    shown = cli("timeline", "--since", "2026-03-01", "--until", "2026-04-01", "--everywhere")
    first, *rest = shown.out.splitlines()
    assert first == "2026-03-05 Thursday"
    assert [line.strip()[:4] for line in rest if line.startswith("  ") and line[2] != " "] == ["api-", "shop"]
    assert "why do the tests fail on staging?" in shown.out
    assert "Hugo" not in shown.out
    found = cli("timeline", "--since", "2026-03-01", "--everywhere", "--json").data["activities"]
    assert [(each["day"], each["session"], each["memories"]) for each in found] == [
        ("2026-04-02", "s3", 1), ("2026-03-05", "s1", 2), ("2026-03-05", "s2", 1),
    ]  # fmt: skip


def test_of_a_file_only_its_program_is_named(cli: Cli, tmp_path: Path) -> None:  # noqa: F811
    """Other programs have files with the same ending; if none can read a file, each says why."""
    rollout = tmp_path / "rollouts" / "rollout-2026-05-01T09-00-00-11111111-1111-1111-1111-111111111111.jsonl"
    asked = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Which port has the shop?"}]}
    lines = [{"timestamp": "2026-05-01T09:00:00Z", "type": "session_meta", "payload": {"id": "t", "cwd": "/w"}},
             {"timestamp": "2026-05-01T09:00:00Z", "type": "response_item", "payload": asked}]  # fmt: skip
    rollout.parent.mkdir()
    rollout.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    for where in (rollout, rollout.parent):
        found = cli("backfill", "--from", str(where), "--dry-run", "--json").data["found"]
        assert [(each["source"], each["unreadable"]) for each in found] == [("codex", 0)]
    said = {
        "uuid": "p",
        "sender": "human",
        "text": "The port of the shop is 8443.",
        "created_at": "2026-05-01T09:00:00Z",
    }
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([{"uuid": "y", "name": "T", "chat_messages": [said]}]), "utf-8")
    found = cli("backfill", "--from", str(path), "--dry-run", "--json").data["found"]
    assert [(each["source"], each["unreadable"]) for each in found] == [("claude-export", 0)]
    path.write_text('{"files": 5}', "utf-8")
    assert "not read" in cli("backfill", "--from", str(path), "--dry-run").out


@pytest.mark.slow
@pytest.mark.parametrize("writes", [1, 2, 3, 4])
def test_a_killed_run_is_continued(cli: Cli, tmp_path: Path, writes: int) -> None:  # noqa: F811
    """Whether words or statements are being stored: nothing is lost or stored twice, and one undo takes it back."""
    for number in range(20):
        turns = [
            (f"The port of service {number}-{turn} is {8000 + 50 * number + turn}.", "Noted.") for turn in range(50)
        ]
        _session(tmp_path, f"s{number}", *turns)
    script = (
        "import os, signal\n"
        "from memotherm.facade.upkeep import Upkeep\n"
        "from memotherm.cli.app import run\n"
        "add, calls = Upkeep.add_history, []\n"
        "def add_history(*arguments):\n"
        "    calls.append(1)\n"
        f"    if len(calls) == {writes}: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return add(*arguments)\n"
        "Upkeep.add_history = add_history\n"
        "run(['backfill', '--yes'])\n"
    )
    killed = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, cwd=tmp_path)
    assert killed.returncode == -signal.SIGKILL
    second = cli("backfill", "--yes", "--json").data["result"]
    assert second["stored"] == 1000 - 500 * max(0, writes - 3)
    contents = [json.loads(line)["content"] for line in cli("export", "-", "--everywhere").out.splitlines()]
    assert len(contents) == len(set(contents)) == 1000
    assert cli("store", "check").code == 0
    cli("undo", "--batch", second["batch"])
    assert cli("export", "-", "--everywhere").out == ""


def test_the_docs_name_every_source_and_the_version_it_was_checked_with() -> None:
    """So that nobody has to guess what is read."""
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "backfill.md").read_text("utf-8")
    rows = [[cell.strip() for cell in line.split("|")] for line in page.splitlines() if line.startswith("| `")]
    assert {row[1]: row[3] for row in rows} == {f"`{name}`": source.verified for name, source in SOURCES.items()}
