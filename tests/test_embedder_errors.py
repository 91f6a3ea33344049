"""Whatever an embedder raises or returns: memories are stored, recall answers by words and says why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memotherm import Memotherm, Settings
from memotherm.errors import EmbedderError, EmbedderRefused
from memotherm.storage.open import open_store
from memotherm.testing import HashEmbedder
from tests.helpers import contents, opened


class Broken(HashEmbedder):
    """An embedder that does `fault` instead of its work while it has one."""

    def __init__(self, fault: Callable[[], object] | None = None, name: str = "broken") -> None:
        super().__init__(name=name)
        self.fault = fault

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return super().embed(texts) if self.fault is None else self.fault()  # type: ignore[return-value]


class Windowed(HashEmbedder):
    """An embedder that splits contents by a function of its own."""

    def __init__(self, windows: Callable[[str], object]) -> None:
        super().__init__(name="windowed")
        self.windows = windows

    def split(self, text: str) -> list[str]:
        return self.windows(text)  # type: ignore[return-value]


def raising(error: BaseException) -> Callable[[], object]:
    """Return a function that raises an error."""

    def fault() -> object:
        raise error

    return fault


FAULTS = {
    "connection": (raising(ConnectionError("refused by the host")), "ConnectionError: refused by the host"),
    "runtime": (raising(RuntimeError("out of memory")), "RuntimeError: out of memory"),
    "value": (raising(ValueError("bad batch")), "ValueError: bad batch"),
    "without_text": (raising(KeyError()), "KeyError"),
    "wrong_shape": (lambda: np.ones((7, 3), np.float32), "shape (7, 3)"),
    "no_numbers": (lambda: ["a", "b"], "ValueError"),
    "nothing": (lambda: None, "shape ()"),
}


@pytest.mark.parametrize(("fault", "message"), FAULTS.values(), ids=list(FAULTS))
def test_any_failure_of_an_embedder_leaves_words(fault: Callable[[], object], message: str) -> None:
    """Every verb that needs a vector stores without it, and maintenance makes it when the embedder works again."""
    embedder = Broken()
    with opened(embedder=embedder) as mem:
        mem.remember("the red boat")
        embedder.fault = fault
        changed = mem.remember("the blue boat")
        mem.update(changed.id, content="the green boat")
        mem.session("s").add("the yellow boat")
        recall = mem.recall("green boat")
        maintained = mem.maintain()
        with pytest.raises(EmbedderError) as failure:
            mem.store.reembed()

        assert contents(recall)[0] == "the green boat"
        assert "text only" in recall.degraded[0]
        assert message in recall.degraded[0]
        assert message in maintained.degraded[0]
        assert message in str(failure.value)
        assert mem.status().pending_vectors == 1
        embedder.fault = None
        assert mem.maintain().embedded == 2
        assert mem.recall("yellow boat").degraded == ()
        assert mem.check() == []


@pytest.mark.parametrize(("fault", "message"), FAULTS.values(), ids=list(FAULTS))
def test_an_embedder_that_has_never_worked_leaves_words(fault: Callable[[], object], message: str) -> None:
    """A store without any vectors accepts memories, too."""
    with opened(embedder=Broken(fault)) as mem:
        mem.remember_many([{"content": "the red boat"}, {"content": "the blue boat"}])
        recall = mem.recall("red boat")

        assert contents(recall)[0] == "the red boat"
        assert message in recall.degraded[0]


@pytest.mark.parametrize(("fault", "message"), FAULTS.values(), ids=list(FAULTS))
def test_notes_are_indexed_whatever_the_embedder_raises(
    tmp_path: Path, fault: Callable[[], object], message: str
) -> None:
    """A sync stores the chunks, reports the failure, and the search finds their words."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "MEMORY.md").write_text("The glacier melts.\n", "utf-8")
    with opened(embedder=Broken(fault)) as mem:
        notes = mem.notes(folder)
        sync = notes.sync()
        found = notes.search("glacier")

        assert message in sync.degraded[0]
        assert [result.path for result in found] == ["MEMORY.md"]


@pytest.mark.parametrize("windows", [lambda _: [], lambda _: None, lambda text: text, lambda _: [1]])
def test_a_splitter_that_returns_no_windows_leaves_words(windows: Callable[[str], object]) -> None:
    """What `split` may not return is a refusal of that content, and other contents get their vectors."""
    with opened(embedder=Windowed(lambda text: windows(text) if "blue" in text else [text])) as mem:
        mem.remember("the red boat")
        mem.remember("the blue boat")
        with pytest.raises(EmbedderRefused, match="split"):
            mem.store.reembed()

        assert contents(mem.recall("blue boat"))[0] == "the blue boat"
        assert mem.status().pending_vectors == 1


def test_one_content_that_raises_does_not_delay_the_others() -> None:
    """An embedder that raises ValueError for one text makes the vectors of all others."""

    class Picky(Broken):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            if any("poison" in text for text in texts):
                raise ValueError("no such character")
            return super().embed(texts)

    with opened(embedder=Picky()) as mem:
        mem.remember_many([{"content": f"fact {number}"} for number in range(5)] + [{"content": "poison"}])
        maintained = mem.maintain()

        assert mem.status().pending_vectors == 1
        assert "ValueError: no such character" in maintained.degraded[0]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_passes_through(error: type[BaseException]) -> None:
    """A request to end the program is not a failure of the embedder."""
    with opened(embedder=Broken(raising(error()))) as mem:
        with pytest.raises(error):
            mem.remember("the red boat")
        assert list(mem.find()) == []


@pytest.mark.parametrize(("fault", "message"), FAULTS.values(), ids=list(FAULTS))
def test_the_fallback_replaces_an_embedder_that_raises_anything(
    tmp_path: Path, fault: Callable[[], object], message: str
) -> None:
    """Both failing leaves words, and the answer names both errors."""
    first, spare = Broken(name="first"), Broken(name="spare")
    with Memotherm(open_store(str(tmp_path / "a.db"), Settings()), first, fallback=spare) as mem:
        mem.remember("the red boat")
        mem.maintain()
        first.fault = fault
        replaced = mem.recall("red boat")
        spare.fault = raising(OSError("no route"))
        words = mem.recall("red boats")

        assert replaced[0].why.vector is not None
        assert replaced.degraded[0].startswith("the fallback spare was used")
        assert message in replaced.degraded[0]
        assert words[0].why.vector is None
        assert "OSError: no route" in words.degraded[0]


def test_vectors_of_another_length_than_the_stored_ones_are_not_used(tmp_path: Path) -> None:
    """An embedder that has kept its name and changed its dimensions leaves words, and says so."""
    with opened(tmp_path / "a.db", embedder=HashEmbedder(64, name="same")) as mem:
        mem.remember("the red boat")
    with opened(tmp_path / "a.db", embedder=HashEmbedder(32, name="same")) as mem:
        mem.remember("the blue boat")
        recall = mem.recall("red boat")

        assert contents(recall)[0] == "the red boat"
        assert "64" in recall.degraded[0]
        assert mem.status().pending_vectors == 1
        assert mem.check() == []


def test_an_embedder_that_cannot_be_closed_does_not_keep_the_store_open(tmp_path: Path) -> None:
    """The store is closed, and the error is not hidden."""

    class Stuck(HashEmbedder):
        def close(self) -> None:
            raise RuntimeError("still busy")

    mem = opened(tmp_path / "a.db", embedder=Stuck())
    mem.remember("the red boat")
    with pytest.raises(EmbedderError, match="RuntimeError: still busy"):
        mem.close()
    with opened(tmp_path / "a.db") as again:
        assert len(list(again.find())) == 1
