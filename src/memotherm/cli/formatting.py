"""Values as coloured lines of a terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from memotherm.cli.terminal import printable
from memotherm.model import Event, Hit, Memory, Priority, Retention, Tier
from memotherm.model.reports import KeptReceipt, Status
from memotherm.text.content import pluralize

__all__ = ["TIER_STYLES", "console", "event_line", "hit_line", "memory_line", "receipt_lines", "tier_badge", "tier_bar"]

TIER_STYLES: Mapping[Tier, str] = {Tier.HOT: "bold dark_orange", Tier.WARM: "yellow", Tier.COLD: "dodger_blue1"}
_MARKS = {Tier.HOT: "▲", Tier.WARM: "●", Tier.COLD: "▼"}
_BAR_WIDTH = 24
#: The most characters that are printed beside a bar.
_BAR_TEXT = 45
_PIPED_WIDTH = 100_000


class _Console(Console):
    """A console that raises an error when the pipe is closed; `app.run` handles it."""

    def print(self, *objects: Any, **options: Any) -> None:  # noqa: ANN401 - as in the base class
        """Print objects, without control characters in their texts."""
        for item in objects:
            if isinstance(item, Text):
                item.plain = printable(item.plain)
        super().print(*objects, **options)

    def on_broken_pipe(self) -> None:
        """Raise the error."""
        raise BrokenPipeError


def console() -> Console:
    """Return the console for standard output; it uses colours only in a terminal."""
    # What is piped to another program is not wrapped.
    piped = not sys.stdout.isatty()
    return _Console(file=sys.stdout, highlight=False, soft_wrap=piped, width=_PIPED_WIDTH if piped else None)


def tier_badge(tier: Tier) -> Text:
    """Return a tier as a symbol and a word, so that it is recognisable without colours."""
    return Text(f"{_MARKS[tier]} {tier:<4}", style=TIER_STYLES[tier])


def memory_line(memory: Memory) -> Text:
    """Return a memory as a line: tier, content, priority, tags."""
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
    """Return a hit: score and memory, and the reason in a second line."""
    line = Text(f"{hit.score:5.2f} ", style="bold")
    line.append(tier_badge(hit.memory.tier)).append(f"  {hit.memory.content}")
    line.append(f"\n      why: {hit.why}", style="dim")
    return line


def event_line(event: Event) -> Text:
    """Return an event of the ledger as a line."""
    line = Text(f"#{event.seq:<3}", style="cyan")
    line.append(f"{event.at:%a %H:%M}  ")
    line.append(f"{event.action:<9}", style="bold")
    changed = ", ".join(_change(name, before, after) for name, (before, after) in event.changes.items())
    line.append(changed)
    if event.why:
        line.append(f"  ({event.why})", style="dim")
    return line


def receipt_lines(receipt: KeptReceipt) -> Text:
    """Return a receipt: its time, scope and cost, and a line for each memory."""
    lines = Text(f"#{receipt.number:<3}", style="cyan")
    lines.append(f"{receipt.at:%Y-%m-%d %H:%M}  {receipt.scope}  {receipt.tokens:,}/{receipt.budget:,} tokens")
    if receipt.query:
        lines.append(f"  {receipt.query}", style="dim")
    for entry in receipt.included:
        lines.append(f"\n    {entry.tokens:>5}  {entry.id}  {entry.section}: {entry.reason}")
    for entry in receipt.left_out:
        lines.append(f"\n    {'out':>5}  {entry.id}  {entry.section}: {entry.reason}", style="dim")
    return lines


def tier_bar(status: Status, tier: Tier, width: int = 80) -> Text:
    """Return how much a tier holds, as a bar that fits a width."""
    most = max((count.memories for count in status.tiers.values()), default=0) or 1
    count = status.tiers[tier]
    length = max(0, min(_BAR_WIDTH, width - _BAR_TEXT))
    bar = "█" * round(length * count.memories / most)
    line = tier_badge(tier)
    line.append(
        f" {bar:<{length}} {pluralize(count.memories, 'memory')}, {pluralize(count.tokens, 'token')}",
        style=TIER_STYLES[tier],
    )
    return line


def _change(name: str, before: Any, after: Any) -> str:  # noqa: ANN401 - fields have various types
    return f"{name} {after}" if before is None else f"{name} {before} → {after}"
