"""Load what a command needs before the first one comes."""

from __future__ import annotations

from memotherm import embed, opening
from memotherm.embed.local import LocalEmbedder
from memotherm.model import Scope
from memotherm.settings import Settings

__all__ = ["warm"]

#: With an angle, for which texts are searched by patterns that take long to compile.
_TEXT = "The staging database is called <heron>."


def warm(settings: Settings) -> object:
    """Use every part once that a command or hook uses, and return what keeps the model in memory.

    Args:
        settings: The settings of the user; an embedding service is not called.
    """
    embedder = embed.resolve(settings.embedder)
    model = embedder if isinstance(embedder, LocalEmbedder) else None
    if model is not None:
        model.embed_query(_TEXT)
    rehearsal = Settings(tokenizer=settings.tokenizer, embedder="none" if model is None else settings.embedder)
    with opening.open(":memory:", scope=Scope(project="warm"), settings=rehearsal) as mem:
        memory = mem.remember(_TEXT, tags=["warm"])
        mem.recall(_TEXT)
        mem.context(_TEXT)
        mem.get(memory.id)
        mem.find()
        mem.status()
        mem.metrics()
        session = mem.session("warm")
        session.session_start(800)
        session.before_turn(_TEXT, 800)
    return model
