"""Counting uses of memories, and the table of those that followed a recall."""

from __future__ import annotations

from collections.abc import Iterable

from memotherm.model.clock import to_micros
from memotherm.storage.statements import Statements
from memotherm.storage.values import LaterUse, Use

__all__ = ["add_later_use", "count_uses"]


def count_uses(statements: Statements, uses: Iterable[Use], now: int, window_micros: int) -> None:
    """Count uses at a moment in microseconds."""
    # In order of number, so that two transactions cannot deadlock.
    ordered = sorted(uses)
    accesses = [{"no": use.no, "times": use.times, "now": now} for use in ordered if not use.weight]
    weighed = [
        {"no": use.no, "times": use.times, "now": now, "weight": float(use.weight), "window": now - window_micros}
        for use in ordered
        if use.weight
    ]
    statements.run_many("memory_access", accesses)
    statements.run_many("memory_use", weighed)
    times: dict[int, int] = {}
    for use in ordered:
        times[use.no] = times.get(use.no, 0) + use.times
    if times:
        statements.note_uses(times, now)


def add_later_use(statements: Statements, later: LaterUse, window_micros: int) -> bool:
    """Record and count a use that followed a recall; tell whether it was not recorded before."""
    now = to_micros(later.at)
    key = {"recall": later.recall, "no": later.no, "strength": str(later.strength)}
    new = bool(statements.rows("use_add", **key, space=later.space, at=now))
    if new:
        count_uses(statements, [Use(later.no, later.weight, times=0)], now, window_micros)
    return new
