"""CPU time of calls, taken so that a busy machine disturbs it little."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

__all__ = ["Times", "cpu_ms", "side_by_side"]

T = TypeVar("T")


class Times(NamedTuple):
    """Milliseconds of CPU over a set of calls, each one taken as the best of its repetitions."""

    p50: float
    p95: float
    #: The median of all calls, other processes' disturbance included.
    raw_p50: float


def cpu_ms(call: Callable[[T], object], inputs: Sequence[T], passes: int = 3) -> Times:
    """Return the CPU time of `call` over the inputs; the first pass, which warms up, does not count."""
    return side_by_side([call], inputs, passes)[0]


def side_by_side(calls: Sequence[Callable[[T], object]], inputs: Sequence[T], passes: int = 3) -> list[Times]:
    """Return the times of several calls that take turns, so that the machine is equally busy for all."""
    taken: list[list[list[float]]] = [[[] for _ in inputs] for _ in calls]
    for turn in range(passes + 1):
        for place, given in enumerate(inputs):
            for number, call in enumerate(calls):
                started = time.process_time()
                call(given)
                if turn:
                    taken[number][place].append((time.process_time() - started) * 1000)
    return [_times(each) for each in taken]


def _times(taken: Sequence[Sequence[float]]) -> Times:
    best = sorted(min(each) for each in taken)
    return Times(
        p50=round(statistics.median(best), 3),
        p95=round(best[int(0.95 * (len(best) - 1))], 3),
        raw_p50=round(statistics.median([each for some in taken for each in some]), 3),
    )
