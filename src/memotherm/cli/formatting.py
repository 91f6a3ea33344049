"""Values as coloured lines of a terminal; the only module that imports rich before something is printed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from memotherm.cli.output import printable
from memotherm.model import Event, Hit, Memory, Priority, Retention, Tier
from memotherm.model.receipts import KeptReceipt
from memotherm.model.reports import Status
from memotherm.model.results import ScopeCount
from memotherm.text.content import pluralize

TIER_STYLES: Mapping[Tier, str] = {Tier.HOT: "bold dark_orange", Tier.WARM: "yellow", Tier.COLD: "dodger_blue1"}
_MARKS = {Tier.HOT: "▲", Tier.WARM: "●", Tier.COLD: "▼"}
_BAR_WIDTH = 24
#: The most characters that are printed beside a bar.
_BAR_TEXT = 45
_PIPED_WIDTH = 100_000
#: Below this width a table does not fit.
_NARROW = 80
#: The most characters of a content that are printed beside other memories; `get` prints all.
_MOST_CHARS = 2_000
#: The start of each further line of a memory.
_BELOW = "\n      "


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


def rendered(value: Any) -> Iterable[RenderableType]:  # noqa: ANN401 - any value of the model
    """Return a value as the lines or the table that show it; `(value, id)` is a line with the id at its end."""
    match value:
        case (shown, str(memory_id)):
            return [line_of(shown).append(f"  {memory_id}", style="dim")]
        case Memory() | Hit() | Event() | KeptReceipt():
            return [line_of(value)]
        case [Memory(), *_]:
            return _memory_table(value)
        case [ScopeCount(), *_]:
            return [_scope_table(value)]
        case Status():
            return _status_lines(value)
        case Mapping():
            return _fields_table(value)
        case _:
            return [value]


def line_of(value: Memory | Hit | Event | KeptReceipt) -> Text:
    """Return a value as a line, with further lines for what explains it."""
    lines: Mapping[type, Callable[[Any], Text]] = {
        Memory: _memory_line, Hit: _hit_line, Event: _event_line, KeptReceipt: _receipt_lines,
    }  # fmt: skip
    return lines[type(value)](value)


def tier_badge(tier: Tier) -> Text:
    """Return a tier as a symbol and a word, so that it is recognisable without colours."""
    return Text(f"{_MARKS[tier]} {tier:<4}", style=TIER_STYLES[tier])


def _memory_line(memory: Memory) -> Text:
    line = _dated(memory)
    if memory.priority is not Priority.NORMAL:
        line.append(f"  {memory.priority}", style="magenta")
    for tag in memory.tags:
        line.append(f"  #{tag}", style="green")
    return line


def _dated(memory: Memory) -> Text:
    """Return the tier, the day of the last change, and the content."""
    active = memory.retention is Retention.ACTIVE
    line = tier_badge(memory.tier) if active else Text(f"× {memory.retention}", style="dim strike")
    line.append(f"  {memory.updated_at:%Y-%m-%d}", style="dim")
    return line.append(f"  {_indented(memory)}", style="" if active else "dim")


def _indented(memory: Memory) -> str:
    """Return the content, shortened if it is long, with its lines below each other."""
    content = memory.content
    if len(content) > _MOST_CHARS:
        content = f"{content[:_MOST_CHARS]}… ({len(content):,} characters)"
    return content.replace("\n", _BELOW)


def _hit_line(hit: Hit) -> Text:
    line = Text(f"{hit.score:5.2f} ", style="bold")
    line.append(_dated(hit.memory)).append(f"{_BELOW}why: {hit.why}", style="dim")
    return line


def _event_line(event: Event) -> Text:
    line = Text(f"#{event.seq:<3}", style="cyan")
    line.append(f"{event.at:%a %H:%M}  ")
    line.append(f"{event.action:<9}", style="bold")
    changes = (
        f"{name} {after}" if before is None else f"{name} {before} → {after}"
        for name, (before, after) in event.changes.items()
    )
    line.append(", ".join(changes))
    if event.why:
        line.append(f"  ({event.why})", style="dim")
    return line


def _receipt_lines(receipt: KeptReceipt) -> Text:
    lines = Text(f"#{receipt.number:<3}", style="cyan")
    lines.append(f"{receipt.at:%Y-%m-%d %H:%M}  {receipt.scope}  {receipt.tokens:,}/{receipt.budget:,} tokens")
    if receipt.query:
        lines.append(f"  {receipt.query}", style="dim")
    for entry in receipt.included:
        lines.append(f"\n    {entry.tokens:>5}  {entry.id}  {entry.section}: {entry.reason}")
    for entry in receipt.left_out:
        lines.append(f"\n    {'out':>5}  {entry.id}  {entry.section}: {entry.reason}", style="dim")
    return lines


def _scope_table(counts: Sequence[ScopeCount]) -> Table:
    found = Table(box=None, pad_edge=False, header_style="dim")
    found.add_column("scope", ratio=1)
    for name in ("memories", *Tier, "tokens", "hidden"):
        found.add_column(name, justify="right", no_wrap=True)
    for count in counts:
        tiers = (count.tiers[tier].memories for tier in Tier)
        numbers = (count.memories, *tiers, count.tokens, count.hidden)
        found.add_row(printable(str(count.scope)), *(f"{number:,}" for number in numbers))
    return found


def _fields_table(values: Mapping[str, object]) -> Iterator[Table | Text]:
    """Yield names and values, as a table or, in a narrow terminal, in lines."""
    fields = {name: _as_text(value) for name, value in values.items() if value not in (None, [], {})}
    if console().width < _NARROW:
        yield from (
            Text(f"{name}: ", style="cyan").append(Text(text, style="default")) for name, text in fields.items()
        )
        return
    grid = Table.grid(padding=(0, 2))
    for name, text in fields.items():
        grid.add_row(Text(name, style="cyan"), Text(printable(text)))
    yield grid


def _memory_table(memories: Sequence[Memory]) -> Iterator[Table | Text]:
    """Yield a table of memories; in a narrow terminal, each as a line and its content below it."""
    if console().width < _NARROW:
        for memory in memories:
            yield Text(memory.id, style="dim")
            line = _memory_line(memory)
            line.truncate(_NARROW * 2, overflow="ellipsis")
            yield line
        return
    found = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("tier", "changed", "kind"):
        found.add_column(name, no_wrap=True)
    found.add_column("memory", ratio=1)
    found.add_column("id", no_wrap=True, style="dim")
    for memory in memories:
        content = Text(printable(" ".join(memory.content.split())))
        content.truncate(160, overflow="ellipsis")
        if memory.priority is not Priority.NORMAL:
            content.append(f"  {memory.priority}", style="magenta")
        for tag in memory.tags:
            content.append(f" #{tag}", style="green")
        tier = Text(str(memory.tier), style=TIER_STYLES[memory.tier])
        found.add_row(tier, f"{memory.updated_at:%Y-%m-%d}", memory.kind, content, memory.id)
    yield found


def _as_text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{name}={item}" for name, item in value.items())
    return str(value)


def _status_lines(status: Status) -> Iterator[Text]:
    width = console().width
    yield Text(f"{status.store}  ({status.scope})", style="bold")
    yield from (tier_bar(status, tier, width) for tier in Tier)
    hidden = {name: count for name, count in status.retention.items() if name is not Retention.ACTIVE and count}
    totals = [f"{status.bytes / 1e6:.1f} MB", f"embedder {status.embedder}", f"policy {status.policy or 'builtin'}"]
    yield Text(" · ".join([*totals, *(f"{count} {name}" for name, count in hidden.items())]), style="dim")


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
