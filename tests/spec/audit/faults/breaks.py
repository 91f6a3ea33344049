"""The parts of faults: what is done to an attribute of the product."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from memotherm import Tier

__all__ = [
    "MANY", "NEVER", "Change", "Fault", "answering", "calling", "constant", "instead", "prop", "returning", "searching",
    "settings", "stored", "without", "without_name", "without_rules",
]  # fmt: skip

#: Returns what stands in the place of an attribute of the product.
Change = Callable[[Any], Any]
#: What is changed, by its place: `package.module:Class.attribute`.
Fault = Mapping[str, Change]

#: More than any limit, and more days than any test takes.
MANY = 10**6
NEVER = 36_000


def instead(place: str, change: Change) -> Fault:
    """Put something in the place of an attribute, made from what is there."""
    return {place: change}


def constant(place: str, value: object) -> Fault:
    """Replace a value."""
    return {place: lambda _: value}


def prop(place: str, value: object) -> Fault:
    """Let a property have the same value always."""
    return {place: lambda _: property(lambda self: value)}


def returning(place: str, value: object) -> Fault:
    """Let a function return a value, and do nothing."""
    return {place: lambda _: lambda *given, **options: value}


def answering(place: str, change: Callable[[Any], Any]) -> Fault:
    """Change what a function returns."""
    return {place: lambda original: lambda *given, **options: change(original(*given, **options))}


def calling(place: str, **values: object) -> Fault:
    """Call a function with other arguments than were given; a function computes one from that which was given."""

    def changed(original: Any) -> Any:
        signature = inspect.signature(original)

        def call(*given: Any, **options: Any) -> Any:
            bound = signature.bind(*given, **options)
            bound.apply_defaults()
            for name, value in values.items():
                bound.arguments[name] = value(bound.arguments[name]) if callable(value) else value
            return original(*bound.args, **bound.kwargs)

        return call

    return {place: changed}


def settings(**values: object) -> Fault:
    """Ignore what is configured, and use these values."""

    def changed(original: Any) -> Any:
        def start(self: object, **given: object) -> None:
            original(self, **{**given, **values})

        return start

    return {"memotherm.settings.schema:Settings.__init__": changed}


def stored(**values: object) -> Fault:
    """Store other values than a caller gave."""
    return answering("memotherm.remember.draft:memory_of", lambda memory: replace(memory, **values))


def searching(**values: object) -> Fault:
    """Search with other tiers, kinds or sources than a caller asked for."""
    return calling("memotherm.facade.queries:Queries.question", **values)


def without(tier: Tier) -> Callable[[Any], list[Tier]]:
    """Return what leaves a tier out of those that are searched."""
    return lambda tiers: [each for each in map(Tier.of, tiers) if each is not tier]


def without_rules(*ids: str) -> Fault:
    """Leave out some of the built-in rules."""
    place = "memotherm.tiers.rules.table:installed_rules"
    return answering(place, lambda rules: tuple(rule for rule in rules if rule.id not in ids))


def without_name(name: str) -> Fault:
    """Do not know what another program calls a setting."""
    place = "memotherm.settings.sources:OTHER_NAMES"
    return {place: lambda names: {other: ours for other, ours in names.items() if other != name}}
