"""How hot and recalled memories share the tokens that pinned memories leave."""

from __future__ import annotations

from itertools import product

import pytest

from memotherm.context.packing.budget import min_rest_for_hot, min_rest_for_recalled, split

SIZES = range(6)


@pytest.mark.parametrize(
    ("rest", "hot", "recalled", "reserve", "expected"),
    [
        (100, 80, 80, 30, (70, 30)),  # both need more than there is: recalled memories get the reserve
        (100, 80, 80, 60, (50, 50)),  # the reserve is at most half
        (100, 80, 20, 30, (80, 20)),  # what the reserve does not need goes to hot memories
        (100, 80, 30, 30, (70, 30)),
        (100, 60, 80, 30, (60, 40)),  # what hot memories do not need goes to recalled ones
        (100, 70, 80, 30, (70, 30)),
        (7, 9, 9, 9, (4, 3)),
        (0, 5, 5, 5, (0, 0)),
    ],
)
def test_recalled_memories_have_a_reserve(
    rest: int, hot: int, recalled: int, reserve: int, expected: tuple[int, int]
) -> None:
    """The reserve is theirs if they need it; neither group keeps tokens that only the other one can use."""
    assert split(rest, hot, recalled, reserve) == expected


def test_the_smallest_rest_is_the_first_that_gives_enough() -> None:
    """For all small sizes, counted up from 0."""
    for needed, other, reserve in product(range(1, 6), SIZES, SIZES):
        # A group that needs more than `needed` in all: the memory in question is one of several.
        total = needed + 5
        for_hot = next(rest for rest in range(40) if split(rest, total, other, reserve)[0] >= needed)
        for_recalled = next(rest for rest in range(40) if split(rest, other, total, reserve)[1] >= needed)

        assert min_rest_for_hot(needed, other, reserve) == for_hot
        assert min_rest_for_recalled(needed, other, reserve) == for_recalled
