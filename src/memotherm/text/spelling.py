"""Texts in one spelling, to find what was forgotten: without case, accents, spaces, punctuation, invisible characters.

Letters and digits are joined, so that 123-45-6789 and 123456789 are the same. A passage begins and ends with a word of
the text; in scripts without spaces every character is a word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from memotherm.text.content import sentence_ends

#: Characters of scripts without spaces: Thai, kana, ideographs.
_UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(f"[{_UNSPACED}]|[^\\W_{_UNSPACED}]+")
_DENSE = re.compile(f"[{_UNSPACED}]")
#: Cyrillic and Greek letters that look like Latin ones, in either case, and these.
_LOOK_ALIKES = str.maketrans("аеорсухіјѕԁһӏԛԝвнмткοαινκρτυχεβημζ", "aeopcyxijsdhlqwbhmtkoaivkptuxebhmz")
_LATIN = re.compile("[a-z]")
#: What separates clauses.
_BREAK = re.compile(r"[.!?…;:,()\n\"“”—–。，、；：！？]")
#: A passage of so many letters, characters of a script without spaces, or digits is found inside a clause; a shorter
#: one only if it is all of a clause.
_LETTERS, _DENSE_LETTERS, _DIGITS = 10, 5, 6
#: The letters by which a passage is looked up.
HEAD = 6
_MOST_SENTENCES = 200
#: The headings of a Markdown text.
HEADINGS = re.compile(r"^#{1,6} .*$", re.MULTILINE)


class Spelled(NamedTuple):
    """A text in one spelling, and where its words are."""

    joined: str
    #: Of each word: where it begins and ends in `joined`, and in the text.
    words: tuple[tuple[int, int, int, int], ...]
    #: The places of the words before and after which a clause ends.
    first: frozenset[int]
    last: frozenset[int]

    def heads(self) -> set[str]:
        """Return the first letters of the passages that may be found."""
        return {self.joined[start : start + HEAD] for start, *_ in self.words}

    def passages(self, lengths: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int, int]]:
        """Yield the passages with these first letters and lengths, and their positions in the text."""
        wanted: dict[str, list[int]] = {}
        for head, length in lengths:
            wanted.setdefault(head, []).append(length)
        ends = {end: place for place, (_, end, _, _) in enumerate(self.words)}
        for place, (start, _, begin, _) in enumerate(self.words):
            for length in wanted.get(self.joined[start : start + HEAD], ()):
                last = ends.get(start + length)
                if last is None:
                    continue
                passage = self.joined[start : start + length]
                if is_distinct(passage) or (place in self.first and last in self.last):
                    yield passage, begin, self.words[last][3]


def spelled(text: str) -> Spelled:
    """Return a text in one spelling; one without letters and digits is left as it is."""
    words: list[tuple[int, int, int, int]] = []
    parts: list[str] = []
    first, last = {0}, set[int]()
    length = end = 0
    for match in _WORD.finditer(text):
        letters = _plain(match[0])
        if not letters:
            continue
        start = match.start()
        if words and text[end:start] != " " and _BREAK.search(text, end, start):
            last.add(len(words) - 1)
            first.add(len(words))
        end = match.end()
        words.append((length, length + len(letters), start, end))
        parts.append(letters)
        length += len(letters)
    if not words:
        stripped = text.strip()
        words, parts = [(0, len(stripped), 0, len(text))], [stripped]
    return Spelled("".join(parts), tuple(words), frozenset(first), frozenset({*last, len(words) - 1}))


def _plain(word: str) -> str:
    if word.isascii():
        return word.lower()
    plain = "".join(char for char in unicodedata.normalize("NFKD", word.casefold()) if char.isalnum()).casefold()
    return plain if plain.isascii() or not _LATIN.search(plain) else plain.translate(_LOOK_ALIKES)


def is_distinct(passage: str) -> bool:
    """Return whether a passage is long enough to be recognized inside of a clause."""
    return (
        len(passage) >= _LETTERS
        or len(_DENSE.findall(passage)) >= _DENSE_LETTERS
        or sum(map(str.isdecimal, passage)) >= _DIGITS
    )


def statements_of(text: str) -> set[str]:
    """Return a text and each of its sentences in one spelling; short sentences only if they are all of it."""
    bounds = [0, *sentence_ends(text)[:_MOST_SENTENCES], len(text)]
    sentences = (spelled(text[start:end]).joined for start, end in pairwise(bounds))
    return {spelled(text).joined, *filter(is_distinct, sentences)} - {""}
