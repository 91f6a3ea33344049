"""Replaying the policy in force reproduces what happened."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from memotherm import Memotherm
from memotherm.testing import FakeClock
from memotherm.tiers import policy
from memotherm.tiers.policy import Policy

_WORDS = ("otter", "pond", "release", "budget", "schema", "invoice", "sensor", "garden")
_KINDS = ("fact", "decision", "preference", "message")
_DAYS = (1, 3, 10, 30)


def _a_policy(source: random.Random) -> Policy:
    """Return a policy with random rules and limits, on top of the built-in one."""
    rules = "".join(_a_rule(source, number) for number in range(source.randrange(4)))
    cool_hot, cool_warm = sorted(source.choices(_DAYS, k=2))
    return policy.loads(
        f"""
        [policy]
        name = "random"
        extends = "builtin"
        [limits]
        cool_hot_days = {cool_hot}
        cool_warm_days = {cool_warm}
        task_cold_after_days = {source.choice(_DAYS)}
        promote_access_count = {source.randrange(1, 4)}
        hot_max_facts = {source.randrange(1, 6)}
        hot_token_limit = {source.randrange(20, 60)}
        {rules}
        """
    )


def _a_rule(source: random.Random, number: int) -> str:
    field = source.choice(("idle", "age", "in_tier", "untouched"))
    condition = source.choice(
        (
            f'kind = "{source.choice(_KINDS)}"',
            f'tags.any = ["{source.choice(_WORDS)}"]',
            'heat = "< 1"',
            'uses = ">= 2"',
        )
    )
    return f"""
        [[rule]]
        id = "house.{number}"
        run = "{source.choice(("compact", "maintain"))}"
        when = {{ {condition}, {field} = "{source.choice(("<", ">="))} {source.choice(_DAYS)}d" }}
        to = "{source.choice(("hot", "warm", "cold", "stay"))}"
        why = "random"
        """


def _live(mem: Memotherm, clock: FakeClock, source: random.Random, steps: int, at_once: int) -> None:
    """Let a random history happen, with a number of calls at each instant."""
    ids: list[str] = []
    for number in range(steps):
        if number % at_once == 0:
            clock.advance(minutes=source.randrange(1, 2000))
        session = mem.session(f"s{source.randrange(2)}")
        verb = source.choice(("remember", "recall", "recall", "context", "change", "add", "session", "run", "run"))
        query = " ".join(source.sample(_WORDS, 2))
        if verb == "remember":
            content = f"{' '.join(source.sample(_WORDS, 3))} number {number}"
            tags = source.sample([*_WORDS, "task", "blocker"], source.randrange(3))
            tier = source.choice((None, None, "hot", "cold"))
            ids.append(mem.remember(content, kind=source.choice(_KINDS), tags=tags, tier=tier).id)
        elif verb == "recall":
            tiers = source.choice((("hot", "warm"), ("hot", "warm", "cold")))
            mem.recall(query, limit=3, tiers=tiers, promote=source.random() < 0.5, track=source.random() < 0.8)
        elif verb == "context":
            mem.context(source.choice((None, query)), budget=200)
        elif verb == "add":
            session.add(f"{query} said {number}")
        elif verb == "session":
            what = source.choice(("recall", "hot", "end"))
            getattr(session, what)(*((query,) if what == "recall" else ()))
        elif verb == "run":
            source.choice((mem.compact, mem.maintain))()
        elif ids:
            _change(mem, source, source.choice(ids))


def _change(mem: Memotherm, source: random.Random, memory_id: str) -> None:
    verb = source.choice(("move", "update", "forget", "restore", "prioritize"))
    active = mem.get(memory_id).retention == "active"
    if verb == "restore" and not active:
        mem.restore(memory_id)
    elif not active:
        return
    elif verb == "move":
        mem.move(memory_id, source.choice(("hot", "warm", "cold")))
    elif verb == "update":
        mem.update(memory_id, metadata={"status": source.choice(("open", "done"))})
    elif verb == "forget":
        mem.forget(memory_id)
    elif verb == "prioritize":
        mem.prioritize(memory_id, source.choice(("normal", "important")))


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "at_once"), [(1, 1), (3, 1), (115, 1), (5, 4), (7, 10)])
def test_replaying_the_policy_in_force_reproduces_the_recorded_state(
    open_mem: Callable[..., Memotherm], clock: FakeClock, tmp_path: Path, seed: int, at_once: int
):
    """Every memory ends in the tier that it has, by as many moves, also from the middle of the past on, and if much
    happens at one instant.
    """
    source = random.Random(seed)
    house = _a_policy(source)
    settings = {**house.limits, "log_days": 1000, "retention": "0/0/1000"}
    mem = open_mem(tmp_path / "a.db", rules=house.rules, settings=settings)
    mem.remember("the first otter of the pond")
    first = clock.advance(minutes=1)
    mem.recall("otter")
    _live(mem, clock, source, 120, at_once)
    whole, half = (mem.policies.replay([house], since=since) for since in (None, first + (clock.now - first) / 2))
    recorded = {memory.id: memory.tier for memory in mem.find(limit=1000)}
    for scope in ("s0", "s1"):
        recorded |= {memory.id: memory.tier for memory in mem.scoped(session=scope).find(limit=1000)}

    for found in (whole, half):
        assert found.final["random"] == recorded
        own, real = found.row("random"), found.row("recorded")
        assert (own.moves, own.flaps, own.live_hits) == (real.moves, real.flaps, real.live_hits)
