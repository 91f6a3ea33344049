"""The best matches of some words, against the score of every memory."""

from __future__ import annotations

import math

import numpy as np
import pytest

from memotherm.storage.sqlite.text_search import best_matches

TOTAL = 2000
#: The share of memories that has each word.
WORDS = {
    "rare words": (0.002, 0.01, 0.03),
    "rare words and those of most memories": (0.01, 0.95, 0.02, 0.6, 0.05, 1.0),
    "words of most memories": (0.95, 0.6, 0.8),
    "one word of all memories": (1.0,),
    "few matches": (0.001, 0.0),
    "a rare word and those of most memories": (0.001, 0.9, 0.7),
}


@pytest.mark.parametrize("shares", WORDS.values(), ids=WORDS)
@pytest.mark.parametrize("limit", [1, 10, 100, 3000])
def test_the_best_matches_are_those_of_a_full_scoring(shares: tuple[float, ...], limit: int) -> None:
    """Leaving out what cannot be among the best changes neither the memories, nor their order or scores."""
    random = np.random.default_rng(len(shares))
    lists = [np.flatnonzero(random.random(TOTAL) < share) + 1 for share in shares]
    weights = [math.log(1 + (TOTAL - len(numbers) + 0.5) / (len(numbers) + 0.5)) for numbers in lists]
    scores: dict[int, float] = {}
    for numbers, weight in zip(lists, weights, strict=True):
        for no in numbers.tolist():
            scores[no] = scores.get(no, 0.0) + weight
    expected = sorted(scores, key=lambda no: (-round(scores[no], 9), -no))[:limit]
    nos, strengths = best_matches(lists, TOTAL, limit)
    assert nos.tolist() == expected
    assert strengths.tolist() == pytest.approx([scores[no] for no in expected])
