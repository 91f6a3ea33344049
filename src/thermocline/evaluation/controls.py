"""Plain rankings to compare with: one vector per text, one BM25, and two ways to join them.

They share the product's model and its words, and nothing else.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from thermocline import embed
from thermocline.embed import Embedder
from thermocline.text.words import query_words, words

__all__ = ["CONTROLS", "Corpus", "embedded"]

Scores = NDArray[np.float64]

_K1, _B = 1.2, 0.75
_RRF_K = 60
_POOL = 200


class Corpus:
    """The documents of one scope, scored in full for any question."""

    def __init__(self, contents: Sequence[str], vectors: NDArray[np.float32]) -> None:
        self._vectors = vectors
        counts = [Counter(words(content)) for content in contents]
        lengths = np.array([sum(count.values()) for count in counts], np.float64)
        self._norm = _K1 * (1 - _B + _B * lengths / max(lengths.mean(), 1.0)) if counts else lengths
        self._postings: dict[str, tuple[list[int], list[int]]] = {}
        for row, count in enumerate(counts):
            for word, times in count.items():
                rows, tallies = self._postings.setdefault(word, ([], []))
                rows.append(row)
                tallies.append(times)
        self._size = len(counts)

    def words(self, question: str) -> Scores:
        """Return BM25 of every document."""
        scores = np.zeros(self._size)
        for word in query_words(question):
            rows, tallies = self._postings.get(word, ([], []))
            if rows:
                idf = math.log(1 + (self._size - len(rows) + 0.5) / (len(rows) + 0.5))
                times = np.array(tallies, np.float64)
                scores[rows] += idf * times * (_K1 + 1) / (times + self._norm[rows])
        return scores

    def meaning(self, vector: NDArray[np.float32]) -> Scores:
        """Return the cosine of every document."""
        return np.asarray(self._vectors @ vector, np.float64)


def embedded(
    embedder: Embedder, contents: Sequence[str], progress: Callable[[int], None]
) -> dict[str, NDArray[np.float32]]:
    """Return one vector for each distinct text, cut where the model cuts it."""
    distinct = list(dict.fromkeys(contents))
    made: dict[str, NDArray[np.float32]] = {}
    for start in range(0, len(distinct), 64):
        batch = distinct[start : start + 64]
        made.update(zip(batch, embed.checked(embedder, batch), strict=True))
        progress(len(batch))
    return made


def _weighted(text: Scores, vector: Scores) -> Scores:
    """Return 0.7 of meaning and 0.3 of words, each spread over [0, 1] for the question."""
    return 0.7 * _spread(vector) + 0.3 * _spread(text)


def _spread(scores: Scores) -> Scores:
    if not scores.size or scores.max() <= scores.min():
        return np.zeros_like(scores)
    return np.asarray((scores - scores.min()) / (scores.max() - scores.min()), np.float64)


def _reciprocal(text: Scores, vector: Scores) -> Scores:
    total = np.zeros_like(text)
    for scores in (text, vector):
        order = np.argsort(-scores, kind="stable")[:_POOL]
        order = order[scores[order] > 0]
        total[order] += 1 / (_RRF_K + 1 + np.arange(len(order)))
    return total


#: Name -> a score for every document, from its BM25 and its cosine.
CONTROLS: Mapping[str, Callable[[Scores, Scores], Scores]] = {
    "BM25": lambda text, vector: text,  # noqa: ARG005
    "vector": lambda text, vector: vector,  # noqa: ARG005
    "0.7/0.3": _weighted,
    "RRF": _reciprocal,
}
