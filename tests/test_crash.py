"""A writer may be killed at any instant: what it acknowledged is there, and nothing is half-written."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import memotherm
from memotherm import Memotherm
from memotherm.testing import HashEmbedder
from tests.crash_writer import OPTIONS, state
from tests.helpers import Peer, peers

KILLS = int(os.environ.get("TORTURE_KILLS", "30"))
#: Kills of a writer that creates a store, or changes its embedder.
RARE_KILLS = max(8, KILLS // 20)


@pytest.fixture(name="forge")
def _forge() -> Iterator[Peer]:
    with peers(1, "crash_writer.py") as (forge,):
        yield forge


class Fate(NamedTuple):
    """When a writer dies: after it has said so many lines, and a moment later."""

    lines: int
    seconds: float


def fates(seed: int, most_lines: int) -> Iterator[Fate]:
    """Yield random moments; progress counts, so that a slow machine kills as well as a fast one."""
    chance = random.Random(seed)
    while True:
        yield Fate(max(0, chance.randint(-most_lines // 4, most_lines)), chance.uniform(0, 0.012))


def killed(forge: Peer, task: str, fate: Fate) -> tuple[list[Any], dict[str, Any] | None]:
    """Let a writer live for a while, kill it, and return what it acknowledged and what it was about to do."""
    forge.send(task)
    kind, pid = forge.line().split(" ", 1)
    assert kind == "B"
    lines = [forge.line() for _ in range(fate.lines)]
    time.sleep(fate.seconds)
    with suppress(ProcessLookupError):  # a writer that failed by itself tells why below
        os.kill(int(pid), signal.SIGKILL)
    while not lines or not lines[-1].startswith("D"):
        lines.append(forge.line())
    acknowledged, intent = [], None
    for line in lines:
        kind, text = line.split(" ", 1)
        assert kind != "E", f"the writer failed by itself: {json.loads(text)}"
        if kind == "I":
            intent = json.loads(text)
        elif kind == "A":
            acknowledged.append(json.loads(text))
            intent = None
    assert lines[-1] == f"D {-signal.SIGKILL}"
    return acknowledged, intent


def everything(mem: Memotherm) -> dict[str, dict[str, Any]]:
    """Return the state of every memory, hidden and purged ones too."""
    found = {}
    for retention in memotherm.Retention:
        cursor = None
        while True:
            page = mem.find(retention=retention, limit=1000, cursor=cursor)
            found.update({memory.id: state(memory) for memory in page})
            cursor = page.cursor
            if cursor is None:
                break
    return found


def merged(known: dict[str, Any], acknowledged: list[list[dict[str, Any]]]) -> None:
    for memories in acknowledged:
        for memory in memories:
            known[memory["id"]] = {**known.get(memory["id"], {}), **memory}


def verify(known: dict[str, Any], found: dict[str, Any], intent: dict[str, Any] | None) -> None:
    """Compare acknowledged states with stored ones; only the interrupted verb may have been done, and then wholly."""
    intent = intent or {}
    for memory_id, told in known.items():
        stored = found.get(memory_id)
        assert stored is not None, f"{memory_id} was acknowledged and is gone"
        expected = [told]
        if memory_id == intent.get("id"):
            expected.append({**told, **intent["expect"]})
        wanted = [{**each, "version": stored["version"]} for each in expected]
        assert stored in wanted, f"{memory_id} was acknowledged as {told} and is {stored} after {intent}"
        # A purge does not return a memory, so its version is not known here.
        assert stored["version"] >= told["version"]
    new = sorted(found[memory_id]["content"] for memory_id in found.keys() - known.keys())
    assert new in ([], sorted(intent.get("contents", []))), "an interrupted write was stored in part"


@pytest.mark.timeout(240 + 3 * KILLS)
def test_a_killed_writer_loses_nothing_it_acknowledged(
    forge: Peer, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """One file survives a writer killed again and again, with every acknowledged write and a clean check."""
    record_property("tries", KILLS)
    path = tmp_path / "agent.db"
    known: dict[str, Any] = {}
    acknowledgements = interruptions = 0

    for kill, fate in zip(range(KILLS), fates(20260301, 12), strict=False):
        acknowledged, intent = killed(forge, f"write {kill} {path}", fate)
        acknowledgements += len(acknowledged)
        interruptions += intent is not None
        merged(known, acknowledged)
        with memotherm.open(path, embedder=HashEmbedder(), settings=OPTIONS) as mem:
            found = everything(mem)

            verify(known, found, intent)
            assert mem.check() == []
        known = found

    assert acknowledgements > KILLS, "the writers hardly wrote: the test shows nothing"
    assert interruptions > KILLS // 10, "hardly a write was interrupted: the test shows nothing"


def test_a_kill_while_a_store_is_created_leaves_one_that_opens(
    forge: Peer, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """A file whose creation was interrupted becomes a good store at the next opening."""
    record_property("tries", RARE_KILLS)
    for attempt, fate in zip(range(RARE_KILLS), fates(7, 1), strict=False):
        path = tmp_path / f"{attempt}.db"
        acknowledged, intent = killed(forge, f"write {attempt} {path}", fate)
        with memotherm.open(path, embedder=HashEmbedder(), settings=OPTIONS) as mem:
            known: dict[str, Any] = {}
            merged(known, acknowledged)

            verify(known, everything(mem), intent)
            assert mem.check() == []


@pytest.mark.slow
def test_a_kill_during_reembed_leaves_vectors_that_serve(
    forge: Peer, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Whenever a change of embedder is interrupted, nothing is mixed, and another run completes it."""
    record_property("tries", RARE_KILLS)
    path = tmp_path / "agent.db"
    with memotherm.open(path, embedder=HashEmbedder(name="words-0")) as mem:
        mem.remember_many([{"content": f"fact number {number} of the archive"} for number in range(300)])

    for attempt, fate in zip(range(RARE_KILLS), fates(11, 2), strict=False):
        killed(forge, f"reembed {attempt} {path}", fate)
        with memotherm.open(path, embedder=HashEmbedder(name="words-0")) as mem:
            assert mem.check() == []
            assert len(mem.find(limit=1000)) == 300

    with memotherm.open(path, embedder=HashEmbedder(name="words-0")) as mem:
        mem.store.reembed()
        assert mem.check() == []
        assert mem.status().pending_vectors == 0
        assert mem.recall("fact number 17 of the archive").degraded == ()
