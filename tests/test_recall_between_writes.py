"""A recall relies on what the last one has seen of spaces and embedders; what others change is seen all the same."""

from __future__ import annotations

from pathlib import Path

from memotherm import Scope
from memotherm.testing import HashEmbedder
from tests.helpers import contents, opened


def test_a_memory_in_a_new_space_of_another_process_is_found(tmp_path: Path) -> None:
    """The space is unknown to the reader, whose scope sees it."""
    path = tmp_path / "store.db"
    with opened(path, scope=Scope(user="ann", project="p")) as reader, opened(path) as writer:
        reader.remember("An otter swims in the river")
        assert contents(reader.recall("otter")) == ["An otter swims in the river"]

        writer.scoped(user="ann").remember("An otter sleeps in the reeds")

        assert {*contents(reader.recall("otter"))} == {"An otter swims in the river", "An otter sleeps in the reeds"}


def test_vectors_of_an_embedder_that_another_process_has_changed_are_not_compared(tmp_path: Path) -> None:
    """The reader embeds its queries with the former embedder and says that words decide."""
    path = tmp_path / "store.db"
    with opened(path) as reader:
        reader.remember("An otter swims in the river")
        assert reader.recall("otter").degraded == ()

        with opened(path, embedder=HashEmbedder(seed=1)) as writer:
            writer.store.reembed()

        found = reader.recall("otter")
        assert contents(found) == ["An otter swims in the river"]
        assert "made by 'hash-64-1'" in found.degraded[0]
        assert found.hits[0].why.vector is None
