"""The store of a small team whose coding agents have worked on three projects for a month: `python -m tests.team`.

The pictures of the docs are made from it.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import memotherm
from memotherm import Memotherm
from memotherm.model import Scope
from memotherm.testing import FakeClock

#: The last moment, a Tuesday.
END = datetime(2026, 6, 30, 16, 0, tzinfo=UTC)


class _Said(NamedTuple):
    """What is stored `days` before the end, in a project."""

    days: float
    project: str
    content: str
    kind: str = "fact"
    more: dict[str, Any] = {}  # noqa: RUF012


_HOT: dict[str, Any] = {"tier": "hot"}
_STORED = (
    _Said(33, "payments-api", "Amounts are integers in cents; `Money` refuses floats", "decision"),
    _Said(33, "payments-api", "The API is versioned by date in the header `Stripe-Style-Version`", "decision"),
    _Said(32, "payments-api", "Tests run with `make test`; the slow ones need Docker", "fact"),
    _Said(32, "payments-api", "The staging database listens on port 5433"),
    _Said(31, "payments-api", "Migrations live in `db/migrations` and are applied by `make migrate`"),
    _Said(31, "payments-api", "Webhooks are retried 8 times with exponential backoff, at most one day"),
    _Said(30, "payments-api", "Idempotency keys are kept for 24 hours in the table `idempotency_keys`"),
    _Said(29, "payments-api", "Refunds above 500 euros need the approval of a second person", "rule"),
    _Said(28, "payments-api", "Never log a card number, not even masked", "rule", {"priority": "critical", **_HOT}),
    _Said(27, "payments-api", "The payout job runs at 02:00 UTC and takes about 40 minutes"),
    _Said(26, "payments-api", "`test_refund_twice` is flaky when the clock of the container drifts"),
    _Said(24, "payments-api", "We chose SERIALIZABLE for the ledger tables, and retry on conflicts", "decision"),
    _Said(23, "payments-api", "PR 418 adds partial refunds; review by Ben", "task"),
    _Said(20, "payments-api", "The sandbox of the bank answers slowly on Mondays, so timeouts there are 30 seconds"),
    _Said(18, "payments-api", "Currency rounding follows ISO 4217, with half-even for JPY and KWD"),
    _Said(15, "payments-api", "Dispute evidence must be sent within 7 days, otherwise the bank decides"),
    _Said(12, "payments-api", "The API gateway strips headers that begin with `X-Internal-`"),
    _Said(9, "payments-api", "Rate limit: 100 requests per second for each merchant, 429 with Retry-After"),
    _Said(6, "payments-api", "Deploys go through the canary for 30 minutes before all regions", "rule", _HOT),
    _Said(4, "payments-api", "The ledger migration 0042 runs on Thursday; no deploys until it is verified", "decision",
          {"tags": ["blocker"], "priority": "important", **_HOT}),
    _Said(3, "payments-api", "Settlement reports are written as Parquet to `s3://reports/settlement/`"),
    _Said(2, "payments-api", "Write the changelog entry for partial refunds", "task"),
    _Said(1.2, "payments-api", "Ana reviews everything under `ledger/`"),
    _Said(0.3, "payments-api", "The timeout of the bank client is 12 seconds since the incident of June 29"),
    _Said(33, "storefront", "The shop is built with SvelteKit and TypeScript in strict mode"),
    _Said(33, "storefront", "`pnpm dev` serves on port 5173; `pnpm check` must pass before a commit", "rule"),
    _Said(30, "storefront", "Product images come from the CDN in AVIF, with WebP as a fallback"),
    _Said(28, "storefront", "The design tokens are generated from Figma every night into `tokens.css`"),
    _Said(26, "storefront", "No third-party scripts on the checkout page", "rule", {"priority": "important"}),
    _Said(24, "storefront", "We keep the cart in IndexedDB, so that it survives a closed tab", "decision"),
    _Said(21, "storefront", "The Lighthouse budget of the start page is 150 kB of JavaScript"),
    _Said(19, "storefront", "Safari 16 lacks `:has()` in nested selectors; the menu uses a class instead"),
    _Said(16, "storefront", "Prices are formatted by the server, because rounding differs between locales", "decision"),
    _Said(13, "storefront", "Playwright tests run against the preview deployment of each pull request"),
    _Said(10, "storefront", "The search page debounces the input by 150 ms"),
    _Said(8, "storefront", "Sale banner for July: texts come from Chen, due on 2026-07-02", "task"),
    _Said(5, "storefront", "The checkout button is disabled while the address is being validated"),
    _Said(3, "storefront", "A/B test `one-page-checkout` ends on July 3; do not touch its markup", "decision",
          {"tags": ["blocker"], **_HOT}),
    _Said(1, "storefront", "Ben has moved the translations to `messages/*.json`"),
    _Said(32, "data-platform", "Events land in Kafka topics named `team.entity.v1`"),
    _Said(31, "data-platform", "The warehouse is DuckDB on Parquet; dbt models live in `models/`"),
    _Said(29, "data-platform", "Airflow DAGs are deployed by a merge to main, within 10 minutes"),
    _Said(27, "data-platform", "Personal data is pseudonymised in the staging layer, never later", "rule",
          {"priority": "critical", **_HOT}),
    _Said(22, "data-platform", "The revenue model counts net of refunds, by the day of the payout", "decision"),
    _Said(17, "data-platform", "Backfills are started with `dags backfill --reset` for at most 30 days at once"),
    _Said(11, "data-platform", "The schema registry refuses fields without a default"),
    _Said(7, "data-platform", "Chen is on call this week", "fact", {"ttl": timedelta(days=30)}),
    _Said(5, "data-platform", "The nightly load failed on June 24 because a column of `orders` was renamed"),
    _Said(2, "data-platform", "Move the churn model to the new feature store", "task"),
)  # fmt: skip
_OF_PEOPLE = (
    ("ana", "Ana prefers small commits with imperative subjects"),
    ("ana", "Ana reads diffs in the terminal; keep summaries under ten lines"),
    ("ben", "Ben wants tests before the code"),
)
_SESSIONS: tuple[tuple[float, str, str, tuple[str, ...]], ...] = (
    (29.2, "payments-api", "ana", ("how do we apply migrations?", "which port does the staging database use?")),
    (27.1, "storefront", "ben", ("what must pass before a commit?", "may I add an analytics script to the checkout?")),
    (22.2, "payments-api", "ana", ("why is test_refund_twice flaky?", "who reviews partial refunds?")),
    (18.2, "data-platform", "chen", ("how do I backfill a week?", "where is personal data pseudonymised?")),
    (13.1, "payments-api", "ben", ("how often are webhooks retried?", "how long do we keep idempotency keys?")),
    (8.2, "storefront", "ana", ("how large may the start page be?", "where are prices formatted?")),
    (6.1, "payments-api", "ana", ("what is the rate limit of a merchant?", "how are deploys rolled out?")),
    (4.2, "data-platform", "chen", ("why did the nightly load fail?", "what counts as revenue?")),
    (1.3, "payments-api", "ben", ("where do settlement reports go?", "how do we round amounts in JPY?")),
    (1.1, "storefront", "ben", ("where are the translations?", "how is the cart stored?")),
    (0.34, "payments-api", "ana",
     ("add a retry to the bank client", "which timeout does the bank client have?",
      "does a refund of 700 euros need approval?")),
    (0.2, "payments-api", "ana",
     ("write a test for partial refunds", "which isolation level do the ledger tables use?")),
    (0.05, "payments-api", "ana",
     ("can we deploy the refund endpoint today?", "which port does the staging database use?",
      "how often are webhooks retried, and for how long?")),
)  # fmt: skip


def make(path: str | Path, **arguments: Any) -> None:
    """Make the store in a new file; `arguments` are those of `memotherm.open`."""
    clock = FakeClock(END - timedelta(days=34))
    with memotherm.open(":memory:", clock=clock, scope=Scope(), **arguments) as mem:
        fill(mem, clock)
        mem.checkpoint(path)


def fill(mem: Memotherm, clock: FakeClock) -> None:
    """Live through the month in the order of its days; the clock moves to the end."""
    mem.by("person").remember("Answer in English, and name the files that you changed", kind="rule", priority="pinned")
    for user, content in _OF_PEOPLE:
        mem.scoped(user=user).by("person", user).remember(content, kind="preference")
    steps: list[tuple[float, Any]] = [(said.days, said) for said in _STORED]
    steps += [(session[0], (number, session)) for number, session in enumerate(_SESSIONS)]
    steps += [(float(days), None) for days in (28, 21, 14, 7)]
    for days, step in sorted(steps, key=lambda step: -step[0]):
        clock.now = END - timedelta(days=days)
        match step:
            case None:
                mem.maintain()
            case _Said():
                mem.scoped(project=step.project).remember(step.content, kind=step.kind, **step.more)
            case number, (_, project, user, questions):
                _converse(mem.scoped(project=project, user=user), clock, f"9f{number:02x}c4e1-7d0b-4a55", questions)
    clock.now = END - timedelta(hours=3)
    _work(mem)
    clock.now = END
    mem.compact()


def _converse(view: Memotherm, clock: FakeClock, name: str, questions: tuple[str, ...]) -> None:
    session = view.session(name)
    session.session_start(budget=1200)
    for question in questions:
        clock.advance(minutes=4)
        sent = session.before_turn(question, budget=400)
        found = [entry.id for entry in sent.included if entry.section == "recalled"]
        if found:
            view.scoped(session=name).feedback(used=found[:1])
    clock.advance(minutes=5)
    session.session_end()


def _work(mem: Memotherm) -> None:
    """Do today's work: an edit, moves, conflicts that nobody has decided, and proposals."""
    payments, shop = mem.scoped(project="payments-api"), mem.scoped(project="storefront")
    person = payments.by("person", "ana")
    (port,) = payments.find(contains="listens on port")
    person.update(port.id, content="The staging database listens on port 5544", why="it was moved to the new host")
    (debounce,) = shop.find(contains="debounces")
    shop.move(debounce.id, "cold", "the search page was replaced")
    (oncall,) = mem.scoped(project="data-platform").find(contains="on call")
    mem.scoped(project="data-platform").forget(oncall.id, "the week is over")
    person.remember("The payout job starts at 02:00")
    payments.remember("The payout job starts at 03:00")
    person.remember("We deploy on Fridays")
    payments.remember("We no longer deploy on Fridays")
    for content, tags in (
        ("Ana owns the refund endpoint", ["people"]),
        ("Merchants see a payout two days after the sale", []),
        ("The bank client retries only idempotent requests", ["bank"]),
    ):
        payments.remember(content, source="extracted", tags=tags)


if __name__ == "__main__":
    make(sys.argv[1] if sys.argv[1:] else "team.db")
