"""A clock that stands still until a test moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

__all__ = ["FakeClock"]

_START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


class FakeClock:
    """A clock for tests: `memotherm.open(..., clock=FakeClock())`."""

    def __init__(self, start: datetime = _START) -> None:
        #: The time; may be set.
        self.now = start

    def __call__(self) -> datetime:
        """Return the time; reading the clock does not move it."""
        return self.now

    def advance(
        self,
        duration: timedelta = timedelta(0),
        *,
        weeks: float = 0,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
    ) -> datetime:
        """Move the clock forward and return the new time."""
        self.now += duration + timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
        return self.now

    def __repr__(self) -> str:
        return f"FakeClock({self.now.isoformat()})"
