"""What a reader is used to from other programs: names, relative dates, keys, addresses; on the store of a team."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import expect

import memotherm
from memotherm import KeptReceipt, Memotherm
from memotherm.testing import FakeClock, HashEmbedder
from tests import team
from tests.dashboard.conftest import Open, Scratch, overflow

PAYMENTS = {"project": "payments-api", "user": "ana"}


@pytest.fixture(scope="module")
def mem(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memotherm]:
    """The store of a team, at its end."""
    path: Path = tmp_path_factory.mktemp("team") / "memory.db"
    team.make(path, embedder=HashEmbedder())
    with memotherm.open(path, embedder=HashEmbedder(), clock=FakeClock(team.END)) as found:
        yield found


def test_scopes_and_sessions_have_names_and_dates_are_relative(open_page: Open, mem: Memotherm) -> None:
    """The fields of a scope and the exact moment are titles; a session is numbered on its day."""
    page = open_page("/prompts")
    turns = page.get_by_role("navigation", name="Turns")
    expect(turns.get_by_role("heading").first).to_have_text("payments-api · ana · session 3 of Tuesday")
    expect(turns).to_contain_text("payments-api · ben · session 1 of Monday")
    assert "project=" not in page.locator("main").inner_text()
    title = turns.locator(".scope").first.get_attribute("title")
    assert title is not None
    assert title.startswith("project=payments-api user=ana session=")
    turn = page.get_by_role("region", name="The chosen turn")
    expect(turn.locator("time").first).to_have_text("1 hour ago")
    expect(turn.locator("time").first).to_have_attribute("title", "30. Juni 2026, 17:00")
    page.goto(f"{page.url.split('#')[0]}#/memories?order=oldest")
    first = page.locator('tr[data-index="0"]')
    expect(first.locator("td.stored")).to_have_text("27. Mai 2026")
    expect(first).to_contain_text("everywhere")
    page.goto(f"{page.url.split('#')[0]}#/activity")
    for day in ("Today", "Yesterday", "Sunday"):
        expect(page.get_by_role("region", name=day)).to_be_visible()
    page.goto(f"{page.url.split('#')[0]}#/timeline")
    for day in ("Today", "Yesterday", "Sunday", "17. Juni 2026"):
        expect(page.get_by_role("heading", name=day, exact=True)).to_be_visible()
    page.goto(f"{page.url.split('#')[0]}#/health")
    expect(page.get_by_role("region", name="Slowest queries")).to_contain_text("payments-api · ana · session 9f")
    page.goto(f"{page.url.split('#')[0]}#/activity")
    waiting = mem.count(retention="proposed", include_narrower=True)
    expect(page.get_by_role("region", name="Today")).to_contain_text(f"Proposed {waiting} memories")


def test_a_title_is_the_first_line_with_all_its_letters(open_page: Open, scratch: Scratch) -> None:
    """Backticks and underscores stay, and dots tell that there is more."""
    view = scratch(project="titles")
    view.remember("Call `make_all` in __init__.py\nand nothing else", priority="pinned")
    view.context("make_all", budget=400)
    page = open_page("/prompts?scope=project%3Dtitles")
    listed = page.get_by_role("region", name="The chosen turn").get_by_role("listitem")
    expect(listed.get_by_role("link").last).to_have_text("Call `make_all` in __init__.py…")
    page.goto(f"{page.url.split('#')[0]}#/memories?scope=project%3Dtitles")
    expect(page.locator("td.content-cell a")).to_have_text("Call `make_all` in __init__.py…")


def test_what_is_shown_of_prompts_is_named_as_it_is(open_page: Open, mem: Memotherm) -> None:
    """The last turn names its memories, users are no agents, and the policy in force has no errors."""
    page = open_page("/")
    last = page.get_by_role("region", name="The last turn")
    expect(last.get_by_role("link", name="Webhooks are retried 8 times")).to_be_visible()
    assert "gone" not in last.inner_text()
    start = page.get_by_role("region", name="What a prompt starts with")
    expect(start.get_by_role("listitem").filter(has_text="name the files")).to_contain_text("warmpinned, kept in warm")
    page.goto(f"{page.url.split('#')[0]}#/costs")
    expect(page.get_by_role("heading", name="By user")).to_be_visible()
    expect(page.get_by_role("region", name="By user").get_by_role("row")).to_have_count(4)
    page.goto(f"{page.url.split('#')[0]}#/rules?tab=lab&check=lint")
    expect(page.locator("main")).to_contain_text(re.compile("Lint found nothing|matches none"))
    expect(page.locator(".state.failure")).to_have_count(0)


def test_neighbours_are_in_the_order_of_their_relevance(open_page: Open, mem: Memotherm) -> None:
    """A critical memory is no neighbour because it is critical."""
    (memory,) = mem.find(contains="listens on port", include_narrower=True)
    page = open_page(f"/memory/{memory.id}")
    told = page.get_by_role("region", name="Neighbours").get_by_text(re.compile(r"^relevance"))
    expect(told).to_have_count(6)
    shown = [text.replace(",", ".") for text in told.all_inner_texts()]
    assert shown == sorted(shown, reverse=True)
    around = mem.scoped(project="payments-api").inspect.neighbours(memory.id, 6)
    assert shown == [f"relevance {hit.why.relevance:.2f}" for hit in around]


def test_a_12_hour_clock_does_not_wrap(open_page: Open) -> None:
    """Neither in the list of changes nor in the history of a memory."""
    page = open_page("/activity", locale="en-US", timezone_id="America/New_York")
    times = page.locator(".event time")
    expect(times.first).to_have_text(re.compile("AM|PM"))
    lines = "found => found.filter((each) => each.getClientRects().length > 1).length"
    assert times.evaluate_all(lines) == 0


#: Keeps what is written on canvases, each text with its place.
_KEEP = """window.written = new Map();
const fill = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
  window.written.set(`${x} ${y}`, { text, x, y, width: this.measureText(text).width });
  return fill.call(this, text, x, y);
};"""


@pytest.mark.parametrize(
    ("locale", "path", "date"),
    [
        ("de-DE", "/?period=30d", r"\d+\. (Mai|Juni)"),
        ("en-GB", "/?period=365d", r"[A-Z][a-z]+ 202[56]"),
        ("en-US", "/?period=1d", r"\d+:\d\d\s[AP]M"),
        ("en-GB", "/health", r"\d+ (May|Jun) 2026, \d\d:\d\d"),
    ],
)
def test_the_dates_below_charts_are_those_of_the_reader(open_page: Open, locale: str, path: str, date: str) -> None:
    """Not 6/1 for the first of June; on a phone, none is written over another one."""
    page = open_page(path, locale=locale, viewport={"width": 390, "height": 844})
    page.add_init_script(_KEEP)
    page.reload()
    expect(page.locator("figure canvas")).to_be_visible()
    written = page.evaluate("[...window.written.values()]")
    lowest = max(each["y"] for each in written)
    dates = sorted((each for each in written if each["y"] == lowest), key=lambda each: each["x"])
    assert len(dates) > 1
    assert [each["text"] for each in dates if not re.fullmatch(date, each["text"])] == []
    for one, other in pairwise(dates):
        assert one["x"] + one["width"] / 2 < other["x"] - other["width"] / 2


def test_long_names_and_words_stay_inside_their_cards(open_page: Open, scratch: Scratch) -> None:
    """On a wide window and on a phone: of scopes, of who did something, and of conflicts in the playground."""
    view = scratch(project="warehouse-" * 12, user="a" * 80)
    for port in (5433, 5544):
        view.remember(f"The port of {'gate' * 40} is {port}")
    view.session("s1").before_turn("Which port?", budget=400)
    for path in ("/", "/activity", "/conflicts", f"/playground?q=port+of+{'gate' * 40}"):
        page = open_page(path)
        expect(page.locator("main")).to_contain_text(re.compile("gategate|aaaa"))
        expect(page.locator("main .loading")).to_have_count(0)
        for width in (1280, 360):
            page.set_viewport_size({"width": width, "height": 900})
            outside = page.locator("main :is(p, select, span, label, h2)").evaluate_all(
                """all => all.filter((each) => each.checkVisibility() && !each.closest(".line, .hidden")
                  && each.getBoundingClientRect().right > each.closest(".card, main").getBoundingClientRect().right)
                  .map((each) => each.outerHTML.slice(0, 120))"""
            )
            assert outside == [], (path, width)
        page.context.close()


def test_the_names_of_a_table_of_numbers_have_room(open_page: Open) -> None:
    """A session takes two lines at most beside its costs, and no column is cut off."""
    page = open_page("/costs?price=3")
    table = page.get_by_role("region", name="By session")
    name = table.locator("tbody .named").first
    expect(name).to_be_visible()
    for each in (table, page.get_by_role("region", name="By user")):
        assert each.evaluate("each => each.scrollWidth - each.clientWidth") <= 0
    assert name.evaluate("each => each.clientHeight / parseFloat(getComputedStyle(each).lineHeight)") < 2.5


def test_the_open_panel_has_keys_and_closes_at_once(open_page: Open, mem: Memotherm) -> None:
    """`e` edits, the arrow keys go to the next memory, Escape or a click beside it closes; its actions stay in view."""
    first, second = mem.find(include_narrower=True, limit=2)
    page = open_page("/memories")
    page.get_by_role("link", name=first.content).click()
    panel = page.get_by_role("complementary")
    expect(panel.locator(".memory-content")).to_have_text(first.content)
    page.keyboard.press("ArrowDown")
    expect(panel.locator(".memory-content")).to_have_text(second.content)
    page.keyboard.press("ArrowUp")
    expect(panel.locator(".memory-content")).to_have_text(first.content)
    page.keyboard.press("e")
    expect(panel.get_by_label("Content")).to_be_focused()
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    page.get_by_role("link", name=second.content).click()
    expect(panel.locator(".memory-content")).to_have_text(second.content)
    page.get_by_role("heading", name="Memories").click()
    expect(panel).to_have_count(0)

    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.mouse.click(5, 5)
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("n")
    page.get_by_label("Content").fill("What I write is not lost by a click")
    page.mouse.click(5, 5)
    expect(page.get_by_label("Content")).to_have_value("What I write is not lost by a click")


def test_escape_or_a_click_beside_it_closes_what_opens_below_a_button(open_page: Open, mem: Memotherm) -> None:
    """One Escape closes one thing: the filters, and then the memory that lies below them."""
    (memory,) = mem.find(contains="listens on port", include_narrower=True)
    page = open_page(f"/memories?open={memory.id}")
    panel, filters = page.get_by_role("complementary"), page.get_by_role("group", name="Filters")
    expect(panel).to_be_visible()
    page.get_by_text("Filter and sort").click()
    page.get_by_label("Tag").press("Escape")
    expect(filters).to_be_hidden()
    expect(page.get_by_text("Filter and sort")).to_be_focused()
    expect(panel).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_text("Filter and sort").click()
    page.get_by_role("heading", name="Memories").click()
    expect(filters).to_be_hidden()
    page.get_by_text("More", exact=True).click()
    expect(page.get_by_role("link", name="Review", exact=True)).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Review", exact=True)).to_be_hidden()


def test_what_opens_below_a_button_fits_a_phone(open_page: Open) -> None:
    """The filters and the saved views, whose buttons stand at the right of the screen."""
    page = open_page("/memories", viewport={"width": 390, "height": 844})
    for name in ("Filter and sort", "Views"):
        page.locator("summary", has_text=name).click()
        expect(page.locator("details[open]")).to_have_count(1)
        assert overflow(page) <= 0, name
        page.keyboard.press("Escape")


def test_the_actions_stay_under_a_long_text(open_page: Open, scratch: Scratch) -> None:
    """In the panel and on the page of the memory."""
    long = scratch(project="long").remember("\n".join(f"Line {number} of a long log" for number in range(300)))
    page = open_page(f"/memories?scope=project%3Dlong&open={long.id}")
    for path in (None, f"/memory/{long.id}"):
        if path:
            page.goto(f"{page.url.split('#')[0]}#{path}")
        button = page.get_by_role("button", name="Forget", exact=True)
        expect(button).to_be_in_viewport()
        box = button.bounding_box()
        assert box is not None
        assert box["y"] > 700


def _has_pinned(receipt: KeptReceipt) -> bool:
    return any(entry.section == "pinned" for entry in receipt.included)


def test_the_budget_of_a_turn_is_a_bar_of_its_parts(open_page: Open, mem: Memotherm) -> None:
    """Each part leads to its memories; the parts and the frame are the tokens of the turn."""
    # The question of a turn is gone as well where a memory in it was purged.
    starts = [each for each in mem.receipts.list(limit=50) if each.query is None and _has_pinned(each)]
    start = next(each for each in starts if each.scope.project == "payments-api" and each.scope.user == "ana")
    page = open_page(f"/prompts?receipt={start.number}")
    turn = page.get_by_role("region", name="The chosen turn")
    parts = turn.locator(".legend li")
    expect(parts.filter(has_text="pinned")).to_be_visible()
    told = [re.findall(r"(\d+) tokens", text)[0] for text in parts.all_inner_texts()]
    assert sum(map(int, told)) == start.tokens
    profile = [entry for entry in start.included if entry.reasons[0].code == "profile"]
    turn.get_by_role("link", name=f"about the user {len(profile)}").click()
    expect(turn).to_contain_text(f"In the prompt: {len(start.included)} · about the user: {len(profile)}")
    expect(turn.locator(".card ol").first.get_by_role("link")).to_have_count(len(profile))
    expect(turn.locator(".context .chosen")).to_have_count(len(profile))
    page.goto(f"{page.url.split('#')[0]}#/")
    page.get_by_role("region", name="What a prompt starts with").get_by_role("link", name="open tasks").click()
    expect(page.get_by_role("region", name="What a prompt starts with").get_by_role("listitem")).not_to_contain_text(
        ["Answer in English"]
    )


def test_conflicts_and_proposals_come_fifty_at_once(open_page: Open, scratch: Scratch) -> None:
    """The number of all is said, of conflicts if no more than fifty follow; these are one click away."""
    view = scratch(project="many")
    birds = [f"{colour} {bird}" for colour in ("red", "blue", "green", "grey", "white", "black", "brown", "pale")
             for bird in ("otter", "heron", "crane", "stork", "pelican", "puffin", "gull", "owl", "finch", "wren",
                          "robin", "swan", "goose", "duck")]  # fmt: skip
    view.remember_many([{"content": f"The {bird} port is {port}"} for bird in birds for port in (5433, 5544)])
    view.remember_many([{"content": f"The {bird} likes fish", "source": "extracted"} for bird in birds])
    count = len(view.conflicts(limit=1000))
    assert 100 < count <= 150
    page = open_page("/conflicts?scope=project%3Dmany")
    parts = page.get_by_role("navigation", name="Parts of the list")
    expect(page.locator("main")).to_contain_text("More than 100 conflicts")
    expect(parts).to_contain_text("1 to 50 of more than 100")
    expect(page.locator(".conflict")).to_have_count(50)
    with page.expect_download() as saved:
        page.get_by_role("button", name=".json of conflicts").click()
    assert len(json.loads(saved.value.path().read_text())) == count
    page.get_by_role("link", name="Next").click()
    expect(page.locator("main")).to_contain_text(f"{count} conflicts")
    expect(parts).to_contain_text(f"51 to 100 of {count}")
    page.get_by_role("link", name="Next").click()
    expect(page.locator(".conflict")).to_have_count(count - 100)
    expect(parts).to_contain_text(f"101 to {count} of {count}")
    page.goto(f"{page.url.split('#')[0]}#/?scope=project%3Dmany")
    expect(page.get_by_role("region", name="Is anything wrong?")).to_contain_text("More than 100 conflicts:")
    page.goto(f"{page.url.split('#')[0]}#/review?scope=project%3Dmany")
    expect(page.locator("main")).to_contain_text(f"{len(birds)} proposals wait")
    expect(page.locator(".proposal")).to_have_count(50)
    page.get_by_role("link", name="Next").click()
    expect(parts).to_contain_text(f"51 to 100 of {len(birds)}")
    expect(page.locator(".proposal")).to_have_count(50)


def test_lists_are_files_views_have_names_and_choices_have_counts(open_page: Open, mem: Memotherm) -> None:
    """`.json` and `.csv` hold all that a list has; a view is found again; a filter says how many it would show."""
    page = open_page("/memories?tier=warm")
    count = mem.count(tier="warm", include_narrower=True)
    expect(page.locator("main")).to_contain_text(f"{count} memories")
    with page.expect_download() as saved:
        page.get_by_role("button", name=".json of memories").click()
    assert len(json.loads(saved.value.path().read_text())) == count
    with page.expect_download() as saved:
        page.get_by_role("button", name=".csv of memories").click()
    rows = list(csv.DictReader(saved.value.path().read_text().splitlines()))
    assert {row["id"] for row in rows} == {each.id for each in mem.find(tier="warm", include_narrower=True, limit=1000)}

    # Until the memories with these words are counted, the former number is not theirs.
    page.route("**/memories:count", lambda route: None)
    page.get_by_role("searchbox").fill("staging")
    expect(page.locator("main [role=status]")).to_have_text("Counting")
    page.unroute("**/memories:count")
    page.reload()
    expect(page.locator("main")).to_contain_text("1 memory contains “staging”")
    page.get_by_role("searchbox").fill("")

    page.get_by_text("Views", exact=True).click()
    page.get_by_label("Name of the view").fill("What is warm")
    page.get_by_role("button", name="Save").click()
    page.goto(f"{page.url.split('#')[0]}#/memories")
    page.reload()
    page.get_by_text("Filter and sort").click()
    rules = mem.count(kind="rule", include_narrower=True)
    expect(
        page.get_by_label("Kind").get_by_role("option", name=f"task ({mem.count(kind='task', include_narrower=True)})")
    ).to_be_attached()
    expect(page.get_by_label("Kind").get_by_role("option", name=f"rule ({rules})")).to_be_attached()
    # The kinds are those that there are, as `remember` takes any.
    kinds = mem.kinds(include_narrower=True)
    options = page.get_by_label("Kind").get_by_role("option").all_inner_texts()
    assert [text.strip() for text in options] == ["any", *(f"{kind} ({count})" for kind, count in kinds.items())]
    page.get_by_text("Views", exact=True).click()
    page.get_by_role("link", name="What is warm").click()
    expect(page.get_by_role("button", name="warm", exact=True)).to_have_attribute("aria-pressed", "true")
    for path, name in (
        ("activity", "activity"),
        ("timeline", "timeline"),
        ("prompts", "turns"),
        ("conflicts", "conflicts"),
        ("review", "proposals"),
    ):
        page.goto(f"{page.url.split('#')[0]}#/{path}")
        with page.expect_download() as saved:
            page.get_by_role("button", name=f".csv of {name}").click()
        assert len(saved.value.path().read_text().splitlines()) > 1


def test_a_formula_in_a_csv_is_text(open_page: Open, scratch: Scratch) -> None:
    """A spreadsheet does not run what an agent has stored."""
    view = scratch(project="formula")
    view.remember('=HYPERLINK("https://evil.example","a, b")')
    page = open_page("/memories?scope=project%3Dformula")
    with page.expect_download() as saved:
        page.get_by_role("button", name=".csv of memories").click()
    (row,) = csv.DictReader(saved.value.path().read_text().splitlines())
    assert row["content"] == '\'=HYPERLINK("https://evil.example","a, b")'


def test_all_charts_show_one_period(open_page: Open, mem: Memotherm) -> None:
    """Chosen on one page, it holds on the others."""
    page = open_page("/costs")
    page.get_by_label("Period").select_option("7d")
    for name in ("Overview", "Health", "Costs"):
        page.get_by_role("navigation", name="Pages").get_by_role("link", name=name).click()
        expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()
        expect(page.get_by_label("Period")).to_have_value("7d")
