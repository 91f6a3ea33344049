"""A store of a year: the same memories, sessions, recalls and moves every time, in any size.

The screenshots, the tests in a browser and the bench of the dashboard use it. `python -m tests.year STORE` makes one.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import memotherm
from memotherm import Memotherm
from memotherm.model import Scope
from memotherm.testing import FakeClock

#: The last day of the year, which is also the time of the clock at the end.
END = datetime(2026, 6, 30, 16, 0, tzinfo=UTC)
DAYS = 365
_MAINTAIN_EVERY_DAYS = 28

PROJECTS = ("shop", "billing", "handbook")
_USERS = ("ana", "ben", "chen")
_KINDS = ("fact", "decision", "preference", "task", "note", "message")
_TAGS = ("release", "database", "customer", "design", "blocker", "security")

_SUBJECTS = (
    "The checkout page", "The invoice export", "The release train", "The staging database", "The search index",
    "The customer Acme", "The mobile client", "The payment webhook", "The nightly backup", "The onboarding guide",
    "Die Rechnungsprüfung", "Das Lager in Köln", "El informe mensual", "La clienta de Madrid", "在庫の同期",
    "検索ページ", "نظام الفواتير", "Отчёт о продажах",
)  # fmt: skip
_FACTS = (
    "is deployed on Fridays at {hour}:00", "needs {count} replicas before the sale starts",
    "was moved to the new cluster because of {ticket}", "must answer within {count} milliseconds",
    "is owned by {person} until the audit ends", "stores {count} rows for each tenant",
    "fails when the cache is empty, see {ticket}", "should say “{person} will call you back”",
    "wird am {day}. geprüft, sagt {person}", "se revisa el día {day} con {person}",
    "は{person}が{day}日に確認します", "يراجعه {person} في اليوم {day}",
)  # fmt: skip
_PRIORITIES = ("important", "normal", "low")
#: The numbers of the critical memories.
_CRITICAL = range(50, 500, 50)
_PEOPLE = ("Ana", "Ben", "Chen", "Dora", "Émile", "Farid", "Grete", "Hiro")
_PINNED = ("Answer in the language of the question", "Never write to the production database", "Sign as the shop team")
_QUESTIONS = (
    "When is the checkout page deployed?", "Why was the staging database moved?", "Who owns the payment webhook?",
    "Was steht zur Rechnungsprüfung fest?", "How fast must the search index answer?", "¿Cuándo se revisa el informe?",
    "Which backup runs at night?", "What does the customer Acme want?",
)  # fmt: skip
#: Contents that a page must show as text.
HOSTILE = (
    "<script>document.title = 'hijacked'</script><img src=x onerror=\"document.title='hijacked'\">",
    "\u202eright to left\u202c and \u200bzero width, {{braces}} ${template} &lt;entity&gt;",
)


def make(path: str | Path, memories: int = 3000, session_days: int = 7, **arguments: Any) -> None:
    """Make a store of a year in a new file; `arguments` are those of `memotherm.open`.

    It is made in memory and then copied, which takes a fifth of the time.
    """
    clock = FakeClock(END - timedelta(days=DAYS))
    with memotherm.open(":memory:", clock=clock, scope=Scope(), **arguments) as mem:
        fill(mem, clock, memories, session_days)
        mem.checkpoint(path)


def fill(mem: Memotherm, clock: FakeClock, memories: int = 3000, session_days: int = 7, seed: int = 7) -> None:
    """Live through a year: memories every day, turns of sessions, recalls, maintenance, two policies.

    There is a session every `session_days` days and on the last three. The clock moves to the end of the year.
    """
    chance = random.Random(seed)
    start = clock()
    drafts = drafts_of_a_year(chance)
    for content in _PINNED:
        mem.remember(content, kind="preference", priority="pinned")
    stored = len(_PINNED)
    for day in range(DAYS):
        clock.now = start + timedelta(days=day, hours=1)
        due = memories * (day + 1) // DAYS - stored
        stored += due
        _remember(mem, [next(drafts) for _ in range(due)], chance, day)
        if day % session_days == 0 or day >= DAYS - 3:
            _converse(mem, clock, chance, day)
        if day % _MAINTAIN_EVERY_DAYS == 0:
            mem.maintain()
        if day in (120, 240):
            mem.policies.adopt("coding-agent" if day == 120 else "research")
    for content in HOSTILE:
        mem.scoped(project="shop").remember(content, kind="note", tier="hot", tags=("security",))
    clock.now = END
    mem.compact()


def drafts_of_a_year(chance: random.Random) -> Iterator[dict[str, Any]]:
    """Yield memories without end; the running ticket makes each content different."""
    number = 0
    while True:
        number += 1
        values = {
            "hour": chance.randint(7, 19), "count": chance.randint(2, 900), "day": chance.randint(1, 28),
            "person": chance.choice(_PEOPLE), "ticket": f"TICKET-{number}",
        }  # fmt: skip
        fact = chance.choice(_FACTS).format(**values)
        yield {
            "content": f"{chance.choice(_SUBJECTS)} {fact} ({number})",
            "kind": chance.choice(_KINDS),
            "tags": chance.sample(_TAGS, chance.randint(0, 2)),
            "tier": chance.choices(("hot", "warm", "cold"), (3, 6, 1))[0],
            # A scope may have ten critical memories only.
            "priority": "critical" if number in _CRITICAL else chance.choices(_PRIORITIES, (8, 80, 12))[0],
            "metadata": {"ticket": values["ticket"], "points": values["count"]},
        }


def _remember(mem: Memotherm, drafts: list[dict[str, Any]], chance: random.Random, day: int) -> None:
    """Store the memories of a day in a project, every third day in the scope of a user of it, and change one."""
    view = mem.scoped(project=PROJECTS[day % len(PROJECTS)])
    if day // len(PROJECTS) % 3 == 0:
        view = view.scoped(user=chance.choice(_USERS))
    found = view.remember_many(drafts)
    if not found:
        return
    chosen = chance.choice(found)
    if day % 11 == 0:
        view.forget(chosen.id, "no longer needed")
    elif day % 13 == 0:
        view.archive(chosen.id, "the project has moved on")
    elif day % 17 == 0:
        view.update(chosen.id, content=f"{chosen.content}, corrected by {chance.choice(_PEOPLE)}")


def _converse(mem: Memotherm, clock: FakeClock, chance: random.Random, day: int) -> None:
    """Hold a session of three turns, and recall beside it."""
    view = mem.scoped(project=PROJECTS[day % len(PROJECTS)], user=_USERS[day % len(_USERS)])
    session = view.session(f"day-{day:03}")
    session.session_start(budget=600)
    for question in chance.sample(_QUESTIONS, 3):
        clock.advance(minutes=4)
        session.before_turn(question, budget=chance.choice((200, 400, 800)))
        session.add(f"We talked about: {question} (day {day})")
    view.recall(chance.choice(_QUESTIONS), tiers=("hot", "warm", "cold"))
    view.recall(f"TICKET-{chance.randint(1, 3000)}")
    clock.advance(minutes=5)
    session.session_end()


def main() -> None:
    """Make a store of a year at a path."""
    parser = argparse.ArgumentParser(description="Make a store of a year.")
    parser.add_argument("store")
    parser.add_argument("--memories", type=int, default=3000)
    options = parser.parse_args()
    make(options.store, options.memories)


if __name__ == "__main__":
    main()
