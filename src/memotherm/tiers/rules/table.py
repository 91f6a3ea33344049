"""Rules written as tables of a policy file, and the default rules: retention, the built-in file, rules of plugins."""

from __future__ import annotations

import functools
import string
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from logging import getLogger
from pathlib import Path
from typing import Any

from memotherm.errors import InvalidInput, MemothermError
from memotherm.model import Memory, Move, Priority, Tier, entry_points
from memotherm.model.recall import UseKind
from memotherm.tiers.rules.conditions import ALWAYS, NEVER, RUNS, Findings, Select, Table, read_tables, suggestion
from memotherm.tiers.rules.properties import USE_WEIGHTS, is_blocker, protected, recent_uses
from memotherm.tiers.rules.retention import RETENTION_RULES
from memotherm.tiers.rules.rule import STAY, Rule, Situation, Stay, checked_rules

_KEYS = ("id", "run", "when", "unless", "to", "why", "order")
_TARGETS = (*Tier, "stay")


def _whole_if_it_is(number: float) -> float:
    return int(number) if number == int(number) else number


def _recent_uses(memory: Memory, situation: Situation) -> float:
    if not situation.recalled:
        return memory.recent_uses
    return recent_uses(memory, situation.now) + USE_WEIGHTS[UseKind.RETURNED]


#: The placeholders of `why`, and how to read their values.
_WORDS: Mapping[str, Callable[[Memory, Situation], object]] = {
    "kind": lambda memory, _: memory.kind,
    "days": lambda memory, situation: (situation.now - memory.last_accessed_at).days,
    "untouched": lambda memory, situation: (situation.now - max(memory.updated_at, memory.last_accessed_at)).days,
    "uses": lambda memory, _: memory.access_count,
    "recent_uses": lambda memory, situation: _whole_if_it_is(_recent_uses(memory, situation)),
    "relevance": lambda _, situation: situation.relevance,
    "reason": lambda _, situation: situation.reason,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class TableRule:
    """A rule that was read from a table of a policy file.

    What is protected is never moved down: a pinned memory or an active blocker in no run but a spill, which spares
    pinned ones only; and what is permanent, dated, has an end of its own or lives in a note neither to cold nor by
    maintenance.
    """

    id: str
    run: str
    #: Tables of conditions, one of which must hold.
    when: tuple[Table, ...] = ALWAYS
    unless: tuple[Table, ...] = NEVER
    #: The tiers it can move to, each with its condition; the first that holds decides. Empty means that it stays.
    targets: tuple[tuple[Tier, tuple[Table, ...]], ...] = ()
    why: str = ""
    order: tuple[str, ...] = ()
    #: The hash of the policy that it belongs to, if that was adopted.
    policy: str = ""
    #: Which memories it looks at, and for each tier those that it would move there.
    selects: Select = field(init=False)
    choices: tuple[tuple[Tier | None, Select], ...] = field(init=False)

    def __post_init__(self) -> None:
        # A recall that promotes has found the memory, so it is not asked again whether it has expired.
        expired = None if self.run == "promote" else False
        selects = Select(during=self.run, order=self.order, expired=expired, when=self.when, unless=self.unless)
        object.__setattr__(self, "selects", selects)
        object.__setattr__(self, "choices", tuple(self._choices()) or ((None, selects),))

    def _choices(self) -> Iterator[tuple[Tier, Select]]:
        """Yield the tiers with the memories for which no earlier one is chosen."""
        unless = self.unless
        for target, tables in self.targets:
            when = tuple((*table, *more) for table in self.when for more in tables)
            others = tuple(tier for tier in Tier if tier is not target)
            yield target, replace(self.selects, when=when, unless=unless, tiers=others)
            unless = (*unless, *tables)

    @property
    def names_trust(self) -> bool:
        """Whether it says which trust it asks for."""
        tables = (*self.when, *(table for _, tables in self.targets for table in tables))
        return any(condition.field.name == "trust" for table in tables for condition in table)

    def decide(self, memory: Memory, situation: Situation) -> Move | Stay | None:
        """Return the move of a memory that a store has selected, if nothing forbids it and there is room."""
        if not self.targets:
            return STAY
        target = situation.target or self.targets[0][0]
        if target is memory.tier or not self._allowed(memory, target, situation):
            return None
        return Move.of(memory, target, self._reason(memory, situation))

    def _allowed(self, memory: Memory, target: Tier, situation: Situation) -> bool:
        """Return whether protections and limits allow a move."""
        if target.rank < memory.tier.rank:
            return target is not Tier.HOT or self._has_room(memory, situation)
        if memory.priority is Priority.PINNED:
            return False
        if self.run == "spill":
            return True
        if target is Tier.COLD or self.run == "maintain":
            return protected(memory, situation.now) is None
        return not is_blocker(memory)

    def _has_room(self, memory: Memory, situation: Situation) -> bool:
        """Return whether a memory fits into hot; a promoted memory makes room for itself."""
        if self.run == "compact":
            return situation.hot.has_room_for(memory, situation.settings)
        if self.run == "maintain":
            return situation.hot.seen_from(memory.scope).has_room_for(memory, situation.settings)
        return True

    def _reason(self, memory: Memory, situation: Situation) -> str:
        return self.why.format_map({name: read(memory, situation) for name, read in _WORDS.items()})


def read_rule(table: Mapping[str, Any], path: tuple[str | int, ...], found: Findings) -> TableRule | None:
    """Read a rule from a table; add findings to `found`, and return None if there is an error."""
    before = len(found)
    found.check_keys(table, _KEYS, *path)
    rule_id, run = table.get("id"), table.get("run", "compact")
    if not isinstance(rule_id, str) or not rule_id.strip():
        found.add("P002", 'a rule needs an id, such as id = "house.contracts"', *path)
    if run not in RUNS:
        found.add("P002", f"unknown run {run!r}: {suggestion(str(run), RUNS)}", *path, "run")
    when = read_tables(table["when"], (*path, "when"), found) if "when" in table else ALWAYS
    unless = read_tables(table["unless"], (*path, "unless"), found) if "unless" in table else NEVER
    targets = tuple(_targets(table, path, found))
    why = _why(table.get("why", ""), path, found)
    order = tuple(table.get("order", ()))
    try:
        Select(order=order)
    except InvalidInput as exc:
        found.add("P002", str(exc), *path, "order")
    if len(found) > before:
        return None
    return TableRule(id=str(rule_id), run=run, when=when, unless=unless, targets=targets, why=why, order=order)


def _targets(
    table: Mapping[str, Any], path: tuple[str | int, ...], found: Findings
) -> Iterator[tuple[Tier, tuple[Table, ...]]]:
    """Yield the tiers of `to`, each with its condition."""
    path = (*path, "to")
    to = table.get("to")
    if to == "stay":
        return
    targets = to if isinstance(to, Mapping) else {to: {}}
    for target, condition in targets.items():
        if target not in tuple(Tier):
            message = f"to = {target!r} is not a tier: {suggestion(str(target), _TARGETS)}"
            if target is None:
                message = f"a rule needs to: {', '.join(_TARGETS)}"
            found.add("P002", message, *path)
            continue
        yield Tier.of(target), read_tables(condition, (*path, str(target)), found) if condition else ALWAYS


def _why(why: object, path: tuple[str | int, ...], found: Findings) -> str:
    """Return the text of a reason; its placeholders must be known."""
    path = (*path, "why")
    if not isinstance(why, str):
        found.add("P002", "why must be a text", *path)
        return ""
    try:
        names = [name for _, name, _, _ in string.Formatter().parse(why) if name is not None]
        for name in names:
            if name not in _WORDS:
                found.add("P001", f"why cannot name {{{name}}}: {suggestion(name, _WORDS)}", *path)
        if not set(names) - _WORDS.keys():
            why.format_map(dict.fromkeys(_WORDS, 0))
    except (ValueError, AttributeError, LookupError) as exc:
        found.add("P002", f"cannot read why: {exc}", *path)
    return why


# The default rules

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
