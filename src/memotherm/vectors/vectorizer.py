"""Vectors for contents and queries, and the change from one embedder to another.

The store remembers whose vectors it serves. Another embedder never mixes with them: until
`reembed` has made all vectors anew, the old ones serve, and every recall says so.

A fallback embedder keeps vectors of its own beside the serving ones. When the first embedder fails,
questions are asked of the fallback's, and every recall says so; nothing has to be made anew when the
first one is back.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from memotherm import embed
from memotherm.embed import Embedder
from memotherm.embed.calibration import Scale
from memotherm.errors import EmbedderError, EmbedderRefused
from memotherm.storage.contract import Store
from memotherm.storage.values import Identity
from memotherm.text.clean import digest
from memotherm.text.quantity import pluralize
from memotherm.vectors.embedder_session import EmbedderSession, Progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float32]

__all__ = ["Progress", "QueryVector", "Vectorizer", "missing_vectors"]

#: How long an embedder that failed is left alone while another one stands in for it.
_PAUSE_SECONDS = 30.0
_WORDS = "text only: "

Result = TypeVar("Result")


def missing_vectors(count: int) -> str:
    """Say that memories wait for their vectors, and what helps."""
    return f"{pluralize(count, 'memory')} without vectors: run reembed"


class QueryVector(NamedTuple):
    """A question as a vector, and whose vectors it can be compared with."""

    scale: Scale
    vector: Array | None = None
    by: Identity | None = None
    #: What does not work as it should.
    reason: str | None = None


class Vectorizer:
    """The embedder of one open store, as far as its vectors may be used there, and the one that stands in."""

    def __init__(self, store: Store, embedder: Embedder, fallback: Embedder | None = None) -> None:
        self._store = store
        # What one embedder makes, it makes for all tenants.
        self._whole = store.for_tenant(None)
        self._first = EmbedderSession(self._whole, embedder)
        other = fallback is not None and fallback.name not in (embedder.name, "none")
        self._fallback = EmbedderSession(self._whole, fallback) if fallback is not None and other else None
        #: The store's number for the embedder, once it has made vectors here.
        self.number: int | None = None

    def on(self, store: Store) -> Vectorizer:
        """Return the same embedders for another tenant's store; what they have learnt is shared."""
        view = copy.copy(self)
        view._store = store
        return view

    @property
    def embedder(self) -> Embedder:
        """The embedder that was asked for."""
        return self._first.embedder

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
        maker = self._maker_for(serving)
        if maker is None:
            return waiting, self._obstacle(serving)
        known = {content: self._store.cached_vectors(digest(content)) if serving else None for content in contents}
        fresh = [content for content, vectors in known.items() if vectors is None]
        try:
            known.update(zip(fresh, self._tried(maker, lambda: maker.vectors(fresh)), strict=True))
        except EmbedderError as exc:
            return [known[content] for content in contents], f"new memories wait for their vectors: {exc}"
        if serving is None:
            serving = maker.adopted(serve=True)
        self.number = serving.number
        return [known[content] for content in contents], None

    def obstacle(self) -> str | None:
        """Return why queries cannot be compared by meaning, as far as that is known without trying."""
        if not self.enabled:
            return f"{_WORDS}the embedder is 'none'"
        return self._obstacle(self._store.identity())

    def for_query(self, query: str) -> QueryVector:
        """Return the vector of a query, or the reason why there is none."""
        if not self.enabled:
            return QueryVector(self._first.scale(None), reason=self.obstacle())
        serving = self._store.identity()
        if serving is None or serving.name != self.embedder.name:
            return self._stood_in(query, self._obstacle(serving))
        try:
            vector = self._tried(self._first, lambda: self._first.query(query, serving))
        except EmbedderError as exc:
            return self._stood_in(query, f"{_WORDS}{exc}")
        return QueryVector(self._first.scale(serving), vector, serving)

    def reembed(self, now: datetime, progress: Progress | None = None) -> int:
        """Make every vector that the embedder has not made yet; then let them serve."""
        if not self.enabled:
            raise EmbedderError("the embedder 'none' makes no vectors: open the store with another one")
        spare = self.stand_by(now, progress)
        identity = self._first.adopted(serve=True)

        def complete() -> bool:
            """Let the new vectors serve, unless a memory came in that has none of them yet."""
            kept = None if self._fallback is None else self._fallback.identity
            with self._whole.write() as transaction:
                return transaction.serve(identity.number, None if kept is None else kept.number)

        return spare + self._first.fill(identity, now, progress, complete)

    def stand_by(self, now: datetime, progress: Progress | None = None) -> int:
        """Make the vectors that the fallback embedder has not made yet, so that it can stand in."""
        if self._fallback is None:
            return 0
        return self._fallback.fill(self._fallback.adopted(serve=False), now, progress)

    def close(self) -> None:
        """Let the embedders go of what they hold."""
        for maker in (self._first, self._fallback):
            if maker is not None:
                embed.close(maker.embedder)

    # The fallback

    def _tried(self, maker: EmbedderSession, work: Callable[[], Result]) -> Result:
        """Let an embedder work; one that failed is left alone for a while, if another can stand in."""
        if maker is not self._first or self._fallback is None:
            return work()
        if time.monotonic() < maker.rests_until:
            raise EmbedderError(f"{self.embedder.name} has failed and is left alone for {_PAUSE_SECONDS:g} seconds")
        try:
            return work()
        except EmbedderRefused:
            raise
        except EmbedderError:
            maker.rests_until = time.monotonic() + _PAUSE_SECONDS
            raise

    def _maker_for(self, serving: Identity | None) -> EmbedderSession | None:
        """Return who may make vectors to go with the serving ones."""
        if serving is None or serving.name == self.embedder.name:
            return self._first
        if self._fallback is not None and serving.name == self._fallback.embedder.name:
            return self._fallback
        return None

    def _obstacle(self, serving: Identity | None) -> str | None:
        if serving is None or serving.name == self.embedder.name:
            return None
        return f"{_WORDS}{_foreign(serving, self.embedder)}"

    def _stood_in(self, query: str, reason: str | None) -> QueryVector:
        """Return the query as the fallback sees it, if it has vectors here."""
        known = None if self._fallback is None else self._fallback.identity
        if self._fallback is None or known is None:
            return QueryVector(self._first.scale(None), reason=reason)
        try:
            vector = self._fallback.query(query, known)
        except EmbedderError as exc:
            return QueryVector(self._first.scale(None), reason=f"{reason}; {known.name} cannot stand in: {exc}")
        why = (reason or f"{self.embedder.name} has made no vectors here yet").removeprefix(_WORDS)
        return QueryVector(self._fallback.scale(known), vector, known, f"{known.name} stands in: {why}")


def _foreign(serving: Identity, embedder: Embedder) -> str:
    return (
        f"the store's vectors were made by {serving.name!r}, not by {embedder.name!r}: "
        "run reembed to make them anew, or open the store with the former embedder"
    )
