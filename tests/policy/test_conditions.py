"""When the conditions of a rule in a file hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memotherm import Memory, Move, Settings, Situation, Tier, Trust
from memotherm.errors import PolicyError
from memotherm.tiers import policy
from memotherm.tiers.policy_checks import stored_examples


@pytest.mark.parametrize(
    ("when", "fields", "holds"),
    [
        ('{ tags.all = ["api", "task"] }', {"tags": ("api", "task")}, True),
        ('{ tags.all = ["api", "task"] }', {"tags": ("api", "task", "open")}, True),
        ('{ tags.all = ["api", "task"] }', {"tags": ("api",)}, False),
        ('{ tags = ["api", "task"] }', {"tags": ("api",)}, True),
        ('{ tags = ["api", "task"] }', {"tags": ("open",)}, False),
        ('{ metadata.votes = ">= 1" }', {"metadata": {"votes": 1}}, True),
        ('{ metadata.votes = ">= 1" }', {"metadata": {"votes": True}}, False),
        ('{ metadata.votes = ">= 1" }', {"metadata": {"votes": "2"}}, False),
        ("{ metadata.votes = 1 }", {"metadata": {"votes": True}}, False),
        ('{ trust = "agent" }', {"trust": Trust.PERSON}, True),
        ('{ trust = "agent" }', {"trust": Trust.IMPORT}, False),
        ('{ age = ">= 2d" }', {}, True),
        ('{ age = "> 2d" }', {}, False),
        ('[{ kind = "task" }, { kind = "fact" }]', {"kind": "fact"}, True),
    ],
)
def test_a_condition_holds_for_what_it_says(
    a_memory: Callable[..., Memory], when: str, fields: dict[str, Any], holds: bool
) -> None:
    """True is no number and a number is no text; all tags may be all that a memory has."""
    (rule,) = policy.loads(f'[[rule]]\nid = "a"\nto = "cold"\nwhen = {when}\n').own_rules
    memory = a_memory(**fields)

    situation = Situation(now=memory.created_at + timedelta(days=2), settings=Settings())
    with stored_examples([memory]) as (store, spaces):
        assert bool(store.select(spaces, rule.selects, situation)) is holds


@pytest.mark.parametrize(
    ("when", "path"),
    [
        ('{ kinds = "fact" }', ("rule", 0, "when", "kinds")),
        ('[{ kind = "fact" }, { kinds = "fact" }]', ("rule", 0, "when", 1, "kinds")),
    ],
)
def test_what_is_wrong_in_a_condition_is_found_at_its_place(when: str, path: tuple[str | int, ...]) -> None:
    """In a table, or in one of several."""
    with pytest.raises(PolicyError) as raised:
        policy.loads(f'[[rule]]\nid = "a"\nto = "cold"\nwhen = {when}\n')

    (finding,) = raised.value.findings
    assert finding.path == path  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("run", "to", "tag", "moves"),
    [
        ("compact", "warm", "permanent", True),
        ("compact", "cold", "permanent", False),
        ("maintain", "warm", "permanent", False),
        ("maintain", "cold", "permanent", False),
        ("compact", "warm", "blocker", False),
        ("spill", "warm", "blocker", True),
    ],
)
def test_a_rule_of_a_file_leaves_alone_what_is_protected(
    a_memory: Callable[..., Memory], run: str, to: str, tag: str, moves: bool
) -> None:
    """What is permanent never cools by maintenance or to cold; a blocker leaves hot only where a session is full."""
    (rule,) = policy.loads(f'[[rule]]\nid = "a"\nrun = "{run}"\nto = "{to}"\n').own_rules
    memory = a_memory(tier=Tier.HOT, tags=(tag,))

    assert (rule.decide(memory, Situation(now=memory.created_at, settings=Settings())) is not None) is moves


@pytest.mark.parametrize(("uses", "why"), [(2.0, "2 uses"), (1.5, "1.5 uses")])
def test_a_reason_names_whole_numbers_without_a_fraction(
    a_memory: Callable[..., Memory], uses: float, why: str
) -> None:
    """Uses are a sum of weights, which need not be whole."""
    (rule,) = policy.loads('[[rule]]\nid = "a"\nto = "cold"\nwhy = "{recent_uses} uses"\n').own_rules
    memory = a_memory(recent_uses=uses, access_count=2)
    memory = replace(memory, accessed_at=memory.created_at)
    move = rule.decide(memory, Situation(now=memory.created_at, settings=Settings()))

    assert isinstance(move, Move)
    assert move.why == why
