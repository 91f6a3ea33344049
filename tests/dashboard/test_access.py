"""Who may see the dashboard, and what an empty store and a reader who may only read see."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

import memotherm
from memotherm import Memotherm
from tests.dashboard.conftest import Open, served, violations


@pytest.fixture(scope="module")
def mem(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memotherm]:
    """An empty store."""
    with memotherm.open(tmp_path_factory.mktemp("access") / "memory.db", embedder="none") as found:
        yield found


def test_an_empty_store_shows_first_steps_until_something_is_stored(open_page: Open, mem: Memotherm) -> None:
    """The first memory can be stored on the page itself; nothing is said to match no filter."""
    page = open_page("/memories")
    expect(page.locator("main")).to_contain_text("There are no memories here yet.")
    page.goto(f"{page.url.split('#')[0]}#/memories?kind=fact")
    expect(page.locator("main")).to_contain_text("No memory matches.")
    page.goto(f"{page.url.split('#')[0]}#/")
    expect(page.get_by_role("heading", name="First steps")).to_be_visible()
    assert violations(page) == []
    page.get_by_label("Something that an agent should know").fill("We deploy on Fridays")
    page.get_by_role("button", name="Remember it").click()
    expect(page.get_by_role("heading", name="The last turn")).to_be_visible()
    assert [memory.content for memory in mem.find()] == ["We deploy on Fridays"]
    expect(page.locator("main")).to_contain_text("Degraded:")


def test_the_first_view_asks_for_its_modules_at_once(open_page: Open, mem: Memotherm) -> None:
    """A module that the page does not name comes a round of requests later: more than a second on a slow line."""
    page = open_page("/")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith(".js") else None)
    page.reload()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    modules = page.locator("link[rel=modulepreload], script[type=module][src]")
    named = modules.evaluate_all("all => all.map((e) => e.href || e.src)")
    assert sorted(name for name in asked if "uPlot" not in name) == sorted(named)
    # A browser has six connections to a server: two rounds, with the style.
    assert len(named) <= 11


def test_the_data_of_the_first_page_is_asked_for_while_its_modules_load(open_page: Open, mem: Memotherm) -> None:
    """Otherwise it comes a round of requests later. Each answer is used: nothing is asked for twice."""
    page = open_page("/memories")
    address = page.url.split("#")[0]
    page.goto("about:blank")
    held: list[Route] = []
    page.route("**/app.js", lambda route: held.append(route))  # noqa: PLW0108 - a built-in function cannot be a handler
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(address)))
    with page.expect_request("**/attention"):
        page.goto(address, wait_until="commit")
    first = ["attention", "login", "receipts?limit=1&entries=false", "scopes", "status?include_narrower=true"]
    assert sorted(each for each in asked if each in first) == first
    # What the first response shows until they are there.
    expect(page.get_by_role("heading", name="Memotherm")).to_be_visible()
    expect(page.get_by_role("progressbar", name="Loading")).to_be_visible()
    held[0].continue_()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    expect(page.locator("main .loading")).to_have_count(0)
    # The choice of scopes in the sidebar reads those of the whole login.
    assert sorted(each for each in asked if each in first) == sorted([*first, "scopes"])


def test_a_lost_server_is_reported_in_plain_words_and_the_page_reconnects(open_page: Open, mem: Memotherm) -> None:
    """What is shown stays; a page that could not be loaded, and one that could, are there when the server is back."""
    mem.remember("The lighthouse is white", key="lighthouse")
    page = open_page("/memories", expected=("ERR_INTERNET_DISCONNECTED", "ERR_NETWORK"))
    expect(page.locator("tbody")).to_contain_text("The lighthouse is white")
    page.context.set_offline(True)
    page.get_by_role("searchbox").first.fill("lighthouse")
    banner = page.locator(".banner")
    expect(banner).to_contain_text("The server does not respond.")
    page.get_by_role("link", name="Health", exact=True).click()
    expect(page.locator("main")).to_contain_text("The server does not respond")
    assert "Failed to fetch" not in page.locator("body").inner_text()
    page.context.set_offline(False)
    expect(banner).to_have_count(0)
    expect(page.get_by_role("heading", name="Checks")).to_be_visible()
    page.get_by_role("link", name="Memories", exact=True).click()
    expect(page.locator("tbody")).to_contain_text("The lighthouse is white")
    mem.forget(mem.get(key="lighthouse").id)


def test_a_key_logs_in_and_a_read_only_one_offers_no_changes(tmp_path: Path, open_page: Open) -> None:
    """A wrong key is refused; the right one shows its tenant only; nothing is kept where scripts can read it."""
    with memotherm.open(tmp_path / "memory.db", embedder="none") as mem:
        acme = mem.scoped(tenant="acme")
        acme.remember("An otter of acme")
        mem.scoped(tenant="rival").remember("A heron of the rival")
        secret = mem.keys.create("audit", "acme", read_only=True)
        with served(mem, require_keys=True) as address:
            page = open_page("/memories", at=address, expected=(401,))
            page.get_by_label("API key").fill("mtk_wrong")
            page.get_by_role("button", name="Log in").click()
            expect(page.get_by_role("alert")).to_contain_text("unknown or was revoked")
            assert violations(page) == []
            page.get_by_label("API key").fill(secret)
            page.get_by_role("button", name="Log in").click()
            expect(page.locator("tbody")).to_contain_text("An otter of acme")
            assert "rival" not in page.locator("main").inner_text()
            expect(page.get_by_text("read-only")).to_be_visible()
            expect(page.get_by_role("checkbox")).to_have_count(0)
            page.get_by_role("link", name="An otter of acme").click()
            expect(page.get_by_role("heading", name="History")).to_be_visible()
            expect(page.get_by_role("button", name="Forget")).to_have_count(0)
            kept = page.evaluate("[document.cookie, {...localStorage}, {...sessionStorage}]")
            assert kept == ["", {}, {}]
            page.get_by_role("button", name="Log out").click()
            expect(page.get_by_label("API key")).to_be_visible()
            page.context.close()


def test_the_token_of_the_address_logs_one_browser_in(mem: Memotherm, open_page: Open) -> None:
    """It leaves the address at once, a reload keeps the login of a person, and a second browser is asked for a key."""
    with served(mem, require_keys=True, token="once") as address:
        page = open_page("/memories?token=once", at=address)
        expect(page.get_by_role("heading", name="Memories")).to_be_visible()
        assert "once" not in page.url
        page.reload()
        expect(page.get_by_role("heading", name="Memories")).to_be_visible()
        # What is done after such a login is done by a person, and what a program did by an agent.
        memory = mem.scoped(project="dock").remember("The dock is open")
        page.goto(f"{address}/#/memory/{memory.id}")
        page.get_by_role("button", name="Pin", exact=True).click()
        history = page.get_by_role("region", name="History")
        expect(history.get_by_role("listitem").filter(has_text="Stored")).to_contain_text("by agent")
        expect(history.get_by_role("listitem").filter(has_text="pinned")).to_contain_text("by person")
        second = open_page("/?token=once", at=address, expected=(401,))
        expect(second.get_by_role("alert").first).to_contain_text(
            "This login link is wrong, was used before, or has ended"
        )
        expect(second.get_by_label("API key")).to_be_visible()
        page.context.close()
        second.context.close()
        mem.scoped(project="dock").erase()
