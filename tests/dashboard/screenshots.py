"""Make the pictures of the dashboard in the docs, from the store of a team: `make screenshots`."""

from __future__ import annotations

import tempfile
from contextlib import chdir
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

import memotherm
from memotherm import Memotherm
from memotherm.testing import FakeClock
from tests.dashboard.conftest import PATIENCE, chromium, screenshot_folder, served
from tests.team import END, make

#: The forms of a picture: the width and height of the window, and the colour scheme.
_FORMS = {"light": (1440, 1000, "light"), "dark": (1440, 1000, "dark"), "phone": (390, 844, "light")}
_TOKEN = "pictures"


def pages(mem: Memotherm) -> dict[str, tuple[str, str]]:
    """Return the address of each page, and a text that it shows when it is complete."""
    (memory,) = mem.find(contains="staging database", include_narrower=True)
    start = next(
        each.number
        for each in mem.receipts.list(limit=50)
        if each.query is None and each.scope.project == "payments-api"
    )
    return {
        "overview": ("/", "The last turn"),
        "memories": ("/memories", "memories"),
        "memory": (f"/memories?open={memory.id}", "Recalled"),
        "activity": ("/activity", "Undo"),
        "conflicts": ("/conflicts", "Both hold"),
        "playground": (
            "/playground?q=which+port+does+the+staging+database+use%3F&scope=project%3Dpayments-api&budget=120",
            "tokens",
        ),
        "prompts": (f"/prompts?receipt={start}", "In the prompt"),
        "costs": ("/costs?price=3", "By session"),
        "rules": ("/rules", "Goes to"),
    }  # fmt: skip


def picture(page: Page, address: str, name: str, path: str, text: str) -> None:
    """Make the pictures of a page that the docs show."""
    shown = (screenshot_folder().parents[1] / "how-to" / "dashboard.md").read_text("utf-8")
    for form, (width, height, scheme) in _FORMS.items():
        if f"{name}-{form}.png" not in shown:
            continue
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
        make(path)
        with memotherm.open(path, clock=FakeClock(END)) as mem, served(mem, require_keys=True, token=_TOKEN) as address:
            browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
            page = browser.new_page(locale="en-GB", timezone_id="UTC")
            page.clock.set_fixed_time(END)
            # Logged in as `memotherm dashboard` does it, as a person.
            page.goto(f"{address}/#/?token={_TOKEN}")
            expect(page.get_by_role("button", name="Log out")).to_be_visible()
            for name, (path_of_page, text) in pages(mem).items():
                picture(page, address, name, path_of_page, text)
            browser.close()


if __name__ == "__main__":
    main()
