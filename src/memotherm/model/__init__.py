"""The public values: frozen dataclasses without I/O. Use `dataclasses.replace` for a changed copy."""

from memotherm.model.memory import SCOPE_FIELDS, Memory, Priority, Retention, Scope, Tier, Trust
from memotherm.model.recall import Hit, Recall, Why
from memotherm.model.results import Event, Move

__all__ = [
    "SCOPE_FIELDS", "Event", "Hit", "Memory", "Move", "Priority", "Recall", "Retention", "Scope", "Tier", "Trust",
    "Why",
]  # fmt: skip
