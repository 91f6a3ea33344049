"""Policy files: rules, limits and tests in TOML.

from memotherm.tiers import policy

house = policy.load("policy.toml")
print(*house.lint(), sep="\\n")
mem = memotherm.open("agent.db", rules=house.rules)
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from memotherm.errors import MemothermError, NotFound, PolicyError
from memotherm.model import Memory, Move
from memotherm.model.value import Value
from memotherm.settings import Settings
from memotherm.storage.store import Store
from memotherm.tiers.policy_checks import Case, CaseResult, lint, lint_in_store, read_case, run_cases
from memotherm.tiers.rules.conditions import Finding, Findings, suggestion
from memotherm.tiers.rules.retention import RETENTION_RULES
from memotherm.tiers.rules.rule import Rule, Situation
from memotherm.tiers.rules.table import BUILTIN_FILE, TableRule, read_rule

__all__ = ["LIMITS", "PRESETS", "Difference", "Finding", "Policy", "load", "loads", "unpacked"]

_Read = TypeVar("_Read")

_SECTIONS = ("policy", "limits", "rule", "test")
_HEADER = ("name", "extends", "description")
_LONGEST_FILE = 1_000_000
#: In one line. The parser takes quadratic time for the parts of a key.
_MOST_DOTS = 100
#: Longest chain of `extends`.
_DEEPEST = 10
_FOLDER = Path(__file__).with_name("presets")
#: Presets: the policies in the package, by name.
PRESETS: Mapping[str, Path] = {
    "builtin": BUILTIN_FILE,
    **{file.stem: file for file in sorted(_FOLDER.glob("*.toml"))},
}
#: The settings that a policy may set: none of them hides or deletes anything.
LIMITS = (
    *("tiering", "hot_max_tokens", "hot_max_facts", "compaction_on_session_end", "compact_every_run"),
    *("inactive_preference_days", "task_cold_after_days", "decision_cold_after_days", "strict_hot_blockers_only"),
    *("promote_threshold", "promote_access_count"),
    *("cool_hot_days", "cool_warm_days", "hot_token_limit", "warm_access_threshold"),
)
_RESERVED = ("compact.", "maintain.", "session.", "promote.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """Rules that move memories between tiers, the limits they use, and their tests."""

    name: str
    description: str = ""
    #: The policy that this one extends; its rules come after these.
    base: Policy | None = None
    #: Settings of this file, without its base.
    own_limits: Mapping[str, Any] = field(default_factory=dict)
    #: Rules of this file, without its base.
    own_rules: tuple[TableRule, ...] = ()
    own_cases: tuple[Case, ...] = ()
    #: The text of the file.
    text: str = field(default="", repr=False)
    #: Where the text comes from, for messages.
    origin: str = ""

    @property
    def tier_rules(self) -> tuple[TableRule, ...]:
        """The rules of this policy and of its base, in the order in which they are asked."""
        return (*self.own_rules, *(self.base.tier_rules if self.base is not None else ()))

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All rules for `memotherm.open(rules=...)`; the retention rules come first and always run."""
        return (*RETENTION_RULES, *self.tier_rules)

    @property
    def limits(self) -> dict[str, Any]:
        """The settings of this policy and of its base."""
        return {**(self.base.limits if self.base is not None else {}), **self.own_limits}

    @property
    def digest(self) -> str:
        """A hash of the policy and its base."""
        texts = [self.text, *([] if self.base is None else [self.base.digest])]
        return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]

    def packed(self) -> str:
        """Return the policy and its bases as text, for `unpacked`."""
        line, policy = [self], self.base
        while policy is not None:
            line.insert(0, policy)
            policy = policy.base
        return json.dumps([{"origin": policy.origin, "text": policy.text} for policy in line])

    def settings(self, settings: Settings | None = None) -> Settings:
        """Return settings with the limits of the policy."""
        return replace(settings or Settings(), **self.limits)

    def lint(self) -> list[Finding]:
        """Return errors and warnings."""
        return _located(lint(self.own_rules, self.settings()), self.text)

    def lint_in(self, store: Store, spaces: Sequence[int], now: datetime, count: int) -> list[Finding]:
        """Return warnings about the effect of the rules on the memories of some spaces, of which there are `count`."""
        situation = Situation(now=now, settings=self.settings())
        return _located(lint_in_store(self.own_rules, self.tier_rules, situation, store, spaces, count), self.text)

    def test(self) -> list[CaseResult]:
        """Run the tests of the file."""
        return run_cases(self.own_cases, self.rules, self.settings())


def load(path: str | os.PathLike[str]) -> Policy:
    """Read a policy from a file, or a preset by its name.

    Raise `PolicyError` with all findings.
    """
    return _load(path, 0)


def loads(text: str, origin: str = "policy") -> Policy:
    """Read a policy from text; it can extend presets only."""
    return _read(text, origin, None, 0)


def unpacked(text: str) -> Policy:
    """Read a policy from the text of `Policy.packed`, without files."""
    base: Policy | None = None
    for part in json.loads(text):
        base = _read(part["text"], part["origin"], None, 0, base)
    if base is None:
        raise PolicyError("the stored policy is empty: adopt it again")
    return base


def _load(path: str | os.PathLike[str], depth: int) -> Policy:
    preset = PRESETS.get(os.fspath(path))
    file = preset or Path(path).expanduser()
    try:
        if file.stat().st_size > _LONGEST_FILE:
            raise PolicyError(f"{file} is longer than a policy can be ({_LONGEST_FILE:,} bytes)")
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFound(f"there is no policy {os.fspath(path)}: {suggestion(os.fspath(path), PRESETS)}") from None
    except (OSError, UnicodeDecodeError) as exc:
        raise PolicyError(f"cannot read the policy {file}: {exc}") from exc
    return _read(text, file.name if preset else str(file), None if preset else file.parent, depth)


def _read(text: str, origin: str, folder: Path | None, depth: int, base: Policy | None = None) -> Policy:
    """Read a policy from text, or raise `PolicyError` with all findings.

    `base` is the policy that it extends, if that was read already.
    """
    dotted = next((number for number, line in enumerate(text.split("\n"), 1) if line.count(".") > _MOST_DOTS), None)
    if dotted is not None:
        message = f"line {dotted} has more than {_MOST_DOTS} dots: shorten the key or the text"
        raise PolicyError(f"{origin}: {message}", (Finding(code="P000", message=message, line=dotted),))
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as exc:
        raise PolicyError(f"{origin} is not TOML: {exc}", (Finding(code="P000", message=str(exc)),)) from None
    found = Findings()
    found.check_keys(document, _SECTIONS, what="section")
    header = _header(document.get("policy", {}), found)
    if base is None:
        base = _base(header.get("extends"), folder, depth, found)
    limits = _limits(document.get("limits", {}), found)
    rules = _tables(document, "rule", read_rule, found)
    cases = _tables(document, "test", read_case, found)
    if origin != BUILTIN_FILE.name:
        _check_ids(document.get("rule", ()), base, found)
    policy = Policy(
        name=str(header.get("name", Path(origin).stem)),
        description=str(header.get("description", "")),
        base=base,
        own_limits=limits,
        own_rules=tuple(rules.values()),
        own_cases=tuple(cases.values()),
        text=text,
        origin=origin,
    )
    if found:
        raise _all_errors(policy, found, list(rules))
    return policy


def _all_errors(policy: Policy, found: Findings, places: Sequence[int]) -> PolicyError:
    """Return all errors of a file, including lint errors of the rules that could be read, at these places."""
    for finding in lint(policy.own_rules, policy.settings()):
        path = finding.path
        if path[0] == "rule":
            path = ("rule", places[int(path[1])], *path[2:])
        if not finding.warning:
            found.append(replace(finding, path=path))
    errors = tuple(sorted(_located(found, policy.text), key=lambda finding: finding.line or 0))
    listed = "\n".join(f"  {policy.origin}: {finding}" for finding in errors)
    return PolicyError(f"{policy.origin} has {len(errors)} error{'s' if len(errors) > 1 else ''}:\n{listed}", errors)


def _header(header: object, found: Findings) -> Mapping[str, Any]:
    if not isinstance(header, Mapping):
        found.add("P002", 'policy must be a table: [policy] with name = "..."', "policy")
        return {}
    found.check_keys(header, _HEADER, "policy")
    for key, value in header.items():
        if key in _HEADER and (not isinstance(value, str) or not value.strip()):
            found.add("P002", f"{key} must be a text", "policy", key)
    return header


def _base(extends: object, folder: Path | None, depth: int, found: Findings) -> Policy | None:
    """Return the policy that this one extends."""
    if not isinstance(extends, str):
        return None
    path = ("policy", "extends")
    if depth >= _DEEPEST:
        found.add("P002", f"more than {_DEEPEST} policies extend one another: check that none extends itself", *path)
        return None
    if extends not in PRESETS and folder is None:
        message = f"extends = {extends!r} is not a policy of the package: {suggestion(extends, PRESETS)}"
        found.add("P002", message, *path)
        return None
    try:
        return _load(extends if extends in PRESETS or folder is None else folder / extends, depth + 1)
    except MemothermError as exc:
        found.add("P002", f"extends: {exc}", *path)
        return None


def _limits(limits: object, found: Findings) -> dict[str, Any]:
    """Return the limits that are settings with valid values."""
    if not isinstance(limits, Mapping):
        found.add("P002", "limits must be a table of settings", "limits")
        return {}
    valid = {}
    for name, value in limits.items():
        if name not in LIMITS:
            found.add("P001", f"a policy cannot set {name}: {suggestion(name, LIMITS)}", "limits", name)
            continue
        try:
            valid[name] = getattr(Settings(**{name: value}), name)
        except MemothermError as exc:
            found.add("P002", str(exc), "limits", name)
    return valid


def _tables(
    document: Mapping[str, Any], name: str, read: Callable[..., _Read | None], found: Findings
) -> dict[int, _Read]:
    """Return the tables that could be read, by their place."""
    tables = document.get(name, [])
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        found.add("P002", f"write each {name} as [[{name}]]", name)
        return {}
    read_tables = {place: read(table, (name, place), found) for place, table in enumerate(tables)}
    return {place: table for place, table in read_tables.items() if table is not None}


def _check_ids(tables: object, base: Policy | None, found: Findings) -> None:
    """Find ids that occur twice, or that belong to the built-in rules."""
    seen = {rule.id for rule in base.tier_rules} if base is not None else set()
    for place, table in enumerate(tables if isinstance(tables, list) else ()):
        rule_id = table.get("id") if isinstance(table, Mapping) else None
        if not isinstance(rule_id, str):
            continue
        path = ("rule", place, "id")
        if rule_id.startswith(_RESERVED):
            message = f"{rule_id} begins like the ids of the built-in rules: use a prefix of your own"
            found.add("P004", message, *path)
        elif rule_id in seen:
            found.add("P004", f"another rule has the id {rule_id}: give each its own", *path)
        seen.add(rule_id)


# Lines of findings

_TABLE_HEADER = re.compile(r"\s*(\[\[?)\s*([A-Za-z0-9_.-]+)\s*\]\]?")


def _located(found: Iterable[Finding], text: str) -> list[Finding]:
    """Return findings with the lines of their keys; the headers of the text are read once for all of them."""
    lines = text.splitlines()
    tables = _tables_in(lines)
    return [replace(each, line=_line_of(lines, tables, each.path)) if each.line is None else each for each in found]


def _line_of(
    lines: Sequence[str], tables: Mapping[str, Sequence[tuple[int, int]]], path: tuple[str | int, ...]
) -> int | None:
    """Return the line of a key such as ("rule", 0, "when", "idle"), or of its longest prefix that is found."""
    if not path:
        return None
    numbered = len(path) > 1 and isinstance(path[1], int)
    place = int(path[1]) if numbered else 0
    named = tables.get(str(path[0]), ())
    if place >= len(named):
        return None
    line, end = named[place]
    for part in path[2:] if numbered else path[1:]:
        if not isinstance(part, str):
            continue
        found = _key(lines, line, end, part)
        if found is None:
            break
        line = found
    return line + 1


def _tables_in(lines: Sequence[str]) -> dict[str, list[tuple[int, int]]]:
    """Return the first line of each table and its end, which is that of the tables inside of it, by their names."""
    headers = [(number, header[2]) for number, line in enumerate(lines) if (header := _TABLE_HEADER.match(line))]
    outer = [(number, name) for number, name in headers if "." not in name]
    tables: dict[str, list[tuple[int, int]]] = {}
    for (number, name), (end, _) in zip(outer, [*outer[1:], (len(lines), "")], strict=False):
        tables.setdefault(name, []).append((number, end))
    return tables


def _key(lines: Sequence[str], start: int, end: int, key: str) -> int | None:
    """Return the first line that sets a key, whole or its last part."""
    names = "|".join(re.escape(name) for name in dict.fromkeys((key, key.rsplit(".", 1)[-1])))
    pattern = re.compile(rf"(?:^|[\s{{,.\[\"])(?:{names})\"?\s*[=.]")
    return next((number for number in range(start, end) if pattern.search(lines[number])), None)


# Comparison of two policies


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Difference(Value):
    """A memory that two policies would leave in different tiers."""

    memory: Memory
    #: The run of the rules: compact or maintain.
    run: str
    #: The move of the first policy; None if the memory stays.
    first: Move | None
    second: Move | None

    def __str__(self) -> str:
        first, second = (
            f"{self.memory.tier} (stays)" if move is None else f"{move.to} [{move.rule}]"
            for move in (self.first, self.second)
        )
        return f"{self.memory.id} {self.run}: {first} against {second}"
