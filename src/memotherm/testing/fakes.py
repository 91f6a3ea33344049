"""Fakes for tests: a clock and an embedder."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from memotherm.embed.calibration import Calibration
from memotherm.text.words import words

Vectors = NDArray[np.float32]

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


#: Unrelated texts have cosines around 0, texts that share half of their words around .5.
_CALIBRATION = Calibration(((0.15, 0.0), (0.40, 0.40), (0.70, 0.85), (0.95, 1.0)))


class HashEmbedder:
    """Vectors from hashed words; another `seed` or `name` makes another embedder with other vectors.

    Args:
        dimensions: The length of a vector.
        seed: Selects the directions of the words.
        max_chars: The longest window; a longer content gets several vectors.
        name: The embedder's name; None makes one of `dimensions` and `seed`.
        record: Append every embedded text to `texts`.
        calibrated: Offer a calibration; without it, the store estimates one.
    """

    def __init__(
        self,
        dimensions: int = 64,
        *,
        seed: int = 0,
        max_chars: int = 2000,
        name: str | None = None,
        record: bool = False,
        calibrated: bool = True,
    ) -> None:
        self.calibration = _CALIBRATION if calibrated else None
        self.dimensions = dimensions
        self.max_chars = max_chars
        self.name = name or f"hash-{dimensions}-{seed}"
        #: The texts embedded so far, with `record`.
        self.texts: list[str] = []
        self._record = record
        key = f"{seed}" if name is None else f"{name}-{seed}"
        self._direction = functools.lru_cache(maxsize=10_000)(functools.partial(_direction, dimensions, key))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row of unit length for each text."""
        if self._record:
            self.texts += texts
        rows = np.empty((len(texts), self.dimensions), np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[:] = self._row(text)
        return rows

    def _row(self, text: str) -> Vectors:
        total: Vectors = sum((self._direction(word) for word in words(text)), np.zeros(self.dimensions, np.float32))
        if not total.any():
            # No words, or words that cancel out: use a direction that is always the same.
            total = self._direction(f"\x00{text}")
        return np.asarray(total / np.linalg.norm(total), dtype=np.float32)

    def __repr__(self) -> str:
        return f"<HashEmbedder {self.name}>"


def _direction(dimensions: int, key: str, word: str) -> Vectors:
    text = f"{key}:{word}".encode("utf-8", "surrogatepass")
    drawn = np.frombuffer(hashlib.shake_256(text).digest((dimensions + 7) // 8), np.uint8)
    return np.unpackbits(drawn)[:dimensions].astype(np.float32) * 2 - 1
