"""Whoever stores a long content does not wait for its vectors; they follow."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import memotherm
from memotherm import Memotherm
from memotherm.errors import EmbedderError
from memotherm.testing import HashEmbedder

Open = Callable[..., Memotherm]
LONG = "The crane of the harbour is green. " + " ".join(f"Box {number} is full of screws." for number in range(300))


class Held(HashEmbedder):
    """Embeds short texts at once, and long ones when a test lets it."""

    def __init__(self) -> None:
        super().__init__()
        self.free = threading.Event()
        self.error: Exception | None = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Wait for the test if a text is long."""
        if any("Box" in text for text in texts):
            assert self.free.wait(60)
            if self.error is not None:
                raise self.error
        return super().embed(texts)


@pytest.fixture
def held() -> Iterator[Held]:
    """An embedder that is let go at the end, so that no thread waits for it."""
    embedder = Held()
    yield embedder
    embedder.free.set()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Open]:
    """Open the same store again and again; tests close it themselves."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(memotherm.open(tmp_path / "memory.db", **options))


def test_a_long_content_is_found_by_its_words_at_once_and_by_vectors_later(store: Open, held: Held) -> None:
    """The call returns before the embedder does, and `close` waits for it."""
    mem = store(embedder=held)
    mem.remember("The quay is short")
    memory = mem.remember(LONG)
    assert mem.status().pending_vectors == 1
    assert [hit.memory.id for hit in mem.recall("crane", limit=1)] == [memory.id]
    closing = threading.Thread(target=mem.close)
    closing.start()
    held.free.set()
    closing.join(60)

    again = store(embedder=HashEmbedder())
    assert again.status().pending_vectors == 0
    assert [(event.action, event.rule) for event in again.history(memory.id)] == [
        ("remember", "default"),
        ("embed", "long"),
    ]
    assert again.get(memory.id).version == memory.version


def test_nobody_is_told_to_make_vectors_that_are_being_made(store: Open, held: Held) -> None:
    """Neither the status nor a recall names `reembed` while the thread works, and both do when it has failed."""
    mem = store(embedder=held)
    mem.remember("The quay is short")
    mem.remember(LONG)
    making = "1 memory without vectors: they are being made"
    assert (mem.status().degraded, mem.recall("crane").degraded) == ((making,), (making,))
    held.error = EmbedderError("the model is gone")
    held.free.set()
    mem.close()
    again = store(embedder=HashEmbedder())
    failed = "1 memory without vectors: maintenance makes them, or reembed at once"
    assert (again.status().degraded, again.recall("crane").degraded) == ((failed,), (failed,))


@pytest.mark.parametrize("verb", ["remember_many", "capture"])
def test_no_verb_waits_for_a_long_content(verb: str, store: Open, held: Held) -> None:
    """Nor does the first memory of a store."""
    mem = store(embedder=held)
    mem.remember_many([{"content": LONG}, {"content": "short"}]) if verb == "remember_many" else mem.capture(LONG)
    assert mem.status().pending_vectors == 1
    held.free.set()


def test_who_asks_waits(store: Open, held: Held) -> None:
    """As before."""
    held.free.set()
    mem = store(embedder=held)
    mem.remember(LONG, wait=True)
    assert mem.status().pending_vectors == 0


def test_what_was_changed_or_forgotten_meanwhile_gets_no_vectors_of_the_former_content(store: Open, held: Held) -> None:
    """The vectors are those of the content that the memory has."""
    mem = store(embedder=held)
    changed, gone = mem.remember(LONG), mem.remember(f"Again: {LONG}")
    mem.update(changed.id, content="The crane is red now")
    mem.purge(gone.id)
    held.free.set()
    mem.close()
    again = store(embedder=HashEmbedder())
    assert again.check() == []
    assert again.status().pending_vectors == 0
    assert [event.action for event in again.history(changed.id)] == ["remember", "update"]


@pytest.mark.parametrize("error", [EmbedderError("the model is gone"), RuntimeError("no memory")])
def test_a_failure_leaves_the_vectors_to_reembed(
    error: Exception, store: Open, held: Held, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged; the status says that they are missing, and later contents get theirs."""
    held.error = error
    mem = store(embedder=held)
    with caplog.at_level(logging.WARNING):
        mem.remember(LONG)
        held.free.set()
        mem.close()
    assert "a long content waits for its vectors" in caplog.text
    again: Any = store(embedder=HashEmbedder())
    assert again.status().pending_vectors == 1
    assert again.store.reembed() == 1
    assert again.status().pending_vectors == 0
