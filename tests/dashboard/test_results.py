"""The pages Prompts, Playground, Costs, Rules and Health on a store of a year."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Page, expect

import memotherm
from memotherm import Memotherm, Scope
from memotherm.cli.bench import read_cases, run_cases
from memotherm.testing import HashEmbedder
from tests import year
from tests.dashboard.conftest import Open, Scratch, overflow, violations_in_both_schemes
from tests.interfaces.served import serving

MEMORIES = 200
QUESTION = "When is the checkout page deployed?"
ASKED = "/playground?scope=project%3Dshop&q=When%20is%20the%20checkout%20page%20deployed%3F"


@pytest.fixture(scope="module")
def mem(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memotherm]:
    """A store of a year, at its end."""
    path = tmp_path_factory.mktemp("year") / "memory.db"
    year.make(path, MEMORIES, session_days=28, embedder=HashEmbedder())
    with memotherm.open(path, scope=Scope(), embedder=HashEmbedder(), clock=lambda: year.END) as found:
        yield found


def text_of(page: Page) -> str:
    return page.locator("main").inner_text()


def test_pages_are_accessible_and_fit_a_phone(open_page: Open, mem: Memotherm) -> None:
    """Axe finds nothing in either colour scheme, and no page is wider than 360 pixels."""
    page = open_page("/")
    number = mem.receipts.list(limit=1).receipts[0].number
    found = []
    for path, text in (
        (f"{ASKED}&budget=300", "Left out"),
        (f"{ASKED}&compare=true&tiers_b=cold&budget=100&budget_b=100", "What B changes"),
        (f"/prompts?receipt={number}&memory=checkout", "Not considered"),
        ("/costs?price=3", "Saved by not repeating"),
        ("/rules", "Goes to"),
        ("/rules?tab=lab", "Try a policy"),
        ("/health?all=true", "hot_max_facts"),
    ):
        page.goto(f"{page.url.split('#')[0]}#{path}")
        page.set_viewport_size({"width": 1280, "height": 900})
        expect(page.locator("main")).to_contain_text(text)
        expect(page.locator("main .loading")).to_have_count(0)
        found += [f"{path}: {violation}" for violation in violations_in_both_schemes(page)]
        page.set_viewport_size({"width": 360, "height": 800})
        assert overflow(page) <= 0, path

    assert found == []


def test_the_playground_shows_scores_and_the_context_and_what_enters_next(open_page: Open, mem: Memotherm) -> None:
    """Hits and context are those of the store; the slider changes the budget, and a reload shows the same."""
    shop = mem.scoped(project="shop")
    page = open_page(f"{ASKED}&budget=300")
    best = shop.recall(QUESTION, include_narrower=True, track=False)[0]
    first = page.locator(".hit").first
    expect(first).to_contain_text(best.memory.content)
    expect(first).to_contain_text(f"{best.score:.2f}".replace(".", ","))
    expect(first.locator(".bar span").first).to_be_visible()
    context = shop.context(QUESTION, budget=300, track=False)
    expect(page.locator(".context .part")).to_have_count(len(context.included))
    assert (
        page.locator(".context .part").first.evaluate("element => element.lastChild.data") == context.included[0].lines
    )
    enters = min(entry.fits_at for entry in context.left_out if entry.fits_at and entry.fits_at > 300)
    expect(page.locator("main")).to_contain_text(f"at {enters} tokens, {enters - 300} more")

    target = -(-enters // 25) * 25
    slider = page.get_by_label(re.compile("Budget"))
    slider.fill(str(target - 25))
    slider.press("ArrowRight")
    page.wait_for_url(re.compile(f"budget={target}"))
    larger = shop.context(QUESTION, budget=target, track=False)
    expect(page.locator(".context .part")).to_have_count(len(larger.included))
    page.reload()
    expect(page.locator(".context .part")).to_have_count(len(larger.included))


def test_hits_that_contradict_each_other_say_so(open_page: Open, scratch: Scratch) -> None:
    """Confidence is that of the search; a conflict among the hits is named above them and on both."""
    mill = scratch(project="mill")
    mill.remember("The gate of the mill opens at 8")
    mill.remember("The gate of the mill opens at 9")
    (conflict,) = mill.conflicts()
    page = open_page("/playground?scope=project%3Dmill&q=when%20does%20the%20gate%20of%20the%20mill%20open")
    expect(page.locator(".notice")).to_contain_text(f"2 hits contradict each other: {conflict.about}")
    expect(page.locator(".hit .conflict-with")).to_have_count(2)
    expect(page.locator("main")).to_contain_text("Search confidence")


def test_nothing_that_is_asked_in_the_playground_is_logged(open_page: Open, mem: Memotherm) -> None:
    """Health shows the same recalls, hit rate and times as before, and no memory was used."""
    before = (mem.inspect.recalls(1000), mem.metrics(), mem.find(include_narrower=True, limit=1000))
    page = open_page(ASKED.replace("checkout", "zeppelin"))
    expect(page.locator(".hit").first).to_be_visible()
    expect(page.locator(".context .part").first).to_be_visible()
    assert (mem.inspect.recalls(1000), mem.metrics(), mem.find(include_narrower=True, limit=1000)) == before


def test_two_settings_are_one_difference_and_a_question_becomes_a_case(open_page: Open, mem: Memotherm) -> None:
    """Each side has its own tiers and time; the written case runs and finds what was marked."""
    page = open_page(ASKED)
    page.locator(".hit").first.get_by_label("expected").check()
    cases = read_cases(page.locator("pre").inner_text())
    assert cases[0]["query"] == QUESTION
    assert [result["passed"] for result in run_cases(mem, cases)] == [True]

    page.get_by_label("Compare two settings").check()
    page.get_by_label("Tiers to search").last.select_option("cold")
    hits = page.get_by_role("region", name="Hits")
    expect(hits.locator(".hit", has_text="only in B").first.locator(".tier")).to_have_text("cold")
    expect(hits.locator(".hit", has_text="only in A").first.locator(".tier")).not_to_have_text("cold")
    page.get_by_label("As of").last.fill("2025-12-24T12:00")
    shop = mem.scoped(project="shop")
    past = shop.context(QUESTION, as_of=datetime(2025, 12, 24, 12, tzinfo=ZoneInfo("Europe/Berlin")))
    now = shop.context(QUESTION, track=False)
    only_now = {entry.id for entry in now.included} - {entry.id for entry in past.included}
    difference = page.locator(".card", has_text="What B changes")
    expect(difference).to_contain_text(f"{len(only_now)} only in A")
    contexts = page.get_by_label("The context as the model sees it")
    expect(contexts.last).to_contain_text(past.included[0].memory.content)
    assert {"tiers_b=cold", "compare=true"} <= set(re.split("[?&]", page.url))


def test_equal_hits_are_one(open_page: Open, scratch: Scratch) -> None:
    """The same text in two scopes is shown once, with the other scope."""
    for user in ("ana", "ben"):
        scratch(project="twins", user=user).remember("The puffin nests on the cliff")
    page = open_page("/playground?scope=project%3Dtwins&q=where%20does%20the%20puffin%20nest")
    expect(page.locator(".hit")).to_have_count(1)
    expect(page.locator(".hit")).to_contain_text("The same text once more")


def test_a_newcomer_finds_out_why_a_memory_was_not_in_the_last_prompt(open_page: Open, mem: Memotherm) -> None:
    """From the first page by clicks and words only: in it, left out, cold, hidden, of another scope."""
    last = mem.receipts.list(limit=1).receipts[0]
    included = mem.get(last.included[0].id, include_narrower=True)
    left_out = mem.get(last.left_out[-1].id, include_narrower=True)
    earlier = [memory for memory in mem.find(include_narrower=True, limit=400) if memory.created_at < last.at]
    other = next(memory for memory in earlier if not last.scope.sees(memory.scope))
    cold = next(memory for memory in earlier if "cold then" in mem.receipts.explain(last.number, memory.id).reason)
    # The ledger names memories that were purged.
    page = open_page("/", expected=(404,))
    page.get_by_role("link", name=re.compile(r"Why was a memory \(not\) in it")).click()
    expect(page.get_by_role("heading", name=f"Turn {last.number}")).to_be_visible()

    def ask(text: str) -> str:
        page.get_by_label(re.compile("Why was a memory")).fill(text)
        page.wait_for_url(re.compile("memory="))
        answer = page.locator(".answer", has_text=text[:60]).first
        expect(answer).to_be_visible()
        return answer.inner_text()

    assert "In the prompt" in ask(included.content)
    assert "Left out" in ask(left_out.content)
    assert "cannot be seen from the scope" in ask(other.content)
    assert "it was cold then" in ask(cold.content)
    page.reload()
    expect(page.locator(".answer", has_text=cold.content[:60]).first).to_contain_text("it was cold then")


def test_a_turn_shows_what_was_sent_in_groups_and_since_the_turn_before(open_page: Open, mem: Memotherm) -> None:
    """The text is the one that was sent; turns stand below their session; the difference names the turn before."""
    session = mem.scoped(project="shop", user="zoe").session("today")
    session.session_start(budget=600)
    sent = session.before_turn(QUESTION, budget=200)
    receipt, start = mem.receipts.list(limit=2)
    before = mem.find(include_narrower=True, limit=1000)
    page = open_page("/prompts")
    turns = page.get_by_role("navigation", name="Turns")
    expect(turns).to_contain_text("shop · zoe · session 1 of Tuesday")
    expect(turns.locator("a[aria-current]")).to_contain_text(QUESTION)
    expect(page.get_by_role("heading", name="The context as it was sent")).to_be_visible()
    shown = page.get_by_label("The context as the model sees it").inner_text()
    assert all(entry.content in shown for entry in sent.included if entry.form == "full")
    detail = page.get_by_role("region", name="The chosen turn")
    by_rule = [entry.rule for entry in receipt.left_out]
    expect(detail).to_contain_text(f"In the prompt: {len(receipt.included)}")
    expect(detail).to_contain_text(f"Already given in this session: {by_rule.count('given')}")
    expect(detail).to_contain_text("Not relevant:")
    expect(detail.get_by_text("Does not hold now: 0")).to_have_count(0)
    detail.get_by_role("link", name=f"turn {start.number}").click()
    expect(page.get_by_role("heading", name=f"Turn {start.number}", exact=True)).to_be_visible()
    expect(detail).to_contain_text("first turn of its session")
    assert mem.find(include_narrower=True, limit=1000) == before, "to look at a turn is no use of its memories"
    mem.scoped(project="shop", user="zoe").context(QUESTION, budget=10)
    empty = open_page("/prompts").get_by_role("region", name="The chosen turn")
    expect(empty.locator(".empty")).to_contain_text(re.compile(r"Nothing was sent\.\s*No room: \d+"))
    expect(empty).to_contain_text("nothing fits into 10 tokens: the frame alone takes 30")


def test_a_list_of_turns_has_no_border_of_a_conflict(open_page: Open) -> None:
    """Both are at a side of something."""
    page = open_page("/prompts")
    expect(page.locator("main .grid.side")).to_have_css("border-left-width", "0px")


def test_costs_are_the_tokens_of_the_turns(open_page: Open, scratch: Scratch) -> None:
    """By session and agent, with what not repeating saved, and a price if the reader enters one."""
    view = scratch(project="costs")
    session = view.scoped(agent="planner").session("s1")
    view.remember("The tide table hangs in the office " * 10, tier="hot")
    session.session_start(budget=600)
    session.before_turn("where is the tide table?", budget=600)
    last, first = view.receipts.list()
    saved = sum(entry.tokens for entry in last.left_out if entry.rule == "given")
    assert saved > 0
    page = open_page("/costs?scope=project%3Dcosts")
    expect(page.get_by_role("region", name="By agent")).to_contain_text("planner")
    row = page.get_by_role("region", name="By session").locator("tbody tr")
    expect(row.locator("td").nth(2)).to_have_text(str(first.tokens + last.tokens))
    expect(row.locator("td").nth(4)).to_have_text(str(saved))
    page.get_by_label("Price per million tokens").fill("1000000")
    expect(row.locator("td").last).to_have_text(f"{first.tokens + last.tokens},00")


def test_rules_are_sentences_with_values_and_policies_are_tried_adopted_rolled_back(
    open_page: Open, mem: Memotherm
) -> None:
    """Rules have counts, and conditions in a fold; lint, tests and differences; a refused policy is explained."""
    moves = mem.metrics().moves
    page = open_page("/rules", expected=(422,))
    rule = page.get_by_role("article", name="compact.focus")
    expect(rule).to_contain_text(f"{moves['compact.focus']} memories moved")
    expect(page.get_by_role("article", name="maintain.cool")).to_contain_text("not used for 30 or 365 days")
    expect(rule.get_by_text("tier is hot")).to_be_hidden()
    rule.get_by_text("Conditions").click()
    expect(rule.get_by_text("tier is hot")).to_be_visible()
    assert "…" not in page.locator("main").inner_text()
    page.get_by_role("link", name="History", exact=True).click()
    expect(page.locator("main")).to_contain_text("coding-agent")
    page.get_by_role("link", name="Lab", exact=True).click()
    page.get_by_label("Policy").select_option("customer-support")
    page.get_by_role("button", name="Run its tests").click()
    expect(page.locator("main")).to_contain_text(re.compile(r"\d+ of \d+ tests passed"))
    page.get_by_role("button", name="Compare with").click()
    expect(page.locator("main")).to_contain_text("differs")
    page.get_by_role("button", name="Lint").click()
    expect(page.locator("main")).to_contain_text(re.compile("Lint found nothing|Severity"))
    page.reload()
    expect(page.get_by_label("Policy")).to_have_value("customer-support")
    expect(page.locator("main")).to_contain_text(re.compile("Lint found nothing|Severity"))
    page.get_by_role("button", name="Adopt", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Adopt").click()
    expect(page.locator("main")).to_contain_text("In force: customer-support")
    assert mem.policies.current().name == "customer-support"
    page.get_by_role("link", name="History", exact=True).click()
    page.get_by_role("button", name="Roll back customer-support").click()
    page.get_by_role("dialog").get_by_role("button", name="Roll back").click()
    expect(page.locator("main")).to_contain_text("In force: research")
    page.get_by_role("link", name="Lab", exact=True).click()
    page.get_by_label("Policy").select_option("a text of your own")
    page.get_by_label("Text of the policy").fill("[[rule]]\nid = 'house'\nwhen = { colour = 'red' }\nto = 'cold'")
    page.get_by_role("button", name="Lint").click()
    findings = page.get_by_role("region", name="What lint found")
    expect(findings).to_contain_text("colour")
    page.get_by_role("button", name="Adopt", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Adopt").click()
    expect(page.get_by_role("alert")).to_contain_text("colour")
    page.reload()
    expect(findings).to_contain_text("colour")
    expect(page.get_by_label("Text of the policy")).to_have_value(re.compile("colour = 'red'"))


def test_a_replay_reports(open_page: Open, mem: Memotherm) -> None:
    """The report is that of the store."""
    page = open_page("/rules?tab=lab&policy=coding-agent&since=90d")
    page.get_by_role("button", name="Replay the past").click()
    table = page.get_by_role("region", name="Result of the replay")
    expected = mem.policies.replay([mem.policies.current(), "coding-agent"], since="90d")
    for row in expected.rows:
        shown = table.locator("tr", has=page.get_by_text(row.name, exact=True))
        hot = "–" if row.hot_hits is None else re.compile(r"\d")
        expect(shown.locator("td").nth(2)).to_have_text(hot)


def test_health_shows_sizes_recalls_settings_and_runs_the_checks(open_page: Open, mem: Memotherm) -> None:
    """The figures are those of the store, settings are found by words, and both checks report."""
    slowest = mem.inspect.recalls(1, "slowest")[0]
    page = open_page("/health")
    expect(page.get_by_role("region", name="Slowest queries")).to_contain_text(slowest.query or "")
    expect(page.locator(".stats")).to_contain_text(f"of {mem.metrics().recall_count} recalls")
    page.get_by_label("Find a setting").fill("hot_max")
    expect(page.get_by_role("region", name="Settings")).to_contain_text("hot_max_facts")
    expect(page.get_by_role("region", name="Settings")).to_contain_text("default")
    page.get_by_role("button", name="Check the store").click()
    expect(page.locator("main")).to_contain_text("No problems.")
    page.get_by_role("button", name="Run the doctor").click()
    expect(page.get_by_role("region", name="Findings")).to_contain_text("vector search and text search work")
    page.reload()
    expect(page.get_by_label("Find a setting")).to_have_value("hot_max")


def test_hostile_contents_are_texts_on_every_page(open_page: Open, mem: Memotherm) -> None:
    """Markup of a memory runs nowhere, also where a context, a receipt and a policy show it."""
    shop = mem.scoped(project="shop")
    session = shop.session("hostile")
    session.before_turn(year.HOSTILE[0], budget=800)
    number = mem.receipts.list(limit=1).receipts[0].number
    page = open_page("/playground?scope=project%3Dshop&q=hijacked&budget=4000")
    expect(page.locator(".context")).to_contain_text("<script>document.title")
    for path in (f"/prompts?receipt={number}&memory=hijacked", "/health", "/rules?tab=lab&policy=builtin"):
        page.goto(f"{page.url.split('#')[0]}#{path}")
        expect(page.locator("main .loading")).to_have_count(0)
        expect(page).to_have_title(re.compile("Memotherm$"))
    assert page.locator("main img").count() == 0


def test_the_key_of_a_tenant_reads_its_part_and_changes_nothing(open_page: Open, tmp_path: Path) -> None:
    """Policies and the state of the whole store are not shown to it, with the reason; its own recalls are."""
    stopping = threading.Event()
    with memotherm.open(tmp_path / "tenants.db", scope=Scope(), embedder=HashEmbedder()) as mem:
        secret = mem.keys.create("reader", "acme", read_only=True)
        mem.scoped(tenant="acme").remember("Otters live in the river")
        mem.scoped(tenant="acme").recall("where do otters live?")
        with serving(mem, stopping=stopping) as url:
            page = open_page("/health", at=url, expected=(401, 403))
            page.get_by_label("API key").fill(secret)
            page.get_by_role("button", name="Log in").click()
            expect(page.get_by_role("region", name="Slowest queries")).to_contain_text("where do otters live?")
            expect(page.locator("main")).to_contain_text("concern the whole store")
            page.get_by_role("link", name="Rules").click()
            expect(page.locator("main")).to_contain_text("Rules apply to the whole store")
            expect(page.locator("main").get_by_role("button")).to_have_count(0)
            stopping.set()
