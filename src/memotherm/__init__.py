"""Tiered memory for AI agents: hot, warm and cold, under a hard token budget, in one file, offline.

    import memotherm

    mem = memotherm.open("agent.db")
    mem.remember("Production deploys are frozen until Friday", tags=["blocker"])
    for hit in mem.recall("can I ship today?"):
        print(hit.score, hit.memory.content)

Importing this package does nothing else: names are loaded when they are first used.
"""

from __future__ import annotations

# ruff: noqa: F403, F405 - what the modules below export beside the public names is not exported here

#: What type checkers take for true; `typing` takes longer to import than this package.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from memotherm.aio import *
    from memotherm.context import *
    from memotherm.errors import *
    from memotherm.memory import *
    from memotherm.model import *
    from memotherm.model.memory import *
    from memotherm.model.recall import *
    from memotherm.model.receipts import *
    from memotherm.model.reports import *
    from memotherm.model.results import *
    from memotherm.opening import *
    from memotherm.session import *
    from memotherm.settings import *
    from memotherm.tiers.rules import *

__version__ = "0.1.0"

__all__ = [
    "DEFAULT_RULES",
    "STAY",
    "AsyncMemotherm",
    "BudgetTooSmall",
    "ContentTooLarge",
    "Context",
    "DimensionMismatch",
    "EmbedderError",
    "EmbedderRefused",
    "EmbedderUnavailable",
    "Event",
    "EventPage",
    "Forbidden",
    "FormatName",
    "Hit",
    "InvalidInput",
    "KeptEntry",
    "KeptReceipt",
    "LeaseLost",
    "LimitReached",
    "Match",
    "Memory",
    "Memotherm",
    "MemothermError",
    "Move",
    "NotAStore",
    "NotFound",
    "NoteUnavailable",
    "Page",
    "PluginError",
    "PluginNotFound",
    "PluginUnavailable",
    "PolicyError",
    "Priority",
    "PriorityName",
    "Problem",
    "ReadOnly",
    "Reason",
    "Recall",
    "Receipt",
    "ReceiptAnswer",
    "ReceiptPage",
    "Retention",
    "Rule",
    "SchemaTooNew",
    "Scope",
    "ScopeCount",
    "Select",
    "Selection",
    "SentContext",
    "SentPart",
    "Session",
    "Settings",
    "SettingsError",
    "Situation",
    "StaleWrite",
    "Status",
    "StoreBusy",
    "StoreClosed",
    "StoreDamaged",
    "StoreError",
    "StoreFull",
    "StoreUnavailable",
    "Tier",
    "TierName",
    "TimedRecall",
    "Trust",
    "Why",
    "aopen",
    "decrypt",
    "distribute",
    "encrypt",
    "migrate",
    "open",
    "rekey",
    "restore",
]

#: The modules that have these names, in the order in which they are searched: `open` must not import the others.
_HOMES = (
    "errors",
    "model",
    "settings",
    "opening",
    "memory",
    "model.memory",
    "model.recall",
    "model.receipts",
    "model.results",
    "model.reports",
    "tiers.rules",
    "context",
    "session",
    "aio",
)


# Type checkers would take any name for one that this function returns.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Load a public name from its module when it is first asked for."""
        if name in __all__:
            from importlib import import_module

            for home in _HOMES:
                module = import_module(f"memotherm.{home}")
                if hasattr(module, name):
                    return globals().setdefault(name, getattr(module, name))
        raise AttributeError(f"module 'memotherm' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
