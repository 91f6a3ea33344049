"""Time, as a value that is passed in.

Nothing below the doors reads the wall clock by itself: a store, a clock and a query
determine the answer. Inside the store, times are integers: microseconds since 1970, UTC.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from memotherm.errors import InvalidInput

__all__ = ["Clock", "as_duration", "from_micros", "read_clock", "system_clock", "to_micros"]

#: A clock is any function without arguments that returns an aware datetime (or Unix seconds).
Clock = Callable[[], "datetime | float"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([smhdw])\s*")


def system_clock() -> datetime:
    """Return the time of day, in UTC."""
    return datetime.now(UTC)


def read_clock(clock: Clock) -> datetime:
    """Read a clock, whatever form its answer has."""
    now = clock()
    if not isinstance(now, datetime):
        return datetime.fromtimestamp(now, UTC)
    if now.tzinfo is None:
        raise InvalidInput("the clock returned a datetime without a time zone: return an aware one")
    return now.astimezone(UTC)


def to_micros(moment: datetime) -> int:
    """Return microseconds since 1970, exactly."""
    return (moment - _EPOCH) // _MICROSECOND


@functools.lru_cache(maxsize=4096)  # the times of one memory are mostly the same moment
def from_micros(micros: int) -> datetime:
    """Return the moment that `to_micros` was given."""
    return _EPOCH + timedelta(microseconds=micros)


def as_duration(value: timedelta | float | str) -> timedelta:
    """Read a duration: a timedelta, a number of seconds, or text such as "90m" or "7d"."""
    if isinstance(value, bool) or not isinstance(value, timedelta | int | float | str):
        raise InvalidInput(f"a duration is a timedelta, seconds or text such as '7d', not {value!r}")
    unit, amount = _read(value) if isinstance(value, str) else ("seconds", value)
    try:
        duration = amount if isinstance(amount, timedelta) else timedelta(**{unit: amount})
    except (OverflowError, ValueError) as exc:
        raise InvalidInput(f"the duration {value!r} is out of range") from exc
    if duration <= timedelta(0):
        raise InvalidInput(f"a duration must be longer than nothing, not {value!r}")
    return duration


def _read(text: str) -> tuple[str, float]:
    """Return the unit and the amount of a duration such as "90m"."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise InvalidInput(f"cannot read the duration {text!r}: write for example 30s, 90m, 12h, 7d or 2w")
    return _UNITS[match[2]], float(match[1])
