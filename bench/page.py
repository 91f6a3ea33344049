"""`python -m bench.page`: the pages of numbers and their plot, from the results of the last measurements."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.plot import Line, log_plot
from bench.report import RESULTS
from bench.sizes_worker import SEARCHES

__all__ = ["files", "main"]

_DOCS = Path(__file__).parent.parent / "docs"
_PAGE, _REVISIONS = _DOCS / "reference" / "speed.md", _DOCS / "reference" / "revisions.md"
_PLOT = _DOCS / "images" / "sizes.svg"
_NAMES = {
    "memotherm": "Memotherm",
    "chroma": "Chroma",
    "langgraph": "LangGraph SqliteStore",
    "numpy scan": "numpy scan",
}

_FRESH = """# Speed against another revision

`make bench-fresh REVISION=main` measures another revision and this tree on real texts and writes this page.
Every question is asked once; the two take turns, call by call, each in a process of its own.
Times are CPU milliseconds of all threads for one operation, p50, embedding excluded.
Compare the ratios: the times depend on the machine and its load.
"""
_SYSTEMS = """# Numbers

`make bench PEERS=1` gives the same texts and vectors to Memotherm and to other systems, and writes this page.
Each system runs in a process of its own, and they search in turn for ten memories.
Memotherm searches by words and vectors, ranks the hits, and logs the recall; the others search by vectors only.
"numpy scan" is one product with all vectors in memory.
Searches are wall-clock milliseconds, p50. The best value of a row is bold.
All numbers of this table come from one run ([sizes.json](../../bench/results/sizes.json)).
"""
_SERVER = """## A server with many clients

`make load` runs clients that never pause against `memotherm serve` on the same machine.
Half of the requests write, the others recall, ask for a context, or read a memory.
CPU times are milliseconds for an average request ([load.json](../../bench/results/load.json)).
"""
_DASHBOARD = """## The dashboard

`python -m bench dashboard` visits each page in Chromium, on a store of several scopes with 500 turns and 2,000 edits.
Each visit asks a server process that has just started, on the same machine; the second one follows the first.
Wall-clock milliseconds until the page shows its content are the median of the runs.
The main thread is the CPU time of the page's scripts, which depends less on the load of the machine.
The wall-clock times of all runs are in [dashboard.json](../../bench/results/dashboard.json).
"""
_MORE = """## More

- [Evaluation](../evaluation.md): how well memories are found.
- [Speed against another revision](revisions.md): this version beside an earlier one.
"""


def main() -> None:
    """Write the pages and the plot."""
    for path, text in files().items():
        path.write_text(text, "utf-8")


def files() -> dict[Path, str]:
    """Return what the pages and the plot should hold."""
    fresh, load, sizes = (_results(name) for name in ("fresh", "load", "sizes"))
    lines = [
        Line(_NAMES[name], [(int(size), kinds["all"]["wall_ms"]) for size, kinds in system["searches"].items()])
        for name, system in sizes["systems"].items()
    ]
    return {
        _PAGE: "\n".join((*_systems(sizes), "", *_server(load), "", *_dashboard(), "", _MORE)),
        _REVISIONS: "\n".join((*_fresh(fresh), "")),
        _PLOT: log_plot("A search for ten memories, wall-clock p50", "memories", "milliseconds", lines),
    }


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


def _dashboard() -> Iterator[str]:
    dashboard = _results("dashboard")
    found = {row["key"]: row for row in dashboard["rows"]}
    yield _DASHBOARD
    yield _conditions(dashboard)
    if note := dashboard["options"].get("note"):
        yield note
    yield ""
    yield "| page | memories | runs | load | first visit, ms | second visit, ms | main thread, ms | over the wire, kB |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for name, size in dict.fromkeys(tuple(key.split("_")[:2]) for key in found):
        rows = [row for key, row in found.items() if key.startswith(f"{name}_{size}_")]
        notes, cells = rows[0]["notes"], " | ".join(f"{row['value']:,.0f}" for row in rows)
        yield f"| {name} | {int(size):,} | {len(notes['runs'])} | {notes['load']:g} | {cells} |"


def _systems(sizes: Mapping[str, Any]) -> Iterator[str]:
    yield _SYSTEMS
    versions = ", ".join(f"{package} {version}" for package, version in sizes["peers"].items())
    yield _conditions(sizes) + (f" {versions}." if versions else "")
    yield ""
    yield from _comparison(sizes)
    yield ""
    for name, system in sizes["systems"].items():
        if system["stopped"]:
            yield f"{_NAMES[name]} was not measured further: {system['stopped']}."
            yield ""
    yield "![The time of a search against the number of memories](../images/sizes.svg)"


def _comparison(sizes: Mapping[str, Any]) -> Iterator[str]:
    """Yield the table of systems: searches, writes and starts."""
    systems = sizes["systems"]
    yield f"| | {' | '.join(_NAMES[name] for name in systems)} |"
    yield f"|---|{'---:|' * len(systems)}"
    measured = {
        (int(size), kind) for each in systems.values() for size, kinds in each["searches"].items() for kind in kinds
    }
    for size, kind in sorted(measured):
        cells = [each["searches"].get(str(size), {}).get(kind, {}).get("wall_ms") for each in systems.values()]
        yield _row(f"search {size:,} memories, {SEARCHES[kind]}, ms", cells, min)
    for what in ("bulk", "one by one"):
        cells = [each["writes_per_second"].get(what) for each in systems.values()]
        yield _row(f"stored {what}, memories per second", cells, max)
    yield _row("a new process to its first answer, s", [each["start_seconds"] for each in systems.values()], min)


def _row(what: str, cells: Sequence[float | None], best: Callable[[Iterable[float]], float]) -> str:
    """Return a row of a table with its best number in bold."""
    first = best(number for number in cells if number is not None)
    shown = (f"**{_cell(number)}**" if number == first else _cell(number) for number in cells)
    return f"| {what} | {' | '.join(shown)} |"


def _cell(number: float | None) -> str:
    if number is None:
        return "–"
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


if __name__ == "__main__":
    main()
