"""Embedding by Google's Gemini API."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from memotherm.embed import http, windows
from memotherm.embed.remote import RemoteEmbedder, Tuning
from memotherm.embed.secret import checked_key, checked_url, host_of
from memotherm.errors import EmbedderError, SettingsError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["GeminiEmbedder"]

BASE_URL = "https://generativelanguage.googleapis.com/v1beta"
HOST = "generativelanguage.googleapis.com"
DIMENSIONS = {"gemini-embedding-001": 3072, "gemini-embedding-2": 3072}
#: The API accepts 100 texts of 2,048 tokens each.
MAX_TEXTS, MAX_TOKENS = 100, 100_000

DOCUMENT, QUERY = "RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY"
#: Models after 001 expect the task as a prefix instead of a field.
PREFIXES = {DOCUMENT: "title: none | text: ", QUERY: "task: search result | query: "}
TASK_FIELD_MODELS = frozenset({"gemini-embedding-001"})


class GeminiEmbedder(RemoteEmbedder):
    """Embeds by `POST {base_url}/models/{model}:batchEmbedContents`."""

    def __init__(
        self,
        model: str = "gemini-embedding-001",
        base_url: str = BASE_URL,
        api_key: str | None = None,
        dimensions: int | None = None,
        *,
        timeout: float = http.READ_SECONDS,
        retries: int = http.RETRIES,
        max_texts: int | None = None,
        max_chars: int = windows.MAX_CHARS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        model = model.removeprefix("models/")
        url, headers = checked_url(base_url)
        host, key = host_of(url), checked_key(api_key)
        if key is not None:
            headers = {**headers, "x-goog-api-key": key}
        if not headers and host == HOST:
            raise SettingsError("Gemini needs a key: pass api_key, or set GEMINI_API_KEY.")
        self._model, self._requested = model, dimensions
        size = dimensions or DIMENSIONS.get(model, 0)
        name = f"gemini:{host}/{model}" + (f":{size}" if size else "")
        service = http.Service(name=name, url=f"{url}/models/{quote(model)}:batchEmbedContents", headers=headers)
        tuning = Tuning(
            max_texts=max_texts or MAX_TEXTS,
            max_tokens=MAX_TOKENS,
            max_chars=max_chars,
            timeout=timeout,
            retries=retries,
            sleep=sleep,
        )
        super().__init__(service, size, tuning)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed stored texts in batches; all of them or an error, never a part."""
        return self._embed(texts, lambda batch: self._send(batch, DOCUMENT))

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a query."""
        vector: NDArray[np.float32] = self._embed([text], lambda batch: self._send(batch, QUERY))[0]
        return vector

    def _send(self, batch: list[str], task: str) -> list[NDArray[np.float32]]:
        requests = [self._request(text, task) for text in batch]
        return _vectors(self._transport.post({"requests": requests}), self.name)

    def _request(self, text: str, task: str) -> dict[str, object]:
        """Return the request for one text; several texts in one request would get one vector."""
        request: dict[str, object] = {"model": f"models/{self._model}"}
        if self._model in TASK_FIELD_MODELS:
            request["taskType"] = task
        else:
            text = PREFIXES[task] + text
        if self._requested:
            request["outputDimensionality"] = self._requested
        return {**request, "content": {"parts": [{"text": text}]}}


def _vectors(answer: Any, name: str) -> list[NDArray[np.float32]]:  # noqa: ANN401  # JSON is anything
    try:
        rows = [entry["values"] for entry in answer["embeddings"]]
        return [np.array(row, dtype=np.float32).reshape(len(row)) for row in rows]
    except (KeyError, TypeError, ValueError) as error:
        raise EmbedderError(f"{name} did not respond as the Gemini API does; check base_url and model.") from error
