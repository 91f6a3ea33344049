"""Searches of a store on a PostgreSQL server: words, vectors, and what a recall reads with them in few round trips."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import psycopg
from numpy.typing import NDArray

from memotherm.model import Tier
from memotherm.model.clock import to_micros
from memotherm.storage.filters import compiled_filter
from memotherm.storage.postgres.statements import PostgresStatements, statement
from memotherm.storage.postgres.transaction import queries
from memotherm.storage.statements import Row
from memotherm.storage.values import Identity, Prefetch, Search, TextMatches

Vectors = NDArray[np.float32]

#: How many dimensions an index takes: of whole numbers, and at most, of half ones.
_MOST_WHOLE = 2000
MOST_INDEXED = 4000
#: How wide the index is searched: more finds more, and costs.
_WIDTH = (200, 1000)
#: A long memory has several vectors, so more vectors than memories are asked for.
_VECTORS_PER_MEMORY = 2


def index_live(connection: psycopg.Connection[Row], identity: Identity) -> None:
    """Build the index of an embedder's live vectors while the store is in use.

    An unfinished index of a killed server is built again; of several servers, one builds it.
    """
    marks = _index_marks(identity)
    if marks is None:
        return
    if not connection.execute(statement("vector_index_claim"), {"number": identity.number}).fetchone()[0]:  # type: ignore[index]
        return
    connection.execute(statement("vector_index_drop", marks))
    connection.execute(statement("vector_index", marks))


class Asked(NamedTuple):
    """A statement of a search, and its parameters."""

    name: str
    marks: Mapping[str, object]
    values: Mapping[str, Any]
    #: How wide the index of vectors is searched; None without it.
    width: int | None = None

    def expect(self, statements: PostgresStatements) -> None:
        """Send the statement, whose rows are wanted later."""
        if self.width is not None:
            statements.run_of("vector_care", {"width": self.width})
        statements.expect(self.name, self.marks, **self.values)

    def rows(self, statements: PostgresStatements) -> list[Row]:
        """Return (memory, strength) of the best, best first; a memory counts with its nearest part."""
        if self.width is not None:
            statements.run_of("vector_care", {"width": self.width})
        return statements.rows_of(self.name, self.marks, **self.values)


def strengths(
    statements: PostgresStatements, identity: Identity, vector: Vectors, nos: Sequence[int]
) -> dict[int, float]:
    """Return how near some memories are; those without vectors are left out."""
    asked = np.asarray(vector, np.float32)
    return dict(statements.rows("vector_strengths", vector=asked, number=identity.number, nos=list(nos)))


def of_memories(statements: PostgresStatements, identity: Identity, nos: Sequence[int]) -> dict[int, Vectors]:
    """Return what an embedder has made of some memories; those without vectors are left out."""
    rows = statements.rows("vectors_of_memories", number=identity.number, nos=list(nos)) if nos else []
    return {
        no: np.stack([vector.to_numpy() for _, vector in parts]).astype(np.float32)
        for no, parts in groupby(rows, itemgetter(0))
    }


def _index_marks(identity: Identity) -> dict[str, object] | None:
    """Return what names an embedder's index in a statement; None where it cannot have one."""
    if not 0 < identity.dimensions <= MOST_INDEXED:
        return None
    kind = "vector" if identity.dimensions <= _MOST_WHOLE else "halfvec"
    return {"number": identity.number, "dimensions": identity.dimensions, "type": kind}


#: How many fields of a row of `candidate_memories` are those of a candidate; a whole memory follows.
CANDIDATE_FIELDS = 11

_LIVE = (Tier.HOT, Tier.WARM)


class RecallRows:
    """What a recall has read in its snapshot and reads again, by the number of the memory."""

    def __init__(self, prefetch: Prefetch) -> None:
        self.prefetch = prefetch
        #: The pinned memories, which are candidates as well.
        self.pinned: set[int] = set()
        #: How near the memories are whose vectors were compared; NaN for those without vectors.
        self.strengths: dict[int, float] = {}
        self._candidates: dict[int, Row] = {}
        self._asked: set[int] = set()

    def candidates(self, statements: PostgresStatements, nos: Sequence[int]) -> list[Row]:
        """Return the rows of those candidates that are active.

        One message also asks for the pinned memories, and how near those are that the search by vector has not found.
        """
        new = [no for no in dict.fromkeys((*nos, *self.pinned)) if no not in self._asked]
        if new:
            self._asked.update(new)
            values = {"nos": new, "now": to_micros(self.prefetch.search.now)}
            statements.expect("candidate_memories", **values)
            asked, uncompared = self.prefetch, [no for no in new if no not in self.strengths]
            if uncompared and asked.vector is not None and asked.by is not None:
                compared = strengths(statements, asked.by, asked.vector, uncompared)
                self.strengths |= dict.fromkeys(uncompared, math.nan) | compared
            self._candidates |= {row[0]: row for row in statements.rows("candidate_memories", **values)}
        wanted = {*nos}
        return [row for no, row in self._candidates.items() if no in wanted]

    def memories(self, nos: Iterable[int]) -> dict[int, Row]:
        """Return the rows of those whole memories that were candidates."""
        return {no: self._candidates[no][CANDIDATE_FIELDS:] for no in nos if no in self._candidates}

    def similarities(self, nos: Iterable[int]) -> dict[int, float] | None:
        """Return how near some memories are, without those that have no vectors; None if not all were compared."""
        found = {no: self.strengths.get(no) for no in nos}
        if None in found.values():
            return None
        return {no: strength for no, strength in found.items() if strength is not None and not math.isnan(strength)}


def _bands(tiers: Sequence[Tier]) -> Iterator[tuple[str, list[int]]]:
    """Yield the bands of some tiers, each with the ranks of its tiers."""
    live = [tier.rank for tier in tiers if tier in _LIVE]
    if live:
        yield "live", live
    if Tier.COLD in tiers:
        yield "cold", [Tier.COLD.rank]


def _by_words(
    statements: PostgresStatements,
    band: str,
    ranks: list[int],
    search: Search,
    words: Sequence[str],
    limit: int,
    others: Mapping[int, int] | None = None,
) -> Asked:
    """Return how the memories of a band (with the ranks of its tiers) that have some of the words are found.

    `others` is how many memories of the other band have each word, by its position.
    """
    marks, filtered = _filtered(statements, search)
    counts = others or {}
    values = {
        "spaces": list(search.spaces),
        "tiers": ranks,
        "all_tiers": [tier.rank for tier in search.tiers],
        "scoped": queries(words, search.spaces),
        "others": [counts.get(position, 0) for position in range(1, len(words) + 1)],
        "limit": limit,
        **filtered,
    }
    return Asked(f"text_search_{band}", marks, values)


def by_vector(
    statements: PostgresStatements,
    identity: Identity,
    search: Search,
    vector: Vectors,
    limit: int,
    *,
    exact: bool,
) -> Asked:
    """Return how the memories with the nearest vectors are found; `exact` compares all vectors, without the index."""
    filter_marks, filtered = _filtered(statements, search)
    index = _index_marks(identity)
    values = {"vector": np.asarray(vector, np.float32), "limit": limit, "spaces": list(search.spaces)}
    values |= {"tiers": [tier.rank for tier in search.tiers], **filtered}
    if exact or index is None:
        return Asked("vector_exact", filter_marks, {**values, "number": identity.number})
    wanted = _VECTORS_PER_MEMORY * limit
    least, most = _WIDTH
    return Asked("vector_near", index, {**values, "wanted": wanted}, max(least, min(most, wanted)))


def expect(statements: PostgresStatements, prefetch: Prefetch, *, exact: bool | None) -> None:
    """Send the statements of a search, whose rows are wanted soon, and wait for them.

    `exact` is whether all vectors are compared, and None if that is not known yet.
    """
    search, words, limit = prefetch.search, prefetch.words, prefetch.limit
    spaces, tiers = list(search.spaces), [tier.rank for tier in search.tiers]
    statements.expect("pinned", spaces=list(prefetch.pinned_spaces), now=to_micros(search.now))
    if prefetch.pending:
        statements.expect("pending_in", spaces=spaces)
    if spaces and tiers:
        statements.expect("count_in", spaces=spaces, tiers=tiers)
        searched = list(_bands(search.tiers)) if words else []
        if len(searched) == 1:
            _by_words(statements, *searched[0], search, words, limit).expect(statements)
        if prefetch.vector is not None and prefetch.by is not None and exact is not None:
            by_vector(statements, prefetch.by, search, prefetch.vector, limit, exact=exact).expect(statements)
    statements.wait()


def text_matches(statements: PostgresStatements, search: Search, words: Sequence[str], limit: int) -> TextMatches:
    """Return the best keyword matches, strongest first, newest first among equals."""
    searched, spaces = list(_bands(search.tiers)), list(search.spaces)
    total = int(statements.value_once("count_in", spaces=spaces, tiers=[tier.rank for tier in search.tiers]))
    counted: dict[str, Counter[int]] = {}
    if len(searched) > 1:
        # What a word weighs depends on all bands.
        asked = {"spaces": spaces, "scoped": queries(words, spaces)}
        for band, ranks in searched:
            counted[band] = Counter(dict(statements.rows(f"text_frequencies_{band}", tiers=ranks, **asked)))
    rows: list[Row] = []
    frequencies = Counter[int]()
    for band, ranks in searched:
        others = sum((counts for other, counts in counted.items() if other != band), Counter[int]())
        found = _by_words(statements, band, ranks, search, words, limit, others).rows(statements)
        rows += [row for row in found if row[0] > 0]
        frequencies.update({-no: int(count) for no, count in found if no < 0})
    ranked = sorted(rows, key=lambda row: (-row[1], -row[0]))
    return TextMatches(
        dict(ranked[:limit]), total, {word: frequencies[position] for position, word in enumerate(words, 1)}
    )


def _filtered(statements: PostgresStatements, search: Search) -> tuple[dict[str, object], dict[str, object]]:
    """Return the conditions of a search as the marks and the parameters of a search."""
    conditions, values = compiled_filter(statements, search)
    marks: dict[str, object] = {"any": "false" if search.selective else "true", "conditions": conditions}
    return marks, {"now": to_micros(search.now), **values}
