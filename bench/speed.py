"""Speed and size, one function per row.

Times are CPU times of single calls, or ratios against a control in the same run, so that they are valid on
a machine that is busy.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

import memotherm
from bench.report import Row
from bench.stores import Lab, Opened
from bench.synthetic import queries, texts
from bench.timing import Times, cpu_ms, side_by_side
from memotherm import Settings, Tier
from memotherm.embed.local import LocalEmbedder

__all__ = ["ROWS", "Options", "measure"]


@dataclass(frozen=True, kw_only=True)
class Options:
    """How much to measure."""

    quick: bool = False
    cold: int = 1_000_000
    only: str | None = None

    @property
    def live(self) -> int:
        """The number of memories in the small store."""
        return 2000 if self.quick else 10_000

    @property
    def large(self) -> int:
        """The number of memories in the large store."""
        return 25_000 if self.quick else 100_000

    @cached_property
    def questions(self) -> list[str]:
        """The queries; fewer than the cached query vectors, so that none is embedded twice."""
        return queries(60 if self.quick else 200, seed=11)


def measure(lab: Lab, options: Options) -> list[Row]:
    """Return every row, or the one in `options.only`."""
    chosen = {options.only: ROWS[options.only]} if options.only else ROWS
    return [row for row in (_measured(name, lab, options) for name in chosen) if row is not None]


def _measured(name: str, lab: Lab, options: Options) -> Row | None:
    task = lab.progress.add_task(f"measuring {name}", total=None)
    try:
        return ROWS[name](lab, options)
    finally:
        lab.progress.remove_task(task)


def recall_small(lab: Lab, options: Options) -> Row:
    """Recall over a small store."""
    times = cpu_ms(lab.store(options.live).mem.recall, options.questions)
    return _time_row("recall_10k", f"recall, {options.live:,} live memories, p50", times, 3)


def recall_large(lab: Lab, options: Options) -> Row:
    """Recall over a large store, in one scope."""
    times = cpu_ms(lab.store(options.large).mem.recall, options.questions)
    return _time_row("recall_100k", f"recall, {options.large:,} live memories in one scope, p50", times, 10)


def flatness(lab: Lab, options: Options) -> Row:
    """Recall with an archive against recall without one, interleaved query by query."""
    bare, archive = lab.store(options.live), lab.store(options.live, options.cold)
    without, with_cold = side_by_side([bare.mem.recall, archive.mem.recall], options.questions)
    return Row(
        key="flatness",
        what=f"recall, {options.live:,} live + {options.cold:,} cold against 0 cold",
        value=round(with_cold.p50 / without.p50, 3),
        unit="×",
        target=1.1,
        notes={"with_cold": with_cold._asdict(), "without": without._asdict(), "ingest_us": lab.ingest},
    )


def cold_sweep(lab: Lab, options: Options) -> Row:
    """Recall in cold, with its band loaded."""
    mem = lab.store(options.live, options.cold).mem
    times = cpu_ms(lambda query: mem.recall(query, tiers=("cold",)), options.questions[:40], passes=2)
    return _time_row("cold_sweep", f"recall in cold over {options.cold:,}, p50", times, 100)


def vector_recall(lab: Lab, options: Options) -> Row:
    """The vector search against an exact search of all vectors."""
    opened = lab.store(options.large)
    exact = _exact_top(lab, options)
    shares = [
        len(best & set(_vector_candidates(opened, lab, query)[:10])) / 10
        for query, best in zip(options.questions, exact, strict=True)
    ]
    return Row(
        key="vector_recall",
        what=f"vector leg against exact search, recall@10 of {options.large:,}",
        value=round(statistics.fmean(shares), 4),
        unit="",
        target=0.99,
        rising=True,
        notes={"worst": min(shares), "vectors": "synthetic, clustered"},
    )


def bulk(lab: Lab, options: Options) -> Row:  # noqa: ARG001
    """`remember_many` with the bundled model against the model alone, interleaved on the same texts."""
    model = LocalEmbedder()
    model.embed(["warm up"])
    batches = [list(texts(64, seed)) for seed in range(100, 103 if options.quick else 108)]
    bare = stored = bare_wall = stored_wall = 0.0
    with (
        tempfile.TemporaryDirectory() as folder,
        memotherm.open(Path(folder) / "bulk.db", embedder=model, settings=Settings()) as mem,
    ):
        mem.remember("warm up")
        for batch in batches:
            cpu, wall = _spent(lambda batch=batch: model.embed(batch))  # type: ignore[misc]
            bare, bare_wall = bare + cpu, bare_wall + wall
            cpu, wall = _spent(lambda batch=batch: mem.remember_many([{"content": each} for each in batch]))  # type: ignore[misc]
            stored, stored_wall = stored + cpu, stored_wall + wall
    count = sum(map(len, batches))
    return Row(
        key="bulk",
        what="bulk remember_many against the bare embedder, throughput",
        value=round(bare / stored, 3),
        unit="×",
        target=0.9,
        rising=True,
        notes={
            "wall_ratio": round(bare_wall / stored_wall, 3),
            "embed_ms": round(bare / count * 1000, 3),
            "remember_ms": round(stored / count * 1000, 3),
        },
    )


def durable(lab: Lab, options: Options) -> Row:
    """Single writes without embedding, in wall-clock time, because the disk is the limit."""
    count = 300 if options.quick else 2000
    contents = list(texts(count, 200))
    with (
        tempfile.TemporaryDirectory(dir=lab.folder) as folder,
        memotherm.open(Path(folder) / "durable.db", embedder="none", settings=Settings()) as mem,
    ):
        mem.remember("warm up")
        cpu, wall = _spent(lambda: [mem.remember(content) for content in contents])
    return Row(
        key="durable",
        what="remember without embedding, durable",
        value=round(count / wall),
        unit="writes/s",
        target=500,
        rising=True,
        notes={
            "cpu_ms": round(cpu / count * 1000, 3),
            "fsync_ms": _fsync_ms(lab.folder),
            "synchronous": Settings().synchronous,
        },
    )


def importing(lab: Lab, options: Options) -> Row:  # noqa: ARG001
    """`import memotherm` in a new process."""
    code = (
        "import sys, time; known = set(sys.modules); started = time.process_time(); import memotherm;"
        "print(time.process_time() - started, len(set(sys.modules) - known),"
        "      bool({'numpy', 'onnxruntime', 'sqlite3'} & set(sys.modules)))"
    )
    runs = [_python(code).split() for _ in range(5 if options.quick else 15)]
    return Row(
        key="import",
        what="import memotherm",
        value=round(min(float(run[0]) for run in runs) * 1000, 2),
        unit="ms CPU",
        target=80,
        notes={"modules": int(runs[0][1]), "heavy": runs[0][2] == "True"},
    )


def size(lab: Lab, options: Options) -> Row:
    """Bytes on disk of a memory of 100 characters: the store and the vector cache."""
    opened = lab.store(options.large)
    opened.mem.recall(options.questions[0])
    stored = opened.mem.status().bytes
    files = sum(each.stat().st_size for each in Path(f"{opened.path}-vectors").glob("*"))
    return Row(
        key="bytes",
        what="bytes on disk per memory of 100 characters",
        value=round((stored + files) / options.large),
        unit="B",
        target=2500,
        notes={
            "store": round(stored / options.large),
            "vector_cache": round(files / options.large),
            "characters": _mean_length(),
        },
    )


def resident(lab: Lab, options: Options) -> Row:
    """Resident memory of a process that has loaded the model and answered different questions on the large store."""
    opened = lab.store(options.large)
    opened.mem.recall(options.questions[0])
    found = json.loads(_python(_RESIDENT, str(opened.path)))
    return Row(
        key="rss",
        what=f"resident memory, {options.large:,} live memories, model loaded, after 600 recalls and 2,000 contexts",
        value=round(found["contexts"]["rss"]),
        unit="MB",
        target=250,
        notes=found,
    )


def context(lab: Lab, options: Options) -> Row | None:
    """Assembling a context for a query."""
    mem = lab.store(options.live).mem
    times = cpu_ms(lambda query: mem.context(query, budget=2000), options.questions)
    return _time_row("context", f"context(), {options.live:,} live memories, p50", times, 6)


ROWS: dict[str, Callable[[Lab, Options], Row | None]] = {
    "recall_10k": recall_small,
    "recall_100k": recall_large,
    "flatness": flatness,
    "cold_sweep": cold_sweep,
    "vector_recall": vector_recall,
    "bulk": bulk,
    "durable": durable,
    "import": importing,
    "bytes": size,
    "rss": resident,
    "context": context,
}

_RESIDENT = """
import hashlib, json, sys
import numpy as np
from bench.synthetic import queries
from memotherm import Settings, Memotherm
from memotherm.embed.local import LocalEmbedder
from memotherm.storage.open import open_store

class Stub:
    name, dimensions = "synthetic:384", 384
    def embed(self, texts):
        seeds = [int.from_bytes(hashlib.blake2b(each.encode(), digest_size=8).digest()) for each in texts]
        rows = np.array([np.random.default_rng(seed).standard_normal(384) for seed in seeds])
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

def megabytes():
    lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return {name: int(lines[field].split()[0]) / 1024
            for name, field in (("rss", "VmRSS"), ("anonymous", "RssAnon"), ("peak", "VmHWM"))}

settings, questions, found = Settings(), queries(2603, seed=5), {}
found["interpreter"] = megabytes()
model = LocalEmbedder()
model.embed_query("can I ship today?")
model.embed(["a memory of usual length, as they are stored all day"] * 8)
found["model"] = megabytes()
mem = Memotherm(open_store(sys.argv[1], settings), Stub(), settings=settings)
for query in questions[:3]:
    mem.recall(query)
found["store"] = megabytes()
for query in questions[3:603]:
    mem.recall(query)
found["recalls"] = megabytes()
for query in questions[603:]:
    mem.context(query, budget=2000)
found["contexts"] = megabytes()
mem.close()
print(json.dumps(found))
"""


def _time_row(key: str, what: str, times: Times, target: float) -> Row:
    return Row(key=key, what=what, value=times.p50, unit="ms CPU", target=target, notes=times._asdict())


def _vector_candidates(opened: Opened, lab: Lab, query: str) -> list[int]:
    """Return the candidates of the vector search, best first."""
    vector = lab.embedder.embed([query])[0]
    search = replace(opened.mem._view.seen(), tiers=(Tier.HOT, Tier.WARM))
    return list(opened.store.search_vector(search, vector, opened.mem.settings.pool_size))


def _exact_top(lab: Lab, options: Options) -> list[set[int]]:
    """Return the numbers of the ten nearest memories of each query; memories are numbered in the order of storage."""
    wanted = lab.embedder.embed(options.questions)
    stored = lab.embedder.embed(list(texts(options.large, 1)))
    cosines = wanted @ stored.T
    return [set((np.argsort(-row)[:10] + 1).tolist()) for row in cosines]


def _spent(work: Callable[[], object]) -> tuple[float, float]:
    """Return the CPU and wall-clock seconds of a call."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


def _fsync_ms(folder: Path) -> float:
    """Return the time of writing one page and one fsync, the lower bound of a durable write."""
    taken = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(50):
            started = time.perf_counter()
            file.write(bytes(8192))
            file.flush()
            os.fsync(file.fileno())
            taken.append(time.perf_counter() - started)
    return round(statistics.median(taken) * 1000, 3)


def _python(code: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def _mean_length() -> float:
    return round(statistics.fmean(len(text) for text in texts(2000, 1)), 1)
