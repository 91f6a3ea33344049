"""Conversion between memories, events and rows."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence, Sized
from dataclasses import replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any

from memotherm.model import SCOPE_FIELDS, Event, Memory, Priority, Retention, Scope, Tier, Trust
from memotherm.model.clock import from_micros, to_micros
from memotherm.model.marks import OUTDATED, PERHAPS_OUTDATED, SUPERSEDED_BY
from memotherm.model.memory import SUMMARY, UNREAD_TURN
from memotherm.model.recall import USE_WINDOW
from memotherm.model.value import constructor
from memotherm.storage.values import ChunkLocation, ChunkRow, NoteRow, Record, Use
from memotherm.text.claims import Claim, claims_of
from memotherm.text.words import words
from memotherm.tiers.rules.properties import FILE_SOURCE

TIERS = tuple(Tier)
PRIORITIES = tuple(Priority)
RETENTIONS = tuple(Retention)
TRUSTS = tuple(Trust)

COLUMNS = (
    "no", "id", "space", "content", "kind", "tags", "tier", "priority", "retention", "metadata", "source",
    "tokens", "digest", "created_at", "updated_at", "accessed_at", "expires_at", "access_count", "recent_uses",
    "use_weight", "relevance", "supersedes", "tier_since", "tier_rule", "retention_since", "version",
    "parts", "key", "verified_at", "trust", "valid_from", "valid_until",
)  # fmt: skip

#: The fields whose changes are events. What follows from them (tokens, digest, times) is not listed.
_LEDGER_FIELDS = (
    "content", "kind", "tags", "tier", "tier_rule", "priority", "retention", "scope", "metadata", "source",
    "expires_at", "supersedes", "key", "index", "verified_at", "trust", "valid_from", "valid_until",
)  # fmt: skip
_AXES = ("tier", "priority", "retention")
#: `json.dumps` with these options makes an encoder for every call.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_encode_spaced = json.JSONEncoder(ensure_ascii=False).encode
#: What an event may quote of a memory; gone after a purge.
_QUOTED = ("content", "kind", "tags", "metadata", "source", "key")


_new_memory = constructor(Memory)
#: The fields of a memory but its version, which is the last.
_unversioned = attrgetter(*(name for name in Memory.__dataclass_fields__ if name != "version"))


def row_of(record: Record) -> dict[str, Any]:
    """Return a record as the parameters of a statement."""
    memory = record.memory
    return {
        "no": record.no,
        "id": memory.id,
        "space": record.space,
        "content": memory.content,
        "kind": memory.kind,
        "tags": _encode_spaced(memory.tags) if memory.tags else "",
        "tier": memory.tier.rank,
        "priority": memory.priority.rank,
        "retention": memory.retention.rank,
        "metadata": _encode_spaced(memory.metadata) if memory.metadata else "",
        "source": memory.source,
        "tokens": memory.tokens,
        "digest": bytes.fromhex(memory.digest),
        "created_at": to_micros(memory.created_at),
        "updated_at": to_micros(memory.updated_at),
        "accessed_at": _micros(memory.accessed_at),
        "expires_at": _micros(memory.expires_at),
        "access_count": memory.access_count,
        "recent_uses": memory.recent_uses,
        "use_weight": memory.use_weight,
        "relevance": memory.relevance,
        "supersedes": memory.supersedes,
        "tier_since": to_micros(memory.tier_since),
        "tier_rule": memory.tier_rule,
        "retention_since": to_micros(memory.retention_since),
        "version": memory.version,
        "parts": record.parts,
        "key": memory.key,
        "verified_at": _micros(memory.verified_at),
        "trust": memory.trust.rank,
        "valid_from": _micros(memory.valid_from),
        "valid_until": _micros(memory.valid_until),
    }


def record_of(row: Sequence[Any], scope: Scope) -> Record:
    """Return the record of a row of `COLUMNS`."""
    return Record(row[0], row[2], _memory_of(row, scope), row[26])


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def _memory_of(row: Sequence[Any], scope: Scope) -> Memory:
    """Return the memory of a row of `COLUMNS`."""
    (
        _no, memory_id, _space, content, kind, tags, tier, priority, retention, metadata, source,
        tokens, digest, created_at, updated_at, accessed_at, expires_at, access_count, recent_uses,
        use_weight, relevance, supersedes, tier_since, tier_rule, retention_since, version,
        parts, key, verified_at, trust, valid_from, valid_until,
    ) = row  # fmt: skip
    return _new_memory(
        memory_id,
        content,
        key,
        kind,
        tuple(json.loads(tags)) if tags else (),
        TIERS[tier],
        PRIORITIES[priority],
        RETENTIONS[retention],
        scope,
        json.loads(metadata) if metadata else {},
        source,
        TRUSTS[trust],
        tokens,
        digest.hex(),
        from_micros(created_at),
        from_micros(updated_at),
        None if accessed_at is None else from_micros(accessed_at),
        None if verified_at is None else from_micros(verified_at),
        None if expires_at is None else from_micros(expires_at),
        None if valid_from is None else from_micros(valid_from),
        None if valid_until is None else from_micros(valid_until),
        access_count,
        use_weight,
        recent_uses,
        relevance,
        supersedes,
        from_micros(tier_since),
        tier_rule,
        from_micros(retention_since),
        parts >= 0,
        version,
    )


def with_version(memory: Memory, version: int) -> Memory:
    """Return a memory with another version; every stored memory is one, and `replace` takes five times as long."""
    return _new_memory(*_unversioned(memory), version)


def scope_row(scope: Scope) -> dict[str, str]:
    """Return a scope as parameters; an empty text is a field that is not set."""
    return {name: getattr(scope, name) or "" for name in SCOPE_FIELDS}


def scope_of(row: Sequence[str]) -> Scope:
    """Return the scope of a row of its six fields."""
    return Scope(**{name: value for name, value in zip(SCOPE_FIELDS, row, strict=True) if value})


def created_row(memory: Memory) -> str:
    """Return the changes of the first event of a memory, as an event has them: its initial value on every axis."""
    return _encode(f"{memory.tier} {memory.priority} {memory.retention}")


def note_of(row: Sequence[Any]) -> NoteRow:
    """Return the file of a row of `notes`."""
    note, space, path, hash_, stamp, size, messages, settled, cut, tier = row
    return NoteRow(note, space, path, hash_, stamp, size, messages, bool(settled), cut, TIERS[tier])


def chunk_of(row: Sequence[Any], scope: Scope) -> ChunkRow:
    """Return the chunk of a row: the memory, and the columns of `chunks`."""
    width = len(COLUMNS)
    return ChunkRow(record_of(row[:width], scope), *row[width : width + 4])


def chunk_locations_of(rows: Iterable[Sequence[Any]]) -> dict[int, ChunkLocation]:
    """Return the files and lines of memories, by number."""
    return {no: ChunkLocation(*place) for no, *place in rows}


def changes_between(before: Memory, after: Memory) -> dict[str, tuple[Any, Any]]:
    """Return field -> (before, after) for every field that differs."""
    pairs = ((name, getattr(before, name), getattr(after, name)) for name in _LEDGER_FIELDS)
    return {name: (_encoded(was), _encoded(now)) for name, was, now in pairs if was != now}


def changes_row(changes: Mapping[str, tuple[Any, Any]]) -> str:
    """Return changes as an event has them; of the first one of a memory, only the words on the axes."""
    value: object = changes
    if tuple(changes) == _AXES and all(was is None for was, _ in changes.values()):
        value = " ".join(now for _, now in changes.values())
    return _encode(value)


def changes_of(row: str) -> dict[str, tuple[Any, Any]]:
    """Return the changes that an event has."""
    value = json.loads(row)
    if isinstance(value, str):
        return {name: (None, now) for name, now in zip(_AXES, value.split(), strict=True)}
    return {name: (was, now) for name, (was, now) in value.items()}


def apply_changes(memory: Memory, values: Mapping[str, Any]) -> Memory:
    """Return the memory with fields set to values as an event has them."""
    return replace(memory, **{name: _decoded(name, value) for name, value in values.items()})


def event_of(row: Sequence[Any]) -> Event:
    """Return the event of a row."""
    return Event(
        seq=row[0],
        at=from_micros(row[1]),
        memory_id=row[2],
        action=row[3],
        actor=row[4],
        rule=row[5],
        why=row[6],
        changes=changes_of(row[7]),
        policy=row[8],
    )


def redacted(changes: Mapping[str, tuple[Any, Any]]) -> dict[str, tuple[Any, Any]]:
    """Return the changes without anything that quotes the memory."""
    return {name: pair for name, pair in changes.items() if name not in _QUOTED}


def _encoded(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Scope):
        return dict(value.items())
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, Tier | Priority | Retention | Trust) else value


def _decoded(name: str, value: Any) -> Any:  # noqa: ANN401
    if name == "scope":
        return Scope(**value)
    if name == "tags":
        return tuple(value)
    if name in ("expires_at", "verified_at", "valid_from", "valid_until"):
        return None if value is None else datetime.fromisoformat(value)
    axis = {"tier": Tier, "priority": Priority, "retention": Retention, "trust": Trust}.get(name)
    return axis(value) if axis else value


#: A use of a memory, and its moment in microseconds.
TimedUse = tuple[Use, int]
USE_WINDOW_MICROS = USE_WINDOW // timedelta(microseconds=1)

_ACCESSED, _COUNT, _RECENT, _WEIGHT = (
    COLUMNS.index(name) for name in ("accessed_at", "access_count", "recent_uses", "use_weight")
)


class UnwrittenUses:
    """Uses that the rows of a store lack, by memory and in order of time."""

    def __init__(self, uses: Iterable[TimedUse] = ()) -> None:
        self._of: dict[int, list[TimedUse]] = {}
        self.add(uses)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._of)

    @property
    def nos(self) -> Collection[int]:
        """The memories that were used."""
        return self._of.keys()

    def add(self, uses: Iterable[TimedUse]) -> None:
        """Add uses that are later than those before."""
        for use, at in uses:
            self._of.setdefault(use.no, []).append((use, at))

    def counted_in(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return a row of `COLUMNS` as the statement `memory_use` changes it."""
        uses = self._of.get(row[0])
        if uses is None:
            return row
        fields = list(row)
        for (_, weight), at in uses:
            within = fields[_ACCESSED] is not None and fields[_ACCESSED] > at - USE_WINDOW_MICROS
            fields[_COUNT] += 1
            fields[_ACCESSED] = at
            fields[_RECENT] = weight + (fields[_RECENT] if within else 0)
            fields[_WEIGHT] += weight
        return tuple(fields)

    def totals(self, nos: Iterable[int]) -> list[tuple[int, int, int]]:
        """Return the position of each used memory in `nos`, how often it was used, and the moment of its last use."""
        return [(place, len(uses), uses[-1][1]) for place, no in enumerate(nos) if (uses := self._of.get(no))]


#: For rows that lack nothing.
NO_USES = UnwrittenUses()


def indexed_words(content: str, tags: Iterable[str]) -> str:
    """Return what the text index stores of a memory: the words of its content and tags."""
    tagged = " ".join(tags)
    return " ".join((*words(content), *(words(tagged) if tagged else ())))


def stored_claims(content: str, kind: str, source: str) -> list[Claim]:
    """Return the claims of an active memory that are stored; summaries, unread turns and parts of files have none."""
    return [] if kind in (SUMMARY, UNREAD_TURN) or source.startswith(FILE_SOURCE) else claims_of(content)


def claim_rows(no: int, space: int, claims: Iterable[Claim]) -> list[dict[str, Any]]:
    """Return the claims of a memory as the parameters of a statement."""
    return [{"space": space, "no": no, **claim._asdict()} for claim in claims]


def parts_of(memory: Memory, vectors: Sized | None) -> int:
    """Return how many vectors a memory has, as its row says it."""
    if not memory.index:
        return -1
    return 0 if vectors is None else len(vectors)


def dated(before: Memory, after: Memory, seq: int, now: datetime) -> Memory:
    """Return the memory with the times and the version that follow from its changes."""
    return replace(
        after,
        version=seq,
        # That the statements of a past turn were read changes nothing of what was said.
        updated_at=now if before.kind != UNREAD_TURN and _written(before) != _written(after) else before.updated_at,
        tier_since=now if before.tier is not after.tier else before.tier_since,
        retention_since=now if before.retention is not after.retention else before.retention_since,
    )


#: What others have made of a memory.
_MARKS = frozenset((SUPERSEDED_BY, OUTDATED, PERHAPS_OUTDATED))


def _written(memory: Memory) -> tuple[object, ...]:
    """Return what somebody has written of a memory; that another one has superseded it is not."""
    metadata = {name: value for name, value in memory.metadata.items() if name not in _MARKS}
    return memory.content, memory.kind, memory.tags, metadata, memory.source


def counter_key(record: Record) -> tuple[int, int, int]:
    """Return the counter that counts a memory: space, tier and retention."""
    return record.space, record.memory.tier.rank, record.memory.retention.rank
