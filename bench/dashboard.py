"""The pages of the dashboard in Chromium: time until a page is shown, its main thread, and bytes over the wire.

The store is one of a year (`tests.year`), filled up in bulk, with the turns and single changes of a busy month. Each
visit asks a server process that has just started. The time of the main thread is that of its CPU, so that other
processes do not count, without the commands of the measurement itself.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import islice
from multiprocessing.synchronize import Event
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Browser, BrowserContext, sync_playwright
from tests import year
from tests.interfaces.served import free_port, serving

import memotherm
from bench.report import Row
from bench.speed import Options
from bench.stores import Lab
from memotherm import Scope
from memotherm.testing import FakeClock, HashEmbedder

__all__ = ["measure"]

_SIZES = (20_000, 100_000)
_YEAR = 500
#: The moment of the measurement, after a busy month that follows the year.
_NOW = year.END + timedelta(days=20)
_BATCH = 1000
_TURNS = 500
_CHANGES = 2000
_RUNS = 5
_MOST_MILLISECONDS = {20_000: 1000}
_PATIENCE = 600_000
_QUESTION = "When is the checkout page deployed?"
#: The address of each page, and what is there when it is shown.
_PAGES = {
    "overview": ("/", "main .rows li"),
    "memories": ("/memories", "main tbody tr[data-index] td a"),
    "memory": ("/memory/{id}", "main .card"),
    "activity": ("/activity", "main .event"),
    "conflicts": ("/conflicts", "main .conflict"),
    "review": ("/review", "main .proposal"),
    "prompts": ("/prompts", "main .context .part"),
    "playground": (f"/playground?scope=project%3Dshop&q={_QUESTION}", "main .context .part"),
    "costs": ("/costs", "main .stats"),
    "rules": ("/rules", "main article"),
    "health": ("/health", "main .card"),
}


#: What is measured of a page: its key, what it is, its unit, and its target; None is that of the size of the store.
_MEASURED = (
    ("first_milliseconds", "until it is shown, first visit of a new server", "ms", None),
    ("second_milliseconds", "until it is shown, second visit", "ms", None),
    ("main_thread_milliseconds", "main thread of the first visit", "ms", 300),
    ("kilobytes", "over the wire", "kB", 200),
)


def measure(lab: Lab, options: Options) -> list[Row]:
    """Return the rows of each page for stores of each size."""
    sizes = (2000,) if options.quick else _SIZES
    return [row for memories in sizes for row in _rows(lab, memories, 1 if options.quick else _RUNS)]


def _rows(lab: Lab, memories: int, runs: int) -> Iterator[Row]:
    path = lab.folder / f"dashboard-{memories}.db"
    if not path.exists():
        _make(path, memories, lab)
    with memotherm.open(path, embedder=HashEmbedder(), clock=lambda: _NOW) as mem:
        memory = mem.find(limit=1, include_narrower=True).memories[0].id
    most = _MOST_MILLISECONDS.get(memories, 1e9)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, (address, shown) in _PAGES.items():
            found = [_visited(browser, path, address.format(id=memory), shown) for _ in range(runs)]
            for place, (key, what, unit, target) in enumerate(_MEASURED):
                values = [round(each[place], 1) for each in found]
                yield Row(
                    key=f"{name}_{memories}_{key}", what=f"{name}, {memories:,} memories: {what}", unit=unit,
                    value=median(values), target=most if target is None else target,
                    notes={"runs": values, "load": round(os.getloadavg()[0], 1)},
                )  # fmt: skip
        browser.close()


def _make(path: Path, memories: int, lab: Lab) -> None:
    """Make a store of a year in a file, fill it up, and add turns, single changes, conflicts and proposals."""
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    year.make(part, _YEAR, embedder=HashEmbedder())
    task = lab.progress.add_task("filling", total=memories - _YEAR)
    settings: Any = {"synchronous": "normal"}
    clock = FakeClock(year.END)
    with memotherm.open(part, scope=Scope(), embedder=HashEmbedder(), clock=clock, settings=settings) as mem:
        drafts = year.drafts_of_a_year(random.Random(1))
        projects = [mem.scoped(project=name) for name in year.PROJECTS]
        for batch in range((memories - _YEAR) // _BATCH):
            clock.advance(minutes=1)
            projects[batch % len(projects)].remember_many(
                {**draft, "content": f"{draft['content']} again", "tier": "warm", "priority": "normal"}
                for draft in islice(drafts, _BATCH)
            )
            lab.progress.advance(task, _BATCH)
        for number in range(_TURNS):
            clock.advance(minutes=30)
            session = projects[number // 5 % len(projects)].session(f"session-{number // 5}")
            session.before_turn(f"What about TICKET-{number + 1} and the checkout page?", budget=800)
        for view in projects:
            for memory in view.find(limit=_CHANGES // len(projects)):
                clock.advance(seconds=30)
                view.update(memory.id, content=f"{memory.content}, corrected")
        mem.scoped(project="shop").by("person").remember("The staging port is 5433")
        mem.scoped(project="shop").remember("The staging port is 5544")
        mem.scoped(project="shop").remember("Ana owns the checkout page", source="extracted:model")
    part.rename(path)


def _serve(path: Path, port: int, stop: Event) -> None:
    """Serve a store until an event is set."""
    stopping = threading.Event()
    with (
        memotherm.open(path, scope=Scope(), embedder=HashEmbedder(), clock=lambda: _NOW) as mem,
        serving(mem, port, stopping=stopping),
    ):
        stop.wait()
        stopping.set()


@contextmanager
def _server(path: Path) -> Iterator[str]:
    """Serve a store from a new process, and return the address."""
    spawning, port = multiprocessing.get_context("spawn"), free_port()
    stop = spawning.Event()
    process = spawning.Process(target=_serve, args=(path, port, stop))
    process.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        stop.set()
        process.join(60)


def _visited(browser: Browser, path: Path, address: str, shown: str) -> tuple[float, float, float, float]:
    """Visit a page of a new server twice.

    Return the milliseconds until it is shown at the first and at the second visit, those of the main thread at the
    first one, and the kilobytes that it received then.
    """
    with _server(path) as server:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        _wait_for(context, server)
        page = context.new_page()
        page.set_default_timeout(_PATIENCE)
        page.clock.set_fixed_time(_NOW)
        received: list[int] = []
        session = context.new_cdp_session(page)
        session.send("Network.enable")
        session.on("Network.loadingFinished", lambda event: received.append(int(event["encodedDataLength"])))
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        times = []
        for visit in range(2):
            begun = time.perf_counter()
            page.goto(f"{server}/#{address}", wait_until="commit")
            # At each frame; `wait_for_selector` looks up to half a second later.
            page.wait_for_function("shown => document.querySelector(shown)", arg=shown, polling="raf")
            times.append(1000 * (time.perf_counter() - begun))
            if visit == 0:
                metrics = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
                bytes_received = sum(received)
                page.goto("about:blank")
        context.close()
    main_thread = 1000 * (metrics["TaskDuration"] - metrics["DevToolsCommandDuration"])
    return times[0], times[1], main_thread, bytes_received / 1000


def _wait_for(context: BrowserContext, server: str) -> None:
    """Wait until a server answers."""
    deadline = time.monotonic() + 60
    while True:
        try:
            context.request.get(f"{server}/health")
        except Exception:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return
