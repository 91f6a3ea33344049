"""What is stored on the disk can be read by its owner only."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import memotherm
from memotherm.testing import HashEmbedder
from tests.interfaces.served import environment
from tests.stores import limits

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")


@pytest.fixture(autouse=True)
def permissive_umask() -> Iterator[None]:
    """The usual umask, under which new files can be read by everyone."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, str]:
    """Return the modes of everything in a folder that another user could read."""
    found = {str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*")}
    return {name: oct(mode) for name, mode in found.items() if mode & 0o077}


def run(home: Path, *arguments: str, stdin: str = "") -> None:
    subprocess.run(
        [sys.executable, "-m", "memotherm", *arguments],
        input=stdin, text=True, check=True, timeout=120, env=environment(home), capture_output=True, cwd=home.parent,
    )  # fmt: skip


def test_a_store_its_log_its_checkpoints_and_its_caches_are_private(tmp_path: Path) -> None:
    """While it is open and afterwards, and in a store that was restored."""
    settings = {"store": str(tmp_path / "new" / "deep" / "memory.db")}
    with limits(exact=3), memotherm.open(settings=settings, embedder=HashEmbedder()) as mem:
        mem.remember_many([{"content": f"The otter number {number} swims"} for number in range(40)])
        mem.recall("otter")
        mem.checkpoint(tmp_path / "new" / "checkpoint.db")
        while_open = modes(tmp_path)
        names = {path.name for path in tmp_path.rglob("*")}
    memotherm.restore(tmp_path / "new" / "checkpoint.db", tmp_path / "new" / "restored.db")

    assert {"memory.db", "memory.db-wal", "memory.db-shm", "memory.db-vectors", "checkpoint.db"} <= names
    assert any(name.endswith(".npz") for name in names)
    assert while_open == {}
    assert modes(tmp_path) == {}


@pytest.mark.slow
def test_exports_and_the_spool_are_private(tmp_path: Path) -> None:
    """The data folder is, with everything in it, and a file that `export` writes."""
    home = tmp_path / "data" / "home"
    event = json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": "The otter swims"})
    (tmp_path / "data").mkdir(mode=0o700)
    run(home, "hook", "--no-worker", "--deadline", "60", stdin=event)
    run(home, "agent", "worker", "--once", "--all")
    run(home, "hook", "--no-worker", "--deadline", "60", stdin=event)
    run(home, "export", str(home / "memories.jsonl"))

    assert {path.suffix for path in home.rglob("*")} >= {".db", ".json", ".jsonl"}
    assert modes(tmp_path) == {}


def test_the_mode_of_an_existing_store_is_left_as_it_is(tmp_path: Path) -> None:
    """Who shares a store on purpose keeps sharing it."""
    path = tmp_path / "memory.db"
    memotherm.open(path, embedder="none").close()
    path.chmod(0o660)
    memotherm.open(path, embedder="none").close()

    assert stat.S_IMODE(path.stat().st_mode) == 0o660
