"""Replay: policies on the past of a store, beside everything live and what was recorded."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import memotherm
from memotherm import Memotherm, Tier
from memotherm.errors import InvalidInput
from memotherm.testing import FakeClock, HashEmbedder
from memotherm.tiers import policy

_KEEP = policy.loads(
    '[policy]\nname = "keep"\nextends = "builtin"\n[[rule]]\nid = "house.keep"\nrun = "compact"\n'
    'when = { kind = "decision" }\nto = "stay"\nwhy = "decisions are looked up for long"\n'
)


@pytest.fixture(scope="module")
def lived() -> Iterator[Memotherm]:
    """Return a memory whose decision went cold before it was asked for again, twice."""
    clock = FakeClock()
    settings = {"log_days": 1000}
    with memotherm.open(":memory:", clock=clock, settings=settings, embedder=HashEmbedder()) as mem:
        mem.remember("we chose the blue ferry", kind="decision")
        for number in range(20):
            mem.remember(f"garden report {number}", kind="fact")
        clock.advance(days=1)
        mem.recall("garden report 3")
        for _ in range(2):
            clock.advance(days=100)
            mem.compact()
            clock.advance(hours=1)
            mem.recall("blue ferry")
        clock.advance(days=1)
        yield mem


def test_a_rule_that_keeps_decisions_has_more_live_hits(lived: Memotherm):
    """The built-in rules let the decision go cold; the other policy and everything live have it."""
    found = lived.policies.replay([_KEEP, "builtin"])

    assert found.row("keep").live_hits == found.row("everything").live_hits == 1.0
    assert found.row("builtin").cold_asked == 2
    assert found.row("keep").live_mean > found.row("builtin").live_mean
    assert (found.questions, found.askable) == (3, 3)


def test_the_recorded_history_is_what_the_policy_in_force_did(lived: Memotherm):
    """The row of what really happened equals that of the built-in policy."""
    found = lived.policies.replay(["builtin"])

    assert replace(found.row("recorded"), name="builtin", note="") == found.row("builtin")


def test_the_memories_that_were_demanded_while_cold_are_named_with_their_rule(lived: Memotherm):
    """The decision, the rule that cooled it, and how often it was asked for; and all demands by rule."""
    found = lived.policies.replay(["builtin", _KEEP])
    (cause,) = found.causes

    assert found.cold_by_rule == {"builtin": {"compact.idle": 2}, "keep": {}}
    assert (cause.content, cause.rule, cause.times) == ("we chose the blue ferry", "compact.idle", 2)


def test_a_replay_writes_nothing(lived: Memotherm):
    """Events, tiers, uses and the log stay as they are."""
    before = [(memory, memory.access_count) for memory in lived.find(limit=100)], lived.metrics().recall_count
    lived.policies.replay([_KEEP])

    assert ([(memory, memory.access_count) for memory in lived.find(limit=100)], lived.metrics().recall_count) == before


def test_a_later_beginning_counts_fewer_questions(lived: Memotherm):
    """`since` takes a duration before now; what lies before it is followed as it was recorded."""
    found = lived.policies.replay(["builtin"], since="3d")

    assert found.questions == 1
    assert found.row("builtin").cold_asked == 1


def test_intervals_and_rows_are_ordered(lived: Memotherm):
    """Each interval has its share inside."""
    found = lived.policies.replay(["builtin", _KEEP])

    for row in found.rows:
        assert row.interval.low <= row.live_hits <= row.interval.high


def test_an_expired_memory_is_not_live():
    """It is not counted from its expiry on, although no maintenance has deleted it yet."""
    clock = FakeClock()
    with memotherm.open(":memory:", clock=clock, embedder=HashEmbedder()) as mem:
        mem.remember("the blue ferry leaves at noon")
        mem.remember("the garden is closed today", tier="hot", ttl="1d")
        clock.advance(hours=1)
        mem.recall("blue ferry")
        clock.advance(days=2)
        mem.recall("blue ferry")
        found = mem.policies.replay(["builtin"])

    for name in ("everything", "builtin", "recorded"):
        assert (found.row(name).live_max, found.row(name).live_mean) == (2, 1.5)


def test_a_policy_decides_with_what_its_own_moves_left():
    """A use counts only if the policy would have returned the memory, so that another policy never promotes it."""
    cool = policy.loads(
        '[policy]\nname = "cool"\n[[rule]]\nid = "cool.all"\nrun = "compact"\n'
        'when = { tier = "warm", uses = 0 }\nto = "cold"\nwhy = "unused"\n'
        '[[rule]]\nid = "cool.used"\nrun = "maintain"\nwhen = { uses = ">= 2" }\nto = "hot"\nwhy = "used"\n'
    )
    warm = policy.loads(cool.text.replace("cool", "warm").replace('to = "cold"', 'to = "stay"'))
    clock = FakeClock()
    with memotherm.open(":memory:", clock=clock, embedder=HashEmbedder(), rules=()) as mem:
        ferry = mem.remember("the blue ferry leaves at noon")
        clock.advance(hours=1)
        mem.recall("garden")
        steps = (mem.compact, lambda: mem.recall("blue ferry"), lambda: mem.recall("blue ferry"), mem.maintain)
        for step in steps:
            clock.advance(hours=1)
            step()
        found = mem.policies.replay([cool, warm])

    assert found.final == {"cool": {ferry.id: Tier.COLD}, "warm": {ferry.id: Tier.HOT}}
    assert (found.row("cool").cold_asked, found.row("warm").cold_asked) == (2, 0)


def test_a_store_without_a_log_says_what_is_missing():
    """The message names the setting; a log of hashes cannot be asked again."""
    with memotherm.open(":memory:", embedder=HashEmbedder(), settings={"recall_log": "off"}) as mem:
        mem.remember("a ferry")
        mem.recall("ferry")
        with pytest.raises(InvalidInput, match="recall_log"):
            mem.policies.replay(["builtin"])
    with memotherm.open(":memory:", embedder=HashEmbedder(), settings={"recall_log": "hash"}) as mem:
        mem.remember("a ferry")
        mem.recall("ferry")
        with pytest.raises(InvalidInput, match="stored as hashes"):
            mem.policies.replay(["builtin"])


def test_questions_that_cannot_be_asked_again_are_counted():
    """A question with a filter is not asked again, and the report says how many were not."""
    with memotherm.open(":memory:", embedder=HashEmbedder()) as mem:
        mem.remember("a ferry")
        mem.recall("ferry")
        mem.recall("ferry", kinds=["fact"])
        found = mem.policies.replay(["builtin"])

    assert (found.questions, found.askable) == (2, 1)
    assert "1 of 2 questions (50%) could not be asked again" in found.notes[0]


def test_a_replay_needs_policies_with_names_of_their_own(lived: Memotherm):
    """None, or two with the same name, are refused."""
    for policies in ([], ["builtin", "builtin"]):
        with pytest.raises(InvalidInput, match=r"at least one|same name"):
            lived.policies.replay(policies)


_GOLDEN = Path(__file__).with_name("replay.json")
_KINDS = ("fact", "decision", "preference", "message")
_WORDS = ("otter", "pond", "release", "budget", "schema", "invoice", "sensor", "garden", "voyage", "recipe")
_HOUSE = policy.loads(
    """
    [policy]
    name = "house"
    extends = "builtin"
    [limits]
    cool_warm_days = 4
    [[rule]]
    id = "house.closed"
    run = "maintain"
    when = { metadata.status = "closed", tier = "warm", heat = "< 2" }
    to = "cold"
    why = "closed and hardly used"
    [[rule]]
    id = "house.keep"
    run = "maintain"
    when = { tags.all = ["task", "pond"], age = "< 20d" }
    unless = { uses = ">= 3" }
    to = "stay"
    why = "tasks about the pond"
    """
)


def _work(mem: Memotherm, clock: FakeClock, days: int) -> None:
    """Let days of work happen: memories of all kinds, questions of all kinds, and runs of the rules."""
    source, ids = random.Random(5), []
    for number in range(days * 4):
        first, second, third = source.sample(_WORDS, 3)
        memory = mem.remember(
            f"{first} {second} {third} number {number}",
            kind=source.choice(_KINDS),
            tags=source.sample(("task", "pond", "blocker"), source.randrange(3)),
            metadata=source.choice(({}, {"status": "closed"}, {"status": "open"})),
            ttl=source.choice((None, None, "9d")),
        )
        ids.append(memory.id)
        session = mem.session(f"s{number // 30}")
        tiers = source.choice((("hot", "warm"), tuple(Tier)))
        steps: list[Callable[[], object]] = [
            partial(session.add, f"{first} {number} was said"),
            partial(mem.recall, f"{first} {third}", limit=3, tiers=tiers),
            partial(mem.context if number % 3 else session.recall, f"{second} {third}"),
        ]
        if number % 4 == 3:
            steps += [mem.maintain, partial(mem.forget, source.choice(ids[-3:]))]
        if number % 20 == 19:
            steps.append(mem.compact)
        for step in steps:
            clock.advance(minutes=30)
            step()
        clock.advance(hours=4)


def _worked_report() -> dict[str, Any]:
    """Return the numbers of a replay of days of work."""
    clock, settings = FakeClock(), {"log_days": 1000, "retention": "0/0/1000", "cool_warm_days": 6}
    with memotherm.open(":memory:", clock=clock, settings=settings, embedder=HashEmbedder()) as mem:
        _work(mem, clock, 14)
        found = mem.policies.replay(["builtin", "coding-agent", _HOUSE], limit=4)
    return {
        "rows": [asdict(row) for row in found.rows],
        "causes": sorted([cause.policy, cause.content, cause.rule, cause.times] for cause in found.causes),
        "differences": [[*names, asdict(interval)] for names, interval in found.differences.items()],
        "final": {name: dict(Counter(tiers.values())) for name, tiers in found.final.items()},
        "questions": [found.questions, found.askable, found.demanded],
    }


@pytest.mark.slow
def test_a_replay_reports_the_recorded_numbers():
    """The report on a history with all kinds of steps equals the recorded one to the last digit."""
    assert json.loads(json.dumps(_worked_report())) == json.loads(_GOLDEN.read_text())
