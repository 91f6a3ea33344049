"""PostgreSQL with a thousand tenants, and one that has an archive of a million.

The memories are copied in by the server's own COPY, because building them one by one would measure nothing but
patience; what is measured afterwards goes through the library. Times are wall times of a client on the same
machine, because most of the work is the server's; ratios are taken in turn, so that both sides are equally disturbed.
"""

from __future__ import annotations

import itertools
import os
import random
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import psycopg
from pgvector.psycopg import register_vector
from tests.postgres import ROLE, Cluster

from bench.report import Row
from bench.speed import Options
from bench.stores import Lab
from bench.synthetic import SyntheticEmbedder, queries, texts
from memotherm import Memotherm, Settings
from memotherm.model.clock import to_micros
from memotherm.storage.open import open_store
from memotherm.storage.postgres.transaction import lexemes
from memotherm.storage.rows import indexed_words
from memotherm.text.content import digest

__all__ = ["measure"]

_DIMENSIONS = 128
_CLIENTS = 64
_ARCHIVE = "archive"
_BATCH = 5000
_COLUMNS = {
    "memories": """tenant no id space content kind tags tier priority retention metadata source tokens digest created_at
        updated_at accessed_at expires_at access_count recent_uses use_weight relevance supersedes tier_since tier_rule
        retention_since version parts""",
    "texts": "tenant no part space tier words lexemes",
    "vectors": "tenant embedder no part space tier vector",
    "events": "tenant seq at no action actor rule why changes",
}


@dataclass(frozen=True, kw_only=True)
class Size:
    """The sizes of the measured database."""

    tenants: int
    each: int
    cold: int
    seconds: float
    questions: list[str]

    @classmethod
    def of(cls, options: Options) -> Size:
        """Return the size that the options ask for."""
        if options.quick:
            return cls(tenants=40, each=250, cold=20_000, seconds=5, questions=queries(40, seed=11))
        return cls(tenants=1000, each=1000, cold=options.cold, seconds=60, questions=queries(200, seed=11))


def measure(lab: Lab, options: Options) -> list[Row]:
    """Return every row."""
    size = Size.of(options)
    embedder = SyntheticEmbedder(_DIMENSIONS)
    settings = Settings(postgres_pool_size=_CLIENTS)
    with _database() as (admin, url):
        task = lab.progress.add_task("copying memories in", total=size.tenants * size.each + size.cold)
        _fill(admin, url, size, embedder, lambda count: lab.progress.advance(task, count))
        lab.progress.remove_task(task)
        with Memotherm(open_store(url, settings), embedder, settings=settings) as mem:
            return [
                _recall(mem, size),
                _flatness(mem, size),
                _plans(admin, mem, size),
                _ingest(mem, size),
                _crowd(mem, size),
            ]


# The rows


def _recall(mem: Memotherm, size: Size) -> Row:
    chosen = random.Random(1)
    views = [mem.scoped(tenant=_tenant(chosen.randrange(size.tenants))) for _ in size.questions]
    (times,) = _in_turn([lambda place: views[place].recall(size.questions[place])], len(size.questions))
    return Row(
        key="postgres_recall",
        what=f"recall, one of {size.tenants:,} tenants with {size.each:,} memories each, p50",
        value=round(statistics.median(times), 2),
        unit="ms",
        target=50,
        notes={"p95": _p95(times), "clock": "wall", "dimensions": _DIMENSIONS, "cores": os.cpu_count()},
    )


def _flatness(mem: Memotherm, size: Size) -> Row:
    plain, archive = mem.scoped(tenant=_tenant(0)), mem.scoped(tenant=_ARCHIVE)
    without, with_cold = _in_turn(
        [lambda place: plain.recall(size.questions[place]), lambda place: archive.recall(size.questions[place])],
        len(size.questions),
    )
    return Row(
        key="postgres_flatness",
        what=f"recall, {size.each:,} live + {size.cold:,} cold against 0 cold",
        value=round(statistics.median(with_cold) / statistics.median(without), 3),
        unit="×",
        target=1.15,
        notes={"with_cold_p50": statistics.median(with_cold), "without_p50": statistics.median(without)},
    )


def _plans(admin: str, mem: Memotherm, size: Size) -> Row:
    """Count the sequential reads of large tables during a call."""
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("SELECT pg_stat_reset()")
        for question in size.questions[:20]:
            mem.scoped(tenant=_ARCHIVE).recall(question)
            mem.scoped(tenant=_tenant(1)).recall(question)
        time.sleep(1.5)  # the server's counters follow with a delay
        found = connection.execute(
            "SELECT relname, seq_scan, idx_scan FROM pg_stat_user_tables WHERE relname = ANY(%s)", (list(_COLUMNS),)
        ).fetchall()
    return Row(
        key="postgres_plans",
        what="sequential scans of large tables during 40 recalls",
        value=sum(scans for _, scans, _ in found),
        unit="",
        target=0,
        notes={name: {"sequential": scans, "by_index": indexed} for name, scans, indexed in found},
    )


def _ingest(mem: Memotherm, size: Size) -> Row:
    count = 250 if size.tenants < 1000 else 1000
    batches = [[{"content": text} for text in texts(count, 500 + number)] for number in range(4)]

    def stored(number: int) -> None:
        mem.scoped(tenant=f"new{number}").remember_many(batches[number])

    started = time.perf_counter()
    threads = [threading.Thread(target=stored, args=(number,)) for number in range(len(batches))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Row(
        key="postgres_ingest",
        what="remember_many, 4 tenants at once, embedding excluded",
        value=round(len(batches) * count / (time.perf_counter() - started), 1),
        unit="/s",
        target=500,
        rising=True,
        notes={"durable": True, "batch": count},
    )


@dataclass
class _Seen:
    """The results of one client."""

    times: list[float] = field(default_factory=list)
    written: list[tuple[str, str]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def _crowd(mem: Memotherm, size: Size) -> Row:
    """Run many clients that write and recall at once; then check that all acknowledged writes can be read."""
    until = time.monotonic() + size.seconds
    seen = [_Seen() for _ in range(_CLIENTS)]

    def client(number: int) -> None:
        chance = random.Random(number)
        mine = seen[number]
        while time.monotonic() < until:
            tenant = _tenant(chance.randrange(size.tenants))
            started = time.perf_counter()
            try:
                if chance.random() < 0.3:
                    memory = mem.scoped(tenant=tenant).remember(f"client {number} says {chance.random()}")
                    mine.written.append((tenant, memory.id))
                else:
                    mem.scoped(tenant=tenant).recall(chance.choice(size.questions))
            except Exception as exc:  # noqa: BLE001 - whatever it is, it counts
                mine.errors.append(f"{type(exc).__name__}: {exc}")
            mine.times.append((time.perf_counter() - started) * 1000)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(_CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    written = [each for mine in seen for each in mine.written]
    lost = sum(mem.scoped(tenant=tenant).get(memory_id).id != memory_id for tenant, memory_id in written)
    errors = [error for mine in seen for error in mine.errors]
    times = sorted(spent for mine in seen for spent in mine.times)
    return Row(
        key="postgres_crowd",
        what=f"errors and lost writes, {_CLIENTS} clients for {size.seconds:g} s",
        value=len(errors) + lost,
        unit="",
        target=0,
        notes={
            "requests": len(times),
            "writes": len(written),
            "p50_ms": round(statistics.median(times), 1),
            "p95_ms": _p95(times),
            "errors": errors[:5],
        },
    )


# The database


@contextmanager
def _database() -> Iterator[tuple[str, str]]:
    """Yield the URLs of a superuser and of the application for an empty database, on a new server or a given one."""
    with ExitStack() as stack:
        cluster = stack.enter_context(
            Cluster.started(
                fast=False,
                options={
                    "shared_buffers": "2GB",
                    "maintenance_work_mem": "3GB",
                    "max_wal_size": "8GB",
                    "max_connections": "200",
                    "jit": "off",
                },
            )
        )
        admin = cluster.url("postgres", "postgres")
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE {ROLE} LOGIN NOSUPERUSER NOBYPASSRLS")
            connection.execute(f"CREATE DATABASE memories OWNER {ROLE}")
        admin = cluster.url("memories", "postgres")
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION vector")
            connection.execute("ALTER FUNCTION ts_match_vq(tsvector, tsquery) LEAKPROOF")
        yield admin, cluster.url("memories")


def _fill(admin: str, url: str, size: Size, embedder: SyntheticEmbedder, told: Callable[[int], None]) -> None:
    """Copy the memories into the database, and create everything else with the library."""
    open_store(url, Settings()).close()
    with psycopg.connect(admin, autocommit=True, options="-c search_path=memotherm,public") as connection:
        register_vector(connection)
        names = [*(_tenant(number) for number in range(size.tenants)), _ARCHIVE]
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO spaces (tenant, space, project, environment, user_, agent, session) "
                "VALUES (%s, %s, '', '', '', '', '')",
                [(name, space) for space, name in enumerate(names, 1)],
            )
        connection.execute(
            "INSERT INTO embedders (number, name, dimensions) VALUES (1, %s, %s)", (embedder.name, embedder.dimensions)
        )
        connection.execute("INSERT INTO meta (key, value) VALUES ('embedder', '1')")
        numbers = itertools.count(1)
        for space, name in enumerate(names, 1):
            live = size.each
            _copy(connection, name, space, 1, zip(numbers, texts(live, space), strict=False), embedder)
            told(live)
        archive = zip(numbers, texts(size.cold, 77_777), strict=False)
        while batch := list(itertools.islice(archive, _BATCH * 4)):
            _copy(connection, _ARCHIVE, len(names), 2, batch, embedder)
            told(len(batch))
        connection.execute(
            """INSERT INTO counters (tenant, space, tier, retention, memories, tokens)
            SELECT tenant, space, tier, retention, count(*), sum(tokens) FROM memories GROUP BY 1, 2, 3, 4"""
        )
        for sequence, table, column in (("memory", "memories", "no"), ("event", "events", "seq")):
            connection.execute(f"SELECT setval('{sequence}_numbers', (SELECT max({column}) FROM {table}))")
        connection.execute(f"SELECT setval('space_numbers', {len(names)})")
        connection.execute("VACUUM ANALYZE")


def _copy(
    connection: psycopg.Connection[tuple[object, ...]],
    tenant: str,
    space: int,
    tier: int,
    numbered: Iterator[tuple[int, str]] | Sequence[tuple[int, str]],
    embedder: SyntheticEmbedder,
) -> None:
    """Copy some memories of one tenant into all tables."""
    found = list(numbered)
    now = to_micros(datetime.now(UTC))
    rows: dict[str, list[tuple[object, ...]]] = {name: [] for name in _COLUMNS}
    for (no, text), vector in zip(found, embedder.embed([text for _, text in found]), strict=True):
        words = indexed_words(text, ())
        rows["memories"].append(
            (tenant, no, f"mem_bench{no:018}", space, text, "fact", "", tier, 3, 0, "", "bench", 25,
             bytes.fromhex(digest(text)), now, now, None, None, 0, 0, 0.0, 0.5, None, now, "default", now, no, 1)
        )  # fmt: skip
        (listed,) = lexemes(words.split(), space)
        rows["texts"].append((tenant, no, 0, space, tier, words, listed))
        rows["vectors"].append((tenant, 1, no, 0, space, tier, vector))
        rows["events"].append((tenant, no, now, no, "remember", "bench", "default", "", "{}"))
    for table, some in rows.items():
        columns = ", ".join(_COLUMNS[table].split())
        with connection.cursor() as cursor, cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
            for row in some:
                copy.write_row(row)


def _tenant(number: int) -> str:
    return f"tenant{number:04}"


def _in_turn(calls: Sequence[Callable[[int], object]], count: int) -> list[list[float]]:
    """Return the milliseconds of several interleaved calls; a first pass for warm-up is not measured."""
    taken: list[list[float]] = [[] for _ in calls]
    for turn in range(2):
        for place in range(count):
            for number, call in enumerate(calls):
                started = time.perf_counter()
                call(place)
                if turn:
                    taken[number].append((time.perf_counter() - started) * 1000)
    return taken


def _p95(times: Sequence[float]) -> float:
    return round(sorted(times)[int(0.95 * (len(times) - 1))], 2)
