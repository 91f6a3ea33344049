"""Identifiers that sort by time: a prefix, 48 bits of milliseconds, 80 random bits."""

from __future__ import annotations

import os
import threading
from datetime import datetime

from memotherm.model.clock import to_micros

__all__ = ["id_millis", "new_id"]

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_RANDOM_BITS = 80
_SHIFTS = range(125, -5, -5)
#: Two digits at a time.
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]
_PAIR_SHIFTS = range(120, -10, -10)
_DIGITS = len(_SHIFTS)
_lock = threading.Lock()
_last = 0


def new_id(prefix: str, now: datetime) -> str:
    """Return a new id; ids of one process at the same time sort in the order of the calls."""
    global _last  # noqa: PLW0603 - one counter per process
    millis = max(0, to_micros(now) // 1000)
    with _lock:
        value = (millis << _RANDOM_BITS) | int.from_bytes(os.urandom(_RANDOM_BITS // 8), "big") >> 1
        if millis == _last >> _RANDOM_BITS:
            # Not incremented by one: a forked process continues from the same last id.
            value = _last + 1 + int.from_bytes(os.urandom(4), "big")
        _last = value
    return f"{prefix}_{_base32(value)}"


def _base32(value: int) -> str:
    return "".join([_PAIRS[(value >> shift) & 1023] for shift in _PAIR_SHIFTS])


def id_millis(made: str) -> int:
    """Return the milliseconds since 1970 in an id; 0 if it is not one."""
    _, _, digits = made.rpartition("_")
    if len(digits) != _DIGITS or not set(digits) <= set(_ALPHABET):
        return 0
    return sum(_ALPHABET.index(digit) << shift for digit, shift in zip(digits, _SHIFTS, strict=True)) >> _RANDOM_BITS
