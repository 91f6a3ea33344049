"""The whole contract of a store, to be inherited by the tests of one.

    class TestMyStore(StoreConformance):
        def open_store(self, folder):
            return MyStore(folder / "memories")

The classes need no test framework: any runner that calls `setup_method`, a test and
`teardown_method` will do. With pytest, `pytest.register_assert_rewrite("memotherm.testing")`
in a `conftest.py` makes failures tell what was compared.
"""

# ruff: noqa: S101 - asserting is what a test does

from __future__ import annotations

from memotherm.model import Tier
from memotherm.testing.contract.notes import NotesContract
from memotherm.testing.contract.policies import PoliciesContract
from memotherm.testing.contract.reading import ReadingContract
from memotherm.testing.contract.search import SearchContract
from memotherm.testing.contract.transaction import TransactionContract
from memotherm.testing.contract.upkeep import CheckpointContract, UpkeepContract
from memotherm.testing.contract.vectors import VectorsContract

__all__ = ["CheckpointConformance", "SharedStoreConformance", "StoreConformance"]


class StoreConformance(
    ReadingContract,
    TransactionContract,
    SearchContract,
    VectorsContract,
    UpkeepContract,
    NotesContract,
    PoliciesContract,
):
    """What every store must do. Override `open_store`."""


class CheckpointConformance(CheckpointContract):
    """What a store must do in addition that writes checkpoints to files."""


class SharedStoreConformance(StoreConformance):
    """What a store must do that outlives its process and that several open at once."""

    def test_what_was_stored_is_there_after_reopening(self) -> None:
        """Rows, words, vectors, events and the embedder survive."""
        self.serving()
        record = self.stored("an otter", tags=("wet",))
        events, identity = self.store.events(record), self.store.identity()
        self.store.close()
        self.store = self.open_store(self.folder)

        assert self.now(record) == record
        assert self.by_words("otter") == [record.no]
        assert self.by_vector("an otter") == [record.no]
        assert self.listed(tags=("wet",)) == ["an otter"]
        assert self.store.events(record) == events
        assert self.store.identity() == identity

    def test_two_openings_see_each_others_writes_at_once(self) -> None:
        """In rows, in both searches and in the ledger, without waiting and without reopening."""
        self.serving()
        mine = self.stored("my otter")
        other, here = self.open_store(self.folder), self.store
        try:
            assert self.by_vector("otter") == [mine.no]
            self.store = other
            assert self.by_vector("otter") == [mine.no]
            theirs = self.stored("their otter")
            self.changed(mine, tier=Tier.COLD)
            self.store = here

            assert self.listed() == ["their otter", "my otter"]
            assert self.by_words("otter") == self.by_vector("otter") == [theirs.no]
            assert self.by_vector("otter", tiers=[Tier.COLD]) == [mine.no]
            assert self.store.seq() == other.seq() == 3
        finally:
            self.store = here
            other.close()
