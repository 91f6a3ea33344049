"""What ranking uses of some memories, as columns; words are numbers, so that numpy can compare many texts with a query.

The number of a word is its 64-bit hash in this process; it is never stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import chain, compress
from operator import attrgetter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from memotherm.storage.rows import UnwrittenUses
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


#: How many columns the statement `candidates` has.
_WIDTH = 11


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """The fields of memories that ranking uses, one column for each; times in microseconds."""

    no: NDArray[np.int64]
    #: The ranks of tier and priority.
    tier: NDArray[np.int64]
    priority: NDArray[np.int64]
    kind: Sequence[str]
    created_at: NDArray[np.int64]
    #: NaN if it was never used.
    accessed_at: NDArray[np.float64]
    access_count: NDArray[np.float64]
    #: Returns the words of each as one text; most queries do not need them, so they may be read when it is called.
    texts: Callable[[], Sequence[str]]
    #: The numbers of the words of each, and of the fragments with which some of them begin.
    words: WordIds
    fragments: WordIds
    #: The author of a message, empty if unknown, and the previous message of the thread, 0 if there is none.
    author: Sequence[str]
    previous: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Iterable[Sequence[Any]]) -> Self:
        """Return rows of the statement `candidates` as columns; all are visible, so the space is not among them."""
        columns = list(zip(*rows, strict=True)) or [()] * _WIDTH
        no, _, tier, priority, kind, created_at, accessed_at, access_count, *others = columns
        texts, author, previous = others
        return cls(
            np.array(no, np.int64),
            np.array(tier, np.int64),
            np.array(priority, np.int64),
            kind,
            np.array(created_at, np.int64),
            np.array(accessed_at, np.float64),
            np.array(access_count, np.float64),
            lambda: texts,
            WordIds.of(texts),
            WordIds.of_fragments(texts),
            author,
            np.array([number or 0 for number in previous], np.int64),
        )

    def __len__(self) -> int:
        return len(self.no)

    def have(self, words: Iterable[str]) -> NDArray[np.bool_]:
        """Return which candidates (rows) have which words (columns); a fragment is the beginning of a word."""
        asked = np.array(list(map(word_id, words)), np.int64)
        has = np.zeros((len(asked), len(self)), np.bool_)
        for texts in (self.words, self.fragments):
            if len(texts.ids):
                equal = asked[:, np.newaxis] == texts.ids
                rows, places = np.divmod(np.flatnonzero(equal), len(texts.ids))
                has[rows, texts.texts_at(places)] = True
        return has.T

    def where(self, passing: NDArray[np.bool_]) -> Candidates:
        """Return some of these candidates."""
        return Candidates(*(_selected(column, passing) for column in _columns(self)))

    def add_uses(self, uses: UnwrittenUses) -> None:
        """Count uses that are not written yet."""
        if used := uses.totals(self.no.tolist()):
            rows, times, moments = map(list, zip(*used, strict=True))
            self.access_count[rows] += times
            self.accessed_at[rows] = moments

    def joined(self, others: Sequence[Candidates]) -> Candidates:
        """Return these candidates and then others."""
        if not others:
            return self
        return Candidates(*map(_joined, zip(*map(_columns, (self, *others)), strict=True)))


_columns = attrgetter(*(field.name for field in fields(Candidates)))


def _selected(column: Any, passing: NDArray[np.bool_]) -> Any:  # noqa: ANN401 - a column of any type
    if isinstance(column, np.ndarray):
        return column[passing]
    if isinstance(column, WordIds):
        return column.where(passing)
    return (lambda: _selected(column(), passing)) if callable(column) else tuple(compress(column, passing))


def _joined(columns: Sequence[Any]) -> Any:  # noqa: ANN401 - columns of any type
    if isinstance(columns[0], np.ndarray):
        return np.concatenate(columns)
    if isinstance(columns[0], WordIds):
        return columns[0].joined(columns[1:])
    if callable(columns[0]):
        return lambda: _joined([column() for column in columns])
    return tuple(chain.from_iterable(columns))
