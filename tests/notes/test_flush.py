"""Flush before context compaction: in time, once, to one file, never in the way."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memotherm import Memotherm
from memotherm.errors import InvalidInput, NotFound
from memotherm.notes.flush import is_due, is_silent, may_become_silent, threshold
from memotherm.testing import FakeClock
from tests.notes.ids import spec


@spec("O01", "O02", "O07")
def test_the_threshold_is_the_window_less_reserve_and_soft(mem: Memotherm) -> None:
    """200,000 - 20,000 - 4,000; reached at equality, and before the host's own limit."""
    session = mem.session("s")

    assert session.flush_due(175_999) is None
    flush = session.flush_due(176_000)
    assert flush is not None
    assert flush.threshold == 176_000 < 200_000 - 20_000
    assert threshold(100_000) == 76_000


@spec("O02")
def test_unknown_tokens_or_a_small_window_flush_nothing(mem: Memotherm) -> None:
    """A threshold is never below 0, and 0 means never."""
    session = mem.session("s")

    assert session.flush_due(None) is None
    assert session.flush_due(10**9, context_window=24_000) is None
    assert session.flush_due(10**9, context_window=8000) is None
    assert threshold(8000) == 0
    assert is_due(1, 24_001)
    assert not is_due(0, 24_001)


@spec("O03", "O05", "O06")
def test_the_agent_is_told_what_to_do(mem: Memotherm) -> None:
    """The system prompt says that context compaction is near; the prompt names the file and the silent token."""
    flush = mem.session("s").flush_due(180_000)

    assert flush is not None
    assert "near auto-compaction" in flush.system
    assert "capture durable memories to disk" in flush.system
    assert flush.file == "memory/2026-01-05.md"
    assert flush.file in flush.prompt
    assert "append" in flush.prompt.lower()
    assert "NO_REPLY" in flush.prompt


@spec("O49")
def test_the_system_prompt_does_not_change_with_the_day(mem: Memotherm, clock: FakeClock) -> None:
    """What changes stands at the end of the context, so that its beginning stays cached."""
    one = mem.session("a").flush_due(180_000)
    clock.advance(days=3)
    other = mem.session("b").flush_due(190_000)

    assert one is not None
    assert other is not None
    assert one.system == other.system
    assert one.prompt != other.prompt


@spec("O29", "W37")
def test_once_in_every_cycle_and_in_every_cycle(mem: Memotherm) -> None:
    """With the host's count: a compaction that happens inside the flush does not eat the next cycle's."""
    session = mem.session("s")
    tokens = (100_000, 177_000, 179_000)
    told = [[session.flush_due(each, compactions=cycle) is not None for each in tokens] for cycle in range(5)]

    assert told == [[False, True, False]] * 5


@spec("O29")
def test_without_a_count_a_fall_of_the_tokens_ends_a_cycle(mem: Memotherm) -> None:
    """Or the host's word that it has compacted."""
    session = mem.session("s")
    told = [session.flush_due(tokens) is not None for tokens in (177_000, 178_000, 179_000, 30_000, 90_000, 176_000)]

    assert told == [True, False, False, False, False, True]
    session.context_compacted()
    assert session.flush_due(180_000) is not None


@spec("O29")
def test_the_marker_survives_a_restart(open_mem: Callable[..., Memotherm], tmp_path: Path) -> None:
    """And holds between processes: of two that ask at once, one is told."""
    first, second = open_mem(tmp_path / "a.db"), open_mem(tmp_path / "a.db")

    assert first.session("s").flush_due(180_000) is not None
    assert second.session("s").flush_due(180_000) is None
    assert second.session("other").flush_due(180_000) is not None
    assert second.session("s").flush_due(180_000, compactions=1) is not None
    assert first.session("s").flush_due(180_000, compactions=1) is None


@spec("O30")
def test_heartbeats_and_read_only_workspaces_are_left_out(mem: Memotherm, workspace: Path) -> None:
    """And they do not use up the cycle."""
    session = mem.session("s")

    assert session.flush_due(180_000, heartbeat=True) is None
    assert session.flush_due(180_000, read_only=True) is None
    assert session.flush_due(180_000, root=workspace / "missing") is None
    assert session.flush_due(180_000, root=workspace) is not None


@pytest.mark.plain_file
@pytest.mark.sqlite
@spec("O30")
def test_trouble_with_the_store_never_blocks_the_turn(open_mem: Callable[..., Memotherm], tmp_path: Path) -> None:
    """It is logged, and the turn goes on without a flush."""
    import sqlite3

    session = open_mem(tmp_path / "a.db", settings={"busy_timeout_ms": 50}).session("s")
    holder = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        assert session.flush_due(180_000) is None
    finally:
        holder.execute("ROLLBACK")
        holder.close()
    assert session.flush_due(180_000) is not None


@spec("O31", "O32", "O04")
def test_a_run_that_crosses_midnight_keeps_to_its_file(
    open_mem: Callable[..., Memotherm], workspace: Path, clock: FakeClock
) -> None:
    """The flush names its day; what is written ten minutes later goes there, and nowhere else."""
    clock.now = datetime(2026, 3, 1, 22, 55, tzinfo=UTC)
    mem = open_mem(settings={"timezone": "Europe/Berlin"})
    flush = mem.session("s").flush_due(180_000, root=workspace)
    assert flush is not None
    clock.advance(minutes=10)
    notes = mem.notes(workspace)
    done = notes.append("- decided at five to twelve", date=flush.date)

    assert flush.file == done.path == "memory/2026-03-01.md"
    assert notes.today() == "memory/2026-03-02.md"


@spec("O06")
@pytest.mark.parametrize(
    "reply",
    [
        "NO_REPLY",
        "no_reply",
        "  NO_REPLY.\n",
        "NO_REPLY - nothing new",
        "Nothing to save. NO_REPLY",
        "¿¿silent",
        "¿¿SILENT ",
    ],
)
def test_silent_replies_are_recognised(mem: Memotherm, reply: str) -> None:
    """However they are written, and in the source's spelling."""
    flush = mem.session("s").flush_due(180_000)

    assert flush is not None
    assert flush.is_silent(reply)


@spec("O06")
@pytest.mark.parametrize(
    "reply", ["", "NO_REPLYING", "I wrote NO_REPLY into the file, and then more", "no reply", "silent"]
)
def test_other_replies_are_not_silent(reply: str) -> None:
    """A token in the middle of a sentence is not an answer."""
    assert not is_silent(reply)


def test_a_stream_that_may_turn_out_silent_is_held_back() -> None:
    """By its beginning."""
    assert may_become_silent("NO_")
    assert may_become_silent("")
    assert not may_become_silent("NOT")


def test_the_silent_token_is_a_setting(open_mem: Callable[..., Memotherm]) -> None:
    """The prompts name it; the spelling of the source document is understood as well."""
    flush = open_mem(settings={"silent_token": "NIX"}).session("s").flush_due(180_000)

    assert flush is not None
    assert flush.prompt.endswith("If there is nothing to save, reply with NIX.")
    assert "NIX" in flush.system
    assert flush.is_silent("nix")
    assert flush.is_silent("¿¿silent")


@spec("O04")
def test_lasting_facts_may_go_to_the_curated_note(mem: Memotherm) -> None:
    """The prompt names the file of the day and MEMORY.md, and allows no other file."""
    flush = mem.session("s").flush_due(180_000)

    assert flush is not None
    assert "MEMORY.md" in flush.prompt
    assert "no other file" in flush.prompt


@spec("O09")
def test_lines_of_a_daily_note_are_curated_once(mem: Memotherm, workspace: Path) -> None:
    """A dry run writes nothing; what MEMORY.md has is left out."""
    (workspace / "MEMORY.md").write_text("# Facts\n\n- The port is 8077.\n", "utf-8")
    (workspace / "memory").mkdir(exist_ok=True)
    day = "# Monday\n\n- The port is 8077.\n- Ana owns the vault.\n\nLunch.\n"
    (workspace / "memory" / "2026-01-05.md").write_text(day, "utf-8")
    notes = mem.notes(workspace)
    cited = "memory/2026-01-05.md#L3-L4"

    planned = notes.curate(cited, dry_run=True)
    assert (planned.lines, planned.source, planned.start_line) == (("- Ana owns the vault.",), cited, 0)
    assert "vault" not in (workspace / "MEMORY.md").read_text("utf-8")
    written = notes.curate(cited)
    assert (written.path, written.start_line, written.end_line) == ("MEMORY.md", 4, 4)
    assert notes.curate(cited).lines == ()
    text = (workspace / "MEMORY.md").read_text("utf-8")
    assert text == "# Facts\n\n- The port is 8077.\n- Ana owns the vault.\n"
    assert (workspace / "memory" / "2026-01-05.md").read_text("utf-8") == day


@spec("O09")
def test_only_existing_lines_of_other_notes_are_curated(mem: Memotherm, workspace: Path) -> None:
    """The error names what to do, and nothing is written."""
    notes = mem.notes(workspace)
    with pytest.raises(NotFound, match="no line"):
        notes.curate("memory/1999-01-01.md")
    with pytest.raises(InvalidInput, match="name a note such as"):
        notes.curate("MEMORY.md")
    with pytest.raises(InvalidInput, match="outside"):
        notes.curate("../secrets.md")
