"""What lint finds in policies that can be read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memotherm import Memotherm
from memotherm.testing import FakeClock
from memotherm.tiers import policy


def found(text: str) -> list[tuple[str, int | None]]:
    return [(finding.code, finding.line) for finding in policy.loads(text).lint()]


def rule(name: str, when: str, to: str, run: str = "compact") -> str:
    return f'[[rule]]\nid = "{name}"\nrun = "{run}"\nwhen = {when}\nto = "{to}"\nwhy = "a reason"\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (rule("a", '{ idle = ">= 30d, < 10d" }', "cold"), [("P006", 4)]),
        (rule("a", '{ tier = "hot" }', "hot"), [("P006", 5)]),
        (rule("a", '{ tier = "hot", uses = "> 3, <= 3" }', "cold"), [("P006", 4)]),
        (rule("a", '{ idle = ">= 5d, <= 5d", uses = "!= 3" }', "cold"), []),
        ("[limits]\ncool_hot_days = 90\ncool_warm_days = 30\n", [("P008", 1)]),
        ('[[rule]]\nid = "a"\nto = "cold"\n', [("P010", 1)]),
    ],
)
def test_lint_names_the_line(text: str, told: list[tuple[str, int]]) -> None:
    """Contradictions, inverted windows and missing reasons."""
    assert found(text) == told


def test_a_comparison_counts_the_hot_memories_that_stay(open_mem: Callable[..., Memotherm]) -> None:
    """A rule that would make a memory hot makes no difference where hot memory is full."""
    house = policy.loads(rule("up", '{ kind = "decision" }', "hot"))
    for limit, kinds in ((1, []), (2, ["decision"])):
        mem = open_mem(settings={"hot_max_facts": limit})
        mem.remember("the harbour opens at eight", tier="hot")
        mem.remember("we use SQLite", kind="decision")

        assert [difference.memory.kind for difference in mem.policies.diff("builtin", house)] == kinds


def test_lint_looks_at_the_memories_of_a_store(mem: Memotherm, clock: FakeClock) -> None:
    """Rules that match nothing there, or that move more than a fifth, and pinned memories above the limit."""
    house = policy.loads(
        "[limits]\nhot_max_tokens = 1\n"
        + rule("none", '{ kind = "unheard" }', "cold")
        + rule("many", '{ kind = "fact", idle = ">= 1d" }', "cold", "maintain")
    )
    mem.remember("a rule for every turn", priority="pinned")
    mem.remember_many([{"content": f"fact {number}"} for number in range(5)])
    clock.advance(days=2)

    codes = {finding.code: finding.message for finding in mem.policies.lint(house)}

    assert set(codes) == {"P009", "P011", "P012"}
    assert "none matches none of the 6 memories" in codes["P011"]
    assert "many would move 5 of 6 memories" in codes["P012"]


def test_a_rule_may_move_a_fifth_of_a_store(mem: Memotherm, clock: FakeClock) -> None:
    """Only one that moves more gets a warning."""
    house = policy.loads(rule("some", '{ kind = "decision", idle = ">= 1d" }', "cold"))
    mem.remember_many([{"content": f"fact {number}"} for number in range(8)])
    mem.remember_many([{"content": f"we use version {number}", "kind": "decision"} for number in range(2)])
    clock.advance(days=2)
    assert mem.policies.lint(house) == []
    mem.remember("we use SQLite", kind="decision")
    clock.advance(days=2)
    assert [finding.code for finding in mem.policies.lint(house)] == ["P012"]


def test_a_comparison_lists_the_memories_that_would_end_elsewhere(mem: Memotherm, clock: FakeClock) -> None:
    """With the rules of both sides, and nothing is moved."""
    decision = mem.remember("we use SQLite", kind="decision")
    mem.remember("the moon is far")
    clock.advance(days=100)

    (difference,) = mem.policies.diff("builtin", "coding-agent")

    assert difference.memory.id == decision.id
    assert difference.first is not None
    assert (difference.first.rule, difference.second) == ("compact.idle", None)
    assert "cold [compact.idle] against warm (stays)" in str(difference)
    assert mem.get(decision.id).tier == "warm"
