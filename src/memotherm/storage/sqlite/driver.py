"""The SQLite library: that of Python, or SQLCipher (the package sqlcipher3) for encrypted files."""

from __future__ import annotations

import functools
import os
import sqlite3
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakSet

from memotherm.errors import PluginUnavailable
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
