"""Make the pictures of the dashboard in the docs, from a store of a year: `make screenshots`."""

from __future__ import annotations

import tempfile
from contextlib import chdir
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

import memotherm
from memotherm import Memotherm
from memotherm.testing import FakeClock, HashEmbedder
from tests.dashboard.conftest import PATIENCE, chromium, screenshot_folder, served
from tests.year import END, make

#: The forms of a picture: the width and height of the window, and the colour scheme.
_FORMS = {"light": (1440, 1000, "light"), "dark": (1440, 1000, "dark"), "phone": (390, 844, "light")}


def pages(mem: Memotherm) -> dict[str, tuple[str, str]]:
    """Return the address of each page, and a text that it shows when it is complete."""
    edited = (each for each in mem.find(include_narrower=True, limit=1000) if "corrected by" in each.content)
    # Not every machine has the fonts of all scripts.
    memory = next(each for each in edited if each.content.isascii())
    return {
        "overview": ("/?period=365d", "The last turn"),
        "memories": ("/memories?order=most_used", "memories"),
        "memory": (f"/memories?open={memory.id}", "Recalled"),
        "activity": ("/activity", "Undo"),
        "conflicts": ("/conflicts?scope=project%3Ddeploys", "Both hold"),
        "review": ("/review", "Reject"),
        "playground": ("/playground?q=When+is+the+checkout+page+deployed%3F&scope=project%3Dshop", "tokens"),
        "prompts": ("/prompts", "In the prompt"),
        "costs": ("/costs?period=90&price=3", "By session"),
        "rules": ("/rules", "Goes to"),
        "health": ("/health", "Settings"),
    }


def move_some(mem: Memotherm) -> None:
    """Move some memories today, for the list of moves."""
    shop = mem.scoped(project="shop")
    shop.compact()
    warm = shop.find(tier="warm", priority="normal", limit=100)
    first, second, third = [each for each in warm if each.content.isascii()][:3]
    shop.move(first.id, "hot", "needed for the release")
    shop.move(second.id, "cold", "the project has moved on")
    shop.forget(third.id, "it was wrong")


def leave_some_undecided(mem: Memotherm) -> None:
    """Store conflicts and proposals in a scope of their own."""
    deploys = mem.scoped(project="deploys")
    deploys.by("person").remember("The staging port is 5433")
    for content in ("The staging port is 5544", "We deploy on Fridays", "We no longer deploy on Fridays"):
        deploys.remember(content)
    for content in (
        "Ana owns the checkout page",
        "Invoices are sent by e-mail",
        "The warehouse closes at noon on Fridays",
    ):
        deploys.remember(content, source="extracted", tags=["people"] if "Ana" in content else [])


def picture(page: Page, address: str, name: str, path: str, text: str) -> None:
    """Make a picture of a page in each form."""
    for form, (width, height, scheme) in _FORMS.items():
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.goto("about:blank")
        page.goto(f"{address}/#{path}")
        expect(page.locator("main")).to_contain_text(text)
        expect(page.locator(".loading, [aria-busy=true]")).to_have_count(0)
        expect(page.locator("figure canvas")).to_have_count(page.locator("figure").count())
        page.wait_for_load_state("load")
        page.screenshot(path=screenshot_folder() / f"{name}-{form}.png")


def main() -> None:
    """Make all pictures."""
    screenshot_folder().mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=4 * PATIENCE)
    # The page Health shows the path of the store, so it is one without the folders of a machine.
    with tempfile.TemporaryDirectory() as folder, chdir(folder), sync_playwright() as playwright:
        path = Path("agent.db")
        make(path, 400, embedder=HashEmbedder())
        with memotherm.open(path, clock=FakeClock(END), embedder=HashEmbedder()) as mem, served(mem) as address:
            move_some(mem)
            leave_some_undecided(mem)
            browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
            page = browser.new_page(locale="en-GB", timezone_id="UTC")
            page.clock.set_fixed_time(END)
            for name, (path_of_page, text) in pages(mem).items():
                picture(page, address, name, path_of_page, text)
            browser.close()


if __name__ == "__main__":
    main()
