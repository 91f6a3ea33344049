"""Faults that happen again and again: stopped processes, cut connections and clocks that jump."""

from __future__ import annotations

import json
import os
import random
import signal
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

import memotherm
from memotherm import Memory, Memotherm, StoreBusy
from memotherm.testing import FakeClock, HashEmbedder
from tests.crash_writer import OPTIONS, state
from tests.helpers import Peer, peers
from tests.postgres import admin_of, database
from tests.test_crash import RARE_KILLS, everything, merged, verify


def stopped_and_killed(forge: Peer, task: str, lines: int, mem: Memotherm) -> tuple[list[Any], Any]:
    """Stop a writer, write beside it, let it go on, and kill it; return all acknowledgements and its last intent."""
    forge.send(task)
    writer = int(forge.line().removeprefix("B "))
    told = [forge.line() for _ in range(lines)]
    os.kill(writer, signal.SIGSTOP)
    acknowledged = [[state(memory)] for memory in remembered_unless_busy(mem, f"beside a stopped writer: {task}")]
    os.kill(writer, signal.SIGCONT)
    told += [forge.line() for _ in range(6)]
    os.kill(writer, signal.SIGKILL)
    while not told[-1].startswith("D"):
        told.append(forge.line())
    intent = None
    for kind, text in (line.split(" ", 1) for line in told[:-1]):
        assert kind != "E", text
        if kind == "A":
            acknowledged.append(json.loads(text))
        intent = json.loads(text) if kind == "I" else None
    return acknowledged, intent


def remembered_unless_busy(mem: Memotherm, content: str) -> list[Memory]:
    """Store a memory; return none if the stopped writer holds the store."""
    try:
        return [mem.remember(content)]
    except StoreBusy:
        return []


@pytest.mark.slow
def test_a_stopped_writer_loses_nothing_and_goes_on(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """While a process is stopped in the middle of its work, another one writes, or is told that the store is busy."""
    record_property("tries", RARE_KILLS)
    path, chance = tmp_path / "agent.db", random.Random(20260302)
    known: dict[str, Any] = {}
    settings = {**OPTIONS, "busy_timeout_ms": 50}
    with peers(1, "crash_writer.py") as (forge,):
        for attempt in range(RARE_KILLS):
            with memotherm.open(path, embedder=HashEmbedder(), settings=settings) as mem:
                task = f"write {attempt} {path}"
                acknowledged, intent = stopped_and_killed(forge, task, chance.randint(0, 9), mem)
                merged(known, acknowledged)
                found = everything(mem)

                verify(known, found, intent)
                assert mem.check() == []
            known = found


@pytest.mark.postgres
def test_cut_connections_lose_nothing_that_was_acknowledged(
    postgres: str, record_property: Callable[[str, object], None]
) -> None:
    """Connections are cut after random writes; each write is stored, or fails with an error of ours."""
    record_property("tries", RARE_KILLS)
    chance, acknowledged = random.Random(20260303), dict[str, str]()
    with database(postgres) as url, memotherm.open(url, embedder="none") as mem:
        with psycopg.connect(admin_of(url, postgres), autocommit=True) as admin:
            for attempt in range(RARE_KILLS):
                for number in range(chance.randint(0, 3)):
                    content = f"fact {attempt} number {number}"
                    acknowledged[mem.remember(content).id] = content
                admin.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND application_name = 'memotherm'"
                )
        stored = {memory.id: memory.content for memory in mem.find(limit=1000)}

        assert stored == acknowledged
        assert mem.check() == []


def test_a_clock_that_jumps_removes_nothing(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """Back and forth by up to 13 months, with maintenance in between: every memory stays, and the check is clean."""
    record_property("tries", 2 * RARE_KILLS)
    chance, clock, ids = random.Random(20260304), FakeClock(), set[str]()
    start = clock()
    with memotherm.open(tmp_path / "agent.db", embedder=HashEmbedder(), clock=clock) as mem:
        for attempt in range(2 * RARE_KILLS):
            clock.now = start + timedelta(days=chance.uniform(-400, 400))
            ids.add(mem.remember(f"fact number {attempt} of a jumping clock").id)
            mem.recall("jumping clock")
            mem.compact()
            mem.maintain()

        assert {memory.id for memory in mem.find(limit=1000)} == ids
        assert mem.check() == []
