"""The watcher: real files, one sync for a burst, and never a lost last change."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import memotherm
from memotherm import Memotherm, Settings
from memotherm.notes.notes import Notes
from memotherm.notes.values import Sync
from memotherm.notes.watcher import Watcher
from tests.helpers import SOURCE
from tests.notes.ids import spec
from tests.notes.index import index

DEADLINE = 60.0


def until(true: Callable[[], bool]) -> bool:
    """Wait until something is true; the deadline is only there for what never comes."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.02)
    return False


def quick(open_mem: Callable[..., Memotherm], workspace: Path, rest: int = 50) -> tuple[Memotherm, Notes]:
    """Return notes that are only as fresh as the watcher keeps them."""
    mem = open_mem(settings={"watch_debounce_ms": rest, "sync_on_search": False})
    return mem, mem.notes(workspace)


@spec("O17")
def test_changes_are_indexed_by_themselves(open_mem: Callable[..., Memotherm], workspace: Path) -> None:
    """Added, edited, renamed, deleted, in folders that come and go."""
    _, notes = quick(open_mem, workspace)
    with notes.watch() as watcher:
        assert watcher.wait(1)
        deep = workspace / "memory" / "a" / "b"
        deep.mkdir(parents=True)
        (deep / "new.md").write_text("a tapir")
        assert until(lambda: "memory/a/b/new.md" in notes.paths())
        (deep / "new.md").write_text("an okapi")
        assert until(lambda: any(hit.snippet == "an okapi" for hit in notes.search("okapi")))
        (deep / "new.md").rename(workspace / "memory" / "moved.md")
        assert until(lambda: "memory/moved.md" in notes.paths() and "memory/a/b/new.md" not in notes.paths())
        (workspace / "MEMORY.md").write_text("curated: a tamarin")
        assert until(lambda: any("tamarin" in hit.snippet for hit in notes.search("tamarin")))
        shutil.rmtree(workspace / "memory")
        assert until(lambda: notes.paths() == ["MEMORY.md"])
        (workspace / "memory").mkdir()
        (workspace / "memory" / "again.md").write_text("an axolotl")
        assert until(lambda: "memory/again.md" in notes.paths())
    assert Settings().watch_debounce_ms == 1500


def test_a_folder_that_appears_later_is_watched(open_mem: Callable[..., Memotherm], tmp_path: Path) -> None:
    """A workspace may have no notes at first."""
    root = tmp_path / "fresh"
    root.mkdir()
    _, notes = quick(open_mem, root)
    with notes.watch() as watcher:
        assert watcher.wait(1)
        (root / "memory").mkdir()
        (root / "memory" / "first.md").write_text("a numbat")
        assert until(lambda: notes.paths() == ["memory/first.md"])


def test_a_burst_is_one_sync_and_its_last_write_counts(open_mem: Callable[..., Memotherm], workspace: Path) -> None:
    """A file written 200 times in a row is read a few times, and its last state is indexed."""
    mem, notes = quick(open_mem, workspace, rest=300)
    with notes.watch() as watcher:
        assert watcher.wait(1)
        for number in range(200):
            (workspace / "memory" / "burst.md").write_text(f"state number {number} of the burst")
        assert until(lambda: any("number 199 of" in row[4] for row in index(mem, notes)))
        assert watcher.syncs < 50


def test_a_change_during_a_sync_is_not_lost(tmp_path: Path) -> None:
    """It is seen by the next one; the sync here is a slow one, made of two events."""
    root = tmp_path / "notes"
    root.mkdir()
    file = root / "a.md"
    begun, go_on = threading.Event(), threading.Event()
    read: list[str] = []

    def slow() -> object:
        read.append(file.read_text() if file.exists() else "")
        if read[-1] == "first":
            begun.set()
            go_on.wait(DEADLINE)
        return None

    with Watcher(lambda: file.exists() and file.stat().st_size, slow, 20) as watcher:  # type: ignore[arg-type]
        assert watcher.wait(1)
        file.write_text("first")
        assert begun.wait(DEADLINE)
        file.write_text("second")
        go_on.set()
        assert until(lambda: read[-1] == "second")


def test_a_sync_that_fails_is_tried_again(tmp_path: Path) -> None:
    """Until it works; what went wrong can be seen meanwhile."""
    from memotherm.errors import StoreBusy

    attempts: list[int] = []

    def fails_twice() -> object:
        attempts.append(1)
        if len(attempts) < 3:
            raise StoreBusy("held by another writer")
        return None

    with Watcher(lambda: 0, fails_twice, 20) as watcher:  # type: ignore[arg-type]
        assert until(lambda: watcher.problem is not None)
        assert watcher.wait(1, DEADLINE)
        assert watcher.problem is None
    assert len(attempts) >= 3


def test_other_files_of_the_workspace_cost_nothing(open_mem: Callable[..., Memotherm], workspace: Path) -> None:
    """Folders that hold no notes are not looked at, and temporary files wake nobody."""
    (workspace / "node_modules" / "x").mkdir(parents=True)
    _, notes = quick(open_mem, workspace)
    with notes.watch() as watcher:
        assert watcher.wait(1)
        (workspace / "memory" / "marker.md").write_text("x")
        assert until(lambda: "memory/marker.md" in notes.paths())
        before = watcher.syncs
        for number in range(50):
            (workspace / "node_modules" / "x" / f"{number}.md").write_text("not a note")
            (workspace / "memory" / f".{number}.swp.md").write_text("an editor's file")
            (workspace / "memory" / f"{number}.tmp").write_text("another one")
        (workspace / "memory" / "end.md").write_text("x")
        assert until(lambda: "memory/end.md" in notes.paths())
        assert watcher.syncs - before <= 5


def test_starting_and_stopping_twice_is_harmless(notes: Notes) -> None:
    """And a stopped watcher leaves no thread behind."""
    watcher = notes.watch()
    watcher.start().start()
    assert watcher.wait(1)
    watcher.stop()
    watcher.stop()

    assert not [thread for thread in threading.enumerate() if thread.name.startswith("memotherm-notes")]


def mcp_server(root: Path, store: Path) -> subprocess.Popen[str]:
    """Start `memotherm mcp` with a folder of notes; it ends when its input does."""
    return subprocess.Popen(
        [sys.executable, "-m", "memotherm", "mcp", "--notes", str(root), "--store", str(store)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": str(SOURCE),
            "MEMOTHERM_EMBEDDER": "none",
            "MEMOTHERM_HOME": str(store.parent),
            "MEMOTHERM_WATCH_DEBOUNCE_MS": "50",
        },
    )


@pytest.mark.slow
@spec("O17")
def test_the_mcp_server_watches_its_notes(workspace: Path, tmp_path: Path) -> None:
    """`memotherm mcp --notes` indexes them when it starts and after each change, without any request."""
    server = mcp_server(workspace, tmp_path / "watched.db")
    try:
        with memotherm.open(tmp_path / "watched.db", embedder="none") as mem:
            notes = mem.notes(workspace)
            assert until(lambda: "MEMORY.md" in notes.paths() or server.poll() is not None)
            (workspace / "memory" / "later.md").write_text("A quokka came later.", "utf-8")
            assert until(lambda: "memory/later.md" in notes.paths() or server.poll() is not None)

            assert {"MEMORY.md", "memory/later.md"} <= set(notes.paths())
    finally:
        server.communicate(timeout=DEADLINE)
    assert server.returncode == 0


@pytest.mark.slow
def test_the_mcp_server_runs_without_the_folder_of_its_notes(tmp_path: Path) -> None:
    """It warns on standard error and offers the other tools."""
    server = mcp_server(tmp_path / "missing", tmp_path / "agent.db")
    _, errors = server.communicate(timeout=DEADLINE)

    assert server.returncode == 0
    assert "the notes are not watched" in errors
    assert "is not a folder" in errors


def test_a_watcher_survives_any_error_and_says_so(tmp_path: Path) -> None:
    """Later changes are still synced, and the problem is gone when one succeeds."""
    syncs: list[int] = []
    looks: list[int] = []

    def sync() -> Sync:
        syncs.append(1)
        if len(syncs) == 1:
            raise KeyError("a fault of ours")
        return Sync()

    def state() -> list[str]:
        looks.append(1)
        if len(looks) == 1:
            raise PermissionError("not for you")
        return [path.name for path in tmp_path.iterdir()]

    with Watcher(state, sync, 10) as watcher:
        assert until(lambda: len(syncs) == 1 and watcher.problem is not None)
        assert watcher.wait(1)
        assert until(lambda: watcher.problem is None)
        done = watcher.syncs
        (tmp_path / "new.md").write_text("a tapir")
        assert until(lambda: watcher.syncs > done)
