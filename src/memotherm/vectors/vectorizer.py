"""Vectors for contents and queries, and the change from one embedder to another.

The store knows whose vectors serve its searches. Vectors of another embedder are never compared with them:
until maintenance or `reembed` has made all vectors anew, the old ones serve. If the former embedder can be
found by its name, it embeds queries and new contents meanwhile; else queries are compared by words. Every
recall says so in `degraded`.

A fallback embedder has vectors of its own beside the serving ones. While the first embedder fails, queries
are compared with the fallback's vectors, and every recall says so; when the first one works again, nothing
has to be made anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from memotherm import embed
from memotherm.embed import Embedder
from memotherm.embed.calibration import Calibration
from memotherm.errors import EmbedderError, EmbedderRefused
from memotherm.storage.store import Store
from memotherm.storage.values import Identity
from memotherm.text.content import digest, pluralize
from memotherm.vectors.embedder_session import EmbedderSession, FormerEmbedders, Progress, ResolveFormer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float32]
    #: Called with words and texts; returns an array of shape (texts, words).
    WordSimilarity = Callable[[Sequence[str], Sequence[str]], Array]

__all__ = ["EmbeddedContents", "Progress", "QueryVector", "Vectorizer"]

#: A longer content gets its vectors after it was stored: the bundled model takes a tenth of a second for 1,000 letters.
_MOST_AT_ONCE = 4000
#: How long an embedder that failed is not called while the fallback replaces it.
_PAUSE_SECONDS = 30.0
_TEXT_ONLY = "text only: "
#: No embedder has this number.
_NO_EMBEDDER = 0

Result = TypeVar("Result")


class EmbeddedContents(NamedTuple):
    """The vectors of some contents, and which embedder made them."""

    #: One array for each content; None where the vectors are still to be made.
    vectors: list[Array | None]
    #: The number of the embedder in the store; None when there are no vectors.
    made_by: int | None = None
    #: Why vectors are missing.
    reason: str | None = None
    #: The long contents whose vectors are still to be made.
    late: Collection[str] = ()


class QueryVector(NamedTuple):
    """The vector of a query, the embedder whose vectors it is comparable with, and what their cosines mean."""

    calibration: Calibration
    vector: Array | None = None
    identity: Identity | None = None
    #: What does not work as it should.
    reason: str | None = None
    #: What the cosines count in ranking, from 0 to 1; less for languages that the embedder hardly knows.
    weight: float = 1.0
    #: How similar words are to those of texts, by the same embedder; None if it is not to be asked.
    word_similarity: WordSimilarity | None = None


class Vectorizer:
    """The embedder of an open store and its fallback."""

    def __init__(
        self, store: Store, first: EmbedderSession, fallback: EmbedderSession | None, former: FormerEmbedders
    ) -> None:
        self._store = store
        self._first = first
        self._fallback = fallback
        self._former = former

    @classmethod
    def open(
        cls,
        store: Store,
        embedder: Embedder,
        fallback: Embedder | None = None,
        resolve_former: ResolveFormer = lambda _: None,
    ) -> Vectorizer:
        """Return the vectorizer of a store; vectors are made for all its tenants together."""
        usable = fallback is not None and fallback.name not in (embedder.name, "none")
        whole = store.for_tenant(None)
        return cls(
            store,
            EmbedderSession(whole, embedder),
            EmbedderSession(whole, fallback) if fallback is not None and usable else None,
            FormerEmbedders(whole, resolve_former),
        )

    def open_on(self, store: Store) -> Vectorizer:
        """Return a vectorizer with the same embedders, without the fallback, for a copy of the store."""
        return Vectorizer.open(store, self.embedder, resolve_former=self._former.resolve)

    def on(self, store: Store) -> Vectorizer:
        """Return a vectorizer with the same embedder sessions for another tenant's store."""
        return Vectorizer(store, self._first, self._fallback, self._former)

    @property
    def embedder(self) -> Embedder:
        """The first embedder."""
        return self._first.embedder

    @property
    def enabled(self) -> bool:
        """Whether there is an embedder at all."""
        return self.embedder.name != "none"

    @property
    def seconds(self) -> float:
        """How long the embedders have worked on contents."""
        return self._first.seconds + (self._fallback.seconds if self._fallback else 0.0)

    @property
    def waiting(self) -> bool:
        """Whether memories lack vectors that this embedder may make, or the store changes to this embedder.

        Only `reembed` changes back to an embedder that served before, so that two processes with different
        embedders do not make all vectors anew in turns.
        """
        if not self.enabled:
            return False
        serving = self._store.identity()
        if serving is None:
            return self._store.count_without_vectors(_NO_EMBEDDER) > 0
        if serving.name != self.embedder.name:
            own = self._first.identity
            return own is None or own.number > serving.number
        return self._store.count_without_vectors(serving.number) > 0

    @property
    def changing_to(self) -> int | None:
        """The number of the embedder whose vectors are to replace the serving ones; None if none are to."""
        serving = self._store.identity()
        if not self.enabled or serving is None or serving.name == self.embedder.name:
            return None
        own = self._first.identity
        return _NO_EMBEDDER if own is None else own.number

    def for_contents(self, contents: Sequence[str | None], *, wait: bool = True) -> EmbeddedContents:
        """Return the vectors of each content and who made them; None where they must be made later.

        None among the contents stands for one that gets no vectors. Without `wait`, long contents are only named.
        """
        if not self.enabled:
            return EmbeddedContents([None] * len(contents))
        digests = {content: digest(content) for content in contents if content is not None}
        serving, cached = self._store.served_vectors({*digests.values()})
        session = self._session_for(serving)
        if session is None:
            return EmbeddedContents([None] * len(contents), reason=self._obstacle(serving))
        vectors = {content: cached.get(each) for content, each in digests.items()}
        if not vectors:
            return EmbeddedContents([None] * len(contents))
        new = [content for content, rows in vectors.items() if rows is None]
        late = (
            {content for content in new if len(content) > _MOST_AT_ONCE} if session is self._first and not wait else ()
        )
        new = [content for content in new if content not in late]
        reason = None
        try:
            vectors.update(zip(new, self._attempt(session, lambda: session.embed_contents(new, serving)), strict=True))
            serving = serving or session.register(serve=True)
        except EmbedderError as exc:
            reason = f"new memories wait for their vectors: {exc}"
        made_by = None if serving is None else serving.number
        made = [None if content is None else vectors[content] for content in contents]
        return EmbeddedContents(made, made_by, reason, late if reason is None else ())

    def make_later(self, rows: Sequence[tuple[int, str]], at: datetime) -> None:
        """Make the vectors of memories with long contents, by number and content, after the caller has gone on."""
        serving = self._store.identity() if rows else None
        if serving is not None and serving.name == self.embedder.name:
            self._first.make_later(serving, rows, at)

    def wait(self) -> None:
        """Return when the vectors of long contents have been made."""
        self._first.background.wait()

    def missing(self, count: int) -> str:
        """Return the message that some memories have no vectors yet, and when they have."""
        made = "they are being made" if self._first.background.busy else "maintenance makes them, or reembed at once"
        return f"{pluralize(count, 'memory')} without vectors: {made}"

    def obstacle(self) -> str | None:
        """Return why queries cannot be compared by vectors, as far as that is known without calling an embedder."""
        if not self.enabled:
            return f"{_TEXT_ONLY}the embedder is 'none'"
        serving = self._store.identity()
        former = self._former_session(serving)
        return self._obstacle(serving) if serving is None or former is None else self._change_notice(serving)

    def for_query(self, query: str, serving: Identity | None) -> QueryVector:
        """Return the vector of a query for vectors of the serving embedder, or the reason why there is none."""
        if not self.enabled:
            return QueryVector(self._first.calibration(None), reason=self.obstacle())
        if serving is None:
            failure = self._first.failure
            return self._fallback_query(query, None if failure is None else f"{_TEXT_ONLY}{failure}")
        if serving.name != self.embedder.name:
            return self._former_query(query, serving)
        try:
            vector, weight = self._attempt(
                self._first, lambda: self._first.embed_query(query, serving, self._store.tenant)
            )
        except EmbedderError as exc:
            return self._fallback_query(query, f"{_TEXT_ONLY}{exc}")
        return _query_vector(self._first, serving, vector, weight)

    def reembed(self, now: datetime, progress: Progress | None = None) -> int:
        """Make every vector that the embedder has not made yet; then let them serve searches."""
        if not self.enabled:
            raise EmbedderError("the embedder 'none' makes no vectors: open the store with another one")
        made = self.fill_fallback(now, progress)
        identity = self._first.register(serve=True)

        def complete() -> bool:
            """Let the new vectors serve, unless a memory was added that has none of them yet."""
            keep = None if self._fallback is None else self._fallback.identity
            kept = None if keep is None else keep.number
            return self._first.store.transact(lambda transaction: transaction.serve(identity.number, kept))

        return made + self._first.fill(identity, now, progress, complete)

    def fill_fallback(self, now: datetime, progress: Progress | None = None) -> int:
        """Make the vectors that the fallback embedder has not made yet; return how many."""
        if self._fallback is None:
            return 0
        return self._fallback.fill(self._fallback.register(serve=False), now, progress)

    def close(self) -> None:
        """Release the resources of the embedders."""
        for session in (self._first, self._fallback):
            if session is not None:
                embed.close(session.embedder)
        self._former.close()

    # A change of embedder

    def _former_session(self, serving: Identity | None) -> EmbedderSession | None:
        """Return the session of the former embedder whose vectors serve, if there is one and it can be found."""
        if serving is None or serving.name == self.embedder.name:
            return None
        if self._fallback is not None and serving.name == self._fallback.embedder.name:
            return None
        return self._former.session(serving)

    def _former_query(self, query: str, serving: Identity) -> QueryVector:
        """Return the vector that the former embedder makes of a query, or else that of the fallback."""
        former = self._former_session(serving)
        if former is None:
            return self._fallback_query(query, self._obstacle(serving))
        try:
            vector, weight = former.embed_query(query, serving, self._store.tenant)
        except EmbedderError as exc:
            return self._fallback_query(query, f"{self._obstacle(serving)}; the former embedder failed: {exc}")
        return _query_vector(former, serving, vector, weight, self._change_notice(serving))

    def _change_notice(self, serving: Identity) -> str:
        return (
            f"the former embedder {serving.name!r} is used until all vectors are made by {self.embedder.name!r}: "
            "run reembed"
        )

    # The fallback

    def _attempt(self, session: EmbedderSession, work: Callable[[], Result]) -> Result:
        """Call an embedder; after a failure, do not call it for a while if there is a fallback."""
        may_pause = session is self._first and self._fallback is not None
        if may_pause and time.monotonic() < session.paused_until:
            session.failure = f"{self.embedder.name} has failed and is left alone for {_PAUSE_SECONDS:g} seconds"
            raise EmbedderError(session.failure)
        try:
            result = work()
        except EmbedderError as exc:
            session.failure = str(exc)
            if may_pause and not isinstance(exc, EmbedderRefused):
                session.paused_until = time.monotonic() + _PAUSE_SECONDS
            raise
        session.failure = None
        return result

    def _session_for(self, serving: Identity | None) -> EmbedderSession | None:
        """Return the session whose vectors are comparable with the serving ones."""
        if serving is None or serving.name == self.embedder.name:
            return self._first
        if self._fallback is not None and serving.name == self._fallback.embedder.name:
            return self._fallback
        return self._former_session(serving)

    def _obstacle(self, serving: Identity | None) -> str | None:
        if serving is None or serving.name == self.embedder.name:
            return None
        return (
            f"{_TEXT_ONLY}the store's vectors were made by {serving.name!r}, not by {self.embedder.name!r}: "
            "run reembed to make them anew, or open the store with the former embedder"
        )

    def _fallback_query(self, query: str, reason: str | None) -> QueryVector:
        """Return the vector that the fallback makes of a query, if it has vectors in the store."""
        identity = None if self._fallback is None else self._fallback.identity
        if self._fallback is None or identity is None:
            return QueryVector(self._first.calibration(None), reason=reason)
        try:
            vector, weight = self._fallback.embed_query(query, identity, self._store.tenant)
        except EmbedderError as exc:
            message = f"{reason}; the fallback {identity.name} failed too: {exc}"
            return QueryVector(self._first.calibration(None), reason=message)
        cause = (reason or f"{self.embedder.name} has made no vectors here yet").removeprefix(_TEXT_ONLY)
        message = f"the fallback {identity.name} was used: {cause}"
        return _query_vector(self._fallback, identity, vector, weight, message)


def _query_vector(
    session: EmbedderSession, identity: Identity, vector: Array, weight: float, reason: str | None = None
) -> QueryVector:
    """Return the vector of a query; similar words are looked for if its cosines count less than those of others."""
    similarity = session.word_similarity if weight < 1 else None
    return QueryVector(session.calibration(identity), vector, identity, reason, weight, similarity)
