"""Clocks, times and durations.

Only interfaces use the system clock; everything else is passed a clock or a time, so that a store, a clock
and a query determine the result. In a store, times are integers: microseconds since 1970, UTC.
"""

from __future__ import annotations

import functools
import os
import re
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from memotherm.errors import InvalidInput

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
        name: What to call the argument in errors.
        now: The current time, or None to accept no durations.
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


_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_RANDOM_BITS = 80
_SHIFTS = range(125, -5, -5)
#: Two digits at a time.
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]
_PAIR_SHIFTS = range(120, -10, -10)
_DIGITS = len(_SHIFTS)
#: Reads and sets `_last`.
_lock = threading.Lock()
#: The number of the newest id.
_last = 0


def new_id(prefix: str, now: datetime) -> str:
    """Return a new id; ids that a process makes in the same millisecond sort in the order of the calls."""
    global _last  # noqa: PLW0603 - one counter per process
    millis = max(0, to_micros(now) // 1000)
    with _lock:
        value = (millis << _RANDOM_BITS) | int.from_bytes(os.urandom(_RANDOM_BITS // 8), "big") >> 1
        if millis == _last >> _RANDOM_BITS:
            # Not incremented by one: a forked process continues from the same last id.
            value = _last + 1 + int.from_bytes(os.urandom(4), "big")
        _last = value
    return f"{prefix}_{_base32(value)}"


def _renew_lock() -> None:
    """Replace the lock in a forked process: a thread that the fork does not have may have held it."""
    global _lock  # noqa: PLW0603
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def _base32(value: int) -> str:
    return "".join([_PAIRS[(value >> shift) & 1023] for shift in _PAIR_SHIFTS])


def id_millis(made: str) -> int:
    """Return the milliseconds since 1970 in an id; 0 if it is not one."""
    _, _, digits = made.rpartition("_")
    if len(digits) != _DIGITS or not set(digits) <= set(_ALPHABET):
        return 0
    return sum(_ALPHABET.index(digit) << shift for digit, shift in zip(digits, _SHIFTS, strict=True)) >> _RANDOM_BITS


# Times that other programs have written

_SECONDS, _MILLISECONDS, _MICROSECONDS = 1e11, 1e14, 1e17
_NUMBER = re.compile(r"\d{9,20}(?:\.\d{1,9})?")


def any_moment(value: object) -> datetime | None:
    """Return a time: in ISO format, or seconds, milliseconds, micro- or nanoseconds since 1970; None for another."""
    if isinstance(value, str):
        if _NUMBER.fullmatch(value) is None:
            return _from_iso(value.strip())
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e20:
        return None
    for limit, unit in ((_SECONDS, 1), (_MILLISECONDS, 1e3), (_MICROSECONDS, 1e6)):
        if value < limit:
            return datetime.fromtimestamp(value / unit, UTC)
    try:
        return datetime.fromtimestamp(value / 1e9, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _from_iso(value: str) -> datetime | None:
    if len(value) > 40:
        return None
    try:
        found = datetime.fromisoformat(value)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
