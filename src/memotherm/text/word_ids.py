"""Words as numbers, so that many texts can be compared with the words of a query at once.

The number of a word is its hash in this process, with 64 bits: it is never stored.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import chain

from memotherm.text.words import is_fragment

__all__ = ["ID_BYTES", "decoded_ids", "fragment_ids", "joined_word_ids", "word_id", "word_ids"]

_ID = "q"
#: How many bytes the number of a word takes.
ID_BYTES = array(_ID).itemsize

#: The number of a word.
word_id = hash


def word_ids(words: str) -> bytes:
    """Return the numbers of words that are separated by spaces, 8 bytes each."""
    return _encoded(map(word_id, words.split()))


def joined_word_ids(texts: Sequence[str]) -> tuple[bytes, list[int]]:
    """Return the numbers of the words of several texts, one text after the other, and how many each of them has."""
    split = list(map(str.split, texts))
    return _encoded(map(word_id, chain.from_iterable(split))), list(map(len, split))


def fragment_ids(words: str) -> bytes:
    """Return the numbers of the fragments with which words begin: a query searches them as prefixes."""
    if words.isascii():
        return b""
    return _encoded(word_id(word[0]) for word in words.split() if is_fragment(word[0]))


def decoded_ids(ids: bytes) -> array[int]:
    """Return encoded numbers."""
    return array(_ID, ids)


def _encoded(ids: Iterable[int]) -> bytes:
    return array(_ID, ids).tobytes()
