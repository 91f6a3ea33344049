"""Small words for what these tests say often."""

from __future__ import annotations

from collections.abc import Iterable

from memotherm import Hit, Memory, Memotherm
from memotherm.model.results import Compaction, Maintenance
from memotherm.session import Session


def moves_of(run: Compaction | Maintenance) -> list[tuple[str, str, str, str]]:
    """Return (id, from, to, rule) of every move."""
    return [(move.id, str(move.from_tier), str(move.to), move.rule) for move in run.moves]


def tiers_of(hits: Iterable[Hit]) -> set[str]:
    """Return the tiers that hits come from."""
    return {str(hit.memory.tier) for hit in hits}


def said(hits: Iterable[Hit]) -> list[str]:
    """Return what hits say, in order."""
    return [hit.memory.content for hit in hits]


def added(session: Session[Memotherm], content: str, tags: Iterable[str] = (), tier: str | None = None) -> Memory:
    """Store a memory with tags in a session's own scope."""
    return session.memory.remember(content, kind="message", tags=tags, tier=tier)
