"""Memories: reading, listing, storing, changing and erasing them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from memotherm.model import Memory, Priority, Scope, Tier
from memotherm.model.results import ScopeCount, TierCount
from memotherm.rules.select import Select
from memotherm.storage.values import Cause, Counts, Find, Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

__all__ = ["MemoryStore", "MemoryTransaction"]


class MemoryStore(Protocol):
    """Reads of memories. `spaces` are the numbers of the visible scopes."""

    def spaces(self, scope: Scope) -> tuple[int, ...]:
        """Return the spaces whose memories a scope can see."""

    def spaces_within(self, scope: Scope) -> tuple[int, ...]:
        """Return the spaces that lie inside a scope: equal to it or narrower."""

    def scopes(self, spaces: Sequence[int]) -> list[ScopeCount]:
        """Return what each of the scopes of some spaces holds, without empty ones, in the order of their fields."""

    def get(self, spaces: Sequence[int], memory_id: str) -> Record | None:
        """Return a memory that lies in one of the spaces."""

    def with_key(self, spaces: Sequence[int], key: str, now: datetime) -> list[Record]:
        """Return the visible memories of some spaces with a key, one for each scope that has it."""

    def keys(self, spaces: Sequence[int], first: str, last: str, now: datetime, limit: int) -> list[str]:
        """Return the distinct keys of visible memories from `first` to before `last`, in the order of their UTF-8."""

    def ids(self, spaces: Sequence[int], prefix: str, limit: int) -> list[str]:
        """Return the ids that begin with a prefix, in order."""

    def find(self, spaces: Sequence[int], find: Find) -> list[Record]:
        """Return a page of memories in the order of the listing."""

    def count(self, spaces: Sequence[int], find: Find) -> int:
        """Return how many memories a listing has, on all its pages."""

    def records(self, nos: Sequence[int]) -> Mapping[int, Record]:
        """Return memories by number, as they are now."""

    def pinned(self, spaces: Sequence[int], now: datetime) -> list[Record]:
        """Return the visible pinned memories, oldest first."""

    def select(self, spaces: Sequence[int], selects: Select, now: datetime, after: int, limit: int) -> list[Record]:
        """Return the memories that a rule looks at, in order of number, a page at a time.

        Args:
            spaces: Where to look.
            selects: Which memories; its durations are resolved.
            now: The moment that durations are counted back from.
            after: Only memories with a higher number.
            limit: The most memories.
        """

    def list_tier(self, space: int, tier: Tier, now: datetime, limit: int) -> list[Record]:
        """Return the visible memories of one space in one tier, newest first."""

    def count_tier(self, space: int, tier: Tier, now: datetime) -> TierCount:
        """Return how many visible memories one space has in one tier, and their tokens."""

    def counts(self, spaces: Sequence[int], now: datetime) -> Counts:
        """Return the number of memories and tokens in some spaces; expired memories count as deleted."""


class MemoryTransaction(Protocol):
    """Changes of memories; each appends its event to the ledger."""

    def space(self, scope: Scope, collection: str = "") -> int:
        """Return the number of a scope, or of a collection in it; create it if it is new."""

    def get(self, memory_id: str) -> Record | None:
        """Return a memory by its id, in any scope."""

    def with_key(self, space: int, key: str) -> Record | None:
        """Return the memory of a space's scope with a key, of any retention."""

    def prefetch_duplicates(self, digests: Collection[str]) -> None:
        """Find out at once which contents are stored, before `duplicate` is called for each of them."""

    def duplicate(
        self, space: int, digest: str, kind: str, now: datetime, since: datetime | None = None
    ) -> Record | None:
        """Return the visible memory of a space with the same content and no key, if it was created since a moment."""

    def insert(self, space: int, memory: Memory, vectors: Vectors | None, cause: Cause) -> Record:
        """Store a new memory with its vectors (None = pending) and its event.

        A memory whose `index` is false gets no vectors and is not pending.
        If the same content was purged from its scope, the tombstone is deleted.
        """

    def change(self, record: Record, after: Memory, cause: Cause, vectors: Vectors | None = None) -> Record:
        """Store a changed memory and its event; do nothing if nothing differs.

        `vectors` are those of a new content; without them the memory counts as pending.
        """

    def purge(self, record: Record, cause: Cause, *, clean: bool = True) -> Record:
        """Erase content, vectors, words and every quotation in the ledger; keep the events and a tombstone.

        Recalls that returned it are deleted from the log, and receipts no longer name it.
        With `clean`, the text indexes, caches and logs of the database are rewritten after the commit, so that no
        copy is left in free space. For many purges, set it on the last one only.
        """

    def discard(self, record: Record, cause: Cause) -> Record:
        """Like `purge`, for a copy of a file: no tombstone, and free space is not overwritten."""

    def purged_digests(self, scope: Scope, digests: Iterable[str]) -> set[str]:
        """Return those digests whose contents were purged from what a scope can see."""

    def list_tier(self, space: int, tier: Tier, now: datetime) -> list[Record]:
        """Return the visible memories of one space in one tier, newest first."""

    def touch(self, nos: Iterable[int], now: datetime) -> None:
        """Count a use of each memory."""

    def count_priority(self, space: int, priority: Priority, now: datetime) -> int:
        """Return the number of visible memories of a space with a priority."""

    def oldest_of_priority(self, space: int, priority: Priority, now: datetime) -> Record | None:
        """Return the oldest memory of a space with a priority."""

    def set_relevance(self, no: int, relevance: float) -> None:
        """Set the running relevance of a memory."""
