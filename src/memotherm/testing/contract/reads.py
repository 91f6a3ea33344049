"""Scopes, single memories and listings."""

# ruff: noqa: S101 - asserting is what a test does

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from memotherm.model import Priority, Retention, Scope, Tier
from memotherm.storage.store import Transaction
from memotherm.storage.values import Find
from memotherm.testing.contract.base import Contract, numbers

__all__ = ["ReadingContract"]

_PROJECT = Scope(tenant="acme", project="apollo")
_SESSION = Scope(tenant="acme", project="apollo", session="s1")
_OTHER = Scope(tenant="rival", project="apollo")


class ReadingContract(Contract):
    """Every read is limited to the spaces it is given."""

    def test_an_empty_store_has_nothing(self) -> None:
        """A new store has no spaces, no memories and no events."""
        assert self.seen() == ()
        assert self.listed() == []
        assert self.store.seq() == 0
        assert self.store.get((), "mem_unknown") is None
        assert self.store.event((), 1) is None

    def test_a_scope_keeps_its_number(self) -> None:
        """The same scope is always the same space, and another scope another one."""

        def change(transaction: Transaction) -> tuple[int, int, int]:
            first = transaction.space(_PROJECT)
            again = transaction.space(_PROJECT)
            other = transaction.space(_SESSION)
            return first, again, other

        first, again, other = self.store.transact(change)
        later = self.transaction.space(_PROJECT)

        assert first == again == later != other

    def test_a_scope_sees_the_spaces_that_set_nothing_it_does_not(self) -> None:
        """A narrow scope sees the wider ones around it, and never the other way round."""
        everyone = self.stored("for everyone").space
        project = self.stored("for the project", _PROJECT).space
        session = self.stored("for the session", _SESSION).space
        other = self.stored("for the rival", _OTHER).space

        assert set(self.seen()) == {everyone}
        assert set(self.seen(_PROJECT)) == {everyone, project}
        assert set(self.seen(_SESSION)) == {everyone, project, session}
        assert set(self.seen(_OTHER)) == {everyone, other}
        assert set(self.seen(Scope(user="nobody"))) == {everyone}

    def test_each_scope_is_listed_with_what_it_holds(self) -> None:
        """Only those of the spaces that are given, each with its own memories."""
        self.stored("for everyone")
        first = self.stored("for the project", _PROJECT)
        second = self.stored("also for the project", _PROJECT)
        self.stored("for the rival", _OTHER)
        self.purged(second)

        (count,) = self.store.scopes(self.store.spaces_within(_PROJECT))
        assert (count.scope, count.memories, count.hidden) == (_PROJECT, 1, 0)
        assert count.tiers[first.memory.tier].memories == 1
        everything = self.store.scopes(self.store.spaces_within(Scope()))
        assert [count.scope for count in everything] == [Scope(), _PROJECT, _OTHER]

    def test_a_scope_contains_itself_and_the_narrower_ones(self) -> None:
        """Upkeep works on the spaces inside a scope."""
        everyone = self.stored("for everyone").space
        project = self.stored("for the project", _PROJECT).space
        session = self.stored("for the session", _SESSION).space
        other = self.stored("for the rival", _OTHER).space

        assert set(self.store.spaces_within(_PROJECT)) == {project, session}
        assert set(self.store.spaces_within(_SESSION)) == {session}
        assert set(self.store.spaces_within(Scope())) == {everyone, project, session, other}

    def test_a_store_names_itself_and_its_schema(self) -> None:
        """For a person who asks what is the matter with it."""
        assert self.store.name
        assert self.store.schema >= 1

    def test_a_memory_comes_back_as_it_was_stored(self) -> None:
        """Every field survives, and the version is the event that stored it."""
        record = self.stored(
            "Grüße aus 東京 – “ok” 👍\n\tend",
            _SESSION,
            kind="decision",
            tags=("b", "a", "ü"),
            tier=Tier.COLD,
            tier_rule="explicit",
            priority=Priority.LOW,
            metadata={"n": 1.5, "deep": {"list": [None, True, "x"]}},
            source="a test",
            expires_at=self.clock() + timedelta(days=3, microseconds=7),
            supersedes="mem_other",
            relevance=0.25,
        )

        visible = self.store.get(self.seen(_SESSION), record.memory.id)

        assert visible == record
        assert visible.memory.scope == _SESSION
        assert visible.memory.version == self.store.seq()

    def test_a_memory_is_read_only_from_its_spaces(self) -> None:
        """An id is no key to other people's memories."""
        record = self.stored("for the rival", _OTHER)

        assert self.store.get(self.seen(_PROJECT), record.memory.id) is None
        assert self.store.get((), record.memory.id) is None
        assert self.store.get(self.seen(_OTHER), record.memory.id) == record

    def test_ids_are_completed_only_from_their_spaces(self) -> None:
        """A prefix finds the ids of the given spaces, in order and up to the limit."""
        own = sorted(self.stored(f"fact {number}", _PROJECT).memory.id for number in range(3))
        self.stored("for the rival", _OTHER)

        assert self.store.ids(self.seen(_PROJECT), "mem_", 9) == own
        assert self.store.ids(self.seen(_PROJECT), own[1], 9) == [own[1]]
        assert self.store.ids(self.seen(_PROJECT), "mem_", 2) == own[:2]
        assert self.store.ids(self.seen(_PROJECT), "mem_zz", 9) == []

    def test_a_key_is_read_only_from_its_spaces_and_by_what_is_visible(self) -> None:
        """A key belongs to its scope; the transaction also reads a hidden one, and a purge makes it free."""
        outer, inner = self.stored("outer", key="a/1"), self.stored("inner", Scope(user="ann"), key="a/1")
        self.stored("another", Scope(user="bob"), key="b")
        ann = self.seen(Scope(user="ann"))

        assert numbers(self.store.with_key(self.seen(), "a/1", self.clock())) == [outer.no]
        assert sorted(numbers(self.store.with_key(ann, "a/1", self.clock()))) == [outer.no, inner.no]
        assert self.store.keys(ann, "a", "z", self.clock(), 10) == ["a/1"]
        self.changed(outer, retention=Retention.DELETED)
        assert self.store.keys(self.seen(), "a", "z", self.clock(), 10) == []
        hidden = self.transaction.with_key(outer.space, "a/1")
        assert hidden is not None
        assert (hidden.no, self.transaction.with_key(inner.space, "b")) == (outer.no, None)
        self.purged(outer)
        assert self.transaction.with_key(outer.space, "a/1") is None

    def test_an_event_is_read_only_from_its_spaces(self) -> None:
        """A sequence number is no key to other people's events."""
        record = self.stored("for the rival", _OTHER)
        seq = self.store.seq()
        result = self.store.event(self.seen(_OTHER), seq)

        assert self.store.event(self.seen(_PROJECT), seq) is None
        assert result is not None
        assert (result[0].seq, result[0].memory_id, result[1]) == (seq, record.memory.id, record)

    def test_the_ledger_is_read_in_pages_from_both_ends(self) -> None:
        """Only what happened in the spaces, going on past a number; what was purged stays in it."""
        first = self.stored("one")
        self.stored("for the rival", _OTHER)
        second = self.stored("two", _PROJECT)
        self.transaction.purge(first, self.cause("purge"))
        spaces = self.seen(_PROJECT)
        whole = self.store.ledger(spaces, None, 10, oldest_first=True)

        assert [event.memory_id for event in whole] == [first.memory.id, second.memory.id, first.memory.id]
        assert whole[2].action == "purge"
        assert self.store.ledger(spaces, None, 10, oldest_first=False) == whole[::-1]
        assert self.store.ledger(spaces, whole[0].seq, 1, oldest_first=True) == whole[1:2]
        assert self.store.ledger(spaces, whole[2].seq, 1, oldest_first=False) == whole[1:2]
        assert self.store.ledger((), None, 10, oldest_first=True) == []
        changes = self.store.tier_changes(spaces, self.clock())
        assert [change.no for change in changes] == [first.no, second.no, first.no]
        assert changes[0].retention is changes[2].retention is Retention.PURGED
        assert self.store.tier_changes(spaces, self.clock() + timedelta(seconds=1)) == []

    def test_events_are_read_by_moment(self) -> None:
        """Those of other spaces are left out, and an event at the moment itself is not after it."""
        self.stored("one")
        earlier = self.clock()
        later = self.clock.advance(seconds=1)
        second = self.stored("two", _PROJECT)
        spaces = self.seen(_PROJECT)

        assert [event.memory_id for event in self.store.events_since(spaces, earlier)] == [second.memory.id]
        assert len(self.store.events_since(spaces, earlier - timedelta(seconds=1))) == 2
        assert self.store.events_since(spaces, later) == self.store.events_since((), earlier) == []
        assert self.store.changed_between(spaces, earlier, later)
        assert not self.store.changed_between(spaces, later, later + timedelta(seconds=1))
        assert not self.store.changed_between(self.seen(), earlier, later)

    def test_records_come_by_number(self) -> None:
        """Numbers that do not exist are left out."""
        first, second = self.stored("one"), self.stored("two")

        assert self.store.records([second.no, first.no, 10_000]) == {first.no: first, second.no: second}
        assert self.store.records([]) == {}

    def test_a_listing_is_newest_first_and_of_visible_spaces(self) -> None:
        """What lies in other spaces is not listed."""
        self.stored("one")
        self.stored("two", _PROJECT)
        self.stored("three", _OTHER)
        self.stored("four")

        assert self.listed() == ["four", "one"]
        assert self.listed(_PROJECT) == ["four", "two", "one"]

    def test_a_listing_has_an_order_a_place_and_a_count(self) -> None:
        """The order is that of the whole listing, and a text narrows it."""
        for content in ("one", "two two two", "Three"):
            self.stored(content)
        self.stored("for the rival", _OTHER)

        assert self.listed(order="oldest", skip=1) == ["two two two", "Three"]
        assert self.listed(order="largest", limit=1) == ["two two two"]
        assert self.listed(contains="THREE") == ["Three"]
        find = Find(now=self.clock())
        assert self.store.count(self.seen(), find) == 3
        assert self.store.count(self.seen(), replace(find, contains="o")) == 2
        assert self.store.count((), find) == 0

    def test_a_listing_filters_every_axis(self) -> None:
        """Tier, priority, kind and tags each narrow a listing; of several tags, one is enough."""
        self.stored("hot", tier=Tier.HOT)
        self.stored("low", priority=Priority.LOW)
        self.stored("task", kind="task")
        self.stored("red", tags=("red",))
        self.stored("red and blue", tags=("red", "blue"))
        self.stored("green", tags=("green",))

        assert self.listed(tier=Tier.HOT) == ["hot"]
        assert self.listed(priority=Priority.LOW) == ["low"]
        assert self.listed(kind="task") == ["task"]
        assert self.listed(tags=("red",)) == ["red and blue", "red"]
        assert self.listed(tags=("blue", "green")) == ["green", "red and blue"]
        assert self.listed(tags=("red",), kind="task") == []

    def test_a_listing_shows_one_retention(self) -> None:
        """Active memories by default; hidden ones only when they are asked for."""
        self.stored("active")
        self.changed(self.stored("archived"), retention=Retention.ARCHIVED)
        self.changed(self.stored("deleted"), retention=Retention.DELETED)

        assert self.listed() == ["active"]
        assert self.listed(retention=Retention.ARCHIVED) == ["archived"]
        assert self.listed(retention=Retention.DELETED) == ["deleted"]
        assert self.listed(retention=None, hidden=True) == ["deleted", "archived"]

    def test_a_listing_leaves_out_what_has_expired(self) -> None:
        """A memory is gone at the very moment it expires, unless it is pinned."""
        end = self.clock() + timedelta(hours=1)
        self.stored("lasts")
        self.stored("ends", expires_at=end)
        self.stored("pinned", expires_at=end, priority=Priority.PINNED)

        assert self.listed() == ["pinned", "ends", "lasts"]
        self.clock.advance(hours=1)
        assert self.listed() == ["pinned", "lasts"]
        assert self.listed(retention=None, hidden=True) == ["ends"]

    def test_pages_tile_the_listing(self) -> None:
        """Each page begins before the last memory of the one before it."""
        records = [self.stored(f"memory {number}") for number in range(7)]
        pages, before = [], None
        while page := self.store.find(self.seen(), Find(now=self.clock(), limit=3, before=before)):
            pages.append(numbers(page))
            before = page[-1].no

        assert [len(page) for page in pages] == [3, 3, 1]
        assert [no for page in pages for no in page] == numbers(reversed(records))

    def test_pinned_memories_are_oldest_first_and_visible(self) -> None:
        """Other priorities, hidden memories and other spaces do not count."""
        first = self.stored("first", priority=Priority.PINNED)
        self.stored("not pinned", priority=Priority.CRITICAL)
        self.changed(self.stored("hidden", priority=Priority.PINNED), retention=Retention.ARCHIVED)
        self.stored("not here", _OTHER, priority=Priority.PINNED)
        last = self.stored("last", priority=Priority.PINNED, tier=Tier.COLD)

        assert numbers(self.store.pinned(self.seen(), self.clock())) == [first.no, last.no]

    def test_counts_follow_every_change(self) -> None:
        """Tiers count active memories and their tokens; retentions count all."""
        self.stored("hot", tier=Tier.HOT, tokens=3)
        cold = self.stored("cold", tier=Tier.COLD, tokens=5)
        self.stored("other", _OTHER, tokens=100)
        hidden = self.changed(self.stored("hidden", tokens=7), retention=Retention.ARCHIVED)
        self.changed(cold, tier=Tier.WARM)
        self.purged(hidden)

        counts = self.store.counts(self.seen(), self.clock())
        tiers = {tier: (count.memories, count.tokens) for tier, count in counts.tiers.items()}

        assert tiers == {Tier.HOT: (1, 3), Tier.WARM: (1, 5), Tier.COLD: (0, 0)}
        assert counts.retention == {
            Retention.ACTIVE: 2,
            Retention.ARCHIVED: 0,
            Retention.DELETED: 0,
            Retention.PURGED: 1,
        }

    def test_what_is_past_its_time_counts_as_deleted(self) -> None:
        """At once, before any maintenance; pinned memories have no end."""
        over = self.clock() - timedelta(seconds=1)
        self.stored("kept", tokens=2)
        self.stored("over", tokens=3, expires_at=over)
        self.stored("pinned", tokens=4, expires_at=over, priority=Priority.PINNED)
        counts = self.store.counts(self.seen(), self.clock())

        assert (counts.tiers[Tier.WARM].memories, counts.tiers[Tier.WARM].tokens) == (2, 6)
        assert (counts.retention[Retention.ACTIVE], counts.retention[Retention.DELETED]) == (2, 1)

    def test_a_place_is_one_space_and_tier(self) -> None:
        """A session's hot memories are counted and listed apart from everything else, newest first."""
        first = self.stored("first", _SESSION, tier=Tier.HOT, tokens=3)
        self.clock.advance(seconds=1)
        second = self.stored("second", _SESSION, tier=Tier.HOT, tokens=4)
        self.stored("warm", _SESSION)
        self.stored("wider", _PROJECT, tier=Tier.HOT)
        count = self.store.count_tier(first.space, Tier.HOT, self.clock())

        assert numbers(self.store.list_tier(first.space, Tier.HOT, self.clock(), 10)) == [second.no, first.no]
        assert numbers(self.store.list_tier(first.space, Tier.HOT, self.clock(), 1)) == [second.no]
        assert (count.memories, count.tokens) == (2, 7)
