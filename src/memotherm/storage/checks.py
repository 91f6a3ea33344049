"""Consistency checks that every SQL store runs.

Text index, tags, claims, vectors, counters and ledger are compared with the rows of the memories; each difference is
one problem.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from memotherm.model import Retention, Tier
from memotherm.model.results import Problem
from memotherm.storage.rows import PRIORITIES, RETENTIONS, TIERS, changes_of, indexed_words, stored_claims
from memotherm.storage.statements import Statements
from memotherm.storage.values import Identity
from memotherm.text.content import digest


class Indexed(NamedTuple):
    """The position of a memory's words in a text index."""

    table: str
    space: int
    tier: Tier
    no: int


def memories(statements: Statements, indexed: Iterable[tuple[Indexed, str]]) -> Iterator[Problem]:
    """Compare contents with their digests, and the indexes of tags and words with the memories, row by row."""
    tags = {no: {tag for _, tag in rows} for no, rows in groupby(statements.each("check_tags"), itemgetter(0))}
    ids: dict[int, str] = {}
    expected: dict[Indexed, str] = {}
    claims = {no: {row[1:] for row in rows} for no, rows in groupby(statements.each("check_claims"), itemgetter(0))}
    for no, memory_id, space, tier, _, retention, content, carried, stored, _, kind, source in statements.each(
        "check_rows"
    ):
        ids[no] = memory_id
        made = stored_claims(content, kind, source) if RETENTIONS[retention] is Retention.ACTIVE else ()
        if {(space, claim.slot, claim.sentence, claim.value) for claim in made} != claims.get(no, set()):
            yield Problem(code="claims", detail=f"the stored claims of {memory_id} are not those of its content")
        own_tags, indexed_tags = json.loads(carried) if carried else (), tags.get(no, set())
        if set(own_tags) != indexed_tags:
            detail = f"{memory_id} has tags {sorted(own_tags)} and is indexed as {sorted(indexed_tags)}"
            yield Problem(code="tags", detail=detail)
        if RETENTIONS[retention] is Retention.PURGED:
            if content:
                yield Problem(code="purge", detail=f"{memory_id} is purged and still has its content")
        elif digest(content) != stored.hex():
            yield Problem(code="digest", detail=f"the content of {memory_id} does not match its digest")
        if RETENTIONS[retention] is Retention.ACTIVE:
            current = TIERS[tier]
            table = "text_cold" if current is Tier.COLD else "text_live"
            expected[Indexed(table, space, current, no)] = digest(indexed_words(content, own_tags))
    yield from _texts(indexed, expected, ids)


def _texts(
    indexed: Iterable[tuple[Indexed, str]], expected: dict[Indexed, str], ids: dict[int, str]
) -> Iterator[Problem]:
    """Compare the text indexes with the digests of the words that they are to have."""
    for row, words in indexed:
        named = ids.get(row.no, "an unknown memory")
        wanted = expected.pop(row, None)
        if wanted is None:
            yield Problem(code="text_extra", detail=f"{row.table} has a row for {named} that should not be there")
        elif wanted != digest(words):
            yield Problem(code="text_words", detail=f"{row.table} has other words for {named} than its content")
    for row in expected:
        yield Problem(code="text_missing", detail=f"{ids[row.no]} is missing from {row.table}")


def vectors(statements: Statements, identity: Identity | None) -> Iterator[Problem]:
    """Compare the serving embedder's vectors with the memories that they belong to."""
    for memory_id, expected, actual in statements.rows("check_parts", number=identity.number if identity else 0):
        yield Problem(code="vector_count", detail=f"{memory_id} says {expected} vectors and has {actual}")
    for (key,) in statements.rows("check_orphans"):
        yield Problem(code="vector_orphan", detail=f"vector {key} belongs to no memory")
    for key, length, dimensions in statements.rows("check_lengths"):
        yield Problem(code="vector_length", detail=f"vector {key} has {length} bytes for {dimensions} dimensions")


def counters(statements: Statements) -> Iterator[Problem]:
    """Compare the counters with what they count."""
    for space, tier, retention, counted, counted_tokens, actual, actual_tokens in statements.each("check_counters"):
        where = f"space {space}, {TIERS[tier]}, {RETENTIONS[retention]}"
        detail = (
            f"{where}: {counted} memories with {counted_tokens} tokens counted, {actual} with {actual_tokens} there"
        )
        yield Problem(code="counter", detail=detail)


def ledger(statements: Statements) -> Iterator[Problem]:
    """Replay the events of every memory and compare the result with the memory."""
    histories = groupby(statements.each("check_events"), itemgetter(0))
    pending = next(histories, None)
    for no, memory_id, _, tier, priority, retention, _, _, _, version, *_ in statements.each("check_rows"):
        if pending is None or pending[0] != no:
            yield Problem(code="ledger_missing", detail=f"{memory_id} has no events")
            continue
        seqs: set[int] = set()
        state: dict[str, str] = {}
        for _, seq, changes in pending[1]:
            seqs.add(seq)
            state.update({name: after for name, (_, after) in changes_of(changes).items()})
        now = {"tier": TIERS[tier], "priority": PRIORITIES[priority], "retention": RETENTIONS[retention]}
        for axis, value in now.items():
            if state.get(axis) != value:
                detail = f"{memory_id} is {value} and its events lead to {axis} {state.get(axis)}"
                yield Problem(code="ledger_state", detail=detail)
        if version not in seqs:
            yield Problem(
                code="ledger_version", detail=f"{memory_id} has version {version}, which is none of its events"
            )
        pending = next(histories, None)


def chunks(statements: Statements) -> Iterator[Problem]:
    """Compare the lists of files with the memories of their chunks."""
    for memory_id, path in statements.each("check_chunks"):
        yield Problem(code="chunk", detail=f"{memory_id} is listed in {path} and is not among its root's memories")
    for memory_id, path in statements.each("check_unlisted"):
        yield Problem(code="chunk", detail=f"{memory_id} says it is from {path} and is not listed there")
