"""One Chromium for all tests, one store and one server for a module, and pages that notice what they must not do."""

from __future__ import annotations

import gc
import os
import shutil
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Request, expect, sync_playwright

import memotherm
from memotherm import Memotherm
from memotherm.testing import FakeClock, HashEmbedder
from tests.interfaces.served import serving
from tests.year import HOSTILE

#: The time of the clocks of the store and of the pages.
NOW = datetime(2026, 6, 30, 16, 0, tzinfo=UTC)
REQUIRED = "REQUIRE_BROWSER"
#: The most milliseconds that a page may take until it shows what a test waits for.
PATIENCE = 30_000


def chromium() -> str:
    """Return the path of Chromium; without one, skip the test, or fail where it is required."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        reason = "there is no Chromium: `apt-get install chromium`, or `make setup` as root, installs it"
        if os.environ.get(REQUIRED):
            pytest.fail(reason)
        pytest.skip(reason)
    return found


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests in a browser; it finds no other machine."""
    path = chromium()
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
        found = playwright.chromium.launch(executable_path=path, args=arguments)
        yield found
        found.close()
    # What Playwright leaves behind must not be collected in the middle of another test.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(scope="module")
def mem(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memotherm]:
    """A store with memories of two projects, moves of today, edits, a session, and hostile contents."""
    clock = FakeClock(NOW - timedelta(days=40))
    path = tmp_path_factory.mktemp("dashboard") / "memory.db"
    with memotherm.open(path, embedder=HashEmbedder(), clock=clock) as found:
        fill(found, clock)
        yield found


def fill(mem: Memotherm, clock: FakeClock) -> None:
    """Store what the pages show."""
    shop, billing = mem.scoped(project="shop"), mem.scoped(project="billing", user="ana")
    drafts = [
        {
            "content": f"Invoice {number} is paid within {number % 30} days",
            "kind": ("fact", "task", "note")[number % 3],
            "tags": ["release"] if number % 5 == 0 else [],
            "tier": ("warm", "hot", "cold")[number % 7 % 3],
            "metadata": {"status": "open" if number % 2 else "done"},
        }
        for number in range(240)
    ]
    shop.remember_many(drafts)
    clock.advance(days=39)
    billing.remember("Answer in the language of the question", priority="pinned", kind="preference")
    otter = billing.remember("The otter lives in the river near Cologne", key="otter")
    billing.update(otter.id, content="The otter lives in the lake near Cologne", why="it has moved")
    billing.remember("The otter eats fish in the lake")
    session = billing.session("s1")
    session.session_start(budget=300)
    session.before_turn("where does the otter live?", budget=300)
    for content in HOSTILE:
        shop.remember(content, kind="note", tags=["hostile"])
    clock.now = NOW
    billing.move(otter.id, "hot", "needed today")


@pytest.fixture(scope="module")
def address(mem: Memotherm) -> Iterator[str]:
    """A server of the store that needs no key."""
    with served(mem) as url:
        yield url


@contextmanager
def served(mem: Memotherm, **options: Any) -> Iterator[str]:
    """Serve a memory; event streams end with the server."""
    stopping = threading.Event()
    with serving(mem, stopping=stopping, **options) as url:
        try:
            yield url
        finally:
            stopping.set()


class Watched:
    """What a page did that it must not do."""

    def __init__(self, page: Page, origin: str) -> None:
        self.problems: list[str] = []
        #: Statuses of responses that a test expects, which the console reports as errors, and texts of other errors.
        self.expected: set[int | str] = set()
        self._origin = origin
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("console", self._console)
        page.on("request", self._request)

    def _console(self, message: Any) -> None:
        expected = any(
            (each if isinstance(each, str) else f"status of {each}") in message.text for each in self.expected
        )
        if message.type in ("error", "warning") and not expected:
            self.problems.append(f"console: {message.text} ({message.location})")

    def _request(self, request: Request) -> None:
        if "{0.scheme}://{0.netloc}".format(urlsplit(request.url)) != self._origin:
            self.problems.append(f"foreign request: {request.url}")


Scratch = Callable[..., Memotherm]


@pytest.fixture
def scratch(mem: Memotherm) -> Iterator[Scratch]:
    """Give scopes that are erased when the pages of the test are closed: an open page would ask for what is gone."""
    views: list[Memotherm] = []

    def scoped(**names: str) -> Memotherm:
        views.append(mem.scoped(**names))
        return views[-1]

    yield scoped
    for view in views:
        view.by("person").erase()


Open = Callable[..., Page]


@pytest.fixture
def open_page(browser: Browser, address: str, scratch: Scratch) -> Iterator[Open]:
    """Open pages, each in a browser context of its own; a foreign request, error or warning fails the test."""
    contexts: list[Any] = []
    watched: list[Watched] = []

    def opened(path: str = "/", at: str = address, expected: tuple[int | str, ...] = (), **options: Any) -> Page:
        place = {"locale": "de-DE", "timezone_id": "Europe/Berlin"}
        options = {"viewport": {"width": 1280, "height": 900}, **place, **options}
        context = browser.new_context(reduced_motion="reduce", **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.clock.set_fixed_time(NOW)
        watched.append(Watched(page, at))
        watched[-1].expected.update(expected)
        page.goto(f"{at}/#{path}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert [problem for each in watched for problem in each.problems] == []


_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
#: Hides most rows of each table and list, which are built alike and take most of the time, and runs axe.
_RUN_AXE = """async (only) => {
  const repeated = document.querySelectorAll("tbody tr:nth-child(n+5), .hits li:nth-child(n+3)");
  for (const each of repeated) each.hidden = true;
  const rules = only.type === "tag" ? { "label-content-name-mismatch": { enabled: true } } : {};
  const found = await axe.run({ runOnly: only, rules, resultTypes: ["violations"] });
  for (const each of repeated) each.hidden = false;
  return found.violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.slice(0, 3).map((node) => node.html)}`);
}"""


def violations(page: Page, rule: str = "") -> list[str]:
    """Return what axe finds wrong with a page by WCAG 2.2 AA, or by one rule."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    only = {"type": "rule", "values": [rule]} if rule else {"type": "tag", "values": _TAGS}
    found: list[str] = page.evaluate(_RUN_AXE, only)
    return found


def violations_in_both_schemes(page: Page) -> list[str]:
    """Return what axe finds wrong with a page; only its colours are different in dark."""
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    found = violations(page)
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    return [*found, *(f"dark: {each}" for each in violations(page, "color-contrast"))]


def overflow(page: Page) -> int:
    """Return by how many pixels a page is wider than the window, when its charts have their size.

    The policy of the page forbids the evaluation of strings, so `wait_for_function` cannot be used.
    """
    deadline = time.monotonic() + 5
    while True:
        wider = int(page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))
        if wider <= 0 or time.monotonic() > deadline:
            return wider
        page.wait_for_timeout(50)


def screenshot_folder() -> Path:
    """Return the folder of the pictures in the docs."""
    return Path(__file__).parents[2] / "docs" / "images" / "dashboard"
