"""Vectors for contents and queries, and the change from one embedder to another.

The store remembers whose vectors it serves. Another embedder never mixes with them: until
`reembed` has made all vectors anew, the old ones serve, and every recall says so.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import accumulate
from typing import TYPE_CHECKING

from thermocline import embed
from thermocline.embed import Embedder
from thermocline.embed.calibration import DEFAULT, Calibration, estimate
from thermocline.errors import EmbedderError, EmbedderRefused, StoreError
from thermocline.rank import Scale
from thermocline.storage.store import Cause, Identity, Store
from thermocline.text.clean import digest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float32]

__all__ = ["Progress", "Vectorizer"]

#: Called with (done, total) while a long piece of work goes on.
Progress = Callable[[int, int], None]

_QUERIES_KEPT = 256
_BATCH = 64
_SAMPLE = 2000
_ENOUGH = 64


class Vectorizer:
    """The embedder of one open store, as far as its vectors may be used there."""

    def __init__(self, store: Store, embedder: Embedder) -> None:
        self._store = store
        self.embedder = embedder
        #: The store's number for the embedder, once it has made vectors here.
        self.number: int | None = None
        self._calibration: Calibration | None = None
        self._query = functools.lru_cache(maxsize=_QUERIES_KEPT)(self._query_vector)

    @property
    def enabled(self) -> bool:
        """Whether there is an embedder at all."""
        return self.embedder.name != "none"

    @property
    def waiting(self) -> bool:
        """Whether memories wait for vectors that this embedder may make."""
        if not self.enabled:
            return False
        serving = self._store.identity()
        if serving is None or serving.name != self.embedder.name:
            return False
        return self._store.count_without_vectors(serving.number) > 0

    def for_contents(self, contents: Sequence[str]) -> tuple[list[Array | None], str | None]:
        """Return the vectors of each content, or None where they must wait, and the reason."""
        waiting: list[Array | None] = [None] * len(contents)
        if not self.enabled:
            return waiting, None
        serving = self._store.identity()
        if serving is not None and serving.name != self.embedder.name:
            return waiting, _foreign(serving, self.embedder)
        known = {content: self._store.cached(digest(content)) if serving else None for content in contents}
        fresh = [content for content, vectors in known.items() if vectors is None]
        try:
            known.update(zip(fresh, self._embedded(fresh), strict=True))
        except EmbedderError as exc:
            return [known[content] for content in contents], f"new memories wait for their vectors: {exc}"
        if serving is None:
            serving = self._store.adopt(self.embedder.name, self.embedder.dimensions)
        self.number = serving.number
        return [known[content] for content in contents], None

    def obstacle(self) -> str | None:
        """Return why queries cannot be compared by meaning, as far as that is known without trying."""
        return self._obstacle(self._store.identity())

    def _obstacle(self, serving: Identity | None) -> str | None:
        if not self.enabled:
            return "text only: the embedder is 'none'"
        if serving is not None and serving.name != self.embedder.name:
            return f"text only: {_foreign(serving, self.embedder)}"
        return None

    def for_query(self, query: str) -> tuple[Array | None, str | None]:
        """Return the vector of a query, or the reason why there is none."""
        serving = self._store.identity()
        reason = self._obstacle(serving)
        if reason is not None or serving is None:
            return None, reason
        try:
            return self._query(query), None
        except EmbedderError as exc:
            return None, f"text only: {exc}"

    def scale(self) -> Scale:
        """Return what the embedder's cosines mean."""
        own: Calibration | None = getattr(self.embedder, "calibration", None)
        calibration = own if own is not None else self._estimated
        return Scale(calibration.relevance, calibration.spread)

    @property
    def _estimated(self) -> Calibration:
        """Estimate what cosines mean from the stored vectors, once there are enough of them."""
        if self._calibration is None:
            sample = self._store.sample_vectors(_SAMPLE)
            if sample is None or len(sample) < _ENOUGH:
                return DEFAULT
            self._calibration = estimate(sample)
        return self._calibration

    def reembed(self, now: datetime, progress: Progress | None = None) -> int:
        """Make every vector that the embedder has not made yet; then let them serve.

        What is done stays done: a run that was interrupted goes on where it stopped.
        """
        if not self.enabled:
            raise EmbedderError("the embedder 'none' makes no vectors: open the store with another one")
        if not self.embedder.dimensions:
            self._embedded(["dimensions"])
        identity = self._store.adopt(self.embedder.name, self.embedder.dimensions)
        total, done, refused, after = self._store.count_without_vectors(identity.number), 0, 0, 0
        cause = Cause(action="embed", at=now, rule="reembed", why=f"vectors made by {self.embedder.name}")
        while True:
            batch = self._store.without_vectors(identity.number, after, _BATCH)
            if not batch and (refused or self._switch(identity)):
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
            made = self._embedded([content for _, content in batch])
        except EmbedderRefused:
            if len(batch) == 1:
                return 0
            return sum(self._store_batch(identity, [each], cause) for each in batch)
        with self._store.write() as writing:
            for (no, content), vectors in zip(batch, made, strict=True):
                writing.add_vectors(identity.number, no, content, vectors, cause)
        return len(batch)

    def _switch(self, identity: Identity) -> bool:
        """Let the new vectors serve, unless a memory came in that has none of them yet."""
        with self._store.write() as writing:
            return writing.serve(identity.number)

    def _embedded(self, contents: Sequence[str]) -> list[Array]:
        """Return the vectors of each content: one row for every window of it."""
        windows = [embed.split(self.embedder, content) for content in contents]
        flat = [window for each in windows for window in each]
        if not flat:
            return []
        rows = embed.checked(self.embedder, flat)
        ends = accumulate(len(each) for each in windows)
        return [rows[end - len(each) : end] for end, each in zip(ends, windows, strict=True)]

    def _query_vector(self, query: str) -> Array:
        vector = embed.embed_query(self.embedder, query)
        serving = self._store.identity()
        if serving is not None and len(vector) != serving.dimensions:
            raise StoreError(f"{serving.name} made vectors of {serving.dimensions} dimensions, not {len(vector)}")
        return vector

    def close(self) -> None:
        """Let the embedder go of what it holds."""
        embed.close(self.embedder)


def _foreign(serving: Identity, embedder: Embedder) -> str:
    return (
        f"the store's vectors were made by {serving.name!r}, not by {embedder.name!r}: "
        "run reembed to make them anew, or open the store with the former embedder"
    )
