"""The rules of a store that has no others."""

from __future__ import annotations

from memotherm.rules.builtin import BUILTIN_RULES
from memotherm.rules.retention import RETENTION_RULES
from memotherm.rules.rule import Rule

__all__ = ["DEFAULT_RULES"]

#: The built-in rules, in the order in which they are asked.
DEFAULT_RULES: tuple[Rule, ...] = (*RETENTION_RULES, *BUILTIN_RULES)
