"""A policy is adopted for a store, used by everyone who has it open, and rolled back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memotherm import DEFAULT_RULES, Memotherm
from memotherm.errors import InvalidInput, NotFound, PolicyError
from memotherm.operations.codec import to_json
from memotherm.testing import FakeClock
from memotherm.tiers import policy
from tests.spec.told import moves_of

Open = Callable[..., Memotherm]

CHATTER = """
[policy]
name = "house"
extends = "builtin"
[limits]
hot_token_limit = 7
promote_access_count = 2
[[rule]]
id = "house.chatter"
run = "compact"
when = { kind = "message", tier = "warm", uses = 0, idle = ">= 2d" }
to = "cold"
why = "said {days} days ago"
"""
QUIET = CHATTER.replace('"house"', '"quiet"').replace(">= 2d", ">= 1d").replace("house.chatter", "quiet.chatter")
WRONG = (
    CHATTER
    + """
[[rule]]
id = "house.again"
run = "compact"
when = { kind = "message", tier = "cold" }
to = "cold"
why = "moves nothing"
[[test]]
name = "chatter stays"
memory = { kind = "message", tier = "warm", age = "9d" }
expect = { tier = "warm" }
"""
)


def test_an_adopted_policy_is_used_by_every_handle(open_mem: Open, clock: FakeClock, tmp_path: Path) -> None:
    """Another handle notices it without reopening; moves carry its hash; limits apply; no file is needed later."""
    mem, other = open_mem(tmp_path / "m.db"), open_mem(tmp_path / "m.db")
    said = other.remember("good morning", kind="message", tier="warm")
    session = other.session("s1")
    clock.advance(days=3)
    (tmp_path / "base.toml").write_text(CHATTER)
    (tmp_path / "house.toml").write_text('[policy]\nname = "ours"\nextends = "base.toml"\n')

    adopted = mem.policies.adopt(tmp_path / "house.toml")
    for name in ("base.toml", "house.toml"):
        (tmp_path / name).unlink()
    done = other.compact()
    moves = done.moves

    assert moves_of(done) == [(said.id, "warm", "cold", "house.chatter")]
    assert other.history(said.id)[-1].policy == adopted.hash == moves[0].policy == to_json(moves[0])["policy"]
    assert to_json(other.history(said.id)[-1])["policy"] == adopted.hash
    assert "policy" not in to_json(other.history(said.id)[0])
    assert session.status().limit == other.settings.hot_token_limit == 7
    assert session.add("far more words than the session may keep hot at one time").tier == "warm"
    assert other.status().policy == f"ours ({adopted.hash})"
    assert other.policies.current().digest == adopted.hash
    assert open_mem(tmp_path / "m.db").policies.current().limits == {"hot_token_limit": 7, "promote_access_count": 2}


def test_an_adoption_is_an_event_of_the_ledger(mem: Memotherm, clock: FakeClock) -> None:
    """It has a number, the name and the hash, is in the pages of events, and is taken back by a rollback only."""
    said = mem.remember("good morning", kind="message", tier="warm")
    adopted = mem.policies.adopt(policy.loads(CHATTER))
    clock.advance(days=3)
    moved = mem.compact().moves[0]
    back = mem.policies.rollback()

    events = mem.events(oldest_first=True).events
    forward = [mem.events(limit=1, cursor=f"after-{events[place].seq}").events[0] for place in range(4)]

    assert [(event.action, event.memory_id, event.policy) for event in events] == [
        ("remember", said.id, ""),
        ("adopt", "", adopted.hash),
        ("move", said.id, adopted.hash),
        ("undo", said.id, ""),
        ("rollback", "", ""),
    ]
    assert [event.seq for event in events] == [1, 2, 3, 4, 5]
    assert (adopted.number, moved.policy, back.adoption.number) == (2, adopted.hash, 5)
    assert events[1].changes == {"policy": ("builtin", "house")}
    assert forward == list(events[1:])
    assert mem.events().events == events[::-1]
    assert mem.events(limit=2).events + mem.events(cursor=mem.events(limit=2).cursor).events == events[::-1]
    assert mem.scoped(user="u1").events().events == events[::-1]
    assert mem.check() == []
    with pytest.raises(InvalidInput, match="policy rollback"):
        mem.undo(adopted.number)


def test_a_policy_with_errors_is_refused_with_all_of_them(mem: Memotherm) -> None:
    """Lint errors and failing tests at once; the policy in force stays."""
    mem.policies.adopt(policy.loads(CHATTER))

    with pytest.raises(PolicyError) as refused:
        mem.policies.adopt(policy.loads(WRONG))

    assert [getattr(finding, "code", "") for finding in refused.value.findings] == ["P006", "P013"]
    assert mem.policies.current().name == "house"
    assert len(mem.policies.history()) == 1


def test_a_rollback_takes_back_all_moves_of_the_policy(open_mem: Open, clock: FakeClock, tmp_path: Path) -> None:
    """What something else has moved since is listed and left alone, and the policy before is in force again."""
    mem = open_mem(tmp_path / "m.db")
    tenant = mem.scoped(tenant="acme")
    first, second = (mem.remember(f"message {n}", kind="message", tier="warm") for n in range(2))
    theirs = tenant.remember("their message", kind="message", tier="warm")
    mem.policies.adopt(policy.loads(CHATTER))
    quiet = mem.policies.adopt(policy.loads(QUIET))
    clock.advance(days=1)
    assert {move.id for move in (*mem.compact().moves, *tenant.compact().moves)} == {first.id, second.id, theirs.id}
    mem.move(second.id, "hot")

    done = mem.policies.rollback()

    assert {move.id for move in done.moves} == {first.id, theirs.id}
    assert [(skipped.id, "explicit" in skipped.why) for skipped in done.skipped] == [(second.id, True)]
    assert (mem.get(first.id).tier, mem.get(second.id).tier, tenant.get(theirs.id).tier) == ("warm", "hot", "warm")
    assert mem.history(first.id)[-1].rule == f"rollback:{quiet.hash}"
    assert mem.policies.current().name == done.adoption.name == "house"
    assert mem.compact().moves == ()
    assert mem.policies.rollback().adoption.name == "builtin"
    assert mem.settings.hot_token_limit != 7
    assert [adoption.action for adoption in mem.policies.history()] == ["adopt", "adopt", "rollback", "rollback"]
    with pytest.raises(NotFound, match="nothing to roll back"):
        mem.policies.rollback()


def test_rules_given_to_open_win_and_the_status_says_so(open_mem: Open, clock: FakeClock, tmp_path: Path) -> None:
    """Neither the rules nor the limits of the adopted policy are used then."""
    open_mem(tmp_path / "m.db").policies.adopt(policy.loads(CHATTER))
    mem = open_mem(tmp_path / "m.db", rules=DEFAULT_RULES)
    mem.remember("good morning", kind="message", tier="warm")
    clock.advance(days=3)

    assert mem.compact().moves == ()
    assert mem.settings.hot_token_limit != 7
    assert any("house" in reason and "rules were given" in reason for reason in mem.status().degraded)


def test_a_scope_cannot_adopt_a_policy_for_all(mem: Memotherm) -> None:
    """A policy concerns the whole store, so that neither a tenant nor a session changes it."""
    for scoped in (mem.scoped(tenant="acme"), mem.scoped(session="s1")):
        with pytest.raises(InvalidInput, match="whole store"):
            scoped.policies.adopt("research")
        with pytest.raises(InvalidInput, match="whole store"):
            scoped.policies.rollback()
