"""Vectors of texts in languages that the bundled model does not know, in the same space as its own vectors.

The model was trained on English. It reads other scripts letter by letter, and other languages in short pieces: the
number of letters in a piece tells how much of a text it knows. For the rest of what a text says, its static vector
is added. Both kinds share one space: the model's vectors lie around a common mean and hardly use some of the
dimensions, so a static vector is laid into those dimensions around the same mean. The product of two vectors is

    the usual cosine + known * (the model's cosine - the usual one) + (1 - known) * a share of the static cosine

where both texts are known to the same degree. A text that is known and one that is not have a usual cosine, which
tells nothing. Vectors of English texts stay as the model makes them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from memotherm.embed.static import StaticVectors
from memotherm.embed.word_table import WordTable
from memotherm.embed.wordpiece import WordPiece, words
from memotherm.text.words import is_english

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

__all__ = ["UNKNOWN", "LanguageMixer"]

#: Below this share the model's own vector is not made.
UNKNOWN = 0.15
#: Letters in a piece of English, and in a piece of a language that the model can only spell.
_ENGLISH_PIECE, _LETTER = 4.4, 1.0
#: The share of letters outside the Latin script up to which a text is judged by its Latin words.
_FOREIGN = 0.3
#: The length of a static vector along the mean of the model's vectors and across it, for stored texts and for
#: queries, such that usual and rare cosines of unrelated texts are those of the model. The rest of a vector is in
#: a dimension of its own for stored texts and in one for queries, so that it adds nothing to their product.
_ALONG = (0.80, 0.66)
_ACROSS = (0.57, 0.65)
#: A cosine of two words up to which they are unrelated.
_UNRELATED_WORDS = 0.4
#: The square root of what a static cosine counts against one of the model: it tells less than the words of a text.
_STATIC_WEIGHT = 0.25
_LATIN = re.compile("[A-Za-z\u00aa-\u024f\u1e00-\u1eff]")
#: How much of a text is looked at.
_MOST_CHARS = 2_000


class LanguageMixer:
    """Adds the static vector of a text to the model's own, as far as the model does not know its language."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._static = StaticVectors(folder)
        self._words = WordTable(self._static.embed_words)
        self._lock = Lock()
        self._basis: NDArray[np.float32] | None = None

    def known(self, text: str, tokenizer: WordPiece) -> float:
        """Return how much of a text the model knows, from 0 to 1; 1 for English."""
        text = text[:_MOST_CHARS]
        if not _is_foreign(text):
            return 1.0
        tokens = [word for word in words(text) if word[0].isalpha()]
        letters = sum(map(len, tokens))
        pieces = sum(len(tokenizer.pieces(word)) for word in tokens)
        share = (letters / max(pieces, 1) - _LETTER) / (_ENGLISH_PIECE - _LETTER)
        return min(1.0, max(0.0, share))

    def weight(self, known: float) -> float:
        """Return what the cosines of a query count, from 0 to 1; 1 for English."""
        return (known + (1 - known) * _STATIC_WEIGHT) ** 2

    def mix(self, own: Vector | None, text: str, known: float, *, query: bool) -> Vector | None:
        """Return a vector of length 1 that has both kinds; None if neither has one."""
        import numpy as np

        static = self._static.embed(text) if known < 1 else None
        if static is None:
            return own
        mean, across, rests = self._dimensions()
        along, length = _ALONG[query], _ACROSS[query]
        rest = math.sqrt(1 - along**2 - length**2)
        foreign = length * (across @ static) + rest * rests[:, int(query)]
        if own is None:
            mixed = along * mean + foreign
        else:
            own_along = float(own @ mean)
            mixed = (known * own_along + (1 - known) * along) * mean
            mixed = mixed + math.sqrt(known) * (own - own_along * mean) + math.sqrt(1 - known) * foreign
        return np.asarray(mixed / np.linalg.norm(mixed), np.float32)

    def word_similarity(self, words: Sequence[str], texts: Sequence[str]) -> NDArray[np.float32]:
        """Return how similar each word (columns) is to the most similar word of each text (rows), from 0 to 1."""
        import numpy as np

        cosines = self._words.cosines(words, texts)
        return np.asarray(np.clip((cosines - _UNRELATED_WORDS) / (1 - _UNRELATED_WORDS), 0, 1), np.float32)

    def _dimensions(self) -> tuple[Vector, NDArray[np.float32], NDArray[np.float32]]:
        """Return the mean of the model's vectors, the dimensions of static vectors, and those of the rests."""
        import numpy as np

        with self._lock:
            if self._basis is None:
                self._basis = np.load(self._folder / "basis.npy").astype(np.float32)
            return self._basis[:, 0], self._basis[:, 1:-2], self._basis[:, -2:]


def _is_foreign(text: str) -> bool:
    """Return whether a text is mostly in another script, or in another language than English."""
    if not text.isascii():
        letters = sum(character.isalpha() for character in text)
        if letters - len(_LATIN.findall(text)) > _FOREIGN * letters:
            return True
    return not is_english(text)
