"""The named statements of SQLite, how they are run, and keys made of bits.

With bits as keys, a scope, a tier or an embedder is one range of an index:

text index:  space (25 bits) | tier (2) | memory (36)
vectors:     embedder (7)    | memory (36) | part (20)
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from memotherm.model import Tier
from memotherm.storage.rows import UnwrittenUses
from memotherm.storage.statements import Marks, Row, Statements, load_templates, marked

#: The statements by name. Keys have no tenant column, and some statements name their index for the planner.
_MARKS: Marks = {
    "table": lambda *name_and_alias: " ".join(name_and_alias),
    "in": lambda name: f"IN (SELECT value FROM json_each(:{name}))",  # noqa: S608 - a name of ours
    "own": lambda _="": "",
    "same": lambda *_: "",
    "key": lambda _="": "",
    "index": lambda name: f"INDEXED BY {name}",
    "cross": lambda: "CROSS JOIN",
    "made": lambda v, m: (
        f"{v}.key BETWEEN (:number << 56) + ({m}.no << 20) AND (:number << 56) + ({m}.no << 20) + 1048575"
    ),
    "elements": lambda column: f"json_each({column}) AS element",
    "number": lambda: "element.value",
    "item": lambda place: f"json_extract(element.value, '$[{place}]')",
    "contains": lambda column, text: f"instr({column}, :{text})",
}


def _statements() -> Iterator[tuple[str, str]]:
    for name, template in load_templates("sqlite").items():
        if template.count("text"):
            for index in ("text_live", "text_cold"):
                marks = {**_MARKS, "text": lambda index=index: index}
                yield name.replace("text", index, 1), template.filled(marks)
        else:
            yield name, template.filled(_MARKS)


SQL = dict(_statements())

_LISTS = frozenset({list, tuple})
_PARAMETER = re.compile(r":([a-z_]+)")
_MEMORY_BITS = 36
_TIER_BITS = 2
PART_BITS = 20
MEMORY_MASK = (1 << _MEMORY_BITS) - 1

#: A statement that changes a text index, and its parameters.
TextChange = tuple[str, dict[str, object]]


class Moment(NamedTuple):
    """A state of the store: the newest event, and how many transactions have counted uses. Neither ever decreases."""

    seq: int
    counted: int


class CountedUses(NamedTuple):
    """The uses that a transaction has counted, and its number among those of all processes that did."""

    number: int
    uses: UnwrittenUses


class Assigned:
    """The highest numbers that this process has assigned: those of a transaction that fails are not assigned again."""

    space = 0
    memory = 0


class SqliteStatements(Statements):
    """The statements on one connection, in one transaction."""

    def __init__(
        self, connection: sqlite3.Connection, *, committed: bool = False, assigned: Assigned | None = None
    ) -> None:
        self.connection = connection
        self.committed = committed
        self.assigned = assigned or Assigned()
        #: What a write transaction has counted, and what it changes in the text indexes before the commit.
        self.counted: list[CountedUses] = []
        self.text_changes: list[TextChange] = []
        self._moment: Moment | None = None
        #: The memories that were changed since an event, up to that moment.
        self._changed: dict[int, list[int]] = {}
        #: For spaces, tiers and a time: how many memories there are, and whether any of the spaces has expired ones.
        self.searched: dict[tuple[tuple[int, ...], tuple[Tier, ...], datetime], tuple[int, bool]] = {}
        #: At that moment: the last adoption of a policy.
        self.adopted = 0

    def rows(self, name: str, /, **values: object) -> list[Row]:
        """Return all rows of a statement."""
        return self.connection.execute(SQL[name], _adapted(values)).fetchall()

    def rows_of(self, name: str, marks: Mapping[str, object], /, **values: object) -> list[Row]:
        """Return all rows of a statement whose text depends on names or conditions of ours."""
        return self.connection.execute(marked(SQL[name], marks), _adapted(values)).fetchall()

    def fragment(self, name: str, suffix: str) -> str:
        """Return the text of a condition, with a suffix behind the names of its parameters."""
        return _PARAMETER.sub(rf":\1{suffix}", SQL[name])

    def each(self, name: str, /, **values: object) -> Iterator[Row]:
        """Iterate over the rows of a statement."""
        return self.connection.cursor().execute(SQL[name], _adapted(values))

    def run(self, name: str, /, **values: object) -> None:
        """Run a statement and discard its rows."""
        self.connection.execute(SQL[name], _adapted(values))

    def run_many(self, name: str, rows: Sequence[Mapping[str, object]]) -> None:
        """Run a statement once for every row of parameters."""
        if rows:
            self.connection.executemany(SQL[name], rows)

    def moment(self) -> Moment:
        """Return the state that a read transaction sees; it is read once."""
        if self._moment is None:
            ((seq, counted, self.adopted),) = self.rows("moment")
            self._moment = Moment(seq, counted)
        return self._moment

    def changed_since(self, seq: int) -> list[int]:
        """Return the memories that were changed after an event, as a read transaction sees them; they are read once."""
        changed = self._changed.get(seq)
        if changed is None:
            changed = self._changed[seq] = [no for (no,) in self.rows("events_changed_since", seq=seq)]
        return changed

    def note_uses(self, uses: UnwrittenUses) -> None:
        """Number the uses that were counted, so that the projections of all processes notice them."""
        self.counted.append(CountedUses(self.value("uses_counted"), uses))

    def change_text(self) -> None:
        """Change the text indexes in order: at the end, because SQLite writes a part of them at every savepoint."""
        for name, same in groupby(self.text_changes, key=itemgetter(0)):
            self.connection.executemany(SQL[name], [values for _, values in same])
        self.text_changes.clear()


def _adapted(values: dict[str, object]) -> dict[str, object]:
    """Return the parameters with lists as JSON."""
    if not _LISTS.isdisjoint(map(type, values.values())):
        values |= {name: _json(value) for name, value in values.items() if isinstance(value, list | tuple)}
    return values


def _json(values: Sequence[object]) -> str:
    """Return values of one type as JSON; for numbers, `str` takes a fifth of the time."""
    return str(list(values)) if values and type(values[0]) is int else json.dumps(values)


class Range(NamedTuple):
    """An inclusive range of keys."""

    low: int
    high: int


def text_key(space: int, tier: Tier, no: int) -> int:
    """Return the row of a memory in its text index."""
    return (space << _TIER_BITS | tier.rank) << _MEMORY_BITS | no


def text_band(key: int) -> tuple[int, int]:
    """Return the space and the rank of the tier of a row in a text index."""
    band = key >> _MEMORY_BITS
    return band >> _TIER_BITS, band & (1 << _TIER_BITS) - 1


def text_ranges(spaces: Sequence[int], tiers: Sequence[Tier]) -> Iterator[tuple[str, Range]]:
    """Yield (table, range) for every space and tier; hot and warm of a space are one range."""
    live = sorted((tier for tier in tiers if tier is not Tier.COLD), key=lambda tier: tier.rank)
    for space in spaces:
        if live:
            yield "text_live", Range(text_key(space, live[0], 0), text_key(space, live[-1], MEMORY_MASK))
        if Tier.COLD in tiers:
            yield "text_cold", Range(text_key(space, Tier.COLD, 0), text_key(space, Tier.COLD, MEMORY_MASK))


def vector_base(embedder: int) -> int:
    """Return the first key of an embedder's vectors."""
    return embedder << (_MEMORY_BITS + PART_BITS)


def vector_range(embedder: int, no: int) -> Range:
    """Return the keys of one memory's vectors."""
    low = vector_base(embedder) | no << PART_BITS
    return Range(low, low | (1 << PART_BITS) - 1)
