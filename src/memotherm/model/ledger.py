"""Moves between tiers, and the events that record every change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memotherm.model.memory import Memory, Retention, Tier
from memotherm.model.value import Value

__all__ = ["Event", "Move"]


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Move(Value):
    """A decision to move a memory to another tier, or to change its retention, and the rule that made it."""

    id: str
    from_tier: Tier
    to: Tier
    #: The id of the rule.
    rule: str
    #: The reason in words.
    why: str
    #: The retention that it gets; None leaves it as it is.
    retention: Retention | None = None
    #: The hash of the adopted policy that the rule belongs to; empty if it belongs to none.
    policy: str = ""

    @classmethod
    def of(cls, memory: Memory, to: Tier | Retention | str, why: str, rule: str = "") -> Move:
        """Return the move of a memory to a tier, or to a retention; a rule need not name itself."""
        if isinstance(to, Retention) or str(to) in set(Retention):
            return cls(
                id=memory.id, from_tier=memory.tier, to=memory.tier, rule=rule, why=why, retention=Retention.of(to)
            )
        return cls(id=memory.id, from_tier=memory.tier, to=Tier.of(to), rule=rule, why=why)

    def __str__(self) -> str:
        change = f"{self.from_tier} -> {self.to}" if self.retention is None else f"-> {self.retention}"
        return f"{self.id} {change}: {self.why} [{self.rule}]"


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
    #: The hash of the adopted policy whose rule decided it; empty if none did.
    policy: str = ""

    def __str__(self) -> str:
        changed = ", ".join(f"{name}: {was} -> {now}" for name, (was, now) in self.changes.items())
        return f"#{self.seq} {self.at:%Y-%m-%d %H:%M:%S} {self.action} {self.memory_id} {changed} ({self.why})"
