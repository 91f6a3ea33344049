"""What a store is: the contract that SQLite fulfils and that any other database must.

A store keeps rows and finds them; it decides nothing. Every read takes the visible spaces,
so the scope is applied inside the index and never after it. Every change goes through
`Writing`, which appends the ledger's event in the same transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from memotherm.model import Event, Memory, Priority, Scope, Tier
from memotherm.model.results import Problem, TierCount
from memotherm.storage.values import (
    CandidateRow,
    CandidateText,
    Cause,
    ChunkPlace,
    ChunkRow,
    Counts,
    Filter,
    Find,
    Identity,
    NoteRow,
    RecallEntry,
    Record,
    RootRow,
    Scores,
    Tally,
    Watch,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

__all__ = ["Store", "Transaction"]


class Transaction(Protocol):
    """One transaction. Leaving it normally commits; an exception takes everything back."""

    def space(self, scope: Scope, shelf: str = "") -> int:
        """Return the number of a scope, or of a shelf in it, giving it one when it is new."""

    def get(self, memory_id: str) -> Record | None:
        """Return a memory by its id, whoever's it is."""

    def duplicate(self, space: int, digest: str, kind: str, now: datetime) -> Record | None:
        """Return the visible memory of a space that says the same."""

    def insert(self, space: int, memory: Memory, vectors: Vectors | None, cause: Cause) -> Record:
        """Store a new memory with its vectors (None = to be made later) and its event.

        If its scope had purged the same content, the tombstone goes: somebody wants it again.
        """

    def change(self, record: Record, after: Memory, cause: Cause, vectors: Vectors | None = None) -> Record:
        """Store a changed memory and its event; nothing happens when nothing differs.

        `vectors` belong to a new content; without them it waits for its vectors.
        """

    def purge(self, record: Record, cause: Cause, *, clean: bool = True) -> Record:
        """Erase content, vectors, words and everything the ledger quotes; the events and a tombstone stay.

        With `clean`, nothing of it is left in free space either; of many purges, the last one cleans for all.
        """

    def discard(self, record: Record, cause: Cause) -> Record:
        """Like `purge`, for what was only a copy: it may come back, and free space is not cleaned."""

    def buried(self, scope: Scope, digests: Iterable[str]) -> set[str]:
        """Return those contents, by their digests, that were purged from what a scope can see."""

    def shelve(self, record: Record, space: int, cause: Cause) -> Record:
        """Put a memory on another shelf of its scope."""

    def put_root(self, root: RootRow) -> None:
        """Remember a folder of notes."""

    def drop_root(self, space: int) -> None:
        """Forget a folder that has no notes any more."""

    def note(self, space: int, path: str) -> NoteRow | None:
        """Return what is known of a file."""

    def put_note(self, note: NoteRow) -> int:
        """Store what is known of a file and return its number; a known number may get another path."""

    def drop_note(self, note: int) -> None:
        """Forget a file and where its chunks were; their memories are the caller's care."""

    def chunks(self, note: int) -> list[ChunkRow]:
        """Return the chunks of a file in their order, hidden memories included."""

    def set_chunks(self, note: int, chunks: Sequence[ChunkRow]) -> None:
        """Say anew which chunks a file has."""

    def is_linked_elsewhere(self, no: int, note: int) -> bool:
        """Tell whether a memory is a list item of another file."""

    def claim_flush(self, space: int, cycle: int | None, *, due: bool) -> bool:
        """Tell whether a flush is due that nobody was told of in this cycle, and remember that it was told."""

    def touch(self, nos: Iterable[int], now: datetime) -> None:
        """Count a use of each memory."""

    def count_priority(self, space: int, priority: Priority, now: datetime) -> int:
        """Return how many visible memories of a space hold a priority."""

    def oldest_of_priority(self, space: int, priority: Priority, now: datetime) -> Record | None:
        """Return the first memory of a space that holds a priority."""

    def hot_tokens(self, space: int, now: datetime) -> int:
        """Return what the hot memories of a space cost in a prompt."""

    def spillable(self, space: int, now: datetime, limit: int) -> list[Record]:
        """Return the hot memories of a space that may leave: least relevant first, then oldest."""

    def prunable(self, space: int, now: datetime, limit: int) -> list[Record]:
        """Return the cold memories of a space that are worth the least."""

    def set_relevance(self, no: int, relevance: float) -> None:
        """Set the running relevance of a memory."""

    def set_session(self, space: int, state: str, now: datetime) -> None:
        """Record that a session goes on (active), has ended (archived) or was summarized."""

    def tally(self, space: int, name: str, amount: int = 0) -> None:
        """Count something that happened in a space."""

    def add_vectors(self, number: int, no: int, content: str, vectors: Vectors, cause: Cause) -> None:
        """Store the vectors that an embedder made of a content, unless it has changed since."""

    def serve(self, number: int, keep: int | None = None) -> bool:
        """Let an embedder's vectors serve searches and drop all others but those to keep, if none is missing."""


class Store(Protocol):
    """Where memories are kept. Safe to use from several threads and processes."""

    #: How a person would name this store: a path, or a URL without secrets.
    name: str
    #: The number of its schema.
    schema: int

    def snapshot(self) -> AbstractContextManager[None]:
        """Let the reads of this thread see one state of the store until it is left.

        A store may do less; it never shows a half of a transaction. Nothing is written inside.
        """

    def for_tenant(self, tenant: str | None) -> Store:
        """Return the same store as one tenant uses it ("" = where there are none); None = all tenants together.

        Where the database can, it keeps the tenant from everybody else's rows by itself, as a second wall
        behind the spaces. Closing one of them closes the store.
        """

    def parts(self, scope: Scope) -> Sequence[Store]:
        """Return the stores that together hold what lies inside a scope: one for each tenant, or one for all."""

    def claims(
        self, name: str, holder: str, now: Callable[[], datetime], term: timedelta, before: datetime
    ) -> Generator[Store, None, None]:
        """Yield, one by one, the parts of the store that nobody else is doing some work on.

        A part counts as done when the next one is asked for, and is free again when the iterator is closed
        before that, or after the term, when its holder is gone. Where parts are many, those that were done
        at `before` or later are left out.
        """

    def for_recall(self) -> Store:
        """Return what recalls read: the store itself, or a copy of it that may be behind."""

    def behind(self) -> str | None:
        """Say how far what recalls read is behind what is written; None when it is the same."""

    def spaces(self, scope: Scope) -> tuple[int, ...]:
        """Return the spaces whose memories a scope can see."""

    def spaces_within(self, scope: Scope) -> tuple[int, ...]:
        """Return the spaces that lie inside a scope: equal to it or narrower."""

    def get(self, spaces: Sequence[int], memory_id: str) -> Record | None:
        """Return a memory that lies in one of the spaces."""

    def find(self, spaces: Sequence[int], find: Find) -> list[Record]:
        """Return a page of memories, newest first."""

    def records(self, nos: Sequence[int]) -> Mapping[int, Record]:
        """Return whole memories by number, as they are now, whenever somebody looks at them."""

    def pinned(self, spaces: Sequence[int], now: datetime) -> list[Record]:
        """Return the visible pinned memories, oldest first."""

    def candidates(
        self, spaces: Sequence[int], tiers: Sequence[Tier], nos: Sequence[int], where: Filter
    ) -> dict[int, CandidateRow]:
        """Return those of the memories that may be shown: the last wall behind both legs."""

    def search_text(
        self, spaces: Sequence[int], tiers: Sequence[Tier], words: Sequence[str], limit: int, where: Filter
    ) -> Scores:
        """Return the best keyword matches, strongest first."""

    def search_vector(
        self,
        spaces: Sequence[int],
        tiers: Sequence[Tier],
        vector: Vectors,
        limit: int,
        where: Filter,
        by: Identity | None = None,
    ) -> Scores:
        """Return the memories with the nearest vectors (`by` an embedder, or by the serving one), nearest first."""

    def similarities(
        self,
        spaces: Sequence[int],
        tiers: Sequence[Tier],
        nos: Sequence[int],
        vector: Vectors,
        by: Identity | None = None,
    ) -> dict[int, float]:
        """Return the cosine of each of the memories that has vectors; its nearest part counts."""

    def sayings(self, nos: Sequence[int]) -> dict[int, CandidateText]:
        """Return what active memories say, by number."""

    def frequencies(
        self, spaces: Sequence[int], tiers: Sequence[Tier], words: Sequence[str]
    ) -> tuple[int, dict[str, int]]:
        """Return how many memories there are in some spaces and tiers, and how many have each word."""

    def watch(self, watch: Watch, after: int, limit: int) -> list[Record]:
        """Return a batch of what a policy wants to look at, in order of number."""

    def place(self, space: int, tier: Tier, now: datetime, limit: int) -> list[Record]:
        """Return the visible memories of one space in one tier, newest first."""

    def place_count(self, space: int, tier: Tier, now: datetime) -> TierCount:
        """Return how many visible memories one space has in one tier, and their tokens."""

    def session_state(self, space: int) -> str | None:
        """Return whether a session is active, archived or summarized; None when it never began."""

    def open_sessions(self, spaces: Sequence[int]) -> frozenset[str]:
        """Return the names of the sessions that go on in some spaces."""

    def tallies(self, spaces: Sequence[int]) -> dict[str, Tally]:
        """Return what happened in some spaces, by name."""

    def recall_micros(self, spaces: Sequence[int], limit: int) -> list[int]:
        """Return how long the last recalls took, newest first."""

    def trim_recalls(self, before: datetime) -> None:
        """Drop the log of what was asked before a moment."""

    def given(self, space: int) -> dict[int, int]:
        """Return what a session has in its prompt: memory number -> when it had last changed, in microseconds."""

    def give(self, space: int, updated: Mapping[int, int]) -> None:
        """Remember that a session was given memories, and when each had last changed."""

    def clear_given(self, space: int) -> None:
        """Forget what a session was given: its prompt was cut, or it has ended."""

    def lease(self, name: str, holder: str, now: datetime, until: datetime) -> bool:
        """Take or renew a lease; False when somebody else holds it."""

    def release(self, name: str, holder: str) -> None:
        """Give a lease back."""

    def written_before(self, spaces: Sequence[int], moment: datetime, after: int, limit: int) -> list[Record]:
        """Return memories that existed at a moment and still have their content, in order of number."""

    def events(self, record: Record) -> list[Event]:
        """Return the history of one memory, oldest first."""

    def event(self, spaces: Sequence[int], seq: int) -> tuple[Event, Record] | None:
        """Return one event of a memory in one of the spaces, and that memory as it is now."""

    def ledger(self, spaces: Sequence[int], past: int | None, limit: int, *, oldest_first: bool) -> list[Event]:
        """Return events of memories in some spaces, purged ones included, in the order of the ledger or against it.

        Args:
            spaces: The spaces that the memories are in now.
            past: Where to go on: events after this number, or before it against the order; None begins.
            limit: The most events.
            oldest_first: Whether in the order of the ledger.
        """

    def counts(self, spaces: Sequence[int], now: datetime) -> Counts:
        """Return how much some spaces hold; what is past its time counts as deleted."""

    def pending(self, spaces: Sequence[int]) -> int:
        """Return how many visible memories wait for their vectors."""

    def seq(self) -> int:
        """Return the sequence number of the newest event."""

    def size(self) -> int:
        """Return the bytes the store takes."""

    def write(self, *, made_by: int | None = None) -> AbstractContextManager[Transaction]:
        """Begin a transaction.

        Args:
            made_by: The embedder of the vectors that will be stored; if another one serves by now, they
                are left out and the memories wait for theirs.
        """

    def log_recall(self, entry: RecallEntry, *, keep: bool) -> None:
        """Count the uses of a recall and, if `keep`, log it; never waits for other writers."""

    def identity(self, name: str | None = None) -> Identity | None:
        """Return the embedder whose vectors serve searches, or the one of a name, if there is one."""

    def adopt(self, name: str, dimensions: int, *, serve: bool = True) -> Identity:
        """Give an embedder a number; the first one that may serve does so at once."""

    def cached(self, digest: str) -> Vectors | None:
        """Return the serving vectors already made for the same content."""

    def without_vectors(self, number: int, after: int, limit: int) -> list[tuple[int, str]]:
        """Return (number, content) of memories an embedder has not seen yet."""

    def count_without_vectors(self, number: int) -> int:
        """Return how many memories an embedder has not seen yet."""

    def sample_vectors(self, limit: int, by: Identity | None = None) -> Vectors | None:
        """Return some of the vectors, the same ones every time; those `by` an embedder, or by the serving one."""

    def shelf(self, scope: Scope, shelf: str) -> int | None:
        """Return the number of a shelf of a scope, if it exists."""

    def roots(self, spaces: Sequence[int]) -> list[RootRow]:
        """Return the folders whose notes are in some spaces."""

    def flush_state(self, space: int) -> tuple[int, bool] | None:
        """Return the cycle that a session was last told to flush in, and whether it may be told again."""

    def notes(self, space: int) -> list[NoteRow]:
        """Return the files of a space."""

    def links(self, space: int) -> list[tuple[str, ChunkRow]]:
        """Return the list items of a space's files that are memories of their own, each with its path."""

    def misplaced_notes(self, space: int) -> list[str]:
        """Return the paths of a space's files with a chunk whose memory is in another space."""

    def chunk_places(self, nos: Sequence[int]) -> dict[int, ChunkPlace]:
        """Return where memories stand in files."""

    def get_values(self, namespace: str, now: datetime, key: str | None = None) -> dict[str, str]:
        """Return the values of a namespace by key, or only the one under a key; expired values are left out."""

    def put_value(
        self, namespace: str, key: str, value: str, now: datetime, expires: datetime | None, *, replace: bool
    ) -> str | None:
        """Store a value; without `replace`, an existing value stays and is returned."""

    def delete_value(self, namespace: str, key: str) -> bool:
        """Delete a value; tell whether there was one."""

    def tend(self) -> None:
        """Make the indexes that what is stored has grown to need; quick when there is nothing to do."""

    def check(self) -> list[Problem]:
        """Compare everything with everything else and say what does not agree."""

    def checkpoint(self, path: Path) -> None:
        """Write a consistent copy while others go on working."""

    def close(self) -> None:
        """Give up all connections; calling it twice is harmless."""
