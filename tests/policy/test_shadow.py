"""A policy in the shadow decides beside the one in force, and moves nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import memotherm
from memotherm import Memotherm
from memotherm.errors import NotFound
from memotherm.testing import FakeClock, HashEmbedder
from memotherm.tiers import policy
from tests.policy.test_adoption import CHATTER

Open = Callable[..., Memotherm]

CANDIDATE = """
[policy]
name = "candidate"
[[rule]]
id = "candidate.cool"
run = "compact"
when = { kind = ["message", "task"], tier = ["hot", "warm"], uses = 0, idle = ">= 2d" }
to = { warm = { tier = "hot" }, cold = { tier = "warm", in_tier = ">= 1d" } }
why = "idle for {days} days"
[[rule]]
id = "candidate.keep"
run = "maintain"
when = { kind = "fact" }
to = "stay"
why = "facts stay"
[[rule]]
id = "candidate.idle"
run = "maintain"
when = { tier = ["hot", "warm"], in_tier = ">= 8d" }
to = "cold"
why = "long there"
"""
_MEMORIES = st.lists(
    st.tuples(st.sampled_from(("message", "task", "fact", "preference")), st.sampled_from(("hot", "warm", "cold"))),
    min_size=1,
    max_size=6,
)
_STEPS = st.lists(
    st.tuples(st.sampled_from(("compact", "maintain", "move")), st.integers(0, 9), st.integers(0, 5)),
    min_size=1,
    max_size=6,
)


def test_the_shadow_moves_nothing_and_counts_what_it_would_miss(
    open_mem: Open, clock: FakeClock, tmp_path: Path
) -> None:
    """Returned memories are missed, other candidates spared; a recall of cold counts nothing."""
    mem = open_mem(tmp_path / "m.db")
    said = [mem.remember(f"the otter said {word}", kind="message", tier="warm") for word in ("one", "two")]
    mem.policies.start_shadow(policy.loads(CHATTER))
    clock.advance(days=3)

    assert mem.compact().moves == ()
    assert {mem.get(memory.id).tier for memory in said} == {"warm"}
    assert len(mem.recall("the otter said one", limit=1)) == 1
    mem.recall("the otter said one", tiers=("warm", "cold"))
    found = mem.policies.shadow_report()

    assert (found.name, found.recalls, found.missed, found.spared) == ("house", 1, 1, 1)
    assert {tiers: count.memories for tiers, count in found.differing.items()} == {("cold", "warm"): 2}
    assert mem.metrics().shadow_missed == {found.hash: 1}
    assert mem.policies.stop_shadow() == found
    with pytest.raises(NotFound, match="no policy is in the shadow"):
        mem.policies.shadow_report()
    mem.recall("the otter said one")
    assert mem.metrics().shadow_missed == {found.hash: 1}
    assert mem.policies.current().name == "builtin"


def test_what_a_caller_moves_is_there_in_the_shadow_too(open_mem: Open, clock: FakeClock, tmp_path: Path) -> None:
    """At once, and also at the moment at which the shadow had moved it: a recall of it misses nothing."""
    mem = open_mem(tmp_path / "m.db")
    said = mem.remember("the otter said one", kind="message", tier="warm")
    mem.policies.start_shadow(policy.loads(CHATTER))
    clock.advance(days=3)
    mem.compact()
    before = mem.policies.shadow_report()
    mem.move(said.id, "hot")
    mem.recall("the otter said one")
    after = mem.policies.shadow_report()

    assert {tiers: count.memories for tiers, count in before.differing.items()} == {("cold", "warm"): 1}
    assert (after.differing, after.recalls, after.missed) == ({}, 1, 0)


@pytest.mark.slow
@pytest.mark.sqlite
@settings(max_examples=12, phases=[Phase.explicit, Phase.generate])
@given(memories=_MEMORIES, steps=_STEPS)
def test_the_shadow_has_the_tiers_that_adoption_leads_to(
    memories: list[tuple[str, str]], steps: list[tuple[str, int, int]]
) -> None:
    """Whatever the policy in force and callers do meanwhile."""
    candidate = policy.loads(CANDIDATE)
    clock = FakeClock()
    arguments: dict[str, Any] = {"clock": clock, "embedder": HashEmbedder()}
    with memotherm.open(":memory:", **arguments) as shadowed, memotherm.open(":memory:", **arguments) as adopting:
        stored = [
            [mem.remember(f"memory {n}", kind=kind, tier=tier).id for n, (kind, tier) in enumerate(memories)]
            for mem in (shadowed, adopting)
        ]
        shadowed.policies.start_shadow(candidate)
        adopting.policies.adopt(candidate)
        for verb, days, which in steps:
            clock.advance(days=days)
            handles = [(shadowed, stored[0][which % len(memories)]), (adopting, stored[1][which % len(memories)])]
            target = ("hot", "warm", "cold")[which % 3]
            # A move to the tier where a memory is already is none, in the store and in the shadow.
            movable = all(mem.get(memory_id, include_narrower=True).tier != target for mem, memory_id in handles)
            for mem, memory_id in handles:
                if verb != "move":
                    mem.compact() if verb == "compact" else mem.maintain()
                elif movable:
                    mem.move(memory_id, target)
        pairs = Counter(
            (adopting.get(theirs).tier, shadowed.get(ours).tier) for ours, theirs in zip(*stored, strict=True)
        )
        expected = {tiers: count for tiers, count in pairs.items() if tiers[0] != tiers[1]}
        found = shadowed.policies.shadow_report().differing

        assert {tiers: count.memories for tiers, count in found.items()} == expected
