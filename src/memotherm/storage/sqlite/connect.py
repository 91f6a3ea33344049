"""Connections to one SQLite file: one writer, a pool of readers, translation of errors."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

from memotherm.errors import (
    InvalidInput,
    MemothermError,
    NotAStore,
    StoreBusy,
    StoreClosed,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreUnavailable,
    WrongKey,
)
from memotherm.model.process import OwnProcess
from memotherm.settings import Settings
from memotherm.settings.private_files import create_file
from memotherm.storage.deferral import Deferral
from memotherm.storage.sqlite import driver, forking, headers
from memotherm.storage.sqlite.commits import GroupCommit
from memotherm.storage.sqlite.files import MEMORY, NO_FILE, identity_of, is_read_only, read_only_uri
from memotherm.storage.sqlite.textindex import TextChange

__all__ = ["Connections", "mapped", "require_unused"]

#: To how many bytes the log shrinks after a reader of an old state has let it grow; twice what SQLite keeps in use.
_LOG_BYTES = 16 << 20
_CACHE_KIB = 4096
#: Connections that were in use during a fork, in the child: they must be neither used nor closed there.
_abandoned: list[sqlite3.Connection] = []
#: The files of those connections (device and inode), which this process cannot open safely.
_inherited: set[tuple[int, int]] = set()
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_UNAVAILABLE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR}


def _do_nothing() -> None:
    return None


class mapped:  # noqa: N801 - it is used as a function; a class enters faster than a generator, and every read does
    """Translate SQLite's errors into Memotherm's."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, exc: BaseException | None, _trace: object) -> None:
        if isinstance(exc, driver.errors()):
            raise _translated(exc, self._name) from exc
        if isinstance(exc, UnicodeEncodeError):
            raise InvalidInput(f"a text contains half of a surrogate pair at position {exc.start}: remove it") from exc
        if isinstance(exc, OverflowError):
            raise InvalidInput(f"a number is too large to be stored: {exc}") from exc


class _PooledRead:
    """A pooled connection for one read."""

    __slots__ = ("_connection", "_once", "_owner", "_translation")

    def __init__(self, owner: Connections, *, once: bool) -> None:
        self._owner = owner
        self._once = once
        self._translation = mapped(owner.name)
        self._connection: sqlite3.Connection

    def __enter__(self) -> sqlite3.Connection:
        with self._translation:
            self._connection = self._owner.borrow()
            if not self._once:
                self._begin()
        return self._connection

    def _begin(self) -> None:
        try:
            self._connection.execute("BEGIN")
        except BaseException:
            self._owner.give_back(self._connection)
            raise

    def __exit__(self, kind: object, exc: BaseException | None, trace: object) -> None:
        self._owner.give_back(self._connection)
        self._translation.__exit__(kind, exc, trace)


class _SnapshotRead:
    """The connection of a snapshot, for each of its reads."""

    __slots__ = ("_connection", "_translation")

    def __init__(self, name: str, connection: sqlite3.Connection) -> None:
        self._translation = mapped(name)
        self._connection = connection

    def __enter__(self) -> sqlite3.Connection:
        return self._connection

    def __exit__(self, kind: object, exc: BaseException | None, trace: object) -> None:
        self._translation.__exit__(kind, exc, trace)


def _translated(exc: BaseException, name: str) -> MemothermError:
    code = getattr(exc, "sqlite_errorcode", 0) & 0xFF
    if code in _BUSY:
        return StoreBusy(f"{name} is locked by another writer: try again, or raise the setting busy_timeout_ms")
    if code == sqlite3.SQLITE_FULL:
        return StoreFull(f"no space left for {name}: free some; the change was rolled back")
    if code == sqlite3.SQLITE_NOTADB and driver.is_cipher_error(exc):
        return WrongKey(
            f"the key does not open {name}: it is encrypted with another key, damaged, or not a Memotherm store; "
            "it was left as it is"
        )
    if code == sqlite3.SQLITE_NOTADB:
        return NotAStore(f"{name} is not a Memotherm store; it was left as it is: choose another path")
    if code == sqlite3.SQLITE_CORRUPT or "Could not decode" in str(exc):
        return StoreDamaged(f"{name} is damaged ({exc}): restore a checkpoint")
    if code in _UNAVAILABLE:
        return StoreUnavailable(
            f"cannot read or write {name} ({exc}): check that its folder exists, is writable and has space"
        )
    if "not supported" in str(exc) and driver.is_misuse(exc):
        return InvalidInput(f"an argument has a type that cannot be stored: {exc}")
    if "closed" in str(exc) and driver.is_misuse(exc):
        return StoreClosed(f"{name} is closed: open it again")
    return StoreError(f"SQLite could not use {name}: {exc}")


class Connections:
    """Every connection to one file. A transaction holds the writer; reads never wait for it."""

    def __init__(self, path: str, settings: Settings) -> None:
        self.name = path
        self._settings = settings
        self._process = OwnProcess(path)
        self._closed = False
        #: Where the file is, even if the working directory changes.
        self.path = path if path == MEMORY else str(Path(path).absolute())
        #: What the driver needs to open an encrypted file.
        self.cipher = self._read_cipher()
        self._idle: list[sqlite3.Connection] = []
        #: How many connections are out of the pool.
        self._lent = 0
        self._pool = threading.Lock()
        #: The snapshot that the current thread is in.
        self._snapshots = threading.local()
        self._writing = threading.RLock()
        #: Transactions of several threads that are committed together.
        self._commits = GroupCommit(self._writing, self._process, self._require_usable)
        # The log does not wait for the writer, except in memory, where all share one connection.
        self._logging = self._writing if path == MEMORY else threading.RLock()
        #: Transactions that are not committed yet, because more is to be stored with them.
        self.deferral: Deferral[sqlite3.Connection] = Deferral()
        #: Called before a fork, while the connections can still be used.
        self.forking: Callable[[], None] = _do_nothing
        #: The locks that a fork holds.
        self._held: list[threading.RLock] = []
        #: The device and inode of the file, once it is open, and of its log.
        self._file: tuple[int, int] | None = None
        self._log = (0, 0)
        #: Whether the file can only be read.
        self.read_only = path != MEMORY and is_read_only(Path(path))
        self._require_own_file()
        if path != MEMORY:
            # SQLite gives its log the mode of the file. An error is reported when the file is opened.
            with suppress(OSError):
                create_file(Path(path))
            headers.register(self)
        with mapped(path):
            self._writer: sqlite3.Connection | None = self._connect_writer()
        if path != MEMORY:
            forking.register(self)

    @property
    def used_file(self) -> tuple[int, int]:
        """The device and inode of the file, if any connection may be open; (0, 0) otherwise."""
        if self._closed and not self._lent:
            return NO_FILE
        return self._file or identity_of(self.path)

    def cipher_for(self, copy: Path) -> str | None:
        """Return what encrypts a copy of the store; the copy of a file has its key and its salt."""
        return driver.cipher_of(self._settings.key, copy) if self.cipher == driver.UNKEYED else self.cipher

    def _require_own_file(self) -> None:
        """Refuse a file that was in use during the fork that made this process: locks on it would not work."""
        if _inherited and self.path != MEMORY and identity_of(self.path) in _inherited:
            raise StoreUnavailable(
                f"{self.name} was in use when this process was forked and cannot be opened in it: "
                "fork while no other thread uses the store, or start the process with spawn"
            )

    def _connect_writer(self) -> sqlite3.Connection:
        before = identity_of(self.path)
        writer = self._connect_first()
        if self.path != MEMORY:
            writer.execute("SELECT 1 FROM sqlite_master").fetchone()  # creates the log
            self._file, self._log = identity_of(self.path), identity_of(f"{self.path}-wal")
            if before not in (self._file, NO_FILE):
                writer.close()
                raise StoreUnavailable(f"{self.name} was replaced while it was being opened: open it again")
        return writer

    def _connect_first(self) -> sqlite3.Connection:
        """Connect; if another process has just created the encrypted file, with its own salt, connect with that."""
        try:
            return self._connect(self._settings.synchronous)
        except driver.errors():
            before, self.cipher = self.cipher, self._read_cipher()
            if self.cipher == before:
                raise
            return self._connect(self._settings.synchronous)

    def _read_cipher(self) -> str | None:
        if not self._settings.key:
            return None
        return driver.UNKEYED if self.path == MEMORY else driver.cipher_of(self._settings.key, self.path)

    def _connect(self, synchronous: str) -> sqlite3.Connection:
        self._require_in_place()
        address = read_only_uri(Path(self.path)) if self.read_only else self.path
        options = {"isolation_level": None, "check_same_thread": False, "cached_statements": 256}
        connection = driver.connect(address, self.cipher, uri=self.read_only, **options)
        try:
            self._configure(connection, synchronous)
        except BaseException:
            connection.close()
            raise
        return connection

    def _configure(self, connection: sqlite3.Connection, synchronous: str) -> None:
        connection.execute(f"PRAGMA busy_timeout = {self._settings.busy_timeout_ms}")
        if not self.read_only:
            connection.execute(f"PRAGMA page_size = {driver.PAGE_SIZE}")
            self._enter_wal(connection)
            connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        connection.execute("PRAGMA temp_store = MEMORY")

    def _enter_wal(self, connection: sqlite3.Connection) -> None:
        """Switch to write-ahead logging; SQLite does not wait by itself when others open at once."""
        deadline = time.monotonic() + self._settings.busy_timeout_ms / 1000
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
            except driver.errors() as exc:
                if getattr(exc, "sqlite_errorcode", 0) & 0xFF not in _BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            else:
                return

    def reading(self, *, once: bool = False) -> AbstractContextManager[sqlite3.Connection]:
        """Return a connection whose statements all see one state of the store.

        A single statement (`once`) needs no transaction for that.
        """
        self._process.require()
        self.deferral.commit()
        snapshot: _SnapshotRead | None = getattr(self._snapshots, "current", None)
        if snapshot is not None:
            return snapshot
        return self._shared() if self.name == MEMORY else _PooledRead(self, once=once)

    @contextmanager
    def _shared(self) -> Iterator[sqlite3.Connection]:
        """Return the only connection of a store in memory."""
        with self._writing, mapped(self.name):
            yield self._opened_writer()

    @contextmanager
    def fresh_reading(self) -> Iterator[sqlite3.Connection]:
        """Return a new connection in a read transaction, which remembers nothing of earlier states."""
        if self.name == MEMORY:
            with self.reading() as connection:
                yield connection
            return
        self._process.require()
        with mapped(self.name):
            connection = self._connect("normal")
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                connection.close()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all reads of this thread share one connection, and one state of the store."""
        with self.reading() as connection:
            before = getattr(self._snapshots, "current", None)
            self._snapshots.current = _SnapshotRead(self.name, connection)
            try:
                yield
            finally:
                self._snapshots.current = before

    def borrow(self) -> sqlite3.Connection:
        """Take a connection out of the pool."""
        with self._pool:
            self._require_open()
            self._lent += 1
            if self._idle:
                return self._idle.pop()
        try:
            return self._connect("normal")
        except BaseException:
            with self._pool:
                self._lent -= 1
            raise

    def give_back(self, connection: sqlite3.Connection) -> None:
        """Return a connection to the pool and end its read transaction."""
        if not self._process.current:
            _abandoned.append(connection)
            return
        with suppress(*driver.errors()):
            if connection.in_transaction:
                connection.execute("COMMIT")
        with self._pool:
            self._lent -= 1
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    @contextmanager
    def transaction(self, *, join: bool = False) -> Iterator[sqlite3.Connection]:
        """Run one write transaction; an exception rolls it back.

        Args:
            join: Whether to continue the transaction of this thread that waits to be committed, if there is one.
        """
        self._process.require()
        waiting = self.deferral.connection
        if join and waiting is not None:
            with mapped(self.name):
                yield waiting
            return
        self.deferral.commit()
        with ExitStack() as stack:
            stack.enter_context(mapped(self.name))
            if self.name == MEMORY:
                stack.enter_context(self._writing)
                writer = self._opened_writer()
                stack.enter_context(self._transaction(writer))
            else:
                writer = stack.enter_context(self._commits.member(self._opened_writer))
            yield writer
            self.deferral.keep(stack, writer)

    @property
    def text_changes(self) -> list[TextChange] | None:
        """The changes of the text indexes that wait for the commit of this thread's transaction; None if none may."""
        return self._commits.text_changes

    def _require_usable(self) -> None:
        """Raise an error if what was written must not be committed."""
        self._process.require()
        self._require_in_place()

    @contextmanager
    def logging(self) -> Iterator[sqlite3.Connection]:
        """Write without waiting, neither for the disk nor for others; raises StoreBusy at once.

        It uses a reading connection, because a write by another connection would empty its page cache.
        """
        self._process.require()
        self.deferral.commit()
        with self._logging, mapped(self.name):
            if self.name == MEMORY:
                writer = self._opened_writer()
                with self._transaction(writer):
                    yield writer
                return
            connection = self.borrow()
            try:
                connection.execute("PRAGMA busy_timeout = 0")
                with self._transaction(connection):
                    yield connection
            finally:
                connection.execute(f"PRAGMA busy_timeout = {self._settings.busy_timeout_ms}")
                self.give_back(connection)

    def truncate_log(self, wait_ms: int) -> bool:
        """Move the write-ahead log into the file and empty it; return False if other connections prevent that.

        Args:
            wait_ms: How long to wait for other connections.
        """
        self._process.require()
        with self._commits.alone(), mapped(self.name):
            writer = self._opened_writer()
            writer.execute(f"PRAGMA busy_timeout = {min(wait_ms, self._settings.busy_timeout_ms)}")
            try:
                busy, _, _ = writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                writer.execute(f"PRAGMA busy_timeout = {self._settings.busy_timeout_ms}")
        return not busy

    def close(self) -> None:
        """Close every idle connection; those in use are closed when they are returned."""
        if not self._process.current:
            return
        with self._commits.alone(), self._logging, self._pool:
            if not self._closed:
                self._closed = True
                self._close_idle()

    def before_fork(self) -> None:
        """Close the connections and let nobody open new ones; those in use are waited for up to busy_timeout_ms."""
        if not self._process.current:
            return
        self.forking()
        deadline = time.monotonic() + self._settings.busy_timeout_ms / 1000
        for lock in (self._writing, self._logging):
            if lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
                self._held.append(lock)
        if self._writing in self._held:
            self._commits.commit()
        self._pool.acquire()
        while self._lent and time.monotonic() < deadline and not self._in_snapshot:
            self._pool.release()
            time.sleep(0.001)
            self._pool.acquire()
        if self._writing in self._held and not (self._writer and self._writer.in_transaction):
            self._close_idle()

    def after_fork(self) -> None:
        """Let connections be opened again in the parent; the child opens the store anew."""
        if self._process.current:
            self._release_locks()
        elif self._pool.locked():
            if self._writer is not None or self._lent:
                _abandoned.extend([*self._idle, *([self._writer] if self._writer else [])])
                _inherited.add(identity_of(self.path))
            self._release_locks()

    def _release_locks(self) -> None:
        self._pool.release()
        while self._held:
            self._held.pop().release()

    @property
    def _in_snapshot(self) -> bool:
        return getattr(self._snapshots, "current", None) is not None

    def _close_idle(self) -> None:
        for connection in (*self._idle, self._writer):
            if connection is not None:
                connection.close()
        self._idle.clear()
        self._writer = None

    def _opened_writer(self) -> sqlite3.Connection:
        """Return the writer, which a fork has closed; its lock is held."""
        self._require_open()
        if self._writer is None:
            self._writer = self._connect_writer()
        return self._writer

    def uses(self, path: str) -> bool:
        """Return whether a file is the one that is open."""
        return not self._closed and self._file == identity_of(path)

    def missing_files(self) -> list[str]:
        """Return the names of the store's open files that were moved, deleted or replaced."""
        if self.path == MEMORY:
            return []
        self._process.require()
        with self._writing, mapped(self.name):
            self._opened_writer()
            files = {self.name: (self.path, self._file), f"{self.name}-wal": (f"{self.path}-wal", self._log)}
            return [name for name, (path, identity) in files.items() if identity_of(path) != identity]

    def _require_in_place(self) -> None:
        """Raise `StoreUnavailable` if the path leads to another file than the one that is open, or to none."""
        if self._file is not None and identity_of(self.path) != self._file:
            raise StoreUnavailable(
                f"{self.name} was moved, deleted or replaced while it was open: nothing was written; "
                "put the file back, or close the store and open it again"
            )

    def _require_open(self) -> None:
        if self._closed:
            raise StoreClosed(f"{self.name} is closed: open it again")

    @contextmanager
    def _transaction(self, connection: sqlite3.Connection) -> Iterator[None]:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._require_usable()
            connection.execute("COMMIT")
        except BaseException:
            with suppress(*driver.errors()):
                if self._process.current and connection.in_transaction:
                    connection.execute("ROLLBACK")
            raise


def require_unused(path: str) -> None:
    """Refuse a store that this process has open: two SQLite libraries do not see each other's locks in one process."""
    for connections in forking.registered():
        if isinstance(connections, Connections) and connections.uses(path):
            raise StoreBusy(f"{path} is open in this process: close it and try again")
