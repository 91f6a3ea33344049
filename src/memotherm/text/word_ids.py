"""Words as numbers, so that numpy can compare many texts with the words of a query.

The number of a word is its 64-bit hash in this process; it is never stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from memotherm.text.words import is_fragment

Numbers = NDArray[np.int64]

#: The number of a word.
word_id = hash


class WordIds:
    """The word numbers of several texts, one text after the other, and the number of words in each."""

    __slots__ = ("_ends", "ids", "lengths")

    def __init__(self, ids: Numbers, lengths: Numbers) -> None:
        self.ids = ids
        self.lengths = lengths
        self._ends = lengths.cumsum()

    @classmethod
    def of(cls, texts: Iterable[str]) -> WordIds:
        """Return the word numbers of texts; words are separated by spaces."""
        return cls._encoded(list(map(str.split, texts)))

    @classmethod
    def of_fragments(cls, texts: Iterable[str]) -> WordIds:
        """Return the numbers of the first characters of unspaced words, which a query searches as prefixes."""
        return cls._encoded([() if text.isascii() else _fragments(text) for text in texts])

    @classmethod
    def of_parts(cls, ids: Numbers, starts: Numbers, lengths: Numbers) -> WordIds:
        """Return the texts that start at the given positions of an array."""
        before = lengths.cumsum() - lengths
        return cls(ids[np.repeat(starts - before, lengths) + np.arange(lengths.sum())], lengths)

    @classmethod
    def _encoded(cls, words: Sequence[Sequence[str]]) -> WordIds:
        ids = np.fromiter(map(word_id, chain.from_iterable(words)), np.int64)
        return cls(ids, np.fromiter(map(len, words), np.int64, len(words)))

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, text: int) -> Numbers:
        end = self._ends[text]
        return self.ids[end - self.lengths[text] : end]

    def where(self, passing: NDArray[np.bool_]) -> WordIds:
        """Return the texts selected by a mask."""
        lengths = self.lengths[passing]
        return self.of_parts(self.ids, self._ends[passing] - lengths, lengths)

    def joined(self, others: Sequence[WordIds]) -> WordIds:
        """Return these texts followed by others."""
        every = (self, *others)
        return WordIds(
            np.concatenate([texts.ids for texts in every]), np.concatenate([texts.lengths for texts in every])
        )

    def texts_at(self, places: Numbers) -> Numbers:
        """Return the index of the text at each position."""
        return self._ends.searchsorted(places, "right")


def _fragments(text: str) -> list[str]:
    return list(filter(is_fragment, dict.fromkeys([word[0] for word in text.split()])))
