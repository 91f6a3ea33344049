"""When the conditions of a rule in a file hold."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from memotherm import Memory, Settings, Situation, policy
from memotherm.errors import PolicyError


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

    assert rule.when.holds(memory, Situation(now=memory.created_at + timedelta(days=2), settings=Settings())) is holds


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
