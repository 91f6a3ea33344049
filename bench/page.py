"""`python -m bench.page`: docs/reference/speed.md and its plot, from the results of the last measurements."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.plot import Line, log_plot
from bench.report import RESULTS
from bench.sizes_worker import SEARCHES

__all__ = ["main"]

_DOCS = Path(__file__).parent.parent / "docs"
_PAGE, _PLOT = _DOCS / "reference" / "speed.md", _DOCS / "images" / "sizes.svg"
_NAMES = {
    "memotherm": "Memotherm",
    "chroma": "Chroma",
    "langgraph": "LangGraph SqliteStore",
    "numpy scan": "numpy scan",
}

_FRESH = """# Speed

`make bench-fresh REVISION=main` measures another revision and this tree on real texts and writes this page.
Every question is asked once; the two take turns, call by call, each in a process of its own.
Times are CPU milliseconds of all threads for one operation, p50, embedding excluded.
Only the ratio can be compared between machines.
"""
_SYSTEMS = """## Beside other systems

`make bench PEERS=1` gives the same texts and vectors to other systems, each in a process of its own.
They search in turn for ten memories: Memotherm by words and vectors, ranked and logged, the others by vectors.
"numpy scan" is one product with all vectors in memory.
Searches are wall-clock milliseconds, p50; the results are in [sizes.json](../../bench/results/sizes.json).
"""
_SERVER = """## A server with many clients

`make load` runs clients that never pause against `memotherm serve` on the same machine.
Half of the requests write, the others recall, ask for a context, or read a memory.
CPU times are milliseconds for an average request; the results are in [load.json](../../bench/results/load.json).
"""


def main() -> None:
    """Write the page and the plot."""
    fresh, load, sizes = (_results(name) for name in ("fresh", "load", "sizes"))
    _PAGE.write_text("\n".join((*_fresh(fresh), "", *_server(load), "", *_systems(sizes), "")), "utf-8")
    lines = [
        Line(_NAMES[name], [(int(size), kinds["all"]["wall_ms"]) for size, kinds in system["searches"].items()])
        for name, system in sizes["systems"].items()
    ]
    _PLOT.write_text(log_plot("A search for ten memories, wall-clock p50", "memories", "milliseconds", lines), "utf-8")


def _results(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
    return found


def _conditions(results: Mapping[str, Any]) -> str:
    machine = results["machine"]
    load = f", load {machine['load'][0]:.1f}" if machine.get("load") else ""
    return f"{results['date'][:10]}, {machine['cores']} cores{load}, Python {machine['python']}, {machine['platform']}."


def _fresh(fresh: Mapping[str, Any]) -> Iterator[str]:
    yield _FRESH
    yield f"{_conditions(fresh)} The other revision is `{fresh['options']['revision']}`."
    yield ""
    yield "| what | other revision | this tree | ratio | target |"
    yield "|---|---:|---:|---:|---:|"
    for row in fresh["rows"]:
        old, new, unit = (row["notes"][name] for name in ("old", "new", "unit"))
        what = row["what"] if unit == "CPU ms" else f"{row['what']}, {unit}"
        yield f"| {what} | {old:,g} | {new:,g} | {row['value']:g} | {row['target']:g} |"


def _server(load: Mapping[str, Any]) -> Iterator[str]:
    yield _SERVER
    yield f"{_conditions(load)} {load['options']['clients']} clients, {load['options']['seconds']:g} seconds each."
    yield ""
    yield "| | workers | requests per second | CPU of the server | of it the embedder | CPU of the clients | cores |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for row in load["rows"]:
        if row["key"].endswith("_rate"):
            notes = row["notes"]
            costs = (notes[cost] for cost in ("cpu_ms", "embedding_cpu_ms", "client_cpu_ms", "cores"))
            cells = " | ".join(f"{cost:g}" for cost in costs)
            yield f"| {row['what'].rpartition(', ')[2]} | {notes['workers']} | {row['value']:g} | {cells} |"
    yield ""
    alone = ", ".join(f"a {kind} {milliseconds:g}" for kind, milliseconds in load["costs"].items())
    yield f"With one client and no embedder, CPU milliseconds of a request: {alone}."


def _systems(sizes: Mapping[str, Any]) -> Iterator[str]:
    systems = sizes["systems"]
    yield _SYSTEMS
    versions = ", ".join(f"{package} {version}" for package, version in sizes["peers"].items())
    yield _conditions(sizes) + (f" {versions}." if versions else "")
    yield ""
    yield f"| | {' | '.join(_NAMES[name] for name in systems)} |"
    yield f"|---|{'---:|' * len(systems)}"
    measured = {
        (int(size), kind) for each in systems.values() for size, kinds in each["searches"].items() for kind in kinds
    }
    for size, kind in sorted(measured):
        cells = (each["searches"].get(str(size), {}).get(kind, {}).get("wall_ms") for each in systems.values())
        yield f"| {size:,} memories, {SEARCHES[kind]} | {' | '.join(map(_cell, cells))} |"
    for what in ("bulk", "one by one"):
        cells = (each["writes_per_second"].get(what) for each in systems.values())
        yield f"| stored {what}, memories per second | {' | '.join(map(_cell, cells))} |"
    cells = (each["start_seconds"] for each in systems.values())
    yield f"| a new process to its first answer, seconds | {' | '.join(map(_cell, cells))} |"
    yield ""
    for name, system in systems.items():
        if system["stopped"]:
            yield f"{_NAMES[name]} was not measured further: {system['stopped']}."
            yield ""
    yield "![The time of a search against the number of memories](../images/sizes.svg)"


def _cell(number: float | None) -> str:
    if number is None:
        return "–"
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


if __name__ == "__main__":
    main()
