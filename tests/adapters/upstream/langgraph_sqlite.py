"""Let the tests of langgraph-checkpoint-sqlite use our store instead of `SqliteStore` and `AsyncSqliteStore`."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Self

import langgraph.store.sqlite
import langgraph.store.sqlite.aio

from memotherm.adapters.langgraph import MemothermStore


class Store(MemothermStore):
    """A store that is opened as `SqliteStore` is."""

    def __init__(self, path: str, *, index: Any = None, ttl: Any = None) -> None:
        # SqliteStore has another name for the fields, and another default than `TTLConfig` documents.
        index = index and {**index, "fields": index.get("text_fields")}
        super().__init__(path, index=index, ttl=ttl and {"refresh_on_read": False, **ttl}, rank="cosine")

    @classmethod
    @contextmanager
    def from_conn_string(cls, conn_string: str, **arguments: Any) -> Iterator[Self]:
        with cls(conn_string, **arguments) as store:
            yield store

    def setup(self) -> None:
        """Do nothing: a store is ready when it is opened."""


class AsyncStore(Store):
    """The same store, opened as `AsyncSqliteStore` is."""

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, conn_string: str, **arguments: Any) -> AsyncIterator[Self]:  # type: ignore[override]
        async with cls(conn_string, **arguments) as store:
            yield store

    async def setup(self) -> None:  # type: ignore[override]
        """Do nothing: a store is ready when it is opened."""

    async def sweep_ttl(self) -> int:  # type: ignore[override]
        return super().sweep_ttl()

    async def start_ttl_sweeper(self) -> None:  # type: ignore[override]
        super().start_ttl_sweeper()

    async def stop_ttl_sweeper(self) -> None:  # type: ignore[override]
        super().stop_ttl_sweeper()

    def close(self) -> None:
        super().stop_ttl_sweeper()
        self.memory.close()


langgraph.store.sqlite.SqliteStore = Store
langgraph.store.sqlite.aio.AsyncSqliteStore = AsyncStore
langgraph.store.sqlite.AsyncSqliteStore = AsyncStore
