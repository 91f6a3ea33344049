"""The language of a text, by its script and its function words, and how words of that language are stemmed.

A script with one dominant language decides by itself: words in Cyrillic letters are stemmed as Russian. A text in
Latin letters is English unless it has at least two function words of another language, and more of them than of
English; one of them may be a letter that English does not use.
"""

from __future__ import annotations

import functools
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

import Stemmer

ENGLISH = "english"

#: Lists of case-folded words, separated by spaces, by their use and language.
WORD_LISTS: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("word_lists.json").read_text("utf-8"))
#: Languages that are written in the Latin script, by the names of their stemmers: frequent function words, most of
#: which are not words of the other languages, the languages with more speakers first: of two that fit equally well,
#: the first is taken. Words are case-folded, so that the German sharp s is "ss".
FUNCTION_WORDS = {language: frozenset(text.split()) for language, text in WORD_LISTS["function_words"].items()}
#: Letters that English does not use count as one function word of the languages that use them.
_LETTERS = {language: frozenset(letters) for language, letters in WORD_LISTS["letters"].items()}
#: Function words of the main languages of other scripts.
SCRIPT_FUNCTION_WORDS = frozenset(" ".join(WORD_LISTS["script_function_words"].values()).split())
#: Scripts that imply a language for stemming.
_SCRIPTS = (
    ("russian", re.compile("[\u0400-\u052f]")),
    ("arabic", re.compile("[\u0600-\u06ff\u0750-\u077f]")),
    ("greek", re.compile("[\u0370-\u03ff\u1f00-\u1fff]")),
    ("hindi", re.compile("[\u0900-\u097f]")),
    ("armenian", re.compile("[\u0530-\u058f]")),
    ("tamil", re.compile("[\u0b80-\u0bff]")),
)
#: How many distinct words of a text are examined, and how many function words another language than English needs.
_MAX_WORDS = 300
_MIN_HITS = 2

_LANGUAGES_OF: dict[str, tuple[str, ...]] = {}
for _language, _listed in FUNCTION_WORDS.items():
    for _word in _listed:
        _LANGUAGES_OF[_word] = (*_LANGUAGES_OF.get(_word, ()), _language)

#: Function words that English does not have.
_FOREIGN_WORDS = _LANGUAGES_OF.keys() - FUNCTION_WORDS[ENGLISH]


def latin_language(words: Iterable[str]) -> str:
    """Return the language of a text in Latin letters; English unless its case-folded words say otherwise."""
    distinct = set(islice(dict.fromkeys(words), _MAX_WORDS))
    letters = "".join(distinct)
    if letters.isascii() and distinct.isdisjoint(_FOREIGN_WORDS):
        return ENGLISH
    hits = Counter(language for word in distinct for language in _LANGUAGES_OF.get(word, ()))
    if not letters.isascii():
        hits.update(language for language, own in _LETTERS.items() if not own.isdisjoint(letters))
    english = hits.pop(ENGLISH, 0)
    if not hits:
        return ENGLISH
    best = max((language for language in FUNCTION_WORDS if language in hits), key=lambda language: hits[language])
    return best if hits[best] >= _MIN_HITS and hits[best] > english else ENGLISH


def script_language(word: str) -> str | None:
    """Return the language that stems words of this script; None for other scripts."""
    return next((language for language, letters in _SCRIPTS if letters.search(word)), None)


@functools.cache
def stemmer(language: str) -> Callable[[str], str]:
    """Return the stemming function of a language; the identity if there is none."""
    if language not in Stemmer.algorithms():
        return str
    # A stemmer is not thread-safe. One for each thread, and not a lock, which a fork could leave locked.
    stemmers = threading.local()

    def stem(word: str) -> str:
        try:
            stem_word = stemmers.stem_word
        except AttributeError:
            # Without its cache: callers have their own.
            stem_word = stemmers.stem_word = Stemmer.Stemmer(language, 0).stemWord
        return str(stem_word(word))

    return stem
