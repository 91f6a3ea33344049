"""Transactions: changes and their events are committed together or not at all."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from memotherm.model import Priority, Retention, Scope, Tier, Trust
from memotherm.model.actions import Action
from memotherm.storage.store import Transaction
from memotherm.storage.tombstones import Passage, Passages
from memotherm.storage.values import Cause, Record, Use
from memotherm.text.content import digest
from tests.storage.contract.base import EVERYONE, LIVE, Contract


class TransactionContract(Contract):
    """Nothing changes without an event, and nothing half."""

    def test_storing_appends_one_event(self) -> None:
        """The first event of a memory has its initial value on every axis."""
        record = self.stored("a fact", tier=Tier.HOT, priority=Priority.IMPORTANT)
        (event,) = self.store.events(record)

        assert event.seq == self.store.seq() == record.memory.version
        assert (event.memory_id, event.action, event.at) == (record.memory.id, "remember", self.clock())
        assert event.changes == {
            "tier": (None, "hot"),
            "priority": (None, "important"),
            "retention": (None, "active"),
        }

    def test_a_change_appends_one_event_with_what_changed(self) -> None:
        """The event has who, which rule, why, and each field before and after."""
        record = self.stored("a fact")
        self.clock.advance(hours=1)
        cause = Cause(action=Action.MOVE, at=self.clock(), actor="planner", rule="cooling", why="not used for long")
        after = replace(record.memory, tier=Tier.COLD, tags=("x",))
        changed = self.transaction.change(record, after, cause)
        event = self.store.events(record)[-1]

        assert len(self.store.events(record)) == 2
        assert event.seq == record.memory.version + 1 == self.store.seq()
        assert (event.action, event.actor, event.rule, event.why, event.at) == (
            "move",
            "planner",
            "cooling",
            "not used for long",
            self.clock(),
        )
        assert event.changes == {"tier": ("warm", "cold"), "tags": ([], ["x"])}
        assert self.now(record) == changed
        assert changed.memory.version == event.seq

    def test_a_change_sets_the_times_that_follow_from_it(self) -> None:
        """What was written, moved or hidden is dated; what was not keeps its date."""
        record = self.stored("a fact")
        made = self.clock()
        moved = self.clock.advance(hours=1)
        self.changed(record, tier=Tier.COLD)
        hidden = self.clock.advance(hours=1)
        self.changed(record, retention=Retention.ARCHIVED)
        written = self.clock.advance(hours=1)
        memory = self.changed(record, kind="task").memory

        assert (memory.created_at, memory.tier_since, memory.retention_since, memory.updated_at) == (
            made,
            moved,
            hidden,
            written,
        )

    def test_a_change_that_changes_nothing_leaves_no_trace(self) -> None:
        """No event, no new version."""
        record = self.stored("a fact")
        seq = self.store.seq()

        assert self.changed(record, tier=Tier.WARM) == record
        assert self.store.seq() == seq

    def test_sequence_numbers_have_no_gaps(self) -> None:
        """Several changes in one transaction are several events in their order."""

        def change(transaction: Transaction) -> Record:
            space = transaction.space(Scope())
            first = transaction.insert(space, self.memory("one"), None, self.cause())
            transaction.insert(space, self.memory("two"), None, self.cause())
            transaction.change(first, replace(first.memory, tier=Tier.HOT), self.cause())
            return first

        first = self.store.transact(change)

        assert self.store.seq() == 3
        assert [event.seq for event in self.store.events(first)] == [1, 3]

    def test_a_transaction_sees_what_it_has_written(self) -> None:
        """Reading inside a transaction comes after its own changes."""

        def change(transaction: Transaction) -> None:
            space = transaction.space(Scope())
            memory = self.memory("one", priority=Priority.PINNED)
            record = transaction.insert(space, memory, None, self.cause())

            assert transaction.get(memory.id) == record
            assert transaction.duplicate(space, memory.digest, "fact", self.clock()) == record
            assert transaction.count_priority(Scope(), Priority.PINNED, self.clock()) == 1

        self.store.transact(change)

    def test_an_exception_takes_everything_back(self) -> None:
        """Neither rows nor words, vectors, tags, events nor counts stay behind."""
        self.serving()
        existing = self.stored("kept", tags=("old",))
        seq, counts = self.store.seq(), self.store.counts(self.seen(), self.clock())

        def change(transaction: Transaction) -> None:
            space = transaction.space(Scope())
            vectors = self.embedder.embed(["vanishing"])
            transaction.insert(space, self.memory("vanishing", tags=("new",)), vectors, self.cause())
            transaction.change(existing, replace(existing.memory, tier=Tier.COLD, tags=("new",)), self.cause())
            transaction.touch([existing.no], self.clock())

        self.aborted(change)

        assert self.now(existing) == existing
        assert self.listed() == ["kept"]
        assert self.listed(tags=("new",)) == []
        assert self.by_words("vanishing") == []
        assert self.by_vector("vanishing") == [existing.no]
        assert (self.store.seq(), self.store.counts(self.seen(), self.clock())) == (seq, counts)

    def test_a_space_that_was_taken_back_leaves_no_memory_of_its_scope(self) -> None:
        """The number of a scope that was never committed may be given to another one."""

        def change(transaction: Transaction) -> None:
            memory = self.memory("for ann", Scope(user="ann"))
            transaction.insert(transaction.space(memory.scope), memory, None, self.cause())
            assert transaction.get(memory.id) is not None

        self.aborted(change)
        record = self.stored("for bob", Scope(user="bob"))

        assert self.now(record).memory.scope == Scope(user="bob")
        assert self.listed(Scope(user="ann")) == []

    def test_a_purge_erases_all_but_the_events(self) -> None:
        """Content, tags, metadata, source, words and vectors go; when and what happened stays."""
        self.serving()
        record = self.stored("the secret", tags=("hidden",), metadata={"secret": 1}, source="a spy")
        self.changed(record, content="another secret", digest=digest("another secret"), tags=("masked",))
        purged = self.purged(record)
        memory = self.now(record).memory
        events = self.store.events(record)

        assert purged.memory == memory
        assert memory.retention is Retention.PURGED
        assert (memory.content, memory.tags, memory.metadata, memory.source, memory.tokens) == ("", (), {}, "", 0)
        assert [event.action for event in events] == ["remember", "update", "purge"]
        assert events[-1].changes == {"retention": ("active", "purged")}
        assert not any({"content", "tags", "metadata", "source"} & set(event.changes) for event in events)
        assert self.by_words("secret") == []
        assert self.by_vector("secret") == []
        assert self.listed(tags=("hidden",), retentions=(Retention.PURGED,)) == []
        assert self.store.cached_vectors(record.memory.digest) is None

    def test_a_purge_leaves_a_tombstone_for_everything_that_was_said(self) -> None:
        """Found in scopes that see the memory or are seen with it, and gone when the content is stored again."""
        ann = Scope(user="ann")
        contents = ["the secret", "another secret", "the heron"]
        record = self.stored("the secret", ann)
        self.changed(record, content="another secret", digest=digest("another secret"))
        copy = self.stored("the heron", ann)
        self.purged(record)
        self.transaction.discard(copy, self.cause(Action.PURGE))

        def passages(scope: Scope, *texts: str, above: Trust | None = None) -> Passages:
            return self.store.transact(lambda transaction: transaction.tombstones.find(scope, texts, above))

        def found(scope: Scope, *texts: str) -> set[str]:
            return set(passages(scope, *texts))

        for scope in (ann, Scope(user="ann", session="s"), EVERYONE, Scope(project="p")):
            assert found(scope, *contents) == set(contents[:2])
        for scope in (Scope(user="bob"), Scope(tenant="t"), Scope(tenant="t", user="ann", session="s")):
            assert found(scope, *contents) == (set(contents[:2]) if scope.user == "ann" else set()), "never wider"
        spellings = {"The  Secret!", "the\u200b secret", "ＴＨＥ secret", "the se-cret"}
        assert found(ann, *spellings, "the secrets") == spellings
        larger = "so another secret of mine"
        assert passages(ann, larger) == {larger: [Passage(3, 17, self.clock())]}
        assert passages(ann, *contents, above=Trust.AGENT) == {}
        self.stored("the secret")
        assert found(ann, *contents) == set(contents[:2]), "remembered again elsewhere"
        self.stored("the secret", ann)
        assert found(ann, *contents) == {contents[1]}
        said, cause = "the crane left. the stork came back", self.cause(Action.FORGET)
        self.store.transact(lambda transaction: transaction.tombstones.add(copy, cause, said, "the crane left"))
        assert found(ann, "the crane left", "yes, the stork came back") == {"yes, the stork came back"}

    def test_a_duplicate_is_visible_of_the_same_space_kind_and_content(self) -> None:
        """Only a visible memory of the same space and kind is a duplicate."""
        known = self.stored("the same words")
        self.stored("the same words", Scope(user="ann"))
        ended = self.stored("expired words", expires_at=self.clock() + timedelta(hours=1))
        hidden = self.changed(self.stored("hidden words"), retention=Retention.ARCHIVED)
        self.clock.advance(hours=1)

        now = self.clock()
        assert self.transaction.duplicate(known.space, known.memory.digest, "fact", now) == known
        assert self.transaction.duplicate(known.space, known.memory.digest, "task", now) is None
        created = known.memory.created_at
        assert self.transaction.duplicate(known.space, known.memory.digest, "fact", now, since=created) == known
        later = created + timedelta(seconds=1)
        assert self.transaction.duplicate(known.space, known.memory.digest, "fact", now, since=later) is None
        assert self.transaction.duplicate(known.space, digest("other words"), "fact", now) is None
        assert self.transaction.duplicate(ended.space, ended.memory.digest, "fact", now) is None
        assert self.transaction.duplicate(hidden.space, hidden.memory.digest, "fact", now) is None

    def test_priorities_are_counted_over_what_a_scope_sees(self) -> None:
        """Memories that are not active, or that the scope does not see, do not count."""
        first = self.stored("first", priority=Priority.CRITICAL)
        self.stored("second", priority=Priority.CRITICAL)
        self.stored("elsewhere", Scope(user="ann"), priority=Priority.CRITICAL)
        self.stored("ended", priority=Priority.CRITICAL, expires_at=self.clock())
        self.changed(self.stored("hidden", priority=Priority.CRITICAL), retention=Retention.ARCHIVED)

        for scope, count in ((Scope(), 2), (Scope(user="ann", session="s"), 3), (Scope(user="bob"), 2)):
            assert self.transaction.count_priority(scope, Priority.CRITICAL, self.clock()) == count
        assert self.transaction.oldest_of_priority(first.space, Priority.CRITICAL, self.clock()) == first
        assert self.transaction.count_priority(Scope(), Priority.PINNED, self.clock()) == 0
        assert self.transaction.oldest_of_priority(first.space, Priority.PINNED, self.clock()) is None

    def test_a_use_and_the_running_relevance_are_no_events(self) -> None:
        """They are no changes: the version stays."""
        record = self.stored("used")
        used = self.clock.advance(hours=1)
        self.transaction.touch([record.no, 10_000], used)
        memory = self.now(record).memory

        assert (memory.access_count, memory.recent_uses, memory.accessed_at) == (1, 1, used)
        assert memory.version == record.memory.version == self.store.seq()
        self.log(
            record.space, keep=False, tiers=LIVE, micros=1, candidates=[], returned=[], relevance=[(record.no, 0.75)]
        )
        assert self.now(record).memory == replace(memory, relevance=0.75)

    def test_a_recall_is_counted_as_use(self) -> None:
        """The log counts what was touched, whether or not the question itself is kept."""
        record, other = self.stored("used"), self.stored("not used")
        for keep in (True, False):
            candidates = [(record.no, 0.9), (other.no, 0.1)]
            uses, returned = [Use(record.no)], [record.no]
            self.log(
                record.space, keep=keep, tiers=LIVE, micros=1234, candidates=candidates, returned=returned, uses=uses
            )

        assert self.now(record).memory.access_count == 2
        assert self.now(record).memory.accessed_at == self.clock()
        assert self.now(other).memory.access_count == 0
        assert self.store.recall_micros(self.seen(), 10) == [1234]
