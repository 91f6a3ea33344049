"""Write transactions: the only code that changes memories, on every database.

What is derived from a memory (indexed words, tags, claims, vectors) is changed here with its row and its event.
A subclass for a database adds how numbers are assigned and how the indexes are stored.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memotherm.errors import Forbidden
from memotherm.model import Event, Memory, Priority, Retention, Scope, Tier, Trust
from memotherm.model.actions import Action
from memotherm.model.clock import to_micros
from memotherm.model.marks import author_of
from memotherm.model.results import Adoption
from memotherm.storage.log_erasure import erase_from_logs
from memotherm.storage.recall_log import add_later_use, count_uses
from memotherm.storage.rows import (
    changes_between,
    changes_row,
    chunk_locations_of,
    chunk_of,
    claim_rows,
    counter_key,
    created_row,
    dated,
    event_of,
    note_of,
    parts_of,
    record_of,
    redacted,
    row_of,
    scope_row,
    stored_claims,
    with_version,
)
from memotherm.storage.selections import selected_rows
from memotherm.storage.statements import Statements
from memotherm.storage.tombstones import Tombstones
from memotherm.storage.values import (
    Cause,
    ChunkLocation,
    ChunkRow,
    ClaimRow,
    LaterUse,
    NoteRow,
    Record,
    RootRow,
    UsageCounts,
    Use,
)
from memotherm.text.claims import Claims
from memotherm.text.redaction import secret_values
from memotherm.tiers.rules import Select, Situation

_UNLIMITED = 1 << 62
_EARLIEST = -_UNLIMITED
#: The fields that change when a memory moves to another tier.
_MOVED = {"tier", "tier_rule"}
#: The fields that decide which claims of a memory are stored, and where.
_CLAIMING = {"content", "kind", "source", "scope", "retention"}

Vectors = NDArray[np.float32]


class Transaction(ABC):
    """The operations of one transaction; `scope_of` returns the scope of a space."""

    def __init__(
        self,
        statements: Statements,
        scope_of: Callable[[int], Scope],
        made_by: int | None = None,
    ) -> None:
        self._sql = statements
        self._scope_of = scope_of
        purged, adopted, serving, *begun = self._sql.rows("transaction_begin")[0]
        self._serving = int(serving or 0)
        #: Whether vectors that callers bring belong to the embedder that serves.
        self._accepts_vectors = bool(self._serving) and made_by in (None, self._serving)
        #: The claims of contents, where they are known already.
        self.claims: Mapping[str, Claims] = {}
        self.tombstones = Tombstones(statements, exist=bool(purged))
        #: The number of the last adoption of a policy.
        self.adopted = int(adopted)
        #: The numbers of the scopes and collections that were asked for.
        self._spaces: dict[tuple[Scope, str], int] = {}
        #: What it adds to the counters: memories and tokens by space, tier and retention.
        self._counts: defaultdict[tuple[int, int, int], list[int]] = defaultdict(lambda: [0, 0])
        #: The numbers and ids of the memories that were purged.
        self._erased: dict[int, str] = {}
        #: The contents and tags of the purged memories.
        self._erased_texts: set[str] = set()
        #: Whether a purge with `clean` was made, whose erasure the store finishes after the commit.
        self.purged = False
        #: The spaces whose logs were deleted.
        self.erased_spaces: set[int] = set()
        self._begin(*begun)

    def finish(self) -> None:
        """Update the counters, and erase what the logs say about purged memories; the store calls it at the end."""
        for (space, tier, retention), (memories, tokens) in sorted(self._counts.items()):  # prevents deadlocks
            if memories or tokens:
                values = {"space": space, "tier": tier, "retention": retention}
                self._sql.run("counter_add", **values, memories=memories, tokens=tokens)
        if self._erased:
            erase_from_logs(self._sql, self._erased, self._erased_texts)

    # Reading inside the transaction

    def space(self, scope: Scope, collection: str = "") -> int:
        """Return the number of a scope, or of a collection in it; create it if it is new.

        Raise `Forbidden` if its names say what a person has forgotten.
        """
        number = self._spaces.get((scope, collection))
        if number is None:
            row = {**scope_row(scope), "collection": collection}
            found = self._sql.value("space_find", **row)
            if found is None and self.tombstones.in_names(scope):
                raise Forbidden(
                    "a name in this scope says what a person has forgotten, corrected or purged: use another name"
                )
            number = int(found) if found is not None else self._add_space(row)
            self._spaces[scope, collection] = number
        return number

    def _add_space(self, row: Mapping[str, str]) -> int:
        """Add a scope or collection and return its number, which no other one ever has."""
        return int(self._sql.value("space_add", **row))

    def get(self, memory_id: str) -> Record | None:
        """Return a memory by its id, in any scope."""
        return self._record("memory_by_id", id=memory_id)

    def claims_about(self, spaces: Sequence[int], slots: Collection[int]) -> list[ClaimRow]:
        """Return the claims of active memories in some spaces about some slots."""
        rows = self._sql.rows("claims_about", spaces=list(spaces), slots=list(slots))
        return [ClaimRow(*row) for row in rows]

    def numbered(self, no: int) -> Record | None:
        """Return a memory by its number."""
        return self._record("memory_by_no", no=no)

    def select(self, spaces: Sequence[int], selects: Select, situation: Situation) -> list[Record]:
        """Return the memories that a rule looks at, in order of number."""
        rows = selected_rows(self._sql, spaces, selects, situation, 0, _UNLIMITED)
        return [record_of(row, self._scope_of(row[2])) for row in rows]

    def with_key(self, space: int, key: str) -> Record | None:
        """Return the memory of a space's scope with a key, of any retention."""
        return self._record("memory_by_key", space=space, key=key)

    def prefetch_duplicates(self, digests: Collection[str]) -> None:  # noqa: B027 - for servers
        """Find out at once which contents are stored, before `duplicate` is called for each of them."""

    def duplicate(
        self, space: int, digest: str, kind: str, now: datetime, since: datetime | None = None
    ) -> Record | None:
        """Return the visible memory of a space with the same content and no key, if it was created since a moment."""
        return self._record(
            "memory_duplicate",
            space=space,
            digest=bytes.fromhex(digest),
            kind=kind,
            now=to_micros(now),
            since=_EARLIEST if since is None else to_micros(since),
        )

    def count_priority(self, scope: Scope, priority: Priority, now: datetime) -> int:
        """Return the number of pinned or critical memories that a scope sees."""
        values = {"priority": priority.rank, "now": to_micros(now), **scope_row(scope)}
        return int(self._sql.value("memory_count_of_priority", **values))

    def oldest_of_priority(self, space: int, priority: Priority, now: datetime) -> Record | None:
        """Return the oldest pinned or critical memory of the scope of a space."""
        return self._record("memory_oldest_of_priority", space=space, priority=priority.rank, now=to_micros(now))

    # Changing

    def insert(self, space: int, memory: Memory, vectors: Vectors | None, cause: Cause) -> Record:
        """Store a new memory with its vectors (None = pending) and its event."""
        no, seq = self._next_numbers()
        stored = vectors if self._accepts_vectors and memory.index else None
        record = Record(no, space, with_version(memory, seq), parts_of(memory, stored))
        self._sql.run("memory_add", **row_of(record))
        self._count(record, 1)
        self._add_tags(record)
        self._add_claims(record)
        self._add_turn(record)
        self._index(record)
        if stored is not None:
            self._store_vectors(self._serving, record, stored)
        if memory.retention is Retention.ACTIVE and self.tombstones.drop(record, cause.by):
            cause = replace(cause, why=cause.why or "stored again after it was forgotten or corrected")
        self._append(record.no, seq, cause, created_row(memory))
        return record

    def change(self, record: Record, after: Memory, cause: Cause, vectors: Vectors | None = None) -> Record:
        """Store a changed memory and its event; do nothing if nothing differs."""
        before = record.memory
        changes = changes_between(before, after)
        if not changes:
            return record
        seq = self._next_seq()
        space = self.space(after.scope) if "scope" in changes else record.space
        changed = record._replace(space=space, memory=dated(before, after, seq, cause.at))
        if "content" in changes or "index" in changes:
            changed = self._replace_vectors(changed, vectors)
        # A move writes only the columns of the tier.
        self._sql.run("memory_move" if changes.keys() <= _MOVED else "memory_set", **row_of(changed))
        self._count(record, -1)
        self._count(changed, 1)
        if "tags" in changes:
            self._sql.run("tags_drop", no=record.no)
            self._add_tags(changed)
        if not _CLAIMING.isdisjoint(changes):
            self._drop_claims(record)
            self._add_claims(changed)
        self._reindex(record, changed, words="content" in changes or "tags" in changes)
        self._append(record.no, seq, cause, changes_row(changes))
        if after.retention is Retention.ACTIVE and ("retention" in changes or "content" in changes):
            self.tombstones.drop(changed, cause.by)
        if "tier" in changes:
            self.tally(changed.space, f"move:{cause.rule}")
            if after.tier is Tier.HOT:
                self.tally(changed.space, "promotion")
        return changed

    def purge(self, record: Record, cause: Cause, *, clean: bool = True, secrets: Iterable[str] = ()) -> Record:
        """Erase content, vectors, words and every quotation in the ledger; keep the events and tombstones.

        There is one of each text that it had, and of each secret value: those that are recognized, and `secrets`.
        """
        self.purged |= clean
        self._erased[record.no] = record.memory.id
        events = self.events(record)
        former = (content for event in events for content in event.changes.get("content", ()))
        memory = record.memory
        contents = {memory.content, *former} - {"", None}
        values = set(secrets).union(*map(secret_values, (*contents, json.dumps(memory.metadata, ensure_ascii=False))))
        # What maintenance removes because of its age, an agent may store again.
        asked = cause.rule == "explicit" or any(
            each.action in (Action.FORGET, Action.REJECT) and each.rule == "explicit" for each in events
        )
        self.tombstones.add_values(record, replace(cause, by=Trust.PERSON if asked else cause.by), values)
        for content in contents:
            self.tombstones.add(record, cause, content)
        self._erased_texts.update(contents, memory.tags)
        return self.discard(record, cause)

    def discard(self, record: Record, cause: Cause) -> Record:
        """Like `purge`, for a copy of a file: no tombstone, and free space is not overwritten."""
        erased: dict[str, Any] = {"content": "", "digest": "", "tokens": 0, "tags": (), "metadata": {}, "source": ""}
        # A kind may be any word of the caller.
        bare = replace(record.memory, **erased, kind="fact", key=None, retention=Retention.PURGED)
        purged = self.change(record, bare, cause)
        for event in self.events(record):
            self._sql.run("events_rewrite", seq=event.seq, changes=changes_row(redacted(event.changes)))
        self._drop_vectors(record.no)
        self._sql.run("turn_drop", no=record.no)
        self._sql.run("memory_parts", no=record.no, parts=0)
        return purged

    def touch(self, nos: Iterable[int], now: datetime, weight: float = 1.0) -> None:
        """Count a use of each memory."""
        moment = to_micros(now)
        count_uses(self._sql, [(Use(no, weight), moment) for no in nos])

    def add_later_use(self, later: LaterUse) -> bool:
        """Record and count a use that followed a recall; tell whether it was not recorded before."""
        return add_later_use(self._sql, later)

    def erase_usage(self, spaces: Sequence[int]) -> UsageCounts:
        """Delete recall log, receipts, counters and session states of some spaces, and the reasons of their events."""
        self.purged = True
        self.erased_spaces.update(spaces)
        (counts,) = self._sql.rows("erase_counts", spaces=list(spaces))
        for table in ("recalls", "uses", "receipts", "sessions", "flushes", "injected", "tallies", "reasons"):
            self._sql.run(f"erase_{table}", spaces=list(spaces))
        return UsageCounts(*counts)

    # Notes

    def move_to_collection(self, record: Record, space: int, cause: Cause) -> Record:
        """Move a memory to another collection of its scope."""
        if record.space == space:
            return record
        seq = self._next_seq()
        moved = record._replace(space=space, memory=replace(record.memory, version=seq))
        self._sql.run("memory_set", **row_of(moved))
        self._count(record, -1)
        self._count(moved, 1)
        self._drop_claims(record)
        self._add_claims(moved)
        self._reindex(record, moved, words=False)
        self._append(record.no, seq, cause, changes_row({}))
        return moved

    def put_root(self, root: RootRow) -> None:
        """Store a folder of notes."""
        extra = json.dumps(root.extra, ensure_ascii=False)
        self._sql.run("root_put", space=root.space, path=root.path, extra=extra)

    def drop_root(self, space: int) -> None:
        """Delete a folder that has no notes."""
        self._sql.run("root_drop", space=space)

    def note(self, space: int, path: str) -> NoteRow | None:
        """Return the row of a file."""
        row = self._sql.row("note_get", space=space, path=path)
        return None if row is None else note_of(row)

    def put_note(self, note: NoteRow) -> int:
        """Store the row of a file and return its number; a known number may get another path."""
        values = {**note._asdict(), "settled": int(note.settled), "tier": note.tier.rank}
        known = self._sql.value("note_set", **values) if note.note else None
        return int(known if known is not None else self._sql.value("note_add", **values))

    def drop_note(self, note: int) -> None:
        """Delete the row of a file and of its chunks; the caller deletes their memories."""
        self._sql.run("chunks_drop", note=note)
        self._sql.run("note_drop", note=note)

    def chunks(self, note: int) -> list[ChunkRow]:
        """Return the chunks of a file in order, including memories that are not active."""
        return [chunk_of(row, self._scope_of(row[2])) for row in self._sql.rows("chunks_of", note=note)]

    def set_chunks(self, note: int, chunks: Sequence[ChunkRow]) -> None:
        """Replace the chunks of a file."""
        self._sql.run("chunks_drop", note=note)
        rows = [
            {"note": note, "position": position, "no": chunk.record.no, "first": chunk.first, "last": chunk.last,
             "heading": chunk.heading, "digest": chunk.digest}
            for position, chunk in enumerate(chunks)
        ]  # fmt: skip
        self._sql.run_many("chunk_add", rows)

    def chunk_locations(self, nos: Sequence[int]) -> dict[int, ChunkLocation]:
        """Return the files and lines of memories."""
        return chunk_locations_of(self._sql.rows("chunk_locations", nos=list(nos)))

    def claim_flush(self, space: int, cycle: int | None, *, due: bool) -> bool:
        """Return whether to prompt for a flush in this cycle, and record that it was done.

        A number names the cycle; without one, a cycle ends when a flush is no longer due.
        """
        prompted, armed = self._sql.row("flush_get", space=space) or (-1, 1)
        if cycle is None:
            claimed = due and bool(armed)
            after = (prompted, 0 if due else 1)
        else:
            claimed = due and prompted != cycle
            after = (cycle if claimed else prompted, armed)
        if after != (prompted, armed):
            self._sql.run("flush_put", space=space, cycle=after[0], armed=after[1])
        return claimed

    # Sessions

    def hot_tokens(self, space: int, now: datetime) -> int:
        """Return the number of tokens of the hot memories of a space."""
        return int(self._sql.value("tier_tokens", space=space, tier=Tier.HOT.rank, now=to_micros(now)))

    def list_tier(self, space: int, tier: Tier, now: datetime) -> list[Record]:
        """Return the visible memories of one space in one tier, newest first."""
        return self._records("tier_list", space=space, tier=tier.rank, now=to_micros(now), limit=_UNLIMITED)

    def session_state(self, space: int) -> str | None:
        """Return whether a session is active, archived or summarized; None when it never began."""
        state = self._sql.value("session_state", space=space)
        return None if state is None else str(state)

    def prunable(self, space: int, now: datetime, limit: int) -> list[Record]:
        """Return the cold memories of a space that may be pruned: least relevant and least used first."""
        return self._records(
            "tier_prunable", space=space, now=to_micros(now), limit=limit if limit >= 0 else _UNLIMITED
        )

    def set_relevance(self, no: int, relevance: float) -> None:
        """Set the running relevance of a memory."""
        self._sql.run("relevance_set", no=no, relevance=relevance)

    def set_session(self, space: int, state: str, now: datetime) -> None:
        """Set the state of a session: active, archived or summarized."""
        self._sql.run("session_put", space=space, state=state, now=to_micros(now))

    def tally(self, space: int, name: str, amount: int = 0) -> None:
        """Increment a counter of a space."""
        self._sql.run("tally_add", space=space, name=name, times=1, amount=amount)

    # Policies

    def adopt(self, adoption: Adoption) -> int:
        """Store the policy that is in force from now on, and return its number."""
        row = {name: str(getattr(adoption, name)) for name in ("actor", "action", "name", "hash", "document")}
        self.adopted = self._next_seq()
        self._sql.run("adoption_add", seq=self.adopted, at=to_micros(adoption.at), **row)
        return self.adopted

    def moved_by(self, policy: str) -> list[str]:
        """Return the ids of the memories that rules of a policy have moved."""
        return [memory_id for (memory_id,) in self._sql.rows("events_moved_by", policy=policy)]

    def events(self, record: Record) -> list[Event]:
        """Return the history of one memory, oldest first."""
        return [event_of(row) for row in self._sql.rows("events_of", nos=[record.no])]

    # Vectors

    def add_vectors(self, number: int, no: int, content: str, vectors: Vectors, cause: Cause) -> None:
        """Store the vectors that an embedder made of a content, unless the content has changed since."""
        record = self._record("memory_by_no", no=no)
        if record is None or record.memory.content != content or not content or not record.memory.index:
            return
        self._sql.run("vectors_drop", number=number, no=no)
        self._store_vectors(number, record, vectors)
        if number == self._serving:
            self._sql.run("memory_parts", no=no, parts=len(vectors))
        self._append(no, self._next_seq(), cause, changes_row({}))

    def serve(self, number: int, keep: int | None = None) -> bool:
        """Let an embedder serve searches and delete all other vectors but `keep`'s; False if some are missing."""
        if self._sql.value("vectors_missing_count", number=number):
            return False
        self._sql.run("meta_set", key="embedder", value=str(number))
        if number != self._serving:
            self._serving = number
            for (other,) in self._sql.rows("embedders_all"):
                if other not in (number, keep):
                    self._sql.run("vectors_drop_all", number=other)
            self._sql.run("parts_recount", number=number)
        return True

    # What depends on the database

    @abstractmethod
    def _begin(self, *columns: Any) -> None:  # noqa: ANN401
        """Prepare the transaction, with what its first statement has read for this database."""

    @abstractmethod
    def _next_seq(self) -> int:
        """Return the number of the next event."""

    @abstractmethod
    def _next_numbers(self) -> tuple[int, int]:
        """Return the numbers of the next memory and its event."""

    @abstractmethod
    def _index(self, record: Record) -> None:
        """Add a new memory to the text index."""

    @abstractmethod
    def _reindex(self, record: Record, changed: Record, *, words: bool) -> None:
        """Update the indexes after a change; `words` = the indexed words have changed too."""

    @abstractmethod
    def _store_vectors(self, number: int, record: Record, vectors: Vectors) -> None:
        """Store the vectors of a memory."""

    # Helpers

    def _count(self, record: Record, sign: int) -> None:
        changed = self._counts[counter_key(record)]
        changed[0] += sign
        changed[1] += sign * record.memory.tokens

    def _replace_vectors(self, record: Record, vectors: Vectors | None) -> Record:
        self._drop_vectors(record.no)
        stored = vectors if self._accepts_vectors and record.memory.index else None
        if stored is not None:
            self._store_vectors(self._serving, record, stored)
        return record._replace(parts=parts_of(record.memory, stored))

    def _drop_vectors(self, no: int) -> None:
        """Delete the vectors of a memory, of all embedders."""
        for (number,) in self._sql.rows("embedders_all"):
            self._sql.run("vectors_drop", number=number, no=no)

    def _add_tags(self, record: Record) -> None:
        if record.memory.tags:
            rows = [{"tag": tag, "no": record.no} for tag in record.memory.tags]
            self._sql.run_many("tag_add", rows)

    def _add_claims(self, record: Record) -> None:
        memory = record.memory
        if memory.retention is Retention.ACTIVE:
            known = self.claims.get(memory.content)
            claims = known.claims if known else stored_claims(memory.content, memory.kind, memory.source)
            self._sql.run_many("claim_add", claim_rows(record.no, record.space, claims))

    def _drop_claims(self, record: Record) -> None:
        """Delete the claims of a memory as it was: its content says where they are, without another index."""
        memory = record.memory
        if memory.retention is Retention.ACTIVE:
            claims = stored_claims(memory.content, memory.kind, memory.source)
            place = {"space": record.space, "no": record.no}
            rows = [{**place, "slot": claim.slot, "sentence": claim.sentence} for claim in claims]
            self._sql.run_many("claim_drop", rows)

    def _add_turn(self, record: Record) -> None:
        """Store the author and predecessor of a message, as its metadata or scope name them."""
        memory = record.memory
        author = author_of(memory) if memory.metadata else ""
        thread = str(memory.metadata.get("thread") or memory.scope.session or "") if memory.kind == "message" else ""
        if author or thread:
            previous = self._sql.value("turn_last", space=record.space, thread=thread) if thread else None
            self._sql.run("turn_add", no=record.no, space=record.space, thread=thread, author=author, previous=previous)

    def _append(self, no: int, seq: int, cause: Cause, changes: str) -> None:
        self._sql.run(
            "event_add",
            seq=seq,
            at=to_micros(cause.at),
            no=no,
            action=str(cause.action),
            actor=cause.actor,
            rule=cause.rule,
            why=cause.why,
            changes=changes,
            policy=cause.policy,
        )

    def _record(self, name: str, /, **values: object) -> Record | None:
        return next(iter(self._records(name, **values)), None)

    def _records(self, name: str, /, **values: object) -> list[Record]:
        return [record_of(row, self._scope_of(row[2])) for row in self._sql.rows(name, **values)]
