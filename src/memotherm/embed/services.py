"""Embedding services over HTTP: OpenAI-compatible servers and Gemini.

Ollama, vLLM, LM Studio, TEI, LiteLLM and Azure have the API of OpenAI and differ only in their base URL.
"""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from memotherm.embed import http, windows
from memotherm.embed.http import in_batches
from memotherm.embed.protocol import unit
from memotherm.embed.secret import checked_key, checked_url, host_of
from memotherm.errors import DimensionMismatch, EmbedderError, SettingsError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["GeminiEmbedder", "OpenAIEmbedder", "RemoteEmbedder", "Tuning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Options that all remote embedders have in common."""

    #: Maximum texts per request.
    max_texts: int
    #: Maximum estimated tokens per request.
    max_tokens: int
    #: Characters of one window of a long content.
    max_chars: int = windows.MAX_CHARS
    #: Seconds to wait for an answer.
    timeout: float = http.READ_SECONDS
    #: The number of retries.
    retries: int = http.RETRIES
    #: The function that waits between tries.
    sleep: Callable[[float], None] = time.sleep


class RemoteEmbedder:
    """Sends texts in batches and returns unit vectors; the dimensions of an unknown model come from its response."""

    def __init__(self, service: http.Service, dimensions: int, tuning: Tuning) -> None:
        self.name = service.name
        self.max_chars = tuning.max_chars
        self._dimensions = dimensions
        self._tuning = tuning
        self._transport = http.Transport(service, timeout=tuning.timeout, retries=tuning.retries, sleep=tuning.sleep)

    @property
    def dimensions(self) -> int:
        """The length of a vector; 0 until the first response of an unknown model."""
        return self._dimensions

    def close(self) -> None:
        """Close idle connections."""
        self._transport.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def _embed(
        self, texts: Sequence[str], send: Callable[[list[str]], list[NDArray[np.float32]]]
    ) -> NDArray[np.float32]:
        """Embed all texts, or raise."""
        tuning = self._tuning
        rows = in_batches(texts, send, max_texts=tuning.max_texts, max_tokens=tuning.max_tokens, name=self.name)
        if not rows:
            return np.empty((0, self._dimensions), dtype=np.float32)
        self._set_dimensions({len(row) for row in rows})
        return unit(np.stack(rows), count=len(rows), name=self.name)

    def _set_dimensions(self, lengths: set[int]) -> None:
        """Set the dimensions of an unknown model from its first response, and check later ones."""
        expected = self._dimensions or min(lengths)
        if lengths != {expected} or not expected:
            raise DimensionMismatch(
                f"{self.name} returned vectors of {sorted(lengths)} dimensions instead of {expected}; "
                "set `dimensions` to those of the model, and check that it is an embedding model."
            )
        self._dimensions = expected


OPENAI_BASE_URL = "https://api.openai.com/v1"
OPENAI_HOST = "api.openai.com"
OPENAI_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
#: OpenAI accepts 2,048 texts and 300,000 tokens; the estimate of tokens may be too low.
OPENAI_MAX_TEXTS, OPENAI_MAX_TOKENS = 256, 250_000
#: For other servers: TEI accepts 32 texts, and a single CPU must respond before the timeout.
MAX_TEXTS_ELSEWHERE = 32


class OpenAIEmbedder(RemoteEmbedder):
    """Embeds by `POST {base_url}/embeddings`; only OpenAI itself requires a key."""

    def __init__(
        self,
        model: str = "text-embedding-3-small",
        base_url: str = OPENAI_BASE_URL,
        api_key: str | None = None,
        dimensions: int | None = None,
        *,
        timeout: float = http.READ_SECONDS,
        retries: int = http.RETRIES,
        max_texts: int | None = None,
        max_chars: int = windows.MAX_CHARS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        url, headers = checked_url(base_url)
        host, key = host_of(url), checked_key(api_key)
        if key is not None:
            headers = {"Authorization": f"Bearer {key}"}
        if not headers and host == OPENAI_HOST:
            raise SettingsError("OpenAI needs a key: pass api_key, or set OPENAI_API_KEY.")
        self._model, self._requested = model, dimensions
        size = dimensions or OPENAI_DIMENSIONS.get(model, 0)
        # Host, model and dimensions: vectors that differ in one of them are not comparable.
        name = f"openai:{host}/{model}" + (f":{size}" if size else "")
        service = http.Service(name=name, url=f"{url}/embeddings", headers=headers)
        tuning = Tuning(
            max_texts=max_texts or (OPENAI_MAX_TEXTS if host == OPENAI_HOST else MAX_TEXTS_ELSEWHERE),
            max_tokens=OPENAI_MAX_TOKENS,
            max_chars=max_chars,
            timeout=timeout,
            retries=retries,
            sleep=sleep,
        )
        super().__init__(service, size, tuning)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts in batches; all or none."""
        return self._embed(texts, self._send)

    def _send(self, batch: list[str]) -> list[NDArray[np.float32]]:
        payload: dict[str, object] = {"model": self._model, "input": batch}
        if self._requested:
            # Models with one size refuse the field, so it is sent only if it was passed.
            payload["dimensions"] = self._requested
        return _openai_vectors(self._transport.post(payload), self.name)


def _openai_vectors(answer: Any, name: str) -> list[NDArray[np.float32]]:  # noqa: ANN401  # JSON is anything
    """Return the vectors of a response in the order of the texts."""
    try:
        entries = sorted(answer["data"], key=lambda entry: int(entry["index"]))
        if [entry["index"] for entry in entries] != list(range(len(entries))):
            raise EmbedderError(f"{name} numbered its vectors wrongly; nothing was stored. Check the server.")
        return [_vector(entry["embedding"]) for entry in entries]
    except (KeyError, TypeError, ValueError, binascii.Error) as error:
        raise EmbedderError(
            f"{name} did not respond as the OpenAI API does; check that base_url is the part before "
            "/embeddings, for example .../v1."
        ) from error


def _vector(embedding: str | list[float]) -> NDArray[np.float32]:
    """Return one vector: numbers, or base64 of little-endian float32."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").astype(np.float32)
    return np.array(embedding, dtype=np.float32).reshape(len(embedding))


GEMINI_BASE_URL = "https://generativelanguage.googleapis.com/v1beta"
GEMINI_HOST = "generativelanguage.googleapis.com"
GEMINI_DIMENSIONS = {"gemini-embedding-001": 3072, "gemini-embedding-2": 3072}
#: The API accepts 100 texts of 2,048 tokens each.
GEMINI_MAX_TEXTS, GEMINI_MAX_TOKENS = 100, 100_000

DOCUMENT, QUERY = "RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY"
#: Models after 001 expect the task as a prefix instead of a field.
PREFIXES = {DOCUMENT: "title: none | text: ", QUERY: "task: search result | query: "}
TASK_FIELD_MODELS = frozenset({"gemini-embedding-001"})


class GeminiEmbedder(RemoteEmbedder):
    """Embeds by `POST {base_url}/models/{model}:batchEmbedContents`."""

    def __init__(
        self,
        model: str = "gemini-embedding-001",
        base_url: str = GEMINI_BASE_URL,
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
        if not headers and host == GEMINI_HOST:
            raise SettingsError("Gemini needs a key: pass api_key, or set GEMINI_API_KEY.")
        self._model, self._requested = model, dimensions
        size = dimensions or GEMINI_DIMENSIONS.get(model, 0)
        name = f"gemini:{host}/{model}" + (f":{size}" if size else "")
        service = http.Service(name=name, url=f"{url}/models/{quote(model)}:batchEmbedContents", headers=headers)
        tuning = Tuning(
            max_texts=max_texts or GEMINI_MAX_TEXTS,
            max_tokens=GEMINI_MAX_TOKENS,
            max_chars=max_chars,
            timeout=timeout,
            retries=retries,
            sleep=sleep,
        )
        super().__init__(service, size, tuning)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed stored texts in batches; all or none."""
        return self._embed(texts, lambda batch: self._send(batch, DOCUMENT))

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a query."""
        vector: NDArray[np.float32] = self._embed([text], lambda batch: self._send(batch, QUERY))[0]
        return vector

    def _send(self, batch: list[str], task: str) -> list[NDArray[np.float32]]:
        requests = [self._request(text, task) for text in batch]
        return _gemini_vectors(self._transport.post({"requests": requests}), self.name)

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


def _gemini_vectors(answer: Any, name: str) -> list[NDArray[np.float32]]:  # noqa: ANN401  # JSON is anything
    try:
        rows = [entry["values"] for entry in answer["embeddings"]]
        return [np.array(row, dtype=np.float32).reshape(len(row)) for row in rows]
    except (KeyError, TypeError, ValueError) as error:
        raise EmbedderError(f"{name} did not respond as the Gemini API does; check base_url and model.") from error
