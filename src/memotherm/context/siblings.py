"""Hits that say of another number what an earlier hit says of a number of the query.

"Which host runs service 7?" finds "service 7 runs on host alpha", and the same sentence about every other service. The
first one answers the question, and the others do not, however close they are to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

from memotherm.context.forms import Candidate
from memotherm.model import Memory
from memotherm.model.reasons import Reason
from memotherm.text.versions import share_most, statement
from memotherm.text.words import words

#: Only contents of at most so many characters are compared with others.
LONGEST_VERSION = 300
#: The fewest digits of a number that names something by itself.
_LEAST_DIGITS = 3


def split_siblings(
    hits: Sequence[Candidate], query: str, first: int
) -> tuple[list[Candidate], list[tuple[Candidate, Reason]]]:
    """Divide hits into those that answer a query and those that say the same of other numbers, with the reasons.

    Args:
        hits: The hits, best first.
        query: The query; one without a number has all hits.
        first: How many places of the ranking are compared with the others. These places do not depend on the budget.
            Of two of them that disagree about a value, both stay: "the port is 5433", "the port is 5544".
    """
    asked = _AskedNumbers.of(words(query))
    if not asked.numbers:
        return list(hits), []
    kept: list[Candidate] = []
    siblings: list[tuple[Candidate, Reason]] = []
    numbered = [(hit, asked.numbered(hit.memory)) for hit in hits]
    named = [(hit, said) for hit, said in numbered if said.asked and hit.order[-1] < first]
    for hit, said in numbered:
        other, other_said = next((each for each in named if said.is_sibling(each[1])), (hit, said))
        if other is hit or (hit.order[-1] < first and _disagree(other.memory, hit.memory)):
            kept.append(hit)
        else:
            numbers = ", ".join(sorted(other_said.asked - said.asked))
            siblings.append((hit, Reason(code="sibling", details=(other.memory.id, numbers))))
    return kept, siblings


class _Numbered(NamedTuple):
    """The words of a text: those with a digit, those of them that name what is asked about, and the others."""

    numbers: Set[str]
    asked: Set[str]
    others: Set[str]

    def is_sibling(self, other: _Numbered) -> bool:
        """Return whether this says of other numbers what another text says of numbers that are asked about."""
        return self.asked < other.asked and not self.numbers <= other.numbers and share_most(self.others, other.others)


class _AskedNumbers(NamedTuple):
    """The words of a query that have a digit, and the words directly before and behind them.

    A short number names something only together with one of these: "service 7" is not "7 services".
    """

    numbers: frozenset[str]
    before: frozenset[str]
    behind: frozenset[str]

    @classmethod
    def of(cls, query: Sequence[str]) -> _AskedNumbers:
        """Return the numbers in the words of a query."""
        found = [each for each in _with_neighbours(query) if _has_digit(each[1])]
        before, numbers, behind = (frozenset(each[column] for each in found) for column in range(3))
        return cls(numbers, before - {""}, behind - {""})

    def numbered(self, memory: Memory) -> _Numbered:
        """Return the words of a memory; none of a long one."""
        text = words(memory.content) if len(memory.content) <= LONGEST_VERSION else []
        numbers = frozenset(filter(_has_digit, text))
        asked = {
            word
            for before, word, behind in _with_neighbours(text)
            if word in self.numbers and (_is_name(word) or before in self.before or behind in self.behind)
        }
        return _Numbered(numbers, asked, frozenset(text) - numbers)


def _with_neighbours(text: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield each word with the one before it and the one behind it; an empty text stands for none."""
    return zip(("", *text), text, (*text[1:], ""), strict=False)


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


def _is_name(number: str) -> bool:
    """Return whether a word with a digit names something by itself: "d13", "1017"."""
    return len(number) >= _LEAST_DIGITS or not number.isdigit()


def _disagree(one: Memory, other: Memory) -> bool:
    return statement(one.content).difference(statement(other.content)) is not None
