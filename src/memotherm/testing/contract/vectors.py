"""Embedders: which one serves, what it has made, and the change to another."""

# ruff: noqa: S101 - asserting is what a test does

from __future__ import annotations

from dataclasses import replace

import numpy as np

from memotherm.model import Retention, Scope
from memotherm.storage.values import Identity
from memotherm.testing.contract.base import EVERYONE, Contract
from memotherm.testing.embedder import HashEmbedder

__all__ = ["VectorsContract"]


class VectorsContract(Contract):
    """The vectors of two embedders never mix."""

    def test_the_first_embedder_serves_at_once(self) -> None:
        """Before that there is none, and the others wait for their turn."""
        assert self.store.identity() is None

        first = self.store.register_embedder("first", 8)
        second = self.store.register_embedder("second", 16)

        assert self.store.identity() == first == Identity(number=first.number, name="first", dimensions=8)
        assert second.number != first.number
        assert self.store.register_embedder("second", 16) == second

    def test_memories_without_vectors_are_pending(self) -> None:
        """They are counted, listed in order, and done once their vectors are there."""
        number = self.serving()
        done = self.stored("has its vector")
        with self.store.write() as transaction:
            space = transaction.space(Scope())
            waiting = [transaction.insert(space, self.memory(text), None, self.cause()) for text in ("one", "two")]

        assert (done.parts, waiting[0].parts) == (1, 0)
        assert self.store.pending(self.seen()) == self.store.count_without_vectors(number) == 2
        assert [tuple(row) for row in self.store.without_vectors(number, 0, 10)] == [
            (waiting[0].no, "one"),
            (waiting[1].no, "two"),
        ]
        assert [no for no, _ in self.store.without_vectors(number, 0, 1)] == [waiting[0].no]
        assert [no for no, _ in self.store.without_vectors(number, waiting[0].no, 10)] == [waiting[1].no]

        with self.store.write() as transaction:
            for record in waiting:
                vectors = self.embedder.embed([record.memory.content])
                transaction.add_vectors(number, record.no, record.memory.content, vectors, self.cause("embed"))

        assert self.store.count_without_vectors(number) == 0
        assert self.by_vector("two", limit=1) == [waiting[1].no]
        assert self.store.events(waiting[0])[-1].action == "embed"

    def test_vectors_of_a_former_content_are_refused(self) -> None:
        """A content that changed while its vectors were made waits for new ones."""
        number = self.serving()
        record = self.stored("before")
        with self.store.write() as transaction:
            after = replace(self.memory("after"), id=record.memory.id)
            changed = transaction.change(record, after, self.cause())
            transaction.add_vectors(number, record.no, "before", self.embedder.embed(["before"]), self.cause())

        assert changed.parts == 0
        assert self.store.count_without_vectors(number) == 1
        assert self.by_vector("before") == []

    def test_a_new_embedder_serves_when_nothing_is_missing(self) -> None:
        """Until then the old vectors serve; afterwards they are gone."""
        self.serving()
        record = self.stored("an otter")
        other = HashEmbedder(32, seed=1)
        new = self.store.register_embedder(other.name, other.dimensions)
        with self.store.write() as transaction:
            assert not transaction.serve(new.number)

        assert self.by_vector("an otter") == [record.no]
        with self.store.write() as transaction:
            transaction.add_vectors(new.number, record.no, "an otter", other.embed(["an otter"]), self.cause("embed"))
        assert self.store.identity() != new
        with self.store.write() as transaction:
            assert transaction.serve(new.number)

        (strength,) = self.store.search_vector(
            self.seen(), (record.memory.tier,), other.embed(["an otter"])[0], 5, self.where()
        ).values()
        assert self.store.identity() == new
        assert abs(strength - 1) < 1e-5
        assert self.now(record).parts == 1

    def test_two_embedders_vectors_stand_beside_each_other(self) -> None:
        """Each is searched by its own; a fallback never serves, and its vectors are kept on request."""
        number = self.serving()
        first, later = self.stored("an otter"), self.stored("a badger")
        spare = HashEmbedder(32, seed=1)
        by = self.store.register_embedder(spare.name, spare.dimensions, serve=False)
        query, tiers = spare.embed(["an otter"])[0], (first.memory.tier,)

        assert self.store.identity(spare.name) == by
        assert self.store.identity("nobody") is None
        assert self.store.search_vector(self.seen(), tiers, query, 5, self.where(), by) == {}
        assert self.store.sample_vectors(5, by) is None
        for record in (first, later):
            with self.store.write() as transaction:
                content = record.memory.content
                transaction.add_vectors(by.number, record.no, content, spare.embed([content]), self.cause("embed"))
        scores = self.store.search_vector(self.seen(), tiers, query, 5, self.where(), by)
        near = self.store.similarities(self.seen(), tiers, [first.no, later.no], query, by)
        assert list(scores) == [first.no, later.no]
        assert abs(near[first.no] - 1) < 1e-5
        assert abs(near[later.no] - scores[later.no]) < 1e-5
        assert self.by_vector("an otter")[0] == first.no
        with self.store.write() as transaction:
            assert transaction.serve(number, keep=by.number)
        assert self.store.count_without_vectors(by.number) == 0
        self.purged(first)
        assert list(self.store.search_vector(self.seen(), tiers, query, 5, self.where(), by)) == [later.no]

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
        with self.store.write() as transaction:
            pending = transaction.insert(transaction.space(EVERYONE), self.memory("not yet"), None, self.cause())
        records = [self.stored(content) for content in ("an otter", "a heron")]
        vectors = self.store.vectors_of([records[1].no, pending.no, records[0].no])

        assert vectors.keys() == {record.no for record in records}
        for record in records:
            assert np.array_equal(vectors[record.no], self.embedder.embed([record.memory.content]))

    def test_a_sample_of_vectors_is_the_same_every_time(self) -> None:
        """It is taken from those that serve, never more than asked for."""
        assert self.store.sample_vectors(5) is None
        self.serving()
        for number in range(20):
            self.stored(f"memory {number}")
        first, again = self.store.sample_vectors(5), self.store.sample_vectors(5)

        assert first is not None
        assert again is not None
        assert np.array_equal(first, again)
        assert 1 <= len(first) <= 5
