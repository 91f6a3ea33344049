"""Whatever an embedder returns is checked before anyone stores it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from memotherm.embed import Embedder, NoEmbedder, checked, close, embed_query, query_weight, split, word_similarity
from memotherm.embed.windows import MAX_CHARS
from memotherm.errors import DimensionMismatch, EmbedderError


class Fixed:
    """An embedder that returns what it is told to."""

    name = "fixed"
    dimensions = 2

    def __init__(self, rows: object) -> None:
        self.rows = rows

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.rows  # type: ignore[return-value]


class Asking(Fixed):
    """An embedder with a way of its own for questions and windows."""

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return np.array([0.0, 5.0], dtype=np.float32)

    def query_weight(self, text: str) -> float:
        return float(text)

    def word_similarity(self, words: Sequence[str], texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([[7, np.nan, 0.5]], dtype=np.float32)

    def split(self, text: str) -> list[str]:
        return text.split("|")


def test_rows_are_scaled_to_unit_length() -> None:
    """An embedder may be sloppy about length."""
    found = checked(Fixed([[3.0, 4.0], [0.0, 2.0]]), ["a", "b"])
    assert found.dtype == np.float32
    assert np.allclose(found, [[0.6, 0.8], [0.0, 1.0]])


def test_huge_numbers_keep_their_direction() -> None:
    """Squares that leave float32 do not turn a vector into nothing."""
    assert np.allclose(checked(Fixed([[3e30, 4e30]]), ["a"]), [[0.6, 0.8]])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1.0, 0.0]], "shape"),
        ([1.0, 0.0], "shape"),
        ([[1.0, 0.0], [np.nan, 1.0]], "finite"),
        ([[1.0, 0.0], [np.inf, 1.0]], "finite"),
        ([[1.0, 0.0], [0.0, 0.0]], "zeros"),
    ],
)
def test_rows_that_are_no_vectors_are_refused(rows: object, message: str) -> None:
    """Nothing half right is ever stored."""
    with pytest.raises(EmbedderError, match=message):
        checked(Fixed(rows), ["a", "b"])


def test_vectors_of_another_length_are_refused() -> None:
    """They could not be compared with the stored ones."""
    with pytest.raises(DimensionMismatch, match="has 2 dimensions and returned 3"):
        checked(Fixed([[1.0, 0.0, 0.0]]), ["a"])


def test_cosines_of_a_question_count_what_its_embedder_says() -> None:
    """Between 0 and 1; an embedder that says nothing knows all languages, and one that fails says why."""
    assert query_weight(Fixed([]), "q") == 1
    assert [query_weight(Asking([]), text) for text in ("0.25", "7", "-1")] == [0.25, 1, 0]
    with pytest.raises(EmbedderError, match="fixed raised ValueError"):
        query_weight(Asking([]), "q")


def test_similarities_of_words_are_between_0_and_1() -> None:
    """An embedder that says nothing knows no similar words; an array of another shape is refused."""
    assert word_similarity(Fixed([]), ["a", "b"], ["t"]).tolist() == [[0, 0]]
    assert word_similarity(Asking([]), ["a", "b", "c"], ["t"]).tolist() == [[1, 0, 0.5]]
    with pytest.raises(EmbedderError, match="fixed raised ValueError"):
        word_similarity(Asking([]), ["a"], ["t"])


def test_a_question_goes_the_embedders_own_way_if_it_has_one() -> None:
    """Otherwise it is embedded like any text."""
    assert np.allclose(embed_query(Asking([]), "q"), [0.0, 1.0])
    assert np.allclose(embed_query(Fixed([[2.0, 0.0]]), "q"), [1.0, 0.0])


def test_windows_are_the_embedders_own_or_the_default() -> None:
    """An embedder without `split` may still say how much it takes."""
    limited = Fixed([])
    limited.max_chars = 10  # type: ignore[attr-defined]
    assert split(Asking([]), "a|b") == ["a", "b"]
    assert max(map(len, split(Fixed([]), "word " * 2000))) <= MAX_CHARS
    assert max(map(len, split(limited, "word " * 20))) <= 10


def test_no_embedder_has_empty_vectors() -> None:
    """Text-only search passes through the same code."""
    none = NoEmbedder()
    assert isinstance(none, Embedder)
    assert checked(none, ["a", "b"]).shape == (2, 0)
    assert embed_query(none, "a").shape == (0,)
    assert split(none, "a " * 5000) == ["a " * 5000]


def test_closing_an_embedder_that_holds_nothing_is_fine() -> None:
    """`close` is optional."""
    close(NoEmbedder())
