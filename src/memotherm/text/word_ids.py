"""Words as numbers, so that many texts can be compared with the words of a query at once.

The number of a word is its hash in this process, with 64 bits: it is never stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from memotherm.text.words import is_fragment

__all__ = ["WordIds", "word_id"]

Numbers = NDArray[np.int64]

#: The number of a word.
word_id = hash


class WordIds:
    """The numbers of the words of several texts.

    Args:
        ids: The numbers, one text after the other.
        lengths: How many of them each text has.
    """

    __slots__ = ("_ends", "ids", "lengths")

    def __init__(self, ids: Numbers, lengths: Numbers) -> None:
        self.ids = ids
        self.lengths = lengths
        self._ends = lengths.cumsum()

    @classmethod
    def of(cls, texts: Iterable[str]) -> WordIds:
        """Return the numbers of the words of texts, which are separated by spaces."""
        return cls._encoded(list(map(str.split, texts)))

    @classmethod
    def of_fragments(cls, texts: Iterable[str]) -> WordIds:
        """Return the numbers of the fragments with which words begin: a query searches them as prefixes."""
        return cls._encoded([() if text.isascii() else _fragments(text) for text in texts])

    @classmethod
    def of_parts(cls, ids: Numbers, beginnings: Numbers, lengths: Numbers) -> WordIds:
        """Return the texts that begin in some places of an array of numbers."""
        before = lengths.cumsum() - lengths
        return cls(ids[np.repeat(beginnings - before, lengths) + np.arange(lengths.sum())], lengths)

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
        """Return some of these texts."""
        lengths = self.lengths[passing]
        return self.of_parts(self.ids, self._ends[passing] - lengths, lengths)

    def joined(self, others: Sequence[WordIds]) -> WordIds:
        """Return these texts and then others."""
        every = (self, *others)
        return WordIds(
            np.concatenate([texts.ids for texts in every]), np.concatenate([texts.lengths for texts in every])
        )

    def texts_at(self, places: Numbers) -> Numbers:
        """Return to which texts the numbers in some places belong."""
        return self._ends.searchsorted(places, "right")


def _fragments(text: str) -> list[str]:
    """Return the fragments with which words of a text begin, each once."""
    return list(filter(is_fragment, dict.fromkeys([word[0] for word in text.split()])))
