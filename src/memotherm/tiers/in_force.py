"""The rules and limits that a store is run by: those given to `open`, the adopted policy, or the built-in ones."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from logging import getLogger
from typing import TYPE_CHECKING

from memotherm.errors import PolicyError
from memotherm.rules import Rule
from memotherm.rules.installed import installed_rules
from memotherm.rules.retention import RETENTION_RULES
from memotherm.rules.rule import RuleSource
from memotherm.settings import Settings
from memotherm.storage.store import Store
from memotherm.storage.values import AdoptionRow

if TYPE_CHECKING:
    # Loaded with the first policy: most stores have none.
    from memotherm.policy.document import Policy

__all__ = ["PolicyInForce", "Regime", "rules_of"]

_log = getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Regime:
    """The rules and settings that are in force from one adoption to the next."""

    #: The number of the adoption; 0 without one.
    adoption: int
    rules: RuleSource = field(compare=False)
    settings: Settings
    #: The adopted policy; None for the built-in rules and those of plugins.
    policy: Policy | None = None
    #: Why an adopted policy cannot be used.
    problem: str = ""
    #: The policy in the shadow.
    shadow: Policy | None = None


class PolicyInForce:
    """Which rules and settings apply to a store now."""

    def __init__(self, store: Store, rules: RuleSource | None, settings: Settings) -> None:
        self._store = store
        #: The rules that were given to `open`, which take precedence over an adopted policy.
        self.given = rules
        self._settings = settings
        self._lock = threading.Lock()
        self._regime = Regime(adoption=-1, rules=rules or installed_rules, settings=settings)

    def regime(self) -> Regime:
        """Return what applies as far as the last read of the store has seen; cheap enough for every call."""
        if self._regime.adoption != self._store.adopted:
            self.refresh()
        return self._regime

    def refresh(self) -> Regime:
        """Read from the store which policy is in force."""
        with self._lock:
            adoptions = self._store.adoptions()
            number = adoptions[-1].number if adoptions else 0
            if self._regime.adoption != number:
                regime = self._regime_of(number, _document(adoptions, "adopt", "rollback"))
                self._regime = replace(regime, shadow=_shadow(_document(adoptions, "shadow", "end_shadow")))
                self._store.set_use_window(self._regime.settings.use_window_days)
                self._store.set_shadow("" if self._regime.shadow is None else self._regime.shadow.digest)
            return self._regime

    def _regime_of(self, adoption: int, document: str) -> Regime:
        try:
            policy = _policy(document)
        except PolicyError as exc:
            _log.warning("the adopted policy cannot be read, and the built-in rules are used: %s", exc)
            rules, problem = self.given or installed_rules, f"the adopted policy cannot be read: {exc}"
            return Regime(adoption=adoption, rules=rules, settings=self._settings, problem=problem)
        if self.given is not None:
            return Regime(adoption=adoption, rules=self.given, settings=self._settings, policy=policy)
        if policy is None:
            return Regime(adoption=adoption, rules=installed_rules, settings=self._settings)
        rules = rules_of(policy)
        return Regime(adoption=adoption, rules=rules, settings=policy.settings(self._settings), policy=policy)

    def current(self) -> Policy:
        """Return the adopted policy, or the built-in one."""
        from memotherm.policy.document import load

        return self.refresh().policy or load("builtin")

    def notice(self) -> str | None:
        """Return a sentence if an adopted policy is not used, and why."""
        policy = self.regime().policy
        if policy is None or self.given is None:
            return self.regime().problem or None
        return f"the adopted policy {policy.name} ({policy.digest}) is not used: rules were given to open()"


def _document(adoptions: Sequence[AdoptionRow], *actions: str) -> str:
    """Return the document of the last adoption with one of some actions."""
    return next((row.document for row in reversed(adoptions) if row.action in actions), "")


def _policy(document: str) -> Policy | None:
    if not document:
        return None
    from memotherm.policy.document import unpacked

    return unpacked(document)


def _shadow(document: str) -> Policy | None:
    try:
        return _policy(document)
    except PolicyError as exc:
        _log.warning("the policy in the shadow cannot be read and is not run: %s", exc)
        return None


def rules_of(policy: Policy) -> RuleSource:
    """Return the rules of retention, those of a policy, which carry its hash, and those of plugins."""
    from memotherm.rules.defaults import DEFAULT_RULES

    own = tuple(replace(rule, policy=policy.digest) for rule in policy.tier_rules)
    known = {rule.id for rule in (*DEFAULT_RULES, *own)}

    @cache
    def rules() -> Sequence[Rule]:
        # Plugins are looked up when rules first run.
        plugins = tuple(rule for rule in installed_rules() if rule.id not in known)
        return (*RETENTION_RULES, *own, *plugins)

    return rules
