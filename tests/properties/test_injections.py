"""Sessions that are given memories and use none of them leave every tier and every score as it was."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from memotherm import Memotherm
from memotherm.errors import NotFound
from memotherm.testing import FakeClock

Open = Callable[..., Memotherm]

LINES = (
    "The staging database listens on port 5433",
    "The release notes are written before the tests run on Friday",
    "Ana owns the billing service and reviews its pull requests",
    "The API gateway is Traefik, with the dashboard on port 8080",
    "We deploy the shop with Fly, from the branch main",
    "The importer reads invoices in batches and commits each of them",
)
SUMMARY = (
    "Session of 2026-01-05\nDecided: keep the invoices in Postgres\nAsked: which port does staging use\n"
    "Said: the tests of the importer fail on the branch; the dashboard shows errors; the pull request is open"
)
#: Usual turns: each reply has words with some of the lines in common, and none says what a line says.
TURNS = (
    ("rename the function in parser.py", "The function is renamed in two files."),
    ("fix the failing importer", "I fixed the importer and pushed the branch."),
    ("write a test for the parser", "I added a test for the parser; all tests pass now."),
    ("commit it", "Committed to the branch."),
    ("open a pull request", "Here is the pull request."),
    ("how long do the tests take?", "The tests run in 14 seconds."),
    ("what does the billing service return?", "The service returns 404 now."),
    ("thanks", "Done."),
    ("deploy the dashboard", "The dashboard is deployed."),
    ("is the gateway up?", "The gateway is up."),
    ("write the changelog", "I wrote the release notes of the parser."),
    ("why is the import slow?", "The importer reads the file twice, which is slow."),
)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_fifty_sessions_of_injections_without_use_change_nothing(open_mem: Open, clock: FakeClock, seed: int) -> None:
    """Tiers, uses and the scores of a recall are those of the first day; what was injected is in the receipts."""
    mem, choice = open_mem(settings={"recall_log": "text"}), random.Random(seed).choice
    tiers = ("hot", "warm", "warm", "cold")
    for line in LINES:
        mem.remember(line, tier=choice(tiers))
    mem.remember(SUMMARY, "summary", tier="cold", key="session/first/summary", index=False)

    def state() -> list[tuple[object, ...]]:
        scores = {hit.memory.id: hit.score for prompt, _ in TURNS for hit in mem.recall(prompt, track=False)}
        return [
            (memory.content, memory.tier, memory.use_weight, memory.access_count, memory.relevance,
             scores.get(memory.id, 0.0) > 0)
            for memory in mem.find(limit=50)
        ]  # fmt: skip

    before, injected = state(), 0
    for number in range(50):
        session = mem.session(f"s{number}")
        injected += len(session.session_start().included)
        for _ in range(3):
            clock.advance(minutes=5)
            prompt, reply = choice(TURNS)
            injected += len(session.before_turn(prompt, include_cold=True).included)
            try:
                assert mem.scoped(session=f"s{number}").feedback(answer=reply).reflected == ()
            except NotFound:
                continue
        session.session_end()
        mem.maintain()

    assert injected > 50
    assert state() == before
    assert mem.find(kind="summary").memories[0].tier == "cold"
