"""The whole cycle with real processes: flush, file, watcher, chunk and embed, search, citation, exact lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.helpers import ROOT, SOURCE
from tests.notes.ids import spec

ENV = {"PYTHONPATH": f"{SOURCE}:{ROOT}", "OPENBLAS_NUM_THREADS": "1", "MEMOTHERM_EMBEDDER": "local"}


@contextmanager
def process(*arguments: object, env: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """Run a program beside the test, and end it with it."""
    running = subprocess.Popen(
        [sys.executable, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    )
    try:
        yield running
    finally:
        running.kill()
        running.communicate()


@pytest.mark.slow
@spec("O26", "O04", "O05", "O07", "O17", "O25")
def test_from_a_full_context_to_a_cited_line(tmp_path: Path) -> None:
    """One process watches, another is the agent that flushes, a third searches and reads."""
    root, store = tmp_path / "workspace", tmp_path / "shared.db"
    (root / "memory").mkdir(parents=True)
    env = {**os.environ, **ENV, "MEMOTHERM_HOME": str(tmp_path)}
    watch = ("-m", "memotherm", "notes", "watch", "--root", root, "--store", store, "--json")
    with process(*watch, env=env) as watcher:
        assert watcher.stdout is not None
        assert json.loads(watcher.stdout.readline())["added"] == []

        agent = subprocess.run(
            [sys.executable, str(ROOT / "tests" / "notes" / "agent.py"), str(store), str(root)],
            env=env, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert agent.returncode == 0, agent.stderr
        told = json.loads(agent.stdout)
        assert told["told"] == [False, False, True, False]
        assert told["file"] in told["prompt"]

        seen: list[str] = []
        while told["file"] not in seen:
            seen += json.loads(watcher.stdout.readline())["added"]

    # The index is searched as the watcher left it: this process does not look at the files first.
    query = ("notes", "search", "when does the release train leave", "--root", root, "--store", store, "--json")
    found = subprocess.run(
        [sys.executable, "-m", "memotherm", *map(str, query)],
        env={**env, "MEMOTHERM_SYNC_ON_SEARCH": "false"}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    answer = json.loads(found.stdout)
    assert answer["degraded"] == []  # the watcher has embedded the chunk with the bundled model
    (hit,) = answer["results"]
    assert hit["citation"] == f"{told['file']}#L1-L4"
    assert "release train leaves on Thursday" in hit["snippet"]

    lines = subprocess.run(
        [sys.executable, "-m", "memotherm", "notes", "get", f"{told['file']}#L3", "--root", str(root),
         "--store", str(store)],
        env=env, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert lines.stdout == "- The release train leaves on Thursday.\n"
