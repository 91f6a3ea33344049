"""The SQLite store keeps the contract, in a file and in memory, with exact and with coded vectors."""

from __future__ import annotations

from pathlib import Path

from thermocline.settings import Settings
from thermocline.storage.open import open_store
from thermocline.storage.store import Store
from thermocline.testing import SharedStoreConformance, StoreConformance


class TestSqliteFile(SharedStoreConformance):
    """A store in a file."""

    def open_store(self, folder: Path) -> Store:
        return open_store(str(folder / "memory.db"), Settings(synchronous="normal"))


class TestSqliteFileCoded(SharedStoreConformance):
    """A store in a file whose vectors are all searched as 4-bit codes."""

    def open_store(self, folder: Path) -> Store:
        return open_store(str(folder / "memory.db"), Settings(synchronous="normal", exact_band_limit=0))


class TestSqliteMemory(StoreConformance):
    """A store that lives as long as its process."""

    def open_store(self, folder: Path) -> Store:
        return open_store(":memory:", Settings())
