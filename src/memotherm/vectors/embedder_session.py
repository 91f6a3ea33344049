"""One embedder at work for one store: vectors of contents and questions, and what their cosines mean."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import accumulate
from typing import TYPE_CHECKING

from memotherm import embed
from memotherm.embed import Embedder
from memotherm.embed.calibration import DEFAULT, Calibration, Scale, estimate
from memotherm.errors import EmbedderRefused, StoreError
from memotherm.storage.contract import Store
from memotherm.storage.values import Cause, Identity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float32]

__all__ = ["EmbedderSession", "Progress"]

#: Called with (done, total) while a long piece of work goes on.
Progress = Callable[[int, int], None]

_QUERIES_KEPT = 256
_BATCH = 64
_SAMPLE = 2000
_ENOUGH = 64


class EmbedderSession:
    """Makes vectors, and stores those that are missing."""

    def __init__(self, store: Store, embedder: Embedder) -> None:
        self._store = store
        self.embedder = embedder
        #: Until when it is left alone, by the monotonic clock, after it has failed.
        self.rests_until = 0.0
        self._calibration: Calibration | None = None
        self._query = functools.lru_cache(maxsize=_QUERIES_KEPT)(functools.partial(embed.embed_query, embedder))

    @property
    def identity(self) -> Identity | None:
        """The embedder as the store knows it, once it has made vectors there."""
        return self._store.identity(self.embedder.name)

    def adopted(self, *, serve: bool) -> Identity:
        """Return the embedder as the store knows it, making it known if it is not."""
        if not self.embedder.dimensions:
            self.vectors(["dimensions"])
        return self._store.register_embedder(self.embedder.name, self.embedder.dimensions, serve=serve)

    def vectors(self, contents: Sequence[str]) -> list[Array]:
        """Return the vectors of each content: one row for every window of it."""
        windows = [embed.split(self.embedder, content) for content in contents]
        flat = [window for each in windows for window in each]
        if not flat:
            return []
        rows = embed.checked(self.embedder, flat)
        ends = accumulate(len(each) for each in windows)
        return [rows[end - len(each) : end] for end, each in zip(ends, windows, strict=True)]

    def query(self, text: str, known: Identity) -> Array:
        """Return the vector of a question, comparable with those that are stored."""
        vector: Array = self._query(text)
        if len(vector) != known.dimensions:
            raise StoreError(f"{known.name} made vectors of {known.dimensions} dimensions, not {len(vector)}")
        return vector

    def scale(self, known: Identity | None) -> Scale:
        """Return what the embedder's cosines mean."""
        own: Calibration | None = getattr(self.embedder, "calibration", None)
        calibration = own if own is not None else self._estimated(known)
        return Scale(calibration.relevance, calibration.spread)

    def _estimated(self, known: Identity | None) -> Calibration:
        """Estimate what cosines mean from the stored vectors, once there are enough of them."""
        if self._calibration is None:
            sample = None if known is None else self._store.sample_vectors(_SAMPLE, known)
            if sample is None or len(sample) < _ENOUGH:
                return DEFAULT
            self._calibration = estimate(sample)
        return self._calibration

    def fill(
        self, identity: Identity, now: datetime, progress: Progress | None, complete: Callable[[], bool] = lambda: True
    ) -> int:
        """Make every vector that the embedder has not made yet, until `complete` agrees that none is missing.

        What is done stays done: a run that was interrupted goes on where it stopped.
        """
        total, done, refused, after = self._store.count_without_vectors(identity.number), 0, 0, 0
        cause = Cause(action="embed", at=now, rule="reembed", why=f"vectors made by {self.embedder.name}")
        while True:
            batch = self._store.without_vectors(identity.number, after, _BATCH)
            if not batch and (refused or complete()):
                break
            made = self._store_batch(identity, batch, cause)
            done, refused = done + made, refused + len(batch) - made
            after = batch[-1][0] if batch else 0
            if progress is not None and batch:
                progress(done, max(total, done))
        if refused:
            raise EmbedderRefused(f"{self.embedder.name} refused {refused} contents; the other {done} are done")
        return done

    def _store_batch(self, identity: Identity, batch: list[tuple[int, str]], cause: Cause) -> int:
        """Store the vectors of a batch; where the embedder refuses it, of each content that it takes."""
        try:
            made = self.vectors([content for _, content in batch])
        except EmbedderRefused:
            if len(batch) == 1:
                return 0
            return sum(self._store_batch(identity, [each], cause) for each in batch)
        with self._store.write() as transaction:
            for (no, content), vectors in zip(batch, made, strict=True):
                transaction.add_vectors(identity.number, no, content, vectors, cause)
        return len(batch)
