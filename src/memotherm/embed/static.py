"""Static vectors of word pieces in a hundred languages: a text or word has the mean of its pieces.

The table is that of potion-multilingual, less its mean, as 4-bit numbers with one scale for each row.
`weights/NOTICE` names its origin.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["StaticVectors"]

#: A piece with this character in front begins a word.
_BEGINNING = "\u2581"
#: The size of the cache of words.
_REMEMBERED_WORDS = 32_768
#: The longest piece of the table, and the longest word that is read, in characters.
_LONGEST_PIECE = 16
_LONGEST_WORD = 100
#: What is added to the numbers of a row before they are packed, two in a byte.
_ZERO = 8


class StaticVectors:
    """Reads a table from a folder with the first text that needs it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = Lock()
        self._index: dict[str, int] = {}
        self._pieces = lru_cache(maxsize=_REMEMBERED_WORDS)(self._match)

    def embed(self, text: str) -> NDArray[np.float32] | None:
        """Return the vector of a text, of length 1, or None if the table has none of its pieces."""
        import numpy as np

        self._load()
        words = unicodedata.normalize("NFKC", text).split()
        rows = [row for word in words for row in self._pieces(word[:_LONGEST_WORD])]
        if not rows:
            return None
        total = self._scales[rows].astype(np.float32) @ self._numbers(rows)
        length = float(np.linalg.norm(total))
        return np.asarray(total / length, np.float32) if length else None

    def embed_words(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each word, of length 1, or of zeros if the table has none of its pieces."""
        import numpy as np

        self._load()
        pieces = [self._pieces(word[:_LONGEST_WORD]) for word in words]
        rows = list(chain.from_iterable(pieces))
        numbers = self._scales[rows].astype(np.float32)[:, np.newaxis] * self._numbers(rows)
        totals = np.zeros((len(words), 2 * self._vectors.shape[1]), np.float32)
        np.add.at(totals, np.repeat(np.arange(len(words)), list(map(len, pieces))), numbers)
        lengths = np.linalg.norm(totals, axis=1, keepdims=True)
        return np.asarray(totals / np.where(lengths > 0, lengths, 1), np.float32)

    def _numbers(self, rows: Sequence[int]) -> NDArray[np.float32]:
        """Return the numbers of some rows before they are scaled."""
        import numpy as np

        packed = self._vectors[rows]
        numbers = np.stack((packed >> 4, packed & 15), axis=2).reshape(len(rows), 2 * packed.shape[1])
        return numbers.astype(np.float32) - _ZERO

    def _match(self, word: str) -> tuple[int, ...]:
        """Return the rows of a word's pieces, the longest first; characters without a piece are skipped."""
        rows: list[int] = []
        word = _BEGINNING + word
        start = 0
        while start < len(word):
            for end in range(min(len(word), start + _LONGEST_PIECE), start, -1):
                row = self._index.get(word[start:end])
                if row is not None:
                    rows.append(row)
                    start = end
                    break
            else:
                start += 1
        return tuple(rows)

    def _load(self) -> None:
        import numpy as np

        with self._lock:
            if self._index:
                return
            self._vectors = np.load(self._folder / "pieces.npy", mmap_mode="r")
            self._scales = np.load(self._folder / "scales.npy")
            pieces = (self._folder / "pieces.txt").read_text(encoding="utf-8").split("\n")
            self._index = {piece: row for row, piece in enumerate(pieces) if piece}
