"""The pages Overview, Memories, A memory and Activity: what they show, and every action with its undo."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from memotherm import Memotherm
from memotherm.errors import NotFound
from tests.dashboard.conftest import Open, Scratch, overflow, violations, violations_in_both_schemes

BILLING = {"project": "billing", "user": "ana"}


def otter(mem: Memotherm) -> str:
    return mem.scoped(**BILLING).get(key="otter").id


def rows(page: Page) -> list[str]:
    return page.locator("tbody tr[data-index] td.content-cell a").all_inner_texts()


def undo(page: Page) -> None:
    page.locator(".toast").get_by_role("button", name="Undo").last.click()


def test_pages_are_accessible_and_fit_a_phone(open_page: Open, mem: Memotherm) -> None:
    """Axe finds nothing in either colour scheme, no page is wider than 360 pixels, and buttons are large there."""
    page = open_page("/")
    found = []
    for path, text in (
        ("/", "The last turn"), ("/memories", "Invoice 239"), (f"/memories?open={otter(mem)}", "History"),
        (f"/memory/{otter(mem)}", "History"), ("/activity", "needed today"),
    ):  # fmt: skip
        page.goto(f"{page.url.split('#')[0]}#{path}")
        page.set_viewport_size({"width": 1280, "height": 900})
        expect(page.locator("main")).to_contain_text(text)
        found += [f"{path}: {violation}" for violation in violations_in_both_schemes(page)]
        page.set_viewport_size({"width": 360, "height": 800})
        assert overflow(page) <= 0, path
        found += [f"{path} on a phone: {violation}" for violation in violations(page, "target-size")]

    assert found == []


def test_the_overview_answers_in_one_look_and_follows_changes(open_page: Open, mem: Memotherm) -> None:
    """What is in every prompt with a way out, the last turn, the last day, and the tiers; all as the store has it."""
    page = open_page("/?period=7d")
    listed = page.get_by_role("region", name="What a prompt starts with")
    start = mem.scoped(project="billing", user="ana").inspect.start()
    expect(listed).to_contain_text("Answer in the language of the question")
    expect(listed).to_contain_text(f"{len(start.included)} memories, {start.tokens} of 2.000 tokens")
    expect(page.get_by_role("region", name="The last turn")).to_contain_text("where does the otter live?")
    day = page.get_by_role("region", name="The last 24 hours")
    expect(day).to_contain_text("needed today")
    expect(page.locator("figure canvas")).to_be_visible()
    legend = page.locator("figure .legend")
    expect(legend).to_contain_text("30. Juni 2026, 18:00")
    page.locator("figure .u-over").hover(position={"x": 200, "y": 50})
    expect(legend).not_to_contain_text("30. Juni 2026, 18:00")
    hot = mem.status(include_narrower=True).tiers["hot"].memories  # type: ignore[index]
    expect(page.locator(".stats")).to_contain_text(str(hot))

    heron = mem.scoped(project="shop").remember("The heron stands in the reeds", tier="hot", priority="critical")
    expect(listed).not_to_contain_text("The heron stands in the reeds")
    listed.get_by_role("combobox").select_option("shop")
    started = mem.scoped(project="shop").inspect.start()
    expect(listed).to_contain_text(f"{len(started.included)} memories, {started.tokens} of 2.000 tokens")
    expect(listed).to_contain_text(f"Left out: {len(started.left_out)}")
    listed.get_by_role("button", name="Cool The heron").click()
    expect(page.locator(".toast")).to_contain_text("Moved to warm 1 memory")
    assert mem.get(heron.id, include_narrower=True).tier == "warm"
    page.reload()
    expect(page.get_by_label("Period")).to_have_value("7d")


def test_a_long_run_hides_nothing_of_the_last_day(open_page: Open, scratch: Scratch) -> None:
    """An import of hundreds is one line with its whole number, and what was done before it stays in view."""
    view = scratch(project="archive")
    view.remember_many([{"content": f"Letter {number} was sent to the harbour office"} for number in range(300)])
    page = open_page("/")
    day = page.get_by_role("region", name="The last 24 hours")
    expect(day).to_contain_text("Stored 300 memories")
    expect(day).to_contain_text("needed today")


def test_an_open_task_is_closed_and_opened_again(open_page: Open, mem: Memotherm) -> None:
    """The newest are listed, with their deadlines."""
    shop = mem.scoped(project="shop")
    task = shop.capture("The VAT report is due on 2026-09-14").memory
    assert task is not None
    page = open_page("/")
    tasks = page.get_by_role("region", name="Open tasks")
    expect(tasks).to_contain_text("due 2026-09-14")
    tasks.get_by_role("button", name="Close The VAT report").click()
    expect(tasks).not_to_contain_text("The VAT report")
    assert shop.get(task.id).metadata["status"] == "done"
    undo(page)
    expect(tasks).to_contain_text("The VAT report")
    assert task.id in {each.id for each in shop.tasks()}


def test_hot_over_its_budget_is_said_and_mended(open_page: Open, scratch: Scratch) -> None:
    """The least used go to warm until the others fit; the change can be undone."""
    view = scratch(project="full")
    view.remember_many([{"content": f"Dock {number} " + "is full " * 60, "tier": "hot"} for number in range(30)])
    tokens = sum(memory.tokens for memory in view.find(tier="hot"))
    page = open_page("/?scope=project%3Dfull")
    alert = page.locator(".notice", has_text="Hot is over its budget")
    expect(alert).to_contain_text(f"{tokens:,} of 2,000 tokens".replace(",", "."))
    alert.get_by_role("button", name="Cool the least used").click()
    expect(alert).to_have_count(0)
    left = sum(memory.tokens for memory in view.find(tier="hot"))
    assert 1900 < left <= 2000
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if "undo" in request.url else None)
    undo(page)
    expect(alert).to_be_visible()
    assert len(sent) == 1, "a run is undone by one request"


def test_activity_has_every_change_by_day_with_filters_and_undo(open_page: Open, mem: Memotherm) -> None:
    """Edits with their difference, moves with reasons; one event, and all of a run, are undone."""
    view = mem.scoped(project="shop")
    crane = view.remember("The crane lifts ten tons")
    view.update(crane.id, content="The crane lifts twelve tons", why="a new crane")
    page = open_page("/activity")
    day = page.get_by_role("region", name="Today")
    row = day.locator("li.event", has_text="a new crane")
    expect(row.locator("del")).to_have_text("ten")
    expect(row.locator("ins")).to_have_text("twelve")
    row.get_by_role("button", name=re.compile("Undo")).click()
    expect(page.locator(".toast")).to_contain_text("Undone: Edited")
    assert view.get(crane.id).content == "The crane lifts ten tons"

    # A change elsewhere appears without a reload, and an import is one row.
    view.remember_many([{"content": f"Barge {number} is late"} for number in range(7)])
    run = day.locator("li.event", has_text="Stored 7 memories")
    # A key reaches it even if another change moves the row.
    run.get_by_text("Show each").press("Enter")
    expect(run).to_contain_text("Barge 3 is late")
    run.get_by_role("button", name="Undo all: the run").click()
    page.get_by_role("dialog").get_by_role("button", name="Undo all").click()
    expect(page.locator(".toast").last).to_contain_text("Undone: 7 changes")
    assert view.count(contains="Barge") == 0
    undo(page)
    expect(page.locator(".toast").last).to_contain_text("Done again: 7 changes")
    assert view.count(contains="Barge") == 7

    page.get_by_label("What").select_option("move")
    expect(page.locator("main")).to_contain_text("needed today")
    expect(page.locator("main")).not_to_contain_text("Barge")
    page.reload()
    expect(page.get_by_label("What")).to_have_value("move")

    # The server filters: the first events are found behind hundreds of newer ones, by the reader's day.
    page.get_by_label("What").select_option("")
    page.get_by_label("Day", exact=True).fill("2026-05-21")
    expect(page.locator("main")).to_contain_text("Stored 240 memories")
    expect(page.locator("main .event")).to_have_count(1)
    page.get_by_label("By").fill("nobody")
    expect(page.locator("main")).to_contain_text("Nothing was changed here.")


def test_the_undo_of_what_a_rule_did_names_the_rule(open_page: Open, scratch: Scratch) -> None:
    """In the message, and in the ledger afterwards; a number of an event is no rule."""
    view = scratch(project="rules")
    for place in ("dock", "pier"):
        view.remember(f"Paint the {place}", kind="task", metadata={"status": "done"})
    assert {move.rule for move in view.compact().moves} == {"compact.done"}
    page = open_page("/activity?scope=project%3Drules&action=move")
    page.get_by_text("Show each").click()
    page.get_by_role("button", name=re.compile(r"Undo event")).first.click()
    expect(page.locator(".toast").last).to_contain_text("Undone: Moved by the rule compact.done")
    page.get_by_label("What").select_option("undo")
    told = re.compile(r"took back event \d+, made by the rule compact.done · by")
    expect(page.locator(".event").filter(has_text=told)).to_have_count(1)
    undo(page)
    expect(page.locator(".toast").last).to_contain_text("Done again: Moved by the rule compact.done")
    assert {each.tier for each in view.find()} == {"cold"}
    view.bulk.undo([next(iter(view.events(action="move"))).seq], run=True)
    run = page.locator(".event").filter(has_text="Undid a change: 4 memories")
    expect(run).to_contain_text(re.compile(r"took back event \d+.*, and 3 more · by"))
    expect(page.locator("main")).not_to_contain_text("rule undo:")


def test_a_correction_in_the_ledger_names_what_it_says_now(open_page: Open, scratch: Scratch) -> None:
    """Not its id in the metadata; of other metadata, what was changed."""
    view = scratch(project="berth")
    old = view.remember("The crane of the berth lifts 10 tons", metadata={"ticket": "T-1", "points": 3})
    view.update(old.id, metadata={"ticket": "T-1", "points": 5})
    view.by("person").capture("No, the crane of the berth lifts 12 tons")
    assert "superseded_by" in view.get(old.id).metadata
    page = open_page(f"/memory/{old.id}")
    events = page.get_by_role("region", name="History").locator(".what")
    edited = events.filter(has_text="outdated by")
    expect(edited).to_contain_text("Edited outdated by No, the crane of the berth lifts 12 tons")
    expect(edited.get_by_role("link")).to_be_visible()
    assert "mem_" not in edited.inner_text()
    expect(events.filter(has_text="points")).to_have_text(re.compile("^Edited points 3 → 5"))
    edited.locator("..").get_by_role("button", name="Undo").click()
    expect(events.filter(has_text="no longer outdated")).to_be_visible()


def test_the_texts_of_events_are_one_request(open_page: Open, mem: Memotherm) -> None:
    """However many memories a page names."""
    page = open_page("/review")
    expect(page.get_by_role("heading", name="Review")).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if '"ids"' in (request.post_data or "") else None)
    page.goto(f"{page.url.split('#')[0]}#/activity?scope=project%3Dbilling%3Buser%3Dana")
    expect(page.locator(".event .what a").nth(2)).to_be_visible()
    assert asked == [f"{page.url.split('/#')[0]}/memories:find"]


def test_events_of_policies_are_named_and_have_no_undo(open_page: Open, mem: Memotherm) -> None:
    """A policy is taken back on the page Rules."""
    mem.policies.adopt("research")
    page = open_page("/activity?action=adopt")
    expect(page.locator(".event")).to_contain_text("Adopted a policy")
    expect(page.locator(".event").get_by_role("button")).to_have_count(0)


def test_costs_are_by_the_days_of_the_reader(open_page: Open) -> None:
    """It is the morning of the 30th in Los Angeles, and the prompt was made on the 29th."""
    page = open_page("/costs?period=7d", timezone_id="America/Los_Angeles")
    expect(page.locator(".legend li").first).to_have_text("30. Juni 2026")
    expect(page.locator("figure .hidden")).to_contain_text("tokens in prompts from 0 to 0")


def test_filters_and_the_order_are_in_the_address(open_page: Open, mem: Memotherm) -> None:
    """A reload, and the address in another browser, show the same."""
    page = open_page("/memories")
    page.get_by_role("searchbox").fill("invoice 1")
    page.get_by_role("button", name="hot", exact=True).click()
    page.get_by_text("Filter and sort").click()
    page.get_by_label("Metadata").fill('{"status": "open"}')
    page.get_by_label("Order").select_option("oldest")
    filters = {"contains": "invoice 1", "tier": "hot", "where": {"status": "open"}, "include_narrower": True}
    count = mem.count(**filters)
    assert count > 3
    expect(page.locator("main")).to_contain_text(f"{count} memories contain")
    expect(page.locator("tbody")).to_contain_text("Invoice 1 is")
    expected = rows(page)[:count]
    assert expected == [memory.content for memory in mem.find(order="oldest", **filters)][: len(expected)]

    page.reload()
    expect(page.locator("tbody")).to_contain_text("Invoice 1 is")
    assert rows(page)[: len(expected)] == expected
    page.get_by_label("Scope").select_option(value="project=billing")
    expect(page.locator("main")).to_contain_text("0 memories contain")
    other = open_page(page.url.split("#")[1])
    expect(other.locator("main")).to_contain_text("0 memories contain")
    other.get_by_role("button", name="Remove the filter where").click()
    assert "where" not in other.url


@pytest.mark.parametrize(("bound", "content"), [("condition", "The schema is frozen"), ("files", "Retries are wanted")])
def test_memories_bound_to_a_condition_or_to_files_are_listed(
    bound: str, content: str, open_page: Open, mem: Memotherm
) -> None:
    """Beside other filters, and with the address; the files that a recall found changed are in the activity."""
    billing = mem.scoped(project="billing")
    billing.remember("The schema is frozen", metadata={"ends": {"perhaps": "branch release exists"}, "status": "open"})
    billing.remember("Retries are wanted", metadata={"anchors": [{"path": "src/client.py"}], "status": "open"})
    page = open_page("/memories")
    page.get_by_text("Filter and sort").click()
    page.get_by_label("Metadata").fill('{"status": "open"}')
    page.get_by_label("Bound to").select_option(bound)
    expect(page.locator("main")).to_contain_text("1 memory")
    expect(page.locator("tbody")).to_contain_text(content)
    page.reload()
    expect(page.locator("main")).to_contain_text("1 memory")
    page.get_by_role("button", name="Remove the filter bound").click()
    assert "bound" not in page.url


def test_one_search_finds_by_words_and_by_meaning_and_columns_sort(open_page: Open, mem: Memotherm) -> None:
    """A text that no memory contains still finds the memory that means it; the heading of a column sorts."""
    page = open_page("/memories?scope=project%3Dbilling")
    page.get_by_role("searchbox").fill("lake fish otter")
    expect(page.locator("main")).to_contain_text("0 memories contain")
    expect(page.locator("tbody")).to_contain_text("The otter eats fish in the lake")
    page.get_by_role("button", name="Clear").click()
    page.get_by_role("button", name="Tokens").click()
    expect(page.locator('th[aria-sort="descending"]')).to_contain_text("Tokens")
    largest = mem.scoped(project="billing").find(order="largest", include_narrower=True)[0]
    expect(page.locator('tr[data-index="0"]')).to_contain_text(largest.content)
    page.get_by_role("button", name="Tokens").click()
    expect(page.locator('th[aria-sort="ascending"]')).to_contain_text("Tokens")


def test_no_date_of_the_table_is_cut_off(open_page: Open) -> None:
    """In a locale with long ones, too."""
    page = open_page("/memories?scope=project%3Dbilling%3Buser%3Dana", locale="pt-BR")
    expect(page.locator("td.stored time")).to_have_count(3)
    cut = "cells => cells.filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.innerText)"
    assert page.locator("td.stored, td.used").evaluate_all(cut) == []


def test_a_memory_is_added_found_from_anywhere_and_edited_in_the_drawer(open_page: Open, mem: Memotherm) -> None:
    """`n` adds, the palette finds, the drawer edits in place, Escape closes it, `?` tells the keys."""
    page = open_page("/memories?scope=project%3Dshop")
    expect(page.locator("tbody")).to_contain_text("Invoice")
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="Add a memory")
    dialog.get_by_label("Content").fill("The pelican sleeps at the pier")
    dialog.get_by_label("Tags").fill("bird, pier")
    dialog.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".toast")).to_contain_text("Stored the memory")
    (pelican,) = mem.scoped(project="shop").find(contains="pelican")
    assert pelican.tags == ("bird", "pier")
    # A prompt names it beside the day: no agent has said this.
    assert pelican.source == "dashboard"
    page.get_by_role("link", name="The pelican sleeps").click()
    drawer = page.get_by_role("complementary")
    drawer.get_by_role("button", name="Edit").click()
    drawer.get_by_label("Content").fill("The pelican sleeps at the quay")
    drawer.get_by_role("button", name="Save").click()
    expect(drawer.locator("ins")).to_have_text("quay")
    page.keyboard.press("Escape")
    expect(drawer).to_have_count(0)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search memories and pages").fill("pelican quay")
    expect(page.get_by_role("dialog").get_by_role("option").first).to_contain_text("The pelican sleeps at the quay")
    assert violations(page) == []
    page.keyboard.press("Enter")
    expect(page.locator(".memory-content")).to_have_text("The pelican sleeps at the quay")
    page.keyboard.press("/")
    expect(page.get_by_role("combobox", name="Search memories and pages")).to_be_focused()
    page.keyboard.press("Escape")
    page.close()
    mem.scoped(project="shop").purge(pelican.id)


def test_many_memories_are_changed_at_once_and_the_change_is_undone(open_page: Open, mem: Memotherm) -> None:
    """Chosen with the keyboard or all at once, confirmed, taken back from the toast; a second browser follows."""
    page, other = (open_page("/memories?q=Invoice+11&order=oldest") for _ in range(2))
    filters = {"contains": "Invoice 11", "include_narrower": True}
    count = mem.count(**filters)
    bar = page.get_by_role("group", name="Actions on the chosen memories")
    page.locator('tr[data-index="0"]').focus()
    page.keyboard.press("Space")
    expect(bar).to_contain_text("1 memory chosen")
    page.keyboard.press("ArrowDown")
    # The next row has the focus after the next frame.
    expect(page.locator('tr[data-index="1"]')).to_be_focused()
    page.keyboard.press("Space")
    expect(bar).to_contain_text("2 memories chosen")
    bar.get_by_role("button", name=f"Choose all {count}").click()
    expect(bar).to_contain_text(f"{count} memories chosen")

    bar.get_by_role("button", name="Forget").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"Forget: {count} memories?")
    dialog.get_by_role("button", name="Forget").click()
    expect(page.locator(".toast")).to_contain_text(f"Forgot {count} memories")
    assert mem.count(**filters) == 0
    expect(other.locator("main")).to_contain_text("0 memories contain")
    undo(page)
    expect(page.locator(".toast").last).to_contain_text("Undone")
    assert mem.count(**filters) == count
    expect(other.locator("main")).to_contain_text(f"{count} memories")

    page.locator('tr[data-index="0"] input').check()
    bar.get_by_label("Tags to add").fill("urgent")
    bar.get_by_role("button", name="Tag", exact=True).click()
    expect(page.locator(".toast").last).to_contain_text("Tagged 1 memory")
    page.locator('tr[data-index="0"] input').check()
    bar.get_by_label("Set priority").select_option("important")
    expect(page.locator(".toast").last).to_contain_text("Made important 1 memory")
    (changed,) = mem.find(tags=["urgent"], include_narrower=True)
    assert changed.priority == "important"
    page.locator('tr[data-index="0"] input').check()
    with page.expect_download() as download:
        bar.get_by_role("button", name=".json of chosen memories").click()
    assert changed.id in download.value.path().read_text()


def test_memories_are_moved_to_another_scope_and_back(open_page: Open, mem: Memotherm) -> None:
    """Their ids stay."""
    shop, billing = mem.scoped(project="shop"), mem.scoped(project="billing", user="ana")
    ids = {shop.remember(f"Lighthouse {number} is lit").id for number in range(2)}
    page = open_page("/memories?q=Lighthouse")
    for number in range(2):
        page.get_by_role("checkbox", name=f"Choose Lighthouse {number}").check()
    page.get_by_label("Move to scope").select_option("billing · ana")
    page.get_by_role("dialog").get_by_role("button", name="Move to billing · ana").click()
    expect(page.locator(".toast")).to_contain_text("Moved to billing · ana: 2 memories")
    assert {memory.id for memory in billing.find(contains="Lighthouse")} == ids
    undo(page)
    expect(page.locator(".toast").last).to_contain_text("Undone: Moved")
    assert {memory.id for memory in shop.find(contains="Lighthouse")} == ids
    page.close()
    shop.bulk.purge(contains="Lighthouse")


def test_one_memory_is_moved_and_purged_only_after_a_typed_word(open_page: Open, mem: Memotherm) -> None:
    """Actions of the drawer; purge is apart from them, cannot be undone and says so."""
    view = mem.scoped(project="shop")
    heron = view.remember("A heron for one row")
    # The drawer may read the memory once more when it has just been purged.
    page = open_page("/memories?q=for+one+row", expected=(404,))
    page.get_by_role("link", name="A heron for one row").click()
    drawer = page.get_by_role("complementary")
    drawer.get_by_role("button", name="Move to cold").click()
    expect(page.locator(".toast")).to_contain_text("Moved to cold 1 memory")
    assert view.get(heron.id).tier == "cold"
    undo(page)
    expect(page.locator(".toast").last).to_contain_text("Undone")
    assert view.get(heron.id).tier == "warm"

    expect(drawer.get_by_role("button", name="Purge")).to_have_count(0)
    drawer.get_by_text("Purge this memory").click()
    drawer.get_by_role("button", name="Purge").click()
    confirmation = page.get_by_role("dialog").filter(has_text="Type purge")
    button = confirmation.get_by_role("button", name="Purge")
    expect(button).to_be_disabled()
    confirmation.get_by_label("Type purge").fill("purge")
    button.click()
    expect(page.locator(".toast").last).to_contain_text("Purged 1 memory")
    with pytest.raises(NotFound):
        view.get(heron.id)


def test_keys_of_a_row_mean_what_they_say(open_page: Open, mem: Memotherm) -> None:
    """`e` opens the editor and types nothing; with a modifier, in a field or in a dialog a key is only a key."""
    view = mem.scoped(project="shop")
    heron = view.remember("A heron under the keys")
    page = open_page("/memories?q=under+the+keys")
    row = page.locator("tr[data-id]").filter(has_text="A heron under the keys")
    row.focus()
    for keys in ("Control+e", "Meta+e", "Alt+e", "Control+Delete"):
        page.keyboard.press(keys)
    expect(page.get_by_label("Content")).to_have_count(0)
    page.keyboard.press("e")
    expect(page.get_by_label("Content")).to_be_focused()
    expect(page.get_by_label("Content")).to_have_value("A heron under the keys")
    page.keyboard.press("Delete")
    page.keyboard.press("Escape")
    page.get_by_role("searchbox").first.focus()
    page.keyboard.press("e")
    page.keyboard.press("Delete")
    assert view.get(heron.id).retention == "active"
    page = open_page("/memories?q=under+the+keys")
    row = page.locator("tr[data-id]").filter(has_text="A heron under the keys")
    expect(page.get_by_text("1 memory contains")).to_be_visible()
    row.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary")).to_contain_text("A heron under the keys")
    page.keyboard.press("Escape")
    row.focus()
    page.keyboard.press("Delete")
    expect(page.locator(".toast")).to_contain_text("Forgot 1 memory")
    assert view.get(heron.id).retention == "deleted"


def test_an_edit_notices_that_somebody_else_was_faster(open_page: Open, mem: Memotherm) -> None:
    """Two browsers: the second one is shown the newer text and loses nothing; the edit can be undone."""
    view = mem.scoped(project="shop")
    heron = view.remember("A heron to edit")
    page, other = (open_page(f"/memory/{heron.id}", expected=(412,)) for _ in range(2))
    for each in (page, other):
        each.get_by_role("button", name="Edit").click()
    other.get_by_label("Content").fill("A heron that another browser has edited")
    other.get_by_role("button", name="Save").click()
    expect(other.locator(".toast")).to_contain_text("Edited")

    page.get_by_label("Content").fill("My heron")
    page.get_by_role("button", name="Save").click()
    dialog = page.get_by_role("form", name="Edit the memory")
    expect(dialog).to_contain_text("Somebody else has changed this memory")
    expect(dialog).to_contain_text("another browser has edited")
    dialog.get_by_role("button", name="Keep mine").click()
    dialog.get_by_role("button", name="Save").click()
    expect(page.locator(".toast")).to_contain_text("Edited")
    assert view.get(heron.id).content == "My heron"
    expect(other.locator(".memory-content")).to_have_text("My heron")
    undo(page)
    expect(page.locator(".memory-content")).to_have_text("A heron that another browser has edited")


def test_what_the_server_refuses_is_explained_and_not_lost(open_page: Open, mem: Memotherm) -> None:
    """A NUL and more than a megabyte are refused; the text stays in the dialog, and the memory as it was."""
    view = mem.scoped(project="shop")
    heron = view.remember("A heron that stays")
    page = open_page(f"/memory/{heron.id}", expected=(413, 422))
    page.get_by_role("button", name="Edit").click()
    dialog = page.get_by_role("form", name="Edit the memory")
    for content, reason in (("a\0b", "NUL"), ("x" * 1_000_001, "at most 1000000 characters")):
        dialog.get_by_label("Content").fill(content)
        dialog.get_by_role("button", name="Save").click()
        expect(dialog.get_by_role("alert")).to_contain_text(reason)
        assert dialog.get_by_label("Content").input_value() == content
    assert view.get(heron.id).content == "A heron that stays"
    page.goto(f"{page.url.split('#')[0]}#/memories?q=a%00b")
    expect(page.get_by_role("alert")).to_contain_text("NUL character at position 1")


def test_errors_are_plain_words_and_the_pages_of_a_phone_are_at_the_bottom(open_page: Open, mem: Memotherm) -> None:
    """A wrong address is answered without a pattern; the bar has the first pages and a menu with the others."""
    page = open_page("/memory/nonsense", expected=(422,), viewport={"width": 390, "height": 844})
    expect(page.get_by_role("alert")).to_contain_text("there is no memory with such an id")
    page.goto(f"{page.url.split('#')[0]}#/memories?kind=Bad+Kind")
    expect(page.get_by_role("alert")).to_contain_text("one word of small letters")
    assert "pattern" not in page.locator("main").inner_text()
    bar = page.get_by_role("navigation", name="Pages")
    box = bar.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] == 844
    bar.get_by_text("More").click()
    bar.get_by_role("link", name="Health").click()
    expect(page.get_by_role("heading", name="Checks")).to_be_visible()
    expect(bar.get_by_role("link", name="Health")).to_be_hidden()


def test_a_memory_tells_its_history_neighbours_and_uses(open_page: Open, mem: Memotherm) -> None:
    """Every event with its reason, the words that an edit changed, and the question it was injected for."""
    page = open_page(f"/memory/{otter(mem)}")
    history = page.get_by_role("region", name="History")
    expect(history).to_contain_text("it has moved")
    expect(history.locator("del")).to_have_text("river")
    expect(history.locator("ins")).to_have_text("lake")
    expect(page.get_by_role("region", name="Uses")).to_contain_text("where does the otter live?")
    expect(page.get_by_role("region", name="Neighbours")).to_contain_text("The otter eats fish")
    page.reload()
    expect(history).to_contain_text("it has moved")
    page.get_by_role("link", name="Why was it (not) in the last prompt?").click()
    expect(page.locator(".answer")).to_contain_text("In the prompt")


def test_a_memory_that_the_session_was_given_is_not_said_to_lack_space(open_page: Open, mem: Memotherm) -> None:
    """The reason is the recorded one, with a link to the turn that had it."""
    view = mem.scoped(project="given")
    stored = view.remember_many([{"content": f"Crane {number} lifts", "tier": "hot"} for number in range(40)])
    session = view.session("s1")
    start = session.session_start(budget=4000)
    session.before_turn("who owns the crane?", budget=300)
    last = view.receipts.list().receipts[0].number
    oldest = next(memory for memory in stored if memory.id == start.included[-1].id)
    page = open_page(f"/prompts?receipt={last}&memory={oldest.id}&scope=project%3Dgiven")
    answer = page.locator(".answer")
    expect(answer).to_contain_text("given")
    expect(answer).not_to_contain_text("more important")
    answer.get_by_role("link", name=f"turn {last - 1}").click()
    expect(page.get_by_role("heading", name=re.compile(f"Turn {last - 1}"))).to_be_visible()


def test_hostile_contents_are_only_text(open_page: Open, mem: Memotherm) -> None:
    """Markup is shown and not run, wherever it stands; a megabyte is shown in part, until the reader asks for all."""
    large = mem.scoped(project="shop").remember("x" * 999_000, tags=["hostile"], index=False)
    markup = "<b>bold</b>;a=b&c"
    hostile = mem.scoped(project=markup).remember(
        f"\u202e{markup}", tags=["<i>tag</i>"], key="<u>key</u>", metadata={"<s>": "<img src=x>"}
    )
    mem.scoped(project=markup).move(hostile.id, "cold", "<em>why</em>")
    page = open_page("/memories?tag=hostile")
    expect(page.locator("tbody")).to_contain_text("<script>document.title")
    assert page.title() == "Memories · Memotherm"
    page.get_by_label("Scope").select_option(value=f"project={quote(markup, safe='')}")
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("main")).to_contain_text("1 memory")
    page.get_by_role("link", name=re.compile("bold")).click()
    shown = ("<i>tag</i>", "<u>key</u>", '{"<s>":"<img src=x>"}', "<em>why</em>")
    for text in (f"\u202e{markup}", markup, *shown):
        expect(page.locator("main")).to_contain_text(text)
    page.reload()
    expect(page.locator(".memory-content")).to_have_text(f"\u202e{markup}")
    assert page.locator("main :is(b, i, u, s, img, em)").count() == 0
    page.goto(f"{page.url.split('#')[0]}#/memory/{large.id}")
    page.get_by_role("button", name="Show all 999.000 characters").click()
    assert len(page.locator(".memory-content").inner_text()) == 999_000
