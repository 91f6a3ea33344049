"""Tiered memory for AI agents: hot, warm and cold, under a hard token budget, in one file, offline.

    import thermocline

    mem = thermocline.open("agent.db")
    mem.remember("Production deploys are frozen until Friday", tags=["blocker"])
    for hit in mem.recall("can I ship today?"):
        print(hit.score, hit.memory.content)

Importing this package does nothing else: names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thermocline.aio import AsyncThermocline
    from thermocline.context import Context, Receipt
    from thermocline.errors import ThermoclineError
    from thermocline.facade import Thermocline
    from thermocline.model import Event, Hit, Memory, Move, Priority, Recall, Retention, Scope, Tier, Why
    from thermocline.opening import aopen, migrate, open, partition, restore  # noqa: A004
    from thermocline.results import EventPage, Page, Problem, Status
    from thermocline.settings import Settings

__version__ = "0.1.0"

_HOMES = {
    "AsyncThermocline": "aio",
    "Context": "context",
    "Event": "model",
    "EventPage": "results",
    "Hit": "model",
    "Memory": "model",
    "Move": "model",
    "Page": "results",
    "Priority": "model",
    "Problem": "results",
    "Recall": "model",
    "Receipt": "context",
    "Retention": "model",
    "Scope": "model",
    "Settings": "settings",
    "Status": "results",
    "Thermocline": "facade",
    "ThermoclineError": "errors",
    "Tier": "model",
    "Why": "model",
    "aopen": "opening",
    "migrate": "opening",
    "open": "opening",
    "partition": "opening",
    "restore": "opening",
}

__all__ = [
    "AsyncThermocline",
    "Context",
    "Event",
    "EventPage",
    "Hit",
    "Memory",
    "Move",
    "Page",
    "Priority",
    "Problem",
    "Recall",
    "Receipt",
    "Retention",
    "Scope",
    "Settings",
    "Status",
    "Thermocline",
    "ThermoclineError",
    "Tier",
    "Why",
    "aopen",
    "migrate",
    "open",
    "partition",
    "restore",
]


def __getattr__(name: str) -> object:
    """Load a public name from its module when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'thermocline' has no attribute {name!r}")
    value = getattr(import_module(f"thermocline.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
