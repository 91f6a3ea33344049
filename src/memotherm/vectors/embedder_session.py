"""One embedder in use with one store: vectors of contents and queries, and the calibration of their cosines."""

from __future__ import annotations

import functools
import json
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import accumulate
from typing import TYPE_CHECKING

from memotherm import embed
from memotherm.embed import Embedder
from memotherm.embed.calibration import DEFAULT, Calibration, estimate
from memotherm.errors import DimensionMismatch, EmbedderRefused, MemothermError, StoreError
from memotherm.model.actions import Action
from memotherm.storage.base import OwnProcess
from memotherm.storage.store import Store, Transaction
from memotherm.storage.values import Cause, Identity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float32]


#: Called with (done, total) during a long operation.
Progress = Callable[[int, int], None]

_CACHED_QUERIES = 256
_BATCH = 64
#: More than the number of any memory.
_NEWEST = 2**63 - 1
#: The longest beginning of a content that gets vectors, in windows and in characters. A window of the bundled model
#: takes 15 ms to a second, so that a content of a million characters could take minutes.
_MOST_WINDOWS = 64
_MOST_CHARS = 256_000
_log = logging.getLogger(__name__)


class EmbedderSession:
    """Makes vectors with one embedder, and stores those that are missing."""

    def __init__(self, store: Store, embedder: Embedder) -> None:
        #: The store of all tenants: vectors are made for all of them together.
        self.store = store
        self.embedder = embedder
        #: The time, by the monotonic clock, before which an embedder that failed is not called again.
        self.paused_until = 0.0
        #: How long it has worked on contents.
        self.seconds = 0.0
        #: Why the last call failed; None when it succeeded.
        self.failure: str | None = None
        #: Makes the vectors of long contents.
        self.background = Background(store.name)
        self._embed_query = functools.lru_cache(maxsize=_CACHED_QUERIES)(self._embed_query_of)

    @property
    def identity(self) -> Identity | None:
        """The embedder's row in the store; None before it has made vectors there."""
        return self.store.identity(self.embedder.name)

    def register(self, *, serve: bool) -> Identity:
        """Return the embedder's row in the store, adding it if it is missing."""
        if not self.embedder.dimensions:
            self.embed_contents(["dimensions"])
        stored = self.identity
        if stored is not None:
            _require_dimensions(stored, self.embedder.dimensions)
        return self.store.register_embedder(self.embedder.name, self.embedder.dimensions, serve=serve)

    def embed_contents(self, contents: Sequence[str], identity: Identity | None = None) -> list[Array]:
        """Return the vectors of each content, one row for every window of it, comparable with the stored ones."""
        windows = [self._windows(content) for content in contents]
        texts = [text for parts in windows for text in parts]
        if not texts:
            return []
        started = time.perf_counter()
        try:
            rows = embed.checked(self.embedder, texts)
        finally:
            self.seconds += time.perf_counter() - started
        if identity is not None:
            _require_dimensions(identity, rows.shape[1])
        ends = accumulate(len(parts) for parts in windows)
        return [rows[end - len(parts) : end] for end, parts in zip(ends, windows, strict=True)]

    def _windows(self, content: str) -> list[str]:
        """Return the windows of a content that get vectors: of a very long one, the first ones."""
        windows = embed.split(self.embedder, content[:_MOST_CHARS])
        if len(windows) > _MOST_WINDOWS or len(content) > _MOST_CHARS:
            _log.warning(
                "only the beginning of a content of %d characters has vectors, the rest is found by its words: "
                "split it, or keep it as a note",
                len(content),
            )
        return windows[:_MOST_WINDOWS]

    def embed_query(self, text: str, identity: Identity, tenant: str | None) -> tuple[Array, float]:
        """Return the vector of a tenant's query, comparable with the embedder's stored vectors, and its weight."""
        vector, weight = self._embed_query(tenant, text)
        _require_dimensions(identity, len(vector))
        return vector, weight

    def _embed_query_of(self, tenant: str | None, text: str) -> tuple[Array, float]:  # noqa: ARG002 - a part of the cache's key
        """Embed a query; another tenant must not notice by the time it takes that a query was asked before."""
        return embed.embed_query(self.embedder, text), embed.query_weight(self.embedder, text)

    def word_similarity(self, words: Sequence[str], texts: Sequence[str]) -> Array:
        """Return how similar each word is to the most similar one of each text, from 0 to 1."""
        return embed.word_similarity(self.embedder, words, texts)

    def calibration(self, identity: Identity | None) -> Calibration:
        """Return the embedder's own calibration, or the one that the store has estimated."""
        own: Calibration | None = getattr(self.embedder, "calibration", None)
        if own is not None:
            return own
        return DEFAULT if identity is None else stored_calibration(self.store, identity)

    def fill(
        self, identity: Identity, now: datetime, progress: Progress | None, complete: Callable[[], bool] = lambda: True
    ) -> int:
        """Make every missing vector, until `complete` returns true when none is missing; return how many were made.

        The newest memories come first. Each batch is stored at once, so an interrupted run continues where it stopped.
        """
        total, done, before = self.store.count_without_vectors(identity.number), 0, _NEWEST
        refusals: list[EmbedderRefused] = []
        cause = Cause(action=Action.EMBED, at=now, rule="reembed", why=f"vectors made by {self.embedder.name}")
        while True:
            batch = self.store.without_vectors(identity.number, before, _BATCH)
            if not batch and (refusals or complete()):
                break
            refused = self._store_batch(identity, batch, cause)
            refusals += refused
            done += len(batch) - len(refused)
            before = batch[-1][0] if batch else _NEWEST
            if progress is not None and batch:
                progress(done, max(total, done))
        if refusals:
            raise EmbedderRefused(
                f"{self.embedder.name} refused {len(refusals)} contents; the other {done} are done. "
                f"The first refusal: {refusals[0]}"
            )
        return done

    def make_later(self, identity: Identity, rows: Sequence[tuple[int, str]], at: datetime) -> None:
        """Make the vectors of some memories, by number and content, after the caller has gone on."""
        cause = Cause(action=Action.EMBED, at=at, rule="long", why=f"vectors made by {self.embedder.name}")
        for row in rows:
            self.background.add(functools.partial(self._store_late, identity, row, cause))

    def _store_late(self, identity: Identity, row: tuple[int, str], cause: Cause) -> None:
        for refusal in self._store_batch(identity, [row], cause):
            raise refusal

    def _store_batch(self, identity: Identity, batch: list[tuple[int, str]], cause: Cause) -> list[EmbedderRefused]:
        """Store the vectors of a batch; if the embedder refuses it, of each content that it accepts.

        Returns the refusals, one for each content.
        """
        try:
            vectors = self.embed_contents([content for _, content in batch], identity)
        except EmbedderRefused as exc:
            if len(batch) == 1:
                return [exc]
            return [refusal for row in batch for refusal in self._store_batch(identity, [row], cause)]

        def add_vectors(transaction: Transaction) -> None:
            for (no, content), rows in zip(batch, vectors, strict=True):
                transaction.add_vectors(identity.number, no, content, rows, cause)

        self.store.transact(add_vectors)
        return []


def _require_dimensions(identity: Identity, dimensions: int) -> None:
    """Refuse vectors that cannot be compared with the stored ones of an embedder with the same name."""
    if identity.dimensions and dimensions != identity.dimensions:
        raise DimensionMismatch(
            f"{identity.name} made vectors of {identity.dimensions} dimensions here, not {dimensions}: "
            "give the embedder another name"
        )


_NAMESPACE = "calibrations"
#: How many vectors an estimate looks at, and how many it needs.
_SAMPLE = 2000
_ENOUGH = 64
#: Values without an end never expire, so any moment will do.
_ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)


def stored_calibration(store: Store, identity: Identity) -> Calibration:
    """Return what the cosines of an embedder mean, the same for every process that uses the store.

    The first query that finds 64 vectors estimates the calibration and stores it. It is estimated again when
    the number of events in the ledger reaches the next power of four: 256, 1024, 4096 and so on.
    Of several processes that estimate at once, the first one to store its estimate decides.
    """
    generation = (max(1, store.seq()).bit_length() - 1) // 2
    key = f"{generation}:{identity.name}"
    value = store.get_values(_NAMESPACE, _ANY_TIME, key).get(key)
    if value is None:
        sample = store.sample_vectors(_SAMPLE, identity)
        if sample is None or len(sample) < _ENOUGH:
            return DEFAULT
        value = json.dumps(estimate(sample).points)
        # A store that cannot be written now answers with its own estimate, and stores one later.
        with suppress(StoreError):
            value = store.put_value(_NAMESPACE, key, value, _ANY_TIME, None, replace=False) or value
    return Calibration(tuple((cosine, relevance) for cosine, relevance in json.loads(value)))


#: Returns the embedder with a name, or None if it cannot be found.
ResolveFormer = Callable[[str], Embedder | None]


class FormerEmbedders:
    """Finds former embedders by name, each once."""

    def __init__(self, store: Store, resolve: ResolveFormer = lambda _: None) -> None:
        self.resolve = resolve
        self._store = store
        self._sessions: dict[str, EmbedderSession | None] = {}
        self._lock = threading.Lock()

    def session(self, serving: Identity) -> EmbedderSession | None:
        """Return the session of the embedder whose vectors serve, or None if it cannot be found."""
        with self._lock:
            if serving.name not in self._sessions:
                former = self.resolve(serving.name)
                self._sessions[serving.name] = None if former is None else EmbedderSession(self._store, former)
            return self._sessions[serving.name]

    def close(self) -> None:
        """Release the resources of the embedders."""
        for session in self._sessions.values():
            if session is not None:
                embed.close(session.embedder)


class Background:
    """Jobs that one thread runs in their order; it ends when there are none.

    The interpreter waits for it when it ends. What fails is logged: the vectors are then missing, as the status says.
    """

    def __init__(self, name: str) -> None:
        self._process = OwnProcess(name)
        self._lock = threading.Lock()
        self._jobs: deque[Callable[[], object]] = deque()
        self._thread: threading.Thread | None = None

    def add(self, job: Callable[[], object]) -> None:
        """Run a job after those that were added before."""
        with self._lock:
            self._jobs.append(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="memotherm-vectors")
                self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether a job of this process has not ended."""
        return self._process.current and self._thread is not None

    def wait(self) -> None:
        """Return when all jobs have ended."""
        while self._process.current and (thread := self._thread) is not None:
            thread.join()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._jobs:
                    self._thread = None
                    return
                job = self._jobs.popleft()
            try:
                job()
            except MemothermError as exc:
                _log.warning("a long content waits for its vectors: %s", exc)
            except Exception:  # noqa: BLE001 - the next job is run
                _log.exception("a long content waits for its vectors")
