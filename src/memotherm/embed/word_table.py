"""Comparing words with those of texts by their vectors, which are made once for each word.

A query compares each of its words with a few thousand others, so which words a text has is kept as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

__all__ = ["WordTable"]

#: How many words and texts are kept before the table begins anew: about 32 MB of vectors and 10 MB of texts.
_MOST_WORDS = 32_768
_MOST_TEXTS = 16_384
#: The words of a text that are compared: the most similar of very many says nothing.
_WORDS_OF_TEXT = 128
#: Products of matrices up to this size are computed by one thread; more threads wait longer than they compute.
_ONE_THREAD = 262_144


class WordTable:
    """The vectors of words, and which words texts have."""

    def __init__(self, embed_words: Callable[[Sequence[str]], Vectors]) -> None:
        self._embed_words = embed_words
        self._lock = Lock()
        self._rows: dict[str, int] = {}
        self._texts: dict[str, NDArray[np.intp]] = {}
        #: One row for each word, and some more; an array with the first words.
        self._vectors: Any = None

    def cosines(self, words: Sequence[str], texts: Sequence[str]) -> Vectors:
        """Return the cosine of each word (columns) and the most similar word of each text (rows).

        The words of a text are separated by spaces.
        """
        import numpy as np

        if not words or not texts:
            return np.zeros((len(texts), len(words)), np.float32)
        with self._lock:
            self._add(words, texts)
            asked, places = [self._rows[word] for word in words], [self._texts[text] for text in texts]
            vectors = self._vectors
        lengths = [len(each) for each in places]
        starts, rows = np.cumsum([0, *lengths[:-1]]), np.concatenate(places)
        # A word that several texts have is compared once.
        places_of = np.full(len(vectors), -1, np.intp)
        places_of[rows] = 0
        different = np.flatnonzero(places_of == 0)
        places_of[different] = np.arange(len(different))
        of_texts, of_words = vectors[different], np.ascontiguousarray(vectors[asked].T)
        cosines = np.empty((len(different), len(words)), np.float32)
        step = max(1, _ONE_THREAD // of_words.size)
        for start in range(0, len(different), step):
            np.matmul(of_texts[start : start + step], of_words, out=cosines[start : start + step])
        return np.asarray(np.maximum.reduceat(cosines[places_of[rows]], starts, axis=0), np.float32)

    def _add(self, words: Sequence[str], texts: Sequence[str]) -> None:
        """Make what is missing; a larger array replaces a full one, which other threads may still read."""
        import numpy as np

        if len(self._rows) > _MOST_WORDS or len(self._texts) > _MOST_TEXTS:
            self._clear()
        new = {text: _words(text) for text in texts if text not in self._texts}
        missing = list(dict.fromkeys(word for word in chain(words, *new.values()) if word not in self._rows))
        if missing:
            made, count = self._embed_words(missing), len(self._rows)
            total = count + len(made)
            if self._vectors is None or total > len(self._vectors):
                larger = np.empty((2 * total, made.shape[1]), np.float32)
                if self._vectors is not None:
                    larger[:count] = self._vectors[:count]
                self._vectors = larger
            self._vectors[count:total] = made
            self._rows.update(zip(missing, range(count, total), strict=True))
        self._texts |= {text: np.array([self._rows[word] for word in listed]) for text, listed in new.items()}

    def _clear(self) -> None:
        self._rows, self._texts, self._vectors = {}, {}, None


def _words(text: str) -> list[str]:
    return list(dict.fromkeys(text.split()))[:_WORDS_OF_TEXT] or [""]
