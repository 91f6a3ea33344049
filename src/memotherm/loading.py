"""Load the tokenizer and the model in threads, while a hook imports the rest.

Both are loaded by compiled code, most of it without the lock of the interpreter: two cores share the work of a
process that answers one event and ends. The threads import nothing, because two threads that import the same
packages can see modules that are not complete; what they need is imported before they start.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Thread

from memotherm.settings import Settings

__all__ = ["Loading"]


class Loading:
    """What is being loaded; it keeps the model in memory for the embedder of the store."""

    def __init__(self, settings: Settings, *, model: bool) -> None:
        """Begin to load.

        Args:
            settings: The settings, which name the tokenizer and the embedder.
            model: Whether the event needs the model.
        """
        self._threads: list[Thread] = []
        # What cannot be loaded is loaded again by its user, who reports the error.
        with suppress(Exception):
            self._load_tokenizer(settings.tokenizer)
        if model and settings.embedder.partition("?")[0] in ("auto", "local"):
            with suppress(Exception):
                self._load_model(settings.embedder)

    def wait(self) -> None:
        """Return when everything is loaded."""
        for thread in self._threads:
            thread.join()

    def _load_tokenizer(self, name: str) -> None:
        from memotherm.text.tokens import counter

        self._start(counter(name).prepare)

    def _load_model(self, specification: str) -> None:
        from memotherm.embed import resolve
        from memotherm.embed.local import LocalEmbedder, import_onnxruntime

        self._embedder = resolve(specification)
        if isinstance(self._embedder, LocalEmbedder):
            import_onnxruntime()
            self._start(self._embedder.load)

    def _start(self, load: Callable[[], None]) -> None:
        def run() -> None:
            with suppress(Exception):
                load()

        thread = Thread(target=run, daemon=True)
        thread.start()
        self._threads.append(thread)
