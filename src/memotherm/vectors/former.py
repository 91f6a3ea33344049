"""The embedders that made a store's vectors before it was opened with another one."""

from __future__ import annotations

import threading
from collections.abc import Callable

from memotherm import embed
from memotherm.embed import Embedder
from memotherm.storage.store import Store
from memotherm.storage.values import Identity
from memotherm.vectors.embedder_session import EmbedderSession

__all__ = ["FormerEmbedders", "ResolveFormer"]

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
