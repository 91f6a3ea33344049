"""Memories that disagree: found, shown in contexts, decided and taken back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from memotherm import Memotherm
from memotherm.cli.app import app
from memotherm.errors import InvalidInput, NotFound
from memotherm.mcp.results import concise
from memotherm.rest.app import application
from memotherm.testing import FakeClock
from memotherm.tools import call
from tests.helpers import opened


@pytest.mark.parametrize(
    ("older", "newer", "values"),
    [
        ("The staging port is 5433", "The staging port is 5544", ("5433", "5544")),
        ("The retry limit is 5", "The retry limit is 3", ("5", "3")),
        ("retries: 5", "retries: 3", ("5", "3")),
        ("The log level is info", "The log level is debug", ("info", "debug")),
        ("The logo is green", "The logo is blue", ("green", "blue")),
        ("The meeting is at ten", "The meeting is at noon", ("ten", "noon")),
        ("Der Abend ist am Freitag", "Der Abend ist am Montag", ("Freitag", "Montag")),
        ("The grade is A", "The grade is B", ("A", "B")),
        ("Deploys are frozen until Friday", "Deploys are frozen until Monday", ("Friday", "Monday")),
        ("User prefers dark mode", "User prefers light mode", ("dark", "light")),
        ("Ana does not work at Acme", "Ana works at Acme", ("not", "")),
        ("Сервер слушает порт 5433", "Сервер слушает порт 5544", ("5433", "5544")),
        ("我住在北京", "我住在上海", ("北京", "上海")),
        ("Your staging port is 5433", "Your staging port is 5544", ("5433", "5544")),
    ],
)
def test_another_value_of_the_same_thing_is_a_conflict(
    mem: Memotherm, clock: FakeClock, older: str, newer: str, values: tuple[str, str]
) -> None:
    """A denial counts as another value; until somebody decides, the newer one counts."""
    first = mem.remember(older)
    clock.advance(days=1)
    second = mem.remember(newer)

    (conflict,) = mem.conflicts()
    assert (conflict.older.id, conflict.newer.id, conflict.winner) == (first.id, second.id, second.id)
    assert conflict.values == values


def test_a_conflict_is_named_as_the_memories_write_it_and_says_why_one_counts(mem: Memotherm) -> None:
    """Capitals are kept in all scripts; the more trusted one counts, and it is said who is trusted."""
    mem.by("person").remember("Staging of ACME runs on Postgres in Straßburg")
    mem.remember("staging of ACME runs on MySQL in Straßburg")
    mem.remember("The `payout` job of Ana's team starts at 02:00, and takes an hour.", kind="note")
    mem.remember("The `payout` job of Ana's team starts at 03:00, and takes an hour.", kind="note")
    (job,) = mem.conflicts(1)
    assert (job.about, job.values) == ("payout job of Ana's team starts at … and takes hour", ("02:00", "03:00"))
    mem.remember("Сервер Москва слушает порт 5433")
    mem.remember("Сервер Москва слушает порт 5544")

    port, _, database = mem.conflicts()
    assert (database.about, database.values) == ("Staging of ACME runs on … in Straßburg", ("Postgres", "MySQL"))
    assert (database.winner, database.why) == (database.older.id, "a person is trusted more than an agent")
    assert port.about == "Сервер Москва слушает порт …"
    assert (port.winner, port.why) == (port.newer.id, "it is newer, and both are by an agent")
    assert str(port).endswith(f"  {port.newer.id} counts: it is newer, and both are by an agent")


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("Ana likes tea", "Bob likes tea", "fact"),
        ("I like tea", "I like coffee", "preference"),
        ("Invoice 1042 was paid by Ana", "Invoice 1043 was paid by Ana", "fact"),
        ("The port is 5433", "The port is 5433 on staging", "fact"),
        ("The port is 5433", "The port is open", "fact"),
        ("The trip to Rome was great!", "The trip to Rome was awful!", "fact"),
        ("The weather is nice", "The weather is bad", "message"),
        ("Let me know if you need a hand", "Let me know if you need a map", "fact"),
        ("Ich hoffe, dein Flug war ruhig", "Ich hoffe, dein Flug war kurz", "fact"),
        ("I'm looking for some tips on pottery", "I'm looking for some tips on sailing", "fact"),
        ("I like those colours", "I like those shapes", "fact"),
        ("Thanks for the hint on Friday", "Thanks for the hint on Monday", "fact"),
        ("Great is the day in Rome", "Great is the day in Oslo", "fact"),
        ("The author is E. M. Forster", "The author is C. S. Lewis, who wrote it", "fact"),
        ("**Tips for pottery:**", "**Tips for sailing:**", "fact"),
    ],
)
def test_what_agrees_or_states_nothing_is_no_conflict(mem: Memotherm, one: str, other: str, kind: str) -> None:
    """Other subjects, places with several values, refinements, exclamations, headings, indefinite words and chatter."""
    mem.remember(one, kind=kind)
    mem.remember(other, kind=kind)

    assert mem.conflicts() == []


def test_a_value_that_had_ceased_to_hold_is_no_conflict(mem: Memotherm) -> None:
    """Two values that hold one after the other are both right; two that hold together are not."""
    mem.remember("The lead of the team is Ana", valid_until="2025-06-30")
    mem.remember("The lead of the team is Bob", valid_from="2025-07-01")
    assert mem.conflicts() == []
    mem.remember("The lead of the team is Carla", valid_from="2025-08-01", valid_until="2027-01-01")
    assert {conflict.values for conflict in mem.conflicts()} == {("Bob", "Carla")}


def test_narrower_scopes_are_compared_with_what_they_see(mem: Memotherm, clock: FakeClock) -> None:
    """Of two users, each sees what is everyone's and nothing of the other; every interface lists the same."""
    stored = {}
    for number, user in enumerate(("everyone", "ana", "ben")):
        view = mem if user == "everyone" else mem.scoped(user=user)
        stored[user] = view.remember(f"The staging port is 543{number}").id
        clock.advance(days=1)
    assert mem.conflicts() == []
    found = mem.conflicts(include_narrower=True)
    assert [(each.older.id, each.newer.id) for each in found] == [
        (stored["everyone"], stored["ben"]),
        (stored["everyone"], stored["ana"]),
    ]
    client = TestClient(application(mem), base_url="http://127.0.0.1:8077")
    assert len(client.get("/conflicts?include_narrower=true").json()["conflicts"]) == 2
    told = concise(call(mem, "memory_conflicts", {"includeNarrower": True}))["conflicts"]
    only_of_ana = client.get(f"/conflicts?include_narrower=true&ids={stored['ana']}").json()["conflicts"]
    assert [each["newer"]["id"] for each in only_of_ana] == [stored["ana"]]
    assert told[0] == {
        "about": "staging port …",
        "newer": f"{stored['ben']} 2026-01-07: The staging port is 5432",
        "older": f"{stored['everyone']} 2026-01-05: The staging port is 5430",
        "winner": stored["ben"],
        "why": "it is newer, and both are by an agent",
    }
    listed = CliRunner().invoke(app, ["conflicts", "--include-narrower", "--json", "--store", str(mem.status().store)])
    assert len(json.loads(listed.output)["conflicts"]) == 2


def test_a_decision_is_one_event_that_can_be_undone(mem: Memotherm, clock: FakeClock) -> None:
    """The other memory is archived as superseded; two that were both verified do not disagree."""
    kept = mem.remember("The staging port is 5433")
    clock.advance(days=1)
    other = mem.remember("The staging port is 5544")

    assert [memory.id for memory in mem.decide(kept.id, why="asked Ana")] == [other.id]
    assert mem.conflicts() == []
    event = mem.history(other.id)[-1]
    assert (event.action, event.rule, event.why) == ("archive", "superseded", f"replaced by {kept.id}; asked Ana")
    assert len(mem.history(kept.id)) == 1
    mem.undo(event.seq)
    assert len(mem.conflicts()) == 1
    mem.verify(kept.id)
    mem.verify(other.id)
    assert mem.conflicts() == []
    with pytest.raises(NotFound, match="no conflict"):
        mem.decide(kept.id)


def test_contexts_show_both_sides_of_a_conflict_and_leave_out_what_a_correction_has_replaced(
    mem: Memotherm, clock: FakeClock
) -> None:
    """Where nothing tells which is right, both are in conflict."""
    mem.remember("The staging database listens on port 5433")
    mem.remember("The staging database has a replica in Oslo")
    clock.advance(days=3)
    mem.remember("The staging database listens on port 5544")
    mem.remember("The staging database no longer has a replica in Oslo")

    lines = mem.context("the staging database, its port and its replica").text.splitlines()
    entries = {line.partition(": ")[2]: line.partition(": ")[0] for line in lines if line.startswith("- ")}
    marks = {content: label.rpartition(", ")[2] for content, label in entries.items()}
    assert marks == {
        "The staging database listens on port 5433": "conflict",
        "The staging database listens on port 5544": "conflict",
        "The staging database no longer has a replica in Oslo": "agent",
    }


@pytest.mark.sqlite
def test_the_command_lists_conflicts_and_keeps_one(tmp_path: Path) -> None:
    """With dates and ids, and as JSON."""
    store = str(tmp_path / "memory.db")
    with opened(store) as mem:
        mem.remember("The staging port is 5433")
        kept = mem.remember("The staging port is 5544")
    told = CliRunner().invoke(app, ["conflicts", "--store", store]).output
    assert f"{kept.updated_at:%Y-%m-%d}  {kept.id}  The staging port is 5544\n" in told
    assert "  counts meanwhile: it is newer, and both are by an agent\n" in told
    found = json.loads(CliRunner().invoke(app, ["conflicts", "--store", store, "--json"]).output)
    assert found["conflicts"][0]["winner"] == kept.id
    with opened(store) as mem:
        mem.remember_many([{"content": f"The log level of the gate is {level}"} for level in ("info", "debug")])
    listed = CliRunner().invoke(app, ["conflicts", "--store", store, "--limit", "1"])
    assert listed.output.count("counts meanwhile") == 1
    assert "note: there are more: --limit shows them" in listed.output
    kept_one = CliRunner().invoke(app, ["conflicts", "--store", store, "--keep", kept.id])
    assert "The staging port is 5433" in kept_one.output
    with opened(store) as mem:
        (other,) = mem.conflicts()
        assert mem.conflicts(ids=[kept.id]) == []
        assert mem.conflicts(ids=[kept.id, other.older.id]) == [other]


def test_a_conflict_is_found_however_many_memories_there_are_and_wherever_its_sentence_stands(mem: Memotherm) -> None:
    """Between other sentences of a longer memory as well; two sentences of one memory are no conflict."""
    mem.remember("The kickoff went well. The red port is 5433. Lunch was good.")
    mem.remember_many([{"content": f"Otter {number} swims"} for number in range(1100)])
    mem.remember("Ana is back. The red port is 5544. The blue port is 80. The blue port is 81.")
    assert [(each.about, each.values) for each in mem.conflicts()] == [("red port …", ("5433", "5544"))]


def test_a_decision_over_what_is_hidden_is_refused(open_mem: Callable[..., Memotherm], tmp_path: Path) -> None:
    """As is one that keeps what is hidden: neither would have an effect that the caller expects."""
    mem = open_mem(tmp_path / "memory.db")
    kept, gone, archived = (mem.remember(f"Ana works at the {place}") for place in ("harbour", "airport", "market"))
    mem.forget(gone.id)
    mem.archive(archived.id)
    for memory in (gone, archived):
        with pytest.raises(InvalidInput, match=f"{memory.id} is {mem.get(memory.id).retention}"):
            mem.decide(kept.id, over=[memory.id])
        with pytest.raises(InvalidInput, match="read-only"):
            mem.decide(memory.id, over=[kept.id])
    assert mem.get(kept.id).retention == "active"


def test_fewer_conflicts_are_the_newest_of_all(mem: Memotherm, clock: FakeClock) -> None:
    """No more statements are read than a limit needs, and the order is that of the newer memories."""
    view = mem.scoped(user="ana")
    stored = []
    for number in range(130):
        clock.advance(minutes=number % 20 // 19)
        (mem if number % 3 else view).remember(f"The depot {number * 7 % 130} opens at {number % 9}")
        stored.append((view if number % 4 else mem).remember(f"The depot {number * 7 % 130} opens at {number % 9 + 9}"))
    for memory in stored[::10]:
        clock.advance(minutes=1)
        view.update(memory.id, content=f"{memory.content} sharp")
    for asked, narrower in ((view, False), (mem, True)):
        everything = asked.conflicts(1000, include_narrower=narrower)
        assert len(everything) > 100
        for most in (1, 10, 50, len(everything) - 1):
            assert asked.conflicts(most, include_narrower=narrower) == everything[:most]
