"""The built-in rules that move memories between tiers, read from the policy file of this package."""

from __future__ import annotations

import tomllib
from pathlib import Path

from memotherm.rules.findings import Finding
from memotherm.rules.table import TableRule, read_rule

__all__ = ["BUILTIN_FILE", "BUILTIN_RULES"]

#: The policy file of the built-in rules.
BUILTIN_FILE = Path(__file__).with_name("builtin.toml")


def _builtin_rules() -> tuple[TableRule, ...]:
    tables = tomllib.loads(BUILTIN_FILE.read_text(encoding="utf-8"))["rule"]
    found: list[Finding] = []
    rules = [read_rule(table, ("rule", place), found) for place, table in enumerate(tables)]
    if found:
        raise RuntimeError(f"{BUILTIN_FILE.name} is damaged: {'; '.join(map(str, found))}")
    return tuple(rule for rule in rules if rule is not None)


BUILTIN_RULES = _builtin_rules()
