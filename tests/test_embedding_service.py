"""Embedders that are missing, fail, come back or are replaced: nothing is mixed, and recall says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memotherm import Memotherm
from memotherm.errors import EmbedderError, EmbedderUnavailable
from memotherm.testing import HashEmbedder
from tests.helpers import Flaky, contents, opened

FACTS = [f"fact {number} about {word}" for number, word in enumerate(["boats", "bread", "birds", "books"] * 50)]


def vectors_answer(mem: Memotherm, query: str) -> bool:
    """Tell whether the vector leg found something."""
    return any(hit.why.vector is not None for hit in mem.recall(query, track=False))


def test_without_an_embedder_search_is_by_words_and_says_so() -> None:
    """`none` finds by text, says that it is text only, and has nothing to make up for."""
    with opened(embedder="none") as mem:
        mem.remember("the red boat")
        recall = mem.recall("boat")

        assert contents(recall) == ["the red boat"]
        assert recall.degraded == ("text only: the embedder is 'none'",)
        assert recall[0].why.vector is None
        assert mem.status().pending_vectors == 0
        assert mem.status().degraded == recall.degraded
        with pytest.raises(EmbedderError, match="open the store with another one"):
            mem.store.reembed()


def test_memories_are_stored_while_the_embedder_is_down() -> None:
    """A failing embedder delays vectors, not memories; recall and status say what waits, and reembed heals."""
    embedder = Flaky()
    with opened(embedder=embedder) as mem:
        mem.remember("the red boat")
        embedder.down = True
        waiting = mem.remember("the blue boat")
        mem.update(waiting.id, content="the green boat")

        recall = mem.recall("green boat")
        assert contents(recall)[0] == "the green boat"
        assert len(recall.degraded) == 2
        assert "text only" in recall.degraded[0]
        assert "is down" in recall.degraded[0]
        assert mem.status().pending_vectors == 1

        embedder.down = False
        recall = mem.recall("green boat again")
        assert recall.degraded == ("1 memory without vectors: maintenance makes them, or reembed at once",)

        assert mem.store.reembed() == 1
        recall = mem.recall("green boat")
        assert recall.degraded == ()
        assert recall[0].memory.id == waiting.id
        assert recall[0].why.vector is not None
        assert mem.check() == []


def test_an_embedder_that_never_worked_is_said_to_be_down() -> None:
    """A store whose first memories got no vectors does not pretend that all is well."""
    embedder = Flaky(down=True)
    with opened(embedder=embedder) as mem:
        mem.remember("the red boat")

        recall = mem.recall("boat")
        assert contents(recall) == ["the red boat"]
        assert recall.degraded != ()
        assert mem.status().pending_vectors == 1

        embedder.down = False
        assert mem.store.reembed() == 1
        assert mem.recall("boat").degraded == ()
        assert vectors_answer(mem, "boat")
        assert mem.check() == []


def test_reembed_without_need_does_nothing() -> None:
    """A store whose vectors are complete costs the embedder nothing."""
    embedder = HashEmbedder(record=True)
    with opened(embedder=embedder) as mem:
        mem.remember("the red boat")
        embedder.texts.clear()

        assert mem.store.reembed() == 0
        assert embedder.texts == []


def test_reembed_fails_loudly_when_the_embedder_is_down() -> None:
    """Unlike remember, reembed has nothing else to do, so it raises."""
    embedder = Flaky(down=True)
    with opened(embedder=embedder) as mem:
        mem.remember("the red boat")

        with pytest.raises(EmbedderUnavailable):
            mem.store.reembed()


# Changing the embedder


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    """Return a store whose vectors were made by the embedder "old"."""
    path = tmp_path / "agent.db"
    with opened(path, embedder=HashEmbedder(name="old")) as mem:
        mem.remember_many([{"content": fact, "tier": ("hot", "warm", "cold")[at % 3]} for at, fact in enumerate(FACTS)])
    return path


def test_another_embedder_does_not_use_foreign_vectors(path: Path) -> None:
    """Opened with another embedder, recall is by words, says whose vectors there are, and names the way out."""
    with opened(path, embedder=HashEmbedder(name="new")) as mem:
        recall = mem.recall("fact 7 about books")

        assert recall[0].why.vector is None
        (said,) = recall.degraded
        assert "text only" in said
        assert "'old'" in said
        assert "'new'" in said
        assert "reembed" in said
        assert said in mem.status().degraded


def test_what_another_embedder_stores_waits_for_vectors(path: Path) -> None:
    """New memories get no vectors that could be taken for the old embedder's, and it can make them later."""
    with opened(path, embedder=HashEmbedder(name="new")) as mem:
        memory = mem.remember("a note about glaciers")
        # None of the memories has vectors of the new one.
        assert mem.status().pending_vectors == mem.count()
        assert mem.check() == []

    with opened(path, embedder=HashEmbedder(name="old")) as mem:
        assert mem.recall("glaciers").degraded == (
            "1 memory without vectors: maintenance makes them, or reembed at once",
        )
        assert mem.store.reembed() == 1
        hit = mem.recall("a note about glaciers")[0]
        assert (hit.memory.id, hit.why.vector is None) == (memory.id, False)
        assert mem.check() == []


def test_reembed_makes_every_vector_anew(path: Path) -> None:
    """After the change the new embedder answers everywhere, hidden memories included, and the old one no more."""
    with opened(path, embedder=HashEmbedder(name="old")) as mem:
        hidden = mem.forget(mem.find()[0].id)
    steps: list[tuple[int, int]] = []
    with opened(path, embedder=HashEmbedder(32, name="new")) as mem:
        assert mem.store.reembed(progress=lambda done, total: steps.append((done, total))) == len(FACTS)

        assert mem.recall("fact 7 about books").degraded == ()
        assert vectors_answer(mem, "fact 7 about books")
        assert mem.status().pending_vectors == 0
        mem.restore(hidden.id)
        assert vectors_answer(mem, hidden.content)
        assert mem.check() == []
    assert steps[-1] == (len(FACTS), len(FACTS))
    assert steps == sorted(steps)

    with opened(path, embedder=HashEmbedder(name="old")) as mem:
        assert "reembed" in mem.recall("fact 7 about books").degraded[0]


def test_an_interrupted_reembed_goes_on_where_it_stopped(path: Path) -> None:
    """What was done stays done, and the old vectors serve the old embedder until all is done."""
    failing = Flaky("new", after=2)
    with opened(path, embedder=failing) as mem:
        with pytest.raises(EmbedderUnavailable):
            mem.store.reembed()
        assert "text only" in mem.recall("fact 7 about books").degraded[0]
        assert mem.check() == []
    done = len(failing.texts)
    assert 0 < done < len(FACTS)

    with opened(path, embedder=HashEmbedder(name="old")) as mem:
        assert mem.recall("fact 7 about books").degraded == ()
        assert vectors_answer(mem, "fact 7 about books")

    second = HashEmbedder(name="new", record=True)
    with opened(path, embedder=second) as mem:
        assert mem.store.reembed() == len(FACTS) - done
        assert len(second.texts) == len(FACTS) - done
        assert vectors_answer(mem, "fact 7 about books")
        assert mem.check() == []


def test_a_memory_changed_during_the_change_of_embedder_gets_vectors_of_its_new_content(path: Path) -> None:
    """New vectors made of a content that has changed since never serve."""
    with opened(path, embedder=Flaky("new", after=2)) as mem, pytest.raises(EmbedderUnavailable):
        mem.store.reembed()
    with opened(path, embedder=HashEmbedder(name="old")) as mem:
        for memory in mem.find(limit=1000):
            mem.update(memory.id, content=f"{memory.content} and glaciers")

    with opened(path, embedder=HashEmbedder(name="new")) as mem:
        assert mem.store.reembed() == len(FACTS)
        assert mem.check() == []
        for memory in mem.find(limit=10):
            hits = mem.recall(memory.content, tiers=(memory.tier,), track=False)
            assert hits[0].why.vector == pytest.approx(1.0, abs=0.01)


def test_memories_that_arrive_during_reembed_are_not_forgotten(path: Path) -> None:
    """The switch waits for what others stored with the old embedder in the meantime."""
    with (
        opened(path, embedder=HashEmbedder(name="old")) as other,
        opened(path, embedder=HashEmbedder(name="new")) as mem,
    ):
        arrived: list[str] = []

        def write(done: int, total: int) -> None:
            if len(arrived) < 3:
                arrived.append(other.remember(f"arrived after {done} of {total}").id)

        mem.store.reembed(progress=write)

        assert mem.status().pending_vectors == 0
        assert mem.check() == []
        assert mem.recall("arrived after 64")[0].memory.id in arrived


class Interrupted(HashEmbedder):
    """An embedder during whose first work something else happens to the store."""

    def __init__(self, name: str, event: Callable[[], object]) -> None:
        super().__init__(name=name)
        self.event: Callable[[], object] | None = event

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        event, self.event = self.event, None
        if event is not None:
            event()
        return super().embed(texts)


def vectors_belong_to(mem: Memotherm) -> None:
    """Every memory that is found by its own content is found with certainty, or waits for its vector."""
    for memory in mem.find(limit=1000):
        hits = [hit for hit in mem.recall(memory.content, tiers=(memory.tier,), track=False) if hit.memory == memory]
        assert hits[0].why.vector is None or hits[0].why.vector == pytest.approx(1.0, abs=0.01), memory.content


def test_two_embedders_that_start_at_once_do_not_mix(tmp_path: Path) -> None:
    """Of two processes that store the first memory with different embedders, one's vectors serve, the other's wait."""
    path = tmp_path / "agent.db"
    with opened(path, embedder=HashEmbedder(name="first")) as first:
        slow = Interrupted("second", lambda: first.remember("stored by the first"))
        with opened(path, embedder=slow) as second:
            second.remember("stored by the second")

        assert first.check() == []
        assert first.status().pending_vectors == 1
        assert first.store.reembed() == 1
        vectors_belong_to(first)


@pytest.mark.slow
def test_a_change_of_embedder_in_the_middle_of_a_write_does_not_mix(path: Path) -> None:
    """Vectors made by the old embedder are not stored as the new one's when the switch comes between."""
    with opened(path, embedder=HashEmbedder(name="new")) as new:
        slow = Interrupted("old", new.store.reembed)
        with opened(path, embedder=slow) as old:
            old.remember("written while the embedder changed")

        assert new.check() == []
        assert new.status().pending_vectors == 1
        new.store.reembed()
        vectors_belong_to(new)


def test_a_process_with_the_old_embedder_notices_the_switch(path: Path) -> None:
    """A memory that was open all the time says from then on that its vectors are gone."""
    with opened(path, embedder=HashEmbedder(name="old")) as old, opened(path, embedder=HashEmbedder(name="new")) as new:
        assert old.recall("fact 7 about books").degraded == ()
        new.store.reembed()

        assert "reembed" in old.recall("fact 7 about books").degraded[0]
        assert old.remember("one more").id
        assert new.status().pending_vectors == 1


def test_a_long_content_is_found_by_its_end() -> None:
    """Long contents have several vectors; the last window counts as much as the first."""
    with opened() as mem:
        long = mem.remember(
            "All was quiet on the night shift. " * 400 + "Then the glacier calved with a roar.", wait=True
        )
        mem.remember_many([{"content": f"All was quiet in room {number}."} for number in range(20)])

        hit = mem.recall("Then the glacier calved with a roar")[0]
        assert hit.memory.id == long.id
        assert hit.why.vector is not None
        assert mem.check() == []


#: Contents that are nearly the same, and contents that have nothing in common.
ALIKE = [{"content": f"a note about the same old subject of the day, number {number}"} for number in range(64)]
DIFFERENT = [{"content": f"heron{number} otter{number} crane{number} badger{number}"} for number in range(200)]


def test_every_process_finds_the_same_above_a_threshold(tmp_path: Path) -> None:
    """The calibration of an embedder without one is the store's, not that of the vectors a process saw first."""
    with opened(tmp_path / "a.db", embedder=HashEmbedder(calibrated=False)) as early:
        early.remember_many(ALIKE)
        early.recall("the same subject", track=False)
        early.remember_many(DIFFERENT)
        with opened(tmp_path / "a.db", embedder=HashEmbedder(calibrated=False)) as late:
            answers = [mem.recall("the same subject", limit=50, min_score=0.35, track=False) for mem in (early, late)]

    assert [hit.memory.id for hit in answers[0]] == [hit.memory.id for hit in answers[1]]
    assert [hit.why for hit in answers[0]] == [hit.why for hit in answers[1]]


def test_a_calibration_is_estimated_again_when_the_ledger_has_grown(tmp_path: Path) -> None:
    """At the next power of four of events, and not at every write between two of them."""
    with opened(tmp_path / "a.db", embedder=HashEmbedder(calibrated=False)) as mem:

        def closeness() -> float | None:
            return mem.recall("the same subject", track=False)[0].why.vector

        mem.remember_many(ALIKE)
        first = closeness()
        mem.remember_many(DIFFERENT[:100])
        between = closeness()
        mem.remember_many(DIFFERENT[100:])
        later = closeness()

    assert first == between != later
