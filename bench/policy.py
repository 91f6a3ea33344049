"""Policies: those of the package on a simulated year and on public conversations, against an oracle.

The year is the one of the suite `tiers`. A conversation of LoCoMo is stored turn by turn at its own times, and each
question is asked some weeks after the last turn that answers it; rules run as an agent would let them run.
"""

from __future__ import annotations

import gzip
import json
import os
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import memotherm
from bench.report import Row
from bench.speed import Options
from bench.stores import Lab
from bench.tiers import lived_days
from memotherm import Memory, Memotherm, Tier
from memotherm.policy.replay import Replay
from memotherm.testing import FakeClock, HashEmbedder

__all__ = ["measure"]

_POLICIES = ("builtin", "coding-agent", "research")
_SETTINGS = {"recall_log_days": 3650}
_CONVERSATIONS = 1
#: The most days between the last turn that answers a question and the question.
_LATEST = 120
_UNANSWERABLE = 5


def measure(lab: Lab, options: Options) -> list[Row]:
    """Return the rows of this suite."""
    rows = list(_rows("year", _year(60 if options.quick else 365)))
    folder = os.environ.get("MEMOTHERM_DATA")
    data = Path(folder, "locomo") if folder else None
    if data is None or not data.exists():
        lab.progress.console.print("policy: no conversations; pass --data DIR or set MEMOTHERM_DATA")
        return rows
    return [*rows, *_rows("locomo", _conversations(data, 1 if options.quick else _CONVERSATIONS))]


def _rows(name: str, found: Replay) -> Iterator[Row]:
    """Yield a row for each policy: its regret, with the whole line of the report."""
    lines = {row.name: row for row in found.rows}
    for policy in _POLICIES:
        line, oracle, lru = lines[policy], lines[f"oracle@{policy}"], lines[f"lru@{policy}"]
        causes = [cause for cause in found.causes if cause.policy == policy]
        yield Row(
            key=f"{name}/{policy}",
            what=f"{name}, {policy}: regret against the oracle of the same size (LRU: the target)",
            value=round(line.regret or 0.0, 4),
            unit="",
            target=round(lru.regret or 0.0, 4),
            notes={
                "live_hits": round(line.live_hits, 4),
                "interval": [round(line.interval.low, 4), round(line.interval.high, 4)],
                "oracle": round(oracle.live_hits, 4),
                "lru": round(lru.live_hits, 4),
                "hot_hits": round(line.hot_hits or 0.0, 4),
                "tokens_per_turn": round(line.tokens_per_turn or 0.0, 1),
                "live_mean": round(line.live_mean),
                "live_max": line.live_max,
                "stored_mean": round(lines["everything"].live_mean),
                "moves": line.moves,
                "flaps": line.flaps,
                "cold_asked": line.cold_asked,
                "demanded": found.demanded,
                "questions": found.questions,
                "recorded": round(lines["recorded"].live_hits, 4),
                "causes": [f"{cause.rule}: {cause.times}" for cause in causes],
            },
        )


def _year(days: int, per_day: int = 8) -> Replay:
    """Return the replay of a year of an agent that asks all tiers."""
    clock = FakeClock()
    with memotherm.open(":memory:", embedder=HashEmbedder(), settings=_SETTINGS, clock=clock) as mem:

        def ask(known: Sequence[Memory], index: int) -> None:
            words = known[index].content.split()
            mem.recall(" ".join(words[1:3] + words[5:6]), limit=3, tiers=tuple(Tier))
            clock.advance(minutes=1)

        for _ in lived_days(mem, clock, ask, days, per_day):
            pass
        return mem.replay(_POLICIES, limit=3)


def _conversations(folder: Path, count: int) -> Replay:
    """Return the replay of some conversations, one after the other in a store of their own."""
    docs, queries = (_lines(folder / f"{name}.jsonl.gz") for name in ("docs", "queries"))
    scopes = sorted({doc["scope"] for doc in docs})[:count]
    clock = FakeClock()
    with memotherm.open(":memory:", settings=_SETTINGS, clock=clock) as mem:
        _talk(mem, clock, *([each for each in lines if each["scope"] in scopes] for lines in (docs, queries)))
        return mem.replay(_POLICIES, limit=5)


def _talk(mem: Memotherm, clock: FakeClock, docs: list[dict[str, Any]], queries: list[dict[str, Any]]) -> None:
    """Store turns and ask questions at their times; rules run once a day, compaction once a week."""
    source = random.Random(7)
    said = {(doc["scope"], doc["tid"]): _moment(doc["ts"]) for doc in docs}
    steps: list[tuple[datetime, int, dict[str, Any]]] = [
        (_moment(doc["ts"]), number, doc) for number, doc in enumerate(docs)
    ]
    for number, query in enumerate(queries):
        gold = [said[key] for turn in query.get("gold_turns", ()) if (key := (query["scope"], turn)) in said]
        if gold and query["cat"] != _UNANSWERABLE:
            asked = max(gold) + timedelta(days=source.uniform(1, _LATEST))
            steps.append((asked, len(docs) + number, query))
    steps.sort(key=lambda each: each[:2])
    clock.now = ran = steps[0][0]
    for at, _, step in steps:
        while ran + timedelta(days=1) < at:
            ran += timedelta(days=1)
            clock.advance(seconds=max(0.0, (ran - clock()).total_seconds()))
            mem.maintain()
            if ran.toordinal() % 7 == 0:
                mem.compact()
        clock.advance(seconds=max(1.0, (at - clock()).total_seconds()))
        view = mem.scoped(project=step["scope"])
        if "question" in step:
            view.recall(step["question"], limit=5, tiers=tuple(Tier))
        else:
            content = f"{step['text']} {step.get('caption') or ''}".strip()
            view.remember(content, kind="message", metadata={"speaker": step["speaker"]})


def _lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
