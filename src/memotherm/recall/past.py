"""What memories were at an earlier moment: each is taken back to it, event by event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from memotherm.model import Event, Memory
from memotherm.storage.rows import apply_changes
from memotherm.storage.store import Store
from memotherm.storage.values import Record
from memotherm.text.content import digest
from memotherm.text.tokens import DEFAULT, count_tokens

_PAGE = 1000
#: The times of a memory, and the fields whose last change they are.
_TIMES: Mapping[str, frozenset[str]] = {
    "updated_at": frozenset({"content", "kind", "tags", "metadata", "source"}),
    "tier_since": frozenset({"tier"}),
    "retention_since": frozenset({"retention"}),
}


def histories_until(
    store: Store, spaces: tuple[int, ...], moment: datetime
) -> Iterator[tuple[Record, Sequence[Event]]]:
    """Yield the memories that some spaces have since a moment or longer, as they are now, with all their events.

    Purged memories are left out.
    """
    after = 0
    while page := store.written_before(spaces, moment, after, _PAGE):
        histories = store.histories([record.no for record in page])
        yield from ((record, histories.get(record.memory.id, ())) for record in page)
        after = page[-1].no


def state_at(memory: Memory, history: Sequence[Event], moment: datetime, tokenizer: str = DEFAULT) -> Memory | None:
    """Return what a memory was at a moment; None when it did not exist yet.

    Uses have no events, so they are those of now.
    """
    if memory.created_at > moment:
        return None
    return state_after(memory, history, count_until(history, moment), tokenizer)


def count_until(history: Sequence[Event], moment: datetime) -> int:
    """Return how many events of a history were made until a moment."""
    return next((count for count in range(len(history), 0, -1) if history[count - 1].at <= moment), 0)


def state_after(memory: Memory, history: Sequence[Event], count: int, tokenizer: str = DEFAULT) -> Memory | None:
    """Return what a memory was after the first events of its history; None when it did not exist yet."""
    values: dict[str, Any] = {}
    for event in reversed(history[count:]):
        values |= {name: before for name, (before, _) in event.changes.items()}
    if not values:
        return memory
    if values.get("retention", "") is None:
        return None
    then = apply_changes(memory, values)
    times: dict[str, Any] = {
        name: _last_change(history[:count], fields) or memory.created_at
        for name, fields in _TIMES.items()
        if not fields.isdisjoint(values)
    }
    if "content" in values:
        then = replace(then, digest=digest(then.content), tokens=count_tokens(then.content, tokenizer))
    return replace(then, **times)


def _last_change(history: Sequence[Event], fields: frozenset[str]) -> datetime | None:
    """Return when one of some fields was last changed; None if it never was."""
    for event in reversed(history):
        if any(name in fields and before is not None for name, (before, _) in event.changes.items()):
            return event.at
    return None
