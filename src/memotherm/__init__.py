"""Tiered memory for AI agents: hot, warm and cold, under a hard token budget, in one file, offline.

    import memotherm

    mem = memotherm.open("agent.db")
    mem.remember("Production deploys are frozen until Friday", tags=["blocker"])
    for hit in mem.recall("can I ship today?"):
        print(hit.score, hit.memory.content)

Importing this package does nothing else: names are loaded when they are first used.
"""

from __future__ import annotations

#: What type checkers take for true; `typing` takes longer to import than this package.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from memotherm.aio import AsyncMemotherm
    from memotherm.context import Context, Receipt
    from memotherm.errors import (
        BudgetTooSmall,
        ContentTooLarge,
        DimensionMismatch,
        EmbedderError,
        EmbedderRefused,
        EmbedderUnavailable,
        Forbidden,
        InvalidInput,
        LeaseLost,
        LimitReached,
        MemothermError,
        NotAStore,
        NoteUnavailable,
        NotFound,
        PluginError,
        PluginNotFound,
        PluginUnavailable,
        PolicyError,
        ReadOnly,
        SchemaTooNew,
        SettingsError,
        StaleWrite,
        StoreBusy,
        StoreClosed,
        StoreDamaged,
        StoreError,
        StoreFull,
        StoreUnavailable,
    )
    from memotherm.memory import Memotherm
    from memotherm.model import Event, Hit, Memory, Move, Priority, Recall, Retention, Scope, Tier, Why
    from memotherm.model.memory import FormatName, PriorityName, TierName
    from memotherm.model.recall import TimedRecall
    from memotherm.model.receipts import KeptEntry, KeptReceipt, ReceiptAnswer, ReceiptPage
    from memotherm.model.reports import Status
    from memotherm.model.results import EventPage, Page, Problem, ScopeCount
    from memotherm.opening import aopen, decrypt, distribute, encrypt, migrate, open, partition, rekey, restore  # noqa: A004
    from memotherm.session import Session
    from memotherm.settings import Settings
    from memotherm.tiers.rules import DEFAULT_RULES, STAY, Rule, Select, Situation

__version__ = "0.1.0"

_HOMES = {
    "aopen": "opening",
    "AsyncMemotherm": "aio",
    "BudgetTooSmall": "errors",
    "ContentTooLarge": "errors",
    "Context": "context",
    "DEFAULT_RULES": "tiers.rules",
    "DimensionMismatch": "errors",
    "EmbedderError": "errors",
    "EmbedderRefused": "errors",
    "EmbedderUnavailable": "errors",
    "Event": "model",
    "EventPage": "model.results",
    "Forbidden": "errors",
    "FormatName": "model.memory",
    "KeptEntry": "model.receipts",
    "KeptReceipt": "model.receipts",
    "TimedRecall": "model.recall",
    "ReceiptAnswer": "model.receipts",
    "ReceiptPage": "model.receipts",
    "Hit": "model",
    "InvalidInput": "errors",
    "LeaseLost": "errors",
    "LimitReached": "errors",
    "Memory": "model",
    "Memotherm": "memory",
    "MemothermError": "errors",
    "migrate": "opening",
    "Move": "model",
    "NotAStore": "errors",
    "NoteUnavailable": "errors",
    "NotFound": "errors",
    "open": "opening",
    "Page": "model.results",
    "partition": "opening",
    "PluginError": "errors",
    "PluginNotFound": "errors",
    "PluginUnavailable": "errors",
    "PolicyError": "errors",
    "Priority": "model",
    "PriorityName": "model.memory",
    "Problem": "model.results",
    "ReadOnly": "errors",
    "Recall": "model",
    "Receipt": "context",
    "restore": "opening",
    "Retention": "model",
    "Rule": "tiers.rules",
    "SchemaTooNew": "errors",
    "STAY": "tiers.rules",
    "Scope": "model",
    "ScopeCount": "model.results",
    "Select": "tiers.rules",
    "Session": "session",
    "Settings": "settings",
    "SettingsError": "errors",
    "Situation": "tiers.rules",
    "StaleWrite": "errors",
    "Status": "model.reports",
    "StoreBusy": "errors",
    "StoreClosed": "errors",
    "StoreDamaged": "errors",
    "StoreError": "errors",
    "StoreFull": "errors",
    "StoreUnavailable": "errors",
    "Tier": "model",
    "TierName": "model.memory",
    "Why": "model",
    "decrypt": "opening",
    "distribute": "opening",
    "encrypt": "opening",
    "rekey": "opening",
}

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
    "Why",
    "aopen",
    "decrypt",
    "distribute",
    "encrypt",
    "migrate",
    "open",
    "partition",
    "rekey",
    "restore",
]


# Type checkers would take any name for one that this function returns.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Load a public name from its module when it is first asked for."""
        if name not in _HOMES:
            raise AttributeError(f"module 'memotherm' has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(f"memotherm.{_HOMES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
