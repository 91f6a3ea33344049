"""What an embedder is, and how the rest of Memotherm talks to one.

This module knows the contract and checks it.
It does not know any embedder, any model or any network, and it imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from memotherm.embed import windows
from memotherm.errors import DimensionMismatch, EmbedderError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

__all__ = ["Embedder", "checked", "close", "embed_query", "split", "unit"]


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors of unit length.

    An embedder may add, and is asked for them by name:

    - `embed_query(text)`: one vector of shape (dimensions,), for models that treat questions differently;
    - `split(text)`: the windows of a long content, each short enough to be embedded whole;
    - `max_chars: int`: the longest window the default splitter may cut, for embedders without `split`;
    - `calibration: Calibration`: what its cosines mean;
    - `close()`: lets go of connections.
    """

    @property
    def name(self) -> str:
        """Say which vectors these are: two embedders share a name only if their vectors compare."""

    @property
    def dimensions(self) -> int:
        """Tell the length of a vector; 0 while it is not known, and for an embedder without vectors."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row of unit length for each text."""


def checked(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Embed texts and make sure that what came back can be stored."""
    rows = unit(embedder.embed(texts), count=len(texts), name=embedder.name)
    return _as_promised(embedder, rows)


def embed_query(embedder: Embedder, text: str) -> Vectors:
    """Embed one question, the embedder's own way if it has one."""
    ask: Callable[[str], Vectors] | None = getattr(embedder, "embed_query", None)
    if ask is None:
        row: Vectors = checked(embedder, [text])[0]
        return row
    rows = unit(ask(text)[None, :], count=1, name=embedder.name)
    answer: Vectors = _as_promised(embedder, rows)[0]
    return answer


def split(embedder: Embedder, text: str) -> list[str]:
    """Cut a content into windows that the embedder can take whole."""
    own: Callable[[str], list[str]] | None = getattr(embedder, "split", None)
    if own is not None:
        return own(text)
    return windows.by_chars(text, getattr(embedder, "max_chars", windows.MAX_CHARS))


def close(embedder: Embedder) -> None:
    """Let an embedder go of what it holds, if it holds anything."""
    end: Callable[[], None] | None = getattr(embedder, "close", None)
    if end is not None:
        end()


def unit(rows: Vectors, *, count: int, name: str) -> Vectors:
    """Return rows scaled to length 1, or say why they are no vectors."""
    import numpy as np

    found = np.asarray(rows, dtype=np.float32)
    if found.ndim != 2 or found.shape[0] != count:
        raise EmbedderError(
            f"{name} returned an array of shape {found.shape} for {count} texts; "
            "an embedder returns one row for each text, in the same order."
        )
    if not found.shape[1]:
        return found
    # float64, because the squares of a long unnormalised vector may leave float32.
    lengths = np.linalg.norm(found.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise EmbedderError(f"{name} returned numbers that are not finite; nothing was stored. Check the model.")
    if not lengths.all():
        raise EmbedderError(f"{name} returned a vector of zeros; nothing was stored. Check the model.")
    return np.asarray(found / lengths, dtype=np.float32)


def _as_promised(embedder: Embedder, rows: Vectors) -> Vectors:
    # Asked after embedding: an embedder may learn its dimensions from its first answer.
    if rows.shape[0] and rows.shape[1] != embedder.dimensions:
        raise DimensionMismatch(
            f"{embedder.name} promises {embedder.dimensions} dimensions and returned {rows.shape[1]}; "
            "set its `dimensions`, or name the model whose vectors are stored."
        )
    return rows
