"""A correction in plain words corrects: what it replaces ceases to hold, with a reason, and can be taken back."""

from __future__ import annotations

import pytest

from memotherm import Memotherm
from memotherm.errors import InvalidInput
from memotherm.testing import FakeClock
from tests.helpers import contents


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("postgres runs on port 5433", "no, we moved postgres to port 5434"),
        ("The retry limit is 5", "We moved the retry limit to 3"),
        ("The API gateway is Traefik", "No, that's wrong: the API gateway is Kong, not Traefik"),
        ("The cron runs at 02:00", "that's not right, the cron runs at 03:00"),
        ("The cron runs at 02:00", "Scratch that. The cron runs at 03:00."),
        ("The gateway is Traefik", "The gateway is not Traefik but Kong"),
        ("We deploy on Fridays", "We no longer deploy on Fridays"),
        ("The shop uses Postgres", "The shop now uses MySQL"),
        ("Ana arbeitet bei Acme", "Ana arbeitet nicht mehr bei Acme"),
        ("Vivo en Madrid", "Ya no vivo en Madrid"),
        ("You work at Acme", "You no longer work at Acme"),
        ("服务器使用5433端口", "服务器不再使用5433端口"),
        ("Der Port ist 5433", "Nein, der Port ist 5434"),
        ("El puerto es 5433", "No, eso está mal: el puerto es 5434"),
        ("Le port est 5433", "Non, c'est faux : le port est 5434"),
        ("La porta è 5433", "No, la porta è 5434, non 5433"),
        ("Порт это 5433", "Нет, порт это 5434"),
        ("端口是5433", "不对，端口是5434"),
    ],
)
def test_a_correction_supersedes_what_it_corrects(mem: Memotherm, clock: FakeClock, older: str, newer: str) -> None:
    """It ceases to hold, leaves hot, and is linked both ways; the event has the reason, and undo takes it back."""
    old = mem.remember(older, kind="message", tier="hot")
    clock.advance(days=1)
    new = mem.remember(newer, kind="message")
    superseded = mem.get(old.id)
    assert (superseded.valid_until, superseded.tier, superseded.retention) == (clock.now, "warm", "active")
    assert (superseded.metadata["superseded_by"], new.supersedes) == (new.id, old.id)
    assert superseded.updated_at == old.updated_at
    event = mem.history(old.id)[-1]
    assert event.rule == "superseded"
    assert event.why.startswith(f"{new.id} says ")
    assert mem.conflicts() == []
    mem.undo(event.seq)
    assert mem.get(old.id).valid_until is None
    assert mem.get(old.id).tier == "hot"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The gateway is Traefik", "Maybe the gateway is now Kong"),
        ("The gateway is Traefik", "No, we could move the gateway to Kong"),
        ("The gateway is Traefik", "No, is the gateway now Kong?"),
        ("The gateway is Traefik", "The gateway is Kong"),
        ("Ana likes tea", "No, Bob likes coffee"),
        ("The retry limit is 5", "No, the port is 5434"),
    ],
)
def test_what_is_unsure_supersedes_nothing(mem: Memotherm, older: str, newer: str) -> None:
    """Options, questions, plain statements and other subjects."""
    old = mem.remember(older)
    mem.remember(newer)
    assert mem.get(old.id) == old


def test_what_an_agent_says_does_not_supersede_what_a_person_said(mem: Memotherm) -> None:
    """It is a proposal, whose approval archives what the person said."""
    old = mem.by("person").remember("The retry limit is 5")
    new = mem.by("agent").remember("No, the retry limit is 3")
    assert (mem.get(old.id).valid_until, new.supersedes) == (None, None)
    (proposal,) = mem.find(retention="proposed")
    assert proposal.supersedes == old.id


def test_contexts_leave_out_what_is_superseded(mem: Memotherm, clock: FakeClock) -> None:
    """The successor is there alone."""
    mem.remember("The staging retry limit is 5")
    clock.advance(days=1)
    mem.remember("No, we moved the staging retry limit to 3")
    clock.advance(days=1)
    text = mem.context("What is the staging retry limit?").text
    assert "limit to 3" in text
    assert "limit is 5" not in text


def test_a_search_puts_what_is_superseded_behind_its_successor(mem: Memotherm, clock: FakeClock) -> None:
    """Messages as well, however much better the old words match; whatever the limit."""
    said = ["The staging retry limit is 5", "No, the staging retry limit is 4", "We moved the staging retry limit to 3"]
    for text in said:
        mem.remember(text, kind="message")
        clock.advance(days=1)
    assert contents(mem.recall("the staging retry limit is 5")) == said[::-1]
    assert contents(mem.recall("the staging retry limit is 5", limit=1)) == said[-1:]


def test_a_summary_does_not_restate_what_is_superseded(mem: Memotherm, clock: FakeClock) -> None:
    """It is made again from what holds, with the day of its session."""
    old = mem.remember("The staging retry limit is 5", kind="message")
    other = mem.remember("The office is in Oslo", kind="message")
    sources = {"derived_from": {old.id: old.version, other.id: other.version}}
    text = f"Session of {clock.now:%Y-%m-%d}\nSaid: {old.content}; {other.content}"
    summary = mem.remember(text, "summary", key="session/one/summary", metadata=sources)
    clock.advance(days=3)
    mem.remember("No, the staging retry limit is 3", kind="message")
    made = mem.get(key="session/one/summary")
    assert made.content == f"Session of 2026-01-05\nSaid: {other.content}"
    assert made.updated_at == summary.updated_at


def test_an_amendment_that_corrects_nothing_is_refused(mem: Memotherm) -> None:
    """It would only add to the memory."""
    memory = mem.remember("The port is 5433. The gateway is Traefik.")
    with pytest.raises(InvalidInput, match="name the part"):
        mem.amend(memory.id, "Ana lives in Oslo")
    assert mem.amend(memory.id, "The port is 5434").content == "The gateway is Traefik. The port is 5434."


def test_a_sentence_of_a_longer_memory_is_superseded_alone(mem: Memotherm, clock: FakeClock) -> None:
    """Contexts show the rest of the memory; once nothing of it holds, it ceases to hold."""
    old = mem.remember("The staging port is 5433. The staging gateway is Traefik.", kind="message")
    clock.advance(days=1)
    new = mem.remember("No, the staging port is 5434", kind="message")
    assert mem.get(old.id).metadata["outdated"] == {"The staging port is 5433.": new.id}
    assert (mem.get(old.id).valid_until, new.supersedes) == (None, old.id)
    assert contents(mem.recall("what is the staging port?"))[0] == new.content
    assert contents(mem.recall("is the staging gateway Traefik?"))[0] == old.content
    text = mem.context("the staging port and the staging gateway").text
    assert "Traefik" in text
    assert "5434" in text
    assert "5433" not in text
    assert mem.conflicts() == []
    clock.advance(days=1)
    mem.remember("The staging gateway is Kong, not Traefik", kind="message")
    assert mem.get(old.id).valid_until == clock.now
