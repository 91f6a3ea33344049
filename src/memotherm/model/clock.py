"""Clocks, times and durations.

Only interfaces use the system clock; everything else is passed a clock or a time, so that a store, a clock
and a query determine the result. In a store, times are integers: microseconds since 1970, UTC.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from memotherm.errors import InvalidInput

__all__ = ["Clock", "as_duration", "as_moment", "from_micros", "read_clock", "system_clock", "to_micros"]

#: A clock is any function without arguments that returns an aware datetime (or Unix seconds).
Clock = Callable[[], "datetime | float"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([smhdw])\s*")


def system_clock() -> datetime:
    """Return the current time, in UTC."""
    return datetime.now(UTC)


def read_clock(clock: Clock) -> datetime:
    """Return the time of a clock as an aware datetime in UTC."""
    now = clock()
    if not isinstance(now, datetime):
        return datetime.fromtimestamp(now, UTC)
    if now.tzinfo is None:
        raise InvalidInput("the clock returned a datetime without a time zone: return an aware one")
    return now.astimezone(UTC)


def to_micros(moment: datetime) -> int:
    """Return a time as microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


@functools.lru_cache(maxsize=4096)  # most times of one memory are equal
def from_micros(micros: int) -> datetime:
    """Return the time of a number of microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=micros)


def as_duration(value: timedelta | float | str) -> timedelta:
    """Return a duration from a timedelta, a number of seconds, or text such as "90m" or "7d"."""
    if isinstance(value, bool) or not isinstance(value, timedelta | int | float | str):
        raise InvalidInput(f"a duration is a timedelta, seconds or text such as '7d', not {value!r}")
    unit, amount = _parse(value) if isinstance(value, str) else ("seconds", value)
    try:
        duration = amount if isinstance(amount, timedelta) else timedelta(**{unit: amount})
    except (OverflowError, ValueError) as exc:
        raise InvalidInput(f"the duration {value!r} is out of range") from exc
    if duration <= timedelta(0):
        raise InvalidInput(f"a duration must be greater than 0, not {value!r}")
    return duration


def as_moment(value: datetime | str, name: str, now: datetime | None) -> datetime:
    """Return a moment with a time zone, from a datetime with a time zone, or from text.

    Text is a date or time in ISO format (UTC unless it has an offset), or, if the current time is given, a duration
    before it, such as "7d".

    Args:
        value: The moment.
        name: The name of the argument, for messages.
        now: The current time, or None for a moment that may not be a duration.
    """
    if isinstance(value, str):
        if now is not None and _DURATION.fullmatch(value):
            return _earlier(now, value)
        try:
            parsed = datetime.fromisoformat(value.strip())
        except ValueError:
            raise InvalidInput(
                f"{name} cannot be {value!r}: write a date such as 2026-01-31 or a time such as 2026-01-31T12:00:00Z"
                + ("" if now is None else ", or a duration before now such as 7d")
            ) from None
        value = parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    if not isinstance(value, datetime):
        raise InvalidInput(f"{name} must be a datetime or text such as 2026-01-31, not {value!r}")
    if value.utcoffset() is None:
        raise InvalidInput(f"{name} must have a time zone, such as datetime(2026, 1, 31, tzinfo=UTC)")
    return value


def _earlier(now: datetime, duration: str) -> datetime:
    try:
        return now - as_duration(duration)
    except OverflowError as exc:
        raise InvalidInput(f"the duration {duration!r} is out of range") from exc


def _parse(text: str) -> tuple[str, float]:
    """Return the unit and the amount of a duration such as "90m"."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise InvalidInput(f"cannot read the duration {text!r}: write for example 30s, 90m, 12h, 7d or 2w")
    return _UNITS[match[2]], float(match[1])
