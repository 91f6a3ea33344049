"""The default rules: retention, the built-in policy file, and rules of plugins."""

from __future__ import annotations

import functools
import tomllib
from logging import getLogger
from pathlib import Path

from memotherm.errors import MemothermError
from memotherm.model import entry_points
from memotherm.tiers.rules.conditions import Findings
from memotherm.tiers.rules.retention import RETENTION_RULES
from memotherm.tiers.rules.rule import Rule, checked_rules
from memotherm.tiers.rules.table import TableRule, read_rule

_log = getLogger(__name__)
_GROUP = "memotherm.rules"
#: The policy file of the built-in rules.
BUILTIN_FILE = Path(__file__).with_name("builtin.toml")


def _builtin_rules() -> tuple[TableRule, ...]:
    tables = tomllib.loads(BUILTIN_FILE.read_text(encoding="utf-8"))["rule"]
    found = Findings()
    rules = [read_rule(table, ("rule", place), found) for place, table in enumerate(tables)]
    if found:
        raise RuntimeError(f"{BUILTIN_FILE.name} is damaged: {'; '.join(map(str, found))}")
    return tuple(rule for rule in rules if rule is not None)


BUILTIN_RULES = _builtin_rules()
#: The rules of a store that was given no others, in the order in which they are asked.
DEFAULT_RULES: tuple[Rule, ...] = (*RETENTION_RULES, *BUILTIN_RULES)


@functools.cache
def installed_rules() -> tuple[Rule, ...]:
    """Return the default rules, then the rules of plugins by name; a plugin that fails to load is logged and skipped.

    An entry point of the group `memotherm.rules` names a rule, a class of rules, or a list of rules.
    """
    rules = DEFAULT_RULES
    for name in entry_points.names(_GROUP):
        try:
            offered = entry_points.load(_GROUP, name, kind="rule")
            added = offered if isinstance(offered, list | tuple) else [offered]
            rules = checked_rules([*rules, *(rule() if isinstance(rule, type) else rule for rule in added)])
        except MemothermError as exc:
            _log.warning("the rules of the plugin %s are not used: %s", name, exc)
    return rules
