"""What is inside a scope: listed, counted, searched, and named where nothing can be seen."""

from __future__ import annotations

import pytest

from memotherm import Memotherm, Scope, Tier
from memotherm.errors import InvalidInput


@pytest.fixture
def filled(mem: Memotherm) -> Memotherm:
    """A store whose memories are all in narrower scopes."""
    mem.scoped(project="shop").remember("the shop sells tea", tier="hot")
    mem.scoped(project="shop", user="ada").remember("Ada drinks tea")
    mem.scoped(tenant="acme", project="web").remember("acme likes tea")
    mem.scoped(tenant="rival").remember("rivals hate tea")
    return mem


def test_scopes_are_listed_with_what_they_hold(filled: Memotherm) -> None:
    """Each one at or below the scope, and nothing of another tenant."""
    counts = {str(count.scope): (count.memories, count.tokens > 0, count.hidden) for count in filled.inspect.scopes()}
    one = (1, True, 0)
    assert counts == {
        "project=shop": one, "project=shop user=ada": one, "tenant=acme project=web": one, "tenant=rival": one,
    }  # fmt: skip
    assert filled.scoped(project="shop").inspect.scopes()[0].tiers[Tier.HOT].memories == 1
    assert [count.scope for count in filled.scoped(tenant="acme").inspect.scopes()] == [
        Scope(tenant="acme", project="web")
    ]

    shop = filled.scoped(project="shop")
    shop.forget(shop.find()[0].id)
    assert [(count.memories, count.hidden) for count in shop.inspect.scopes()] == [(0, 1), (1, 0)]


def test_inside_reaches_everything_at_and_below_a_scope(filled: Memotherm) -> None:
    """In listings, recalls and the status, and never another tenant's."""
    acme, shop = filled.scoped(tenant="acme"), filled.scoped(project="shop")

    assert [memory.content for memory in acme.find(include_narrower=True)] == ["acme likes tea"]
    assert [hit.memory.content for hit in acme.recall("tea", include_narrower=True)] == ["acme likes tea"]
    assert {hit.memory.content for hit in shop.recall("tea", include_narrower=True)} == {
        "the shop sells tea",
        "Ada drinks tea",
    }
    assert len(filled.recall("tea", include_narrower=True)) == len(filled.find(include_narrower=True)) == 4
    assert len(filled.find(include_narrower=True, where={"missing": {"$exists": True}})) == 0
    first = filled.find(include_narrower=True, limit=3)
    assert len(filled.find(include_narrower=True, limit=3, cursor=first.cursor)) == 1
    assert sum(count.memories for count in filled.status(include_narrower=True).tiers.values()) == 4
    assert filled.find(include_narrower=True)[0].access_count == 1
    with pytest.raises(InvalidInput, match="leave include_narrower out"):
        filled.recall("tea", include_narrower=True, promote=True)


def test_a_store_that_looks_empty_says_where_its_memories_are(filled: Memotherm) -> None:
    """In a listing, a recall and the status; not where something can be seen."""
    for hint in (filled.find().hint, filled.recall("tea").hint, filled.status().hint):
        assert "4 memories in scopes narrower than this one (everyone): project=shop (1)" in hint
    acme = filled.scoped(tenant="acme")
    assert "tenant=acme project=web (1)" in acme.find().hint
    assert "rival" not in acme.find().hint
    shop = filled.scoped(project="shop")
    assert shop.recall("tea").hint == shop.status().hint == shop.find(kind="decision").hint == ""
    assert filled.scoped(project="empty").find().hint == ""
