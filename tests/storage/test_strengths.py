"""The strengths of the queries that were asked last, which SQLite keeps in memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memotherm.storage.sqlite.keys import PART_BITS
from memotherm.storage.sqlite.strengths import StrengthCache

_CAPACITY = 4000


class Comparison:
    """Strengths that are made of the query, of the key and of how often it was changed."""

    def __init__(self, query: float) -> None:
        self.query = np.array([query, 1.0], np.float32)
        self.version = 0
        self.compared: list[int] = []

    def __call__(self, keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Compare keys; key 9 has no vector."""
        self.compared.extend(keys.tolist())
        found = keys[keys != 9]
        return found, self.expected(found)

    def expected(self, keys: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the strengths of keys."""
        return np.asarray(keys % 97 * self.query[0] + self.version, np.float32)

    def ask(self, cache: StrengthCache, *keys: int) -> list[int]:
        """Return those keys that have a strength, after a check of these."""
        found, strengths = cache.strengths(self.query, np.array(keys, np.int64), self)
        assert np.array_equal(strengths, self.expected(found))
        return sorted(found.tolist())


def test_a_query_that_is_asked_again_is_compared_with_new_keys_only() -> None:
    """What another query was compared with does not count."""
    cache, one, other = StrengthCache(_CAPACITY), Comparison(0.5), Comparison(0.25)

    assert one.ask(cache, 3, 1, 9) == [1, 3]
    assert one.ask(cache, 1, 2, 3, 4) == [1, 2, 3, 4]
    assert one.ask(cache, 4, 1) == [1, 4]
    assert one.compared == [3, 1, 9, 2, 4]
    assert other.ask(cache, 1, 2) == [1, 2]
    assert other.compared == [1, 2]


def test_the_strengths_of_a_changed_memory_are_computed_again() -> None:
    """All parts of it, for every query, and no others; with very many changes, all."""
    cache, asked = StrengthCache(_CAPACITY), Comparison(0.5)
    first, part, later = 5 << PART_BITS, 5 << PART_BITS | 2, 6 << PART_BITS
    asked.ask(cache, first, part, later)
    cache.discard([4, 5])
    for _ in range(2):
        assert asked.ask(cache, later, first, part) == [first, part, later]
    assert asked.compared[3:] == [first, part]

    cache.discard(range(100, 2000))
    asked.version = 1
    assert asked.ask(cache, later) == [later]


def test_strengths_take_no_more_than_the_capacity() -> None:
    """Those of the queries that were not asked for long leave first."""
    cache = StrengthCache(_CAPACITY)
    queries = [Comparison(float(number)) for number in range(20)]
    for query in queries:
        query.ask(cache, *range(10, 30))
        queries[0].ask(cache, 10)
        assert 0 < cache.size <= _CAPACITY

    assert queries[0].compared == list(range(10, 30))
    queries[1].ask(cache, 10)
    assert queries[1].compared == [*range(10, 30), 10]
