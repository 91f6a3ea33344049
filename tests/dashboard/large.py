"""A store of 100,000 memories in the table of memories: `make dashboard`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

import memotherm
from memotherm import Memotherm
from tests.dashboard.conftest import PATIENCE, Open

#: The store takes minutes to make on a busy machine.
pytestmark = pytest.mark.timeout(3600)

COUNT = 100_000
_BATCH = 5000


@pytest.fixture(scope="module")
def mem(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memotherm]:
    """A store of 100,000 memories."""
    settings: Any = {"synchronous": "normal"}
    with memotherm.open(tmp_path_factory.mktemp("large") / "memory.db", embedder="none", settings=settings) as found:
        for first in range(0, COUNT, _BATCH):
            found.remember_many([{"content": f"Invoice {first + number} is paid"} for number in range(_BATCH)])
        yield found


def test_a_hundred_thousand_rows_are_scrolled_sorted_and_searched(open_page: Open, mem: Memotherm) -> None:
    """Only the rows in view are in the document, at the end of the table as well."""
    page = open_page("/memories?order=oldest")
    expect(page.locator("main")).to_contain_text("100.000 memories")
    expect(page.locator("tbody")).to_contain_text("Invoice 0 is paid")
    page.locator('tr[data-index="0"]').focus()
    page.keyboard.press("End")
    expect(page.locator("tbody")).to_contain_text(f"Invoice {COUNT - 1} is paid")
    assert page.locator("tbody tr").count() < 100
    page.get_by_role("searchbox").fill("invoice 77777 is")
    expect(page.locator("main")).to_contain_text("1 memory contains")


def test_ten_thousand_memories_are_changed_until_the_reader_stops_it(open_page: Open, mem: Memotherm) -> None:
    """The page says how many can be chosen; what was changed before the stop is undone from the toast."""
    page = open_page("/memories")
    page.get_by_role("checkbox").first.check()
    bar = page.get_by_role("group", name="Actions on the chosen memories")
    expect(bar).to_contain_text("At most 10.000 memories are changed at once")
    bar.get_by_role("button", name="Choose the first 10.000").click()
    expect(bar).to_contain_text("10.000 memories chosen")
    bar.get_by_role("button", name="Forget").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget").click()
    bar.get_by_role("button", name="Stop").click()
    expect(page.locator(".toast")).to_contain_text("Forgot")
    forgotten = COUNT - mem.count()
    assert 0 < forgotten <= 10_000
    expect(page.locator(".toast")).to_contain_text(f"Forgot {forgotten:,} memories".replace(",", "."))
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.locator(".toast").last).to_contain_text("Undone")
    assert mem.count() == COUNT


def test_the_files_of_a_list_hold_all_of_it(open_page: Open, mem: Memotherm) -> None:
    """Not what the page has loaded, nor a round number of it."""
    page = open_page("/memories?q=invoice+9")
    count = mem.count(contains="invoice 9")
    expect(page.locator("main")).to_contain_text(f"{count:,} memories contain".replace(",", "."))
    assert 10_000 < count < COUNT
    with page.expect_download(timeout=20 * PATIENCE) as saved:
        page.get_by_role("button", name=".json of memories").click()
    rows = json.loads(saved.value.path().read_text())
    assert sum("Invoice 9" in row["content"] for row in rows) == count
    assert len({row["id"] for row in rows}) == len(rows)


def test_a_page_is_small(open_page: Open, mem: Memotherm) -> None:
    """Less than 200 kB come over the wire without a cache."""
    page = open_page("/memories")
    client = page.context.new_cdp_session(page)
    received: list[int] = []
    client.on("Network.loadingFinished", lambda event: received.append(int(event["encodedDataLength"])))
    client.send("Network.enable")
    client.send("Network.setCacheDisabled", {"cacheDisabled": True})
    page.reload()
    expect(page.locator("tbody")).to_contain_text(f"Invoice {COUNT - 1} is paid")
    assert 20_000 < sum(received) < 200_000
