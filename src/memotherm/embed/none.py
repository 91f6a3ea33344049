"""The embedder for text search only: it makes no vectors, and recalls say so in `degraded`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["NoEmbedder"]


class NoEmbedder:
    """Returns vectors of length 0."""

    name = "none"
    dimensions = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one empty row for each text."""
        import numpy as np

        return np.empty((len(texts), 0), dtype=np.float32)

    def split(self, text: str) -> list[str]:
        """Return the whole text: without vectors, there are no windows."""
        return [text]

    def __repr__(self) -> str:
        return "NoEmbedder()"
