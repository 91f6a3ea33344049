"""What was believed at an earlier moment, rebuilt from the ledger.

Each memory is taken back, event by event, to what it was; what was visible then goes into a small
store in memory, and is searched there like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from memotherm.model import Event, Memory
from memotherm.storage.contract import Store
from memotherm.storage.rows import apply_changes
from memotherm.storage.values import Cause, Record

__all__ = ["memories_at", "state_at", "stored"]

_PAGE = 1000


def state_at(memory: Memory, history: Sequence[Event], moment: datetime) -> Memory | None:
    """Return what a memory was at a moment; None when it did not exist yet."""
    if memory.created_at > moment:
        return None
    for event in reversed(history):
        if event.at <= moment:
            break
        before = {name: was for name, (was, _) in event.changes.items()}
        if before.get("retention", "") is None:
            return None
        memory = apply_changes(memory, before)
    return memory


def memories_at(store: Store, spaces: tuple[int, ...], moment: datetime) -> Iterator[tuple[Record, Memory]]:
    """Yield every memory of some spaces that was visible at a moment, now and as it was then."""
    after = 0
    while page := store.written_before(spaces, moment, after, _PAGE):
        for record in page:
            then = state_at(record.memory, store.events(record), moment)
            if then is not None and then.visible_at(moment) and then.content:
                yield record, then
        after = page[-1].no


def stored(source: Store, target: Store, spaces: tuple[int, ...], moment: datetime) -> None:
    """Fill a store with what was visible at a moment; vectors come along where the content is the same."""
    identity = source.identity()
    number = target.register_embedder(identity.name, identity.dimensions).number if identity is not None else None
    cause = Cause(action="remember", at=moment, actor="as_of", rule="as_of")
    with target.write(made_by=number) as transaction:
        for record, then in memories_at(source, spaces, moment):
            vectors = source.cached_vectors(then.digest) if then.content == record.memory.content else None
            transaction.insert(transaction.space(then.scope), then, vectors, cause)
