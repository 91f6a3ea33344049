"""Scopes, single memories and listings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import product
from typing import Any

from memotherm.model import Priority, Retention, Scope, Tier, Trust
from memotherm.model.actions import Action
from memotherm.model.results import TierCount
from memotherm.storage.values import EVERY_RETENTION, Record, Use
from memotherm.testing import FakeClock
from tests.storage.contract.base import EVERYONE, LIVE, Contract, numbers

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
        scopes = (_PROJECT, _PROJECT, _SESSION)
        first, again, other = self.store.transact(lambda transaction: [transaction.space(each) for each in scopes])
        later = self.transaction.space(_PROJECT)

        assert first == again == later != other

    def test_a_scope_that_was_rolled_back_lends_its_number_to_nobody(self) -> None:
        """What a unit of work reads of its own scope is forgotten with it: another scope keeps its own memories."""
        with self.aborted_work():
            lost = self.now(self.stored("for the session", _SESSION))
            assert lost.memory.scope == _SESSION
            self.listed(_SESSION)
        kept = self.stored("for the rival", _OTHER)

        assert self.now(kept).memory.scope == _OTHER
        assert kept.space != lost.space
        assert self.listed(_SESSION) == []
        assert self.store.check() == []

    def test_a_recall_in_a_unit_of_work_that_fails_is_not_logged(self) -> None:
        """Its query and its uses would be those of whoever gets the numbers next."""
        with self.aborted_work():
            lost = self.stored("for the session", _SESSION)
            self.log(lost.space, query="a private question", uses=(Use(lost.no),))
        kept = self.stored("for the rival", _OTHER)

        assert self.store.log_entries(self.seen(_OTHER), 0, 10) == []
        assert self.now(kept).memory.access_count == 0

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
        self.transaction.purge(first, self.cause(Action.PURGE))
        spaces = self.seen(_PROJECT)
        whole = self.store.ledger(spaces, None, 10, oldest_first=True)

        assert [event.memory_id for event in whole] == [first.memory.id, second.memory.id, first.memory.id]
        assert whole[2].action == Action.PURGE
        assert self.store.ledger(spaces, None, 10, oldest_first=False) == whole[::-1]
        assert self.store.ledger(spaces, whole[0].seq, 1, oldest_first=True) == whole[1:2]
        assert self.store.ledger(spaces, whole[2].seq, 1, oldest_first=False) == whole[1:2]
        assert self.store.ledger((), None, 10, oldest_first=True) == []
        hour, later = timedelta(hours=1), self.clock() + timedelta(seconds=1)
        changes = self.store.tier_changes(spaces, self.clock(), later, hour)
        assert [change.no for change in changes] == [first.no, second.no, first.no]
        assert changes[0].retention is changes[2].retention is Retention.PURGED
        assert self.store.tier_changes(spaces, later, later, hour) == []

    def test_events_are_read_by_memory_and_by_moment(self) -> None:
        """Those of other spaces are left out, and an event at the moment itself is not after it."""
        first = self.stored("one")
        earlier = self.clock()
        later = self.clock.advance(seconds=1)
        second = self.stored("two", _PROJECT)
        spaces = self.seen(_PROJECT)

        histories = self.store.histories([second.no, first.no])
        assert histories == {record.memory.id: self.store.events(record) for record in (first, second)}
        assert self.store.histories([]) == {}
        assert self.store.changed_between(spaces, earlier, later)
        assert not self.store.changed_between(spaces, later, later + timedelta(seconds=1))
        assert not self.store.changed_between(self.seen(), earlier, later)

    def test_records_come_by_number(self) -> None:
        """Numbers that do not exist are left out."""
        first, second = self.stored("one"), self.stored("two")

        assert self.store.records([second.no, first.no, 10_000]) == {first.no: first, second.no: second}
        assert self.store.records([]) == {}

    def test_a_listing_has_an_order_a_place_and_a_count(self) -> None:
        """The order is that of the whole listing, and a text narrows it."""
        for content in ("one", "two two two", "Three"):
            self.stored(content)
        self.stored("for the rival", _OTHER)

        assert self.listed(order="oldest", skip=1) == ["two two two", "Three"]
        assert self.listed(order="largest", limit=1) == ["two two two"]
        assert self.listed(contains="THREE") == ["Three"]
        assert self.store.count(self.search()) == 3
        assert self.store.count(self.search(contains="o")) == 2
        assert self.store.count(self.search(spaces=())) == 0
        assert self.store.kinds(self.search()) == {"fact": 3}
        assert self.store.kinds(self.search(spaces=())) == {}

    def test_pages_tile_the_listing(self) -> None:
        """Each page begins before the last memory of the one before it."""
        records = [self.stored(f"memory {number}") for number in range(7)]
        pages, before = [], None
        while page := self.store.find(self.search(limit=3, before=before)):
            pages.append(numbers(page))
            before = page[-1].no

        assert [len(page) for page in pages] == [3, 3, 1]
        assert [no for page in pages for no in page] == numbers(reversed(records))
        for size in (1, 3, 7, 10):
            assert numbers(self.store.each(self.search(limit=size))) == numbers(reversed(records))

    def test_a_place_is_one_space_and_tier(self) -> None:
        """A session's hot memories are counted and listed apart from everything else, newest first."""
        first = self.stored("first", _SESSION, tier=Tier.HOT, tokens=3)
        self.clock.advance(seconds=1)
        second = self.stored("second", _SESSION, tier=Tier.HOT, tokens=4)
        self.stored("warm", _SESSION)
        self.stored("wider", _PROJECT, tier=Tier.HOT)
        count = self.store.counts((first.space,), self.clock()).tiers[Tier.HOT]

        assert numbers(self.store.list_tier(first.space, Tier.HOT, self.clock(), 10)) == [second.no, first.no]
        assert numbers(self.store.list_tier(first.space, Tier.HOT, self.clock(), 1)) == [second.no]
        assert (count.memories, count.tokens) == (2, 7)


_ANN = Scope(user="ann")
_SCOPES = (EVERYONE, _ANN, _SESSION, Scope(user="nobody"))
_TIERS = ((), (Tier.HOT,), (Tier.WARM,), (Tier.COLD,), (Tier.HOT, Tier.COLD), LIVE, tuple(Tier))
_KINDS_AND_TAGS = (
    (("task", "note"), None),
    ((), None),
    (None, ("red",)),
    (None, ("blue", "green")),
    (("fact",), ("red",)),
    (None, ("unknown",)),
)
#: Changes of a hot, a warm and a cold memory and of a task, one after the other.
_CHANGES: tuple[tuple[dict[str, Any], ...], ...] = (
    ({"tier": Tier.COLD}, {"scope": _ANN}, {"tags": ("green", "red"), "kind": "task"}),
    ({"scope": _ANN}, {"tier": Tier.COLD, "priority": Priority.PINNED}, {"retention": Retention.DELETED}),
    ({"tier": Tier.HOT}, {"retention": Retention.ARCHIVED}, {"retention": Retention.ACTIVE, "scope": _ANN}),
    (
        {},
        {"trust": Trust.PERSON},
        {"trust": Trust.WEB, "valid_until": FakeClock().now},
        {"retention": Retention.PROPOSED},
    ),
)
_HIDDEN = (Retention.ARCHIVED, Retention.DELETED, Retention.PROPOSED)


class VisibilityContract(Contract):
    """Every read returns what its scope, tiers and filter allow, and nothing else; a model in Python says what."""

    def test_every_read_agrees_with_the_model_after_every_change(self) -> None:
        """Moves, changes of scope, tags and kind, archiving, deleting, restoring, purging, and expiry."""
        self.serving()
        end = self.clock() + timedelta(hours=1)
        fields: tuple[dict[str, Any], ...] = (
            *({"tier": tier} for tier in Tier),
            {"kind": "task", "priority": Priority.LOW},
            {"kind": "note", "tags": ("red",)},
            {"tags": ("red", "blue")},
            {"tier": Tier.COLD, "priority": Priority.PINNED},
            {"expires_at": end},
            {"expires_at": end, "priority": Priority.PINNED},
        )
        places = [*product((EVERYONE, _ANN), fields), *product((_PROJECT, _SESSION, _OTHER), fields[:1])]
        records = [
            self.stored(f"otter number {number}", scope, tokens=number, **each)
            for number, (scope, each) in enumerate(places)
        ]
        self.agree(records, "as they were stored")
        for changes in _CHANGES:
            for record, change in zip(records, changes, strict=False):
                self.changed(record, **change)
            self.agree(records, f"after {changes}")
        self.purged(records[0])
        self.clock.advance(hours=1)
        self.agree(records, "after a purge, at the moment when some expire")

    def agree(self, records: Sequence[Record], when: str) -> None:
        """Compare all reads from all scopes with the model."""
        current = sorted(self.store.records(numbers(records)).values(), key=lambda each: each.no)
        for scope in _SCOPES:
            fields = dict(scope.items())
            visible = [each for each in current if dict(each.memory.scope.items()).items() <= fields.items()]
            told = f"{when}, from {scope}"
            assert set(self.seen(scope)) == {each.space for each in visible}, told
            for each in current:
                if each.memory.retention is not Retention.PURGED:
                    found = self.store.get(self.seen(scope), each.memory.id)
                    assert found == (each if each in visible else None), told
            self.listings_agree(scope, visible, told)
            self.searches_agree(scope, [each for each in visible if self.is_active(each)], told)

    def is_active(self, record: Record) -> bool:
        """Return whether a memory is active and has not expired, which pinned ones never do."""
        memory = record.memory
        lasts = memory.expires_at is None or memory.expires_at > self.clock() or memory.priority is Priority.PINNED
        return memory.retention is Retention.ACTIVE and lasts

    def listings_agree(self, scope: Scope, visible: Sequence[Record], told: str) -> None:
        """Compare listings, pinned memories and counts."""
        spaces, now = self.seen(scope), self.clock()
        active = [each for each in visible if self.is_active(each)]

        def listed(expected: Iterable[Record], **fields: Any) -> None:
            found = self.store.find(self.search(scope, **{"tiers": tuple(Tier), **fields}))
            assert numbers(found) == numbers(expected)[::-1], f"{told}: {fields}"

        listed(active)
        for tier in Tier:
            listed((each for each in active if each.memory.tier is tier), tiers=(tier,))
        listed((each for each in active if each.memory.priority is Priority.LOW), priority=Priority.LOW)
        listed((each for each in active if each.memory.kind == "task"), kinds=("task",))
        for tags in (("red",), ("blue", "green")):
            listed((each for each in active if {*tags} & {*each.memory.tags}), tags=tags)
        retentions = {
            retention: [each for each in visible if each.memory.retention is retention] for retention in Retention
        }
        for retention in _HIDDEN:
            listed(retentions[retention], retentions=(retention,))
        expired = [each for each in retentions[Retention.ACTIVE] if each not in active]
        readable = [each for each in visible if each.memory.retention is not Retention.PURGED]
        listed(readable, retentions=EVERY_RETENTION)

        pinned = [each for each in active if each.memory.priority is Priority.PINNED]
        assert numbers(self.store.pinned(self.search(scope))) == numbers(pinned), told
        counts = self.store.counts(spaces, now)
        for tier in Tier:
            sizes = [each.memory.tokens for each in active if each.memory.tier is tier]
            assert counts.tiers[tier] == TierCount(memories=len(sizes), tokens=sum(sizes)), told
        expected = {retention: len(found) for retention, found in retentions.items()}
        expected[Retention.ACTIVE] -= len(expired)
        expected[Retention.DELETED] += len(expired)
        assert counts.retention == expected, told

    def searches_agree(self, scope: Scope, active: Sequence[Record], told: str) -> None:
        """Compare both searches, and the filter that every candidate passes last."""
        everything = range(1, 1 + max((each.no for each in active), default=0))
        filters = [(tiers, None, None) for tiers in _TIERS] + [(LIVE, kinds, tags) for kinds, tags in _KINDS_AND_TAGS]
        for tiers, kinds, tags in filters:
            expected = {
                each.no
                for each in active
                if each.memory.tier in tiers
                and (kinds is None or each.memory.kind in kinds)
                and (tags is None or {*tags} & {*each.memory.tags})
            }
            what = f"{told}: {tiers} {kinds} {tags}"
            assert set(self.by_words("otter", scope, tiers, kinds=kinds, tags=tags)) == expected, what
            assert set(self.by_vector("otter", scope, tiers, kinds=kinds, tags=tags)) == expected, what
            candidates = self.store.candidates(self.search(scope, tiers, kinds=kinds, tags=tags), everything)
            assert set(candidates.no.tolist()) == expected, what
