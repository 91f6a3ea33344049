"""An embedder for tests: offline, instant, the same on every machine.

Each word has a direction made from its hash; a text lies in the sum of its words' directions.
Texts that share words are near each other. It knows nothing of meaning.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memotherm.embed.calibration import Calibration
from memotherm.text.words import words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

__all__ = ["HashEmbedder"]


class HashEmbedder:
    """Vectors out of hashed words; another `seed` is another embedder with another name.

    Args:
        dimensions: The length of a vector.
        seed: Which directions the words get.
        max_chars: The longest window; a longer content gets several vectors.
    """

    #: Unrelated texts have cosines around 0, texts that share half of their words around .5.
    calibration = Calibration(((0.15, 0.0), (0.40, 0.40), (0.70, 0.85), (0.95, 1.0)))

    def __init__(self, dimensions: int = 64, *, seed: int = 0, max_chars: int = 2000) -> None:
        self.dimensions = dimensions
        self.max_chars = max_chars
        self.name = f"hash-{dimensions}-{seed}"
        self._direction = functools.lru_cache(maxsize=10_000)(functools.partial(_direction, dimensions, seed))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row of unit length for each text."""
        import numpy as np

        rows = np.empty((len(texts), self.dimensions), np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[:] = self._row(text)
        return rows

    def _row(self, text: str) -> Vectors:
        import numpy as np

        total: Vectors = sum((self._direction(word) for word in words(text)), np.zeros(self.dimensions, np.float32))
        if not total.any():
            # No words, or words that cancel out: any direction will do, as long as it is always the same.
            total = self._direction(f"\x00{text}")
        return np.asarray(total / np.linalg.norm(total), dtype=np.float32)

    def __repr__(self) -> str:
        return f"<HashEmbedder {self.name}>"


def _direction(dimensions: int, seed: int, word: str) -> Vectors:
    import numpy as np

    key = f"{seed}:{word}".encode("utf-8", "surrogatepass")
    drawn = np.frombuffer(hashlib.shake_256(key).digest((dimensions + 7) // 8), np.uint8)
    return np.unpackbits(drawn)[:dimensions].astype(np.float32) * 2 - 1
