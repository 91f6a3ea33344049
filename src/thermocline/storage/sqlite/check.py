"""Does everything in the file agree with everything else?

The memories are the truth. Words, tags, vectors, counters and the ledger are compared with
them; each difference is named exactly, so that a person can see what happened.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from thermocline.model import Priority, Problem, Retention, Tier
from thermocline.storage.sqlite.connect import mapped
from thermocline.storage.sqlite.keys import MEMORY_MASK, text_key, vector_base
from thermocline.storage.sqlite.statements import SQL
from thermocline.storage.sqlite.writing import indexed_words
from thermocline.storage.store import Identity
from thermocline.text.clean import digest

__all__ = ["check", "check_text_structure"]

_TIERS = tuple(Tier)
_PRIORITIES = tuple(Priority)
_RETENTIONS = tuple(Retention)


def check(connection: sqlite3.Connection, identity: Identity | None) -> list[Problem]:
    """Return every disagreement that can be found by reading."""
    return [
        *_structure(connection),
        *_contents(connection),
        *_texts(connection),
        *_tags(connection),
        *_vectors(connection, identity),
        *_counters(connection),
        *_ledger(connection),
        *_chunks(connection),
    ]


def check_text_structure(connection: sqlite3.Connection) -> list[Problem]:
    """Let FTS5 compare its own structures; it does so only where it might also write."""
    problems = []
    for table in ("text_live", "text_cold"):
        try:
            connection.execute(SQL[f"{table}_verify"])
        except sqlite3.DatabaseError as exc:
            problems.append(Problem(code="text_structure", detail=f"the index {table} is damaged: {exc}"))
    return problems


def _structure(connection: sqlite3.Connection) -> Iterator[Problem]:
    with mapped("the store"):
        for (line,) in connection.execute("PRAGMA integrity_check(20)"):
            if line != "ok":
                yield Problem(code="file", detail=line)
        for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check"):
            yield Problem(code="reference", detail=f"row {row} of {table} points to nothing in {parent}")


def _contents(connection: sqlite3.Connection) -> Iterator[Problem]:
    for _, memory_id, _, _, _, retention, content, _, stored, _ in connection.execute(SQL["check_rows"]):
        purged = _RETENTIONS[retention] is Retention.PURGED
        if purged and content:
            yield Problem(code="purge", detail=f"{memory_id} is purged and still has its content")
        if not purged and digest(content) != stored.hex():
            yield Problem(code="digest", detail=f"the content of {memory_id} does not match its digest")


def _texts(connection: sqlite3.Connection) -> Iterator[Problem]:
    """Compare both text indexes with the words of the memories, row by row."""
    ids: dict[int, str] = {}
    expected: dict[str, dict[int, str]] = {"text_live": {}, "text_cold": {}}
    for no, memory_id, space, tier, _, retention, content, tags, _, _ in connection.execute(SQL["check_rows"]):
        ids[no] = memory_id
        if _RETENTIONS[retention] is Retention.ACTIVE:
            place = _TIERS[tier]
            table = "text_cold" if place is Tier.COLD else "text_live"
            words = indexed_words(content, json.loads(tags) if tags else ())
            expected[table][text_key(space, place, no)] = digest(words)
    for table, rows in expected.items():
        for rowid, words in connection.execute(SQL[f"{table}_rows"]):
            named = ids.get(rowid & MEMORY_MASK, "an unknown memory")
            wanted = rows.pop(rowid, None)
            if wanted is None:
                yield Problem(code="text_extra", detail=f"{table} has a row for {named} that should not be there")
            elif wanted != digest(words):
                yield Problem(code="text_words", detail=f"{table} has other words for {named} than its content")
        for rowid in rows:
            yield Problem(code="text_missing", detail=f"{ids[rowid & MEMORY_MASK]} is missing from {table}")


def _tags(connection: sqlite3.Connection) -> Iterator[Problem]:
    indexed = {
        no: {tag for _, tag in rows} for no, rows in groupby(connection.execute(SQL["check_tags"]), itemgetter(0))
    }
    for no, memory_id, _, _, _, _, _, tags, _, _ in connection.execute(SQL["check_rows"]):
        said, found = set(json.loads(tags)) if tags else set(), indexed.get(no, set())
        if said != found:
            yield Problem(code="tags", detail=f"{memory_id} has tags {sorted(said)} and is indexed as {sorted(found)}")


def _vectors(connection: sqlite3.Connection, identity: Identity | None) -> Iterator[Problem]:
    base = vector_base(identity.number if identity else 0)
    for memory_id, said, found in connection.execute(SQL["check_parts"], {"base": base}):
        yield Problem(code="vector_count", detail=f"{memory_id} says {said} vectors and has {found}")
    for (key,) in connection.execute(SQL["check_orphans"]):
        yield Problem(code="vector_orphan", detail=f"vector {key} belongs to no memory")
    for key, length, dimensions in connection.execute(SQL["check_lengths"]):
        yield Problem(code="vector_length", detail=f"vector {key} has {length} bytes for {dimensions} dimensions")


def _counters(connection: sqlite3.Connection) -> Iterator[Problem]:
    for space, tier, retention, said, said_tokens, found, found_tokens in connection.execute(SQL["check_counters"]):
        where = f"space {space}, {_TIERS[tier]}, {_RETENTIONS[retention]}"
        detail = f"{where}: {said} memories with {said_tokens} tokens counted, {found} with {found_tokens} there"
        yield Problem(code="counter", detail=detail)


def _ledger(connection: sqlite3.Connection) -> Iterator[Problem]:
    """Replay each memory's events and compare where they lead with where the memory is."""
    count, first, last = connection.execute(SQL["check_seqs"]).fetchone()
    if count != last - first + 1:
        yield Problem(
            code="ledger_gap", detail=f"{last - first + 1 - count} events between {first} and {last} are gone"
        )
    histories = groupby(connection.cursor().execute(SQL["check_events"]), itemgetter(0))
    pending = next(histories, None)
    for no, memory_id, _, tier, priority, retention, _, _, _, version in connection.execute(SQL["check_rows"]):
        if pending is None or pending[0] != no:
            yield Problem(code="ledger_missing", detail=f"{memory_id} has no events")
            continue
        seqs, state = _replayed(pending[1])
        now = {"tier": _TIERS[tier], "priority": _PRIORITIES[priority], "retention": _RETENTIONS[retention]}
        for axis, value in now.items():
            if state.get(axis) != value:
                detail = f"{memory_id} is {value} and its events lead to {axis} {state.get(axis)}"
                yield Problem(code="ledger_state", detail=detail)
        if version not in seqs:
            yield Problem(
                code="ledger_version", detail=f"{memory_id} has version {version}, which is none of its events"
            )
        pending = next(histories, None)


def _replayed(events: Iterator[tuple[int, int, str]]) -> tuple[set[int], dict[str, str]]:
    seqs: set[int] = set()
    state: dict[str, str] = {}
    for _, seq, changes in events:
        seqs.add(seq)
        state.update({name: after for name, (_, after) in json.loads(changes).items()})
    return seqs, state


def _chunks(connection: sqlite3.Connection) -> Iterator[Problem]:
    """Compare the lists of files with the memories of their chunks."""
    for memory_id, path in connection.execute(SQL["check_chunks"]):
        yield Problem(code="chunk", detail=f"{memory_id} is listed in {path} and is not among its root's memories")
    for memory_id, path in connection.execute(SQL["check_unlisted"]):
        yield Problem(code="chunk", detail=f"{memory_id} says it is from {path} and is not listed there")
