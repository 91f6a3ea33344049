"""Rules that move a memory to another tier or retention, as an explicit list.

    from memotherm.tiers.rules import DEFAULT_RULES, Select, Situation

    mem = memotherm.open("agent.db", rules=[*DEFAULT_RULES, MyRule()])

A rule has an id, says in `selects` which memories it looks at and when it runs, and decides in `decide`. In each
run, the first rule that decides about a memory wins. The built-in rules that move memories between tiers are read
from the policy file `builtin.toml` in this package; those that follow the windows of retention are in `retention`.
"""

from typing import TYPE_CHECKING

from memotherm.tiers.rules.conditions import Select
from memotherm.tiers.rules.rule import STAY, HotUse, Rule, Situation

if TYPE_CHECKING:
    from memotherm.tiers.rules.table import DEFAULT_RULES

__all__ = ["DEFAULT_RULES", "STAY", "HotUse", "Rule", "Select", "Situation"]


# Type checkers would take any name for one that this function returns.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Read the built-in rules when they are first asked for: a recall uses none."""
        if name != "DEFAULT_RULES":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from memotherm.tiers.rules.table import DEFAULT_RULES

        return DEFAULT_RULES
