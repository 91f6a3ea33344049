"""The pages Conflicts and Review, and a wrong fact that is corrected in the browser and stays corrected."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from memotherm import Memotherm
from memotherm.hooks import log as hook_log
from tests.dashboard.conftest import Open, Scratch, overflow, served, violations_in_both_schemes


@pytest.fixture
def address_of_a_person(mem: Memotherm) -> Iterator[str]:
    """Serve the memory as to somebody who has logged in."""
    with served(mem.by("person")) as url:
        yield url


def undo(page: Page, done: str) -> None:
    """Undo the change that a toast reports."""
    page.locator(".toast").filter(has_text=done).get_by_role("button", name="Undo").click()
    expect(page.locator(".toast").last).to_contain_text(f"Undone: {done}")


def assert_accessible_on_every_screen(page: Page) -> None:
    """Axe finds nothing in either colour scheme, and a phone shows the page without scrolling sideways."""
    assert violations_in_both_schemes(page) == []
    page.set_viewport_size({"width": 360, "height": 800})
    assert overflow(page) <= 0
    page.set_viewport_size({"width": 1280, "height": 900})


def test_a_conflict_is_shown_decided_and_taken_back(address_of_a_person: str, open_page: Open, mem: Memotherm) -> None:
    """Conflicts of narrower scopes are listed, too, with what counts meanwhile and why; what holds twice is left."""
    view = mem.scoped(project="harbour")
    page = open_page("/conflicts?scope=project%3Dharbour", at=address_of_a_person)
    expect(page.locator("main")).to_contain_text("No memories disagree.")
    person = view.by("person").remember("The staging port is 5433")
    agent = view.remember("The staging port is 5544")
    page.goto(f"{page.url.split('#')[0]}#/conflicts")
    conflict = page.get_by_role("article", name="staging port …")
    expect(conflict.locator("mark")).to_have_text(["5544", "5433"])
    wins = conflict.locator(".wins")
    expect(wins).to_contain_text("5433")
    expect(wins).to_contain_text("counts meanwhile a person is trusted more than an agent")
    assert_accessible_on_every_screen(page)

    conflict.get_by_role("button", name="Keep this 1: The staging port is 5544").click()
    expect(conflict).to_have_count(0)
    assert (view.get(person.id).retention, view.get(agent.id).retention) == ("archived", "active")
    undo(page, "Kept one and archived the other")
    expect(conflict).to_be_visible()
    assert view.get(person.id).retention == "active"
    conflict.get_by_role("button", name="Both hold").click()
    expect(conflict).to_have_count(0)
    assert view.conflicts() == []
    undo(page, "Verified both")
    expect(conflict).to_be_visible()


def test_the_first_page_says_whether_anything_is_wrong(
    open_page: Open, scratch: Scratch, mem: Memotherm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Conflicts, proposals, jobs of hooks, missed deadlines and an old backup; "All well" when there is none."""
    monkeypatch.setenv("MEMOTHERM_HOME", str(tmp_path))
    calm = scratch(project="calm")
    calm.remember("The heron stands in the reeds")
    mem.checkpoint(tmp_path / "backup.db")
    area = open_page("/?scope=project%3Dcalm").get_by_role("region", name="Is anything wrong?")
    expect(area).to_have_text("Is anything wrong?All well.")
    calm.remember("The gate of the mill opens at 8")
    calm.remember("The gate of the mill opens at 9")
    assert len(calm.conflicts()) == 1
    hook_log.add(hook_log.DEADLINE, "prompt")
    expect(area).to_contain_text("1 conflict:")
    expect(area).to_contain_text("1 recall missed its deadline")
    expect(area).not_to_contain_text("All well")


def test_what_changes_while_the_stream_of_events_is_opened_is_shown(open_page: Open, scratch: Scratch) -> None:
    """The page was loaded before the change, and the server sends the events from after it."""
    view = scratch(project="between")
    view.remember("The ferry leaves at 8")
    page = open_page("/health")
    opened: list[Route] = []

    def hold(route: Route) -> None:
        opened.append(route)

    page.route("**/events/stream*", hold)
    with page.expect_request("**/events/stream*"):
        page.goto(f"{page.url.partition('#')[0]}#/?scope=project%3Dbetween")
        area = page.get_by_role("region", name="Is anything wrong?")
        expect(area).to_have_text("Is anything wrong?All well.")
    view.remember("The ferry leaves at 9")
    for route in opened:
        route.continue_()
    expect(area).to_contain_text("1 conflict:")


def test_one_key_decides_a_conflict(open_page: Open, mem: Memotherm) -> None:
    """Of the conflict in the frame: 1 keeps the newer memory, 2 the older one, b both; j and k choose another one."""
    view = mem.scoped(project="keys")
    ports = [view.remember(f"The {name} port is {port}") for name in ("red", "blue", "green") for port in (5433, 5544)]
    page = open_page("/conflicts?scope=project%3Dkeys")
    conflicts, current = page.locator(".conflict"), page.locator(".conflict[aria-current]")
    expect(current).to_have_attribute("aria-label", "green port …")
    page.keyboard.press("j")
    expect(current).to_have_attribute("aria-label", "blue port …")
    page.keyboard.press("2")
    expect(conflicts).to_have_count(2)
    assert [view.get(each.id).retention for each in ports[2:4]] == ["active", "archived"]
    expect(current).to_have_attribute("aria-label", "red port …")
    page.keyboard.press("1")
    expect(conflicts).to_have_count(1)
    assert [view.get(each.id).retention for each in ports[:2]] == ["archived", "active"]
    page.keyboard.press("k")
    page.keyboard.press("b")
    expect(page.locator("main")).to_contain_text("No memories disagree.")
    assert [view.get(each.id).retention for each in ports[4:]] == ["active", "active"]
    undo(page, "Verified both")
    expect(current).to_have_attribute("aria-label", "green port …")
    page.keyboard.press("/")
    page.keyboard.press("1")
    expect(conflicts).to_have_count(1)


def test_proposals_are_edited_approved_and_rejected_alone_or_together(
    address_of_a_person: str, open_page: Open, mem: Memotherm
) -> None:
    """The overview says how many wait; each decision can be undone, and an edit does not approve."""
    view = mem.scoped(project="shop")
    page = open_page("/review", at=address_of_a_person)
    expect(page.locator("main")).to_contain_text("No proposal waits.")
    ids = [view.remember(f"Ana works at the {place}", source="extracted:qwen").id for place in ("dock", "port", "pier")]
    page.goto(f"{page.url.split('#')[0]}#/")
    notice = page.locator(".notice", has_text="proposals wait")
    expect(notice).to_contain_text("3 proposals wait")
    notice.get_by_role("link", name="Review").click()
    listed = page.locator(".proposal")
    expect(listed).to_have_count(3)
    assert_accessible_on_every_screen(page)

    page.get_by_role("button", name="Edit Ana works at the dock").click()
    page.get_by_label("Content").fill("Ana works at the old dock")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("link", name="Ana works at the old dock")).to_be_visible()
    assert view.get(ids[0]).retention == "proposed"
    page.get_by_role("button", name="Approve Ana works at the old dock").click()
    expect(listed).to_have_count(2)
    assert view.get(ids[0]).retention == "active"
    undo(page, "Approved 1 memory")
    expect(listed).to_have_count(3)

    page.get_by_label("Choose Ana works at the port").check()
    page.get_by_label("Choose Ana works at the pier").check()
    page.get_by_role("button", name="Reject 2 chosen").click()
    page.get_by_role("dialog").get_by_role("button", name="Reject").click()
    expect(listed).to_have_count(1)
    assert [view.history(each)[-1].action for each in ids[1:]] == ["reject", "reject"]
    undo(page, "Rejected 2 memories")
    expect(listed).to_have_count(3)
    page.get_by_label("Choose all").check()
    page.get_by_role("button", name="Approve 3 chosen").click()
    page.get_by_role("dialog").get_by_role("button", name="Approve").click()
    expect(page.locator("main")).to_contain_text("No proposal waits.")
    assert [view.get(each).retention for each in ids] == ["active"] * 3


def test_a_wrong_fact_is_corrected_and_stays_corrected(open_page: Open, mem: Memotherm, address: str) -> None:
    """What an agent stored is edited in place; capture does not bring the old form back, and undo does."""
    view = mem.scoped(project="shop")
    wrong, right = "The heron nests at the north gate", "The heron nests at the south gate"
    heron = view.remember(wrong, valid_until="2026-11-20")
    page = open_page("/memories?q=heron+nests")
    page.get_by_role("link", name=wrong).click()
    drawer = page.get_by_role("complementary")
    expect(drawer).to_contain_text("until 2026-11-20")
    expect(drawer.locator("dt:text-is('Trust') + dd")).to_have_text("agent")
    drawer.get_by_role("button", name="Edit").click()
    drawer.get_by_label("Content").fill(right)
    drawer.get_by_role("button", name="Save").click()
    expect(drawer.locator(".memory-content")).to_have_text(right)

    sent = {"content": f"{wrong.upper()}."}
    response = httpx.post(f"{address}/memories:capture", json=sent, headers={"Memotherm-Scope": "project=shop"})
    assert response.json()["status"] == "skipped"
    page.reload()
    expect(page.locator("td.content-cell a")).to_have_text([right])
    history = page.get_by_role("region", name="History")
    history.get_by_role("button", name="Undo event").first.click()
    expect(drawer.locator(".memory-content")).to_have_text(wrong)
    assert view.get(heron.id).content == wrong
