"""The contract of sessions, values, logs, claims, checkpoints and policies."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memotherm.errors import InvalidInput, LeaseLost, ReadOnly, StoreClosed
from memotherm.model import Priority, Scope, Tier
from memotherm.model.actions import Action
from memotherm.model.clock import new_id
from memotherm.model.recall import UseKind
from memotherm.model.results import Adoption
from memotherm.storage.store import Claim, Store
from memotherm.storage.values import LaterUse, RecallEntry, ReceiptRow, Record, Use
from tests.storage.contract.base import Contract, numbers

_SESSION = Scope(session="s1")


class UpkeepContract(Contract):
    """Sessions, values, logs and claims."""

    def test_a_session_has_a_state(self) -> None:
        """It begins active; one that has ended is not open."""
        space = self.stored("said in the session", _SESSION).space
        assert self.store.session_state(space) is None

        self.transaction.set_session(space, "active", self.clock())
        assert self.store.session_state(space) == "active"
        assert self.store.open_sessions(self.seen(_SESSION)) == {"s1"}
        idle = [(space, _SESSION)]
        self.clock.advance(days=1)
        assert self.store.idle_sessions([space], self.clock(), 10) == idle
        assert self.store.idle_sessions([space], self.clock(), 0) == []
        assert self.store.idle_sessions([], self.clock(), 10) == []
        self.stored("said later", _SESSION)
        assert self.store.idle_sessions([space], self.clock(), 10) == []

        self.transaction.set_session(space, "archived", self.clock())
        assert self.store.session_state(space) == "archived"
        assert self.store.open_sessions(self.seen(_SESSION)) == frozenset()

    def test_a_transaction_reads_the_tiers_of_a_session(self) -> None:
        """Newest first, pinned memories included, other tiers left out."""
        late = self.stored("relevant", _SESSION, tier=Tier.HOT, relevance=0.9, tokens=1)
        first = self.stored("old", _SESSION, tier=Tier.HOT, relevance=0.2, tokens=2)
        self.clock.advance(seconds=1)
        second = self.stored("new", _SESSION, tier=Tier.HOT, relevance=0.2, tokens=4)
        pinned = self.stored("pinned", _SESSION, tier=Tier.HOT, priority=Priority.PINNED, tokens=8)
        self.stored("warm", _SESSION, relevance=0.0, tokens=16)

        hot = self.transaction.list_tier(late.space, Tier.HOT, self.clock())
        assert numbers(hot) == [pinned.no, second.no, first.no, late.no]
        assert self.transaction.hot_tokens(late.space, self.clock()) == 15
        assert self.transaction.session_state(late.space) is None

    def test_the_least_worth_is_pruned_first(self) -> None:
        """Use makes a cold memory worth more."""
        used = self.stored("used", _SESSION, tier=Tier.COLD, relevance=0.1, access_count=5)
        unused = self.stored("unused", _SESSION, tier=Tier.COLD, relevance=0.3)
        self.stored("warm", _SESSION, relevance=0.0)

        assert numbers(self.transaction.prunable(used.space, self.clock(), 10)) == [unused.no, used.no]

    def test_values_are_stored_by_namespace_and_key(self) -> None:
        """Until they expire; an existing value stays unless it is replaced."""
        now, later = self.clock(), self.clock() + timedelta(hours=1)

        assert self.store.put_value("keys", "a", "1", now, None, replace=False) is None
        assert self.store.put_value("keys", "a", "2", now, None, replace=False) == "1"
        assert self.store.put_value("keys", "a", "3", now, None, replace=True) is None
        assert self.store.put_value("keys", "b", "4", now, later, replace=False) is None
        assert self.store.get_values("keys", now) == {"a": "3", "b": "4"}
        assert self.store.get_values("keys", now, "b") == {"b": "4"}
        assert self.store.get_values("replies", now) == {}
        assert self.store.get_values("keys", later) == {"a": "3"}
        assert self.store.put_value("keys", "b", "5", later, None, replace=False) is None
        assert self.store.delete_value("keys", "a")
        assert not self.store.delete_value("keys", "a")
        assert self.store.get_values("keys", now, "a") == {}

    def test_a_unit_of_work_is_committed_as_a_whole(self) -> None:
        """All changes and values, or none; reads in between see them."""
        now = self.clock()
        with self.store.unit_of_work():
            self.stored("a fact")
            self.stored("another fact")
            assert self.store.seq() == 2
            self.store.put_value("replies", "a", "1", now, None, replace=False)
        assert self.store.seq() == 2
        assert self.store.get_values("replies", now) == {"a": "1"}

        with self.aborted_work():
            self.stored("a third fact")
            assert self.store.seq() > 2
            self.stored("a fourth fact")
            self.store.put_value("replies", "b", "2", now, None, replace=False)
        assert self.store.seq() == 2
        assert self.store.get_values("replies", now) == {"a": "1"}

    def test_a_unit_of_work_with_a_failed_change_is_not_committed(self) -> None:
        """Whoever ignores the error does not commit half of the change: leaving the context raises it again."""

        def work() -> None:
            with self.store.unit_of_work():
                space = self.stored("a fact").space
                self.aborted(lambda transaction: transaction.insert(space, self.memory("half"), None, self.cause()))

        with pytest.raises(Exception):  # noqa: B017, PT011 - that of the change, or of the unit
            work()
        assert self.store.seq() == 0
        assert self.listed() == []
        self.stored("a later fact")
        assert self.listed() == ["a later fact"]

    def test_a_policy_of_a_unit_of_work_that_fails_is_not_in_force(self) -> None:
        """Nor does a reader take the next adoption, which gets the same number, for the one that it knows."""
        policy = Adoption(at=self.clock(), actor="ann", action=Action.ADOPT, name="p", hash="h", document="one")
        before = self.store.adopted
        with self.aborted_work():
            self.transaction.adopt(policy)
            self.store.adoptions()
            self.stored("a fact")
        assert self.store.adopted == before
        assert self.store.adoptions() == []

    def test_tallies_add_up(self) -> None:
        """By name, over the spaces asked for."""
        one, two = self.stored("one").space, self.stored("two", _SESSION).space
        for space, number in ((one, 10), (one, 5), (two, 100)):
            self.transaction.tally(space, "spill", number)

        assert self.store.tallies((one,))["spill"] == (2, 15)
        assert self.store.tallies((one, two))["spill"] == (3, 115)

    def test_receipts_are_kept_until_they_are_trimmed_and_name_nothing_purged(self) -> None:
        """They are read from their spaces, newest first, and a purge removes the memory and the query."""
        first, second = self.stored("one"), self.stored("two")
        for record in (first, second):
            entries = [(record.memory.id, "hot", "full", 5, [("current",)], None, "")]
            receipt = ReceiptRow(query="which?", budget=100, tokens=20, given=7, format="markdown", entries=entries)
            self.log(record.space, keep=False, receipt=receipt)
            self.clock.advance(hours=1)

        newest, oldest = self.store.receipts([first.space], None, 10)
        assert (newest.included[0].id, newest.query, newest.tokens) == (second.memory.id, "which?", 20)
        assert self.store.receipts([first.space], newest.number, 10) == [oldest]
        brief = self.store.receipts([first.space], None, 1, entries=False)[0]
        assert (brief.number, brief.given_tokens, brief.included) == (newest.number, 7, ())
        assert self.store.receipts([], None, 10) == []
        assert self.store.receipts_of([first.space], first.memory.id, 10) == [oldest]
        assert self.store.receipts_of([], first.memory.id, 10) == []
        assert self.store.injections_of([first.space], first.memory.id) == (1, oldest.at)
        assert self.store.injections_of([], first.memory.id) == (0, None)
        self.purged(second)
        newest, _ = self.store.receipts([first.space], None, 10)
        assert (newest.included, newest.query) == ((), None)
        self.store.trim_receipts(newest.at)
        assert self.store.receipts([first.space], None, 10) == [newest]

    def test_the_recall_log_is_read_in_order(self) -> None:
        """Page by page, of some spaces, with the options as they were given."""
        record = self.stored("first")
        for number in range(3):
            options = {"limit": number, "scope": {"project": "ö"}}
            self.log(record.space, query=f"q{number}", tiers=(Tier.HOT,), returned=[record.no], options=options)

        first, second = self.store.log_entries([record.space], 0, 2)
        (third,) = self.store.log_entries([record.space], second.number, 2)
        assert [first.query, second.query, third.query] == ["q0", "q1", "q2"]
        assert (first.returned, first.tiers, third.at) == ((record.no,), (Tier.HOT,), self.clock())
        assert third.options == {"limit": 2, "scope": {"project": "ö"}}
        assert self.store.log_entries([], 0, 10) == []
        assert [recall.query for recall in self.store.recalls_of([record.space], record.no, 2)] == ["q2", "q1"]
        assert self.store.recalls_of([record.space], record.no + 1, 2) == []
        assert self.store.recalls_of([], record.no, 2) == []

    def test_uses_that_follow_a_recall_count_once_until_they_are_purged_trimmed_or_erased(self) -> None:
        """A recall is found by its id in its spaces; a use of it is recorded once for each strength."""
        first, second = self.stored("first"), self.stored("second")
        recall_id = new_id("rec", self.clock())
        self.log(first.space, id=recall_id, tiers=(Tier.HOT,), returned=[first.no, second.no])
        recall = self.store.logged_recall([first.space], recall_id)
        assert recall is not None
        assert self.store.recent_recalls([first.space], self.clock(), self.clock(), 5) == [recall]
        assert self.store.logged_recall([], recall_id) is None
        assert self.store.recent_recalls([], self.clock(), self.clock(), 5) == []
        self.clock.advance(minutes=1)

        def use(record: Record, strength: UseKind) -> LaterUse:
            return LaterUse(
                at=self.clock(), recall=recall.number, space=recall.space, strength=strength, no=record.no, weight=2.5
            )

        for record, new in ((first, True), (first, False), (second, True)):
            assert self.transaction.add_later_use(use(record, UseKind.CONFIRMED)) is new
        self.transaction.add_later_use(use(first, UseKind.REFLECTED))
        memory = self.now(first).memory
        assert (memory.use_weight, memory.recent_uses, memory.access_count) == (5.0, 5.0, 2)
        assert memory.accessed_at == self.clock()
        kept = self.store.later_uses([first.space])
        assert [(each.no, each.strength) for each in kept] == [
            (first.no, "confirmed"), (first.no, "reflected"), (second.no, "confirmed")
        ]  # fmt: skip
        assert self.store.later_uses([]) == []
        self.purged(second)
        assert [each.no for each in self.store.later_uses([first.space])] == [first.no, first.no]
        self.store.trim_recalls(self.clock())
        assert len(self.store.later_uses([first.space])) == 2
        self.transaction.erase_usage([first.space])
        assert self.store.later_uses([first.space]) == []

    def test_a_claim_of_a_clock_that_is_far_ahead_is_taken_over(self) -> None:
        """Two of its own terms ahead is more than any holder with a right clock can be."""
        self.clock.advance(days=365)
        with closing(self.claims("a")) as theirs:
            next(theirs)
            self.clock.advance(days=-365)
            with closing(self.claims("b")) as mine:
                assert next(mine, None) is not None

    def claims(self, holder: str, job: str = "maintain") -> Generator[Claim[Any], None, None]:
        """Claim the parts of the store for a job of ten minutes."""
        later = self.clock() + timedelta(days=1)
        return self.store.claims(job, holder, self.clock, timedelta(minutes=10), later)

    def test_a_claim_has_one_holder(self) -> None:
        """Until it is released or expires; another job has claims of its own."""
        with closing(self.claims("a")) as mine:
            assert next(mine, None) is not None
            assert next(self.claims("b"), None) is None
            with closing(self.claims("b", "other work")) as other:
                assert next(other, None) is not None
        with closing(self.claims("b")) as theirs:
            assert next(theirs, None) is not None
            self.clock.advance(minutes=11)
            with closing(self.claims("c")) as after:
                assert next(after, None) is not None

    def test_a_claim_lasts_as_long_as_its_holder_works(self) -> None:
        """Each write of the claimed part renews it, and so does `renew`; without either it expires."""
        with closing(self.claims("a")) as mine:
            claim = next(mine)
            self.clock.advance(minutes=9)
            claim.store.transact(lambda transaction: transaction.space(Scope()))
            self.clock.advance(minutes=9)
            assert list(self.claims("b")) == []
            assert claim.renew()
            self.clock.advance(minutes=9)
            assert list(self.claims("b")) == []
            self.clock.advance(minutes=2)
            assert len(list(self.claims("b"))) == 1

    def test_a_part_that_was_done_is_not_claimed_again_before_its_time(self) -> None:
        """Only if the job was finished; a job that was done in the future was done by a wrong clock."""
        self.stored("anything")
        start, term = self.clock(), timedelta(minutes=10)
        with closing(self.store.claims("tidy", "a", self.clock, term, start)) as broken_off:
            assert next(broken_off)
        assert len(list(self.store.claims("tidy", "a", self.clock, term, start))) == 1
        assert list(self.store.claims("tidy", "b", self.clock, term, start)) == []
        self.clock.advance(minutes=1)
        assert list(self.store.claims("tidy", "b", self.clock, term, start)) == []
        assert len(list(self.store.claims("tidy", "b", self.clock, term, self.clock()))) == 1

    def test_a_holder_that_lost_its_claim_cannot_write(self) -> None:
        """Neither while the new holder works nor afterwards; its transaction changes nothing."""
        with closing(self.claims("a")) as mine:
            lost = next(mine)
            self.clock.advance(minutes=11)
            with closing(self.claims("b")) as theirs:
                taken = next(theirs)
                assert not lost.renew()
                assert not self.writes(lost)
                assert self.writes(taken)
            assert not self.writes(lost)

    def writes(self, claim: Claim[Any]) -> bool:
        """Return whether the holder of a claim can write."""
        try:
            claim.store.transact(lambda transaction: transaction.space(Scope()))
        except LeaseLost:
            return False
        return True

    def test_a_store_for_reading_changes_nothing(self) -> None:
        """Neither do its views of other tenants and its parts; what it reads is the same, and no use is counted."""
        record = self.stored("kept")
        reading, now, term = self.store.for_reading(), self.clock(), timedelta(minutes=10)
        changes: Sequence[Callable[[Store], object]] = (
            lambda store: store.transact(lambda transaction: transaction.touch([record.no], now)),
            lambda store: store.put_value("space", "key", "value", now, None, replace=True),
            lambda store: store.trim_recalls(now),
            lambda store: next(store.claims("maintain", "a", self.clock, term, now)),
            lambda store: store.unit_of_work().__enter__(),
            lambda store: store.write_tables().__enter__(),
        )
        for store in (reading, reading.for_tenant("acme"), *reading.parts(Scope())):
            for change in changes:
                with pytest.raises(ReadOnly):
                    change(store)
        entry = RecallEntry(at=now, space=record.space, query="q", tiers=(), micros=1, candidates=(), returned=())
        reading.log_recall(replace(entry, uses=[Use(record.no)]), keep=True)

        assert reading.get(self.seen(), record.memory.id) == self.now(record) == record
        assert self.store.recall_micros(self.seen(), 10) == []

    def test_a_store_has_a_size(self) -> None:
        """It grows with what is stored, once the room is full that earlier memories have left."""
        before = self.store.size()
        for number in range(50):
            self.stored(f"{number} " * 1000)

        assert 0 < before <= self.store.size()

    def test_a_closed_store_says_so(self) -> None:
        """Closing twice is harmless; using it afterwards is not silent."""
        store, self.store = self.store, self.open_store(self.folder)
        store.close()
        store.close()

        with pytest.raises(StoreClosed):
            store.seq()


class CheckpointContract(Contract):
    """Checkpoints to files; optional for stores on a server."""

    def test_a_checkpoint_is_a_new_file(self) -> None:
        """The store stays usable, and an existing file is not overwritten."""
        self.stored("before")
        store, target = self.store, self.folder / "copy.checkpoint"
        store.checkpoint(target)
        written = target.read_bytes()
        self.stored("after")

        with pytest.raises(InvalidInput):
            store.checkpoint(target)
        assert target.read_bytes() == written
        assert [path.name for path in self.folder.iterdir() if path.name.endswith(".partial")] == []
        assert self.listed() == ["after", "before"]


class PoliciesContract(Contract):
    """Adoptions of policies."""

    def test_adoptions_are_kept_in_order_and_noticed(self) -> None:
        """Their numbers are those of the ledger; the last is known after a transaction and a read of the spaces."""
        assert (self.store.adopted, self.store.adoptions()) == (0, [])
        first = Adoption(
            at=self.clock(), actor="ana", action=Action.ADOPT, name="house", hash="1f", document='[{"text": "é"}]'
        )

        number = self.store.for_tenant(None).transact(lambda transaction: transaction.adopt(first))
        last = self.store.for_tenant(None).transact(
            lambda transaction: transaction.adopt(
                replace(first, action=Action.ROLLBACK, name="builtin", hash="", document="")
            )
        )
        assert self.store.seq() == last
        otter = self.stored("an otter")
        self.seen()

        assert 0 < number < last == self.store.adopted < otter.memory.version
        assert self.store.adoptions()[0] == replace(first, number=number)
        assert self.store.adoptions()[0].document == first.document
        assert [(row.action, row.name) for row in self.store.adoptions()] == [
            ("adopt", "house"),
            ("rollback", "builtin"),
        ]

    def test_an_event_has_the_hash_of_the_policy_that_decided_it(self) -> None:
        """The memories that a policy has moved can be listed; other events have none."""
        moved, other = self.stored("moved"), self.stored("moved by hand")

        for record, policy in ((moved, "1f"), (other, "")):
            cold = replace(record.memory, tier=Tier.COLD)
            self.transaction.change(record, cold, replace(self.cause(Action.MOVE), policy=policy))

        assert self.transaction.moved_by("1f") == [moved.memory.id]
        assert self.transaction.moved_by("") == []
        assert [event.policy for event in self.transaction.events(moved)] == ["", "1f"]
        assert [event.policy for event in self.store.events(moved)] == ["", "1f"]
        assert [event.policy for event in self.store.events(other)] == ["", ""]
