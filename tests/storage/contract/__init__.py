"""The contract of a store, subject by subject, as tests that the tests of each store inherit."""

from __future__ import annotations

from memotherm.model import Tier
from tests.storage.contract.notes import NotesContract
from tests.storage.contract.reads import ReadingContract, VisibilityContract
from tests.storage.contract.search import SearchContract, VectorsContract
from tests.storage.contract.transaction import TransactionContract
from tests.storage.contract.upkeep import CheckpointContract, PoliciesContract, UpkeepContract

__all__ = ["CheckpointContract", "SharedStoreContract", "StoreContract"]


class StoreContract(
    ReadingContract,
    VisibilityContract,
    TransactionContract,
    SearchContract,
    VectorsContract,
    UpkeepContract,
    NotesContract,
    PoliciesContract,
):
    """Tests for every store. Override `open_store`."""


class SharedStoreContract(StoreContract):
    """Tests for stores that persist and that several processes open at once."""

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
