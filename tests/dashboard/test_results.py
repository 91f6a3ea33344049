"""The pages Playground, Injected, Policies and Health on a store of a year."""

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
from memotherm.cli.cases import read_cases, run_cases
from memotherm.testing import HashEmbedder
from tests import year
from tests.dashboard.conftest import Open, overflow, violations_in_both_schemes
from tests.interfaces.served import serving

MEMORIES = 200
QUESTION = "When is the checkout page deployed?"
ASKED = "/playground?scope=project%3Dshop&q=When%20is%20the%20checkout%20page%20deployed%3F"


class Clock:
    """A clock that stands at the end of the year, and makes jobs of the server wait while they may not run."""

    def __init__(self) -> None:
        self.jobs_run = threading.Event()
        self.jobs_run.set()

    def __call__(self) -> datetime:
        if threading.current_thread().name.startswith("job_"):
            self.jobs_run.wait(60)
        return year.END


@pytest.fixture(scope="module")
def clock() -> Clock:
    """The clock of the store."""
    return Clock()


@pytest.fixture(scope="module")
def mem(tmp_path_factory: pytest.TempPathFactory, clock: Clock) -> Iterator[Memotherm]:
    """A store of a year, at its end."""
    path = tmp_path_factory.mktemp("year") / "memory.db"
    year.make(path, MEMORIES, session_days=28, embedder=HashEmbedder())
    with memotherm.open(path, scope=Scope(), embedder=HashEmbedder(), clock=clock) as found:
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
        (f"{ASKED}&compare=true&tiers_b=cold&budget=100&budget_b=100", "Second setting"),
        (f"/prompts?receipt={number}&memory=checkout", "Not considered"),
        ("/policies", "compact.focus"),
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


def test_nothing_that_is_asked_in_the_playground_is_logged(open_page: Open, mem: Memotherm) -> None:
    """Health shows the same recalls, hit rate and times as before, and no memory was used."""
    before = (mem.inspect.recalls(1000), mem.metrics(), mem.find(include_narrower=True, limit=1000))
    page = open_page(ASKED.replace("checkout", "zeppelin"))
    expect(page.locator(".hit").first).to_be_visible()
    expect(page.locator(".context .part").first).to_be_visible()
    assert (mem.inspect.recalls(1000), mem.metrics(), mem.find(include_narrower=True, limit=1000)) == before


def test_two_settings_are_compared_and_a_question_becomes_a_case(open_page: Open, mem: Memotherm) -> None:
    """Each side has its own tiers and time; the written case runs and finds what was marked."""
    page = open_page(ASKED)
    page.get_by_label("Compare two settings").check()
    page.get_by_label("Tiers to search").last.select_option("cold")
    expect(page.locator(".hits").last.locator(".tier").first).to_have_text("cold")
    expect(page.locator(".hits").first.locator(".tier").first).not_to_have_text("cold")
    page.get_by_label("As of").last.fill("2025-12-24T12:00")
    shop = mem.scoped(project="shop")
    past = shop.context(QUESTION, as_of=datetime(2025, 12, 24, 12, tzinfo=ZoneInfo("Europe/Berlin")))
    known = {entry.id for entry in past.included}
    later = next(entry for entry in shop.context(QUESTION, track=False).included if entry.id not in known)
    contexts = page.get_by_label("The context as the model sees it")
    expect(contexts.last).to_contain_text(past.included[0].memory.content)
    expect(contexts.last).not_to_contain_text(later.memory.content)
    expect(contexts.first).to_contain_text(later.memory.content)
    assert {"tiers_b=cold", "compare=true"} <= set(re.split("[?&]", page.url))
    page.locator(".hit").first.get_by_label("expected").check()
    cases = read_cases(page.locator("pre").inner_text())

    assert cases[0].query == QUESTION
    assert [result["passed"] for result in run_cases(mem, cases)] == [True]


def test_a_newcomer_finds_out_why_a_memory_was_not_in_the_last_prompt(open_page: Open, mem: Memotherm) -> None:
    """From the first page by clicks and words only: in it, left out, cold, hidden, of another scope."""
    last = mem.receipts.list(limit=1).receipts[0]
    included = mem.get(last.included[0].id, include_narrower=True)
    left_out = mem.get(last.left_out[-1].id, include_narrower=True)
    earlier = [memory for memory in mem.find(include_narrower=True, limit=400) if memory.created_at < last.at]
    other = next(memory for memory in earlier if not last.scope.sees(memory.scope))
    cold = next(memory for memory in earlier if "cold then" in mem.receipts.explain(last.number, memory.id).reason)
    page = open_page("/")
    page.get_by_role("link", name=re.compile(r"Why was a memory \(not\) in the last prompt")).click()
    expect(page.get_by_role("heading", name=f"Turn {last.number}")).to_be_visible()

    def ask(text: str) -> str:
        page.get_by_label(re.compile("Why was a memory")).fill(text)
        page.wait_for_url(re.compile("memory="))
        answer = page.locator(".answer", has_text=text[:60]).first
        expect(answer).to_be_visible()
        return answer.inner_text()

    assert "In the context" in ask(included.content)
    assert "Left out" in ask(left_out.content)
    assert "cannot be seen from the scope" in ask(other.content)
    assert "it was cold then" in ask(cold.content)
    page.reload()
    expect(page.locator(".answer", has_text=cold.content[:60]).first).to_contain_text("it was cold then")


def test_turns_are_listed_by_session_with_their_tokens(open_page: Open, mem: Memotherm) -> None:
    """A session of the list limits the turns; its link shows the same in another browser."""
    receipts = mem.receipts.list(limit=40).receipts
    page = open_page("/prompts")
    turns = page.get_by_role("region", name="Turns").locator("tbody tr")
    expect(turns).to_have_count(len(receipts))
    expect(page.locator("figure canvas")).to_be_visible()
    page.get_by_role("link", name=re.compile(f"session={receipts[0].scope.session}")).click()
    own = [receipt for receipt in receipts if receipt.scope == receipts[0].scope]
    expect(turns).to_have_count(len(own))
    other = open_page(page.url.split("#")[1])
    expect(other.get_by_role("region", name="Turns").locator("tbody tr")).to_have_count(len(own))


def test_policies_show_their_moves_and_are_tried_adopted_and_rolled_back(open_page: Open, mem: Memotherm) -> None:
    """Cards have conditions and counts; lint, tests and differences are shown; a refused policy is explained."""
    moves = mem.metrics().moves
    page = open_page("/policies", expected=(422,))
    card = page.get_by_role("article", name="compact.focus")
    expect(card).to_contain_text(f"{moves['compact.focus']} memories moved")
    expect(card).to_contain_text("tier is hot")
    expect(page.locator("main")).to_contain_text("In the shadow: personal-assistant")
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
    page.get_by_role("button", name="Roll back customer-support").click()
    page.get_by_role("dialog").get_by_role("button", name="Roll back").click()
    expect(page.locator("main")).to_contain_text("In force: research")
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


def test_a_replay_shows_its_progress_is_cancelled_and_reports(open_page: Open, mem: Memotherm, clock: Clock) -> None:
    """A reload at every state shows the same; the report is that of the store, with the oracle and the regret."""
    page = open_page("/policies?policy=coding-agent&since=90d", expected=(404,))
    clock.jobs_run.clear()
    page.get_by_role("button", name="Replay the past").click()
    cancel = page.get_by_role("button", name="Cancel the replay")
    expect(cancel).to_be_visible()
    page.reload()
    cancel.click()
    clock.jobs_run.set()
    expect(page.locator("main")).to_contain_text("The replay was cancelled.")

    page.get_by_role("button", name="Replay the past").click()
    table = page.get_by_role("region", name="Result of the replay")
    expected = mem.policies.replay([mem.policies.current(), "coding-agent"], since="90d")
    for row in expected.rows:
        shown = table.locator("tr", has=page.get_by_text(row.name, exact=True))
        regret = "–" if row.regret is None else f"{100 * row.regret:.1f}".replace(".", ",")
        expect(shown.locator("td").nth(2)).to_have_text(regret)
    assert "oracle" in table.inner_text()
    link = page.url.split("#")[1]
    page.reload()
    expect(table).to_be_visible()
    page.get_by_label("Scope").select_option(value="project=shop")
    expect(page.get_by_role("alert")).to_contain_text("this scope has no job")
    expect(open_page(link).get_by_role("region", name="Result of the replay")).to_be_visible()


def test_health_shows_sizes_recalls_settings_and_runs_the_checks(open_page: Open, mem: Memotherm) -> None:
    """The figures are those of the store, settings are found by words, and both checks report."""
    slowest = mem.inspect.recalls(1, "slowest")[0]
    page = open_page("/health")
    expect(page.get_by_role("region", name="Slowest queries")).to_contain_text(slowest.query or "")
    expect(page.locator("main")).to_contain_text(f"{mem.status(include_narrower=True).tiers['hot'].memories}")  # type: ignore[index]
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
    for path in (f"/prompts?receipt={number}&memory=hijacked", "/health", "/policies?policy=builtin"):
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
            page.get_by_role("link", name="Policies").click()
            expect(page.locator("main")).to_contain_text("Policies apply to the whole store")
            expect(page.locator("main").get_by_role("button")).to_have_count(0)
            stopping.set()
