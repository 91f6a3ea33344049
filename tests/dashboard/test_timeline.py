"""The page Timeline: what was said when, and imports of past sessions that are taken back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from playwright.sync_api import expect

from memotherm import Memotherm
from tests.dashboard.conftest import NOW, Open, overflow, served, violations_in_both_schemes

BATCH = "backfill-20260630-090000-ab12"


@pytest.fixture
def address(mem: Memotherm) -> Iterator[str]:
    """Serve the memory as to somebody who has logged in."""
    with served(mem.by("person")) as url:
        yield url


def past(number: int, day: int, text: str) -> dict[str, object]:
    """Return a text of a past session, as a backfill stores it."""
    return {
        "content": text, "kind": "message", "tier": "warm", "source": "history:codex", "trust": "person",
        "scope": {"project": "harbour", "agent": "history"}, "state": {"id": f"mem_{number:026}"},
        "metadata": {"session": f"s{number}", "files": ["db/orders.sql"]},
        "created_at": datetime(2026, 3, day, 9, tzinfo=UTC),
    }  # fmt: skip


def test_a_month_of_long_ago_is_shown_and_an_import_is_undone(open_page: Open, mem: Memotherm) -> None:
    """Days, projects and sessions in the range of the address; the import is undone, and nothing else."""
    person = mem.by("person")
    texts = [past(1, 5, "The crane is rented from Liebherr."), past(2, 17, "Berth 4 is closed.")]
    person.store.add_history(texts, BATCH, NOW)
    kept = person.scoped(project="harbour").remember("The crane is yellow")
    page = open_page("/timeline?since=2026-03-01&until=2026-03-10")
    shown = page.locator("main section:has(h2.day)")
    expect(shown).to_have_count(1)
    expect(shown).to_contain_text("The crane is rented from Liebherr.")
    expect(shown).to_contain_text("db/orders.sql")
    expect(shown.get_by_role("heading", name="harbour")).to_be_visible()
    assert violations_in_both_schemes(page) == []
    page.set_viewport_size({"width": 360, "height": 800})
    assert overflow(page) <= 0
    page.set_viewport_size({"width": 1280, "height": 900})

    page.get_by_role("button", name=f"Undo all of {BATCH}").click()
    page.get_by_role("dialog").get_by_role("button", name="Undo all").click()
    expect(page.locator(".toast").last).to_contain_text("Undone: 2 memories")
    expect(page.locator("main")).to_contain_text("Nothing was said in this period.")
    expect(page.get_by_role("region", name="Imports of past sessions")).to_contain_text("0 left")
    assert [memory.id for memory in mem.find(include_narrower=True, contains="crane")] == [kept.id]
