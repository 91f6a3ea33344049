"""Policies: those of the package on a simulated year and on public conversations.

The year is the one of the suite `tiers`. A conversation of LoCoMo is stored turn by turn at its own times, and each
question is asked some weeks after the last turn that answers it; rules run as an agent would let them run.

Strengths of use are weighed on the same histories of an agent that also has a context every day, opens half of what it
asked for, confirms a quarter, and repeats a quarter in its answer. A short conversation loses nothing to the default
windows, so there hot cools after 7 days and warm after 45.
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
from bench.policy_search import DEFAULT, grid, search_rows
from bench.report import Row
from bench.speed import Options
from bench.stores import Lab
from bench.tiers import lived_days
from memotherm import Memory, Memotherm, Tier
from memotherm.testing import FakeClock, HashEmbedder
from memotherm.tiers.policies import PolicySource
from memotherm.tiers.replay import Replay

__all__ = ["measure"]

_POLICIES = (DEFAULT, "coding-agent", "research")
_SETTINGS = {"log_days": 3650}
#: The seeds of the year on which a policy is chosen, and of the one on which it is judged.
_CHOSEN_ON, _JUDGED_ON = 7, 11
#: The most days between the last turn that answers a question and the question.
_LATEST = 120
_UNANSWERABLE = 5


def measure(lab: Lab, options: Options) -> list[Row]:
    """Return the rows of this suite."""
    days = 60 if options.quick else 365
    year = _year(days, [*_POLICIES, *grid()], seed=_CHOSEN_ON)
    rows = [*_rows("year", year)]
    judged = {"judged on": _year(days, [DEFAULT, *grid()], seed=_JUDGED_ON)}
    folder = os.environ.get("MEMOTHERM_DATA")
    data = Path(folder, "locomo") if folder else None
    if data is not None and data.exists():
        judged["locomo"] = _conversation(data, [*_POLICIES, *grid()])
        rows += _rows("locomo", judged["locomo"])
    else:
        lab.progress.console.print("policy: no conversations; pass --data DIR or set MEMOTHERM_DATA")
    return [*rows, *search_rows(year, judged)]


def _rows(name: str, found: Replay) -> Iterator[Row]:
    """Yield a row for each policy: its live hits, with the whole line of the report."""
    lines = {row.name: row for row in found.rows}
    for policy in _POLICIES:
        line = lines[policy]
        causes = [cause for cause in found.causes if cause.policy == policy]
        yield Row(
            key=f"{name}/{policy}",
            what=f"{name}, {policy}: live hits",
            value=round(line.live_hits, 4),
            unit="",
            target=round(lines["recorded"].live_hits, 4),
            rising=True,
            notes={
                "interval": [round(line.interval.low, 4), round(line.interval.high, 4)],
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


def _year(days: int, policies: Sequence[PolicySource], per_day: int = 8, seed: int = _CHOSEN_ON) -> Replay:
    """Return the replay of a year of an agent that asks all tiers."""
    clock = FakeClock()
    with memotherm.open(":memory:", embedder=HashEmbedder(), settings=_SETTINGS, clock=clock) as mem:

        def ask(known: Sequence[Memory], index: int) -> None:
            words = known[index].content.split()
            mem.recall(" ".join(words[1:3] + words[5:6]), limit=3, tiers=tuple(Tier))
            clock.advance(minutes=1)

        for _ in lived_days(mem, clock, ask, days, per_day, seed):
            pass
        return mem.policies.replay(policies, limit=3)


def _conversation(folder: Path, policies: Sequence[PolicySource]) -> Replay:
    """Return the replay of the first conversation."""
    docs, queries = (_lines(folder / f"{name}.jsonl.gz") for name in ("docs", "queries"))
    first = min(doc["scope"] for doc in docs)
    clock = FakeClock()
    with memotherm.open(":memory:", settings=_SETTINGS, clock=clock) as mem:
        own = ([each for each in lines if each["scope"] == first] for lines in (docs, queries))
        _talk(mem, clock, *own)
        return mem.policies.replay(policies, limit=5)


def _talk(mem: Memotherm, clock: FakeClock, docs: list[dict[str, Any]], queries: list[dict[str, Any]]) -> None:
    """Store turns and ask questions at their times; rules run once a day, compaction once a week."""
    source = random.Random(7)
    said = {doc["tid"]: _moment(doc["ts"]) for doc in docs}
    steps: list[tuple[datetime, int, dict[str, Any]]] = [
        (_moment(doc["ts"]), number, doc) for number, doc in enumerate(docs)
    ]
    for number, query in enumerate(queries):
        gold = [said[turn] for turn in query.get("gold_turns", ()) if turn in said]
        if gold and query["cat"] != _UNANSWERABLE:
            asked = max(gold) + timedelta(days=source.uniform(1, _LATEST))
            steps.append((asked, len(docs) + number, query))
    steps.sort(key=lambda each: each[:2])
    clock.now = ran = steps[0][0]
    for at, _, step in steps:
        view = mem.scoped(project=step["scope"])
        while ran + timedelta(days=1) < at:
            ran += timedelta(days=1)
            clock.advance(seconds=max(0.0, (ran - clock()).total_seconds()))
            mem.maintain()
            if ran.toordinal() % 7 == 0:
                mem.compact()
        clock.advance(seconds=max(1.0, (at - clock()).total_seconds()))
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
