"""The built-in rules and those that installed packages offer by the entry point `memotherm.rules`."""

from __future__ import annotations

import functools
from logging import getLogger

from memotherm.errors import MemothermError
from memotherm.model import entry_points
from memotherm.rules.rule import Rule, checked_rules

__all__ = ["installed_rules"]

_log = getLogger(__name__)
_GROUP = "memotherm.rules"


@functools.cache
def installed_rules() -> tuple[Rule, ...]:
    """Return the built-in rules, then those of plugins by name; one that cannot be loaded is logged and left out.

    An entry point names a rule, a class of rules, or a list of rules.
    """
    from memotherm.rules.defaults import DEFAULT_RULES

    rules = DEFAULT_RULES
    for name in entry_points.names(_GROUP):
        try:
            offered = entry_points.load(_GROUP, name, kind="rule")
            added = offered if isinstance(offered, list | tuple) else [offered]
            rules = checked_rules([*rules, *(rule() if isinstance(rule, type) else rule for rule in added)])
        except MemothermError as exc:
            _log.warning("the rules of the plugin %s are not used: %s", name, exc)
    return rules
