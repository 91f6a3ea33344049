"""Load the tokenizer, the model and the code that a hook or command needs, before it needs them.

Both the tokenizer and the model are loaded by compiled code, most of it without the lock of the interpreter: a process
that answers one event and ends loads them in threads while it imports the rest, so that two cores share the work. The
threads import nothing, because two threads that import the same packages can see modules that are not complete; what
they need is imported before they start.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING

from memotherm.settings import Settings

if TYPE_CHECKING:
    from memotherm.embed.local import LocalEmbedder

__all__ = ["Loading", "load_all", "local_embedder"]

#: Contains an angle bracket and a date, to compile the patterns that look for them.
_TEXT = "The staging database is called <heron> since March 2026."


def local_embedder(settings: Settings) -> LocalEmbedder | None:
    """Return the embedder of the settings if it is the local one and can be used."""
    if settings.embedder.partition("?")[0] not in ("auto", "local"):
        return None
    from memotherm.embed import resolve
    from memotherm.embed.local import LocalEmbedder

    embedder = resolve(settings.embedder)
    return embedder if isinstance(embedder, LocalEmbedder) and embedder.is_installed() else None


class Loading:
    """Threads that load the tokenizer and the model for a hook."""

    def __init__(self, tokenizer: str, embedder: LocalEmbedder | None) -> None:
        """Begin to load.

        Args:
            tokenizer: The name of the tokenizer.
            embedder: The embedder whose model the event needs, if there is one.
        """
        self._threads: list[Thread] = []
        # If loading fails here, its user loads again and reports the error.
        with suppress(Exception):
            from memotherm.text.tokens import counter

            self._start(counter(tokenizer).prepare)
        if embedder is not None:
            with suppress(Exception):
                from memotherm.embed.local import import_onnxruntime

                import_onnxruntime()
                self._start(embedder.load)

    def wait(self) -> None:
        """Return when everything is loaded."""
        for thread in self._threads:
            thread.join()

    def _start(self, load: Callable[[], None]) -> None:
        def run() -> None:
            with suppress(Exception):
                load()

        thread = Thread(target=run, daemon=True)
        thread.start()
        self._threads.append(thread)


def load_all(settings: Settings) -> object:
    """Rehearse every part that a command or hook uses, and return the loaded model.

    Args:
        settings: The settings of the user; an embedding service is not called.
    """
    from memotherm import embed, opening
    from memotherm.embed.local import LocalEmbedder
    from memotherm.model import Scope
    from memotherm.storage.sqlite.band import coding_available
    from memotherm.tiers.rules import DEFAULT_RULES

    embedder = embed.resolve(settings.embedder)
    model = embedder if isinstance(embedder, LocalEmbedder) else None
    if model is not None:
        model.embed_query(_TEXT)
    coding_available()
    rehearsal = Settings(tokenizer=settings.tokenizer, embedder="none" if model is None else settings.embedder)
    with opening.open(":memory:", scope=Scope(project="rehearsal"), rules=DEFAULT_RULES, settings=rehearsal) as mem:
        memory = mem.remember(_TEXT, tags=["rehearsal"])
        mem.recall(_TEXT)
        mem.context(_TEXT)
        mem.get(memory.id)
        mem.find()
        mem.status()
        mem.metrics()
        session = mem.session("rehearsal")
        session.session_start(800)
        session.before_turn(_TEXT, 800)
        session.flush_due(None)
    return model
