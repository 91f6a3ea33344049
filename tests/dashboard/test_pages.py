"""The pages Now, Memories and A memory: what they show, every action with its undo, and how they are built."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from memotherm import Memotherm
from memotherm.errors import NotFound
from tests.dashboard.conftest import Open, overflow, violations_in_both_schemes

BILLING = {"project": "billing", "user": "ana"}


def otter(mem: Memotherm) -> str:
    return mem.scoped(**BILLING).get(key="otter").id


def rows(page: Page) -> list[str]:
    return page.locator("tbody tr[data-index] td.content-cell").all_inner_texts()


def undo(page: Page) -> None:
    page.locator(".toast").get_by_role("button", name="Undo").last.click()


def test_pages_are_accessible_and_fit_a_phone(open_page: Open, mem: Memotherm) -> None:
    """Axe finds nothing in either colour scheme, and no page is wider than 360 pixels."""
    page = open_page("/")
    found = []
    for path, text in (("/", "Moves today"), ("/memories", "Invoice 239"), (f"/memory/{otter(mem)}", "Versions")):
        page.goto(f"{page.url.split('#')[0]}#{path}")
        page.set_viewport_size({"width": 1280, "height": 900})
        expect(page.locator("main")).to_contain_text(text)
        found += [f"{path}: {violation}" for violation in violations_in_both_schemes(page)]
        page.set_viewport_size({"width": 360, "height": 800})
        assert overflow(page) <= 0, path

    assert found == []


def test_now_shows_tiers_moves_and_their_reasons_and_follows_changes(open_page: Open, mem: Memotherm) -> None:
    """The figures are those of the store; a move elsewhere appears without a reload, and can be undone."""
    page = open_page("/?period=7d")
    status = mem.status(include_narrower=True)
    hot = page.get_by_role("region", name="hot", exact=True)
    expect(hot).to_contain_text(f"{status.tiers['hot'].memories}")  # type: ignore[index]
    moves = page.get_by_role("region", name="Moves today")
    expect(moves).to_contain_text("needed today")
    expect(moves).to_contain_text("explicit")
    expect(page.locator("figure canvas")).to_be_visible()
    expect(page.get_by_text("Live:")).to_be_visible()

    heron = mem.scoped(project="shop").remember("The heron stands in the reeds")
    mem.scoped(project="shop").move(heron.id, "cold", "nobody asks for it")

    row = moves.locator("tr", has_text="nobody asks for it")
    expect(row).to_contain_text("The heron stands")
    page.reload()
    expect(page.get_by_label("Period")).to_have_value("7d")
    row.get_by_role("button", name=re.compile("Undo")).click()
    expect(page.locator(".toast")).to_contain_text("Undone")
    assert mem.get(heron.id, include_narrower=True).tier == "warm"
    undo(page)
    expect(page.locator(".toast").last).to_contain_text("Undone: Undone")
    assert mem.get(heron.id, include_narrower=True).tier == "cold"


def test_filters_and_the_order_are_in_the_address(open_page: Open, mem: Memotherm) -> None:
    """A reload, and the address in another browser, show the same."""
    page = open_page("/memories")
    page.get_by_role("searchbox", name="Text").fill("invoice 1")
    page.get_by_label("Tier").select_option("hot")
    page.get_by_label("Metadata").fill('{"status": "open"}')
    page.get_by_label("Order").select_option("oldest")
    filters = {"contains": "invoice 1", "tier": "hot", "where": {"status": "open"}, "include_narrower": True}
    count = mem.count(**filters)
    assert count > 3
    expect(page.locator("main")).to_contain_text(f"{count} memories")
    expect(page.locator("tbody")).to_contain_text("Invoice 1 is")
    expected = rows(page)
    assert expected == [memory.content for memory in mem.find(order="oldest", **filters)][: len(expected)]

    page.reload()
    expect(page.locator("tbody")).to_contain_text("Invoice 1 is")
    assert rows(page) == expected
    page.get_by_label("Scope").select_option(value="project=billing")
    expect(page.locator("main")).to_contain_text("0 memories match")
    other = open_page(page.url.split("#")[1])
    expect(other.locator("main")).to_contain_text("0 memories match")


def test_many_memories_are_changed_at_once_and_the_change_is_undone(open_page: Open, mem: Memotherm) -> None:
    """Chosen with the keyboard or all at once, confirmed, taken back from the toast; a second browser follows."""
    page, other = (open_page("/memories?contains=Invoice+11&order=oldest") for _ in range(2))
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
    expect(other.locator("main")).to_contain_text("0 memories match")
    undo(page)
    expect(page.locator(".toast").last).to_contain_text("Undone")
    assert mem.count(**filters) == count
    expect(other.locator("main")).to_contain_text(f"{count} memories")


def test_one_memory_is_moved_pinned_and_purged_only_after_a_typed_word(open_page: Open, mem: Memotherm) -> None:
    """Each action of a row; a purge cannot be undone and says so."""
    view = mem.scoped(project="shop")
    heron = view.remember("A heron for one row")
    page = open_page("/memories?contains=for+one+row")
    page.get_by_role("button", name="Actions on A heron").click()
    page.get_by_role("dialog").get_by_role("button", name="Move to cold").click()
    expect(page.locator(".toast")).to_contain_text("Moved to cold 1 memory")
    assert view.get(heron.id).tier == "cold"
    undo(page)
    expect(page.locator(".toast").last).to_contain_text("Undone")
    assert view.get(heron.id).tier == "warm"

    page.get_by_role("button", name="Actions on A heron").click()
    page.get_by_role("dialog").get_by_role("button", name="Purge").click()
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
    page = open_page("/memories?contains=under+the+keys")
    row = page.locator('tr[data-index="0"]')
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
    page.keyboard.press("Delete")
    assert view.get(heron.id).retention == "active"


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
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Somebody else has changed this memory")
    expect(dialog).to_contain_text("another browser has edited")
    dialog.get_by_role("button", name="Keep mine").click()
    dialog.get_by_role("button", name="Save").click()
    expect(page.locator(".toast")).to_contain_text("Edited")
    assert view.get(heron.id).content == "My heron"
    expect(other.locator(".content.card")).to_have_text("My heron")
    undo(page)
    expect(page.locator(".content.card")).to_have_text("A heron that another browser has edited")


def test_what_the_server_refuses_is_explained_and_not_lost(open_page: Open, mem: Memotherm) -> None:
    """A NUL and more than a megabyte are refused; the text stays in the dialog, and the memory as it was."""
    view = mem.scoped(project="shop")
    heron = view.remember("A heron that stays")
    page = open_page(f"/memory/{heron.id}", expected=(413, 422))
    page.get_by_role("button", name="Edit").click()
    dialog = page.get_by_role("dialog")
    for content, reason in (("a\0b", "NUL"), ("x" * 1_000_001, "at most 1000000 characters")):
        dialog.get_by_label("Content").fill(content)
        dialog.get_by_role("button", name="Save").click()
        expect(dialog.get_by_role("alert")).to_contain_text(reason)
        assert dialog.get_by_label("Content").input_value() == content
    assert view.get(heron.id).content == "A heron that stays"
    page.goto(f"{page.url.split('#')[0]}#/memories?contains=a%00b")
    expect(page.get_by_role("alert")).to_contain_text("NUL character at position 1")


def test_a_memory_tells_its_story_versions_and_uses(open_page: Open, mem: Memotherm) -> None:
    """Every event with its reason, the words that an edit changed, and the question it was injected for."""
    page = open_page(f"/memory/{otter(mem)}")
    story = page.get_by_role("region", name="The story of this memory")
    expect(story).to_contain_text("it has moved")
    page.locator("summary").first.click()
    expect(page.locator(".diff del")).to_have_text("river")
    expect(page.locator(".diff ins")).to_have_text("lake")
    expect(page.get_by_role("region", name="Contexts that considered it")).to_contain_text("where does the otter live?")
    expect(page.get_by_role("region", name="Neighbours by meaning")).to_be_visible()
    page.reload()
    expect(story).to_contain_text("it has moved")
    page.get_by_role("link", name="Why was it (not) in the last prompt?").click()
    expect(page.locator(".answer")).to_contain_text("In the context")


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
    page.get_by_role("button", name="Clear filters").click()
    expect(page.locator("main")).to_contain_text("1 memory")
    page.get_by_role("link", name=re.compile("bold")).click()
    shown = ("<i>tag</i>", "<u>key</u>", '{"<s>":"<img src=x>"}', "<em>why</em>")
    for text in (f"\u202e{markup}", f"project={markup}", *shown):
        expect(page.locator("main")).to_contain_text(text)
    page.reload()
    expect(page.locator(".content.card")).to_have_text(f"\u202e{markup}")
    assert page.locator("main :is(b, i, u, s, img, em)").count() == 0
    page.goto(f"{page.url.split('#')[0]}#/memory/{large.id}")
    page.get_by_role("button", name="Show all 999.000 characters").click()
    assert len(page.locator(".content.card").inner_text()) == 999_000
