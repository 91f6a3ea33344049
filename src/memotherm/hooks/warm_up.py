"""Load the tokenizer, the model and the code that a hook or command needs, before it needs them.

Both the tokenizer and the model are loaded by compiled code, most of it without the lock of the interpreter: a process
that answers one event and ends loads them in threads while it imports the rest, so that two cores share the work. The
threads import nothing, because two threads that import the same packages can see modules that are not complete; what
they need is imported before they start.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from threading import Thread
from typing import TYPE_CHECKING

from memotherm.settings import Settings, load

if TYPE_CHECKING:
    from memotherm.embed.local import LocalEmbedder

#: Contains an angle bracket and a date, to compile the patterns that look for them.
_TEXT = "The staging database is called <heron> since March 2026."
#: A question, for which a context looks whether it asks for rules, for tasks or about the user.
_QUESTION = "Which database is staging?"
_COMMAND = "psql staging/heron.sql"


def local_embedder(settings: Settings) -> LocalEmbedder | None:
    """Return the embedder of the settings if it is the local one and can be used."""
    if settings.embedder.partition("?")[0] not in ("auto", "local"):
        return None
    from memotherm.embed import resolve
    from memotherm.embed.local import LocalEmbedder

    embedder = resolve(settings.embedder)
    return embedder if isinstance(embedder, LocalEmbedder) and embedder.is_installed() else None


@cache
def start_tokenizer() -> None:
    """Start a thread that loads the tokenizer: it takes longest, so it begins before anything else is imported.

    Later calls do nothing.
    """
    with suppress(Exception):
        from memotherm.text.tokens import counter

        _start(counter(load().tokenizer).prepare)


def start_model(embedder: LocalEmbedder) -> None:
    """Start a thread that loads the model."""
    with suppress(Exception):
        from memotherm.embed.local import import_onnxruntime

        import_onnxruntime()
        _start(partial(embedder.load, briefly=True))


def _start(job: Callable[[], None]) -> None:
    # Whoever needs it waits for it. If it fails here, its user loads again and reports the error.
    Thread(target=_try_to, args=(job,), daemon=True).start()


def _try_to(job: Callable[[], None]) -> None:
    with suppress(Exception):
        job()


def load_all(settings: Settings) -> object:
    """Rehearse every part that a command or hook uses, and return the loaded model.

    An embedding service is not called.
    """
    from memotherm import embed, opening
    from memotherm.embed.local import LocalEmbedder
    from memotherm.model import Scope
    from memotherm.notes import notes  # noqa: F401 - some stores have notes, or adopted policies
    from memotherm.statements.kinds import kind_by_phrases
    from memotherm.statements.replacing import concerns
    from memotherm.storage.sqlite.band import coding_available
    from memotherm.text.patterns import compile_all
    from memotherm.tiers import adoption  # noqa: F401
    from memotherm.tiers.rules import DEFAULT_RULES

    embedder = embed.resolve(settings.embedder)
    model = embedder if isinstance(embedder, LocalEmbedder) else None
    if model is not None:
        model.embed_query(_TEXT)
    coding_available()
    # What tells versions and conflicts apart.
    kind_by_phrases(_TEXT)
    concerns(frozenset(), _TEXT, _TEXT)
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
        session.before_turn(_QUESTION, 800)
        session.before_tool("Bash", command=_COMMAND, input=_COMMAND)
        session.flush_due(None)
    compile_all()
    return model
