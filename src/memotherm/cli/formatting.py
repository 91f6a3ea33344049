"""How values look in a terminal: colours of the tiers, one line for a memory, a hit, an event."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from memotherm.model import Event, Hit, Memory, Priority, Retention, Tier
from memotherm.model.results import Status
from memotherm.text.quantity import pluralize

__all__ = ["TIER_STYLES", "console", "event_line", "hit_line", "memory_line", "tier_badge", "tier_bar"]

TIER_STYLES: Mapping[Tier, str] = {Tier.HOT: "bold dark_orange", Tier.WARM: "yellow", Tier.COLD: "dodger_blue1"}
_MARKS = {Tier.HOT: "▲", Tier.WARM: "●", Tier.COLD: "▼"}
_BAR_WIDTH = 24


class _Console(Console):
    """A console that leaves a closed pipe to the command line's own border."""

    def on_broken_pipe(self) -> None:
        """Pass the error on."""
        raise BrokenPipeError


def console() -> Console:
    """Return the console for data on standard output; colours only where somebody sees them."""
    return _Console(file=sys.stdout, highlight=False, soft_wrap=False)


def tier_badge(tier: Tier) -> Text:
    """Return a tier as a mark and a word, so that it can be told apart without colours."""
    return Text(f"{_MARKS[tier]} {tier:<4}", style=TIER_STYLES[tier])


def memory_line(memory: Memory) -> Text:
    """Return one line: where a memory is and what it says."""
    line = tier_badge(memory.tier)
    if memory.retention is not Retention.ACTIVE:
        line = Text(f"× {memory.retention}", style="dim strike")
    line.append(f"  {memory.content}", style="" if memory.retention is Retention.ACTIVE else "dim")
    if memory.priority is not Priority.NORMAL:
        line.append(f"  {memory.priority}", style="magenta")
    for tag in memory.tags:
        line.append(f"  #{tag}", style="green")
    return line


def hit_line(hit: Hit) -> Text:
    """Return a hit: score, memory, and the reason below."""
    line = Text(f"{hit.score:5.2f} ", style="bold")
    line.append(tier_badge(hit.memory.tier)).append(f"  {hit.memory.content}")
    line.append(f"\n      why: {hit.why}", style="dim")
    return line


def event_line(event: Event) -> Text:
    """Return one line of the ledger."""
    line = Text(f"#{event.seq:<3}", style="cyan")
    line.append(f"{event.at:%a %H:%M}  ")
    line.append(f"{event.action:<9}", style="bold")
    changed = ", ".join(_change(name, was, now) for name, (was, now) in event.changes.items())
    line.append(changed)
    if event.why:
        line.append(f"  ({event.why})", style="dim")
    return line


def tier_bar(status: Status, tier: Tier) -> Text:
    """Return how much a tier holds, as a bar."""
    most = max((count.memories for count in status.tiers.values()), default=0) or 1
    count = status.tiers[tier]
    bar = "█" * round(_BAR_WIDTH * count.memories / most)
    line = tier_badge(tier)
    line.append(
        f" {bar:<{_BAR_WIDTH}} {pluralize(count.memories, 'memory')}, {pluralize(count.tokens, 'token')}",
        style=TIER_STYLES[tier],
    )
    return line


def _change(name: str, was: Any, now: Any) -> str:  # noqa: ANN401 - a ledger quotes fields of every type
    return f"{name} {now}" if was is None else f"{name} {was} → {now}"
