"""Which sentence of a memory tells the most about a query."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import islice

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
    def _pattern(self) -> re.Pattern[str]:
        """One group for each word, so that the number of the group names the word.

        Where a word begins is tested once for all of them, so that most positions of a text take one step.
        """
        fragments = [f"({re.escape(term)})" for term in self._terms if is_fragment(term[0])]
        beginnings = "|".join(f"({_beginning(term)})" for term in self._terms if not is_fragment(term[0]))
        patterns = [rf"(?<!\w)(?:{beginnings})", *fragments] if beginnings else fragments
        return re.compile("|".join(patterns) or "(?!)", re.IGNORECASE)

    def best(self, content: str, spans: Sequence[tuple[int, int]]) -> int:
        """Return the number of the sentence, the first of equals; `spans` are the sentences of the content."""
        starts = [start for start, _ in spans]
        found = {
            (bisect_right(starts, match.start()) - 1, match.lastindex) for match in self._pattern.finditer(content)
        }
        weights, scores = list(self._terms.values()), [0.0] * len(spans)
        for sentence, group in found:
            scores[sentence] += weights[(group or 1) - 1]
        return scores.index(max(scores))


def _beginning(term: str) -> str:
    """Return a pattern for a word that is reduced to its stem."""
    return f"{re.escape(term[:-1])}[iy]" if term.endswith("i") else re.escape(term)
