"""The pages of the dashboard in Chromium: time of the main thread until a page is shown, and bytes over the wire.

The store is one of a year (`tests.year`), filled up in bulk. The time is that of the thread's CPU, so that other
processes do not count, without the commands of the measurement itself.
"""

from __future__ import annotations

import random
import shutil
import threading
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Browser, sync_playwright
from tests import year
from tests.interfaces.served import serving

import memotherm
from bench.report import Row
from bench.speed import Options
from bench.stores import Lab
from memotherm import Memotherm, Scope
from memotherm.testing import HashEmbedder

__all__ = ["measure"]

_MEMORIES = 100_000
_YEAR = 500
_BATCH = 1000
_RUNS = 3
_MOST_MILLISECONDS = 300
_MOST_KILOBYTES = 200
_PATIENCE = 120_000
_QUESTION = "When%20is%20the%20checkout%20page%20deployed%3F"
#: The address of each page, and what is there when it is shown.
_PAGES = {
    "overview": ("/", "main .rows li"),
    "memories": ("/memories", "main tbody tr[data-index] td"),
    "playground": (f"/playground?scope=project%3Dshop&q={_QUESTION}", "main .context .part"),
    "activity": ("/activity", "main .event"),
    "prompts": ("/prompts", "main .context .part"),
    "costs": ("/costs", "main .stats"),
    "rules": ("/rules", "main article"),
    "health": ("/health", "main .card"),
}


def measure(lab: Lab, options: Options) -> list[Row]:
    """Return two rows for each page."""
    memories = 2000 if options.quick else _MEMORIES
    path = lab.folder / f"dashboard-{memories}.db"
    if not path.exists():
        _make(path, memories, lab)
    stopping = threading.Event()
    with (
        memotherm.open(path, scope=Scope(), embedder=HashEmbedder(), clock=lambda: year.END) as mem,
        serving(mem, stopping=stopping) as address,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        pages = {
            **_PAGES,
            "memory": (f"/memory/{mem.find(limit=1, include_narrower=True).memories[0].id}", "main .card"),
        }
        rows = [row for name, page in pages.items() for row in _rows(browser, address, name, *page, memories)]
        browser.close()
        stopping.set()
    return rows


def _make(path: Path, memories: int, lab: Lab) -> None:
    """Make a store of a year in a file, and fill it up with memories that have no vectors."""
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    year.make(part, _YEAR, embedder=HashEmbedder())
    task = lab.progress.add_task("filling", total=memories - _YEAR)
    settings: Any = {"synchronous": "normal"}
    with memotherm.open(part, scope=Scope(), embedder=HashEmbedder(), clock=lambda: year.END, settings=settings) as mem:
        drafts = year.drafts_of_a_year(random.Random(1))
        for batch in range((memories - _YEAR) // _BATCH):
            view: Memotherm = mem.scoped(project=year.PROJECTS[batch % len(year.PROJECTS)])
            view.remember_many(
                {**draft, "content": f"{draft['content']} again", "index": False, "tier": "warm", "priority": "normal"}
                for draft in islice(drafts, _BATCH)
            )
            lab.progress.advance(task, _BATCH)
    part.rename(path)


def _rows(browser: Browser, address: str, name: str, path: str, shown: str, memories: int) -> list[Row]:
    found = [_loaded(browser, address, path, shown) for _ in range(_RUNS)]
    notes = {"memories": memories, "runs": _RUNS, "milliseconds": [round(one[0]) for one in found]}
    return [
        Row(
            key=f"{name}_milliseconds", what=f"{name}: main thread until it is shown", unit="ms",
            value=round(median(one[0] for one in found)), target=_MOST_MILLISECONDS, notes=notes,
        ),
        Row(
            key=f"{name}_kilobytes", what=f"{name}: over the wire", unit="kB",
            value=round(max(one[1] for one in found) / 1000, 1), target=_MOST_KILOBYTES, notes={"memories": memories},
        ),
    ]  # fmt: skip


def _loaded(browser: Browser, address: str, path: str, shown: str) -> tuple[float, int]:
    """Load a page without a cache; return the milliseconds of its main thread and the bytes that it received."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(_PATIENCE)
    received: list[int] = []
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    session.on("Network.loadingFinished", lambda event: received.append(int(event["encodedDataLength"])))
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(f"{address}/#{path}")
    page.wait_for_selector(shown)
    metrics = {metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]}
    context.close()
    return 1000 * (metrics["TaskDuration"] - metrics["DevToolsCommandDuration"]), sum(received)
