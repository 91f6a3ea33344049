"""Ranges of lines that were taken back."""

from __future__ import annotations

from bisect import bisect_right


class Ranges:
    """Ranges of numbers without overlaps; each new one ends after all others."""

    def __init__(self) -> None:
        self._first, self._last = list[int](), list[int]()

    def add(self, first: int, last: int) -> None:
        """Add a range, which may contain or continue earlier ones."""
        while self._first and self._first[-1] >= first:
            self._first.pop()
            self._last.pop()
        self._first.append(first)
        self._last.append(last)

    def __contains__(self, number: int) -> bool:
        place = bisect_right(self._first, number) - 1
        return place >= 0 and number <= self._last[place]
