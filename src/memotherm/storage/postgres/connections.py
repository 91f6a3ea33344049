"""Connections to one PostgreSQL database: a pool, transactions, and the translation of errors."""

from __future__ import annotations

import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit
from weakref import WeakSet, finalize

import psycopg
from pgvector.psycopg.vector import register_vector_info
from psycopg import errors as pg
from psycopg.abc import Buffer
from psycopg.adapt import PyFormat
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import PipelineStatus, TransactionStatus
from psycopg.types import TypeInfo
from psycopg.types.array import ListDumper
from psycopg.types.numeric import Int8Dumper

from memotherm.errors import (
    InvalidInput,
    MemothermError,
    StoreBusy,
    StoreClosed,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreUnavailable,
)
from memotherm.settings import Settings
from memotherm.storage.base import OwnProcess
from memotherm.storage.postgres.routing import SCHEMA
from memotherm.storage.postgres.statements import setting, statement
from memotherm.storage.writer import Notice

_FULL = (pg.DiskFull, pg.OutOfMemory)
_BUSY = (pg.LockNotAvailable, pg.DeadlockDetected, pg.SerializationFailure, pg.QueryCanceled)
_DAMAGED = (pg.DataCorrupted, pg.IndexCorrupted)
_REFUSED = (pg.InvalidAuthorizationSpecification, pg.InvalidCatalogName, pg.InsufficientPrivilege)
_UNSTORABLE = (pg.DataError, pg.ProgramLimitExceeded)


@contextmanager
def mapped(name: str) -> Iterator[None]:
    """Translate the database's errors into Memotherm's."""
    try:
        yield
    except psycopg.Error as exc:
        if isinstance(exc.__context__, KeyboardInterrupt):
            raise exc.__context__ from None  # it stopped the driver in the midst of a pipeline
        raise _translated(exc, name) from exc
    except UnicodeEncodeError as exc:
        raise InvalidInput(f"a text contains half of a surrogate pair at position {exc.start}: remove it") from exc


def _translated(exc: psycopg.Error, name: str) -> MemothermError:
    text = exc.diag.message_primary or str(exc)
    message = text.splitlines()[0] if text else type(exc).__name__
    if isinstance(exc, _FULL):
        return StoreFull(f"no space left for {name}: free some; the change was rolled back")
    if isinstance(exc, _BUSY):
        return StoreBusy(
            f"{name} is locked by another writer ({message}): try again, or raise the setting busy_timeout_ms"
        )
    if isinstance(exc, pg.UndefinedTable):
        cure = "open the store again, which creates `texts` anew; for any other table, restore a backup of the server"
        return StoreDamaged(f"{name} has lost a table ({message}): {cure}")
    if isinstance(exc, _DAMAGED):
        return StoreDamaged(f"{name} is damaged ({message}): restore a backup of the server")
    if isinstance(exc, _REFUSED):
        return StoreUnavailable(f"{name} refuses access ({message}): check the role, its rights and the database")
    if isinstance(exc, _UNSTORABLE):
        return InvalidInput(f"an argument cannot be stored: {message}")
    if isinstance(exc, pg.ReadOnlySqlTransaction):
        return StoreUnavailable(f"{name} only reads ({message}): it is a replica; write to the primary")
    if isinstance(exc, psycopg.OperationalError | psycopg.InterfaceError):
        return StoreUnavailable(f"cannot reach {name} ({message}): check that the server runs and accepts connections")
    return StoreError(f"PostgreSQL could not use {name}: {message}")


def without_secrets(url: str) -> str:
    """Return the URL of a database without its password and without options, which may hold one."""
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    name = user.split(":", maxsplit=1)[0]
    return urlunsplit(("postgresql", f"{name}@{host}" if name else host, parts.path, "", ""))


class _ListDumper(ListDumper):
    """Lets lists of whole numbers be converted by `_NumbersDumper`, and others as the driver does."""

    def get_key(self, obj: list[Any], format: PyFormat) -> Any:  # noqa: A002, ANN401
        return (list, int) if obj and type(obj[0]) is int else super().get_key(obj, format)

    def upgrade(self, obj: list[Any], format: PyFormat) -> Any:  # noqa: A002, ANN401
        numbers = obj and type(obj[0]) is int
        return _NumbersDumper(list, self._tx) if numbers else super().upgrade(obj, format)


class _NumbersDumper(ListDumper):
    """Converts 200 whole numbers in 0.04 ms; the driver takes 0.6 ms, and a recall has several such lists."""

    oid = 1016  # bigint[]

    def dump(self, obj: list[Any]) -> Buffer:
        return f"{{{','.join(map(str, obj))}}}".encode()


Connection = psycopg.Connection[tuple[Any, ...]]
Started = TypeVar("Started")

#: How long a connection waits for its next use before it is closed.
_IDLE_SECONDS = 600.0
#: How many seconds a caller waits before it looks for connections that nobody has given back.
_LOOK_AGAIN = 0.1


class Lent:
    """A connection that is used in pipeline mode."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._process = os.getpid()
        #: When it was taken back.
        self.idle_since = 0.0
        self._mode = ExitStack()
        self._pipeline: psycopg.Pipeline | None = None

    def start(self) -> None:
        """Enter pipeline mode, unless the connection is in it since its last transaction."""
        if self._pipeline is None:
            self._pipeline = self._mode.enter_context(self.connection.pipeline())

    def finish(self) -> None:
        """Wait for all results, and leave pipeline mode."""
        self._pipeline = None
        self._mode.close()

    def roll_back(self) -> None:
        """Leave pipeline mode and roll back, whatever state the connection is in."""
        with suppress(psycopg.Error):
            self.finish()
        with suppress(psycopg.Error):
            self.connection.execute("ROLLBACK")

    @property
    def settled(self) -> bool:
        """Whether all results were read, and none was an error."""
        pipeline = self._pipeline
        return pipeline is not None and not pipeline.result_queue and pipeline.status == PipelineStatus.ON

    def send_commit(self) -> None:
        """Send COMMIT; its result is read before the results of the next transaction."""
        self.connection.execute("COMMIT", prepare=False)
        # The driver's own method waits for the result.
        self.connection.pgconn.pipeline_sync()
        if self._pipeline is not None:
            self._pipeline.result_queue.append(None)

    @property
    def usable(self) -> bool:
        """Whether another transaction can begin on it."""
        idle = self._pipeline is not None or self.connection.info.transaction_status == TransactionStatus.IDLE
        return idle and not self.connection.closed

    def close(self) -> None:
        """Close the connection."""
        with suppress(psycopg.Error):
            self.finish()
        self.connection.close()

    def __del__(self) -> None:
        """Close the connection of a user that was interrupted before it was given back."""
        if self._process == os.getpid() and not self.connection.closed:
            self.connection.close()

    def abandon(self) -> None:
        """Let nothing more reach the server from this forked process: the connection is its parent's."""
        with Path(os.devnull).open("r+b") as nowhere:
            os.dup2(nowhere.fileno(), self.connection.fileno())


class _Connecting:
    """A connection that is being made."""


class Pool:
    """Up to a number of connections; the one that was used last is lent first, even while its commit is on its way."""

    def __init__(self, name: str, size: int, connect: Callable[[], Connection]) -> None:
        self._name = name
        self._size = size
        self._connect = connect
        #: The connections in use, as long as their users live: one that was interrupted may not give its own back.
        self._lent: WeakSet[Lent | _Connecting] = WeakSet()
        #: Held while the connections change. Of the condition itself, Ctrl-C could interrupt the Python that takes it.
        self._lock = threading.RLock()
        #: Notified when one is given back.
        self._changed = Notice(self._lock)
        #: In the order in which they were taken back.
        self.idle: deque[Lent] = deque()
        self._closed = False
        _pools.add(self)
        # A store that nobody closes leaves no connection to the server.
        finalize(self, _close_idle, self.idle)

    def lend(self, timeout: float) -> Lent:
        """Return a connection; raise `StoreBusy` if all are in use."""
        if self._closed:
            raise StoreClosed(f"{self._name} is closed: open it again")
        connecting, deadline = _Connecting(), time.monotonic() + timeout
        with self._lock:
            while len(self._lent) >= self._size:
                if time.monotonic() >= deadline:
                    cure = "try again, or raise the setting postgres_pool_size"
                    raise StoreBusy(f"all connections to {self._name} are in use: {cure}")
                self._changed.wait(min(_LOOK_AGAIN, max(0.0, deadline - time.monotonic())))
            with suppress(IndexError):
                lent = self.idle.pop()
                self._lent.add(lent)
                return lent
            self._lent.add(connecting)
        try:
            lent = Lent(self._connect())
            self._lent.add(lent)
            return lent
        finally:
            self._lent.discard(connecting)

    def take_back(self, lent: Lent) -> None:
        """Take back a connection whose transaction has ended, or whose commit was sent."""
        lent.idle_since = time.monotonic()
        usable = lent.usable
        with self._lock:
            self._lent.discard(lent)
            if usable:
                self.idle.append(lent)
            self._changed.notify()
        if not usable:
            lent.close()
        _close_idle(self.idle, math.inf if self._closed else lent.idle_since - _IDLE_SECONDS)

    def close(self) -> None:
        """Close all connections; calling it twice is harmless."""
        self._closed = True
        _close_idle(self.idle)


def _close_idle(idle: deque[Lent], until: float = math.inf) -> None:
    """Close the connections that were taken back until a moment."""
    while idle and idle[0].idle_since <= until:
        with suppress(IndexError):
            idle.popleft().close()


_pools: WeakSet[Pool] = WeakSet()


def _abandon_all() -> None:
    for pool in _pools:
        for lent in pool.idle:
            lent.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_all)


#: Called with a connection and what sends BEGIN; sends the first statements as well, waits for their results, and
#: returns the value of the transaction's context.
Start = Callable[[Connection, Callable[[], None]], Started]

#: The search path: Memotherm's schema first; the extension may be in either of the others.
_PATH = f"{SCHEMA}, public, extensions"
#: Connection parameters unless the URL sets them; the timeouts detect a network that is down.
_DEFAULTS = {
    "application_name": "memotherm",
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "tcp_user_timeout": "30000",
}

#: How a tenant's statements are planned. They want few rows of large tables, and the server guesses far too many
#: where a tenant's memories are mostly cold: it would read whole tables, in parallel, with code compiled for it.
_NARROW = {
    "enable_seqscan": "off",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "plan_cache_mode": "force_custom_plan",
}
#: Lets the scan of an index of vectors continue until enough rows pass the filter.
_CONTINUED = {"hnsw.iterative_scan": "strict_order"}
#: Lets Citus repeat the settings of a transaction on the workers, where row-level security uses them as well.
_PROPAGATED = {"citus.propagate_set_commands": "local"}
#: Lets a statement for several shards be followed by one that changes copies on all nodes.
_IN_ORDER = {"citus.multi_shard_modify_mode": "sequential"}


class Connections:
    """The connection pool of one store. A connection is used for one transaction."""

    def __init__(self, url: str, settings: Settings) -> None:
        self.name = without_secrets(url)
        self._process = OwnProcess(self.name)
        self._settings = settings
        try:
            self._arguments: dict[str, Any] = {**_DEFAULTS, **conninfo_to_dict(url), "autocommit": True}
        except psycopg.ProgrammingError as exc:
            raise InvalidInput(f"{self.name} is not the URL of a database: {exc}".rstrip()) from exc
        self._vector: TypeInfo | None = None
        #: Whether the tables are distributed over the nodes of a Citus cluster.
        self.distributed = False
        #: Whether they are being distributed, or were until something interrupted it.
        self.unfinished = False
        #: Whether a distributed store has memories without a tenant (None = not known); once it has, it always will.
        self.has_shared: bool | None = None
        self._size = settings.postgres_pool_size
        self._pool = Pool(self.name, self._size, self._connect)

    @contextmanager
    def alone(self) -> Iterator[Connection]:
        """Open a connection outside the pool, with the search path set."""
        self._process.require()
        with mapped(self.name), psycopg.connect(**self._arguments) as connection:
            connection.execute("SELECT set_config('search_path', %s, false)", (_PATH,))
            if self._vector is not None:
                self._configure(connection)
            yield connection

    def open(self) -> None:
        """Let connections be made for transactions; the schema and its types must exist."""
        with self.alone() as connection:
            self._vector = TypeInfo.fetch(connection, "vector")
            self._configure(connection)

    def _connect(self) -> Connection:
        connection = psycopg.connect(**self._arguments)
        try:
            self._configure(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _configure(self, connection: Connection) -> None:
        # `distribute` ends the other connections, so that every later one finds out what it has done.
        self._find_out(connection)
        register_vector_info(connection, self._vector)
        # One width for all numbers, so that a statement is prepared once and not for each width of its parameters.
        connection.adapters.register_dumper(int, Int8Dumper)
        connection.adapters.register_dumper(list, _ListDumper)

    @contextmanager
    def transaction(
        self,
        tenant: str | None,
        start: Start[Started],
        *,
        mode: str = "",
        patient: bool = False,
        durable: bool = True,
        wide: bool = False,
    ) -> Iterator[Started]:
        """Run one transaction on a pooled connection, in pipeline mode; an exception rolls it back.

        Args:
            tenant: The tenant; None = all tenants.
            start: Begins the transaction and waits for the first answer; called again if the connection was cut.
            mode: The transaction mode, as in BEGIN.
            patient: Whether to wait for locks, up to busy_timeout_ms.
            durable: Whether the commit waits for the disk.
            wide: Whether row-level security is off for this transaction.
        """
        self._process.require()

        def begin(lent: Lent) -> Started:
            connection = lent.connection
            local = self._local(tenant, patient=patient, durable=durable, wide=wide)
            return start(connection, lambda: self._send_begin(connection, mode, local))

        with mapped(self.name):
            lent, started = self._begun(begin)
            try:
                yield started
                self._process.require()
                # The end of one that only reads is not waited for.
                if "READ ONLY" in mode and lent.settled:
                    lent.send_commit()
                else:
                    lent.connection.execute("COMMIT")
                    lent.finish()
            except BaseException:
                if self._process.current:
                    lent.roll_back()
                    self._pool.take_back(lent)
                else:
                    lent.abandon()
                raise
            self._pool.take_back(lent)

    def _local(
        self, tenant: str | None, *, patient: bool = False, durable: bool = True, wide: bool = False
    ) -> dict[str, str]:
        """Return the settings of a transaction."""
        return {
            **(_PROPAGATED if self.distributed else {}),
            **(_IN_ORDER if self.distributed and not tenant else {}),
            "search_path": _PATH,
            "memotherm.tenant": tenant or "",
            "memotherm.operator": "on" if tenant is None or wide else "off",
            **({"lock_timeout": f"{self._settings.busy_timeout_ms}ms"} if patient else {}),
            **({} if durable else {"synchronous_commit": "off"}),
            **({} if tenant is None else _NARROW),
            **_CONTINUED,
        }

    def _send_begin(self, connection: Connection, mode: str, local: Mapping[str, str]) -> None:
        """Send the statements that begin a transaction.

        The first query determines which state a transaction with REPEATABLE READ sees.
        """
        connection.execute(f"BEGIN {mode}")
        if self.distributed:  # Citus repeats the statement SET on the workers, and not the function
            for name, value in local.items():
                connection.execute(setting(name, value), prepare=False)
        else:
            connection.execute(_settings(tuple(local)), list(local.values()))

    def _find_out(self, connection: Connection) -> None:
        (self.distributed, self.unfinished), *_ = connection.execute(statement("distribution")).fetchall()

    def _require_finished(self, connection: Connection) -> None:
        if self.unfinished:
            self._find_out(connection)
        if self.unfinished:
            raise StoreUnavailable(
                f"the tables of {self.name} are not all distributed: wait for `memotherm store distribute`, or, if it "
                "was interrupted, run it again, which goes on with it"
            )

    def _begun(self, begin: Callable[[Lent], Started]) -> tuple[Lent, Started]:
        """Return a connection in a new transaction, and what began it; connections that were cut are dropped."""
        left = self._size + 1
        while True:
            lent = self._pool.lend(self._settings.busy_timeout_ms / 1000)
            try:
                # A new connection knows how the tables are, so the settings are chosen after it was made.
                self._require_finished(lent.connection)
                lent.start()
                return lent, begin(lent)
            except BaseException as exc:
                lent.roll_back()
                broken = lent.connection.broken
                self._pool.take_back(lent)
                left -= 1
                if not isinstance(exc, psycopg.Error) or not broken or not left:
                    raise

    def close(self) -> None:
        """Close all connections; calling it twice, or in a forked process, is harmless."""
        if self._process.current:
            self._pool.close()


@cache
def _settings(names: tuple[str, ...]) -> str:
    """Return the statement that sets parameters until the transaction ends."""
    return "SELECT " + ", ".join(f"set_config('{name}', %s, true)" for name in names)
