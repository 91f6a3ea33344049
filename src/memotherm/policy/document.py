"""Policy files: rules, limits and tests in TOML."""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from memotherm.errors import MemothermError, NotFound, PolicyError
from memotherm.model import Memory
from memotherm.policy.cases import Case, CaseResult, read_case, run_case
from memotherm.policy.lines import line_of
from memotherm.policy.lint import lint
from memotherm.rules.builtin import BUILTIN_FILE
from memotherm.rules.findings import Finding, suggestion
from memotherm.rules.retention import RETENTION_RULES
from memotherm.rules.rule import Rule
from memotherm.rules.table import TableRule, read_rule
from memotherm.settings import Settings
from memotherm.settings.tiers import TierSettings

__all__ = ["LIMITS", "PRESETS", "Policy", "load", "loads", "unpacked"]

_Read = TypeVar("_Read")

_SECTIONS = ("policy", "limits", "rule", "test")
_HEADER = ("name", "extends", "description")
_LONGEST_FILE = 1_000_000
#: How many files may extend one another.
_DEEPEST = 10
_FOLDER = Path(__file__).with_name("presets")
#: The policies that come with the package, by name.
PRESETS: Mapping[str, Path] = {
    "builtin": BUILTIN_FILE,
    **{file.stem: file for file in sorted(_FOLDER.glob("*.toml"))},
}
#: The settings that a policy may set: none of them hides or deletes anything.
LIMITS = (
    *(setting.name for setting in fields(TierSettings)),
    *("cool_hot_days", "cool_warm_days", "keep_hot_heat", "heat_half_life_days", "warm_again_uses", "min_stay_days"),
    *("hot_token_limit", "warm_access_threshold"),
)
_RESERVED = ("compact.", "maintain.", "session.", "promote.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """Rules that move memories between tiers, the limits they use, and their tests."""

    name: str
    description: str = ""
    #: The policy whose rules come after these.
    base: Policy | None = None
    #: Settings that this file sets, without those of its base.
    own_limits: Mapping[str, Any] = field(default_factory=dict)
    #: The rules of this file, without those of its base.
    own_rules: tuple[TableRule, ...] = ()
    own_cases: tuple[Case, ...] = ()
    #: The text of the file.
    text: str = field(default="", repr=False)
    #: Where the text comes from, for messages.
    origin: str = ""
    #: What was found while it was read: warnings only.
    found: tuple[Finding, ...] = ()

    @property
    def tier_rules(self) -> tuple[TableRule, ...]:
        """The rules of this policy and of its base, in the order in which they are asked."""
        return (*self.own_rules, *(self.base.tier_rules if self.base is not None else ()))

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All rules as `memotherm.open(rules=...)` takes them: those of retention come first and always run."""
        return (*RETENTION_RULES, *self.tier_rules)

    @property
    def limits(self) -> dict[str, Any]:
        """The settings of this policy and of its base."""
        return {**(self.base.limits if self.base is not None else {}), **self.own_limits}

    @property
    def digest(self) -> str:
        """A hash of everything that the policy says, its base included."""
        texts = [self.text, *([] if self.base is None else [self.base.digest])]
        return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]

    def packed(self) -> str:
        """Return the text of the policy and of everything that it extends, for `unpacked`."""
        return json.dumps([{"origin": policy.origin, "text": policy.text} for policy in self._line()])

    def _line(self) -> Iterator[Policy]:
        """Yield the policy that extends none, then the one that extends it, up to this one."""
        if self.base is not None:
            yield from self.base._line()
        yield self

    def settings(self, settings: Settings | None = None) -> Settings:
        """Return settings with the limits of the policy."""
        return replace(settings or Settings(), **self.limits)

    def lint(self, memories: Iterable[Memory] | None = None, now: datetime | None = None) -> list[Finding]:
        """Return errors and warnings; with the memories of a store at a moment, also what the rules would do there."""
        found = lint(self.own_rules, self.tier_rules, self.settings(), memories, now)
        return [*self.found, *(_located(finding, self.text) for finding in found)]

    def test(self) -> list[CaseResult]:
        """Run the tests of the file."""
        settings = self.settings()
        return [run_case(case, self.rules, settings) for case in self.own_cases]


def load(path: str | os.PathLike[str]) -> Policy:
    """Read a policy from a file, or one of those that come with the package by its name.

    Raise `PolicyError` with everything that is wrong.
    """
    return _load(path, 0)


def loads(text: str, origin: str = "policy") -> Policy:
    """Read a policy from text; it can extend only those that come with the package."""
    return _read(text, origin, None, 0)


def unpacked(text: str) -> Policy:
    """Return the policy that `Policy.packed` has returned the text of; no file is read."""
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
    """Return the policy of a text, or raise `PolicyError` with everything that is wrong.

    `base` is the policy that it extends, if that was read already.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        raise PolicyError(f"{origin} is not TOML: {exc}", (Finding(code="P000", message=str(exc)),)) from None
    found: list[Finding] = []
    found.extend(
        Finding(code="P001", message=f"unknown section {name}: {suggestion(name, _SECTIONS)}", path=(name,))
        for name in document
        if name not in _SECTIONS
    )
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
        found=tuple(_located(finding, text) for finding in found),
    )
    if any(not finding.warning for finding in found):
        raise _all_errors(policy, list(rules))
    return policy


def _all_errors(policy: Policy, places: Sequence[int]) -> PolicyError:
    """Return the errors of a file that could be read in part only, with those of the rules that could be read.

    Args:
        policy: What could be read.
        places: The places in the file of the rules that could be read.
    """
    found = [*policy.found]
    for finding in lint(policy.own_rules, policy.tier_rules, policy.settings()):
        path = finding.path
        if path[0] == "rule":
            path = ("rule", places[int(path[1])], *path[2:])
        found.append(_located(replace(finding, path=path), policy.text))
    errors = tuple(sorted((finding for finding in found if not finding.warning), key=lambda finding: finding.line or 0))
    listed = "\n".join(f"  {policy.origin}: {finding}" for finding in errors)
    return PolicyError(f"{policy.origin} has {len(errors)} error{'s' if len(errors) > 1 else ''}:\n{listed}", errors)


def _located(finding: Finding, text: str) -> Finding:
    return replace(finding, line=line_of(text, finding.path)) if finding.line is None else finding


def _header(header: object, found: list[Finding]) -> Mapping[str, Any]:
    if not isinstance(header, Mapping):
        found.append(
            Finding(code="P002", message='policy must be a table: [policy] with name = "..."', path=("policy",))
        )
        return {}
    for key, value in header.items():
        if key not in _HEADER:
            message = f"unknown key {key}: {suggestion(key, _HEADER)}"
            found.append(Finding(code="P001", message=message, path=("policy", key)))
        elif not isinstance(value, str) or not value.strip():
            found.append(Finding(code="P002", message=f"{key} must be a text", path=("policy", key)))
    return header


def _base(extends: object, folder: Path | None, depth: int, found: list[Finding]) -> Policy | None:
    """Return the policy that this one extends."""
    if not isinstance(extends, str):
        return None
    path = ("policy", "extends")
    if depth >= _DEEPEST:
        message = f"more than {_DEEPEST} policies extend one another: check that none extends itself"
        found.append(Finding(code="P002", message=message, path=path))
        return None
    if extends not in PRESETS and folder is None:
        message = f"extends = {extends!r} is not a policy of the package: {suggestion(extends, PRESETS)}"
        found.append(Finding(code="P002", message=message, path=path))
        return None
    try:
        return _load(extends if extends in PRESETS or folder is None else folder / extends, depth + 1)
    except MemothermError as exc:
        found.append(Finding(code="P002", message=f"extends: {exc}", path=path))
        return None


def _limits(limits: object, found: list[Finding]) -> dict[str, Any]:
    """Return the limits that are settings with valid values."""
    if not isinstance(limits, Mapping):
        found.append(Finding(code="P002", message="limits must be a table of settings", path=("limits",)))
        return {}
    valid = {}
    for name, value in limits.items():
        if name not in LIMITS:
            message = f"a policy cannot set {name}: {suggestion(name, LIMITS)}"
            found.append(Finding(code="P001", message=message, path=("limits", name)))
            continue
        try:
            valid[name] = getattr(Settings(**{name: value}), name)
        except MemothermError as exc:
            found.append(Finding(code="P002", message=str(exc), path=("limits", name)))
    return valid


def _tables(
    document: Mapping[str, Any], name: str, read: Callable[..., _Read | None], found: list[Finding]
) -> dict[int, _Read]:
    """Return the tables that could be read, by their place."""
    tables = document.get(name, [])
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        found.append(Finding(code="P002", message=f"write each {name} as [[{name}]]", path=(name,)))
        return {}
    read_tables = {place: read(table, (name, place), found) for place, table in enumerate(tables)}
    return {place: table for place, table in read_tables.items() if table is not None}


def _check_ids(tables: object, base: Policy | None, found: list[Finding]) -> None:
    """Find ids that occur twice, or that belong to the built-in rules."""
    seen = {rule.id for rule in base.tier_rules} if base is not None else set()
    for place, table in enumerate(tables if isinstance(tables, list) else ()):
        rule_id = table.get("id") if isinstance(table, Mapping) else None
        if not isinstance(rule_id, str):
            continue
        path = ("rule", place, "id")
        if rule_id.startswith(_RESERVED):
            message = f"{rule_id} begins like the ids of the built-in rules: use a prefix of your own"
            found.append(Finding(code="P004", message=message, path=path))
        elif rule_id in seen:
            found.append(
                Finding(code="P004", message=f"another rule has the id {rule_id}: give each its own", path=path)
            )
        seen.add(rule_id)
