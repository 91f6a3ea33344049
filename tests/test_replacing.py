"""A turn that gives something another value: the older memory is perhaps outdated, and comes after it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from memotherm import Memotherm
from memotherm.statements.replacing import Turn
from memotherm.testing import FakeClock
from tests.helpers import opened


@pytest.fixture(name="mem")
def _mem(clock: FakeClock, tmp_path: Path) -> Iterator[Memotherm]:
    with opened(tmp_path / "agent.db", clock=clock, embedder="local") as mem:
        yield mem.by("person")
        assert mem.check() == []


def say(mem: Memotherm, clock: FakeClock, text: str, session: str = "one") -> str:
    """Capture a turn of a user; return the id of its memory."""
    clock.advance(minutes=2)
    captured = mem.capture(text, metadata={"role": "user", "session": session})
    assert captured.memory is not None, captured.why
    return captured.memory.id


@pytest.mark.parametrize(
    ("older", "newer", "part"),
    [
        ("beta starts on 4 May", "beta moved, 18 May", "beta starts on 4 May"),
        ("the tracking screen polls every 15 seconds", "polling every 15s is too much. its 60 now", None),
        ("we order paper from Inkwell, it takes 2 days", "Inkwell closed down, we order from Sheetly instead", None),
        ("the weekly review is on Tuesdays at 10", "sorry, the review is on wednesday at 10", None),
        ("it is Traefik, jobs go through Celery", "we dropped Celery, jobs run on Dramatiq", None),
        ("la livraison est gratuite à partir de 25 euros", "la livraison gratuite c'est à partir de 30 euros", None),
        ("server steht in Falkenstein", "server ist umgezogen, steht jetzt in Nürnberg", None),
        ("a mensalidade é 60 euros", "a mensalidade agora é 65 euros", None),
        ("周会是周一下午两点", "周会改到周三上午十点", None),
    ],
)  # fmt: skip
def test_another_value_replaces_a_part(older: str, newer: str, part: str | None) -> None:
    """It is the clause or the sentence with the older value."""
    assert Turn(newer).replaced_part(older) == (part or older)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("the queue is RabbitMQ", "maybe the queue could be Kafka at some point"),
        ("the queue is RabbitMQ", "is the queue Kafka now?"),
        ("our deposit is 30%", "other agencies take 50% up front"),
        ("the office opens at 9", "Ana has 3 children"),
        ("the budget is 18,000", "the doors open at 18:30, not 18:00"),
        ("we use Sentry for errors", "we also use Grafana for dashboards"),
        ("Thanks, Maria!", "Maria, keep going, now you are there!"),
    ],
)
def test_an_option_a_question_or_another_thing_replaces_nothing(older: str, newer: str) -> None:
    """Neither does what somebody else does, or an exclamation."""
    assert Turn(newer).replaced_part(older) == ""


def test_what_is_perhaps_outdated_comes_after_its_successor_and_is_marked(mem: Memotherm, clock: FakeClock) -> None:
    """Nothing is lost: it stays, says so in contexts, and undo takes the mark back."""
    old = say(mem, clock, "Postgres for development runs in docker and is mapped to port 5433")
    new = say(mem, clock, "the postgres port is different since yesterday, 5434 now", session="two")
    found = [hit.memory.id for hit in mem.recall("which port does postgres have?")]
    assert found[:2] == [new, old]
    assert mem.get(old).metadata["perhaps-outdated"] == {"": new}
    text = mem.context("which port does postgres have?").text
    assert text.index("5434") < text.index("perhaps outdated") < text.index("5433")
    event = mem.history(old)[-1]
    assert event.rule == "perhaps_outdated"
    mem.undo(event.seq)
    assert "perhaps-outdated" not in mem.get(old).metadata


def test_a_bare_value_is_stored_with_the_question_that_it_answers(mem: Memotherm, clock: FakeClock) -> None:
    """By itself, "nah, 14" says nothing."""
    old = say(mem, clock, "how long are logs kept?\nLogs are kept for 30 days in Loki.")
    new = say(mem, clock, "nah, 14")
    assert mem.get(new).content == "how long are logs kept?\nnah, 14"
    assert [hit.memory.id for hit in mem.recall("how long do we keep logs?")][:2] == [new, old]


def test_a_value_with_its_reason_is_stored_with_the_question_too(mem: Memotherm, clock: FakeClock) -> None:
    """Also if it replaces a part of a memory that was not asked about."""
    say(mem, clock, "the shop runs on a server in Nuremberg, payments with Stripe, node 20")
    say(mem, clock, "which version of node is in production?\nNode 20 is in production.")
    new = say(mem, clock, "no, 22 since the migration")
    assert mem.get(new).content == "which version of node is in production?\nno, 22 since the migration"


def test_a_part_is_behind_its_successor_only_if_it_is_asked_for(mem: Memotherm, clock: FakeClock) -> None:
    """What else a memory says still holds."""
    old = say(mem, clock, "api gateway is Traefik, background jobs go through Celery, errors land in Sentry")
    new = say(mem, clock, "we threw Traefik out, the api gateway is Kong now")
    assert [hit.memory.id for hit in mem.recall("what is our api gateway?")][:2] == [new, old]
    assert next(iter(mem.recall("where do errors land?"))).memory.id == old


def test_a_start_has_no_preference_that_is_perhaps_outdated(mem: Memotherm, clock: FakeClock) -> None:
    """What has changed it is a fact, which starts do not have: a prompt about it brings both."""
    old = say(mem, clock, "I prefer the dark theme for the site. I like short functions.")
    assert "dark theme" in mem.session("two").session_start().text
    new = say(mem, clock, "the site has the light theme now, the dark one is gone", session="two")
    assert (mem.get(old).kind, mem.get(new).kind) == ("preference", "fact")
    start = mem.session("three").session_start().text
    assert "I like short functions" in start
    assert "dark theme" not in start
    assert "perhaps outdated" not in start
    text = mem.context("which theme does the site have?").text
    assert text.index("light theme now") < text.index("perhaps outdated") < text.index("dark theme")


def test_a_hit_brings_what_replaces_a_part_that_was_not_asked_for(mem: Memotherm, clock: FakeClock) -> None:
    """A reader who sees that a part is perhaps outdated sees the other value as well."""
    old = say(mem, clock, "api gateway is Traefik, background jobs go through Celery, errors land in Sentry")
    new = say(mem, clock, "we threw Traefik out, the api gateway is Kong now")
    for number in range(30):
        say(mem, clock, f"parcel {number} of Wexford was returned by the courier")
    text = mem.context("where do errors land?").text
    assert mem.get(old).metadata["perhaps-outdated"]
    assert text.index(mem.get(new).content) < text.index("perhaps outdated") < text.index("Sentry")
    for hide in (partial(mem.move, tier="cold"), mem.forget, mem.purge):
        hide(new)
        assert "Kong" not in mem.context("where do errors land?").text


def test_a_result_replaces_the_number_of_an_earlier_reply(mem: Memotherm, clock: FakeClock) -> None:
    """It does not replace what a person said."""
    own = say(mem, clock, "CI takes 15 minutes on average\nNoted.")
    new = say(mem, clock, "Please cache the dependencies\nWith the cache, CI went down to 6 minutes.", "two")
    assert "perhaps-outdated" not in mem.get(own).metadata
    mem.purge(own)
    mem.purge(new)
    old = say(mem, clock, "Why does the pipeline take so long?\nCI takes 14 minutes on average.", "three")
    new = say(mem, clock, "Please cache the dependencies as well\nWith the cache, CI went down to 7 minutes.", "four")
    assert mem.get(old).metadata["perhaps-outdated"] == {"": new}


def test_the_words_of_an_agent_do_not_doubt_those_of_a_person(mem: Memotherm, clock: FakeClock) -> None:
    """Its own memory is stored beside them."""
    old = say(mem, clock, "the standup is at 9:30")
    clock.advance(minutes=2)
    mem.by("agent").capture("the standup is at 10:15 now", metadata={"role": "user", "session": "one"})
    assert "perhaps-outdated" not in mem.get(old).metadata


@pytest.mark.parametrize(
    "newer", ["the meeting with Zorblatt moved to room Oslo", "no, it is in room Oslo, not in room Bergen"]
)
def test_no_reason_quotes_what_is_purged(mem: Memotherm, clock: FakeClock, newer: str) -> None:
    """The ledger keeps the reasons of a purged memory."""
    old = say(mem, clock, "the meeting with Zorblatt is in room Bergen")
    new = say(mem, clock, newer)
    assert {event.rule for event in mem.history(old)} & {"superseded", "perhaps_outdated"}
    for each in (new, old):
        mem.purge(each)
    told = " ".join(f"{event.why} {event.changes}" for event in mem.events())
    assert new in told
    assert not {"Zorblatt", "Bergen", "Oslo"} & set(told.replace("'", " ").split())
