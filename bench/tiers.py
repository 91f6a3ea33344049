"""Tiers: a simulated year, access traces of real caches, and the cost of compaction and maintenance.

The question for the first two is the same: what share of later recalls is served from hot and warm,
and how many memories does that keep live? Two controls answer the same recalls: everything live, and
the newest N, where N is what the tiers kept live at that moment. Traces add an LRU cache of that size.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import statistics
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import memotherm
from bench.report import Row
from bench.speed import Options
from bench.stores import Lab
from bench.synthetic import SyntheticEmbedder, queries, texts
from memotherm import Memory, Memotherm, Settings, Tier
from memotherm.testing import FakeClock, HashEmbedder

__all__ = ["lived_days", "measure", "year"]

#: Days until hot and warm cool: the defaults, and a store that is kept small.
CLOCKS: dict[str, dict[str, Any]] = {"default": {}, "quick": {"cool_hot_days": 7, "cool_warm_days": 45}}
_DAYS = 365
_WORDS = (
    "otter", "pond", "release", "budget", "schema", "invoice", "sensor", "garden", "lecture", "voyage", "recipe",
    "museum", "harbour", "engine",
)  # fmt: skip
_EPOCH = FakeClock().now


def measure(lab: Lab, options: Options) -> list[Row]:
    """Return the rows of this suite."""
    rows: list[Row] = []
    for name, days in CLOCKS.items():
        rows += _year_rows(name, days, quick=options.quick)
    rows += _trace_rows(lab, quick=options.quick)
    rows += _upkeep_rows(lab, 10_000 if options.quick else 100_000)
    return rows


# A simulated year


@dataclass
class Year:
    """The recalls of a year by what could have served them, and the number of live memories."""

    recalls: int = 0
    tiers: int = 0
    everything: int = 0
    newest: int = 0
    live: list[int] = field(default_factory=list)
    stored: list[int] = field(default_factory=list)
    #: (week, hot, warm, cold) at the end of every fourth week.
    chart: list[tuple[int, ...]] = field(default_factory=list)


def year(settings: Settings, days: int = _DAYS, per_day: int = 8) -> Year:
    """Simulate a year of an agent that works on projects and recalls what it stored."""
    clock = FakeClock()
    found = Year()
    with memotherm.open(":memory:", embedder=HashEmbedder(), settings=settings, clock=clock) as mem:
        for day in lived_days(mem, clock, lambda known, index: _asked(mem, known, index, found), days, per_day):
            if day % 28 == 27:
                tiers = mem.status().tiers
                found.chart.append((day // 7 + 1, *(tiers[tier].memories for tier in Tier)))
    return found


def lived_days(
    mem: Memotherm,
    clock: FakeClock,
    ask: Callable[[Sequence[Memory], int], None],
    days: int,
    per_day: int = 8,
    seed: int = 7,
) -> Iterator[int]:
    """Let days of an agent happen that works on projects; yield each day when it is over.

    Args:
        mem: The memory.
        clock: Its clock.
        ask: Asks for one of the memories that are known, by its index.
        days: How many days.
        per_day: How many memories a day has, and from the second week on questions.
        seed: What memories and questions are drawn with.
    """
    random_ = random.Random(seed)
    known: list[Memory] = []
    projects: list[list[int]] = [[]]
    for day in range(days):
        end = clock() + timedelta(days=1)
        if day % 30 == 29:
            projects.append([])
        for _ in range(per_day):
            projects[-1].append(len(known))
            known.append(_lived(mem, random_, len(known), len(projects)))
            clock.advance(minutes=60)
        for _ in range(per_day if day > 7 else 0):
            ask(known, _wanted(random_, known, projects))
        clock.advance(seconds=(end - clock()).total_seconds())
        mem.maintain()
        if day % 7 == 6:
            mem.compact()
        yield day


def _lived(mem: Memotherm, random_: random.Random, number: int, project: int) -> Memory:
    """Store a memory of the day: a code makes it unique, a project makes it similar to others."""
    words = " ".join(random_.sample(_WORDS, 4))
    kind = random_.choices(["fact", "message", "decision", "preference", "entity"], [50, 25, 10, 5, 10])[0]
    tags = random_.choices([[], ["task"], ["blocker"]], [90, 8, 2])[0]
    content = f"project{project} {words} code{number} detail{number % 97}"
    memory = mem.remember(content, kind=kind, tags=tags, tier="hot" if kind == "preference" else None)
    if tags == ["blocker"] and random_.random() < 0.9:
        return mem.update(memory.id, metadata={"status": "resolved"})
    return memory


def _wanted(random_: random.Random, known: Sequence[Memory], projects: Sequence[Sequence[int]]) -> int:
    """Return the memory to recall: mostly of the current project, some frequently used ones, some at random."""
    kind = random_.random()
    if kind < 0.6 and projects[-1]:
        return random_.choice(projects[-1])
    if kind < 0.85:
        return min(len(known) - 1, int(random_.paretovariate(0.6)) * 7)
    return random_.randrange(len(known))


def _asked(mem: Memotherm, known: Sequence[Memory], wanted: int, found: Year) -> None:
    memory = known[wanted]
    words = memory.content.split()
    query = " ".join(words[1:3] + words[5:6])
    tiers = mem.status().tiers
    live = tiers[Tier.HOT].memories + tiers[Tier.WARM].memories
    everywhere = any(hit.memory.id == memory.id for hit in mem.recall(query, tiers=tuple(Tier), track=False))
    served = any(hit.memory.id == memory.id for hit in mem.recall(query))
    if not served:
        mem.recall(query, tiers=("cold",))
    found.recalls += 1
    found.everything += everywhere
    found.tiers += served
    found.newest += everywhere and wanted >= len(known) - live
    found.live.append(live)
    found.stored.append(len(known))


def _year_rows(name: str, days: dict[str, Any], *, quick: bool) -> Iterator[Row]:
    found = year(Settings(**days), days=120 if quick else _DAYS)
    share = {key: round(getattr(found, key) / found.recalls, 4) for key in ("tiers", "everything", "newest")}
    live, stored = round(statistics.mean(found.live)), round(statistics.mean(found.stored))
    yield Row(
        key=f"year/{name}",
        what=f"year, {name} clocks: recalls served from hot + warm ({live:,} of {stored:,} live)",
        value=share["tiers"],
        unit="",
        target=share["newest"],
        rising=True,
        notes={
            **share,
            "recalls": found.recalls,
            "mean_live": live,
            "mean_stored": stored,
            "last_live": found.live[-1],
            "chart": found.chart,
        },
    )


# Traces


@dataclass
class Replay:
    """A trace of keys, replayed as if each key were a memory."""

    settings: Settings
    per_day: int
    hits: int = 0
    asked: int = 0
    sizes: list[int] = field(default_factory=list)

    def run(self, keys: Sequence[int]) -> None:
        """Access every key in order; a day of maintenance passes every `per_day` accesses."""
        clock, ids = FakeClock(), dict[int, str]()
        with memotherm.open(":memory:", embedder="none", settings=self.settings, clock=clock) as mem:
            for number, key in enumerate(keys):
                clock.now = _EPOCH + timedelta(days=number / self.per_day)
                if number % self.per_day == 0:
                    mem.maintain()
                    tiers = mem.status().tiers
                    self.sizes.append(tiers[Tier.HOT].memories + tiers[Tier.WARM].memories)
                if key in ids:
                    self.asked += 1
                    tier = mem.get(ids[key]).tier
                    self.hits += tier is not Tier.COLD
                    if tier is Tier.COLD:
                        mem.move(ids[key], "hot", why="asked for")
                else:
                    ids[key] = mem.remember(f"key {key}", kind="fact").id


def _lru(keys: Sequence[int], size: int) -> float:
    kept: OrderedDict[int, None] = OrderedDict()
    seen: set[int] = set()
    hits = asked = 0
    for key in keys:
        asked += key in seen
        hits += key in kept
        seen.add(key)
        kept[key] = None
        kept.move_to_end(key)
        if len(kept) > size:
            kept.popitem(last=False)
    return hits / asked if asked else 0.0


def _newest(keys: Sequence[int], size: int) -> float:
    born: dict[int, int] = {}
    hits = asked = 0
    for key in keys:
        if key in born:
            asked += 1
            hits += born[key] >= len(born) - size
        else:
            born[key] = len(born)
    return hits / asked if asked else 0.0


def _trace_rows(lab: Lab, *, quick: bool) -> Iterator[Row]:
    folder = os.environ.get("MEMOTHERM_DATA")
    traces = sorted(Path(folder, "traces").glob("*.txt.gz")) if folder else []
    if not traces:
        lab.progress.console.print("tiers: no traces; pass --data DIR or set MEMOTHERM_DATA")
    for path in traces:
        with gzip.open(path, "rt") as lines:
            keys = [int(line) for line in lines][: 20_000 if quick else None]
        for name, days in CLOCKS.items():
            replay = Replay(Settings(**days), per_day=max(1, len(keys) // _DAYS))
            replay.run(keys)
            size = round(statistics.mean(replay.sizes))
            lru, newest = _lru(keys, size), _newest(keys, size)
            trace = path.name.removesuffix(".txt.gz")
            yield Row(
                key=f"trace/{trace}/{name}",
                what=f"trace {trace}, {name} clocks: accesses served live ({size:,} of {len(set(keys)):,} keys)",
                value=round(replay.hits / replay.asked, 4),
                unit="",
                target=round(newest, 4),
                rising=True,
                notes={"lru": round(lru, 4), "newest": round(newest, 4), "mean_live": size, "accesses": len(keys)},
            )


# The cost of compaction and maintenance


def _upkeep_rows(lab: Lab, count: int) -> Iterator[Row]:
    """Measure the runs while another process recalls.

    Recalls share the cores with the run, so `alone` says too little: `beside_work` has a process that
    only computes in the run's place, for as long. What maintenance itself costs a recall is the ratio
    of `meanwhile` to that.
    """
    path = lab.folder / f"upkeep{count}.db"
    now = _built(lab, path, count)
    for name, verb, days in (
        ("compact", "compact", 0.0),
        ("maintain, first time", "maintain", 0.0),
        ("maintain, next day", "maintain", 1.0),
    ):
        done: dict[str, Any] = {}
        alone = _recalling(path, now, lambda: time.sleep(8))
        meanwhile = _recalling(path, now, lambda: done.update(_worked(path, verb, now + timedelta(days=days))))  # noqa: B023
        beside = _recalling(path, now, lambda: _worked(path, f"compute {done['wall_s']}", now))  # noqa: B023
        yield Row(
            key=f"upkeep/{name.replace(', ', '-').replace(' ', '-')}",
            what=f"{name}, {count:,} memories ({done['moves']:,} moves)",
            value=round(done["cpu_s"], 2),
            unit="s CPU",
            target=10,
            notes={
                **done,
                "recall_ms": {"alone": alone, "meanwhile": meanwhile, "beside_work": beside},
                "recall_wall_ratio_to_alone": round(meanwhile["wall_p50"] / alone["wall_p50"], 2),
                "recall_wall_ratio_to_work": round(meanwhile["wall_p50"] / beside["wall_p50"], 2),
                "recall_cpu_ratio_to_alone": round(meanwhile["cpu_p50"] / alone["cpu_p50"], 2),
                "load": [round(each, 1) for each in os.getloadavg()],
                "at": datetime.now(UTC).isoformat(timespec="seconds"),
            },
        )


def _built(lab: Lab, path: Path, count: int) -> datetime:
    """Build a store that grew for a year, and return the time after it."""
    clock = FakeClock()
    now = clock.now + timedelta(days=_DAYS)
    if path.exists():
        return now
    task = lab.progress.add_task(f"building {path.stem}", total=count)
    kinds = ["fact"] * 6 + ["decision", "preference", "message", "entity"]
    batch_size = 2500
    with memotherm.open(path, embedder=SyntheticEmbedder(), settings=Settings(), clock=clock) as mem:
        batch: list[dict[str, Any]] = []
        for number, text in enumerate(texts(count, 1)):
            tier = "hot" if number % 50 == 0 else "cold" if number % 3 == 0 else "warm"
            tags = ["blocker"] if number % 500 == 1 else ["task"] if number % 25 == 2 else []
            batch.append({"content": text, "kind": kinds[number % 10], "tier": tier, "tags": tags})
            if len(batch) == batch_size or number == count - 1:
                mem.remember_many(batch)
                lab.progress.advance(task, len(batch))
                clock.advance(days=_DAYS * len(batch) / count)
                batch = []
    lab.progress.remove_task(task)
    return now


def _worked(path: Path, verb: str, now: datetime) -> dict[str, Any]:
    told = subprocess.run(_command("work", path, now, verb), capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(told.stdout)
    return found


def _recalling(path: Path, now: datetime, meanwhile: Callable[[], object]) -> dict[str, float]:
    """Run recalls continuously in another process during a call; return their times."""
    process = subprocess.Popen(
        _command("recall", path, now, ""), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    meanwhile()
    out, _ = process.communicate("stop\n")
    found: dict[str, float] = json.loads(out)
    return found


def _command(mode: str, path: Path, now: datetime, verb: str) -> list[str]:
    return [sys.executable, "-m", "bench.tiers", mode, str(path), now.isoformat(), verb]


def _as_worker(mode: str, path: str, now: str, verb: str) -> None:
    clock = FakeClock(datetime.fromisoformat(now))
    with memotherm.open(path, embedder=SyntheticEmbedder(), settings=Settings(), clock=clock) as mem:
        told = _work(mem, verb) if mode == "work" else _recall_until_told(mem)
    print(json.dumps(told))


def _work(mem: Memotherm, verb: str) -> dict[str, Any]:
    before = _peak_mb()
    wall, cpu = time.perf_counter(), time.process_time()
    if verb.startswith("compute"):
        moves = _computed(float(verb.split()[1]))
    else:
        moves = len(mem.compact().moves if verb == "compact" else mem.maintain().moves)
    return {
        "moves": moves,
        "wall_s": round(time.perf_counter() - wall, 2),
        "cpu_s": round(time.process_time() - cpu, 2),
        "peak_mb_before": before,
        "peak_mb": _peak_mb(),
    }


def _computed(seconds: float) -> int:
    """Keep a core busy without touching the store."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        sum(range(10_000))
    return 0


def _peak_mb() -> float | None:
    """Return the peak memory of this process; `getrusage` would include that of its parent."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return round(int(line.split()[1]) / 1024, 1)


def _recall_until_told(mem: Memotherm) -> dict[str, float]:
    told = threading.Event()

    def listen() -> None:
        sys.stdin.readline()
        told.set()

    threading.Thread(target=listen, daemon=True).start()
    asked = queries(200, seed=11)
    for query in asked[:20]:
        mem.recall(query, track=False)
    print("ready", flush=True)
    wall: list[float] = []
    cpu: list[float] = []
    number = 0
    while not told.is_set():
        started, used = time.perf_counter(), time.process_time()
        mem.recall(asked[number % len(asked)])
        wall.append((time.perf_counter() - started) * 1000)
        cpu.append((time.process_time() - used) * 1000)
        number += 1
        time.sleep(0.01)
    return {
        "recalls": number,
        "wall_p50": round(statistics.median(wall), 2),
        "wall_p95": round(sorted(wall)[int(0.95 * (len(wall) - 1))], 2),
        "cpu_p50": round(statistics.median(cpu), 2),
    }


if __name__ == "__main__":
    _as_worker(*sys.argv[1:5])
