"""Settings: embedding."""

from __future__ import annotations

from dataclasses import dataclass

from memotherm.settings.declaration import setting

__all__ = ["EmbeddingSettings"]


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class EmbeddingSettings:
    """What turns text into vectors."""

    __slots__ = ()

    embedder: str = setting(
        "local",
        "The embedder: local, openai, gemini, none, auto (local if its model can be run, else openai or gemini if "
        "there is a key), the URL of an OpenAI-compatible server, or a plugin's name.",
        project=("local", "none"),
    )
    fallback_embedder: str = setting(
        "",
        "The embedder to use while the first one fails; empty: none. Vectors of both are stored.",
        project=("", "local", "none"),
    )
    openai_api_key: str = setting(
        "", "The API key for an OpenAI-compatible embedder; also read from OPENAI_API_KEY.", secret=True
    )
    gemini_api_key: str = setting(
        "", "The API key for Gemini; also read from GEMINI_API_KEY or GOOGLE_API_KEY.", secret=True
    )
