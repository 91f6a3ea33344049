"""Policy files: what they can say, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import memotherm
from memotherm import Memotherm
from memotherm.errors import NotFound, PolicyError
from memotherm.testing import FakeClock
from memotherm.tiers import policy
from memotherm.tiers.policy import PRESETS
from tests.spec.told import moves_of

Open = Callable[..., Memotherm]

CONTRACTS = """
[policy]
name = "house"
extends = "builtin"

[limits]
decision_cold_after_days = 7

[[rule]]
id = "house.contracts"
run = "compact"
when = { kind = "decision", tags.any = ["api", "contract"], idle = "< 90d" }
unless = { metadata.status = "superseded" }
to = "stay"
why = "contracts are looked up for a quarter"

[[rule]]
id = "house.chatter"
run = "maintain"
when = { kind = "message", tier = "warm", uses = "<= 1", idle = ">= 14d" }
to = "cold"
why = "said once, not used for {days} days"

[[test]]
name = "a contract stays"
memory = { kind = "decision", tags = ["api"], tier = "warm", age = "40d" }
expect = { tier = "warm" }

[[test]]
name = "a superseded contract goes cold"
memory = { kind = "decision", tags = ["api"], tier = "warm", age = "40d", metadata = { status = "superseded" } }
expect = { tier = "cold", rule = "compact.done" }
"""


@pytest.mark.parametrize("name", list(PRESETS))
def test_the_policies_of_the_package_are_clean_and_pass_their_tests(name: str) -> None:
    """Neither an error nor a warning, and every test passes."""
    read = policy.load(name)

    assert read.lint() == []
    assert read.own_cases
    assert [str(result) for result in read.test() if not result.passed] == []


def test_a_policy_moves_memories_of_a_store(open_mem: Open, clock: FakeClock, tmp_path: Path) -> None:
    """Its rules come before those it extends, its limits hold, and the ledger has the reason."""
    (tmp_path / "policy.toml").write_text(CONTRACTS, encoding="utf-8")
    house = policy.load(tmp_path / "policy.toml")
    mem = open_mem(rules=house.rules, settings=house.limits)
    contract = mem.remember("the API returns JSON", kind="decision", tags=["api"])
    decided = mem.remember("we use SQLite", kind="decision")
    said = mem.remember("see you tomorrow at the harbour", kind="message")
    clock.advance(days=15)

    assert moves_of(mem.compact()) == [(decided.id, "warm", "cold", "compact.idle")]
    assert moves_of(mem.maintain()) == [(said.id, "warm", "cold", "house.chatter")]
    assert mem.get(contract.id).tier == "warm"
    assert mem.history(said.id)[-1].why == "said once, not used for 15 days"


def test_tests_of_a_file_say_what_happened_instead() -> None:
    """A wrong tier, and a wrong rule."""
    wrong = CONTRACTS.replace('expect = { tier = "warm" }', 'expect = { tier = "cold" }').replace(
        'rule = "compact.done"', 'rule = "compact.idle"'
    )

    first, second = policy.loads(wrong).test()

    assert not first.passed
    assert "expected cold, but it is warm" in first.detail
    assert "expected compact.idle to move it, but compact.done did" in second.detail


def test_everything_that_is_wrong_is_told_at_once() -> None:
    """With code, line and remedy."""
    with pytest.raises(PolicyError) as raised:
        policy.loads(
            """
[policy]
extend = "builtin"
[limits]
retention = "off"
hot_max_tokens = "many"
[[rule]]
id = "compact.mine"
run = "compct"
when = { iddle = ">= 3d", tier = "hott", uses = "> many", idle = "soon" }
to = "cool"
why = "{dayz}"
[[rule]]
to = "cold"
[[test]]
memory = { tiers = "x" }
expect = {}
"""
        )

    told = [(finding.code, finding.line) for finding in raised.value.findings if isinstance(finding, policy.Finding)]
    assert sorted(told) == [
        ("P001", 3), ("P001", 5), ("P001", 10), ("P001", 12), ("P001", 16),
        ("P002", 6), ("P002", 9), ("P002", 10), ("P002", 11), ("P002", 13),
        ("P003", 10), ("P003", 10), ("P004", 8),
    ]  # fmt: skip
    assert "did you mean idle?" in str(raised.value)
    assert "a policy cannot set retention" in str(raised.value)


def test_rules_that_can_be_read_are_linted_beside_one_that_cannot() -> None:
    """Contradictions, unreachable rules and inverted windows are told together with a misspelt field."""
    with pytest.raises(PolicyError) as raised:
        policy.loads(
            """
[policy]
extends = "builtin"
[limits]
cool_hot_days = 200
[[rule]]
id = "house.typo"
run = "maintain"
when = { iddle = ">= 3d" }
to = "cold"
why = "a typo"
[[rule]]
id = "house.never"
run = "maintain"
when = { tier = "warm", uses = "> 5, < 3" }
to = "cold"
why = "no number is both"
"""
        )

    told = [(finding.code, finding.line) for finding in raised.value.findings if isinstance(finding, policy.Finding)]
    assert told == [("P008", 4), ("P001", 9), ("P006", 15)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("rule = 3", r"write each rule as \[\[rule\]\]"),
        ("[[rule]\n", "is not TOML"),
        ('[policy]\nextends = "/etc/passwd"', "is not a policy of the package"),
        ("[limits]\narchive_after_days = 1", "a policy cannot set archive_after_days"),
        ('[[rule]]\nid = "a"\nto = "deleted"', "is not a tier"),
        ('[[rule]]\nid = "a"\nwhen = 3\nto = "cold"', "when must be a table"),
        ('[[rule]]\nid = "a"\nwhen = { kind = [] }\nto = "cold"', "an empty list matches nothing"),
        ('[[rule]]\nid = "a"\nto = "cold"\nwhy = "{days.__class__}"', "why cannot name"),
        ('[[rule]]\nid = "a"\nto = "cold"\norder = ["colour"]', "cannot order memories by"),
    ],
)
def test_what_a_policy_cannot_say_is_refused(text: str, told: str) -> None:
    """Nothing of it is used."""
    with pytest.raises(PolicyError, match=told):
        policy.loads(text)


def test_a_file_that_is_not_there_or_extends_itself_is_refused(tmp_path: Path) -> None:
    """With the names of the policies that are there."""
    (tmp_path / "loop.toml").write_text('[policy]\nextends = "loop.toml"\n', encoding="utf-8")

    with pytest.raises(NotFound, match="did you mean builtin"):
        policy.load("builtinn")
    with pytest.raises(PolicyError, match="check that none extends itself"):
        policy.load(tmp_path / "loop.toml")


def test_no_rule_moves_what_is_protected(open_mem: Open, clock: FakeClock) -> None:
    """A policy that cools everything leaves pinned memories, blockers, and what is permanent, dated or ends."""
    everything = '[[rule]]\nid = "all"\nrun = "{}"\nto = "cold"\nwhy = "all"\n'
    for run in ("compact", "maintain"):
        mem = open_mem(rules=policy.loads(everything.format(run)).rules)
        kept = [
            mem.remember("pinned", priority="pinned"),
            mem.remember("a blocker", tags=["blocker"]),
            mem.remember("permanent", tags=["permanent"]),
            mem.remember("due", metadata={"due": "2999-01-01"}),
            mem.remember("ends", ttl="30d"),
        ]
        plain = mem.remember("plain")
        clock.advance(days=2)

        moved = mem.compact() if run == "compact" else mem.maintain()

        assert moves_of(moved) == [(plain.id, "warm", "cold", "all")]
        assert [mem.get(memory.id).tier for memory in kept] == [memory.tier for memory in kept]


def test_a_rule_that_keeps_everything_does_not_stop_retention(open_mem: Open, clock: FakeClock) -> None:
    """What has expired is deleted all the same."""
    keep = '[[rule]]\nid = "keep"\nrun = "maintain"\nto = "stay"\nwhy = "keep"\n'
    mem = open_mem(rules=policy.loads(keep).rules)
    memory = mem.remember("gone tomorrow", ttl="1d")
    clock.advance(days=2)

    assert mem.maintain().expired == 1
    assert mem.get(memory.id).retention == "deleted"


def test_a_policy_has_a_hash_of_all_that_it_says(tmp_path: Path) -> None:
    """A change of the file that it extends changes it too."""
    base, child = tmp_path / "base.toml", tmp_path / "child.toml"
    base.write_text('[policy]\nname = "base"\n', encoding="utf-8")
    child.write_text('[policy]\nname = "child"\nextends = "base.toml"\n', encoding="utf-8")
    before = policy.load(child).digest
    assert policy.load(child).digest == before

    base.write_text('[policy]\nname = "base"\n[limits]\ncool_hot_days = 2\n', encoding="utf-8")

    assert policy.load(child).digest != before
    assert policy.load(child).limits == {"cool_hot_days": 2}


def test_the_built_in_rules_are_those_of_the_file() -> None:
    """`DEFAULT_RULES` has them after the rules of retention."""
    builtin = policy.load("builtin")

    assert builtin.rules == memotherm.DEFAULT_RULES
