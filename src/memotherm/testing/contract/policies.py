"""Adopted policies, and the moves that carry their hash."""

# ruff: noqa: S101 - asserting is what a test does

from __future__ import annotations

from dataclasses import replace

from memotherm.model import Tier
from memotherm.model.results import TierCount
from memotherm.storage.values import AdoptionRow, RecallEntry, ShadowTier, Tally
from memotherm.testing.contract.base import Contract

__all__ = ["PoliciesContract"]


class PoliciesContract(Contract):
    """What a store keeps about policies."""

    def test_adoptions_are_kept_in_order_and_noticed(self) -> None:
        """Their numbers are those of the ledger; the last is known after a transaction and a read of the spaces."""
        assert (self.store.adopted, self.store.adoptions()) == (0, [])
        first = AdoptionRow(
            at=self.clock(), actor="ana", action="adopt", name="house", hash="1f", document='[{"text": "é"}]'
        )

        with self.store.for_tenant(None).write() as transaction:
            number = transaction.adopt(first)
        with self.store.for_tenant(None).write() as transaction:
            last = transaction.adopt(replace(first, action="rollback", name="builtin", hash="", document=""))
        assert self.store.seq() == last
        otter = self.stored("an otter")
        self.seen()

        assert 0 < number < last == self.store.adopted < otter.memory.version
        assert self.store.adoptions()[0] == replace(first, number=number)
        assert [(row.action, row.name) for row in self.store.adoptions()] == [
            ("adopt", "house"),
            ("rollback", "builtin"),
        ]

    def test_an_event_has_the_hash_of_the_policy_that_decided_it(self) -> None:
        """The memories that a policy has moved can be listed; other events have none."""
        moved, other = self.stored("moved"), self.stored("moved by hand")
        with self.store.write() as transaction:
            for record, policy in ((moved, "1f"), (other, "")):
                current = transaction.get(record.memory.id)
                assert current is not None
                cold = replace(current.memory, tier=Tier.COLD)
                transaction.change(current, cold, replace(self.cause("move"), policy=policy))

        with self.store.write() as transaction:
            assert transaction.moved_by("1f") == [moved.memory.id]
            assert transaction.moved_by("") == []
            assert [event.policy for event in transaction.events(moved)] == ["", "1f"]
        assert [event.policy for event in self.store.events(moved)] == ["", "1f"]
        assert [event.policy for event in self.store.events(other)] == ["", ""]

    def test_the_tiers_of_a_policy_in_the_shadow_are_kept_apart(self) -> None:
        """By policy; those that differ from the store are counted, and recalls count what it would have cold."""
        cold, same = self.stored("cold in the shadow", tokens=3), self.stored("the same in both")
        now, spaces = self.clock(), self.seen()
        tiers = [ShadowTier(cold.no, Tier.COLD, "house.cool", now), ShadowTier(same.no, Tier.WARM, "", now)]
        with self.store.write() as transaction:
            transaction.put_shadow_tiers("1f", tiers[:1])
            transaction.put_shadow_tiers("1f", tiers)
        self.store.set_shadow("1f")
        entry = RecallEntry(
            at=now,
            space=cold.space,
            query="otter",
            tiers=(Tier.WARM,),
            micros=1,
            candidates=[(cold.no, 1.0)],
            returned=[cold.no, same.no],
        )
        self.store.log_recall(entry, keep=True)
        self.store.log_recall(replace(entry, returned=[same.no]), keep=True)
        self.store.log_recall(replace(entry, tiers=tuple(Tier)), keep=True)

        assert self.store.shadow_tiers(spaces, "1f") == {tier.no: tier for tier in tiers}
        assert self.store.shadow_tiers([], "1f") == self.store.shadow_tiers(spaces, "2f") == {}
        assert self.store.shadow_counts(spaces, "1f") == {(Tier.COLD, Tier.WARM): TierCount(memories=1, tokens=3)}
        tallies = self.store.tallies(spaces)
        assert (tallies["shadow.missed:1f"], tallies["shadow.spared:1f"]) == (Tally(2, 1), Tally(2, 1))
        with self.store.write() as transaction:
            transaction.drop_shadow_tiers("1f")
        assert self.store.shadow_tiers(spaces, "1f") == {}
