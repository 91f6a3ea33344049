"""Phrases to be found in a plain text.

A regular expression of some thousand phrases in 28 languages takes half a second to compile, and every process of a
hook would wait for it. Here phrases are looked up by their first word: a text has few of these.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from memotherm.text.words import is_unspaced, plain_text

__all__ = ["FoundPhrase", "PhrasePattern"]

#: Where a phrase stands: at the beginning of a sentence, at its end, or anywhere.
_FIRST, _LAST, _ANYWHERE = range(3)


class FoundPhrase(NamedTuple):
    """A phrase in a text, with the spaces around it."""

    text: str
    start: int
    end: int


class PhrasePattern:
    """Finds any of some phrases in a plain text between spaces, the first one, and of those the longest.

    In a phrase, `^` begins a sentence, `$` ends it, and `*` is the rest of a word.
    """

    __slots__ = ("_anywhere", "_by_word", "_first_words", "_unspaced")

    def __init__(self, phrases: Iterable[str]) -> None:
        self._by_word: dict[str, list[tuple[int, str]]] = {}
        #: Phrases that begin inside a word, or have no words: of one word with `*`, and of scripts without spaces.
        self._anywhere: list[tuple[int, str]] = []
        self._unspaced: list[tuple[int, str]] = []
        for phrase in dict.fromkeys(phrases):
            plain = plain_text(phrase)
            if not plain:
                continue
            unspaced = is_unspaced(plain)
            text = plain if unspaced or phrase.endswith("*") else f"{plain} "
            place = _FIRST if phrase.startswith("^") else _LAST if phrase.endswith("$") else _ANYWHERE
            entry = place, text if unspaced and place == _ANYWHERE else f" {text}"
            if unspaced:
                self._unspaced.append(entry)
            elif phrase.endswith("*") and " " not in plain:
                self._anywhere.append(entry)
            else:
                self._by_word.setdefault(plain.partition(" ")[0], []).append(entry)
        self._first_words = frozenset(self._by_word)

    def search(self, plain: str) -> FoundPhrase | None:
        """Return the first phrase in a plain text between spaces; None if there is none."""
        candidates = self._candidates(plain)
        found = [each for entry in candidates if (each := (_next(plain, *entry, 0), *entry))[0] >= 0]
        if not found:
            return None
        at, _, text = min(found, key=_order)
        return FoundPhrase(text, at, at + len(text))

    def match(self, plain: str) -> FoundPhrase | None:
        """Return the phrase that a plain text begins with; None if there is none."""
        found = self.search(plain)
        return found if found is not None and found.start == 0 else None

    def finditer(self, plain: str) -> Iterator[FoundPhrase]:
        """Yield the phrases in a plain text that do not overlap, in order."""
        start, nexts = 0, [(-1, *entry) for entry in self._candidates(plain)]
        while nexts:
            # Where each phrase is next; one that is not there any more is not looked for again.
            nexts = [each if each[0] >= start else (_next(plain, *each[1:], start), *each[1:]) for each in nexts]
            nexts = [each for each in nexts if each[0] >= 0]
            if nexts:
                at, _, text = min(nexts, key=_order)
                start = at + len(text)
                yield FoundPhrase(text, at, start)

    def sub(self, replacement: str, plain: str) -> str:
        """Return a plain text with another text in the place of each phrase."""
        parts, end = [], 0
        for found in self.finditer(plain):
            parts += [plain[end : found.start], replacement]
            end = found.end
        return "".join((*parts, plain[end:])) if parts else plain

    def _candidates(self, plain: str) -> list[tuple[int, str]]:
        """Return the phrases that are in a text, wherever they have to stand."""
        words = _words(plain) & self._first_words
        found = [entry for word in words for entry in self._by_word[word] if entry[1] in plain]
        found += [entry for entry in self._anywhere if entry[1] in plain]
        return found if plain.isascii() else found + [entry for entry in self._unspaced if entry[1] in plain]


@functools.lru_cache(maxsize=16)  # a sentence is searched for phrases of many kinds
def _words(plain: str) -> frozenset[str]:
    return frozenset(plain.split())


def _next(plain: str, place: int, text: str, start: int) -> int:
    """Return where a phrase is from a place of a text on; -1 if it is not there."""
    if place == _ANYWHERE:
        return plain.find(text, start)
    at = 0 if place == _FIRST else len(plain) - len(text)
    return at if at >= start and plain.startswith(text, at) else -1


def _order(found: tuple[int, int, str]) -> tuple[int, int, int]:
    """Return what sorts phrases: the first, and of those the longest."""
    at, place, text = found
    return at, place, -len(text)
