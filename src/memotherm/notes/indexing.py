"""One file's chunks in the store: what stays, what is new, what goes, in one transaction.

A chunk is known by its content. One that only moved keeps its memory; one that was edited is a new
memory that supersedes the old one and inherits its priority; one that is gone is erased, because the
store had only a copy of it. A list item that is linked to a memory changes that memory.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from memotherm.model import Memory, Move, Retention, Scope
from memotherm.model.ids import new_id
from memotherm.notes.placement import Resting, is_transcript, resting
from memotherm.remember.changes import with_content
from memotherm.settings import Settings
from memotherm.storage.contract import Transaction
from memotherm.storage.values import Cause, ChunkRow, NoteRow, Record
from memotherm.text.clean import digest
from memotherm.text.markdown import Chunk
from memotherm.text.tokens import count_tokens

__all__ = ["SOURCE", "Outcome", "Shelf", "key_of"]

#: How the source of a memory begins whose truth is a file.
SOURCE = "file:"
_RULES = "note."


def key_of(chunk: Chunk) -> str:
    """Return the digest that a chunk is known by: of what is stored, or of what a linked item says."""
    return digest(chunk.text if chunk.memory_id else chunk.content)


@dataclass(slots=True)
class Outcome:
    """What indexing some files came to."""

    new: int = 0
    kept: int = 0
    moves: list[Move] = field(default_factory=list)
    unlinked: list[str] = field(default_factory=list)
    #: (path, first line, last line) of what was purged here and stays away.
    purged: list[tuple[str, int, int]] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True, slots=True)
class Shelf:
    """The notes of one root in one transaction."""

    transaction: Transaction
    space: int
    scope: Scope
    settings: Settings
    today: date
    cause: Cause
    outcome: Outcome

    def put(self, note: NoteRow, chunks: Sequence[Chunk], vectors: Mapping[str, Any]) -> None:
        """Store a file and its chunks in place of what was known of it."""
        chunks = self._allowed(note.path, chunks)
        old = self.transaction.chunks(note.note) if note.note else []
        number = self.transaction.put_note(note)
        linked = {row.record.memory.id: row for row in old if row.linked}
        plain = [row for row in old if not row.linked]
        mine: set[str] = set()
        rows: list[ChunkRow | None] = []
        rest: list[Chunk] = []
        for chunk in chunks:
            record = self._linkable(chunk, number, mine) if chunk.memory_id else None
            if record is None:
                rest.append(chunk)
                rows.append(None)
            else:
                mine.add(record.memory.id)
                rows.append(self._link(note.path, chunk, record, linked.get(record.memory.id), vectors))
        self._unlink([row for memory_id, row in linked.items() if memory_id not in mine])
        placed = iter(list(self._plain(note.path, rest, plain, vectors)))
        self.transaction.set_chunks(number, [next(placed) if row is None else row for row in rows])

    def _allowed(self, path: str, chunks: Sequence[Chunk]) -> list[Chunk]:
        """Return the chunks without those whose content was purged: the file may say it, the store does not."""
        buried = self.transaction.purged_digests(self.scope, {key_of(chunk) for chunk in chunks})
        self.outcome.purged += [(path, chunk.start, chunk.end) for chunk in chunks if key_of(chunk) in buried]
        return [chunk for chunk in chunks if key_of(chunk) not in buried]

    def drop(self, note: NoteRow) -> None:
        """Take a file and everything it said out of the store."""
        rows = self.transaction.chunks(note.note)
        self.transaction.drop_note(note.note)
        self._unlink([row for row in rows if row.linked])
        for row in rows:
            if not row.linked:
                self._discard(row.record, "its file is gone")

    def rename(self, note: NoteRow, before: str) -> None:
        """Let a file have another path; its memories stay the same ones."""
        self.transaction.put_note(note)
        rows = self.transaction.chunks(note.note)
        why = f"renamed from {before}"
        moved = [row._replace(record=self._positioned(note.path, row, why)) for row in rows]
        self.transaction.set_chunks(note.note, moved)
        self.rest(note, moved)

    def rest(self, note: NoteRow, rows: Sequence[ChunkRow] | None = None) -> None:
        """Put the chunks of a file where the rules want them now."""
        if rows is None:
            self.transaction.put_note(note)
            rows = self.transaction.chunks(note.note)
        plain = [row for row in rows if not row.linked]
        places = resting(note.path, [row.record.memory.tokens for row in plain], self.today, self.settings)
        for row, place in zip(plain, places, strict=True):
            self._rested(row.record, place)

    # Plain chunks

    def _plain(
        self, path: str, chunks: Sequence[Chunk], old: Sequence[ChunkRow], vectors: Mapping[str, Any]
    ) -> Iterator[ChunkRow]:
        keys = [key_of(chunk) for chunk in chunks]
        tokens = [count_tokens(chunk.content, self.settings.tokenizer) for chunk in chunks]
        pairs, gone = _aligned([row.digest for row in old], keys)
        for place in gone:
            self._discard(old[place].record, "its lines are gone")
        places = resting(path, tokens, self.today, self.settings)
        for number, (chunk, where) in enumerate(zip(chunks, places, strict=True)):
            before = pairs.get(number)
            row = None if before is None else old[before]
            if row is not None and row.digest == keys[number]:
                yield self._kept(path, chunk, row, where)
            else:
                yield self._new(path, chunk, row, where, vectors.get(keys[number]))

    def _kept(self, path: str, chunk: Chunk, row: ChunkRow, where: Resting) -> ChunkRow:
        self.outcome.kept += 1
        moved = row._replace(first=chunk.start, last=chunk.end, heading=chunk.heading)
        record = self._rested(self._positioned(path, moved, "its lines moved"), where)
        return moved._replace(record=record)

    def _new(self, path: str, chunk: Chunk, before: ChunkRow | None, where: Resting, vectors: Any) -> ChunkRow:  # noqa: ANN401
        self.outcome.new += 1
        was = None if before is None else before.record.memory
        memory = self._memory(path, chunk, where, was)
        if before is not None:
            self._discard(before.record, f"edited: replaced by {memory.id}")
        cause = replace(self.cause, action="sync", rule=memory.tier_rule, why=f"from {path}")
        record = self.transaction.insert(self.space, memory, vectors, cause)
        return ChunkRow(record, chunk.start, chunk.end, chunk.heading, key_of(chunk), linked=False)

    def _memory(self, path: str, chunk: Chunk, where: Resting, was: Memory | None) -> Memory:
        """Return the memory of a chunk; what people decided about its predecessor goes on."""
        now = self.cause.at
        active = was is not None and was.retention is Retention.ACTIVE
        explicit = was is not None and active and was.tier_rule == "explicit"
        memory = Memory(
            id=new_id("mem", now),
            content=chunk.content,
            kind="message" if is_transcript(path) else "note",
            tier=was.tier if was is not None and explicit else where.tier,
            tier_rule="explicit" if explicit else where.rule,
            scope=self.scope,
            metadata=_position(path, chunk.start, chunk.end, chunk.heading),
            source=f"{SOURCE}{path}",
            tokens=count_tokens(chunk.content, self.settings.tokenizer),
            digest=digest(chunk.content),
            created_at=now,
            updated_at=now,
            tier_since=now,
            retention_since=now,
        )
        if was is None or not active:
            return memory
        return replace(
            memory,
            tags=was.tags,
            priority=was.priority,
            accessed_at=was.accessed_at,
            access_count=was.access_count,
            recent_uses=was.recent_uses,
            relevance=was.relevance,
            supersedes=was.id,
            created_at=was.created_at,
        )

    def _discard(self, record: Record, why: str) -> None:
        if record.memory.retention is not Retention.PURGED:
            self.transaction.discard(record, replace(self.cause, action="purge", rule="note.gone", why=why))

    def _positioned(self, path: str, row: ChunkRow, why: str) -> Record:
        """Let a memory say where it stands now."""
        memory = row.record.memory
        if memory.retention is Retention.PURGED:
            return row.record
        metadata = {**memory.metadata, **_position(path, row.first, row.last, row.heading)}
        source = memory.source if row.linked else f"{SOURCE}{path}"
        after = replace(memory, metadata=metadata, source=source)
        return self.transaction.change(
            row.record, after, replace(self.cause, action="sync", rule="note.moved", why=why)
        )

    def _rested(self, record: Record, where: Resting) -> Record:
        """Move a chunk that stands where the rules had put it, if they now say otherwise."""
        memory = record.memory
        ruled = memory.tier_rule.startswith(_RULES) and memory.retention is Retention.ACTIVE
        if not ruled or (memory.tier, memory.tier_rule) == (where.tier, where.rule):
            return record
        if memory.tier is not where.tier:
            move = Move(id=memory.id, from_tier=memory.tier, to=where.tier, rule=where.rule, why=where.why)
            self.outcome.moves.append(move)
        cause = replace(self.cause, action="move", rule=where.rule, why=where.why)
        return self.transaction.change(record, replace(memory, tier=where.tier, tier_rule=where.rule), cause)

    # Linked list items

    def _linkable(self, chunk: Chunk, note: int, mine: set[str]) -> Record | None:
        """Return the memory that an item may be linked to: one of this scope that is nowhere else."""
        record = self.transaction.get(chunk.memory_id)
        if record is None or record.memory.retention is Retention.PURGED or record.memory.id in mine:
            return None
        own = record.memory.scope == self.scope and not record.memory.source.startswith(SOURCE)
        return record if own and not self.transaction.is_linked_elsewhere(record.no, note) else None

    def _link(
        self, path: str, chunk: Chunk, record: Record, row: ChunkRow | None, vectors: Mapping[str, Any]
    ) -> ChunkRow:
        """Bring an item and its memory together, as far as only one of them has changed."""
        written, agreed = key_of(chunk), row.digest if row is not None else ""
        memory = record.memory
        if written == memory.digest:
            agreed = written
        elif memory.digest == agreed and memory.retention is Retention.ACTIVE:
            cause = replace(self.cause, action="update", rule="note.edited", why=f"edited in {path}")
            after = with_content(memory, chunk.text, self.settings.tokenizer)
            record = self.transaction.change(record, after, cause, vectors.get(written))
            agreed = written
        if row is None or row.digest != agreed:
            self.outcome.new += 1
        else:
            self.outcome.kept += 1
        why = f"a list item of {path}"
        record = self.transaction.move_to_collection(
            record, self.space, replace(self.cause, action="link", rule="note.link", why=why)
        )
        placed = ChunkRow(record, chunk.start, chunk.end, chunk.heading, agreed, linked=True)
        return placed._replace(record=self._positioned(path, placed, why))

    def _unlink(self, rows: Sequence[ChunkRow]) -> None:
        """Let memories whose item is gone live on by themselves."""
        home = self.transaction.space(self.scope) if rows else 0
        for row in rows:
            why = "its list item is gone"
            cause = replace(self.cause, action="unlink", rule="note.unlink", why=why)
            record = self.transaction.move_to_collection(row.record, home, cause)
            memory = record.memory
            if memory.retention is not Retention.PURGED:
                kept = {name: value for name, value in memory.metadata.items() if name not in _POSITION}
                self.transaction.change(record, replace(memory, metadata=kept), cause)
            self.outcome.unlinked.append(memory.id)


_POSITION = ("path", "start", "end", "heading")


def _position(path: str, start: int, end: int, heading: str) -> dict[str, Any]:
    return dict(zip(_POSITION, (path, start, end, heading), strict=True))


def _aligned(old: Sequence[str], new: Sequence[str]) -> tuple[dict[int, int], list[int]]:
    """Return new -> old for chunks that belong together, and the old ones that are left over.

    The same content belongs together wherever it went; what is left is paired in order.
    """
    top = 0
    while top < min(len(old), len(new)) and old[top] == new[top]:
        top += 1
    waiting: defaultdict[str, deque[int]] = defaultdict(deque)
    for place in range(top, len(old)):
        waiting[old[place]].append(place)
    pairs = {number: number for number in range(top)}
    changed = []
    for number in range(top, len(new)):
        if waiting[new[number]]:
            pairs[number] = waiting[new[number]].popleft()
        else:
            changed.append(number)
    left = sorted(place for places in waiting.values() for place in places)
    paired = dict(zip(changed, left, strict=False))
    return {**pairs, **paired}, left[len(paired) :]
