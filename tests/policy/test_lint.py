"""What lint finds in policies that can be read."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memotherm import Memory, Memotherm, Move, Settings, Situation
from memotherm.testing import FakeClock
from memotherm.tiers import policy
from memotherm.tiers.policy_checks import lint
from memotherm.tiers.rules.rule import RuleSet
from memotherm.tiers.rules.select import Select
from memotherm.tiers.rules.table import TableRule
from tests.policy.memories import MEMORIES, NOW


def found(text: str) -> list[tuple[str, int | None]]:
    return [(finding.code, finding.line) for finding in policy.loads(text).lint()]


def rule(name: str, when: str, to: str, run: str = "compact") -> str:
    return f'[[rule]]\nid = "{name}"\nrun = "{run}"\nwhen = {when}\nto = "{to}"\nwhy = "a reason"\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (rule("a", '{ idle = ">= 30d, < 10d" }', "cold"), [("P006", 4)]),
        (rule("a", '{ tier = "hot" }', "hot"), [("P006", 5)]),
        (
            rule("wide", '{ tier = ["hot", "warm"], idle = ">= 5d" }', "cold")
            + rule("narrow", '{ tier = "hot", idle = "> 9d" }', "warm"),
            [("P005", 7)],
        ),
        (
            rule("a", '{ tier = "hot", idle = ">= 9d" }', "cold")
            + rule("b", '{ tier = "hot", idle = ">= 5d" }', "warm"),
            [],
        ),
        (
            rule("down", '{ tier = "warm", idle = ">= 5d" }', "cold")
            + rule("up", '{ tier = "cold", kind = "fact" }', "warm", "maintain"),
            [("P007", 1)],
        ),
        (rule("a", '{ tags.all = ["b", "c"] }', "cold") + rule("b", '{ tags = ["b", "c"] }', "cold"), []),
        (rule("a", '{ tags.all = ["b"] }', "cold") + rule("b", '{ tags.all = ["b", "c"] }', "cold"), [("P005", 7)]),
        (rule("a", '{ uses = "!= 3" }', "cold") + rule("b", '{ uses = ">= 1" }', "cold"), []),
        ("[limits]\ncool_hot_days = 90\ncool_warm_days = 30\n", [("P008", 1)]),
        ('[[rule]]\nid = "a"\nto = "cold"\n', [("P010", 1)]),
    ],
)
def test_lint_names_the_line(text: str, told: list[tuple[str, int]]) -> None:
    """Contradictions, rules that are never asked, flapping, inverted windows and missing reasons."""
    assert found(text) == told


def test_rules_that_move_a_memory_back_are_named_in_their_order() -> None:
    """Where the first, the second or both are of the policy, or one rule does it alone; never those of others."""
    down, up = (
        rule("down", '{ tier = "warm", idle = ">= 5d" }', "cold"),
        rule("up", '{ tier = "cold" }', "warm", "maintain"),
    )
    alone = '[[rule]]\nid = "alone"\nto = { cold = { tier = "warm" }, warm = { tier = "cold" } }\n'
    first, second, third = policy.loads(down + up + alone).own_rules

    def told(own: list[TableRule], rules: list[TableRule]) -> list[str]:
        found = (finding.message for finding in lint(own, rules, Settings()) if finding.code == "P007")
        return [message.partition(" move a memory")[0] for message in found]

    for own in ([first], [second], [first, second]):
        assert told(own, [first, second]) == ["down and up"]
    assert told([third], [third]) == ["alone"]
    assert told([], [first, second]) == []


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


WORDS = st.sampled_from(
    [
        'kind = "decision"',
        'tags = "task"',
        'tags.all = ["task", "api"]',
        "blocker = true",
        'priority = ["low", "normal"]',
        'status = "done"',
        "used_in_tier = true",
        "moved = false",
        'metadata.team = ["a", "b"]',
        'metadata.votes = ">= 2"',
        'tier = ["hot", "cold"]',
    ]
)
DURATIONS = st.builds(
    '{} = "{} {}d"'.format,
    st.sampled_from(("age", "idle", "used", "untouched", "in_tier", "expires_in")),
    st.sampled_from((">", ">=", "<", "<=")),
    st.integers(0, 20),
)
NUMBERS = st.builds(
    '{} = "{} {}"'.format,
    st.sampled_from(("uses", "recent_uses", "tokens")),
    st.sampled_from((">=", "<", "==", "!=")),
    st.integers(0, 5),
)
TABLES = st.lists(
    WORDS | DURATIONS | NUMBERS, min_size=1, max_size=3, unique_by=lambda text: text.split("=")[0].split(".")[0]
)
RULES = st.builds(
    lambda tables, to: '[[rule]]\nid = "a"\nwhy = "b"\nto = "{}"\nwhen = [{}]\n'.format(
        to, ", ".join("{ " + ", ".join(table) + " }" for table in tables)
    ),
    st.lists(TABLES, min_size=1, max_size=2),
    st.sampled_from(("hot", "warm", "cold")),
)


@given(text=RULES, memory=MEMORIES)
def test_a_store_selects_whatever_a_rule_of_a_file_would_move(text: str, memory: Memory) -> None:
    """The selection may be wider than the conditions, never narrower."""
    (read,) = policy.loads(text).own_rules
    situation = Situation(now=NOW, settings=Settings())

    if isinstance(read.decide(memory, situation), Move):
        assert read.selects.resolved(Settings()).matches(memory, NOW)


def test_the_rules_are_prepared_once_for_all_examples() -> None:
    """Not once for each of the thousands of memories that are tried."""
    rules = "".join(
        f'[[rule]]\nid = "house.{number}"\nwhen = {{ kind = "kind{number}" }}\nto = "cold"\nwhy = "x"\n'
        for number in range(3)
    )
    with patch("memotherm.tiers.policy_checks.RuleSet", wraps=RuleSet) as prepared:
        policy.loads(f'[policy]\nname = "house"\nextends = "builtin"\n{rules}').lint()
    assert prepared.call_count == 2


@pytest.mark.parametrize(
    "when", ['kind = "x{}"', 'tags = ["x{}"]', '"metadata.team" = "x{}"', 'tier = "cold", age = ">= {}d"']
)
def test_a_rule_is_asked_only_about_examples_with_its_words(when: str) -> None:
    """A hundred rules about other memories cost the linter next to nothing."""
    rules = "".join(
        f'[[rule]]\nid = "house.{number}"\nwhen = {{ {when.format(number + 1)} }}\nto = "warm"\nwhy = "x"\n'
        for number in range(100)
    )
    house = policy.loads(f'[policy]\nname = "house"\n{rules}')
    with patch.object(Select, "matches", autospec=True, side_effect=Select.matches) as asked:
        house.lint()
    assert asked.call_count < 5 * 5000


def test_a_policy_of_a_thousand_rules_is_checked() -> None:
    """Each rule is compared with the first 200 of its run; a warning says that there are more."""
    rules = (rule(f"house.r{number}", f'{{ idle = ">= {2000 - number}d" }}', "cold") for number in range(1000))
    covered = rule("house.last", '{ idle = ">= 1990d" }', "cold")
    codes = [finding.code for finding in policy.loads("".join(rules) + covered).lint()]
    assert codes.count("P005") == 1
    assert codes.count("P013") == 1
