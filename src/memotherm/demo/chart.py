"""A chart of the sizes of the tiers over half a year, simulated with a clock of its own."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import memotherm
from memotherm import Memotherm, Settings, Tier

__all__ = ["WEEKS", "chart"]

WEEKS = 32
_EVERY = 4
_WIDTH = 40
_BARS = {Tier.HOT: "▲", Tier.WARM: "●", Tier.COLD: "·"}
_SUBJECTS = ("harbour", "museum", "billing", "garden", "sensor", "lecture")


def chart() -> list[str]:
    """Return the chart: a line for every fourth week."""
    calendar = [datetime(2026, 3, 2, 9, 0, tzinfo=UTC)]
    with memotherm.open(":memory:", embedder="none", settings=Settings(), clock=lambda: calendar[-1]) as mem:
        counts = list(_weeks(mem, calendar))
    most = max(sum(count.values()) for _, count in counts)
    return [_line(week, count, most) for week, count in counts]


def _weeks(mem: Memotherm, calendar: list[datetime]) -> Iterator[tuple[int, dict[Tier, int]]]:
    for week in range(1, WEEKS + 1):
        _week(mem, week)
        calendar.append(calendar[-1] + timedelta(days=7))
        mem.compact()
        mem.maintain()
        if week % _EVERY == 0:
            yield week, {tier: count.memories for tier, count in mem.status().tiers.items()}


def _week(mem: Memotherm, week: int) -> None:
    """Store a week's memories, and recall some recent ones and one old one."""
    subject = _SUBJECTS[week % len(_SUBJECTS)]
    mem.remember_many(
        [
            {"content": f"Week {week}: the {subject} needs attention", "tier": "hot", "tags": ["blocker"],
             "metadata": {"status": "open" if week % 8 == 0 else "resolved"}},
            {"content": f"Week {week}: we decided how the {subject} is built", "kind": "decision"},
            {"content": f"Week {week}: somebody prefers the {subject} in blue", "kind": "preference", "tier": "hot"},
            *({"content": f"Week {week}: fact {number} about the {subject}"} for number in range(5)),
        ]
    )  # fmt: skip
    mem.recall(f"week {week} {subject}", limit=2)
    mem.recall("week 1 fact 1", tiers=("hot", "warm", "cold"), limit=1)


def _line(week: int, count: dict[Tier, int], most: int) -> str:
    bar = "".join(_BARS[tier] * round(_WIDTH * count[tier] / most) for tier in Tier)
    numbers = "  ".join(f"{tier} {count[tier]:>3}" for tier in Tier)
    return f"week {week:>2}  {bar:<{_WIDTH}}  {numbers}"
