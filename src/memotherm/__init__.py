"""Tiered memory for AI agents: hot, warm and cold, under a hard token budget, in one file, offline.

    import memotherm

    mem = memotherm.open("agent.db")
    mem.remember("Production deploys are frozen until Friday", tags=["blocker"])
    for hit in mem.recall("can I ship today?"):
        print(hit.score, hit.memory.content)

Importing this package does nothing else: names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memotherm.aio import AsyncMemotherm
    from memotherm.context import Context, Receipt
    from memotherm.errors import MemothermError
    from memotherm.memory import Memotherm
    from memotherm.model import Event, Hit, Memory, Move, Priority, Recall, Retention, Scope, Tier, Why
    from memotherm.model.results import EventPage, Page, Problem, ScopeCount, Status
    from memotherm.opening import aopen, decrypt, encrypt, migrate, open, partition, rekey, restore  # noqa: A004
    from memotherm.rules import DEFAULT_RULES, STAY, Rule, Select, Situation
    from memotherm.settings import Settings

__version__ = "0.1.0"

_HOMES = {
    "DEFAULT_RULES": "rules",
    "AsyncMemotherm": "aio",
    "Context": "context",
    "Event": "model",
    "EventPage": "model.results",
    "Hit": "model",
    "Memory": "model",
    "Move": "model",
    "Page": "model.results",
    "Priority": "model",
    "Problem": "model.results",
    "Recall": "model",
    "Receipt": "context",
    "Retention": "model",
    "Rule": "rules",
    "STAY": "rules",
    "Scope": "model",
    "ScopeCount": "model.results",
    "Select": "rules",
    "Settings": "settings",
    "Situation": "rules",
    "Status": "model.results",
    "Memotherm": "memory",
    "MemothermError": "errors",
    "Tier": "model",
    "Why": "model",
    "aopen": "opening",
    "decrypt": "opening",
    "encrypt": "opening",
    "migrate": "opening",
    "open": "opening",
    "partition": "opening",
    "rekey": "opening",
    "restore": "opening",
}

__all__ = [
    "DEFAULT_RULES",
    "STAY",
    "AsyncMemotherm",
    "Context",
    "Event",
    "EventPage",
    "Hit",
    "Memory",
    "Memotherm",
    "MemothermError",
    "Move",
    "Page",
    "Priority",
    "Problem",
    "Recall",
    "Receipt",
    "Retention",
    "Rule",
    "Scope",
    "ScopeCount",
    "Select",
    "Settings",
    "Situation",
    "Status",
    "Tier",
    "Why",
    "aopen",
    "decrypt",
    "encrypt",
    "migrate",
    "open",
    "partition",
    "rekey",
    "restore",
]


def __getattr__(name: str) -> object:
    """Load a public name from its module when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'memotherm' has no attribute {name!r}")
    value = getattr(import_module(f"memotherm.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
