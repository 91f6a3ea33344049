"""Filtered searches of the LangGraph store against LangGraph's own SqliteStore, in one run.

`make adapters` installs langgraph-checkpoint-sqlite in `.venv/adapters/site`; then, with that folder in `PYTHONPATH`,
`python -m bench.langgraph [items] [folder]`. A folder keeps the stores for the next run.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import sqlcipher3.dbapi2
from langgraph.store.base import PutOp

from bench.report import Row, print_rows, record, write
from memotherm.adapters.langgraph import MemothermStore

DIMENSIONS = 128
QUERIES = 20
BATCH = 2000


def embed(texts: list[str]) -> list[list[float]]:
    """Return a vector for each text that depends on nothing but the text."""
    seeds = (zlib.crc32(text.encode()) for text in texts)
    return [np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32).tolist() for seed in seeds]


INDEX: Any = {"dims": DIMENSIONS, "embed": embed, "fields": ["text"], "text_fields": ["text"]}
#: What a search asks for: a namespace, and a filter.
SEARCHES: dict[str, tuple[tuple[str, ...], dict[str, Any] | None]] = {
    "half, by value": (("items",), {"even": True}),
    "one in a hundred, by value": (("items",), {"group": 7}),
    "one in ten, by namespace": (("items", "3"), None),
}


def fill(store: Any, count: int) -> float:  # noqa: ANN401
    """Put all items, and return the processor seconds that it took."""
    started = time.process_time()
    for start in range(0, count, BATCH):
        store.batch(
            [
                PutOp(("items", str(n % 10)), f"k{n}", {"text": f"item {n}", "even": n % 2 == 0, "group": n % 100})
                for n in range(start, min(count, start + BATCH))
            ]
        )
    return time.process_time() - started


def measured(
    store: Any,  # noqa: ANN401
    namespace: tuple[str, ...],
    conditions: dict[str, Any] | None,
) -> tuple[float, list[list[str]]]:
    """Return the median processor time of a search in milliseconds, and the keys that it found."""
    times, found = [], []
    store.search(namespace, query="warm up", filter=conditions)
    for number in range(QUERIES):
        started = time.process_time()
        items = store.search(namespace, query=f"query {number}", filter=conditions)
        times.append((time.process_time() - started) * 1000)
        found.append([item.key for item in items])
    return statistics.median(times), found


def main() -> None:
    """Print a table, and write the results."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    if len(sys.argv) > 2:
        compare(count, Path(sys.argv[2]))
        return
    with tempfile.TemporaryDirectory() as folder:
        compare(count, Path(folder))


def compare(count: int, folder: Path) -> None:
    """Search both stores; fill them first unless the folder has them from an earlier run."""
    from langgraph.store.sqlite import SqliteStore

    new = not (folder / "ours.db").exists()
    ours = MemothermStore(folder / "ours.db", index=INDEX, rank="cosine")
    # The sqlite3 of many Pythons cannot load the extension that the other store needs.
    connection = sqlcipher3.dbapi2.connect(str(folder / "theirs.db"), check_same_thread=False, isolation_level=None)
    theirs = SqliteStore(connection, index=INDEX)
    theirs.setup()
    if new:
        print(f"{count:,} items; puts: ours {fill(ours, count):.1f} s, SqliteStore {fill(theirs, count):.1f} s")
    rows = [row_of(name, place, ours, theirs) for name, place in SEARCHES.items()]
    connection.close()
    ours.close()
    print_rows("LangGraph", rows)
    write("langgraph", record("langgraph", rows, items=count))


def row_of(name: str, place: tuple[tuple[str, ...], dict[str, Any] | None], ours: Any, theirs: Any) -> Row:  # noqa: ANN401
    """Return how many times faster a search is than that of the other store."""
    (mine, found), (other, expected) = (measured(store, *place) for store in (ours, theirs))
    same = sum(a == b for a, b in zip(found, expected, strict=True))
    notes = {"ours_ms": round(mine, 2), "sqlite_store_ms": round(other, 2), "same_answers": same, "searches": QUERIES}
    return Row(
        key=f"langgraph_{name.partition(',')[0].replace(' ', '_')}",
        what=f"filtered search, {name}",
        value=round(other / mine, 1),
        unit="times faster than SqliteStore",
        target=10,
        rising=True,
        notes=notes,
    )


if __name__ == "__main__":
    main()
