"""Where a test keeps its memories: in files, or in databases of a PostgreSQL server that stand for them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from unittest.mock import patch

from memotherm import Memory, Scope
from memotherm.model.actions import Action
from memotherm.storage.sqlite import store as sqlite_store
from memotherm.storage.store import Store, Transaction
from memotherm.storage.values import Cause
from tests.postgres import database

__all__ = ["a_store", "encryption", "insert_all", "limits", "located", "using"]

#: The server that tests use instead of files at the moment, and the databases that stand for paths.
_server: str | None = None
_databases: dict[str, str] = {}
_open = ExitStack()


@contextmanager
def limits(
    exact: int = sqlite_store.EXACT_LIMIT,
    vectors: int = sqlite_store.VECTOR_CACHE_BYTES,
    candidates: int = sqlite_store.CANDIDATE_CACHE_BYTES,
) -> Iterator[None]:
    """Let stores that are opened meanwhile search more than `exact` vectors by codes or an index, or keep less."""
    with ExitStack() as patched:
        patched.enter_context(patch.object(sqlite_store, "EXACT_LIMIT", exact))
        patched.enter_context(patch.object(sqlite_store, "VECTOR_CACHE_BYTES", vectors))
        patched.enter_context(patch.object(sqlite_store, "CANDIDATE_CACHE_BYTES", candidates))
        with suppress(ImportError):  # the frameworks of some adapters are tested without its driver
            from memotherm.storage.postgres import store as postgres_store

            patched.enter_context(patch.object(postgres_store, "EXACT_LIMIT", exact // 4))
        yield


@contextmanager
def using(server: str | None) -> Iterator[None]:
    """Let tests keep their memories on a server (None = in files) until the end."""
    global _server, _open
    before, kept = _server, _open
    _server, _open = server, ExitStack()
    try:
        with _open:
            yield
    finally:
        _server, _open = before, kept
        _databases.clear()


def located(path: Path | str = ":memory:") -> Path | str:
    """Return the store for a path: the same database for the same path, a new one for a store in memory."""
    if _server is None or "://" in str(path):
        return path
    if path == ":memory:":
        return _open.enter_context(database(_server))
    if str(path) not in _databases:
        _databases[str(path)] = _open.enter_context(database(_server))
    return _databases[str(path)]


def encryption(place: Path | str) -> dict[str, str]:
    """Return the argument that encrypts a file, if the run is to test that (`make encryption`)."""
    key = os.environ.get("TEST_KEY")
    return {"key": key} if key and "://" not in str(place) else {}


@contextmanager
def a_store() -> Iterator[Path | str]:
    """Return a new store that is given back at once, for tests that need very many."""
    if _server is None:
        yield ":memory:"
    else:
        with database(_server) as url:
            yield url


def insert_all(store: Store, scope: Scope, memories: Sequence[Memory], now: datetime) -> int:
    """Store memories without vectors in one transaction, and return the number of their space."""

    def insert(transaction: Transaction) -> int:
        space = transaction.space(scope)
        for memory in memories:
            transaction.insert(space, memory, None, Cause(action=Action.REMEMBER, at=now))
        return space

    return store.transact(insert)
