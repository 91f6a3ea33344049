"""Values as coloured lines of a terminal; the only module that imports rich before something is printed."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, chop_cells
from rich.console import Console, RenderableType
from rich.text import Text

from memotherm.cli.output import Titled, printable
from memotherm.model import Event, Hit, Memory, Priority, Retention, Tier
from memotherm.model.actions import Action
from memotherm.model.marks import ENDED_BY, FILE_MARKS, SUPERSEDED_BY, doubtful_parts, ends_of, files_about
from memotherm.model.receipts import KeptEntry, KeptReceipt, ReceiptAnswer
from memotherm.model.reports import Status
from memotherm.model.results import Conflict, Move, ScopeCount
from memotherm.text.content import first_line, pluralize

if TYPE_CHECKING:
    from memotherm.context.values import Entry, Receipt

TIER_STYLES: Mapping[Tier, str] = {Tier.HOT: "bold dark_orange", Tier.WARM: "yellow", Tier.COLD: "dodger_blue1"}
_MARKS = {Tier.HOT: "▲", Tier.WARM: "●", Tier.COLD: "▼"}
_BAR_WIDTH = 24
#: The most characters that are printed beside a bar.
_BAR_TEXT = 45
_PIPED_WIDTH = 100_000
#: The fewest columns for a text beside its head; where fewer are left, the text is printed below it.
_LEAST_TEXT = 36
#: The indent of a text below its head: where the date of a memory begins.
_BELOW = 8
#: What stays on one line, with the spaces behind it: a word, or a character of a script without spaces, with the marks
#: that must not begin a line.
_WIDE, _CLOSING = "\u2e80-\ua4cf\uf900-\ufaff\uff00-\uff60", "、。，．！？；：）］｝」』】》〉"
_UNIT = re.compile(rf"(?:^\s+|[{_WIDE}][{_CLOSING}]*|[^\s{_WIDE}]+[{_CLOSING}]*)\s*")
#: The last characters of an id, which stand for it in a terminal.
_SHORT_ID = 8
_ID = re.compile(r"\bmem_[0-9a-z]{26}\b")
#: The most characters of a content that are printed beside other memories; `get` prints all.
_MOST_CHARS = 2_000
#: The most columns of a content in a list, and of one beside an event or a reason.
_LISTED = 160
_FIRST_WORDS = 60
#: The most files that are named of those that a memory is about.
_MOST_FILES = 3


class _Console(Console):
    """A console that raises an error when the pipe is closed; `app.run` handles it."""

    def print(self, *objects: Any, **options: Any) -> None:  # noqa: ANN401 - as in the base class
        """Print objects, without control characters in their texts; the lines of a text are broken already."""
        for item in objects:
            if isinstance(item, Text):
                item.plain = printable(item.plain)
                options.setdefault("soft_wrap", True)
        super().print(*objects, **options)

    def on_broken_pipe(self) -> None:
        """Raise the error."""
        raise BrokenPipeError


def console() -> Console:
    """Return the console for standard output; it uses colours only in a terminal."""
    # What is piped to another program is not wrapped.
    piped = not sys.stdout.isatty()
    return _Console(file=sys.stdout, highlight=False, soft_wrap=piped, width=_PIPED_WIDTH if piped else None)


def row(head: Text, *texts: Text) -> Text:
    """Return texts beside a head, one below the other, their lines wrapped at words with a hanging indent.

    In a terminal that is too narrow for this, the texts are below the head.
    """
    out = console()
    beside = out.width - head.cell_len - 2 >= _LEAST_TEXT
    indent = head.cell_len + 2 if beside else _BELOW
    if not beside:
        head.rstrip()
    shown = Text().append_text(head)
    for text in texts:
        text.plain = printable(text.plain)
        for line in _wrapped(text, max(2, out.width - indent)):
            shown.append("  " if beside and len(shown) == len(head) else f"\n{' ' * indent if line else ''}")
            shown.append_text(line)
    return shown


def _wrapped(text: Text, width: int) -> Iterator[Text]:
    """Yield the lines of a text, broken between words, or between characters of scripts without spaces."""
    for paragraph in text.split("\n", allow_blank=True):
        paragraph.expand_tabs()
        for line in paragraph.divide(_breaks(paragraph.plain, width)):
            line.rstrip()
            yield line


def _breaks(text: str, width: int) -> Iterator[int]:
    """Yield where lines of at most some columns begin, after the first one; only a longer word is broken inside."""
    used = 0
    for unit in _UNIT.finditer(text):
        parts = chop_cells(unit[0].rstrip(), width) or [""]
        if used and used + cell_len(parts[0]) > width:
            yield unit.start()
            used = 0
        at = unit.start()
        for part in parts[:-1]:
            at, used = at + len(part), 0
            yield at
        used += cell_len(text[at : unit.end()])


def rendered(value: Any) -> Iterable[RenderableType]:  # noqa: ANN401 - any value of the model
    """Return a value as the lines that show it."""
    match value:
        case Memory() | Hit() | Event() | Move():
            return [line_of(value)]
        case [Memory(), *_]:
            return _listing(value)
        case [ScopeCount(), *_]:
            return _scope_rows(value)
        case Titled(value=KeptReceipt() as receipt, contents=contents):
            return _receipt_lines(receipt, contents)
        case Titled(value=Event() as event, contents=contents):
            return [line_of(event, contents=contents)]
        case Conflict():
            return _conflict_lines(value)
        case ReceiptAnswer():
            enters = "" if value.fits_at is None else f"; it enters at {pluralize(value.fits_at, 'token')} now"
            return [row(_numbered(value.receipt), Text(f"{value.state.replace('_', ' ')}: {value.reason}{enters}"))]
        case Status():
            return _status_lines(value)
        case Mapping():
            return fields(value)
        case _:
            return [value]


def line_of(
    value: Memory | Hit | Event | Move, indent: int = 0, *, ids: bool = True, contents: Mapping[str, str] | None = None
) -> Text:
    """Return a value as a row, with or without the id of its memory, and with the first words of its content."""
    match value:
        case Memory():
            head, texts = _dated(value, ids), [_content(value, _whole(value))]
        case Hit():
            head = _dated(value.memory, ids).append(f"  {value.score:4.2f}", style="bold")
            content = _content(value.memory, _whole(value.memory))
            content.append(f"  {FILE_MARKS[value.files]}" if value.files in FILE_MARKS else "", style="magenta")
            texts = [content, Text(f"why: {value.why}", style="dim")]
        case Event():
            head, texts = _event(value, ids, (contents or {}).get(value.memory_id, ""))
        case Move():
            head = tier_badge(value.to) if value.retention is None else Text().append("×     ", style="dim")
            head.append(f"  {shown_id(value.id)}" if ids else "", style="dim")
            change = f"{value.from_tier} → {value.to}" if value.retention is None else f"→ {value.retention}"
            texts = [Text(f"{change}: {value.why} ").append(f"[{value.rule}]", style="dim")]
    return row(Text(" " * indent).append_text(head), *texts)


def shown_id(memory_id: str) -> str:
    """Return an id as it is shown: its last characters in a terminal, the whole id to another program."""
    return memory_id[-_SHORT_ID:] if sys.stdout.isatty() else memory_id


def tier_badge(tier: Tier) -> Text:
    """Return a tier as a symbol and a word, so that it is recognisable without colours."""
    return Text().append(f"{_MARKS[tier]} {tier:<4}", style=TIER_STYLES[tier])


def _numbered(number: int) -> Text:
    """Return the number of an event or a receipt."""
    return Text().append(f"#{number}".ljust(_BELOW - 2), style="cyan")


def _dated(memory: Memory, ids: bool) -> Text:
    """Return the tier, the day of the last change and the id."""
    active = memory.retention is Retention.ACTIVE
    head = tier_badge(memory.tier) if active else Text().append(f"× {memory.tier:<4}", style="dim")
    head.append(f"  {memory.updated_at:%Y-%m-%d}", style="dim")
    return head.append(f"  {shown_id(memory.id)}", style="dim") if ids else head


def _whole(memory: Memory) -> str:
    """Return the content, shortened if it is long."""
    content = memory.content
    return f"{content[:_MOST_CHARS]}… ({len(content):,} characters)" if len(content) > _MOST_CHARS else content


def _condition(memory: Memory) -> str:
    """Return the condition that ends a memory, or has ended it, in words; empty without one."""
    if memory.valid_until is not None and ENDED_BY in memory.metadata:
        return f"  ended by {memory.metadata[ENDED_BY]}"
    said = (("when", "until"), ("perhaps", "perhaps until"))
    return "".join(f"  {words} {ends_of(memory)[name]}" for name, words in said if name in ends_of(memory))


def _content(memory: Memory, shown: str) -> Text:
    """Return a content with what is not usual about the memory."""
    text = Text(shown, style="" if memory.retention is Retention.ACTIVE else "dim")
    if memory.kind != "fact":
        text.append(f"  {memory.kind}", style="cyan")
    if memory.priority is not Priority.NORMAL:
        text.append(f"  {memory.priority}", style="magenta")
    if memory.retention is not Retention.ACTIVE:
        text.append(f"  {memory.retention}", style="magenta")
    if memory.valid_from is not None:
        text.append(f"  from {memory.valid_from:%Y-%m-%d}", style="magenta")
    if memory.valid_until is not None:
        said = "said until" if SUPERSEDED_BY in memory.metadata else "until"
        text.append(f"  {said} {memory.valid_until - timedelta(microseconds=1):%Y-%m-%d}", style="magenta")
    text.append(_condition(memory), style="magenta")
    if doubtful_parts(memory):
        text.append("  perhaps outdated", style="magenta")
    if files := files_about(memory):
        more = f" and {len(files) - _MOST_FILES} more" if len(files) > _MOST_FILES else ""
        text.append(f"  about {', '.join(files[:_MOST_FILES])}{more}", style="cyan")
    for tag in memory.tags:
        text.append(f"  #{tag}", style="green")
    return text


def _event(event: Event, ids: bool, content: str) -> tuple[Text, list[Text]]:
    head = _numbered(event.seq)
    head.append(f"  {event.at:%Y-%m-%d %H:%M}  ", style="dim").append(f"{event.action:<8}", style="bold")
    changes = []
    for name, before, after in _changes(event):
        if before is not None:
            changes.append(f"{name} {before} → {after}")
        elif str(after) not in (Priority.NORMAL, Retention.ACTIVE):
            changes.append(f"{name} {shown_id(after) if name == SUPERSEDED_BY else after}")
    text = Text().append(f"{shown_id(event.memory_id)}  " if ids else "", style="dim").append(", ".join(changes))
    told = [Text(first_line(content, _FIRST_WORDS))] if content else []
    # What takes back an event says so in its reason.
    rule = "" if event.rule in ("explicit", "default") or event.action == Action.UNDO else f"rule {event.rule}"
    why = _ID.sub(lambda found: shown_id(found[0]), event.why)
    cause = " · ".join(part for part in (why, rule, f"by {event.actor}") if part)
    return head, [*told, text, Text(cause, style="dim")]


def _changes(event: Event) -> Iterator[tuple[str, Any, Any]]:
    """Yield the name of each field that an event changed, with both values; of metadata, the entries that differ."""
    for name, (before, after) in event.changes.items():
        if name != "metadata":
            yield name, before, after
            continue
        one, other = before or {}, after or {}
        differ = (key for key in dict.fromkeys((*one, *other)) if one.get(key) != other.get(key))
        yield from ((key, one.get(key), other.get(key)) for key in differ)


def _listing(memories: Sequence[Memory]) -> Iterator[Text]:
    """Yield a heading, and a row for each memory with the beginning of its content."""
    heading = Text(f"{'tier':<8}{'changed':<12}{'id':<{len(shown_id(memories[0].id))}}", style="dim")
    if "\n" not in (shown := row(heading, Text("memory", style="dim"))):
        yield shown
    for memory in memories:
        content = Text(" ".join(memory.content.split()))
        content.truncate(_LISTED, overflow="ellipsis")
        yield row(_dated(memory, ids=True), _content(memory, content.plain))


def _conflict_lines(conflict: Conflict) -> Iterator[Text]:
    yield row(Text("conflict", style="bold"), Text(conflict.about))
    for memory in (conflict.newer, conflict.older):
        counts = [Text(f"counts meanwhile: {conflict.why}", style="bold")] * (memory.id == conflict.winner)
        yield row(Text("  ").append_text(_dated(memory, ids=True)), _content(memory, _whole(memory)), *counts)


def _receipt_lines(receipt: KeptReceipt, contents: Mapping[str, str]) -> Iterator[Text]:
    head = _numbered(receipt.number).append(f"  {receipt.at:%Y-%m-%d %H:%M}")
    scope = Text(f"{receipt.scope}  {receipt.tokens:,}/{receipt.budget:,} tokens")
    yield row(head, scope, *([Text(receipt.query, style="dim")] if receipt.query else []))
    for entry in (*receipt.included, *receipt.left_out):
        yield _considered(entry, contents.get(entry.id, ""))


def receipt_rows(receipt: Receipt) -> Iterator[Text]:
    """Yield the receipt of a context that was just made: as a kept one, with the budget at which a memory enters."""
    asked = [Text(receipt.query, style="dim")] if receipt.query else []
    yield row(Text("receipt"), Text(f"{receipt.tokens:,}/{receipt.budget:,} tokens"), *asked)
    for entry in (*receipt.included, *receipt.left_out):
        enters = "" if entry.form or entry.fits_at is None else f"it enters at {pluralize(entry.fits_at, 'token')}"
        yield _considered(entry, entry.memory.content, enters)
    for note in (*receipt.notes, *receipt.degraded):
        yield row(Text(f"{'note':<{_BELOW - 2}}"), Text(note))


def _considered(entry: Entry | KeptEntry, content: str, *more: str) -> Text:
    """Return a memory of a receipt as a row: its tokens, its first words, and why it is in the context or not."""
    head = Text(f"{entry.tokens if entry.form else 'out':>{_BELOW - 2}}  {shown_id(entry.id)}")
    told = [Text(first_line(content, _FIRST_WORDS))] if content else []
    return row(head, *told, Text(entry.reason, style="dim"), *[Text(each) for each in more if each])


def _scope_rows(counts: Sequence[ScopeCount]) -> Iterator[Text]:
    """Yield a heading, and a row for each scope with its counts."""
    names = ("memories", *map(str, Tier), "tokens", "hidden")
    numbers = [
        (each.memories, *(each.tiers[tier].memories for tier in Tier), each.tokens, each.hidden) for each in counts
    ]
    widths = [max(len(name), *(len(f"{each[at]:,}") for each in numbers)) for at, name in enumerate(names)]
    yield row(Text("  ".join(map(str.rjust, names, widths)), style="dim"), Text("scope", style="dim"))
    for count, values in zip(counts, numbers, strict=True):
        head = "  ".join(f"{value:>{width},}" for value, width in zip(values, widths, strict=True))
        yield row(Text(head), Text(str(count.scope)))


def fields(values: Mapping[str, object]) -> Iterator[Text]:
    """Yield a row for each name and value."""
    shown = {name: _as_text(value) for name, value in values.items() if value not in (None, [], {})}
    width = max(map(len, shown), default=0)
    yield from (row(Text(f"{name:<{width}}", style="cyan"), Text(text)) for name, text in shown.items())


def _as_text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{name}={item}" for name, item in value.items())
    return str(value)


def _status_lines(status: Status) -> Iterator[Text]:
    width = console().width
    yield from (tier_bar(status, tier, width) for tier in Tier)
    hidden = [f"{count} {name}" for name, count in status.retention.items() if name is not Retention.ACTIVE and count]
    yield from fields({
        "hidden": hidden,
        "scope": status.scope,
        "store": f"{status.store}, {status.bytes / 1e6:.1f} MB",
        "policy": status.policy or "builtin",
        "embedder": status.embedder,
    })  # fmt: skip


def tier_bar(status: Status, tier: Tier, width: int = 80) -> Text:
    """Return how much a tier holds, as a bar that fits a width."""
    most = max((count.memories for count in status.tiers.values()), default=0) or 1
    count = status.tiers[tier]
    length = max(0, min(_BAR_WIDTH, width - _BAR_TEXT))
    bar = "█" * round(length * count.memories / most)
    line = tier_badge(tier)
    line.append(
        f"  {bar:<{length}} {pluralize(count.memories, 'memory')}, {pluralize(count.tokens, 'token')}",
        style=TIER_STYLES[tier],
    )
    return line
