"""What has happened: events and their undo (`history`, `events`, `undo`), and what prompts had (`receipts`, `why`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

import click

from memotherm import Memory, Memotherm, NotFound
from memotherm.cli.memories import more_note, narrower_notes
from memotherm.cli.options import located, memory_option
from memotherm.cli.output import Output, Titled, progress_bar
from memotherm.cli.parsing import MemoryId
from memotherm.cli.verbs import ID, given, operation_options, plain
from memotherm.model.marks import SUPERSEDED_BY
from memotherm.model.recall import HIT_THRESHOLD
from memotherm.model.receipts import KeptReceipt, ReceiptAnswer
from memotherm.operations.codec import to_json
from memotherm.text.content import first_line, pluralize

#: How many events of narrower scopes are counted, and memories read at once.
_COUNTED = 1000
#: How many memories that the words may mean are answered for.
_MOST_MEANT = 3
_NEARLY = 0.8
_STATES = {"included": "in the prompt", "left_out": "left out", "not_considered": "not considered"}

history = plain(
    "history", f"memotherm history {ID}", iter,
    help="Show the events of a memory: time, actor, rule and reason.",
    more=lambda _, values, __: {"id": values["memory_id"]},
)  # fmt: skip


@click.command("events")
@operation_options("events", defaults={"limit": 50})
@memory_option()
def events(mem: Memotherm, include_narrower: bool, **options: Any) -> Output:  # noqa: ANN401
    """Show the events of all memories, newest first, a page at a time.

    \b
    memotherm events --limit 20
    memotherm events --cursor after-1200 --json
    """
    page = mem.events(include_narrower=include_narrower, **given(options))
    notes = more_note(page.cursor)

    def count(narrower: bool) -> int:
        return len(mem.events(**given(options) | {"limit": _COUNTED}, include_narrower=narrower).events)

    is_first = not include_narrower and not options["cursor"]
    notes += narrower_notes(mem, len(page.events), "there are no events here", count if is_first else None, _COUNTED)
    contents = _contents(mem, [event.memory_id for event in page])
    return Output(to_json(page), [Titled(event, contents) for event in page], notes)


def _contents(mem: Memotherm, ids: Iterable[str]) -> dict[str, str]:
    """Return the contents of memories by their ids, as far as they are kept at, above or below the scope."""
    wanted = [each for each in dict.fromkeys(ids) if each]
    parts = (wanted[start : start + _COUNTED] for start in range(0, len(wanted), _COUNTED))
    found: dict[str, str] = {}
    for part in parts:
        for narrower in (True, False):
            page = mem.find(ids=part, retention="any", include_narrower=narrower, limit=_COUNTED)
            found |= {memory.id: memory.content for memory in page}
    return found


@click.command("undo")
@click.argument("events", metavar="SEQ...", type=click.IntRange(1), nargs=-1)
@click.option("--batch", metavar="NAME", help="Undo all that a run of `backfill` has stored, in all scopes.")
@operation_options("undo_many", left_out="events batch")
@memory_option(dry_run=True)
def undo(mem: Memotherm, events: tuple[int, ...], batch: str | None, run: bool, include_narrower: bool) -> Output:
    """Undo events of the ledger by their numbers in `history` and `events`.

    A single event that cannot be undone is an error; of several, those are skipped, and named.

    \b
    memotherm undo 42
    memotherm undo 42 --run
    memotherm undo --batch backfill-20261118-093000-1a2b
    """
    if bool(events) == bool(batch):
        raise click.UsageError("name the numbers of events, or a batch")
    if batch:
        with progress_bar("events") as progress:
            undone = mem.store.undo_batch(batch, progress)
        counts = f"{pluralize(len(undone.memories), 'memory')} of {batch} undone"
        return Output(to_json(undone), [counts], map(str, undone.skipped))
    if len(events) == 1 and not run and not include_narrower:
        with suppress(NotFound):
            memory = mem.undo(events[0])
            return Output(to_json(memory), [memory])
        # `events` lists those of narrower scopes as well.
        include_narrower = True
    undone = mem.bulk.undo(events, run=run, include_narrower=include_narrower)
    return Output(to_json(undone), undone.memories, map(str, undone.skipped))


@click.command("receipts")
@operation_options("receipts", defaults={"limit": 5})
@click.option(
    "--memory", metavar="ID", type=MemoryId(),
    help="Say for each context why this memory was in it or not.",
)  # fmt: skip
@memory_option()
def receipts(mem: Memotherm, memory: str | None, **options: Any) -> Output:  # noqa: ANN401
    """Show what contexts have injected into sessions, and why, newest first.

    Contexts of the scope and of all narrower ones are shown.

    \b
    memotherm receipts --session s1
    memotherm receipts --limit 1 --json
    memotherm receipts --limit 1 --memory mem_01J8ZQ4X0000000000000000
    """
    page = mem.receipts.list(**options)
    none = [] if page.receipts else ["no receipt is kept"]
    if memory is not None:
        answers = [mem.receipts.explain(receipt.number, memory) for receipt in page]
        return Output({"answers": to_json(answers)}, answers, none)
    contents = _contents(mem, [entry.id for receipt in page for entry in (*receipt.included, *receipt.left_out)])
    return Output(to_json(page), [Titled(receipt, contents) for receipt in page], [*none, *more_note(page.cursor)])


@click.command("why")
@click.argument("words", nargs=-1, required=True)
@click.option("--turn", type=click.IntRange(1), help="The number of a turn, as `receipts` lists it; default: the last.")
@memory_option()
def why(mem: Memotherm, words: tuple[str, ...], turn: int | None) -> Output:
    """Say whether a memory was in a prompt, and why or why not.

    The memory is named by words of it, or by its id; the prompt is the last one of the scope or of a narrower one.

    \b
    memotherm why staging port
    memotherm why "deploys are frozen" --turn 12
    """
    receipt = _last(mem) if turn is None else mem.receipts.get(turn)
    found = _meant(mem, " ".join(words))
    if not found:
        raise NotFound(f"no memory here has the words {' '.join(words)!r}: `memotherm list` shows all")
    answers = [mem.receipts.explain(receipt.number, memory.id) for memory in found]
    data = [
        {**to_json(answer), "content": memory.content, **_outdated(memory)}
        for memory, answer in zip(found, answers, strict=True)
    ]
    return Output({"turn": receipt.number, "answers": data}, _why_lines(receipt, found, answers))


def _last(mem: Memotherm) -> KeptReceipt:
    page = mem.receipts.list(limit=1)
    if not page.receipts:
        raise NotFound("no prompt has had memories here: `memotherm context` makes one by hand")
    return page.receipts[0]


def _meant(mem: Memotherm, text: str) -> list[Memory]:
    """Return the memories that a text may mean: that with the id, those that contain it, or the best hits."""
    with suppress(NotFound):
        view, whole_id = located(mem, text)
        return list(view.find(ids=[whole_id], retention="any"))
    containing = mem.find(contains=text, retention="any", include_narrower=True, limit=_MOST_MEANT).memories
    if containing:
        return list(containing)
    found = mem.recall(text, limit=_MOST_MEANT, tiers=("hot", "warm", "cold"), include_narrower=True, track=False)
    related = (hit for hit in (*found.pinned, *found) if hit.why.relevance >= HIT_THRESHOLD)
    hits = sorted(related, key=lambda hit: -hit.why.relevance)
    # The first is meant; another one is, too, if it is nearly as close.
    return [hit.memory for hit in hits if hit.why.relevance >= _NEARLY * hits[0].why.relevance][:_MOST_MEANT]


def _outdated(memory: Memory) -> dict[str, str]:
    """Return since when a memory is superseded, and by which one; empty if it is not."""
    if memory.valid_until is None or SUPERSEDED_BY not in memory.metadata:
        return {}
    return {"outdated_since": memory.valid_until.isoformat(), "superseded_by": str(memory.metadata[SUPERSEDED_BY])}


def _why_lines(receipt: KeptReceipt, found: Sequence[Memory], answers: Sequence[ReceiptAnswer]) -> Iterator[object]:
    from rich.text import Text

    from memotherm.cli.formatting import row, shown_id

    asked = f'"{first_line(receipt.query, 60)}"' if receipt.query else "the start of a session"
    yield row(Text(f"turn {receipt.number}"), Text(f"{receipt.at:%Y-%m-%d %H:%M} UTC, {receipt.scope}: {asked}"))
    for memory, answer in zip(found, answers, strict=True):
        told = [Text(f"{_STATES[answer.state]}: {answer.reason}", style="bold")]
        if answer.fits_at is not None:
            told.append(Text(f"it enters at {pluralize(answer.fits_at, 'token')}; the budget was {receipt.budget}"))
        if (turn := answer.given_in) is not None:
            told.append(Text(f"it was in turn {turn}: memotherm why {shown_id(memory.id)} --turn {turn}"))
        if outdated := _outdated(memory):
            day = (memory.valid_until or receipt.at) - timedelta(microseconds=1)
            told.append(Text(f"outdated since {day:%Y-%m-%d}: {shown_id(outdated['superseded_by'])} says otherwise"))
        yield row(Text(shown_id(memory.id)), Text(first_line(memory.content, 70)), *told)
