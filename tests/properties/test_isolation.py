"""Nobody sees what is not theirs, whatever the scopes are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memotherm
from memotherm import Memotherm, Scope, Tier
from memotherm.errors import InvalidInput, NotFound
from memotherm.model import SCOPE_FIELDS
from memotherm.testing import FakeClock, HashEmbedder
from tests.helpers import examples
from tests.stores import a_store, limits

scopes = st.builds(Scope, **{name: st.sampled_from([None, None, "a", "b"]) for name in SCOPE_FIELDS})


@settings(max_examples=examples(25))
@given(
    owners=st.lists(scopes, min_size=1, max_size=5),
    viewers=st.lists(scopes, min_size=1, max_size=3),
    limit=st.sampled_from([0, 20_000]),
)
def test_a_scope_sees_exactly_what_is_its_own(owners: list[Scope], viewers: list[Scope], limit: int) -> None:
    """Recall, find, get, history and undo show what `Scope.sees` allows, and nothing else exists."""
    with (
        a_store() as place,
        limits(exact=limit),
        memotherm.open(place, embedder=HashEmbedder(), clock=FakeClock()) as mem,
    ):
        tiers = list(Tier)
        made = [
            mem.scoped(**dict(owner.items())).remember(f"an otter, number {number}", tier=tiers[number % 3])
            for number, owner in enumerate(owners)
        ]

        for viewer in [*viewers, *owners]:
            view = mem.scoped(**dict(viewer.items()))
            allowed = {memory.id for memory in made if viewer.sees(memory.scope)}
            assert {memory.id for memory in view.find()} == allowed
            assert {hit.memory.id for hit in view.recall("otter", limit=100, tiers=tiers, track=False)} == allowed
            assert sum(count.memories for count in view.status().tiers.values()) == len(allowed)
            for memory in made:
                if memory.id in allowed:
                    assert view.get(memory.id).scope == memory.scope
                    assert [event.seq for event in view.history(memory.id)] == [memory.version]
                    continue
                for verb in (view.get, view.history, view.archive, view.forget, view.restore, view.pin, view.purge):
                    with pytest.raises(NotFound):
                        verb(memory.id)
                with pytest.raises(NotFound):
                    view.undo(memory.version)
                with pytest.raises(NotFound):
                    view.remember(f"replaces {memory.id}", supersedes=memory.id)

        assert [
            mem._services.all_tenants.events(record)[-1].action
            for record in mem._services.all_tenants.records(list(range(1, 7))).values()
        ] == ["remember"] * len(made)
        assert mem.check() == []


def test_a_view_can_be_narrowed_again(mem: Memotherm) -> None:
    """Fields that are not named stay as they are; one that is set cannot change."""
    view = mem.scoped(tenant="acme").scoped(user="ann", tenant="acme").scoped(session="s1")

    assert view.scope == Scope(tenant="acme", user="ann", session="s1")
    with pytest.raises(InvalidInput, match="already 'acme'"):
        view.scoped(tenant="rival")


@given(wide=scopes, narrow=scopes, other=scopes)
def test_seeing_is_reflexive_and_transitive(wide: Scope, narrow: Scope, other: Scope) -> None:
    """Who sees a scope sees what that scope sees; two that see each other are the same."""
    assert wide.sees(wide)
    if narrow.sees(wide) and other.sees(narrow):
        assert other.sees(wide)
    if narrow.sees(wide) and wide.sees(narrow):
        assert narrow == wide


@given(scope=scopes, more=scopes)
def test_a_narrower_scope_sees_what_the_wider_one_sees(scope: Scope, more: Scope) -> None:
    """Narrowing adds to what is seen and takes nothing away."""
    added = {name: value for name, value in more.items() if getattr(scope, name) is None}
    narrowed = scope.narrowed(**added)
    assert narrowed.sees(scope)
    assert narrowed == scope or not scope.sees(narrowed)
