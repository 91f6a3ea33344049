"""A store that is opened with another embedder keeps searching the old vectors until the new ones are complete."""

from __future__ import annotations

from pathlib import Path

import pytest

from memotherm.embed.local import BUNDLED, LocalEmbedder
from memotherm.testing import HashEmbedder
from tests.helpers import Flaky, contents, opened
from tests.notes.ids import spec
from tests.plugins import install_plugin

_PLUGIN = """
from tests.helpers import Flaky

embedders = []


def offered():
    embedders.append(Flaky("pond:words"))
    return embedders[-1]
"""
FACTS = [f"fact {number} about {word}" for number, word in enumerate(["boats", "bread", "birds", "books"] * 50)]


@pytest.fixture(name="path")
def _path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a store whose vectors were made by an installed plugin."""
    install_plugin(tmp_path, monkeypatch, _PLUGIN, "memotherm.embedders")
    with opened(tmp_path / "agent.db", embedder="pond") as mem:
        mem.remember_many([{"content": fact} for fact in FACTS])
    return tmp_path / "agent.db"


@spec("O38")
def test_the_former_embedder_answers_until_maintenance_has_made_all_vectors(path: Path) -> None:
    """Queries and new memories use the old vectors, and every answer says so."""
    with opened(path, embedder=HashEmbedder(32, name="new")) as mem:
        added = mem.remember("a note about glaciers")
        before = mem.recall("a note about glaciers")
        status = mem.status()
        maintained = mem.maintain()
        after = mem.recall("a note about glaciers")

        assert before[0].memory.id == after[0].memory.id == added.id
        assert before[0].why.vector is not None
        (said,) = before.degraded
        assert "the former embedder 'pond:words' is used" in said
        assert status.degraded == (
            said,
            f"{len(FACTS) + 1} memories without vectors: maintenance makes them, or reembed at once",
        )
        assert status.pending_vectors == len(FACTS) + 1
        assert maintained.embedded == len(FACTS) + 1
        assert after.degraded == ()
        assert after[0].why.vector is not None
        assert mem.check() == []


@spec("O38")
def test_an_interrupted_change_goes_on_with_the_next_maintenance(path: Path) -> None:
    """What was made stays made, and the old vectors serve until the last one is there."""
    embedder = Flaky("new", after=2)
    with opened(path, embedder=embedder) as mem:
        failed = mem.maintain()
        done = len(embedder.texts)
        between = mem.recall("fact 7 about books")
        waiting = mem.status().pending_vectors
        embedder.down, embedder.after = False, None
        finished = mem.maintain()

        assert "is down" in failed.degraded[0]
        assert 0 < done < len(FACTS)
        assert waiting == len(FACTS) - done
        assert set(embedder.texts[:done]) == set(FACTS[-done:])
        assert between[0].why.vector is not None
        assert "former embedder" in between.degraded[0]
        assert finished.embedded == len(FACTS) - done
        assert mem.recall("fact 7 about books").degraded == ()


@spec("O38")
def test_background_maintenance_starts_the_change(path: Path) -> None:
    """A server needs nobody to run reembed."""
    with opened(path, embedder=HashEmbedder(name="new")) as mem:
        assert mem.store.maintenance(every_minutes=60).run_once()
        recall = mem.recall("fact 7 about books")

        assert recall.degraded == ()
        assert recall[0].why.vector is not None


def test_maintenance_does_not_change_back_to_an_embedder_that_served_before(path: Path) -> None:
    """Two processes with different embedders do not make all vectors anew in turns; reembed does it once."""
    with opened(path, embedder=HashEmbedder(name="new")) as mem:
        mem.maintain()
    with opened(path, embedder="pond") as mem:
        maintained = mem.maintain()
        recall = mem.recall("fact 7 about books")
        remade = mem.store.reembed()

        assert maintained.embedded == 0
        assert "run reembed" in recall.degraded[0]
        assert remade == len(FACTS)
        assert mem.recall("fact 7 about books").degraded == ()


def test_a_former_embedder_that_fails_leaves_words(path: Path) -> None:
    """The answer names both embedders and the error."""
    with opened(path, embedder=HashEmbedder(name="new")) as mem:
        mem.recall("boats")
        import pondweed  # type: ignore[import-not-found]

        pondweed.embedders[-1].down = True
        recall = mem.recall("fact 7 about books")

        assert contents(recall)[0] == "fact 7 about books"
        assert recall[0].why.vector is None
        assert "the former embedder failed: pond:words is down" in recall.degraded[0]


def test_an_earlier_state_is_searched_with_the_former_embedder(path: Path) -> None:
    """`as_of` answers by vectors during the change, too."""
    with opened(path, embedder=HashEmbedder(name="new")) as mem:
        newest = max(memory.created_at for memory in mem.find(limit=1000))
        recall = mem.recall("fact 7 about books", as_of=newest)

        assert recall[0].why.vector is not None
        assert "former embedder" in recall.degraded[0]


def test_the_bundled_model_serves_while_a_service_has_not_made_its_vectors(tmp_path: Path) -> None:
    """From local to another embedder, queries are answered by meaning at once."""
    path = tmp_path / "agent.db"
    with opened(path, embedder="local") as mem:
        mem.remember("The build takes nine minutes")
    with opened(path) as mem:
        recall = mem.recall("compilation time")

        assert recall[0].why.vector is not None
        assert "former embedder 'local:" in recall.degraded[0]


def test_vectors_of_a_former_bundled_model_are_not_compared_with_those_of_the_present_one(tmp_path: Path) -> None:
    """Words answer until reembed has made all vectors anew; the name of the model tells the two apart."""
    path = tmp_path / "agent.db"
    former = LocalEmbedder(BUNDLED, name="local:snowflake-arctic-embed-s-int8+potion-multilingual")
    with opened(path, embedder=former) as mem:
        mem.remember_many([{"content": "The build takes nine minutes"}, {"content": "Anna lives in Lisbon"}])
    with opened(path, embedder="local") as mem:
        added = mem.remember("The tests take four minutes")
        by_words, status = mem.recall("how long is the build?"), mem.status()
        made = mem.store.reembed()
        by_meaning = mem.recall("compilation time")

        assert by_words[0].memory.content == "The build takes nine minutes"
        assert by_words[0].why.vector is None
        assert "run reembed" in by_words.degraded[0]
        assert status.pending_vectors == made == 3
        assert by_meaning.degraded == ()
        assert by_meaning[0].why.vector is not None
        assert mem.recall("duration of the tests")[0].memory.id == added.id
        assert mem.status().pending_vectors == 0
