"""The contract of search by words and vectors, and of embedders."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from memotherm.model import Priority, Retention, Scope, Tier
from memotherm.model.actions import Action
from memotherm.storage.candidates import word_id
from memotherm.storage.values import EVERY_RETENTION, Identity, Record
from memotherm.testing import HashEmbedder
from tests.storage.contract.base import EVERYONE, LIVE, Contract, numbers

_ANN, _BOB = Scope(user="ann"), Scope(user="bob")


class SearchContract(Contract):
    """A search returns what its spaces, tiers and filter allow, and nothing else."""

    def matches(self, query: str = "otter", scope: Scope = EVERYONE, **options: Any) -> set[int]:
        """Return the results of a query; both searches must agree."""
        by_words = set(self.by_words(query, scope, **options))
        assert by_words == set(self.by_vector(query, scope, **options))
        return by_words

    def otter(self, number: int, scope: Scope = EVERYONE, **fields: Any) -> Record:
        """Store one of several memories that a query for "otter" finds."""
        if self.store.identity() is None:
            self.serving()
        return self.stored(f"otter number {number}", scope, **fields)

    def test_a_search_in_an_empty_store_finds_nothing(self) -> None:
        """Neither without spaces, nor without words, nor without vectors."""
        assert self.by_words("otter") == []
        assert self.by_vector("otter") == []
        self.stored("otter")
        assert self.by_words("...") == []
        assert self.by_vector("otter") == []

    def test_a_search_in_a_unit_of_work_that_fails_leaves_no_trace(self) -> None:
        """What was taken back is not found afterwards, and what follows is."""
        with self.aborted_work():
            self.otter(1)
            self.by_vector("otter", EVERYONE)
        record = self.otter(2)
        assert self.matches() == {record.no}

    def test_a_memory_that_changes_its_scope_is_found_there_only(self) -> None:
        """In every tier, by words and by vector."""
        for tier in Tier:
            record = self.otter(tier.rank, _ANN, tier=tier)
            self.matches(scope=_ANN, tiers=[tier])
            self.changed(record, scope=EVERYONE)

            assert self.matches(scope=_ANN, tiers=[tier]) == self.matches(tiers=[tier]) == {record.no}
            assert self.store.candidates(self.search(tiers=[tier]), [record.no]).words.ids.any()

    def test_filtered_and_expired_memories_do_not_take_the_places_of_others(self) -> None:
        """However many others match better, the ones that pass the filter and last are found."""
        self.serving()
        for _ in range(30):
            self.stored("otter otter", expires_at=self.clock() + timedelta(hours=1))
        rare = self.stored("an otter among very many other words that weaken the match", kind="task")

        for search in (self.by_words, self.by_vector):
            assert search("otter", limit=1, kinds=("task",)) == [rare.no]
            assert search("otter", limit=1, now=self.clock() + timedelta(hours=1)) == [rare.no]

    def test_the_nearest_come_first(self) -> None:
        """Scores decrease, and the memory with the words of the query comes first."""
        self.serving()
        self.stored("a river in the valley")
        best = self.stored("an otter swims in the river")
        self.stored("the weather was fine")
        by_words = self.store.search_text(self.search(), ["otter", "swim", "river"], 10).scores
        by_vector = self.store.search_vector(self.search(), self.vector("otter swims river"), 10)

        for scores in (by_words, by_vector):
            strengths = list(scores.values())
            assert next(iter(scores)) == best.no
            assert strengths == sorted(strengths, reverse=True)
        assert abs(self.vector("river") @ self.vector("river") - 1) < 1e-5
        assert all(-1.001 <= strength <= 1.001 for strength in by_vector.values())

    def test_a_limit_keeps_the_best(self) -> None:
        """The answer for a smaller limit begins the answer for a larger one."""
        for number in range(12):
            self.otter(number % 5)
        for search in (self.by_words, self.by_vector):
            whole = search("otter number 3")
            assert len(whole) == 12
            assert [search("otter number 3", limit=limit) for limit in range(1, 12)] == [
                whole[:limit] for limit in range(1, 12)
            ]

    def test_a_long_memory_counts_with_its_nearest_part(self) -> None:
        """Several vectors of one memory are one hit."""
        self.serving()
        long = self.stored("rivers, otters and valleys", parts=("rivers", "otters", "valleys"))
        other = self.stored("mountains")
        scores = self.store.search_vector(self.search(), self.vector("otters"), 2)

        assert list(scores) == [long.no, other.no]
        assert abs(scores[long.no] - 1) < 1e-5

    def test_a_changed_content_is_found_by_its_new_words_only(self) -> None:
        """Words, tags and vectors follow the content."""
        record = self.otter(1, tags=("wet",))
        after = self.memory("a badger", id=record.memory.id)
        self.transaction.change(record, after, self.cause(), self.embedder.embed(["a badger"]))

        assert self.by_words("otter") == []
        assert self.by_words("wet") == []
        assert self.by_words("badger") == [record.no]
        (strength,) = self.store.search_vector(self.search(), self.vector("a badger"), 5).values()
        assert abs(strength - 1) < 1e-5

    def test_a_memory_is_found_by_its_tags(self) -> None:
        """Tags are words too."""
        record = self.stored("production is frozen", tags=("blocker", "release train"))

        assert self.by_words("blocker") == [record.no]
        assert self.by_words("train") == [record.no]

    def test_a_candidate_tells_what_ranking_needs(self) -> None:
        """Axes, kind, times and use."""
        record = self.stored("one", priority=Priority.LOW, kind="task", tier=Tier.HOT)
        self.transaction.touch([record.no], self.clock.advance(hours=1))
        candidate = self.store.candidates(self.search(), [record.no])

        assert candidate.no.tolist() == [record.no]
        assert (candidate.tier.tolist(), candidate.priority.tolist()) == ([Tier.HOT.rank], [Priority.LOW.rank])
        assert list(candidate.kind) == ["task"]
        assert candidate.access_count.tolist() == [1]
        assert candidate.accessed_at.tolist() == (candidate.created_at + 3_600_000_000).tolist()

    def test_a_candidate_brings_its_words(self) -> None:
        """As the text index has them, tags included, with a space between two of them, in every tier."""
        for tier in Tier:
            record = self.stored("Otters swim!", tier=tier, tags=("wet",))
            for candidate in (
                self.store.candidates(self.search(tiers=[tier]), [record.no]),
                self.store.active([record.no]),
            ):
                assert candidate.words.ids.tolist() == list(map(word_id, ("otter", "swim", "wet")))
                assert candidate.words.lengths.tolist() == [3]
                assert (list(candidate.author), candidate.previous.tolist()) == ([""], [0])
                assert np.isnan(candidate.accessed_at).all()

    def test_a_message_knows_who_said_it_and_after_what(self) -> None:
        """Turns of one thread are linked in their order; other threads and other spaces do not matter."""
        first, other, second = (
            self.stored(text, kind="message", metadata={"speaker": speaker, "thread": thread})
            for text, speaker, thread in (("one", "Ann", "a"), ("two", "Bob", "b"), ("three", "Bob", "a"))
        )
        self.stored("four", _ANN, kind="message", metadata={"speaker": "Ann", "thread": "a"})
        turns = self.store.active([first.no, other.no, second.no])
        candidates = self.store.candidates(self.search(), [second.no])

        assert set(zip(turns.no.tolist(), turns.author, turns.previous.tolist(), strict=True)) == {
            (first.no, "Ann", 0),
            (other.no, "Bob", 0),
            (second.no, "Bob", first.no),
        }
        assert (list(candidates.author), candidates.previous.tolist()) == (["Bob"], [first.no])

    def test_only_active_memories_say_something(self) -> None:
        """Memories that are not active have no texts."""
        record = self.stored("otter")
        self.changed(record, retention=Retention.ARCHIVED)

        assert len(self.store.active([record.no, 4711])) == 0

    def test_words_are_counted_where_a_search_looks(self) -> None:
        """Spaces and tiers limit the counts, limit and filter do not, and every change moves them."""
        self.stored("an otter by the river")
        self.stored("an otter", _ANN)
        cold = self.stored("the otter swims", tier=Tier.COLD)
        asked = ["otter", "river", "unicorn"]

        def counted(scope: Scope = EVERYONE, tiers: Sequence[Tier] = LIVE) -> tuple[int, dict[str, int]]:
            found = self.store.search_text(self.search(scope, tiers, kinds=("task",)), asked, 1)
            return found.total, dict(found.frequencies)

        assert counted() == (1, {"otter": 1, "river": 1, "unicorn": 0})
        assert counted(_ANN) == (2, {"otter": 2, "river": 1, "unicorn": 0})
        assert counted(tiers=list(Tier)) == (2, {"otter": 2, "river": 1, "unicorn": 0})
        self.changed(cold, tier=Tier.WARM)
        assert counted() == (2, {"otter": 2, "river": 1, "unicorn": 0})

    def test_rare_words_find_more_than_common_ones(self) -> None:
        """A match counts by how rare its words are, not by how often it repeats them."""
        for _ in range(5):
            self.stored("river river river river")
        rare = self.stored("an otter among other words")
        both = self.stored("an otter in a river")

        assert self.by_words("otter river")[:2] == [both.no, rare.no]

    def test_equal_matches_are_newest_first(self) -> None:
        """The same question has the same answer every time."""
        records = [self.otter(1) for _ in range(6)]

        assert self.by_words("otter") == numbers(reversed(records))
        assert self.by_vector("otter") == numbers(reversed(records))


class VectorsContract(Contract):
    """The vectors of two embedders never mix."""

    def test_the_first_embedder_serves_at_once(self) -> None:
        """Before that there is none, and the others wait for their turn."""
        assert self.store.identity() is None

        first = self.store.register_embedder("first", 8)
        second = self.store.register_embedder("second", 16)

        assert self.store.identity() == first == Identity(number=first.number, name="first", dimensions=8)
        assert self.store.visible(Scope()) == (self.store.spaces(Scope()), first)
        assert second.number != first.number
        assert self.store.register_embedder("second", 16) == second

    def test_memories_without_vectors_are_pending(self) -> None:
        """They are counted, listed newest first, and done once their vectors are there."""
        number = self.serving()
        done = self.stored("has its vector")
        waiting = [self.stored(text, parts=()) for text in ("one", "two")]

        assert (done.parts, waiting[0].parts) == (1, 0)
        assert self.store.pending(self.seen()) == self.store.count_without_vectors(number) == 2
        assert [tuple(row) for row in self.store.without_vectors(number, 2**62, 10)] == [
            (waiting[1].no, "two"),
            (waiting[0].no, "one"),
        ]
        assert [no for no, _ in self.store.without_vectors(number, 2**62, 1)] == [waiting[1].no]
        assert [no for no, _ in self.store.without_vectors(number, waiting[1].no, 10)] == [waiting[0].no]
        other = self.store.register_embedder("other", 16, serve=False).number
        assert self.store.pending(self.seen(), number) == 2
        assert self.store.pending(self.seen(), other) == 3

        for record in waiting:
            vectors = self.embedder.embed([record.memory.content])
            self.transaction.add_vectors(number, record.no, record.memory.content, vectors, self.cause(Action.EMBED))

        assert self.store.count_without_vectors(number) == 0
        assert self.by_vector("two", limit=1) == [waiting[1].no]
        assert self.store.events(waiting[0])[-1].action == Action.EMBED

    def test_vectors_of_a_former_content_are_refused(self) -> None:
        """A content that changed while its vectors were made waits for new ones."""
        number = self.serving()
        record = self.stored("before")
        changed = self.transaction.change(record, self.memory("after", id=record.memory.id), self.cause())
        self.transaction.add_vectors(number, record.no, "before", self.embedder.embed(["before"]), self.cause())

        assert changed.parts == 0
        assert self.store.count_without_vectors(number) == 1
        assert self.by_vector("before") == []

    def test_a_new_embedder_serves_when_nothing_is_missing(self) -> None:
        """Until then the old vectors serve; afterwards they are gone."""
        self.serving()
        record = self.stored("an otter")
        other = HashEmbedder(32, seed=1)
        new = self.store.register_embedder(other.name, other.dimensions)
        assert not self.transaction.serve(new.number)

        assert self.by_vector("an otter") == [record.no]
        self.transaction.add_vectors(
            new.number, record.no, "an otter", other.embed(["an otter"]), self.cause(Action.EMBED)
        )
        assert self.store.identity() != new
        assert self.transaction.serve(new.number)

        (strength,) = self.store.search_vector(self.search(), other.embed(["an otter"])[0], 5).values()
        assert self.store.identity() == new
        assert abs(strength - 1) < 1e-5
        assert self.now(record).parts == 1

    def test_two_embedders_vectors_stand_beside_each_other(self) -> None:
        """Each is searched by its own; a fallback never serves, and its vectors are kept on request."""
        number = self.serving()
        first, later = self.stored("an otter"), self.stored("a badger")
        spare = HashEmbedder(32, seed=1)
        by = self.store.register_embedder(spare.name, spare.dimensions, serve=False)
        query = spare.embed(["an otter"])[0]

        assert self.store.identity(spare.name) == by
        assert self.store.identity("nobody") is None
        assert self.store.search_vector(self.search(), query, 5, by) == {}
        assert self.store.sample_vectors(5, by) is None
        for record in (first, later):
            content = record.memory.content
            self.transaction.add_vectors(
                by.number, record.no, content, spare.embed([content]), self.cause(Action.EMBED)
            )
        scores = self.store.search_vector(self.search(), query, 5, by)
        near = self.store.similarities(self.search(), [first.no, later.no], query, by)
        assert list(scores) == [first.no, later.no]
        assert abs(near[first.no] - 1) < 1e-5
        assert abs(near[later.no] - scores[later.no]) < 1e-5
        assert self.by_vector("an otter")[0] == first.no
        assert self.transaction.serve(number, keep=by.number)
        assert self.store.count_without_vectors(by.number) == 0
        self.purged(first)
        assert list(self.store.search_vector(self.search(), query, 5, by)) == [later.no]

    def test_hidden_memories_are_found_where_they_are_wanted(self) -> None:
        """By words and by vectors, with the scope, the tiers and the conditions of the search, expired ones too."""
        self.serving()
        shown = self.stored("an otter")
        expired = self.stored("an otter in the river", expires_at=self.clock() + timedelta(hours=1))
        hidden = {
            retention: self.stored("an otter by the river", retention=retention, priority=Priority.PINNED, kind="task")
            for retention in (Retention.ARCHIVED, Retention.DELETED, Retention.PROPOSED)
        }
        self.stored("the otter of Ann", _ANN, retention=Retention.DELETED)
        self.stored("an otter in the cold", tier=Tier.COLD, retention=Retention.DELETED)
        self.clock.advance(hours=2)
        nos = {retention: record.no for retention, record in hidden.items()}

        def found(**fields: Any) -> set[int]:
            """Return what both searches find, in and outside of a snapshot."""
            search = self.search(**fields)
            with self.store.snapshot():
                inside = self.by_words("otter", **fields), self.by_vector("otter", **fields)
                kept = self.store.candidates(search, range(1, 100)).no.tolist()
                pinned = self.store.pinned(search)
            outside = self.by_words("otter", **fields), self.by_vector("otter", **fields)
            assert {*map(frozenset, (*inside, *outside, kept))} == {frozenset(kept)}
            assert numbers(pinned) == sorted(no for no in kept if no in nos.values())
            return set(kept)

        assert found(retentions=EVERY_RETENTION) == {shown.no, expired.no, *nos.values()}
        assert found(retentions=EVERY_RETENTION, kinds=("task",)) == set(nos.values())
        assert found() == {shown.no}
        for retention, no in nos.items():
            assert found(retentions=(retention,)) == {no}
        counted = self.store.search_text(self.search(retentions=(Retention.DELETED,)), ["otter", "pond"], 1)
        assert (counted.total, dict(counted.frequencies)) == (1, {"otter": 1, "pond": 0})

    def test_hidden_memories_keep_their_vectors(self) -> None:
        """A restored memory is found again without being embedded again; what is purged needs no vectors."""
        number = self.serving()
        record = self.stored("an otter")
        self.changed(record, retention=Retention.ARCHIVED)
        self.purged(self.stored("gone"))

        assert self.store.count_without_vectors(number) == 0
        self.changed(record, retention=Retention.ACTIVE)
        assert self.by_vector("an otter") == [record.no]

    def test_a_tenant_reuses_only_vectors_that_it_can_see(self) -> None:
        """Otherwise the time of a write would tell that another tenant has the same content."""
        self.serving()
        theirs = self.stored("their secret", Scope(tenant="a"))
        shared = self.stored("known to all")
        tenants = {tenant: self.store.for_tenant(tenant) for tenant in ("a", "b", "", None)}

        for record, seen_by in ((theirs, {"a", None}), (shared, {"a", "b", "", None})):
            cached = {tenant: store.cached_vectors(record.memory.digest) for tenant, store in tenants.items()}
            assert {tenant for tenant, vectors in cached.items() if vectors is not None} == seen_by

    def test_vectors_of_the_same_content_are_cached(self) -> None:
        """Those of any space of the tenant; a purge empties the cache."""
        self.serving()
        record = self.stored("an otter", Scope(user="ann"))
        cached = self.store.cached_vectors(record.memory.digest)

        assert cached is not None
        assert np.array_equal(cached, self.embedder.embed(["an otter"]))
        assert self.store.cached_vectors("00" * 32) is None
        self.purged(record)
        assert self.store.cached_vectors(record.memory.digest) is None

    def test_vectors_of_several_memories_are_read_at_once(self) -> None:
        """Each memory has its own vectors in their order, and one without vectors is left out."""
        assert self.store.vectors_of([1]) == {}
        self.serving()
        pending = self.stored("not yet", parts=())
        records = [self.stored(content) for content in ("an otter", "a heron")]
        vectors = self.store.vectors_of([records[1].no, pending.no, records[0].no])

        assert vectors.keys() == {record.no for record in records}
        for record in records:
            assert np.array_equal(vectors[record.no], self.embedder.embed([record.memory.content]))

    def test_a_sample_of_vectors_is_the_same_every_time(self) -> None:
        """It is taken from those that serve, never more than asked for."""
        by = self.store.register_embedder(self.embedder.name, self.embedder.dimensions)
        for number in range(20):
            self.stored(f"memory {number}")
        first, again = self.store.sample_vectors(5, by), self.store.sample_vectors(5, by)

        assert first is not None
        assert again is not None
        assert np.array_equal(first, again)
        assert 1 <= len(first) <= 5
