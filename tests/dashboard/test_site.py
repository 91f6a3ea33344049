"""The site of the docs, opened from the disk: `make site` builds it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

SITE = Path(__file__).parents[2] / "build" / "site"


def test_the_docs_are_searched_from_the_disk(browser: Browser) -> None:
    """A browser refuses files and workers to such a page; a hit opens its page, and nothing comes from elsewhere."""
    if not (SITE / "index.html").exists():
        pytest.skip("`make site` builds the site")
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((SITE / "index.html").as_uri())
    page.get_by_role("button", name="Search").first.click()
    page.keyboard.type("undo dashboard")
    expect(page.get_by_text(re.compile(r"^\d+ results$"))).to_be_visible()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("dashboard"))
    assert {url.partition(":")[0] for url in asked} <= {"file", "blob", "data"}
    page.close()
