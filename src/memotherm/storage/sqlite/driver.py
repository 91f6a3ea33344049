"""The SQLite library: that of Python, or SQLCipher (the package sqlcipher3) for encrypted files."""

from __future__ import annotations

import functools
import os
import sqlite3
import sys
import threading
from collections.abc import Sequence
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakSet

from memotherm.errors import NotAStore, PluginUnavailable, StoreDamaged, StoreUnavailable, WrongKey
from memotherm.settings.keys import KEY_BYTES, SALT_BYTES, derived

Identity = tuple[int, int]


class User(Protocol):
    """What has a store open, or is about to open it."""

    @property
    def used_file(self) -> Identity:
        """The device and inode of the file, if any connection may be open; (0, 0) otherwise."""

    def before_fork(self) -> None:
        """Close the connections."""

    def after_fork(self) -> None:
        """Let connections be opened again in the parent."""


_users: WeakSet[User] = WeakSet()
#: The descriptors that were not closed, by the device and inode of their files.
_kept: dict[Identity, int] = {}
#: Held while a user registers or a file is read, and during a fork.
_lock = threading.Lock()
#: The users that were told about the fork.
_told: list[User] = []


def register(user: User) -> None:
    """Note that a store is going to be opened."""
    with _lock:
        _users.add(user)


def used_files() -> set[Identity]:
    """Return the files that this process may have open."""
    with _lock:
        return {user.used_file for user in list(_users)}


def read_header(path: str | Path, count: int) -> bytes:
    """Return up to `count` bytes at the beginning of a file; raise OSError if it cannot be read."""
    with _lock:
        used = {user.used_file for user in list(_users)}
        for unused in _kept.keys() - used:
            os.close(_kept.pop(unused))
        kept = _kept.get(_identity(Path(path).stat()))
        if kept is not None:
            return os.pread(kept, count, 0)
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            return os.read(descriptor, count)
        finally:
            identity = _identity(os.fstat(descriptor))
            if identity in used and os.name == "posix":
                _kept[identity] = descriptor
            else:
                os.close(descriptor)


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


def _before_fork() -> None:
    _lock.acquire()
    for user in list(_users):
        user.before_fork()
        _told.append(user)


def _after_fork() -> None:
    while _told:
        _told.pop().after_fork()
    _lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


#: How a file begins that is not encrypted. An encrypted file begins with a random salt.
HEADER = b"SQLite format 3\x00"
#: Five vectors of 384 dimensions fit one page; the default of 4096 would waste a quarter.
PAGE_SIZE = 8192
#: Lets SQLCipher open a database that is not encrypted, such as one in memory.
UNKEYED = ""

#: Most processors have instructions for it: a write takes 1.28 times as long as in a plain file, with SHA-512 1.43.
_HMAC = "HMAC_SHA256"
#: The bytes at the end of an encrypted page: an initialization vector and an HMAC.
_RESERVED = 48
_PACKAGE = "sqlcipher3.dbapi2"


def connect(database: str | Path, cipher: str | None = None, **options: Any) -> sqlite3.Connection:  # noqa: ANN401
    """Open a database; `cipher` is what `cipher_of` returns or `UNKEYED`, and None uses Python's own library."""
    connect_to = sqlite3.connect if cipher is None else _sqlcipher().connect
    connection: sqlite3.Connection = connect_to(str(database), **options)
    if cipher:
        try:
            connection.execute("PRAGMA cipher_log_level = NONE")  # it would report a wrong key on standard error
            connection.execute(f"PRAGMA key = \"x'{cipher}'\"")
            configure(connection, "main")
        except BaseException:
            connection.close()
            raise
    return connection


def configure(connection: sqlite3.Connection, schema: str) -> None:
    """Set how the pages of an encrypted database are written, before the first one is read or written."""
    connection.execute(f"PRAGMA {schema}.cipher_page_size = {PAGE_SIZE}")
    connection.execute(f"PRAGMA {schema}.cipher_hmac_algorithm = {_HMAC}")


def cipher_of(key: str, path: str | Path) -> str:
    """Return the key and the salt of a file, as hexadecimal digits; a new file gets a random salt."""
    _sqlcipher()  # so that nothing is created if it is missing
    try:
        salt = read_header(path, SALT_BYTES)
    except OSError:
        salt = b""
    if len(salt) < SALT_BYTES or salt == HEADER:
        salt = os.urandom(SALT_BYTES)
    return derived(key, salt).hex() + salt.hex()


def header_of(path: str | Path, cipher: str) -> bytes:
    """Return the first 32 bytes of an encrypted file, decrypted; they are random if the key is another one."""
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES
    from cryptography.hazmat.primitives.ciphers.modes import CBC

    page = read_header(path, PAGE_SIZE)
    key = bytes.fromhex(cipher)[:KEY_BYTES]
    initial = page[-_RESERVED:][:SALT_BYTES]
    return HEADER + Cipher(AES(key), CBC(initial)).decryptor().update(page[SALT_BYTES : 2 * SALT_BYTES])


def errors() -> tuple[type[Exception], ...]:
    """Return the base classes of the errors of the libraries in use."""
    module = sys.modules.get(_PACKAGE)
    return (sqlite3.Error,) if module is None else (sqlite3.Error, module.Error)


def is_misuse(exc: BaseException) -> bool:
    """Return whether an error says that the library was called wrongly."""
    return type(exc).__name__ in ("ProgrammingError", "InterfaceError")


@functools.cache
def _sqlcipher() -> Any:  # noqa: ANN401 - the package has no types
    try:
        return import_module(_PACKAGE)
    except ImportError as exc:
        raise PluginUnavailable(
            f"encryption needs a package that is not installed ({exc}): pip install 'memotherm[encryption]'"
        ) from exc


#: What to do about a lost text index.
REPAIR = "`memotherm store check --repair` rebuilds it"


def is_lost_index(exc: BaseException) -> bool:
    """Return whether an error says that the text index is missing or damaged."""
    text, code = str(exc), getattr(exc, "sqlite_errorcode", 0)
    return "text_live" in text or "text_cold" in text or code == sqlite3.SQLITE_CORRUPT_VTAB


# The files of a store, before SQLite opens them

#: The path of a store that lives only as long as its process.
MEMORY = ":memory:"

_HEADER_SIZE = 100
#: The byte of the header that tells how the file is written, and its value for a file without a write-ahead log.
_WRITE_VERSION, _WITHOUT_LOG = 18, 1


def require_openable(path: str, key: str = "") -> None:
    """Raise a clear error for a missing folder, a folder, or a file that is not a store with or without encryption."""
    if path == MEMORY:
        return
    file = Path(path)
    try:
        if file.is_dir():
            raise StoreUnavailable(f"{path} is a folder: name a file in it, such as {file / 'agent.db'}")
        if not file.parent.is_dir():
            raise StoreUnavailable(f"the folder {file.parent} does not exist: create it first")
        if file.exists() and file.stat().st_size:
            _require_kind(path, read_header(file, _HEADER_SIZE), key)
    except OSError as exc:
        raise StoreUnavailable(f"cannot open {path}: {exc.strerror or exc}") from exc


def _require_kind(path: str, header: bytes, key: str) -> None:
    plain = header.startswith(HEADER)
    if plain and key:
        raise WrongKey(
            f"{path} is not encrypted, and a key is set: run `memotherm store encrypt {path}`, or unset the key"
        )
    if not plain and not key:
        raise NotAStore(
            f"{path} is not a Memotherm store, or it is encrypted; it was left as it is: "
            "choose another path, or set MEMOTHERM_KEY or MEMOTHERM_KEY_FILE"
        )
    log = Path(f"{path}-wal")
    if log.exists() and log.stat().st_size:
        # A file that uses a write-ahead log says so in its header before the log exists. SQLite would mix the log with
        # a file that has none, such as a checkpoint.
        readable = header if plain else header_of(path, cipher_of(key, path))
        if readable[_WRITE_VERSION] == _WITHOUT_LOG:
            raise StoreDamaged(
                f"{path}-wal belongs to another file than {path}, which was copied over it: "
                f"move {path}-wal away, and {path}-shm if there is one, and open the store again"
            )


def read_only_uri(file: Path) -> str:
    """Return the URI that opens a file for reading.

    SQLite needs a log beside a file that others may write. Where there is none and none can be created, nobody is
    writing, and the file is read without one.
    """
    alone = not Path(f"{file}-wal").exists() and not os.access(file.parent, os.W_OK)
    return f"{file.absolute().as_uri()}?mode=ro{'&immutable=1' if alone else ''}"


def is_read_only(file: Path) -> bool:
    """Return whether an existing file, or the folder that its log is created in, cannot be written."""
    return file.exists() and not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK))


# Files of other programs


def is_sqlite(file: Path) -> bool:
    """Return whether a file is a SQLite database."""
    try:
        return read_header(file, len(HEADER)) == HEADER
    except OSError:
        return False


def read_tables(file: Path, tables: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of some tables, in the order in which they were inserted."""
    rows: dict[str, list[dict[str, Any]]] = {}
    try:
        with closing(sqlite3.connect(read_only_uri(file), uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            for table in tables:
                rows[table] = [dict(row) for row in connection.execute(f'SELECT * FROM "{table}" ORDER BY rowid')]  # noqa: S608
    except sqlite3.Error as exc:
        raise NotAStore(f"{file.name} does not have the tables {', '.join(tables)}: {exc}") from exc
    return rows
