"""A second embedder that stands in when the first one fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import memotherm
from memotherm import Memotherm, Settings
from memotherm.errors import SettingsError
from memotherm.storage.open import open_store
from memotherm.testing import HashEmbedder
from memotherm.vectors import vectorizer as vectors
from tests.helpers import Flaky

Pair = tuple[Memotherm, Flaky, Flaky]


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """A memory whose two embedders can fail, and nothing is left alone for longer than one call."""
    first, spare = Flaky("first"), Flaky("spare")
    with Memotherm(open_store(str(tmp_path / "a.db"), Settings()), first, fallback=spare) as mem:
        yield mem, first, spare


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask an embedder that failed again at once."""
    monkeypatch.setattr(vectors, "_PAUSE_SECONDS", 0.0)


def test_questions_go_to_the_fallback_while_the_first_is_down(pair: Pair, impatient: None) -> None:
    """Nothing is made anew when the first one is back: each has its own vectors."""
    mem, first, _ = pair
    memory = mem.remember("the otter swims")
    assert mem.maintain().embedded == 1
    first.down = True
    down = mem.recall("otter swims")
    first.down = False
    back = mem.recall("otter swims")

    assert down.hits[0].memory.id == back.hits[0].memory.id == memory.id
    assert down.hits[0].why.vector is not None
    assert down.degraded == ("the fallback spare was used: first is down: try again later",)
    assert back.degraded == ()
    assert mem.maintain().embedded == 0
    assert mem.check() == []


def test_what_comes_in_meanwhile_waits_for_the_first_and_is_known_to_the_fallback(pair: Pair, impatient: None) -> None:
    """Maintenance makes both kinds of vectors, each as soon as it can."""
    mem, first, _ = pair
    mem.remember("the heron")
    first.down = True
    memory = mem.remember("the otter swims")
    kept = mem.maintain()

    assert kept.embedded == 2
    assert "first is down" in kept.degraded[0]
    assert mem.status().pending_vectors == 1
    assert mem.recall("otter swims").hits[0].memory.id == memory.id
    first.down = False
    assert mem.maintain().embedded == 1
    assert mem.recall("otter swims").degraded == ()


def test_an_embedder_that_failed_is_left_alone_for_a_while(pair: Pair) -> None:
    """A service that is down costs one waiting time, not one for each question."""
    mem, first, _ = pair
    mem.remember("the otter swims")
    mem.maintain()
    first.after = 0
    asked = [mem.recall(f"otter {number}").degraded for number in range(3)]

    assert first.after == -1
    assert "try again later" in asked[0][0]
    assert all("left alone" in reason for (reason,) in asked[1:])


def test_if_both_fail_words_are_left(pair: Pair, impatient: None) -> None:
    """And the answer says both."""
    mem, first, spare = pair
    memory = mem.remember("the otter swims")
    mem.maintain()
    first.down = spare.down = True
    found = mem.recall("otter")

    assert [hit.memory.id for hit in found.hits] == [memory.id]
    assert found.hits[0].why.vector is None
    assert "first is down" in found.degraded[0]
    assert "the fallback spare failed too" in found.degraded[0]


def test_a_changed_content_is_made_anew_by_both(pair: Pair, impatient: None) -> None:
    """The fallback never answers with what a memory said before."""
    mem, first, _ = pair
    memory = mem.remember("the otter swims")
    mem.maintain()
    mem.update(memory.id, content="the heron flies")
    assert mem.maintain().embedded == 1
    first.down = True

    assert (mem.recall("heron flies").hits[0].why.vector or 0) > 0.9
    mem.purge(memory.id)
    assert mem.check() == []


def test_a_change_of_embedder_may_lean_on_the_former_one(tmp_path: Path) -> None:
    """With the former embedder as the fallback, every question is answered by meaning until reembed has run."""
    path = str(tmp_path / "a.db")
    with memotherm.open(path, embedder=HashEmbedder(name="old")) as mem:
        mem.remember("the otter swims")
    with Memotherm(open_store(path, Settings()), HashEmbedder(name="new"), fallback=HashEmbedder(name="old")) as mem:
        before = mem.recall("otter swims")
        mem.remember("the heron flies")
        pending = mem.status().pending_vectors
        mem.store.reembed()
        after = mem.recall("otter swims")

        assert before.hits[0].why.vector is not None
        assert before.degraded[0].startswith("the fallback old was used")
        assert pending == 2
        assert after.degraded == ()
        assert mem.check() == []
    with memotherm.open(path, embedder=HashEmbedder(name="new")) as mem:
        assert mem.recall("heron flies").degraded == ()


def test_the_setting_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the same names as the embedder's own; a project's file may only name one that stays on the machine."""
    monkeypatch.chdir(tmp_path)
    with memotherm.open(tmp_path / "a.db", embedder=Flaky(), settings={"fallback_embedder": "local"}) as mem:
        mem.remember("the otter swims")
        assert mem.maintain().embedded == 1
    (tmp_path / "memotherm.toml").write_text('fallback_embedder = "openai"\n', "utf-8")
    with pytest.raises(SettingsError, match="trust"):
        memotherm.open(tmp_path / "a.db")
