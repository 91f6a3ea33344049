"""The active rules and limits of a store: given to `open`, from the adopted policy, or built in."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from logging import getLogger
from typing import TYPE_CHECKING

from memotherm.errors import PolicyError
from memotherm.model.results import Adoption
from memotherm.settings import Settings
from memotherm.storage.store import Store
from memotherm.tiers.rules import Rule
from memotherm.tiers.rules.retention import RETENTION_RULES
from memotherm.tiers.rules.rule import RuleSource

if TYPE_CHECKING:
    # Loaded with the first policy: most stores have none.
    from memotherm.tiers.policy import Policy

_log = getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class ActiveRules:
    """The rules and settings that apply from one adoption to the next."""

    #: The number of the adoption; 0 without one.
    adoption: int
    rules: RuleSource = field(compare=False)
    settings: Settings
    #: The adopted policy; None for the built-in rules and those of plugins.
    policy: Policy | None = None
    #: Why an adopted policy cannot be used.
    problem: str = ""


class ActivePolicy:
    """Which rules and settings apply to a store now."""

    def __init__(self, store: Store, rules: RuleSource | None, settings: Settings) -> None:
        self._store = store
        #: The rules that were given to `open`, which take precedence over an adopted policy.
        self.given = rules
        self._settings = settings
        self._lock = threading.Lock()
        #: The rules and settings of the policy that was read last.
        self.last = ActiveRules(adoption=-1, rules=rules or _installed_rules, settings=settings)

    def rules(self) -> ActiveRules:
        """Return the active rules as of the last read of the store; cheap enough for every call."""
        if self.last.adoption != self._store.adopted:
            self.refresh()
        return self.last

    def refresh(self) -> ActiveRules:
        """Read the active policy from the store."""
        with self._lock:
            adoptions = self._store.adoptions()
            number = adoptions[-1].number if adoptions else 0
            if self.last.adoption == number:
                return self.last
            active = self._read(number, adoptions)
            # A greater number is that of a unit of work that may still be rolled back.
            if number <= self._store.adopted:
                self.last = active
            return active

    def _read(self, adoption: int, adoptions: Sequence[Adoption]) -> ActiveRules:
        rules, settings, problem = self.given or _installed_rules, self._settings, ""
        policy = None
        try:
            policy = _last_policy(adoptions)
        except PolicyError as exc:
            _log.warning("the adopted policy cannot be read, and the built-in rules are used: %s", exc)
            problem = f"the adopted policy cannot be read: {exc}"
        if policy is not None and self.given is None:
            rules, settings = rules_of(policy), policy.settings(settings)
        return ActiveRules(adoption=adoption, rules=rules, settings=settings, policy=policy, problem=problem)

    def current(self) -> Policy:
        """Return the adopted policy, or the built-in one."""
        from memotherm.tiers.policy import load

        return self.refresh().policy or load("builtin")

    def notice(self) -> str | None:
        """Return why an adopted policy is not used; None if it is."""
        policy = self.rules().policy
        if policy is None or self.given is None:
            return self.rules().problem or None
        return f"the adopted policy {policy.name} ({policy.digest}) is not used: rules were given to open()"


def _last_policy(adoptions: Sequence[Adoption]) -> Policy | None:
    """Return the policy of the last adoption; None for the built-in one."""
    if not adoptions or not adoptions[-1].document:
        return None
    from memotherm.tiers.policy import unpacked

    return unpacked(adoptions[-1].document)


def _installed_rules() -> Sequence[Rule]:
    # Loaded when rules first run, because hooks start faster without them.
    from memotherm.tiers.rules.table import installed_rules

    return installed_rules()


def rules_of(policy: Policy) -> RuleSource:
    """Return the retention rules, the rules of a policy marked with its hash, and the rules of plugins."""
    from memotherm.tiers.rules.table import DEFAULT_RULES

    own = tuple(replace(rule, policy=policy.digest) for rule in policy.tier_rules)
    known = {rule.id for rule in (*DEFAULT_RULES, *own)}

    @cache
    def rules() -> Sequence[Rule]:
        # Plugins are looked up when rules first run.
        plugins = tuple(rule for rule in _installed_rules() if rule.id not in known)
        return (*RETENTION_RULES, *own, *plugins)

    return rules
