"""The document about Markdown notes (O): the flush, the files and the settings."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

from tests.spec.audit.interfaces import Cli, Hook, NotesMcp, Python, Rest
from tests.spec.audit.table import audit

_FULL: dict[str, Any] = {"total_tokens": 177_000}


@audit("O01", O02="D10", fast=True)
def a_flush_is_due_at_the_threshold(rest: Rest) -> None:
    at = 200_000 - 20_000 - 4_000
    assert rest.session("flush", "a", total_tokens=at - 1)["flush"] is None
    due = rest.session("flush", "a", total_tokens=at)
    assert due["flush"] is not None
    assert due["flush"]["threshold"] == at
    assert rest.session("flush", "b", total_tokens=None)["flush"] is None
    assert rest.session("flush", "c", total_tokens=10**6, context_window=24_000)["flush"] is None
    assert rest.session("flush", "d", total_tokens=8_000, context_window=32_000)["flush"] is not None


@audit("O03")
def the_system_prompt_says_that_compaction_is_near(rest: Rest) -> None:
    system = rest.session("flush", **_FULL)["flush"]["system"]
    assert "The session is near auto-compaction; capture durable memories to disk" in system
    assert "now" in system


@audit("O04", "O05")
def a_flush_is_written_with_ordinary_tools(rest: Rest, notes: NotesMcp) -> None:
    flush = rest.session("flush", **_FULL)["flush"]
    today = f"memory/{flush['date']}.md"
    assert flush["file"] == today
    assert set(re.findall(r"[\w/-]+\.md", flush["prompt"])) == {today, "MEMORY.md"}
    assert re.search(r"\w+_memory|memory_\w+", flush["prompt"] + flush["system"]) is None
    for path, text in ((today, "- The quartermaster is Odile.\n"), ("MEMORY.md", "- The boatswain is Teofil.\n")):
        file = notes.root / path
        notes.write(path, (file.read_text("utf-8") if file.exists() else "") + text)
    assert notes.search("Who is the quartermaster?")[0]["path"] == today
    assert notes.search("Who is the boatswain?")[0]["path"] == "MEMORY.md"
    # Another check counts the chunks of today's note.
    (notes.root / today).unlink()


@audit(O06="D32")
def a_silent_reply_is_recognised(rest: Rest, python: Python) -> None:
    flush = rest.session("flush", **_FULL)["flush"]
    assert flush["silent_token"] == "NO_REPLY"
    assert "NO_REPLY" in flush["prompt"]
    due = python.open().session("s").flush_due(177_000)
    assert due is not None
    assert due.is_silent("NO_REPLY")
    assert due.is_silent("¿¿silent")
    assert not due.is_silent("I saved two facts")


@audit("O07")
def the_flush_comes_before_the_context_is_compacted(hook: Hook) -> None:
    def flushes(tokens: int) -> bool:
        text = hook("before_agent_start", prompt="Continue please", context_tokens=tokens, context_window=200_000)
        assert "NO_REPLY" not in text
        assert ("will soon be compacted" in text) == ("Answer the user" in text)
        return "will soon be compacted" in text

    # The host compacts when less than its reserve of 20,000 tokens is free.
    assert [flushes(tokens) for tokens in (9_000, 175_000, 177_000, 179_000)] == [False, False, True, False]
    hook("before_compaction")
    assert [flushes(tokens) for tokens in (30_000, 178_000)] == [False, True]


@audit("O08", "O31")
def daily_notes_are_appended_to(notes: NotesMcp, cli: Cli) -> None:
    daily = notes.write("memory/2026-01-26.md", "# Monday\n\nThe first line.\n")
    done = cli.run("notes", "append", "The second line.", "--date", "2026-01-26", "--root", notes.root,
                   "--store", cli.folder / "own.db", embedder="none")  # fmt: skip
    assert done[0] == 0, done[2]
    text = daily.read_text("utf-8")
    assert text.startswith("# Monday\n\nThe first line.\n")
    assert text.count("The second line.") == 1
    assert sorted(each.name for each in (notes.root / "memory").glob("2026-01-26*")) == ["2026-01-26.md"]
    fresh = cli.folder / "fresh"
    fresh.mkdir()
    for text in ("The very first line.", "The next line."):
        done = cli.run("notes", "append", text, "--date", "2026-01-27", "--root", fresh, "--store",
                       cli.folder / "own.db", embedder="none")  # fmt: skip
        assert done[0] == 0, done[2]
    assert [str(each.relative_to(fresh)) for each in fresh.rglob("*.md")] == ["memory/2026-01-27.md"]
    written = (fresh / "memory" / "2026-01-27.md").read_text("utf-8")
    assert written.index("The very first line.") < written.index("The next line.")


@audit("O09")
def the_curated_note_is_curated(notes: NotesMcp, rest: Rest) -> None:
    notes.write("memory/2026-02-01.md", "# Sunday\n\n- The beacon is green.\n- It rained.\n")
    planned = notes("memory_curate", path="memory/2026-02-01.md", **{"from": 3}, lines=1, dryRun=True)
    assert planned["lines"] == ["- The beacon is green."]
    notes("memory_curate", path="memory/2026-02-01.md", **{"from": 3}, lines=1)
    curated = notes.root / "MEMORY.md"
    assert curated.exists()
    assert "- The beacon is green." in curated.read_text("utf-8")
    assert "MEMORY.md" in rest.session("flush", **_FULL)["flush"]["prompt"]


@audit("O27")
def the_settings_have_the_documented_defaults(cli: Cli) -> None:
    values = json.loads(cli.run("config", "show", "--json")[1])
    wanted = {
        "chunk_tokens": 400, "watch_notes": True, "vector_weight": 0.7, "text_weight": 0.3,
        "experimental_session_memory": False, "sync_on_session_start": True, "sync_on_search": True,
        "watch_debounce_ms": 1500,
    }  # fmt: skip
    assert {name: values[name] for name in wanted} == wanted
    (cli.folder / "memotherm.toml").write_text(
        "chunking.tokens = 200\nsync.watch = true\nquery.hybrid.vectorWeight = 0.5\nquery.hybrid.textWeight = 0.3\n"
        "experimental.sessionMemory = true\n"
    )
    assert "experimental_session_memory" in cli.refused("remember", "The tide is high")
    values = json.loads(cli.run("config", "show", "--json", trust_project=1)[1])
    assert (values["vector_weight"], values["chunk_tokens"]) == (0.5, 200)
    assert values["experimental_session_memory"] is True
    (cli.folder / "sessions").mkdir()
    said = {"role": "user", "content": "The bell of the harbour is cracked"}
    (cli.folder / "sessions" / "talk.jsonl").write_text(json.dumps(said) + "\n")
    (cli.folder / "MEMORY.md").write_text("- The tide is high.\n")
    own = ("--root", cli.folder, "--store", cli.folder / "own.db")
    assert "cracked" in cli.run("notes", "search", "harbour bell", *own, trust_project=1)[1]


@audit("O29")
def a_flush_is_due_once_in_each_cycle(rest: Rest, cli: Cli) -> None:
    assert rest.session("flush", **_FULL)["flush"] is not None
    assert rest.session("flush", total_tokens=178_000)["flush"] is None
    assert cli("session", "flush", "s", "--tokens", 178_000)["due"] is False
    assert rest.ask("POST", "/sessions/s/compacted", {})[0] == 204
    assert rest.session("flush", **_FULL)["flush"] is not None
    assert rest.session("flush", "t", **_FULL, compactions=0)["flush"] is not None
    assert rest.session("flush", "t", **_FULL, compactions=1)["flush"] is not None
    assert rest.session("flush", "t", **_FULL, compactions=1)["flush"] is None


@audit("O30")
def no_flush_for_heartbeats_and_read_only_workspaces(rest: Rest, python: Python, hook: Hook) -> None:
    full = {"prompt": "Read HEARTBEAT.md", "context_tokens": 177_000, "context_window": 200_000}
    assert "compacted" not in hook("before_prompt_build", **full, trigger="heartbeat")
    assert "compacted" in hook("before_prompt_build", **full, trigger="user")
    assert rest.session("flush", **_FULL, heartbeat=True)["flush"] is None
    assert rest.session("flush", **_FULL, read_only=True)["flush"] is None
    assert rest.session("flush", **_FULL)["flush"] is not None
    closed = python.open()
    session = closed.session("s")
    missing = python.folder / "file"
    missing.write_text("not a folder")
    assert session.flush_due(177_000, root=missing) is None


@audit("O32")
def the_day_is_that_of_the_user(python: Python) -> None:
    python.clock.now = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)
    mem = python.open(timezone="Europe/Berlin")
    due = mem.session("s").flush_due(177_000)
    assert due is not None
    assert due.file == "memory/2026-03-02.md"
    python.clock.advance(hours=24)
    notes = mem.notes(python.folder)
    assert notes.append("Written after midnight", date=due.date).path == "memory/2026-03-02.md"


@audit("O47")
def recall_runs_again_after_the_context_was_compacted(rest: Rest) -> None:
    rest.remember("The gate opens at seven", tier="hot", tags=["blocker"])
    rest.remember("The pilot is called Mirko")
    turn = {"prompt": "What is the pilot called?"}
    assert "Mirko" in rest.session("context", **turn)["text"]
    assert "Mirko" not in rest.session("context", **turn)["text"]
    rest.ask("POST", "/sessions/s/compacted", {})
    again = rest.session("context", **turn)["text"]
    assert "Mirko" in again
    assert "seven" in again


@audit("O48")
def recalled_text_is_not_captured_again(rest: Rest, hook: Hook) -> None:
    scope = f"project={hook.name}"
    rest.remember("The lantern oil is in the shed", tier="hot", scope=scope)
    text = hook("SessionStart")
    assert "lantern oil" in text
    hook("Stop", last_assistant_message=f"{text}\nThe harbour master signed the papers this morning.")
    hook("SessionEnd")
    hook.work()
    stored = [each["content"] for each in rest.get("/memories", scope)["memories"]]
    assert sum("lantern oil" in content for content in stored) == 1, stored
    assert any("harbour master signed" in content for content in stored), stored


@audit("O49")
def injected_text_goes_to_the_tail(rest: Rest, hook: Hook) -> None:
    scope = f"project={hook.name}"
    rest.remember("The ropes are in locker three", scope=scope)
    first = hook("UserPromptSubmit", prompt="Where are the ropes?")
    assert "locker three" in first
    assert hook("UserPromptSubmit", prompt="Where are the ropes?").count("locker three") == 0
    one, two = (rest.session("flush", session, **_FULL)["flush"]["system"] for session in ("a", "b"))
    assert one == two
    assert "memory/" not in one
