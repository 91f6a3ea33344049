"""Translation of PostgreSQL's errors into Memotherm's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import errors as pg
from psycopg_pool import PoolClosed, PoolTimeout

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

__all__ = ["mapped", "without_secrets"]

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
    except PoolClosed as exc:
        raise StoreClosed(f"{name} is closed: open it again") from exc
    except PoolTimeout as exc:
        raise StoreBusy(
            f"all connections to {name} are in use: try again, or raise the setting postgres_pool_size"
        ) from exc
    except psycopg.Error as exc:
        raise _translated(exc, name) from exc
    except UnicodeEncodeError as exc:
        raise InvalidInput(f"a text contains half of a surrogate pair at position {exc.start}: remove it") from exc


def _translated(exc: psycopg.Error, name: str) -> MemothermError:
    message = _first_line(exc)
    if isinstance(exc, _FULL):
        return StoreFull(f"no space left for {name}: free some; the change was rolled back")
    if isinstance(exc, _BUSY):
        return StoreBusy(
            f"{name} is locked by another writer ({message}): try again, or raise the setting busy_timeout_ms"
        )
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


def _first_line(exc: psycopg.Error) -> str:
    text = exc.diag.message_primary or str(exc)
    return text.splitlines()[0] if text else type(exc).__name__
