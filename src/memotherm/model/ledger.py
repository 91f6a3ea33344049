"""Moves between tiers, and the events that record every change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memotherm.model.memory import Tier
from memotherm.model.value import Value

__all__ = ["Event", "Move"]


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Move(Value):
    """A decision to move a memory to another tier, and the rule that made it."""

    id: str
    from_tier: Tier
    to: Tier
    rule: str
    why: str

    def __str__(self) -> str:
        return f"{self.id} {self.from_tier} -> {self.to}: {self.why} [{self.rule}]"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Event(Value):
    """One entry of the ledger: what changed, when, by whom and by which rule."""

    seq: int
    at: datetime
    #: The memory that changed.
    memory_id: str
    #: remember, update, move, prioritize, archive, forget, restore, purge, expire, undo, ...
    action: str
    #: Who requested it.
    actor: str
    #: The rule that decided it; "explicit" when a caller did.
    rule: str
    #: The reason in words.
    why: str
    #: Field -> (before, after), for every field that changed.
    changes: Mapping[str, tuple[Any, Any]] = field(hash=False)

    def __str__(self) -> str:
        changed = ", ".join(f"{name}: {was} -> {now}" for name, (was, now) in self.changes.items())
        return f"#{self.seq} {self.at:%Y-%m-%d %H:%M:%S} {self.action} {self.memory_id} {changed} ({self.why})"
