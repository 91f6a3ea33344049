"""The contract of the note index: collections, files, chunks, flush prompts."""

from __future__ import annotations

from dataclasses import replace

from memotherm.model import Retention, Scope, Tier
from memotherm.model.actions import Action
from memotherm.storage.store import Transaction
from memotherm.storage.values import ChunkLocation, ChunkRow, NoteRow, Record, RootRow
from tests.storage.contract.base import EVERYONE, Contract

_COLLECTION = "notes:/home/ada"


class NotesContract(Contract):
    """Shelves of a scope, files and chunks."""

    def collection(self, scope: Scope = EVERYONE) -> int:
        """Make a collection with a folder on it."""
        space = self.transaction.space(scope, _COLLECTION)
        self.transaction.put_root(RootRow(space, "/home/ada", ("docs",), scope, _COLLECTION))
        return space

    def note(self, space: int, path: str = "MEMORY.md") -> NoteRow:
        """Return a file that is not stored yet."""
        return NoteRow(0, space, path, "hash", "stamp", 12, 0, True, "400/80/1", Tier.WARM)

    def filed(self, space: int, content: str, scope: Scope = EVERYONE) -> tuple[int, Record]:
        """Store a file of one chunk."""
        memory = self.memory(content, scope, kind="note", source="file:MEMORY.md")

        def change(transaction: Transaction) -> tuple[int, Record]:
            record = transaction.insert(space, memory, None, self.cause(Action.SYNC))
            number = transaction.put_note(self.note(space))
            transaction.set_chunks(number, [ChunkRow(record, 1, 3, "Head", memory.digest)])
            return number, record

        return self.store.transact(change)

    def test_a_collection_is_visible_in_its_scope_and_searched_separately(self) -> None:
        """Its memories are visible in the scope and have a space of their own."""
        space = self.collection()
        _, record = self.filed(space, "an otter in a file")
        plain = self.stored("an otter")

        assert plain.space != space
        assert set(self.seen()) == {plain.space, space}
        assert self.seen()[-1] == plain.space
        assert self.store.collection(EVERYONE, _COLLECTION) == space
        assert self.store.collection(EVERYONE, "notes:elsewhere") is None
        assert set(self.by_words("otter")) == {record.no, plain.no}
        assert self.store.collection(Scope(user="u1"), _COLLECTION) is None

    def test_a_change_leaves_a_memory_in_its_collection(self) -> None:
        """Unless its scope changes."""
        space = self.collection()
        _, record = self.filed(space, "an otter")

        assert self.changed(record, tier=Tier.COLD).space == space
        assert self.changed(record, tags=("x",)).space == space

    def test_the_same_content_in_a_file_is_no_duplicate(self) -> None:
        """A memory of a file is no duplicate; a memory in a collection that is not from a file is one."""
        space = self.collection()
        _, record = self.filed(space, "an otter")
        home = self.transaction.space(EVERYONE)
        assert self.transaction.duplicate(home, record.memory.digest, "note", self.clock()) is None
        own = self.stored("a seal", kind="note")
        moved = self.transaction.move_to_collection(own, space, self.cause(Action.SYNC))
        duplicate = self.transaction.duplicate(home, own.memory.digest, "note", self.clock())
        assert duplicate is not None
        assert (duplicate.no, duplicate.space, moved.space) == (own.no, space, space)

    def test_shelving_moves_a_memory_in_both_searches(self) -> None:
        """With an event; its id stays."""
        self.serving()
        space = self.collection()
        record = self.stored("an otter")
        self.transaction.move_to_collection(record, space, self.cause(Action.SYNC))

        assert self.now(record).space == space
        assert [event.action for event in self.store.events(record)] == ["remember", "sync"]
        for spaces, expected in (((space,), [record.no]), ((record.space,), [])):
            by_words = self.store.search_text(self.search(spaces=spaces), ["otter"], 5).scores
            by_vector = self.store.search_vector(self.search(spaces=spaces), self.vector("an otter"), 5)
            assert list(by_words) == list(by_vector) == expected

    def test_roots_are_remembered(self) -> None:
        """Until they have no notes and are dropped."""
        space = self.collection()
        root = RootRow(space, "/home/ada", ("docs",), EVERYONE, _COLLECTION)
        number, record = self.filed(space, "x")

        assert self.store.roots(self.seen()) == [root]
        assert self.store.roots(()) == []
        self.transaction.drop_root(space)
        assert self.store.roots(self.seen()) == [root]
        self.transaction.drop_note(number)
        self.transaction.discard(record, self.cause(Action.PURGE))
        self.transaction.drop_root(space)
        assert self.store.roots(self.seen()) == []

    def test_files_and_their_chunks_are_listed(self) -> None:
        """By path, with everything that was known; another path may be given to the same file."""
        space = self.collection()
        number, record = self.filed(space, "an otter")
        wanted = self.note(space)._replace(note=number)

        assert self.store.notes(space) == [wanted]
        assert self.store.chunk_locations([record.no]) == {record.no: ChunkLocation("MEMORY.md", 1, 3, "Head")}
        assert self.transaction.note(space, "MEMORY.md") == wanted
        assert [row.record.no for row in self.transaction.chunks(number)] == [record.no]
        assert self.transaction.put_note(wanted._replace(path="memory/x.md", settled=False)) == number
        assert self.transaction.note(space, "MEMORY.md") is None
        assert [row.path for row in self.store.notes(space)] == ["memory/x.md"]

    def test_a_file_with_a_chunk_in_another_space_is_misplaced(self) -> None:
        """It is listed until the memory is in the space of its file again."""
        space = self.collection(Scope(session="s1"))
        _, record = self.filed(space, "an otter", Scope(session="s1"))
        assert self.store.misplaced_notes(space) == []

        widened = self.changed(record, scope=Scope())
        assert self.store.misplaced_notes(space) == ["MEMORY.md"]
        self.transaction.move_to_collection(widened, space, self.cause(Action.SYNC))
        assert self.store.misplaced_notes(space) == []

    def test_discarding_erases_like_a_purge(self) -> None:
        """Content, words, vectors, and what the ledger quoted."""
        self.serving()
        record = self.stored("an otter", metadata={"a": 1})
        changed = self.changed(record, metadata={"a": 2})
        self.transaction.discard(changed, self.cause(Action.PURGE))

        assert self.now(record).memory == replace(
            self.now(record).memory, content="", metadata={}, retention=Retention.PURGED
        )
        assert self.by_words("otter") == self.by_vector("an otter") == []
        assert all("metadata" not in event.changes for event in self.store.events(record))

    def test_a_flush_is_told_once_in_a_cycle(self) -> None:
        """By the number of the cycle, or until it is not due any more."""
        space = self.stored("x").space

        def prompted(cycle: int | None, *, due: bool) -> bool:
            return self.transaction.claim_flush(space, cycle, due=due)

        assert self.store.flush_state(space) is None
        assert [prompted(0, due=True), prompted(0, due=True), prompted(1, due=False), prompted(1, due=True)] == [
            True, False, False, True,
        ]  # fmt: skip
        assert self.store.flush_state(space) == (1, True)
        repeated = [prompted(None, due=due) for due in (True, True, False, True)]
        assert repeated == [True, False, False, True]
        assert self.store.flush_state(space) == (1, False)
