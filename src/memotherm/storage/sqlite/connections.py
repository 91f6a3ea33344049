"""Connections to one SQLite file: one for writing, a pool for reading, and what happens to them at a fork.

SQLite forbids a forked process to use, or even to close, a connection of its parent, and a connection that it opens
itself would share the parent's record of locks. So all connections are closed before a fork; the parent opens new
ones when it needs them, and the child has none.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import timedelta
from pathlib import Path
from weakref import WeakKeyDictionary

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
from memotherm.settings import Settings
from memotherm.settings.paths import create_file
from memotherm.storage.base import OwnProcess
from memotherm.storage.sqlite import driver
from memotherm.storage.sqlite.driver import MEMORY, is_read_only, read_only_uri
from memotherm.storage.sqlite.statements import Assigned, SqliteStatements
from memotherm.storage.writer import Writer
from memotherm.tiers.rules.properties import heat_of

#: The write-ahead log is truncated to this size; twice what SQLite keeps in use.
_LOG_BYTES = 16 << 20
#: The page cache of the writer and of each reader.
_WRITER_CACHE_KIB = 16_384
_READER_CACHE_KIB = 4096
#: Connections that were in use during a fork, in the child: they must be neither used nor closed there.
_abandoned: list[sqlite3.Connection | None] = []
#: The files of those connections (device and inode), which this process cannot open safely.
_inherited: set[tuple[int, int]] = set()

_NO_FILE = (0, 0)

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_UNAVAILABLE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR}


def _identity_of(path: str) -> tuple[int, int]:
    """Return the device and inode of a file; (0, 0) if there is none."""
    try:
        status = os.stat(path)  # noqa: PTH116 - before each commit, and a Path takes three times as long
    except OSError:
        return _NO_FILE
    return status.st_dev, status.st_ino


@contextmanager
def mapped(name: str) -> Iterator[None]:
    """Translate SQLite's errors into Memotherm's."""
    try:
        yield
    except driver.errors() as exc:
        raise _translated(exc, name) from exc
    except UnicodeEncodeError as exc:
        raise InvalidInput(f"a text contains half of a surrogate pair at position {exc.start}: remove it") from exc
    except OverflowError as exc:
        raise InvalidInput(f"a number is too large to be stored: {exc}") from exc


def _translated(exc: BaseException, name: str) -> MemothermError:
    code = getattr(exc, "sqlite_errorcode", 0) & 0xFF
    if code in _BUSY:
        return StoreBusy(f"{name} is locked by another writer: try again, or raise the setting busy_timeout_ms")
    if code == sqlite3.SQLITE_FULL:
        return StoreFull(f"no space left for {name}: free some; the change was rolled back")
    if code == sqlite3.SQLITE_NOTADB and not isinstance(exc, sqlite3.Error):  # it is one of SQLCipher's
        return WrongKey(
            f"the key does not open {name}: it is encrypted with another key, damaged, or not a Memotherm store; "
            "it was left as it is"
        )
    if code == sqlite3.SQLITE_NOTADB:
        return NotAStore(f"{name} is not a Memotherm store; it was left as it is: choose another path")
    if driver.is_lost_index(exc):
        return StoreDamaged(f"the text index of {name} is lost ({exc}): {driver.REPAIR}")
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


class _Loan:
    """A connection is out of the pool as long as this exists, whatever interrupts its user."""


class Connections:
    """Every connection to one file. Reads never wait for the writer."""

    def __init__(self, path: str, settings: Settings, writer: Writer) -> None:
        self.name = path
        self._settings = settings
        self._process = OwnProcess(path)
        #: Holds the turn of the writing connection.
        self._turn = writer
        self._closed = False
        #: Where the file is, even if the working directory changes.
        self.path = path if path == MEMORY else str(Path(path).absolute())
        #: What the driver needs to open an encrypted file.
        self.cipher = self._read_cipher()
        self._writer: sqlite3.Connection | None = None
        self._idle: list[sqlite3.Connection] = []
        #: The connections that are out of the pool, and the thread that uses each.
        self._lent: WeakKeyDictionary[_Loan, int] = WeakKeyDictionary()
        self._pool = threading.Lock()
        self._assigned = Assigned()
        #: Whether a fork has the turn of the writing connection.
        self._paused = False
        #: The device and inode of the file, once it is open, and of its log.
        self._file: tuple[int, int] | None = None
        self._log = (0, 0)
        #: Whether the file can only be read.
        self.read_only = path != MEMORY and is_read_only(Path(path))
        if _inherited and path != MEMORY and _identity_of(self.path) in _inherited:
            # Locks on it would not work.
            raise StoreUnavailable(
                f"{self.name} was in use when this process was forked and cannot be opened in it: "
                "fork while no other thread uses the store, or start the process with spawn"
            )
        if path != MEMORY:
            # SQLite gives its log the mode of the file. An error is reported when the file is opened.
            with suppress(OSError):
                create_file(Path(path))
            driver.register(self)
        with mapped(path):
            self._writer = self._connect_writer()

    @property
    def used_file(self) -> tuple[int, int]:
        """The device and inode of the file, if any connection may be open; (0, 0) otherwise."""
        if self._closed and not self._lent:
            return _NO_FILE
        return self._file or _identity_of(self.path)

    def cipher_for(self, copy: Path) -> str | None:
        """Return what encrypts a copy of the store; the copy of a file has its key and its salt."""
        return driver.cipher_of(self._settings.key, copy) if self.cipher == driver.UNKEYED else self.cipher

    def _connect_writer(self) -> sqlite3.Connection:
        before = _identity_of(self.path)
        try:
            writer = self._connect(self._settings.synchronous)
        except driver.errors():
            # Another process may have just created the encrypted file, with its own salt.
            cipher, self.cipher = self.cipher, self._read_cipher()
            if self.cipher == cipher:
                raise
            writer = self._connect(self._settings.synchronous)
        writer.execute(f"PRAGMA cache_size = -{_WRITER_CACHE_KIB}")
        if self.path != MEMORY:
            writer.execute("SELECT 1 FROM sqlite_master").fetchone()  # creates the log
            self._file, self._log = _identity_of(self.path), _identity_of(f"{self.path}-wal")
            if before not in (self._file, _NO_FILE):
                writer.close()
                raise StoreUnavailable(f"{self.name} was replaced while it was being opened: open it again")
        return writer

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
            connection.execute(f"PRAGMA busy_timeout = {self._settings.busy_timeout_ms}")
            if not self.read_only:
                connection.execute(f"PRAGMA page_size = {driver.PAGE_SIZE}")
                self._enter_wal(connection)
                connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
            connection.execute(f"PRAGMA synchronous = {synchronous}")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute(f"PRAGMA cache_size = -{_READER_CACHE_KIB}")
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.create_function("heat", 2, lambda weight, idle: heat_of(weight, timedelta(microseconds=idle)))
        except BaseException:
            connection.close()
            raise
        return connection

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

    @contextmanager
    def reading(self, *, once: bool = False, new: bool = False) -> Iterator[SqliteStatements]:
        """Return statements that all see one state of the store; a single one (`once`) needs no transaction.

        A `new` connection has nothing of earlier states in memory.
        """
        self._process.require()
        if self.name == MEMORY:
            with self._turn.held(), mapped(self.name):
                writer = self._opened_writer()
                yield SqliteStatements(writer, committed=not writer.in_transaction)
            return
        loan, connection = _Loan(), None
        with mapped(self.name):
            try:
                with self._pool:
                    self._require_open()
                    self._lent[loan] = threading.get_ident()
                    connection = self._idle.pop() if self._idle and not new else None
                if connection is None:
                    connection = self._connect("normal")
                if not once:
                    connection.execute("BEGIN")
                yield SqliteStatements(connection, committed=True)
            finally:
                self._give_back(loan, connection, keep=not new)

    def _give_back(self, loan: _Loan, connection: sqlite3.Connection | None, *, keep: bool) -> None:
        """End the read transaction of a connection and return it to the pool, or close it."""
        if not self._process.current:
            _abandoned.append(connection)
            return
        try:
            if connection is not None and connection.in_transaction:
                connection.execute("COMMIT")
        except driver.errors():
            keep = False
        with self._pool:
            self._lent.pop(loan, None)
            if connection is not None and keep and not self._closed:
                self._idle.append(connection)
                return
        if connection is not None:
            connection.close()

    @contextmanager
    def transaction(
        self,
        committed: Callable[[SqliteStatements], None],
        committing: AbstractContextManager[None] | None = None,
        *,
        log_only: bool = False,
    ) -> Iterator[SqliteStatements]:
        """Run one write transaction; an exception rolls it back. The turn of the writer is held.

        Args:
            committed: Called after the commit.
            committing: The context of both.
            log_only: Wait neither for the disk nor for other processes: raise StoreBusy at once.
        """
        self._process.require()
        with mapped(self.name):
            writer = self._opened_writer()
            statements = SqliteStatements(writer, assigned=self._assigned)
            if log_only:
                self._set_patience(writer, 0, "normal")
            try:
                writer.execute("BEGIN IMMEDIATE")
                yield statements
                self._process.require()
                self._require_in_place()
                statements.change_text()
                with committing or nullcontext():
                    writer.execute("COMMIT")
                    committed(statements)
            except BaseException:
                with suppress(*driver.errors()):
                    if self._process.current and writer.in_transaction:
                        writer.execute("ROLLBACK")
                raise
            finally:
                if log_only and self._process.current:
                    self._set_patience(writer, self._settings.busy_timeout_ms, self._settings.synchronous)

    def _set_patience(self, writer: sqlite3.Connection, milliseconds: int, synchronous: str) -> None:
        if self.name != MEMORY:
            writer.execute(f"PRAGMA busy_timeout = {milliseconds}")
            writer.execute(f"PRAGMA synchronous = {synchronous}")

    def truncate_log(self, wait_ms: int) -> bool:
        """Move the write-ahead log into the file and empty it; return False if other connections prevent that."""
        self._process.require()
        with self._turn.held(), mapped(self.name):
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
        with self._turn.held(), self._pool:
            if not self._closed:
                self._closed = True
                self._close_idle()

    def before_fork(self) -> None:
        """Close the connections and let nobody open new ones; those in use are waited for up to busy_timeout_ms."""
        if not self._process.current:
            return
        self._turn.stop()
        deadline = time.monotonic() + self._settings.busy_timeout_ms / 1000
        # What this thread uses itself will not be returned meanwhile.
        in_use = self._turn.is_held or threading.get_ident() in self._lent.values()
        self._paused = self._turn.pause(self._settings.busy_timeout_ms / 1000)
        self._pool.acquire()
        while self._lent and time.monotonic() < deadline and not in_use:
            self._pool.release()
            time.sleep(0.001)
            self._pool.acquire()
        if self._paused and not (self._writer and self._writer.in_transaction):
            self._close_idle()

    def after_fork(self) -> None:
        """Let connections be opened again in the parent; the child opens the store anew."""
        if not self._process.current and self._pool.locked() and (self._writer is not None or self._lent):
            _abandoned.extend([*self._idle, *([self._writer] if self._writer else [])])
            _inherited.add(_identity_of(self.path))
        if self._pool.locked():
            self._pool.release()
        if self._paused:
            self._paused = False
            self._turn.resume()

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

    def missing_files(self) -> list[str]:
        """Return the names of the store's open files that were moved, deleted or replaced."""
        if self.path == MEMORY:
            return []
        self._process.require()
        with self._turn.held(), mapped(self.name):
            self._opened_writer()
            found = {self.name: (self.path, self._file), f"{self.name}-wal": (f"{self.path}-wal", self._log)}
            return [name for name, (path, identity) in found.items() if _identity_of(path) != identity]

    def _require_in_place(self) -> None:
        """Raise `StoreUnavailable` if the path leads to another file than the one that is open, or to none."""
        if self._file is not None and _identity_of(self.path) != self._file:
            raise StoreUnavailable(
                f"{self.name} was moved, deleted or replaced while it was open: nothing was written; "
                "put the file back, or close the store and open it again"
            )

    def _require_open(self) -> None:
        if self._closed:
            raise StoreClosed(f"{self.name} is closed: open it again")


def require_unused(path: str) -> None:
    """Refuse a store that this process has open: two SQLite libraries do not see each other's locks in one process."""
    if _identity_of(path) in driver.used_files():
        raise StoreBusy(f"{path} is open in this process: close it and try again")
