"""Counting uses of memories, and the table of those that followed a recall."""

from __future__ import annotations

from collections.abc import Iterable

from memotherm.model.clock import to_micros
from memotherm.storage.statements import Statements
from memotherm.storage.values import LaterUse, Use
from memotherm.storage.waiting import TimedUse

__all__ = ["add_later_use", "count_uses", "later_use_is_new"]


def count_uses(statements: Statements, uses: Iterable[TimedUse], window_micros: int) -> None:
    """Count uses, those of a memory in the given order."""
    # In order of number, so that two transactions cannot deadlock.
    ordered = sorted(uses, key=lambda timed: timed[0].no)
    rows = [
        {"no": no, "times": times, "now": at, "weight": float(weight), "window": at - window_micros}
        for (no, weight, times), at in ordered
    ]
    statements.run_many("memory_use", rows)
    if ordered:
        statements.note_uses(ordered)


def later_use_is_new(statements: Statements, later: LaterUse) -> bool:
    """Record a use that followed a recall; tell whether it was not recorded before."""
    key = {"recall": later.recall, "no": later.no, "strength": str(later.strength)}
    return bool(statements.rows("use_add", **key, space=later.space, at=to_micros(later.at)))


def add_later_use(statements: Statements, later: LaterUse, window_micros: int) -> bool:
    """Record and count a use that followed a recall; tell whether it was not recorded before."""
    new = later_use_is_new(statements, later)
    if new:
        use = Use(later.no, later.weight, times=0)
        count_uses(statements, [(use, to_micros(later.at))], window_micros)
    return new
