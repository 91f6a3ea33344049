"""Rules that move a memory to another tier or retention, as an explicit list.

    from memotherm.rules import DEFAULT_RULES, Select, Situation

    mem = memotherm.open("agent.db", rules=[*DEFAULT_RULES, MyRule()])

A rule has an id, says in `selects` which memories it looks at and when it runs, and decides in `decide`. In each
run, the first rule that decides about a memory wins. The built-in rules that move memories between tiers are read
from the policy file `builtin.toml` in this package; those that follow the windows of retention are in `retention`.
"""

from memotherm.rules.builtin import BUILTIN_RULES
from memotherm.rules.retention import RETENTION_RULES
from memotherm.rules.rule import STAY, HotUse, Rule, Situation
from memotherm.rules.select import Select

__all__ = ["DEFAULT_RULES", "STAY", "HotUse", "Rule", "Select", "Situation"]

#: The built-in rules, in the order in which they are asked.
DEFAULT_RULES: tuple[Rule, ...] = (*RETENTION_RULES, *BUILTIN_RULES)
