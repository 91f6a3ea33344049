"""Replay: policies on the past of a store, beside an oracle, an LRU, everything live and what was recorded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import pytest

import memotherm
from memotherm import Memotherm, policy
from memotherm.errors import InvalidInput
from memotherm.testing import FakeClock, HashEmbedder

_KEEP = policy.loads(
    '[policy]\nname = "keep"\nextends = "builtin"\n[[rule]]\nid = "house.keep"\nrun = "compact"\n'
    'when = { kind = "decision" }\nto = "stay"\nwhy = "decisions are looked up for long"\n'
)


@pytest.fixture(scope="module")
def lived() -> Iterator[Memotherm]:
    """Return a memory whose decision went cold before it was asked for again, twice."""
    clock = FakeClock()
    settings = {"recall_log_days": 1000}
    with memotherm.open(":memory:", clock=clock, settings=settings, embedder=HashEmbedder()) as mem:
        mem.remember("we chose the blue ferry", kind="decision")
        for number in range(20):
            mem.remember(f"garden report {number}", kind="fact")
        clock.advance(days=1)
        mem.recall("garden report 3")
        for _ in range(2):
            clock.advance(days=20)
            mem.compact()
            clock.advance(hours=1)
            mem.recall("blue ferry")
        clock.advance(days=1)
        yield mem


def test_a_rule_that_keeps_decisions_has_more_live_hits(lived: Memotherm):
    """The built-in rules let the decision go cold; the other policy, the oracle and everything live have it."""
    found = lived.replay([_KEEP, "builtin"])

    assert found.row("keep").live_hits == found.row("everything").live_hits == 1.0
    assert found.row("builtin").cold_asked == 2
    assert found.row("oracle@builtin").live_hits >= found.row("builtin").live_hits
    assert found.row("builtin").regret == found.row("oracle@builtin").live_hits - found.row("builtin").live_hits
    assert found.row("keep").live_mean > found.row("builtin").live_mean
    assert (found.questions, found.askable) == (3, 3)


def test_the_recorded_history_is_what_the_policy_in_force_did(lived: Memotherm):
    """The row of what really happened equals that of the built-in policy."""
    found = lived.replay(["builtin"])

    assert replace(found.row("recorded"), name="builtin", note="") == found.row("builtin")


def test_the_memories_that_explain_the_regret_are_named_with_their_rule(lived: Memotherm):
    """The decision, the rule that cooled it, and how often it was asked for."""
    (cause,) = lived.replay(["builtin"]).causes

    assert (cause.content, cause.rule, cause.times) == ("we chose the blue ferry", "compact.idle", 2)


def test_the_oracle_has_a_bound_of_hot_hits_by_tokens():
    """As many demanded memories as fit into the hot tokens of the policy, the last one in part."""
    clock = FakeClock()
    with memotherm.open(":memory:", clock=clock, embedder=HashEmbedder()) as mem:
        unrelated = mem.remember("red paint", tier="hot")
        wanted = mem.remember("the blue ferry leaves the northern harbour at noon", tier="warm")
        clock.advance(hours=1)
        mem.recall("the blue ferry leaves the northern harbour at noon", limit=1)
        found = mem.replay(["builtin"], limit=1)

    assert found.row("builtin").hot_hits == 0.0
    assert found.row("oracle@builtin").hot_hits == pytest.approx(unrelated.tokens / wanted.tokens)


def test_a_replay_writes_nothing(lived: Memotherm):
    """Events, tiers, uses and the log stay as they are."""
    before = [(memory, memory.access_count) for memory in lived.find(limit=100)], lived.metrics().recall_count
    lived.replay([_KEEP])

    assert ([(memory, memory.access_count) for memory in lived.find(limit=100)], lived.metrics().recall_count) == before


def test_a_later_beginning_counts_fewer_questions(lived: Memotherm):
    """`since` takes a duration before now; what lies before it is followed as it was recorded."""
    found = lived.replay(["builtin"], since="3d")

    assert found.questions == 1
    assert found.row("builtin").cold_asked == 1


def test_intervals_and_rows_are_ordered(lived: Memotherm):
    """Each interval has its share inside, and the oracle is never worse than an LRU of its size."""
    found = lived.replay(["builtin", _KEEP])

    for row in found.rows:
        assert row.interval.low <= row.live_hits <= row.interval.high
    for oracle, lru in pairwise(row for row in found.rows if "@" in row.name):
        if oracle.name.removeprefix("oracle") == lru.name.removeprefix("lru"):
            assert oracle.live_hits >= lru.live_hits


def test_a_store_without_a_log_says_what_is_missing():
    """The message names the setting; a log of hashes cannot be asked again."""
    with memotherm.open(":memory:", embedder=HashEmbedder(), settings={"recall_log": "off"}) as mem:
        mem.remember("a ferry")
        mem.recall("ferry")
        with pytest.raises(InvalidInput, match="recall_log"):
            mem.replay(["builtin"])
    with memotherm.open(":memory:", embedder=HashEmbedder(), settings={"recall_log": "hash"}) as mem:
        mem.remember("a ferry")
        mem.recall("ferry")
        with pytest.raises(InvalidInput, match="stored as hashes"):
            mem.replay(["builtin"])


def test_questions_that_cannot_be_asked_again_are_counted():
    """A question with a filter is not asked again, and the report says how many were not."""
    with memotherm.open(":memory:", embedder=HashEmbedder()) as mem:
        mem.remember("a ferry")
        mem.recall("ferry")
        mem.recall("ferry", kinds=["fact"])
        found = mem.replay(["builtin"])

    assert (found.questions, found.askable) == (2, 1)
    assert "1 of 2 questions (50%) could not be asked again" in found.notes[0]


def test_a_replay_needs_policies_with_names_of_their_own(lived: Memotherm):
    """None, or two with the same name, are refused."""
    for policies in ([], ["builtin", "builtin"]):
        with pytest.raises(InvalidInput, match=r"at least one|same name"):
            lived.replay(policies)
