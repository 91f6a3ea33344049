"""The interfaces of embedders and rerankers, and functions that call them and check their results.

This module imports no model and no network client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

from memotherm.embed import windows
from memotherm.errors import DimensionMismatch, EmbedderError, EmbedderRefused, EmbedderUnavailable, InvalidInput
from memotherm.model import entry_points

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors of unit length.

    Optional members:

    - `embed_query(text)`: one vector of shape (dimensions,), for models that embed queries differently;
    - `query_weight(text)`: what the cosines of a query count in ranking, from 0 to 1, for models that know some
      languages better than others; 1 without it;
    - `word_similarity(words, texts)`: an array of shape (texts, words), from 0 for an unrelated word to 1 for the
      same: how similar each word is to the most similar one of each text, whose words are separated by spaces. It
      is asked for if `query_weight` is below 1, because the words of a query then tell more than its cosines;
    - `split(text)`: the windows of a long content, each short enough to be embedded as a whole;
    - `max_chars: int`: the longest window the default splitter may cut, for embedders without `split`;
    - `calibration: Calibration`: the map from its cosines to relevance;
    - `close()`: releases its resources.

    Its methods may raise anything. `EmbedderRefused` and `ValueError` mean that it refuses these texts: the
    texts of a batch are then tried one by one. Any other exception means that it does not work at the moment.
    """

    @property
    def name(self) -> str:
        """The identity of its vectors: two embedders have the same name only if their vectors are comparable."""

    @property
    def dimensions(self) -> int:
        """The length of a vector; 0 if not known yet, or for an embedder without vectors."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row of unit length for each text."""


def checked(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Embed texts, and check the shape and the numbers of the result."""
    with _own_errors(embedder):
        rows = unit(embedder.embed(texts), count=len(texts), name=embedder.name)
        return _check_dimensions(embedder, rows)


def embed_query(embedder: Embedder, text: str) -> Vectors:
    """Embed a query, by the embedder's `embed_query` if it has one."""
    import numpy as np

    own: Callable[[str], Vectors] | None = getattr(embedder, "embed_query", None)
    if own is None:
        row: Vectors = checked(embedder, [text])[0]
        return row
    with _own_errors(embedder):
        rows = unit(np.asarray(own(text))[np.newaxis], count=1, name=embedder.name)
        vector: Vectors = _check_dimensions(embedder, rows)[0]
        return vector


def query_weight(embedder: Embedder, text: str) -> float:
    """Return the weight of a query's cosines, from the embedder's `query_weight` if it has one; else 1."""
    own: Callable[[str], float] | None = getattr(embedder, "query_weight", None)
    if own is None:
        return 1.0
    with _own_errors(embedder):
        return min(1.0, max(0.0, float(own(text))))


def word_similarity(embedder: Embedder, words: Sequence[str], texts: Sequence[str]) -> Vectors:
    """Return how similar each word is to the most similar one of each text; zeros without `word_similarity`."""
    import numpy as np

    own: Callable[[Sequence[str], Sequence[str]], Vectors] | None = getattr(embedder, "word_similarity", None)
    if own is None:
        return np.zeros((len(texts), len(words)), np.float32)
    with _own_errors(embedder):
        similarity = np.asarray(own(words, texts), np.float32).reshape(len(texts), len(words))
        return np.clip(np.nan_to_num(similarity), 0, 1)


def split(embedder: Embedder, text: str) -> list[str]:
    """Split a content into windows that the embedder accepts."""
    own: Callable[[str], object] | None = getattr(embedder, "split", None)
    if own is None:
        return windows.by_chars(text, getattr(embedder, "max_chars", windows.MAX_CHARS))
    with _own_errors(embedder):
        parts = own(text)
        texts = list(parts) if isinstance(parts, list | tuple) else []
        if not texts or not all(isinstance(part, str) for part in texts):
            raise EmbedderRefused(f"split() of {embedder.name} must return a list of at least one text")
        return texts


def close(embedder: Embedder) -> None:
    """Close an embedder, if it has a method `close`."""
    own: Callable[[], None] | None = getattr(embedder, "close", None)
    if own is not None:
        with _own_errors(embedder):
            own()


def unit(rows: Vectors, *, count: int, name: str) -> Vectors:
    """Return rows scaled to length 1; raise `EmbedderError` if they are not vectors."""
    import numpy as np

    vectors = np.asarray(rows, dtype=np.float32)
    if vectors.ndim != 2 or vectors.shape[0] != count:
        raise EmbedderError(
            f"{name} returned an array of shape {vectors.shape} for {count} texts; "
            "an embedder returns one row for each text, in the same order."
        )
    if not vectors.shape[1]:
        return vectors
    # float64, because the squares of a long unnormalised vector may leave float32.
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise EmbedderError(f"{name} returned numbers that are not finite. Check the model.")
    if not lengths.all():
        raise EmbedderError(f"{name} returned a vector of zeros. Check the model.")
    return np.asarray(vectors / lengths, dtype=np.float32)


def _check_dimensions(embedder: Embedder, rows: Vectors) -> Vectors:
    # Read after embedding: an embedder may take its dimensions from its first result.
    if rows.shape[0] and rows.shape[1] != embedder.dimensions:
        raise DimensionMismatch(
            f"{embedder.name} has {embedder.dimensions} dimensions and returned {rows.shape[1]}; "
            "set its `dimensions`, or name the model whose vectors are stored."
        )
    return rows


@contextmanager
def _own_errors(embedder: Embedder) -> Iterator[None]:
    """Convert any exception of an embedder to an `EmbedderError` with its type and text."""
    try:
        yield
    except EmbedderError:
        raise
    except Exception as exc:
        kind = EmbedderError
        if isinstance(exc, OSError):
            kind = EmbedderUnavailable
        elif isinstance(exc, ValueError):
            kind = EmbedderRefused
        raise kind(f"{embedder.name} raised {': '.join(filter(None, (type(exc).__name__, str(exc))))}") from exc


class NoEmbedder:
    """The embedder for text search only: it makes no vectors, and recalls say so in `degraded`."""

    name = "none"
    dimensions = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one empty row for each text."""
        import numpy as np

        return np.empty((len(texts), 0), dtype=np.float32)

    def split(self, text: str) -> list[str]:
        """Return the whole text: without vectors, there are no windows."""
        return [text]

    def __repr__(self) -> str:
        return "NoEmbedder()"


GROUP = "memotherm.rerankers"

#: A query and some texts -> one score for each text, higher for a better answer.
ScoreTexts = Callable[[str, Sequence[str]], Sequence[float]]


class Reranker(Protocol):
    """Scores texts by how well they answer a query."""

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return one score for each text, higher for a better answer, on any scale."""


def resolve_reranker(spec: Reranker | ScoreTexts | str | None) -> ScoreTexts | None:
    """Return the function that scores texts, or None for no reranker.

    Args:
        spec: A reranker, a function with the signature of `Reranker.score`, the name of an entry point in the
            group `memotherm.rerankers`, or None or "" for none. An entry point names a reranker, a function, or
            a class that is called without arguments.
    """
    if spec is None or spec == "":
        return None
    reranker: object = spec
    if isinstance(spec, str):
        reranker = entry_points.load(GROUP, spec, kind="reranker")
        reranker = reranker() if isinstance(reranker, type) else reranker
    score = getattr(reranker, "score", reranker)
    if isinstance(reranker, type) or not callable(score):
        raise InvalidInput(
            f"{reranker!r} is not a reranker: pass an object with score(query, texts), such a function, or a name"
        )
    return cast("ScoreTexts", score)
