"""Every command of the command line, with the data it prints and the exit code it leaves."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click
import pytest
from rich.progress import Progress

import memotherm
from memotherm.cli import app, exit_codes
from memotherm.cli.parsing import MemoryId
from memotherm.testing import FakeClock

SCOPES = ("tenant", "project", "environment", "user", "agent", "session")


class Ran:
    """What one command left."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def data(self) -> Any:
        return json.loads(self.out)


Cli = Callable[..., Ran]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Run a command in a folder of its own; `stdin` is its standard input."""
    monkeypatch.setenv("MEMOTHERM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MEMOTHERM_EMBEDDER", "none")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, stdin: str = "") -> Ran:
        capsys.readouterr()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = app.run(arguments)
        seen = capsys.readouterr()
        return Ran(code, seen.out, seen.err)

    return run


def remembered(cli: Cli, content: str, *arguments: str) -> str:
    found: str = cli("remember", content, *arguments, "--force", "--json").data["id"]
    return found


def test_a_memory_is_created_in_every_tier_moved_and_observed(cli: Cli):
    """Promise 1 on the command line: create, list, move, history, undo."""
    ids = {tier: remembered(cli, f"a {tier} fact about deploys", "--tier", tier) for tier in ("hot", "warm", "cold")}

    for tier, memory_id in ids.items():
        assert [each["id"] for each in cli("list", "--tier", tier, "--json").data["memories"]] == [memory_id]
    assert cli("move", ids["warm"], "cold", "--why", "over", "--json").data["tier"] == "cold"
    events = cli("history", ids["warm"], "--json").data["events"]
    assert events[-1]["changes"]["tier"] == {"from": "warm", "to": "cold"}
    assert events[-1]["why"] == "over"
    assert cli("events", "--limit", "1", "--json").data == {
        "events": events[-1:],
        "cursor": f"before-{events[-1]['seq']}",
    }
    assert cli("events", "--cursor", f"after-{events[-1]['seq'] - 1}", "--json").data["events"] == events[-1:]
    assert ids["hot"] in cli("events", "--oldest-first").out
    assert cli("undo", str(events[-1]["seq"]), "--json").data["tier"] == "warm"
    assert cli("status", "--json").data["warm"]["items"] == 1


def test_cold_is_found_only_where_it_is_asked_for(cli: Cli):
    """Recall and search look into hot and warm unless a tier is named."""
    memory_id = remembered(cli, "the old pager rota", "--tier", "cold")

    for verb in ("recall", "search"):
        assert cli(verb, "pager rota", "--json").data["items"] == []
        assert [hit["id"] for hit in cli(verb, "pager rota", "--tier", "cold", "--json").data["items"]] == [memory_id]


@pytest.mark.parametrize("arguments", [["list", "--tier", "tepid"], ["move", "mem_1", "frozen"]], ids=" ".join)
def test_there_are_three_tiers(cli: Cli, arguments: list[str]):
    """W12: a fourth tier is a usage error."""
    done = cli(*arguments)

    assert done.code == exit_codes.USAGE
    assert "'hot', 'warm', 'cold'" in done.err


def test_content_comes_from_standard_input(cli: Cli):
    """`-` reads the content, whatever it holds."""
    text = "first line\n--json looks like an option, and ünïcode"
    memory_id = cli("remember", "-", "--json", stdin=text + "\n").data["id"]

    assert cli("get", memory_id, "--json").data["content"] == text


def test_remember_takes_everything_a_memory_has(cli: Cli):
    """Kind, tags, priority, time to live, metadata and source arrive."""
    old = remembered(cli, "the port is 5433")
    found = cli(
        "remember", "the port is 5544", "-k", "decision", "-t", "db", "-t", "ops", "-p", "critical", "--ttl", "7d",
        "--metadata", '{"by": "ana"}', "--source", "meeting", "--supersedes", old, "--json",
    ).data  # fmt: skip

    assert (found["kind"], found["tags"], found["priority"]) == ("decision", ["db", "ops"], "critical")
    assert (found["metadata"], found["source"]) == ({"by": "ana"}, "meeting")
    assert found["expires_at"]
    assert cli("get", old, "--json").data["retention"] == "archived"


def test_bad_metadata_is_told_with_the_remedy(cli: Cli):
    """What is no JSON object is refused, and nothing is stored."""
    assert cli("remember", "x y z", "--metadata", "{").code == exit_codes.USAGE
    assert cli("remember", "x y z", "--metadata", "[1]").code == exit_codes.USAGE
    assert cli("list", "--json").data["memories"] == []


def test_priorities_and_their_limit(cli: Cli):
    """Pinning beyond the limit is a conflict, and unpinning makes room."""
    ids = [remembered(cli, f"rule number {number}") for number in range(6)]
    pinned = [cli("pin", memory_id).code for memory_id in ids]

    assert pinned == [exit_codes.OK] * 5 + [exit_codes.CONFLICT]
    assert cli("unpin", ids[0], "--json").data["priority"] == "normal"
    assert cli("pin", ids[5], "--json").data["priority"] == "pinned"
    assert cli("prioritize", ids[1], "low", "--json").data["priority"] == "low"


@pytest.mark.parametrize(
    ("verb", "more", "field", "value"),
    [
        ("move", ["cold"], "tier", "cold"),
        ("pin", [], "priority", "pinned"),
        ("prioritize", ["low"], "priority", "low"),
        ("archive", [], "retention", "archived"),
        ("forget", [], "retention", "deleted"),
        ("update", ["--content", "something else"], "content", "something else"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_dry_run_tells_and_changes_nothing(cli: Cli, verb: str, more: list[str], field: str, value: str):
    """What would become of a memory is shown with all rules, and the memory stays."""
    memory_id = remembered(cli, "the sprint ends on Friday")
    before = cli("list", "--json").data

    rehearsed = cli(verb, memory_id, *more, "--dry-run", "--json")

    assert rehearsed.data[field] == value
    assert rehearsed.data["dry_run"] is True
    assert cli("list", "--json").data == before
    assert cli(verb, memory_id, *more, "--json").data[field] == value


def test_forget_and_restore(cli: Cli):
    """What is forgotten is out of sight and comes back."""
    memory_id = remembered(cli, "the wifi password is on the board")

    cli("forget", memory_id)
    assert cli("recall", "wifi password", "--json").data["items"] == []
    assert [each["id"] for each in cli("list", "--retention", "deleted", "--json").data["memories"]] == [memory_id]
    assert cli("restore", memory_id, "--json").data["retention"] == "active"
    cli("archive", memory_id)
    assert cli("recall", "wifi password", "--json").data["items"] == []


def test_nothing_is_erased_without_a_yes(cli: Cli):
    """Purge asks for confirmation; without a terminal it needs --yes; then only the events remain."""
    memory_id = remembered(cli, "a secret")

    refused = cli("purge", memory_id)
    assert (refused.code, "--yes" in refused.err) == (exit_codes.USAGE, True)
    assert cli("purge", memory_id, "--dry-run").code == exit_codes.OK
    assert cli("get", memory_id).code == exit_codes.OK
    assert cli("purge", memory_id, "--yes", "--json").data["retention"] == "purged"
    assert cli("get", memory_id).code == exit_codes.NOT_FOUND
    assert cli("history", memory_id, "--json").data["events"][-1]["action"] == "purge"


def test_context_keeps_its_budget_and_has_a_receipt(cli: Cli):
    """The text goes to standard output, the reasons to standard error."""
    for number in range(20):
        remembered(cli, f"blocker number {number}: the release of part {number} waits", "--tier", "hot")

    whole = cli("context", "release", "--budget", "150", "--json").data
    result = cli("context", "release", "--budget", "150", "--receipt")

    assert 0 < whole["tokens"] <= 150
    assert whole["receipt"]["left_out"]
    assert result.out.startswith("<memotherm-memory>")
    assert "receipt" in result.err
    (first,) = {entry["fits_at"] for entry in whole["receipt"]["left_out"][:1]}
    assert f"it enters at {first} tokens" in " ".join(result.err.split())
    assert cli("context", "--budget", "0").out == ""


def test_what_others_have_said_about_a_person_is_found_and_purged_in_every_scope(cli: Cli):
    """In one change; without `--everywhere` as far as the scope sees."""
    ids = [
        remembered(cli, "Ana keeps bees", "--project", "shop"),
        remembered(cli, "Ben asked Ana for honey", "--project", "shop", "--user", "ben"),
        remembered(cli, "Ana is on leave"),
    ]
    other = remembered(cli, "Ben keeps hens", "--project", "shop")
    assert [match["memory"]["id"] for match in cli("select", "everything about Ana", "--json").data["matches"]] == ids[
        2:
    ]
    found = cli("select", "everything about Ana", "--everywhere", "--json").data["matches"]
    assert {match["memory"]["id"] for match in found} == set(ids)
    forgotten = cli("forget", "--mentions", "Ben", "--yes")
    assert forgotten.out == "0 memories forgotten\n"
    assert forgotten.err == "note: 2 memories of narrower scopes match: name the scope\n"
    of_ana = cli("forget", "--mentions", "Ana", "--everywhere", "--yes", "--dry-run")
    assert of_ana.out == "1 memory would be forgotten\n"
    assert of_ana.err == "note: 2 memories of narrower scopes match: name the scope\n"
    assert cli("select", "everything about Ana", "--everywhere", "--purge", "--yes").out == "3 memories erased\n"
    assert [memory["id"] for memory in cli("list", "--include-narrower", "--json").data["memories"]] == [other]


def test_scopes_keep_memories_apart(cli: Cli):
    """Every scope option of every command sees what is its own and what is everyone's."""
    everyone = remembered(cli, "a fact for everyone")
    ids = {name: remembered(cli, f"a fact for one {name}", f"--{name}", "x") for name in SCOPES}

    for name, memory_id in ids.items():
        seen = {each["id"] for each in cli("list", f"--{name}", "x", "--json").data["memories"]}
        assert seen == {everyone, memory_id}
        assert cli("get", memory_id, f"--{name}", "y").code == exit_codes.NOT_FOUND


def test_a_scope_that_cannot_be_is_a_usage_error(cli: Cli):
    """An empty name is refused with a sentence."""
    assert cli("list", "--user", " ").code == exit_codes.USAGE


def test_keys_have_a_user_and_may_be_read_only_and_no_option_is_ignored(cli: Cli):
    """`--user` and `--read-only` have an effect; other scope options are refused."""
    created = cli("keys", "create", "ana", "--tenant", "acme", "--user", "ana", "--read-only", "--json").data
    cli("keys", "create", "ci", "--tenant", "acme")

    assert created.items() >= {"name": "ana", "tenant": "acme", "user": "ana", "read_only": True}.items()
    assert [key["name"] for key in cli("keys", "list", "--user", "ana", "--json").data] == ["ana"]
    lines = cli("keys", "list").out.splitlines()
    assert ["read-only" in line for line in lines] == [True, False]
    for ignored in (["create", "x", "--tenant", "acme", "--project", "web"], ["revoke", "ci", "--tenant", "acme"]):
        refused = cli("keys", *ignored)
        assert (refused.code, "does not apply" in refused.err) == (2, True)
    assert len(cli("keys", "list", "--json").data) == 2


def test_the_store_is_where_it_is_named(cli: Cli, tmp_path: Path):
    """`--store` wins over the user's own store."""
    remembered(cli, "kept apart", "--store", "other.db")

    assert (tmp_path / "other.db").is_file()
    assert cli("list", "--json").data["memories"] == []
    assert len(cli("list", "-s", "other.db", "--json").data["memories"]) == 1


def test_pages(cli: Cli):
    """A long list comes in pages, and the cursor leads on."""
    ids = [remembered(cli, f"fact number {number}") for number in range(5)]
    first = cli("list", "--limit", "3", "--json").data
    second = cli("list", "--limit", "3", "--cursor", first["cursor"], "--json").data

    assert [each["id"] for each in first["memories"] + second["memories"]] == ids[::-1]
    assert second["cursor"] is None


def test_export_and_import_are_the_same_memories(cli: Cli):
    """JSON lines bring back what is said, where it is kept and how it insists; twice brings nothing twice."""
    remembered(cli, "a hot fact,\nin two lines", "--tier", "hot", "-t", "one", "-p", "important")
    remembered(cli, "a cold decision", "--tier", "cold", "-k", "decision", "--ttl", "30d", "--metadata", '{"n": 1}')
    cli("archive", remembered(cli, "an archived fact"))
    kept = ("content", "kind", "tags", "tier", "priority", "metadata", "source")

    assert cli("export", "all.jsonl").err.startswith("2 memories")
    assert len(cli("export", "--all").out.splitlines()) == 3
    assert "2 memories" in cli("import", "jsonl", "all.jsonl", "--store", "new.db", "--dry-run").out
    assert cli("list", "--store", "new.db", "--json").data["memories"] == []
    assert cli("import", "jsonl", "all.jsonl", "--store", "new.db", "--trust", "person", "--json").data["stored"] == 2
    assert cli("import", "jsonl", "all.jsonl", "--store", "new.db", "--json").data["duplicates"] == 2
    old, new = (
        [{name: each[name] for name in kept} for each in cli("list", *store, "--json").data["memories"]]
        for store in ([], ["--store", "new.db"])
    )
    assert old == new


def test_what_was_archived_is_archived_after_an_export_and_import(cli: Cli):
    """`export --all` writes archived memories as such, and `import jsonl` stores them as such, once."""
    remembered(cli, "an active fact")
    cli("archive", remembered(cli, "an archived fact"))
    cli("export", "--all", "all.jsonl")
    new = ("--store", "new.db")

    assert cli("import", "jsonl", "all.jsonl", *new, "--json").data["stored"] == 2
    assert cli("import", "jsonl", "all.jsonl", *new, "--json").data["duplicates"] == 2
    active, archived = (
        [memory["content"] for memory in cli("list", "--retention", retention, *new, "--json").data["memories"]]
        for retention in ("active", "archived")
    )
    assert (active, archived) == (["an active fact"], ["an archived fact"])
    assert [hit["content"] for hit in cli("recall", "archived fact", *new, "--json").data["items"]] == [
        "an active fact"
    ]


def test_the_status_of_an_unknown_session_is_not_found(cli: Cli):
    """Asking for it does not begin the session."""
    assert cli("session", "status", "s1").code == exit_codes.NOT_FOUND
    assert cli("session", "status", "s1").code == exit_codes.NOT_FOUND
    cli("session", "add", "s1", "an otter")
    assert cli("session", "status", "s1", "--json").data["hot"]["items"] == 1


def test_lines_that_are_no_memories_are_told(cli: Cli, tmp_path: Path):
    """A broken export brings what can be read, and says what cannot."""
    over = '{"content": "over", "expires_at": "2020-01-01T00:00:00+00:00"}'
    bad = ["no json", '{"content": ""}', '{"kind": "fact"}', "[1]", '"text"', '{"content": "x", "tier": "tepid"}', over]
    lines = ['{"content": "a good line"}', *bad]
    (tmp_path / "broken.jsonl").write_text("\n".join(lines), "utf-8")

    done = cli("import", "jsonl", "broken.jsonl", "--json").data

    assert done["stored"] == 1
    assert len(done["skipped"]) == len(bad)


def test_checkpoint_and_check(cli: Cli):
    """A copy becomes a store; a file that is there is never overwritten."""
    memory_id = remembered(cli, "worth a copy")

    assert cli("store", "checkpoint", "copy.db", "--json").data["bytes"] > 0
    assert cli("store", "restore", "copy.db", "again.db").code == exit_codes.OK
    assert cli("get", memory_id, "--store", "again.db").code == exit_codes.OK
    assert cli("store", "checkpoint", "copy.db").code != exit_codes.OK
    assert cli("store", "check", "--json").data == {"ok": True, "problems": []}


@pytest.mark.parametrize("damage", ["DROP TABLE text_live", "DELETE FROM text_live_data"])
def test_a_lost_text_index_is_said_named_and_rebuilt(cli: Cli, damage: str, monkeypatch: pytest.MonkeyPatch):
    """A recall goes on by vectors, a check names the index, and a repair rebuilds it."""
    monkeypatch.setenv("MEMOTHERM_EMBEDDER", "local")
    remembered(cli, "The ferry leaves at noon", "--store", "a.db")
    remembered(cli, "The heron is cold", "--tier", "cold", "--store", "a.db")
    with contextlib.closing(sqlite3.connect("a.db")) as connection, connection:
        connection.execute(damage)

    found = cli("recall", "When does the boat depart?", "--store", "a.db", "--json").data
    assert found["items"][0]["content"] == "The ferry leaves at noon"
    assert "text search is down" in found["degraded"][0]
    assert "--repair" in cli("remember", "A new one comes", "--store", "a.db").err
    checked = cli("store", "check", "--store", "a.db", "--json")
    assert (checked.code, checked.data["problems"][0]["code"]) == (exit_codes.FAILURE, "text_lost")

    assert cli("store", "check", "--repair", "--store", "a.db", "--json").data == {"ok": True, "problems": []}
    assert cli("recall", "ferry", "--store", "a.db", "--json").data["degraded"] == []


def test_reembed_says_how_many(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    """Memories without vectors get theirs when there is an embedder."""
    remembered(cli, "a fact without a vector")
    assert "error: " in cli("store", "reembed", "--json").err
    monkeypatch.setenv("MEMOTHERM_EMBEDDER", "local")

    assert cli("store", "reembed", "--json").data == {"embedded": 1}
    assert cli("store", "reembed").out == "vectors created for 0 memories\n"


def test_maintain_and_compact_have_a_dry_run(cli: Cli):
    """A dry run prints the moves; the next run makes them."""
    memory_id = remembered(cli, "the build is broken", "-t", "blocker")

    for dry in (True, False):
        done = cli("compact", *(["--dry-run"] if dry else []), "--json").data
        assert (done["hot"], done["dry_run"]) == (1, dry)
    assert cli("get", memory_id, "--json").data["tier"] == "hot"
    assert cli("maintain", "--dry-run", "--json").data["dry_run"] is True


def test_working_memory_of_a_session(cli: Cli):
    """Add, see, spill, recall, promote and end, from the command line."""
    memory_id = cli("session", "add", "s1", "the user wants short answers", "--json").data["id"]

    assert [each["id"] for each in cli("session", "hot", "s1", "--json").data["memories"]] == [memory_id]
    assert cli("session", "spill", "s1", "--dry-run", "--json").data["spilledIds"] == [memory_id]
    assert cli("session", "spill", "s1", "--json").data["spilledIds"] == [memory_id]
    found = cli("session", "recall", "s1", "short answers", "--no-promote", "--json").data
    assert [hit["id"] for hit in found["items"]] == [memory_id] == list(found["relevanceScores"])
    assert cli("session", "promote", "s1", memory_id, "--json").data["promoted"] is True
    assert cli("session", "status", "s1", "--json").data["hot"]["items"] == 1
    assert cli("session", "end", "s1", "--summary", "-", "--json", stdin="we talked").code == exit_codes.OK
    assert "we talked" in cli("list").out


def test_a_session_is_tidied_from_the_command_line(cli: Cli):
    """C44: demote, keep, prune with a dry run, and clear."""
    first, second, _third = (
        cli("session", "add", "s1", f"turn {number} of the talk", "--json").data["id"] for number in range(3)
    )

    assert cli("session", "demote", "s1", first, "--tier", "cold", "--json").data["tier"] == "cold"
    assert cli("session", "keep", "s1", second, "--json").data["scope"] == {}
    for dry in (["--dry-run"], []):
        assert cli("session", "prune", "s1", "--keep", "0", *dry, "--json").data["pruned"] == [first]
    for dry in (["--dry-run"], []):
        assert cli("session", "clear", "s1", *dry, "--json").data["cleared"] == 1
    assert cli("session", "status", "s1", "--json").data["hot"]["items"] == 0


def test_config_tells_where_a_value_comes_from(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Environment, project file and default; keys are not shown."""
    (tmp_path / "memotherm.toml").write_text("max_pinned = 3\n", "utf-8")
    monkeypatch.setenv("MEMOTHERM_API_KEY", "sk-not-to-be-seen")
    monkeypatch.delenv("MEMOTHERM_DAEMON")
    shown = cli("config", "show", "--origin", "--json")

    assert shown.data["embedder"] == {"value": "none", "origin": "environment"}
    assert shown.data["max_pinned"] == {"value": 3, "origin": str(tmp_path / "memotherm.toml")}
    assert shown.data["max_critical"]["origin"] == "default"
    assert "sk-not" not in shown.out + cli("config", "show", "--origin").out
    assert cli("config", "show", "--changed").out.count("\n") == 3


def test_the_doctor_finds_all_well(cli: Cli):
    """Everything that works is listed, and nothing of the user's is written."""
    remembered(cli, "a patient")
    done = cli("doctor", "--json")

    states = {each["name"]: each["state"] for each in done.data["findings"]}
    assert done.code == exit_codes.OK
    assert done.data["ok"] is True
    assert {name: states[name] for name in ("store", "permission", "memories", "check", "write")} == dict.fromkeys(
        ("store", "permission", "memories", "check", "write"), "ok"
    )
    assert len(cli("list", "--json").data["memories"]) == 1


def test_a_dry_run_of_an_import_lists_what_would_be_stored(cli: Cli, tmp_path: Path):
    """Each memory with its origin, kind and project; whole with --json. A real import prints the counts."""
    folder = tmp_path / "projects" / "-home-me-app" / "memory"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text("- The crane is blue\n- My key is AKIAIOSFODNN7EXAMPLE\n")
    (folder / "tea.md").write_text(f"---\ntype: user\n---\nPrefers tea {'very much ' * 50}\n")
    dry = ("import", "claude-code", str(tmp_path), "--store", "new.db", "--dry-run")
    printed = cli(*dry).out.splitlines()
    shown = cli(*dry, "--json").data

    assert printed[0].startswith("+ projects/-home-me-app/memory/tea.md (preference): Prefers tea very much")
    assert printed[0].endswith("…")
    assert printed[1] == "+ projects/-home-me-app/memory/MEMORY.md#L1 (fact, project home-me-app): The crane is blue"
    assert "AKIA" not in "".join(printed) + json.dumps(shown)
    assert printed[-1].startswith("3 memories from 2 files")
    assert (shown["dry_run"], shown["stored"]) == (True, 3)
    assert shown["entries"][0]["content"].endswith("very much")
    assert shown["entries"][1] == {
        "path": "projects/-home-me-app/memory/MEMORY.md#L1", "kind": "fact", "content": "The crane is blue",
        "scope": {"project": "home-me-app"},
    }  # fmt: skip
    stored = cli(*dry[:-1], "--json").data
    assert (stored["stored"], "entries" in stored) == (3, False)


@pytest.mark.parametrize("trouble", ["setting", "store"])
def test_the_doctor_names_the_remedy(cli: Cli, trouble: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A setting that cannot be, or a file that is no store, is a failure with what to do."""
    (tmp_path / "letter.db").write_text("Dear doctor, " * 1000, "utf-8")
    if trouble == "setting":
        monkeypatch.setenv("MEMOTHERM_MAX_PINED", "3")
    done = cli("doctor", "--json", "--store", "letter.db")

    failed = [each for each in done.data["findings"] if each["state"] == "failure"]
    assert done.code == exit_codes.FAILURE
    assert done.data["ok"] is False
    assert failed
    assert all(each["remedy"] for each in failed)
    assert (tmp_path / "letter.db").read_text("utf-8").startswith("Dear doctor")


def test_tables_for_people_say_the_same(cli: Cli):
    """Without --json the output is text, without escape codes outside a terminal."""
    memory_id = remembered(cli, "the office is closed on Monday", "-t", "office", "--tier", "hot")

    for arguments in (["list"], ["get", memory_id], ["recall", "office"], ["pin", memory_id], ["context"]):
        done = cli(*arguments)
        assert done.code == exit_codes.OK
        assert "the office is closed" in done.out
        assert "\x1b" not in done.out
    assert "tier hot" in cli("history", memory_id).out
    assert "1 memory" in cli("status").out
    assert cli("store", "check").out == "no problems\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_for_every_shell(cli: Cli, shell: str):
    """The script names our program and our variable."""
    assert "_MEMOTHERM_COMPLETE" in cli("completion", shell).out


def test_a_shell_gets_completions():
    """What the script asks is answered with commands and values."""
    asked = {"COMP_WORDS": "memotherm prior", "COMP_CWORD": "1", "_MEMOTHERM_COMPLETE": "bash_complete"}
    done = subprocess.run(
        [sys.executable, "-m", "memotherm"], capture_output=True, text=True, timeout=60, env={**os.environ, **asked}
    )

    assert done.stdout.split() == ["plain,prioritize"]


def options_of(name: str) -> set[str]:
    command = app.app.get_command(app.app.make_context("memotherm", [name]), name)
    assert command is not None
    children = getattr(command, "commands", {}).values()
    return {option for each in (command, *children) for parameter in each.params for option in parameter.opts}


@pytest.mark.parametrize("name", [name for name in app.COMMANDS if "--store" in options_of(name)])
def test_whoever_opens_a_store_takes_a_scope(name: str):
    """Whose memories it is about can be said to every command, save those that only set things up."""
    if name not in {"install", "mcp", "serve", "keys", "backfill"}:
        assert {f"--{field}" for field in SCOPES} <= options_of(name)


def leaves(command: click.Command = app.app, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield every command that is not a group, with its name."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        yield from leaves(below, f"{path} {name}".strip())


LEAVES = dict(leaves())
_WITHOUT_DATA = {"export", "completion", "hook", "mcp", "serve", "agent daemon start", "agent daemon run"}


@pytest.mark.parametrize("name", sorted(LEAVES.keys() - _WITHOUT_DATA))
def test_whoever_prints_data_takes_json(name: str):
    """Machines can ask for JSON."""
    assert "--json" in {option for parameter in LEAVES[name].params for option in parameter.opts}


def test_whoever_takes_an_id_takes_its_beginning():
    """Every argument and option for ids has the type whose values are completed."""
    ids = {
        f"{name} {parameter.name}": parameter.type
        for name, command in LEAVES.items()
        for parameter in command.params
        if parameter.name in {"memory_id", "ids", "used", "supersedes"} and not getattr(parameter, "is_flag", False)
    }

    assert len(ids) > 15
    assert [name for name, kind in ids.items() if not isinstance(kind, MemoryId)] == []


def test_the_times_of_events_are_not_said_to_be_those_of_memories(cli: Cli):
    """An edit of today is an event of today, however old its memory is."""
    assert "Only memories" not in cli("events", "--help").out


def test_help_begins_with_about_ten_everyday_commands(cli: Cli):
    """The other commands stand under their headings."""
    headings = [line[:-1] for line in cli("--help").out.splitlines() if re.match(r"[A-Z][a-z ]+:$", line)]

    assert headings == ["Options", *app.SECTIONS]
    assert headings[1] == "Everyday"
    assert 8 <= len(app.SECTIONS["Everyday"]) <= 13


def test_texts_may_begin_with_a_dash(cli: Cli):
    """A list item is a text and not an option; options after it still count."""
    assert cli("remember", "- buy milk today", "--tag", "shop", "--json").data["content"] == "- buy milk today"
    assert cli("remember", "--force is dangerous", "--json").data["content"] == "--force is dangerous"
    assert cli("recall", "-- milk or water", "--json").data["query"] == "-- milk or water"
    assert cli("session", "recall", "s1", "- milk or water").code == exit_codes.OK
    assert cli("remember", "--forse").code == exit_codes.USAGE


def test_notes_append_reads_standard_input(cli: Cli, tmp_path: Path):
    """`-` is the whole input, with several lines."""
    ran = cli("notes", "append", "-", "--date", "2026-01-26", stdin="- one\n- two\n")

    assert ran.code == exit_codes.OK
    assert (tmp_path / "memory" / "2026-01-26.md").read_text().endswith("- one\n- two\n")


def test_import_reads_standard_input(cli: Cli):
    """A bad line is named by its number, and the others are imported."""
    ran = cli("import", "jsonl", "-", stdin='{"content": "The otter swims"}\nnot json\n')

    assert ran.out == "1 memory from 1 file (0 known already, 1 skipped)\n"
    assert "stdin#L2" in ran.err


def test_an_unknown_command_suggests_a_similar_one(cli: Cli):
    """In the list of commands and in a group."""
    assert "options come after the command" in cli("--store", "x.db", "recall", "y").err
    assert "did you mean 'recall'?" in cli("recal", "x").err
    assert "did you mean 'append'?" in cli("notes", "apend", "x").err
    assert cli("zzz").code == exit_codes.USAGE


def test_an_empty_result_says_so(cli: Cli):
    """On standard error, so that a pipe receives nothing."""
    commands = ("recall otter", "search otter", "list", "context", "notes search x", "events", "keys list")
    sessions = ("session hot s1", "session recall s1 otter")
    for arguments in (command.split() for command in (*commands, *sessions)):
        ran = cli(*arguments)
        assert (ran.code, ran.out) == (exit_codes.OK, "")
        assert ran.err.startswith("note: ")


def test_control_sequences_in_contents_do_not_reach_the_terminal(cli: Cli):
    """They are printed as visible characters, in every command that prints a content."""
    memory_id = remembered(cli, "red \x1b[31m alert \x9b2J bell \x07", "--tier", "hot")
    for arguments in (("recall", "red alert"), ("list",), ("get", memory_id), ("context",), ("history", memory_id)):
        for ran in (cli(*arguments), cli(*arguments, "--json")):
            assert ran.out
            assert not {"\x1b", "\x9b", "\x07"} & set(ran.out)


def test_piped_output_is_not_wrapped(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    """One memory is one line, however long it is."""
    monkeypatch.setenv("COLUMNS", "40")
    text = "The otter swims in the river with the other otters, and it does so on every day of the week"
    remembered(cli, text)

    assert text in cli("list").out
    assert text in cli("recall", "otter").out


@pytest.mark.slow
def test_a_long_content_is_cut_for_people_only(cli: Cli):
    """A confirmation does not repeat a whole book; JSON and `get` have all of it."""
    book = "otter " * 100_000
    done = cli("remember", "-", stdin=book)
    memory_id = done.out.split()[3]

    assert len(done.out) < 3_000
    assert "(600,000 characters)" in done.out
    assert len(cli("recall", "otter").out) < 3_000
    assert cli("pin", memory_id, "--json").data["content"] == book
    assert len(cli("get", memory_id).out) > len(book)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_output_in_any_encoding_is_printed(encoding: str, tmp_path: Path):
    """What an encoding lacks is escaped, and JSON stays JSON."""
    env = {**os.environ, "MEMOTHERM_HOME": str(tmp_path), "MEMOTHERM_EMBEDDER": "none", "PYTHONIOENCODING": encoding}
    content = "Zo\u00eb \u2192 \u4f1a\u8b70 \U0001f9a6"

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "memotherm", *arguments]
        done = subprocess.run(command, capture_output=True, env=env, timeout=60)
        assert done.returncode == 0, done.stderr
        # A stream of ASCII is written as UTF-8.
        return done.stdout.decode("utf-8" if encoding == "ascii" else encoding)

    assert "Zo" in run("remember", content)
    assert json.loads(run("list", "--json"))["memories"][0]["content"] == content


@pytest.mark.parametrize("command", [["recall", "x"], ["search", "x"], ["context"], ["list"], ["status"], ["export"]])
def test_a_command_that_reads_creates_no_store(cli: Cli, tmp_path: Path, command: list[str]):
    """A misspelt path is an error that names it."""
    ran = cli(*command, "--store", "typo.db")

    assert ran.code == exit_codes.NOT_FOUND
    assert "there is no store typo.db" in ran.err
    assert not (tmp_path / "typo.db").exists()


def test_an_empty_export_says_where_memories_are(cli: Cli):
    """Standard output stays empty, and the note has their number."""
    remembered(cli, "The otter swims", "--project", "zoo")
    ran = cli("export")

    assert (ran.code, ran.out) == (exit_codes.OK, "")
    assert "1 memory in scopes narrower than this one (everyone): project=zoo (1)" in ran.err


def test_listings_and_recalls_are_filtered(cli: Cli):
    """By time and by metadata, in words or as JSON."""
    remembered(cli, "deploy the shop", "--metadata", '{"status": "open", "votes": 5}')
    remembered(cli, "deploy the database", "--metadata", '{"status": "done", "votes": 1}')

    def found(*arguments: str) -> list[str]:
        listed = [memory["content"] for memory in cli("list", *arguments, "--json").data["memories"]]
        recalled = [hit["content"] for hit in cli("recall", "deploy", *arguments, "--json").data["items"]]
        assert sorted(listed) == sorted(recalled)
        return listed

    assert found("--where", "status=open") == found("--where", "votes=5") == ["deploy the shop"]
    assert found("--where", '{"votes": {"$lt": 3}}', "--where", "status=done") == ["deploy the database"]
    assert len(found("--since", "1h")) == 2
    assert found("--until", "2020-01-01") == []
    remembered(cli, "deploy the plan", "--key", "plans/1")
    assert found("--prefix", "plans/") == ["deploy the plan"]
    assert cli("forget", "--prefix", "plans/", "--yes").out == "1 memory forgotten\n"
    for wrong in ("status", "{status}", '{"a": {"$like": 1}}'):
        assert cli("list", "--where", wrong).code == 2, wrong
    assert "twice" in cli("list", "--where", "a=1", "--where", "a=2").err
    assert "7d" in cli("list", "--since", "soon").err


def test_many_memories_are_changed_after_a_confirmation_that_names_their_number(cli: Cli):
    """`--yes` confirms for scripts, a dry run counts, and what was forgotten comes back by the same filter."""
    for number in range(3):
        remembered(cli, f"ticket {number}", "--metadata", '{"sprint": 12}', "--tag", "ticket")
    remembered(cli, "another fact")

    assert cli("forget", "--where", "sprint=12", "--dry-run", "--json").data == {"count": 3, "dry_run": True}
    refused = cli("forget", "--where", "sprint=12")
    assert (refused.code, "3 memories match" in refused.err, "--yes" in refused.err) == (2, True, True)
    assert len(cli("list", "--json").data["memories"]) == 4
    assert cli("forget", "--where", "sprint=12", "--yes").out == "3 memories forgotten\n"
    assert len(cli("list", "--json").data["memories"]) == 1
    assert cli("restore", "--tag", "ticket", "--yes", "--json").data == {"count": 3, "dry_run": False}
    assert cli("purge", "--where", "sprint=12", "--yes").out == "3 memories erased\n"
    assert len(cli("list", "--retention", "any", "--json").data["memories"]) == 1
    for wrong in (["forget"], ["purge", "--yes"], ["forget", "mem_1", "--where", "a=1"]):
        assert cli(*wrong).code == 2, wrong
    assert cli("forget", "--where", "sprint=13", "--yes").out == "0 memories forgotten\n"


def test_scopes_are_listed_and_looked_into(cli: Cli):
    """`scopes` names them, and `--include-narrower` reaches everything at and below one."""
    remembered(cli, "the shop sells tea", "--project", "shop")
    remembered(cli, "Ada drinks tea", "--project", "shop", "--user", "ada")

    scopes = cli("scopes", "--json").data["scopes"]
    assert [(each["scope"], each["memories"]) for each in scopes] == [
        ({"project": "shop"}, 1),
        ({"project": "shop", "user": "ada"}, 1),
    ]
    assert "project=shop user=ada" in cli("scopes").out
    assert len(cli("list", "--include-narrower", "--json").data["memories"]) == 2
    assert len(cli("recall", "tea", "--project", "shop", "--include-narrower", "--json").data["items"]) == 2
    assert cli("status", "--include-narrower", "--json").data["warm"]["items"] == 2
    assert len(cli("export", "--include-narrower").out.splitlines()) == 2
    assert "2 warm" in cli("doctor", "--include-narrower").out
    assert cli("context", "tea", "--project", "shop", "--user", "ana").code == 0
    assert len(cli("receipts", "--json").data["receipts"]) == 1


@pytest.mark.parametrize("command", [["list"], ["recall", "tea"], ["status"], ["export"]])
def test_a_store_that_looks_empty_says_where_its_memories_are(cli: Cli, command: list[str]):
    """From above, and from a scope that has none."""
    remembered(cli, "the shop sells tea", "--project", "shop")

    for scope, says in (([], "narrower than this one"), (["--project", "web"], "in other scopes")):
        ran = cli(*command, *scope)
        assert says in ran.out + ran.err
        assert "project=shop (1)" in ran.out + ran.err
    ran = cli(*command, "--project", "shop")
    assert "scopes" not in ran.out + ran.err


def test_doctor_counts_the_whole_store(cli: Cli):
    """From above; in a scope, it counts what that sees and names the others."""
    remembered(cli, "the shop sells tea", "--project", "shop")

    assert "1 warm" in cli("doctor").out
    assert "in other scopes: project=shop (1)" in " ".join(cli("doctor", "--project", "web").out.split())


def test_the_status_of_a_store_with_memories_in_scopes_only_counts_these(cli: Cli):
    """Nobody takes a full store for an empty one; `--json` has what is visible from the scope."""
    remembered(cli, "the shop sells tea", "--project", "shop")
    told = cli("status").out

    assert "● warm" in told
    assert "1 memory" in told
    assert "project=shop" in told
    assert cli("status", "--json").data["warm"]["items"] == 0


@pytest.mark.parametrize(
    ("since", "found"),
    [
        ("today", 1),
        ("Yesterday", 2),
        ("1 day ago", 2),
        ("two weeks ago", 3),
        ("last 3 days", 2),
        ("2026-01-26", 3),
        ("3d", 2),
    ],
)
def test_times_may_be_days_in_words(cli: Cli, since: str, found: int):
    """They begin at midnight of the user's time zone, for `--since` and for `--until`."""
    midnight = datetime.now(UTC).astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    for days in (0, 1, 14):
        clock = FakeClock(midnight - timedelta(days=days))
        with memotherm.open("words.db", clock=clock, embedder="none") as mem:
            mem.remember(f"Stored {days} days ago")
    store = ("--store", "words.db", "--count")
    assert cli("list", "--since", since, *store).out == f"{found}\n"
    if since != "2026-01-26":
        assert cli("list", "--until", since, *store).out == f"{3 - found}\n"


def test_a_time_that_is_none_is_refused(cli: Cli):
    """With examples of what can be written."""
    remembered(cli, "We sell tea")
    for words in ("soon", "yesterday morning tea", "32 May"):
        ran = cli("list", "--since", words)
        assert ran.code == exit_codes.USAGE
        assert "2026-01-31" in ran.err


def test_an_export_does_not_replace_a_file_unasked(cli: Cli, tmp_path: Path):
    """Only with --force; the file stays as it is otherwise."""
    remembered(cli, "We sell tea")
    (tmp_path / "all.jsonl").write_text("precious")
    ran = cli("export", "all.jsonl")
    assert ran.code != exit_codes.OK
    assert "--force" in ran.err
    assert (tmp_path / "all.jsonl").read_text() == "precious"
    assert cli("export", "all.jsonl", "--force").code == exit_codes.OK
    assert "We sell tea" in (tmp_path / "all.jsonl").read_text()


def test_an_export_names_archived_memories_that_it_leaves_out(cli: Cli):
    """And those of other scopes; nothing is said if all is written."""
    remembered(cli, "We sell tea")
    cli("archive", remembered(cli, "An old plan"))
    remembered(cli, "We sell coffee", "--project", "cafe")
    said = cli("export").err
    assert "archived memories (1); --all" in said
    assert "1 memory of other scopes" in said
    assert "left out" not in cli("export", "--everywhere", "--all").err


@pytest.mark.parametrize(
    ("kind", "looked_for"), [("openclaw", "MEMORY.md"), ("claude-code", "projects/*/memory"), ("mem0", "get_all()")]
)
def test_an_import_that_finds_nothing_fails(cli: Cli, tmp_path: Path, kind: str, looked_for: str):
    """It says what it looked for."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty.json").write_text("[]")
    ran = cli("import", kind, "empty.json" if kind == "mem0" else "empty")
    assert ran.code == exit_codes.NOT_FOUND
    assert looked_for in ran.err


def test_an_export_of_everything_has_the_memories_of_all_scopes(cli: Cli, tmp_path: Path):
    """Archived ones included."""
    remembered(cli, "the shop sells tea", "--project", "shop")
    cli("archive", remembered(cli, "an old fact"))

    assert "2 memories written" in cli("export", "all.jsonl", "--everywhere", "--all").err
    lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert [(line["content"], line["retention"]) for line in lines] == [
        ("an old fact", "archived"),
        ("the shop sells tea", "active"),
    ]


def test_notes_are_curated_and_a_flush_is_prompted(cli: Cli, tmp_path: Path):
    """A dry run writes nothing; the prompt is given once."""
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "2026-01-05.md").write_text("- Ana owns the vault.\n", "utf-8")

    planned = cli("notes", "curate", "memory/2026-01-05.md", "--dry-run", "--json")
    assert (planned.data["lines"], planned.data["dry_run"]) == (["- Ana owns the vault."], True)
    assert not (tmp_path / "MEMORY.md").exists()
    assert "would be" not in cli("notes", "curate", "memory/2026-01-05.md").err
    assert (tmp_path / "MEMORY.md").read_text("utf-8") == "- Ana owns the vault.\n"

    flush = cli("session", "flush", "s1", "--tokens", "177000", "--root", ".", "--json").data
    assert (flush["due"], "MEMORY.md" in flush["prompt"], flush["file"][:7]) == (True, True, "memory/")
    assert "no flush" in cli("session", "flush", "s1", "--tokens", "178000").err


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="root can write everywhere, except without a capability of Linux")
def test_a_store_in_a_read_only_folder_can_be_read(cli: Cli, tmp_path: Path):
    """Every command that reads works, nothing is written, and a change is refused with an error."""
    folder = tmp_path / "read-only"
    folder.mkdir()
    remembered(cli, "The ferry is blue", "--store", "read-only/agent.db")
    folder.chmod(0o500)
    code = (
        "import ctypes, subprocess, sys\n"
        "ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE\n"
        "sys.exit(subprocess.call([sys.executable, '-c', sys.argv[1]]))"
    )
    commands = [["recall", "ferry"], ["list"], ["export"], ["context", "ferry"], ["status"], ["store", "check"]]
    ran = [*commands, ["remember", "another ferry"]]
    script = (
        "from memotherm.cli.app import run\n"
        f"print([run([*command, '--store', 'read-only/agent.db']) for command in {ran!r}])"
    )
    done = subprocess.run([sys.executable, "-c", code, script], capture_output=True, text=True, timeout=60)
    folder.chmod(0o700)

    assert done.stdout.splitlines()[-1] == str([exit_codes.OK] * len(commands) + [exit_codes.CONFIG])
    assert done.stdout.count("The ferry is blue") == 4
    assert "error: cannot read or write read-only/agent.db" in done.stderr
    assert "uses of a recall" not in done.stderr
    assert [file.name for file in folder.iterdir()] == ["agent.db"]


def test_the_beginning_or_end_of_an_id_names_a_memory(cli: Cli):
    """In every command that takes an id, as long as no other id begins or ends with it."""
    memory_id, other = remembered(cli, "The ferry is blue"), remembered(cli, "The ferry is red", "--project", "quay")

    for part in (memory_id[:-2], memory_id[-8:], memory_id[-8:].upper()):
        for arguments in (("get", part), ("history", part), ("pin", part), ("move", part, "hot")):
            ran = cli(*arguments, "--json")
            assert (ran.code, ran.data["id"]) == (exit_codes.OK, memory_id)
    assert cli("get", other[-8:], "--project", "pier").code == exit_codes.NOT_FOUND
    assert cli("get", "mem_", "--json").data["id"] == memory_id
    ambiguous = cli("forget", "mem_", "--project", "quay")
    assert (ambiguous.code, cli("get", "mem_zzz").code) == (exit_codes.USAGE, exit_codes.NOT_FOUND)
    assert f"{memory_id}, {other}" in ambiguous.err
    added = cli("session", "add", "s1", "an otter", "--json").data["id"]
    assert cli("session", "keep", "s1", added[:-2], "--json").data["id"] == added


def test_an_id_of_a_list_with_narrower_scopes_is_found_where_it_was_listed(cli: Cli):
    """Its short form as well; a change is one from the scope of the memory, and so is its undo."""
    remembered(cli, "The ferry is blue")
    memory_id = remembered(cli, "The ferry is red", "--project", "quay")
    task = remembered(cli, "Paint the ferry", "--project", "quay", "--kind", "task")
    assert memory_id in cli("list", "--include-narrower").out

    for part in (memory_id, memory_id[-8:]):
        for scope in ((), ("--everywhere",)):
            assert cli("get", part, *scope, "--json").data["content"] == "The ferry is red"
            assert cli("history", part, *scope, "--json").data["id"] == memory_id
            moved = cli("move", part, "hot", *scope, "--json").data
            assert (moved["tier"], moved["scope"]) == ("hot", {"project": "quay"})
            assert cli("forget", part, *scope, "--json").data["retention"] == "deleted"
            assert cli("restore", part, *scope, "--json").data["retention"] == "active"
    event = cli("events", "--include-narrower", "--limit", "1", "--json").data["events"][0]
    assert cli("undo", str(event["seq"])).code == exit_codes.OK
    assert cli("get", memory_id, "--json").data["retention"] == "deleted"
    cli("restore", memory_id[-8:])
    assert cli("tasks", "--done", task[-8:], "--json").data["metadata"]["status"] == "done"
    cli("context", "ferry", "--project", "quay")
    for options in ((), ("--project", "quay")):
        assert cli("why", task[-8:], *options, "--json").data["answers"][0]["id"] == task
        assert cli("receipts", "--memory", task[-8:], *options, "--json").data["answers"][0]["id"] == task
    assert cli("rescope", memory_id[-8:], "project=pier", "--json").data["scope"] == {"project": "pier"}
    above = remembered(cli, "The ferry has a horn")
    assert cli("why", above[-8:], "--project", "quay", "--json").data["answers"][0]["id"] == above
    assert cli("get", memory_id[-8:], "--project", "quay").code == exit_codes.NOT_FOUND


def test_as_of_takes_the_times_that_json_prints(cli: Cli):
    """With a time zone, without one, and as a date."""
    created = cli("remember", "The ferry is blue", "--json").data["created_at"]

    assert len(cli("recall", "ferry", "--as-of", created, "--json").data["items"]) == 1
    for moment in ("2020-01-01", "2020-01-01T10:00", "2020-01-01 10:00:00.5", "2020-01-01T10:00:00Z"):
        assert cli("recall", "ferry", "--as-of", moment, "--json").data["items"] == []
        assert cli("context", "ferry", "--as-of", moment, "--json").data["text"] == ""
    assert "ferry" in cli("context", "ferry", "--as-of", created, "--json").data["text"]
    for command in ("recall", "context"):
        assert cli(command, "ferry", "--as-of", "yesterday").code == exit_codes.USAGE


def test_a_setting_is_written_to_the_file_of_the_user(cli: Cli, tmp_path: Path):
    """Comments and other lines stay, and a value or a name that is not valid changes nothing."""
    file = tmp_path / "home" / "config.toml"
    assert cli("config", "path").out == f"{file}\n"
    file.parent.mkdir()
    file.write_text('# mine\nmax_pinned = 3 # few\nmcp_tools = ["core",\n "all"]\n')

    assert cli("config", "set", "max_pinned", "5", "--json").data == {
        "name": "max_pinned", "value": 5, "origin": str(file),
    }  # fmt: skip
    assert cli("config", "set", "embedder", "local").err.startswith("note: the value comes from environment")
    text = '# mine\nmax_pinned = 5\nmcp_tools = ["core",\n "all"]\nembedder = "local"\n'
    assert file.read_text() == text
    wrong = (("max_pinned", "many"), ("max_pined", "5"), ("mcp_tools", "all"), ("retention", "30/30"))
    for arguments in wrong:
        assert cli("config", "set", *arguments).code == exit_codes.CONFIG
    assert "did you mean 'max_pinned'?" in cli("config", "set", "max_pined", "5").err
    assert file.read_text() == text
    cli("config", "unset", "embedder")
    assert "embedder" not in file.read_text()


def in_terminal(code: str, columns: int) -> str:
    """Run Python code in a terminal, and return what it shows, without colours."""
    import fcntl
    import pty
    import struct
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    env = {**os.environ, "NO_COLOR": "1", "TERM": "xterm"}
    env.pop("COLUMNS")
    subprocess.run([sys.executable, "-c", code], stdout=slave, stderr=slave, env=env, timeout=60)
    os.close(slave)
    with os.fdopen(master, "rb") as terminal:
        return re.sub("\x1b\\[[0-9;]*m", "", terminal.read1(100_000).decode())


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_forty_columns_are_enough(cli: Cli):
    """Short ids are accepted as ids, texts are readable, and no line is longer than the terminal."""
    memory_id = remembered(cli, "The ferry is blue and leaves at noon from the northern quay", "-k", "decision")
    script = (
        "from memotherm.cli.app import run\n"
        f"for command in (['list'], ['get', {memory_id[-8:]!r}], ['status'], ['recall', 'ferry']): run(command)"
    )
    lines = in_terminal(script, 40).splitlines()

    assert max(map(len, lines)) <= 40
    assert (sum(memory_id[-8:] in line for line in lines), sum(memory_id in line for line in lines)) == (3, 1)
    assert sum("northern" in line for line in lines) == 3
    assert not any("…" in line for line in lines)


def lines_of(path: Path, count: int) -> None:
    path.write_text("".join(f'{{"content": "fact number {number}"}}\n' for number in range(count)), "utf-8")


@pytest.mark.slow
def test_progress_is_printed_in_lines_outside_a_terminal(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """With rate and remaining time, on standard error, for every long command; the summary has the embedder's share."""
    monkeypatch.setattr("memotherm.cli.output._SECONDS_BETWEEN_LINES", 0.0)
    monkeypatch.setattr("memotherm.cli.privacy._PAGE", 200)
    lines_of(tmp_path / "all.jsonl", 450)
    imported = cli("import", "jsonl", "all.jsonl")

    assert re.search(r"^entries: 400 of 450 \(89%\), [\d,]+/s, [\d.]+ s left$", imported.err, re.MULTILINE)
    assert "no embedder was called" in imported.err
    assert imported.out == "450 memories from 1 file (0 known already)\n"
    assert "memories: 400 of 450" in cli("export", "copy.jsonl").err
    assert "rows: " in cli("store", "migrate", str(tmp_path / "home" / "memory.db"), "copy.db").err
    assert cli("import", "jsonl", "all.jsonl", "--json").err == ""


def test_an_interrupted_command_says_what_is_kept(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Ctrl-C ends it with 130, and the same command goes on."""

    update = Progress.update

    def interrupt(bars: Progress, *task: Any, **values: Any) -> None:
        update(bars, *task, **values)
        if values["completed"] == 200:
            signal.raise_signal(signal.SIGINT)

    lines_of(tmp_path / "all.jsonl", 450)
    with monkeypatch.context() as patch:
        patch.setattr(Progress, "update", interrupt)
        ran = cli("import", "jsonl", "all.jsonl")
    assert ran.code == exit_codes.INTERRUPTED
    assert ran.err == "interrupted: 200 of 450 entries are done and stay; repeat the command to go on\n"
    assert cli("import", "jsonl", "all.jsonl").out == "250 memories from 1 file (200 known already)\n"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_a_terminal_shows_a_bar_with_the_rate(cli: Cli, tmp_path: Path):
    """The bar has the count, the rate and the remaining time."""
    lines_of(tmp_path / "all.jsonl", 450)
    screen = in_terminal("from memotherm.cli.app import run; run(['import', 'jsonl', 'all.jsonl'])", 100)

    assert re.search(r"entries .*450/450 .*/s 0:00:00", screen)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no password database")
def test_the_user_auto_is_the_account(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    """Whatever the environment says, which hosts of hooks may change."""
    import pwd

    monkeypatch.setenv("LOGNAME", "somebody-else")
    scope = cli("remember", "The ferry is blue", "--user", "auto", "--json").data["scope"]

    assert scope == {"user": pwd.getpwuid(os.getuid()).pw_name}


def test_a_policy_is_shown_linted_tested_and_compared(cli: Cli, tmp_path: Path):
    """Exit codes for pipelines: 5 for errors of lint, 1 for a failed test, 3 for a file that is not there."""
    (tmp_path / "bad.toml").write_text('[[rule]]\nid = "a"\nwhen = { iddle = "> 3d" }\nto = "cold"\n', "utf-8")
    (tmp_path / "house.toml").write_text(
        '[policy]\nextends = "builtin"\n[[rule]]\nid = "house.keep"\nwhen = { kind = "decision" }\nto = "stay"\n'
        'why = "kept"\n[[test]]\nmemory = { kind = "decision", age = "90d" }\nexpect = { tier = "cold" }\n',
        "utf-8",
    )
    done = remembered(cli, "we use SQLite", "--kind", "decision", "--metadata", '{"status": "done"}')

    assert cli("policy", "show", "--json").data["rules"][0]["id"] == "compact.done"
    linted = cli("policy", "lint", "bad.toml")
    assert (linted.code, "bad.toml:3: error P001 unknown field iddle: did you mean idle?" in linted.out) == (5, True)
    assert cli("policy", "lint", "house.toml", "--on-store", "--json").data["findings"] == []
    failed = cli("policy", "test", "house.toml", "--json")
    assert (failed.code, failed.data["failed"]) == (1, 1)
    (difference,) = cli("policy", "diff", "builtin", "house.toml", "--json").data["differences"]
    assert (difference["memory"]["id"], difference["second"]) == (done, None)
    assert difference["first"]["rule"] == "compact.done"
    assert cli("policy", "show", "nowhere.toml").code == 3


def test_an_export_of_all_scopes_is_imported_into_them(cli: Cli, tmp_path: Path):
    """A scope that is named for the import wins over that of the entries; a bad one is skipped by its line."""
    for content, *scope in (("a fact for everyone",), ("a fact of the shop", "--project", "shop", "--user", "ana")):
        remembered(cli, content, *scope)
    assert cli("export", "all.jsonl", "--everywhere", "--all").code == 0
    with (tmp_path / "all.jsonl").open("a") as file:
        file.write('{"content": "a fact of nobody", "scope": {"planet": "mars"}}\n')

    assert "planet" in cli("import", "jsonl", "all.jsonl", "--store", "new.db").err
    cli("import", "jsonl", "all.jsonl", "--store", "other.db", "--project", "mill")

    def scopes(store: str) -> list[dict[str, str]]:
        return [count["scope"] for count in cli("scopes", "--store", store, "--json").data["scopes"]]

    assert scopes("new.db") == [{}, {"project": "shop", "user": "ana"}]
    assert scopes("other.db") == [{"project": "mill"}, {"project": "mill", "user": "ana"}]


@pytest.mark.slow
def test_a_policy_is_adopted_and_rolled_back(cli: Cli, tmp_path: Path):
    """With its replay and what it would change; a failing test refuses it with 5, and without --yes nothing changes."""
    rule = '[policy]\nname = "house"\nextends = "builtin"\n[[rule]]\nid = "house.cold"\nto = "cold"\nwhy = "old"\n'
    rule += 'when = { kind = "message", tier = "warm", uses = 0, idle = ">= 0d" }\n'
    test = '[[test]]\nname = "stays"\nmemory = { kind = "message", tier = "warm" }\nexpect = { tier = "warm" }\n'
    (tmp_path / "house.toml").write_text(rule, "utf-8")
    (tmp_path / "failing.toml").write_text(rule + test, "utf-8")
    said = remembered(cli, "good morning", "--kind", "message", "--tier", "warm")

    assert cli("policy", "adopt", "failing.toml", "--yes").code == 5
    assert cli("policy", "adopt", "house.toml", "--no-replay").code == 2
    assert cli("policy", "rollback", "--yes").code == 3
    assert "the recall log has no questions" in cli("policy", "adopt", "house.toml", "--yes").out
    assert cli("policy", "rollback", "--yes").code == 0
    remembered(cli, "tea at five")
    cli("recall", "tea")
    adopted = cli("policy", "adopt", "house.toml", "--yes", "--json").data
    assert {"house", "builtin"} <= {row["name"] for row in adopted["replay"]["policies"]}
    shown = cli("policy", "show", "--json").data
    (move,) = cli("compact", "--json").data["moves"]

    assert [difference["memory"]["id"] for difference in adopted["differences"]] == [said]
    assert (move["id"], move["policy"]) == (said, shown["hash"]) == (said, adopted["adoption"]["hash"])
    assert cli("status", "--json").data["policy"] == f"house ({shown['hash']})"
    done = cli("policy", "rollback", "--yes", "--json").data
    assert ([back["to"] for back in done["moves"]], done["adoption"]["name"]) == (["warm"], "builtin")
    assert len(cli("policy", "history", "--json").data["adoptions"]) == 4
    assert [event["action"] for event in cli("events", "--json").data["events"]][:3] == ["rollback", "undo", "move"]


def test_a_refused_policy_has_a_line_for_each_error(cli: Cli, tmp_path: Path):
    """Each with file, line and remedy, and exit code 5."""
    (tmp_path / "bad.toml").write_text(
        '[policy]\nname = "bad"\n[limits]\nhot_max_token = 5\ncool_hot_day = 1\n', "utf-8"
    )
    remembered(cli, "good morning")

    refused = cli("policy", "adopt", "bad.toml", "--yes")

    lines = [line.strip() for line in refused.err.splitlines()]
    assert refused.code == 5
    assert [line for line in lines if line.startswith("bad.toml: line")] == [
        "bad.toml: line 4: P001 a policy cannot set hot_max_token: did you mean hot_max_tokens?",
        "bad.toml: line 5: P001 a policy cannot set cool_hot_day: did you mean cool_hot_days?",
    ]


def test_the_past_of_a_store_is_replayed(cli: Cli, tmp_path: Path):
    """A table with the rows to compare with, the same as JSON, and what is missing without a log."""
    (tmp_path / "house.toml").write_text('[policy]\nname = "house"\nextends = "builtin"\n', "utf-8")
    remembered(cli, "we use SQLite", "--kind", "decision")
    assert "recall log has no questions" in cli("policy", "replay", "builtin").err
    cli("recall", "SQLite")

    table = cli("policy", "replay", "house.toml", "builtin", "--explain")
    assert "house: 0 of 1 demanded memories were cold" in table.out
    assert [line.split()[0] for line in table.out.splitlines()[1:5]] == [
        *("everything", "house", "builtin", "recorded")
    ]
    found = cli("policy", "replay", "house.toml", "builtin", "--since", "1d", "--json").data
    assert (found["questions"], found["asked_again"], found["demanded"]) == (1, 1, 1)
    assert [row["live_hits"] for row in found["policies"] if row["name"] in ("house", "recorded")] == [1.0, 1.0]


def test_the_system_clock_is_checked_for_jumps_and_doctor_tells(cli: Cli) -> None:
    """To a file that was last maintained long ago, the clock of this machine has jumped: nothing is purged yet."""
    with memotherm.open("agent.db", clock=FakeClock(datetime(2020, 1, 1, tzinfo=UTC))) as mem:
        mem.forget(mem.remember("deleted by mistake").id)
        mem.maintain()

    done = cli("maintain", "--store", "agent.db", "--json").data
    found = {each["name"]: each for each in cli("doctor", "--store", "agent.db", "--json").data["findings"]}

    assert done["purged"] == 0
    assert done["degraded"][-1].startswith("the clock jumped ahead")
    assert found["maintenance"]["state"] == "warning"
    assert found["maintenance"]["detail"] == done["degraded"][-1]


def test_cases_fail_when_a_question_does_not_find_what_it_must(cli: Cli, tmp_path: Path) -> None:
    """The exit code and the output name the case and the memory; a faulty file is refused with its reason."""
    river = remembered(cli, "Otters live in the river", "--project", "zoo")
    file = tmp_path / "cases.toml"
    case = f'[[case]]\nquery = "where do otters live?"\nscope = {{ project = "zoo" }}\nexpect = ["{river}"]\n'
    file.write_text(case)
    passed = cli("bench", "cases", str(file), "--json")
    assert (passed.code, passed.data["failed"], passed.data["cases"][0]["found"]) == (exit_codes.OK, 0, [river])
    cli("move", river, "cold", "--project", "zoo")
    failed = cli("bench", "cases", str(file))
    assert failed.code == exit_codes.FAILURE
    assert f"✗ where do otters live?: not found: {river}" in failed.out
    file.write_text(case + 'tiers = ["cold"]\n')
    assert cli("bench", "cases", str(file)).code == exit_codes.OK
    for faulty, reason in (
        ("", "no cases"), ("[[case]]", "needs a query"), ("[[case", "TOML"),
        ('[[case]]\nquery = "a"\nwhen = 1', "when"),
        ('[[case]]\nquery = "a"', "expect"), ('[[case]]\nquery = "a"\nexpect = ["b"]\nscope = { room = "c" }', "scope"),
    ):  # fmt: skip
        file.write_text(faulty)
        refused = cli("bench", "cases", str(file))
        assert (refused.code, reason in refused.err) == (exit_codes.USAGE, True), (faulty, refused.err)


def test_receipts_say_why_a_memory_was_in_a_context_or_not(cli: Cli) -> None:
    """`--memory` answers for each context, in words and as JSON."""
    warm = remembered(cli, "Otters live in the river")
    cold = remembered(cli, "Otters lived in the mill", "--tier", "cold")
    cli("context", "where do otters live?")
    answers = [cli("receipts", "--memory", memory_id, "--json").data["answers"][0] for memory_id in (warm, cold)]

    assert [answer["state"] for answer in answers] == ["included", "not_considered"]
    assert "not considered: it was cold" in cli("receipts", "--memory", cold).out


def test_a_recall_shows_pinned_memories_under_a_heading_of_their_own(cli: Cli):
    """After the hits, and only if there are any; in JSON they are a member of their own."""
    fact = remembered(cli, "The otter pond freezes in January")
    assert "Pinned" not in cli("recall", "otter pond").out
    rule = remembered(cli, "Answer in metric units", "--priority", "pinned")

    found = cli("recall", "otter pond", "--json").data
    lines = cli("recall", "otter pond").out.splitlines()

    assert ([hit["id"] for hit in found["items"]], [hit["id"] for hit in found["pinned"]]) == ([fact], [rule])
    heading = lines.index("Pinned:")
    assert any("otter pond" in line for line in lines[:heading])
    assert any("metric units" in line for line in lines[heading:])


@pytest.mark.parametrize("option", [("--force",), ("--kind", "message"), ("--key", "answers/1")])
def test_what_has_nothing_to_remember_is_skipped_unless_an_option_insists(cli: Cli, option: tuple[str, ...]):
    """The command succeeds and says why; `--force`, a kind or a key stores it."""
    said = cli("remember", "ok")
    assert (said.code, said.out, "--force" in said.err) == (exit_codes.OK, "", True)
    assert cli("remember", "ok", "--json").data["status"] == "skipped"
    assert cli("list", "--json").data["memories"] == []
    assert cli("remember", "ok", *option, "--json").data["content"] == "ok"
