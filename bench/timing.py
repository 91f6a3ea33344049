"""CPU times of calls on a machine that may be busy."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

__all__ = ["Times", "cpu_ms", "side_by_side"]

T = TypeVar("T")


class Times(NamedTuple):
    """CPU milliseconds of a set of calls; of each call, the best of its repetitions."""

    p50: float
    p95: float
    #: The median of all calls and repetitions.
    raw_p50: float


def cpu_ms(call: Callable[[T], object], inputs: Sequence[T], passes: int = 3) -> Times:
    """Return the CPU times of `call` for the inputs; a first pass for warm-up is not measured."""
    return side_by_side([call], inputs, passes)[0]


def side_by_side(calls: Sequence[Callable[[T], object]], inputs: Sequence[T], passes: int = 3) -> list[Times]:
    """Return the times of several calls that are interleaved, so that the load of the machine is the same for all."""
    taken: list[list[list[float]]] = [[[] for _ in inputs] for _ in calls]
    for turn in range(passes + 1):
        for input_index, value in enumerate(inputs):
            for call_index, call in enumerate(calls):
                started = time.process_time()
                call(value)
                if turn:
                    taken[call_index][input_index].append((time.process_time() - started) * 1000)
    return [_times(times) for times in taken]


def _times(taken: Sequence[Sequence[float]]) -> Times:
    best = sorted(min(repetitions) for repetitions in taken)
    return Times(
        p50=round(statistics.median(best), 3),
        p95=round(best[int(0.95 * (len(best) - 1))], 3),
        raw_p50=round(statistics.median([milliseconds for repetitions in taken for milliseconds in repetitions]), 3),
    )
