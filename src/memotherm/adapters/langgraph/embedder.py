"""The embedder of a LangGraph store: a vector for each indexed text of an item."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from langgraph.store.base.embed import EmbeddingsLambda
from numpy.typing import NDArray

from memotherm import embed
from memotherm.embed import Embedder

__all__ = ["SEPARATOR", "LangChainEmbedder", "TextsEmbedder"]

#: Stands between the indexed texts of an item.
SEPARATOR = "\x1e"


class TextsEmbedder:
    """Makes the vectors of contents that consist of several texts with another embedder."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        calibration = getattr(inner, "calibration", None)
        if calibration is not None:
            self.calibration = calibration

    @property
    def name(self) -> str:
        """The name of the embedder, whose vectors these are."""
        return self._inner.name

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return self._inner.dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of unit length for each text."""
        return embed.checked(self._inner, texts)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a query."""
        return embed.embed_query(self._inner, text)

    def query_weight(self, text: str) -> float:
        """Return what the cosines of a query count."""
        return embed.query_weight(self._inner, text)

    def word_similarity(self, words: Sequence[str], texts: Sequence[str]) -> NDArray[np.float32]:
        """Return how similar each word is to the most similar one of each text."""
        return embed.word_similarity(self._inner, words, texts)

    def split(self, content: str) -> list[str]:
        """Return the windows of each text."""
        return [window for text in content.split(SEPARATOR) for window in embed.split(self._inner, text)]

    def close(self) -> None:
        """Release the resources of the embedder."""
        embed.close(self._inner)


class LangChainEmbedder:
    """LangChain's embeddings as an embedder: each text gets one vector, however long it is."""

    def __init__(self, embeddings: Embeddings, dimensions: int) -> None:
        self._embeddings = embeddings
        model = getattr(embeddings, "model", None) or getattr(embeddings, "model_name", "")
        self.name = f"langchain:{type(embeddings).__name__}:{model}:{dimensions}"
        self.dimensions = dimensions
        #: A function that LangGraph's wrapper calls in a coroutine only.
        self._only_async = isinstance(embeddings, EmbeddingsLambda) and getattr(embeddings, "func", None) is None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text."""
        if self._only_async:
            return np.asarray(_result(self._embeddings.aembed_documents(list(texts))), np.float32)
        return np.asarray(self._embeddings.embed_documents(list(texts)), np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a query."""
        if self._only_async:
            return np.asarray(_result(self._embeddings.aembed_query(text)), np.float32)
        return np.asarray(self._embeddings.embed_query(text), np.float32)

    def split(self, text: str) -> list[str]:
        """Return the text as one window, as LangGraph's own stores do."""
        return [text]


def _result(coroutine: Coroutine[Any, Any, list[Any]]) -> list[Any]:
    """Run a coroutine in an event loop of its own, also where another loop is running."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()
