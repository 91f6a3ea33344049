"""The named statements of PostgreSQL, and how they are run."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import psycopg
from psycopg import sql

from memotherm.storage.postgres import routing
from memotherm.storage.postgres.routing import SCHEMA
from memotherm.storage.statements import Row, Statements, load_templates, marked

if TYPE_CHECKING:
    from memotherm.storage.postgres.search import RecallRows

__all__ = ["ADDED", "SCHEMA", "PostgresStatements", "setting", "statement"]

#: The statements whose rows wait; one that refers to another comes after it.
ADDED = ("memory_add", "tag_add", "claim_add", "turn_add", "text_add", "vector_add", "event_add")
#: How many rows of a statement wait at most.
_MOST = 100
_PLACED = re.compile(r"%\(([a-z_]+)\)s")


@lru_cache
def _of_rows(text: str, count: int) -> tuple[bytes, list[str]]:
    """Return a statement that inserts so many rows instead of one, and the parameters of each row in order."""
    head, values, rest = text.partition("VALUES ")
    row, conflict, action = rest.partition("\nON CONFLICT")
    names, numbers = _PLACED.findall(row), itertools.count(1)
    rows = ", ".join(_PLACED.sub(lambda _: f"${next(numbers)}", row) for _ in range(count))
    return (head + values + rows + conflict + action).encode(), names


_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")
#: A parameter as the driver wants it; whose rows a statement wants is a parameter of every statement.
_PLACEHOLDER = re.compile(r"%\((?!tenants\)|own_tenant\))([a-z_]+)\)s")
#: Larger than any list of rows that is worth reading at once.
_PAGE = 5000


def _prepared(statements: Mapping[str, str]) -> dict[str, str]:
    """Return statements with their parameters in the driver's syntax."""
    return {name: _PARAMETER.sub(r"%(\1)s", text.replace("%", "%%")) for name, text in statements.items()}


_TEMPLATES = load_templates("postgres")
_OF_TENANT = _prepared(routing.texts_of(_TEMPLATES, lambda _: routing.VISIBLE))
_OF_ALL = _prepared(routing.texts_of(_TEMPLATES, lambda _: routing.ALL))


class _Distributed(NamedTuple):
    """The statements of a distributed store."""

    #: For a tenant that sees memories without a tenant as well.
    of_tenant: dict[str, str]
    #: For a tenant where there are none, and for these memories themselves.
    of_own: dict[str, str]
    of_all: dict[str, str]
    #: The changes of rows without a tenant, as they are repeated on the copies.
    copying: dict[str, str]


@cache
def _distributed() -> _Distributed:
    templates = load_templates("postgres", "citus")
    return _Distributed(
        _prepared(routing.texts_of(templates, routing.with_copies)),
        _prepared(routing.texts_of(templates, routing.without_copies)),
        _prepared(routing.texts_of(load_templates("postgres", "citus", "citus_all"), lambda _: routing.ALL)),
        _prepared(routing.copying(templates)),
    )


def setting(name: str, value: str) -> str:
    """Return the statement that sets a parameter until the transaction ends; Citus repeats it on the workers."""
    return f"SET LOCAL {name} TO {value if name == 'search_path' else sql.Literal(value).as_string()}"


class PostgresStatements(Statements):
    """The statements on one connection, for one tenant or for all of them.

    For all of them, a row that is written belongs to the tenant of the space that its statement names.
    """

    def __init__(
        self,
        connection: psycopg.Connection[Any],
        tenant: str | None,
        *,
        distributed: bool = False,
        shared: Callable[[], bool] = lambda: True,
    ) -> None:
        self.connection = connection
        self.tenant = tenant
        self.distributed = distributed
        #: Whether there are memories without a tenant, as far as is known.
        self._shared = shared
        #: The changes that are repeated on the copies of rows without a tenant.
        self._copying = _distributed().copying if distributed and not tenant else {}
        self._whose = {"tenants": ["", tenant] if tenant else [""], "own_tenant": tenant}
        self._current = tenant or ""
        #: What was read and may be asked for again in the same transaction.
        self.known: dict[object, Any] = {}
        #: How many cursors were opened.
        self._cursors = 0
        #: What the recall of this transaction has read.
        self.recall: RecallRows | None = None
        #: The statements that were sent before their rows are wanted.
        self._expected: dict[str, dict[object, psycopg.Cursor[Any] | list[Row]]] = {}
        self._space_tenants: dict[object, str] = {0: "", None: ""}
        #: The rows that wait to be inserted, by the name of their statement; None if each is inserted at once.
        self._waiting: dict[str, list[Mapping[str, object]]] | None = None

    def widened(self) -> psycopg.Connection[Any]:
        """Turn row-level security off for the rest of the transaction, and return its connection."""
        self._ready().execute(setting("memotherm.operator", "on"))
        return self.connection

    @property
    def _sql(self) -> dict[str, str]:
        if not self.distributed:
            return _OF_ALL if self.tenant is None else _OF_TENANT
        if self.tenant is None:
            return _distributed().of_all
        return _distributed().of_tenant if self.tenant and self._shared() else _distributed().of_own

    def rows(self, name: str, /, **values: object) -> list[Row]:
        """Return all rows of a statement."""
        rows = self._fetched(self._sql[name], values)
        if name in self._copying and rows:
            self._copy(name, [values if name not in routing.NUMBERED else {**values, "number": rows[0][0]}])
        return rows

    def value_once(self, name: str, /, **values: object) -> Any:  # noqa: ANN401
        """Return the value of a statement, which is run once for the same parameters; for transactions that read."""
        key = (name, repr(values))
        if key not in self.known:
            self.known[key] = self.value(name, **values)
        return self.known[key]

    def rows_of(self, name: str, marks: Mapping[str, object], /, **values: object) -> list[Row]:
        """Return all rows of a statement whose text depends on numbers, such as that of an index."""
        return self._fetched(marked(self._sql[name], marks), values)

    def expect(self, name: str, marks: Mapping[str, object] | None = None, /, **values: object) -> None:
        """Send a statement; `rows` or `rows_of` with the same arguments return its rows later."""
        text = marked(self._sql[name], marks or {})
        self._expected.setdefault(text, {})[_key(values)] = self._executed(text, values)

    def wait(self) -> None:
        """Wait for the rows of all statements that were sent."""
        for sent in self._expected.values():
            for key, cursor in sent.items():
                sent[key] = cursor if isinstance(cursor, list) else cursor.fetchall()

    def fragment(self, name: str, suffix: str) -> str:
        """Return the text of a condition, with a suffix behind the names of its parameters."""
        return _PLACEHOLDER.sub(rf"%(\1{suffix})s", self._sql[name])

    def each(self, name: str, /, **values: object) -> Iterator[Row]:
        """Iterate over the rows of a statement."""
        return self._paged(self._sql[name], {**self._whose, **values})

    def run(self, name: str, /, **values: object) -> None:
        """Run a statement and discard its rows."""
        self.run_many(name, [values])

    def run_of(self, name: str, marks: Mapping[str, object]) -> None:
        """Run a statement whose text depends on numbers, and that has no parameters and no rows."""
        self._ready().execute(marked(self._sql[name], marks))

    def run_many(self, name: str, rows: Sequence[Mapping[str, object]]) -> None:
        """Run a statement once for every row of parameters."""
        if not rows:
            return
        self._set_tenant(rows[0])
        if self._waiting is not None and name in ADDED:
            waiting = self._waiting.setdefault(name, [])
            waiting += rows
            if len(waiting) >= _MOST:
                self._ready()
            return
        if len(rows) == 1:
            self._executed(self._sql[name], rows[0])
        else:
            with self._ready().cursor() as cursor:
                cursor.executemany(self._sql[name], [{**self._whose, **row} for row in rows])
        if name in self._copying:
            self._copy(name, rows)

    @contextmanager
    def batching(self) -> Iterator[None]:
        """Insert rows many at once."""
        if not self.distributed:  # Citus sends each row to its shard
            self._waiting = {}
        yield
        self._ready()
        self._waiting = None

    def each_of(self, name: str, marks: Mapping[str, object], /, **values: object) -> Iterator[Row]:
        """Iterate over the rows of a statement whose text depends on names."""
        return self._paged(marked(self._sql[name], marks), values)

    def _paged(self, statement: str, values: Mapping[str, object]) -> Iterator[Row]:
        """Yield the rows of a cursor of the server; the driver has none in pipeline mode."""
        self._cursors += 1
        cursor = f"each_{self._cursors}"
        self._ready().execute(f"DECLARE {cursor} NO SCROLL CURSOR FOR {statement}", values, prepare=False)
        while rows := self._ready().execute(f"FETCH {_PAGE} FROM {cursor}", prepare=False).fetchall():
            yield from rows
        self._ready().execute(f"CLOSE {cursor}", prepare=False)

    def run_many_of(self, name: str, marks: Mapping[str, object], rows: Sequence[Sequence[object]]) -> None:
        """Run a statement whose text depends on names once for every row of values."""
        with self._ready().cursor() as cursor:
            cursor.executemany(marked(self._sql[name], marks), rows)

    def _fetched(self, statement: str, values: Mapping[str, object]) -> list[Row]:
        sent = self._expected.get(statement)
        expected = sent.pop(_key(values), None) if sent else None
        if isinstance(expected, list):
            return expected
        return (expected or self._executed(statement, values)).fetchall()

    def _executed(self, statement: str, values: Mapping[str, object]) -> psycopg.Cursor[Any]:
        return self._ready().execute(statement, {**self._whose, **values})

    def _ready(self) -> psycopg.Connection[Any]:
        """Return the connection, after the rows that wait were inserted."""
        waiting = self._waiting
        if waiting:
            self._waiting = {}
            for name in ADDED:
                if name in waiting:
                    statement, names = _of_rows(self._sql[name], len(waiting[name]))
                    # The driver would look for its own placeholders in a long text each time.
                    with psycopg.RawCursor(self.connection) as cursor:
                        cursor.execute(statement, [row[parameter] for row in waiting[name] for parameter in names])
        return self.connection

    def _copy(self, name: str, rows: Sequence[Mapping[str, object]]) -> None:
        """Repeat a change on the copies of rows without a tenant; a new row of a tenant has none."""
        text = self._copying[name]
        if text.startswith("INSERT") and rows[0].get("tenant", self._current) != "":
            return
        with self.connection.cursor() as cursor:
            cursor.executemany(text, rows)

    def _set_tenant(self, values: Mapping[str, object]) -> None:
        """Set the tenant of the rows that a statement for all tenants writes."""
        if self.tenant is not None or "space" not in values:
            return
        space = values["space"]
        if space not in self._space_tenants:
            self._space_tenants[space] = str(self.value("space_tenant", space=space))
        if self._space_tenants[space] != self._current:
            self._current = self._space_tenants[space]
            self._ready().execute(setting("memotherm.tenant", self._current))


def _key(values: Mapping[str, object]) -> object:
    """Return what identifies the parameters of a statement."""
    return tuple(sorted((name, _hashable(value)) for name, value in values.items()))


def _hashable(value: object) -> object:
    if isinstance(value, np.ndarray):
        return value.tobytes()
    return tuple(value) if isinstance(value, list) else value


def statement(name: str, marks: Mapping[str, object] | None = None) -> str:
    """Return a statement for all tenants, to be run on a connection outside the pool."""
    return marked(_OF_ALL[name], marks or {})
