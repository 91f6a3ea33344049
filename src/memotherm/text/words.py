"""The words of a content and of a query, for the text index.

Unicode words are case-folded and stemmed; runs of scripts without spaces between words are split into
overlapping pairs of characters. Contents and queries use the same function.
"""

from __future__ import annotations

import functools
import re
import threading
import unicodedata
from collections.abc import Iterator

import snowballstemmer

__all__ = ["WORDS_VERSION", "is_fragment", "query_words", "telling_words", "weighed_words", "words"]

#: Changes when the same content gives other words; a store then rebuilds its text indexes.
WORDS_VERSION = 1

_LONGEST_WORD = 64
_ACCENTS = re.compile("[\u0300-\u036f]")
#: Letters and digits, and the marks that some scripts write their vowels with.
_WORD = re.compile(
    "(?:[^\\W_]|[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
    "\u0e31-\u0e4e\u0eb1-\u0ece\u102b-\u103e\u17b4-\u17d3])+"
)
#: Han, kana, Hangul, Thai, Lao, Khmer and Myanmar: no spaces between words.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_stemmer = snowballstemmer.stemmer("english")
_stemming = threading.Lock()  # the stemmer has state and is not thread-safe

#: Words that are not searched for.
_STOP = frozenset(
    """a about above after again against all am an and any are aren as at be because been before being below
    between both but by can cannot could couldn d did didn do does doesn doing don down during each few for from
    further had hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn
    it its itself just ll m me more most my myself no nor not now o of off on once only or other our ours
    ourselves out over own re s same she should shouldn so some such t than that the their theirs them themselves
    then there these they this those through to too under until up ve very was wasn we were weren what when where
    which while who whom why will with won would wouldn y you your yours yourself yourselves""".split()  # noqa: SIM905
)
#: Words that are frequent in questions; they are searched for with a lower weight.
_FRAME = frozenset(
    """many much long often far kind type sort kinds types happen happened happens day days week weeks month
    months year years hour hours minute minutes ago time times today recently currently lately actually really
    maybe probably basically exactly please someone anyone something anything everything thing things stuff get
    gets got getting go goes going went like want wants wanted know knew known think thought tell told say said
    says mention mentioned us let also ever even still already""".split()  # noqa: SIM905
)


def words(text: str) -> list[str]:
    """Return the words of a content, in order, repetitions included."""
    return [_folded(word) for word in _raw(text, ends=True)]


def query_words(query: str) -> list[str]:
    """Return the distinct words to search for; stop words only when there is nothing else."""
    return list(weighed_words(query))


def weighed_words(query: str, frame: float = 1.0) -> dict[str, float]:
    """Return the words to search for with their weights: 1, or `frame` for words that are frequent in questions."""
    raw = list(dict.fromkeys(_raw(query, ends=False)))
    searched = [word for word in raw if word not in _STOP] or raw
    weighed: dict[str, float] = {}
    for word in searched:
        weight = frame if word in _FRAME else 1.0
        weighed[_folded(word)] = max(weight, weighed.get(_folded(word), 0.0))
    return weighed


def telling_words(text: str) -> set[str]:
    """Return the words of a text that say something: numbers, and words of two characters that are not frequent."""
    raw = (word for word in _raw(text, ends=False) if word not in _STOP and word not in _FRAME)
    return {_folded(word) for word in raw if len(word) > 1 or word.isdigit()}


def is_fragment(word: str) -> bool:
    """Return whether a query word is a single character of an unspaced script, to be searched as a prefix."""
    return len(word) == 1 and _UNSPACED.match(word) is not None


def _raw(text: str, *, ends: bool) -> Iterator[str]:
    for match in _WORD.finditer(unicodedata.normalize("NFKC", text).casefold()):
        word = match[0]
        if word.isascii():
            yield word[:_LONGEST_WORD]
        else:
            yield from _mixed(word, ends=ends)


def _mixed(word: str, *, ends: bool) -> Iterator[str]:
    """Yield unspaced runs as pairs of characters, and the text between them as a whole."""
    position = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > position:
            yield word[position : run.start()][:_LONGEST_WORD]
        yield from _pairs(run[0], ends=ends)
        position = run.end()
    if position < len(word):
        yield word[position:][:_LONGEST_WORD]


def _pairs(run: str, *, ends: bool) -> Iterator[str]:
    """Yield overlapping pairs, and with `ends` the last character, so that a prefix search finds every character."""
    for start in range(len(run) - 1):
        yield run[start : start + 2]
    if ends or len(run) == 1:
        yield run[-1]


@functools.lru_cache(maxsize=100_000)
def _folded(word: str) -> str:
    """Return an English word stemmed, any other word without accents, so that "café" matches "cafe"."""
    if word.isascii():
        return _stem(word) if word.isalpha() else word
    plain = _ACCENTS.sub("", unicodedata.normalize("NFD", word))
    if plain.isascii() and plain.isalpha():
        return _stem(plain)
    return unicodedata.normalize("NFC", plain) or word


def _stem(word: str) -> str:
    with _stemming:
        return str(_stemmer.stemWord(word))
