"""Every store keeps the contract: SQLite (a file, encrypted, in memory) and PostgreSQL, exact and indexed vectors."""

from __future__ import annotations

from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import pytest

from memotherm.settings import Settings
from memotherm.storage.open import open_store
from memotherm.storage.store import Store
from tests.postgres import database
from tests.storage.contract import CheckpointContract, SharedStoreContract, StoreContract
from tests.stores import limits


class TestSqliteFile(SharedStoreContract, CheckpointContract):
    """A store in a file."""

    def open_store(self, folder: Path) -> Store:
        return open_store(str(folder / "memory.db"), Settings(synchronous="normal"))


class TestSqliteFileCoded(SharedStoreContract):
    """A store in a file whose vectors are all searched as 4-bit codes."""

    def open_store(self, folder: Path) -> Store:
        with limits(exact=0):
            return open_store(str(folder / "memory.db"), Settings(synchronous="normal"))


@pytest.mark.skipif(find_spec("sqlcipher3") is None, reason="sqlcipher3 is not installed")
class TestSqliteEncrypted(SharedStoreContract, CheckpointContract):
    """A store in an encrypted file."""

    def open_store(self, folder: Path) -> Store:
        return open_store(str(folder / "memory.db"), Settings(synchronous="normal", key="5e" * 32))


class TestSqliteMemory(StoreContract, CheckpointContract):
    """A store that lives as long as its process."""

    def open_store(self, folder: Path) -> Store:
        return open_store(":memory:", Settings())


class TestPostgres(SharedStoreContract):
    """A store on a server; every small scope is searched exactly."""

    admin: str

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _server(cls, postgres: str) -> None:
        """Remember the server before the first store is opened."""
        cls.admin = postgres

    def setup_method(self) -> None:
        self._databases = ExitStack()
        self._urls: dict[Path, str] = {}
        super().setup_method()

    def teardown_method(self) -> None:
        with self._databases:
            super().teardown_method()

    def open_store(self, folder: Path) -> Store:
        if folder not in self._urls:
            self._urls[folder] = self._databases.enter_context(database(self.admin))
        return open_store(self._urls[folder], Settings())


class TestPostgresIndexed(TestPostgres):
    """A store on a server whose live vectors are all searched by the index."""

    def open_store(self, folder: Path) -> Store:
        with limits(exact=0):
            return super().open_store(folder)
