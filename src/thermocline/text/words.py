"""The words that the text index sees, of a content and of a query.

Unicode words are folded and lightly stemmed; scripts that do not put spaces between words
are cut into overlapping pairs of characters. The same function serves both sides, so a
word that was stored is found again however it was written.
"""

from __future__ import annotations

import functools
import re
import threading
import unicodedata
from collections.abc import Iterator

import snowballstemmer

__all__ = ["WORDS_VERSION", "is_fragment", "query_words", "words"]

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
_stemming = threading.Lock()  # the stemmer keeps the word it works on in itself

#: Words that say nothing about what is asked. Short on purpose: rare words carry the query.
_STOP = frozenset(
    """a about am an and any are as at be been but by can could did do does doing for from had has have
    having he her here hers him his how i if in into is it its just me my no nor not of on or our ours
    she should so some such than that the their theirs them then there these they this those to too
    us very was we were what when where which while who whom why will with would you your yours
    s t d ll m re ve don didn doesn isn wasn weren won aren""".split()  # noqa: SIM905 - a list of words reads best as words
)


def words(text: str) -> list[str]:
    """Return the words of a content, in order, repetitions included."""
    return [_folded(word) for word in _raw(text, ends=True)]


def query_words(query: str) -> list[str]:
    """Return the distinct words to search for; stop words only when there is nothing else."""
    raw = list(dict.fromkeys(_raw(query, ends=False)))
    telling = [word for word in raw if word not in _STOP]
    return list(dict.fromkeys(_folded(word) for word in telling or raw))


def is_fragment(word: str) -> bool:
    """Tell whether a query word is a single character of an unspaced script, to be searched as a prefix."""
    return len(word) == 1 and _UNSPACED.match(word) is not None


def _raw(text: str, *, ends: bool) -> Iterator[str]:
    for match in _WORD.finditer(unicodedata.normalize("NFKC", text).casefold()):
        word = match[0]
        if word.isascii():
            yield word[:_LONGEST_WORD]
        else:
            yield from _mixed(word, ends=ends)


def _mixed(word: str, *, ends: bool) -> Iterator[str]:
    """Cut unspaced runs into character pairs and yield what stands between them whole."""
    position = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > position:
            yield word[position : run.start()][:_LONGEST_WORD]
        yield from _pairs(run[0], ends=ends)
        position = run.end()
    if position < len(word):
        yield word[position:][:_LONGEST_WORD]


def _pairs(run: str, *, ends: bool) -> Iterator[str]:
    """Yield overlapping pairs, and the last character, so that a prefix finds every single one."""
    for start in range(len(run) - 1):
        yield run[start : start + 2]
    if ends or len(run) == 1:
        yield run[-1]


@functools.lru_cache(maxsize=100_000)
def _folded(word: str) -> str:
    """Stem English words, and drop accents from the rest, so that "café" finds "cafe"."""
    if word.isascii():
        return _stem(word) if word.isalpha() else word
    plain = _ACCENTS.sub("", unicodedata.normalize("NFD", word))
    if plain.isascii() and plain.isalpha():
        return _stem(plain)
    return unicodedata.normalize("NFC", plain) or word


def _stem(word: str) -> str:
    with _stemming:
        return str(_stemmer.stemWord(word))
