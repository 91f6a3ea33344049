"""`memotherm why`: whether a memory was in a prompt, why or why not, and what would change that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

import click

from memotherm import Memory, Memotherm, NotFound
from memotherm.cli.options import memory_option
from memotherm.cli.output import Output
from memotherm.model.marks import SUPERSEDED_BY
from memotherm.model.recall import HIT_THRESHOLD
from memotherm.model.receipts import KeptReceipt, ReceiptAnswer
from memotherm.operations.codec import to_json
from memotherm.text.content import first_line, pluralize

#: How many memories that the words may mean are answered for.
_MOST = 3
_NEARLY = 0.8
_STATES = {"included": "in the prompt", "left_out": "left out", "not_considered": "not considered"}


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
    return Output({"turn": receipt.number, "answers": data}, _lines(receipt, found, answers))


def _last(mem: Memotherm) -> KeptReceipt:
    page = mem.receipts.list(limit=1)
    if not page.receipts:
        raise NotFound("no prompt has had memories here: `memotherm context` makes one by hand")
    return page.receipts[0]


def _meant(mem: Memotherm, text: str) -> list[Memory]:
    """Return the memories that a text may mean: that with the id, those that contain it, or the best hits."""
    try:
        return [mem.get(mem.inspect.full_id(text), include_narrower=True)]
    except NotFound:
        pass
    containing = mem.find(contains=text, retention="any", include_narrower=True, limit=_MOST).memories
    if containing:
        return list(containing)
    found = mem.recall(text, limit=_MOST, tiers=("hot", "warm", "cold"), include_narrower=True, track=False)
    related = (hit for hit in (*found.pinned, *found) if hit.why.relevance >= HIT_THRESHOLD)
    hits = sorted(related, key=lambda hit: -hit.why.relevance)
    # The first is meant; another one is, too, if it is nearly as close.
    return [hit.memory for hit in hits if hit.why.relevance >= _NEARLY * hits[0].why.relevance][:_MOST]


def _outdated(memory: Memory) -> dict[str, str]:
    """Return since when a memory is superseded, and by which one; empty if it is not."""
    if memory.valid_until is None or SUPERSEDED_BY not in memory.metadata:
        return {}
    return {"outdated_since": memory.valid_until.isoformat(), "superseded_by": str(memory.metadata[SUPERSEDED_BY])}


def _lines(receipt: KeptReceipt, found: Sequence[Memory], answers: Sequence[ReceiptAnswer]) -> Iterator[object]:
    from rich.text import Text

    from memotherm.cli.formatting import row, shown_id

    asked = f'"{first_line(receipt.query, 60)}"' if receipt.query else "the start of a session"
    yield f"turn {receipt.number}, {receipt.at:%Y-%m-%d %H:%M} UTC, {receipt.scope}: {asked}"
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
