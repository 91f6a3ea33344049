"""Replays of a long past: the time and the memory that three policies take over a season.

Memories are stored through the facade, a day's at a time. The entries of the recall log are written as the store
writes them, without the searches that they stand for, which a replay repeats anyway.
"""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import memotherm
from bench.report import Row
from bench.speed import Options
from bench.stores import Lab
from bench.synthetic import texts
from memotherm import Settings, Tier
from memotherm.model.clock import new_id
from memotherm.storage.open import open_store
from memotherm.storage.values import RecallEntry, Use
from memotherm.testing import FakeClock

__all__ = ["measure"]

_POLICIES = ("builtin", "coding-agent", "research")
_KINDS = ("fact", "decision", "preference", "message")
_DAYS = 90
_QUERY_WORDS = 6
_SPACE = 1
_SETTINGS = Settings(log_days=3650)
_MEGABYTE_KB = 1024


def measure(lab: Lab, options: Options) -> list[Row]:
    """Return the rows of this suite."""
    memories, recalls = (2_000, 400) if options.quick else (10_000, 1_800)
    path, clock = lab.folder / f"replay{memories}.db", FakeClock()
    if not path.exists():
        _live(lab, path, clock, memories, recalls)
    clock.now = FakeClock().now + timedelta(days=_DAYS + 1)
    with memotherm.open(path, embedder=lab.embedder, settings=_SETTINGS, clock=clock) as mem:
        started, began = time.process_time(), time.perf_counter()
        found = mem.policies.replay(_POLICIES)
        seconds, elapsed = time.process_time() - started, time.perf_counter() - began
    notes = {
        "memories": memories,
        "recalls": found.questions,
        "policies": len(_POLICIES),
        "demanded": found.demanded,
        "elapsed_seconds": round(elapsed, 1),
    }
    what = f"replay of {_DAYS} days with {memories:,} memories and {recalls:,} recalls under three policies"
    return [
        Row(key="replay/cpu", what=f"{what}: CPU time", value=round(seconds, 1), unit="s", target=30, notes=notes),
        Row(key="replay/memory", what=f"{what}: peak memory", value=round(_peak()), unit="MB", target=500),
    ]


def _live(lab: Lab, path: Path, clock: FakeClock, memories: int, recalls: int) -> None:
    """Fill a store with a season."""
    source, contents = random.Random(3), list(texts(memories, 11))
    with memotherm.open(path, embedder=lab.embedder, settings=_SETTINGS, clock=clock) as mem:
        log = open_store(str(path), _SETTINGS)
        try:
            for day in range(_DAYS):
                first, last = memories * day // _DAYS, memories * (day + 1) // _DAYS
                drafts = [{"content": contents[no], "kind": _KINDS[no % 4]} for no in range(first, last)]
                mem.remember_many(drafts)
                asked = recalls * (day + 1) // _DAYS - recalls * day // _DAYS
                for entry in _entries(source, contents[:last], clock() + timedelta(hours=1), asked, day):
                    log.log_recall(entry, keep=True)
                clock.advance(days=1)
        finally:
            log.close()


def _entries(
    source: random.Random, contents: Sequence[str], at: datetime, asked: int, day: int
) -> Iterator[RecallEntry]:
    """Yield the log of a day: questions, most of them for what is new, maintenance, and once a week compaction."""
    for number in range(asked):
        wanted = int((len(contents) - 1) * (1 - source.random() ** 2 * source.choice((0.1, 1))))
        words = contents[wanted].split()
        moment = at + timedelta(seconds=20 * number)
        yield RecallEntry(
            id=new_id("rec", moment),
            at=moment,
            space=_SPACE,
            query=" ".join(source.sample(words, min(_QUERY_WORDS, len(words)))),
            tiers=tuple(Tier),
            micros=1,
            candidates=(),
            returned=[wanted + 1],
            uses=[Use(wanted + 1, 1.0)],
            options={"used": True},
        )
    for number, run in enumerate(("maintain", "compact") if day % 7 == 6 else ("maintain",)):
        yield RecallEntry(
            at=at + timedelta(hours=12, minutes=number),
            space=_SPACE,
            query="",
            tiers=(),
            micros=0,
            candidates=(),
            returned=(),
            options={"run": run, "scope": {}, "open": []},
        )


def _peak() -> float:
    """Return the largest memory that this process has had, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MEGABYTE_KB
