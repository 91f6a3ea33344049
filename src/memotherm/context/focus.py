"""Which sentence of a memory tells the most about a query."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from memotherm.model.value import cached_property
from memotherm.text.words import is_fragment, weighed_words

__all__ = ["WordFocus"]

#: More words of a query cost time and change little.
_MOST_TERMS = 64
#: The weight of a word that frames a question, against 1 for other words.
_FRAMING_WORD = 0.25


class WordFocus:
    """Finds the sentence that has the most of a query's words; a word counts if it begins like that of the query."""

    def __init__(self, query: str) -> None:
        self._query = query

    @cached_property
    def _terms(self) -> dict[str, float]:
        """The words of the query with their weights, pairs of characters last."""
        terms = islice(weighed_words(self._query, _FRAMING_WORD).items(), _MOST_TERMS)
        return dict(sorted(terms, key=lambda term: is_fragment(term[0][0])))

    @cached_property
    def _beginnings(self) -> dict[str, int] | None:
        """How a word of an ASCII text may begin, and the number of the first term that it stands for.

        None if only the pattern can find the terms. To compile that takes longer than to read a few contents.
        """
        if not all(term.isascii() and term.isalnum() for term in self._terms):
            return None
        return {
            beginning: number
            for number, term in reversed(list(enumerate(self._terms)))
            for beginning in _beginnings_of(term)
        }

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """One group for each word, so that the number of the group names the word.

        Where a word begins is tested once for all of them, so that most positions of a text take one step.
        """
        fragments = [f"({re.escape(term)})" for term in self._terms if is_fragment(term[0])]
        words = [term for term in self._terms if not is_fragment(term[0])]
        beginnings = "|".join(f"({'|'.join(map(re.escape, _beginnings_of(term)))})" for term in words)
        patterns = [rf"(?<!\w)(?:{beginnings})", *fragments] if beginnings else fragments
        return re.compile("|".join(patterns) or "(?!)", re.IGNORECASE)

    def best(self, content: str, starts: Sequence[int]) -> int:
        """Return the number of the sentence, the first of equals; `starts` are where the sentences begin."""
        found = {(bisect_right(starts, position) - 1, number) for position, number in self._found(content)}
        weights, scores = list(self._terms.values()), [0.0] * len(starts)
        for sentence, number in found:
            scores[sentence] += weights[number]
        return scores.index(max(scores))

    def _found(self, content: str) -> Iterator[tuple[int, int]]:
        """Yield where words of the query are, and their numbers."""
        beginnings = self._beginnings
        if beginnings is None or not content.isascii():
            for match in self._pattern.finditer(content):
                yield match.start(), (match.lastindex or 1) - 1
            return
        yield from _words_that_begin(content.lower(), beginnings)


def _words_that_begin(lowered: str, beginnings: Mapping[str, int]) -> Iterable[tuple[int, int]]:
    """Return where words of a text begin with one of these, and its number, the smallest where there are several."""
    found: dict[int, int] = {}
    for beginning, number in beginnings.items():
        position = lowered.find(beginning)
        while position >= 0:
            before = lowered[position - 1 : position]
            if not (before.isalnum() or before == "_"):
                found[position] = min(number, found.get(position, number))
            position = lowered.find(beginning, position + 1)
    return found.items()


def _beginnings_of(term: str) -> tuple[str, ...]:
    """Return how a word may begin that is reduced to this stem."""
    return (term, f"{term[:-1]}y") if term.endswith("i") else (term,)
