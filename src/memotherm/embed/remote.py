"""The base class of embedders over HTTP: name, dimensions, batches and unit length."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from memotherm.embed import http, windows
from memotherm.embed.batch import in_batches
from memotherm.embed.protocol import unit
from memotherm.errors import DimensionMismatch

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["RemoteEmbedder", "Tuning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Options that all remote embedders have in common."""

    #: Texts sent at once, at most.
    max_texts: int
    #: Estimated tokens sent at once, at most.
    max_tokens: int
    #: Characters of one window of a long content.
    max_chars: int = windows.MAX_CHARS
    #: Seconds to wait for an answer.
    timeout: float = http.READ_SECONDS
    #: The number of retries.
    retries: int = http.RETRIES
    #: The function that waits between tries.
    sleep: Callable[[float], None] = time.sleep


class RemoteEmbedder:
    """Sends texts in batches and returns unit vectors; the dimensions of an unknown model come from its response."""

    def __init__(self, service: http.Service, dimensions: int, tuning: Tuning) -> None:
        self.name = service.name
        self.max_chars = tuning.max_chars
        self._dimensions = dimensions
        self._tuning = tuning
        self._transport = http.Transport(service, timeout=tuning.timeout, retries=tuning.retries, sleep=tuning.sleep)

    @property
    def dimensions(self) -> int:
        """The length of a vector; of an unknown model 0 until its first response."""
        return self._dimensions

    def close(self) -> None:
        """Close idle connections."""
        self._transport.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def _embed(
        self, texts: Sequence[str], send: Callable[[list[str]], list[NDArray[np.float32]]]
    ) -> NDArray[np.float32]:
        """Embed all texts, or raise."""
        tuning = self._tuning
        rows = in_batches(texts, send, max_texts=tuning.max_texts, max_tokens=tuning.max_tokens, name=self.name)
        if not rows:
            return np.empty((0, self._dimensions), dtype=np.float32)
        self._set_dimensions({len(row) for row in rows})
        return unit(np.stack(rows), count=len(rows), name=self.name)

    def _set_dimensions(self, lengths: set[int]) -> None:
        """Set the dimensions of an unknown model from its first response, and check later ones."""
        expected = self._dimensions or min(lengths)
        if lengths != {expected} or not expected:
            raise DimensionMismatch(
                f"{self.name} returned vectors of {sorted(lengths)} dimensions instead of {expected}; "
                "set `dimensions` to those of the model, and check that it is an embedding model."
            )
        self._dimensions = expected
