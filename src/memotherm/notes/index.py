"""Writes the chunks of a file to the store, in one transaction.

A chunk is identified by the digest of its content. A chunk that only moved keeps its memory. An edited
chunk is a new memory that supersedes the old one and inherits its priority. A removed chunk is erased,
because the store has only a copy of it.
"""

from __future__ import annotations

import functools
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from memotherm.model import Memory, Move, Priority, Retention, Scope, Trust
from memotherm.model.actions import Action
from memotherm.model.clock import new_id
from memotherm.notes.placement import Placement, is_transcript, placements
from memotherm.remember.limits import is_full
from memotherm.settings import Settings
from memotherm.storage.store import Transaction
from memotherm.storage.values import DISCARDED, Cause, ChunkRow, NoteRow, Record
from memotherm.text.chunks import Chunk
from memotherm.text.content import digest
from memotherm.text.tokens import count_tokens
from memotherm.tiers.rules.properties import FILE_SOURCE

_RULE_PREFIX = "note."
#: What the memory of an edited chunk takes over from the one it replaces.
_INHERITED = ("tags", "priority", "accessed_at", "access_count", "recent_uses", "use_weight",
              "relevance", "created_at")  # fmt: skip


@functools.lru_cache(maxsize=1000)
def chunk_digest(chunk: Chunk) -> str:
    """Return the digest that identifies a chunk."""
    return digest(chunk.content)


@dataclass(kw_only=True, slots=True)
class NoteWriter:
    """Writes the notes of one root in one transaction, and counts what it changes."""

    transaction: Transaction
    space: int
    scope: Scope
    settings: Settings
    today: date
    cause: Cause
    chunks_new: int = 0
    chunks_kept: int = 0
    moves: list[Move] = field(default_factory=list)

    def put(self, note: NoteRow, chunks: Sequence[Chunk], vectors: Mapping[str, Any]) -> None:
        """Store a file and its chunks; replace what was stored of it."""
        old = self.transaction.chunks(note.note) if note.note else []
        number = self.transaction.put_note(note)
        self.transaction.set_chunks(number, list(self._put_chunks(note.path, chunks, old, vectors)))

    def drop(self, note: NoteRow) -> None:
        """Delete a file and its chunks from the store."""
        rows = self.transaction.chunks(note.note)
        self.transaction.drop_note(note.note)
        for row in rows:
            self._discard(row.record, "its file is gone")

    def rename(self, note: NoteRow, before: str) -> None:
        """Change the path of a file; its memories stay the same."""
        self.transaction.put_note(note)
        rows = self.transaction.chunks(note.note)
        why = f"renamed from {before}"
        moved = [row._replace(record=self._positioned(note.path, row, why)) for row in rows]
        self.transaction.set_chunks(note.note, moved)
        self.place(note, moved)

    def place(self, note: NoteRow, rows: Sequence[ChunkRow] | None = None) -> None:
        """Move the chunks of a file to the tiers that the rules for notes require now."""
        if rows is None:
            self.transaction.put_note(note)
            rows = self.transaction.chunks(note.note)
        tokens = [row.record.memory.tokens for row in rows]
        for row, placement in zip(rows, placements(note.path, tokens, self.today, self.settings), strict=True):
            self._placed(row.record, placement)

    def restore_scopes(self, paths: Sequence[str]) -> None:
        """Move memories of files that are in another space back to the space and scope of their notes.

        A priority that is full there becomes normal.
        """
        for path in paths:
            cause = replace(self.cause, action=Action.SYNC, rule="note.scope", why=f"part of {path}")
            note = self.transaction.note(self.space, path)
            for row in self.transaction.chunks(note.note) if note is not None else []:
                before = row.record.memory
                after = replace(before, scope=self.scope)
                counted = self.scope.sees(before.scope) or not before.visible_at(cause.at)
                if not counted and is_full(self.transaction, self.scope, before.priority, cause.at, self.settings):
                    after = replace(after, priority=Priority.NORMAL)
                record = self.transaction.change(row.record, after, cause)
                self.transaction.move_to_collection(record, self.space, cause)

    def _put_chunks(
        self, path: str, chunks: Sequence[Chunk], old: Sequence[ChunkRow], vectors: Mapping[str, Any]
    ) -> Iterator[ChunkRow]:
        digests = [chunk_digest(chunk) for chunk in chunks]
        tokens = [count_tokens(chunk.content, self.settings.tokenizer) for chunk in chunks]
        pairs, removed = _matched([row.digest for row in old], digests)
        for index in removed:
            self._discard(old[index].record, "its lines are gone")
        placed = zip(chunks, placements(path, tokens, self.today, self.settings), strict=True)
        for index, (chunk, placement) in enumerate(placed):
            row = old[pairs[index]] if index in pairs else None
            if row is not None and row.digest == digests[index]:
                self.chunks_kept += 1
                moved = row._replace(first=chunk.start, last=chunk.end, heading=chunk.heading)
                yield moved._replace(record=self._placed(self._positioned(path, moved, "its lines moved"), placement))
                continue
            self.chunks_new += 1
            memory = self._memory(path, chunk, tokens[index], placement, None if row is None else row.record.memory)
            if row is not None:
                self._discard(row.record, f"edited: replaced by {memory.id}")
            cause = replace(self.cause, action=Action.SYNC, rule=memory.tier_rule, why=f"from {path}")
            record = self.transaction.insert(self.space, memory, vectors.get(digests[index]), cause)
            yield ChunkRow(record, chunk.start, chunk.end, chunk.heading, digests[index])

    def _memory(self, path: str, chunk: Chunk, tokens: int, placement: Placement, replaced: Memory | None) -> Memory:
        """Return the memory of a chunk, which inherits from an active memory that it replaces."""
        now = self.cause.at
        if replaced is not None and replaced.retention is not Retention.ACTIVE:
            replaced = None
        memory = Memory(
            id=new_id("mem", now),
            content=chunk.content,
            kind="message" if is_transcript(path) else "note",
            tier=placement.tier,
            tier_rule=placement.rule,
            scope=self.scope,
            metadata=_position(path, chunk.start, chunk.end, chunk.heading),
            source=f"{FILE_SOURCE}{path}",
            trust=Trust.DOCUMENT,
            tokens=tokens,
            digest=digest(chunk.content),
            created_at=now,
            updated_at=now,
            tier_since=now,
            retention_since=now,
        )
        if replaced is None:
            return memory
        if replaced.tier_rule == "explicit":
            memory = replace(memory, tier=replaced.tier, tier_rule="explicit")
        return replace(memory, supersedes=replaced.id, **{name: getattr(replaced, name) for name in _INHERITED})

    def _discard(self, record: Record, why: str) -> None:
        if record.memory.retention is not Retention.PURGED:
            self.transaction.discard(record, replace(self.cause, action=Action.PURGE, rule=DISCARDED, why=why))

    def _positioned(self, path: str, row: ChunkRow, why: str) -> Record:
        memory = row.record.memory
        if memory.retention is Retention.PURGED:
            return row.record
        metadata = {**memory.metadata, **_position(path, row.first, row.last, row.heading)}
        after = replace(memory, metadata=metadata, source=f"{FILE_SOURCE}{path}")
        return self.transaction.change(
            row.record, after, replace(self.cause, action=Action.SYNC, rule="note.moved", why=why)
        )

    def _placed(self, record: Record, placement: Placement) -> Record:
        """Move a chunk to its placement, unless something other than the rules for notes decided its tier."""
        memory = record.memory
        by_rule = memory.tier_rule.startswith(_RULE_PREFIX) and memory.retention is Retention.ACTIVE
        if not by_rule or (memory.tier, memory.tier_rule) == (placement.tier, placement.rule):
            return record
        if memory.tier is not placement.tier:
            move = Move(id=memory.id, from_tier=memory.tier, to=placement.tier, rule=placement.rule, why=placement.why)
            self.moves.append(move)
        cause = replace(self.cause, action=Action.MOVE, rule=placement.rule, why=placement.why)
        return self.transaction.change(record, replace(memory, tier=placement.tier, tier_rule=placement.rule), cause)


_POSITION = ("path", "start", "end", "heading")


def _position(path: str, start: int, end: int, heading: str) -> dict[str, Any]:
    return dict(zip(_POSITION, (path, start, end, heading), strict=True))


def _matched(old: Sequence[str], new: Sequence[str]) -> tuple[dict[int, int], list[int]]:
    """Match chunks by their digests; return new index -> old index, and the old indices without a match.

    Equal digests match at any position; the remaining chunks are matched in order.
    """
    top = 0
    while top < min(len(old), len(new)) and old[top] == new[top]:
        top += 1
    unmatched: defaultdict[str, deque[int]] = defaultdict(deque)
    for index in range(top, len(old)):
        unmatched[old[index]].append(index)
    pairs = {index: index for index in range(top)}
    changed = []
    for index in range(top, len(new)):
        if unmatched[new[index]]:
            pairs[index] = unmatched[new[index]].popleft()
        else:
            changed.append(index)
    left = sorted(index for indices in unmatched.values() for index in indices)
    edited = dict(zip(changed, left, strict=False))
    return {**pairs, **edited}, left[len(edited) :]
