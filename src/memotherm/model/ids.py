"""Identifiers that sort by time: a prefix, 48 bits of milliseconds, 80 random bits."""

from __future__ import annotations

import os
import threading
from datetime import datetime

from memotherm.model.clock import to_micros

__all__ = ["new_id"]

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_RANDOM_BITS = 80
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
    return "".join(_ALPHABET[(value >> shift) & 31] for shift in range(125, -5, -5))
