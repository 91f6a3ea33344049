"""Embedding services over HTTP: OpenAI-compatible servers and Gemini.

Ollama, vLLM, LM Studio, TEI, LiteLLM and Azure have the API of OpenAI and differ only in their base URL.
"""

from __future__ import annotations

import base64
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import quote

import numpy as np

from memotherm.embed import http, windows
from memotherm.embed.http import checked_key, checked_url, host_of
from memotherm.embed.protocol import unit
from memotherm.errors import DimensionMismatch, EmbedderError, SettingsError

if TYPE_CHECKING:
    from numpy.typing import NDArray

DOCUMENT, QUERY = "RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY"


class RemoteEmbedder(ABC):
    """Sends texts in batches and returns unit vectors; the dimensions of an unknown model come from its response.

    A key is required only by the service itself, not by other servers with its API.
    """

    service: ClassVar[str]
    title: ClassVar[str]
    default_model: ClassVar[str]
    default_url: ClassVar[str]
    model_prefix: ClassVar[str] = ""
    #: The path of a model, below the base URL.
    path: ClassVar[str]
    key_header: ClassVar[str]
    key_format: ClassVar[str] = "{}"
    #: What to check when a response has another form.
    advice: ClassVar[str]
    #: The dimensions of known models.
    known_dimensions: ClassVar[Mapping[str, int]]
    #: Texts and estimated tokens of a request; the estimate may be too low.
    max_texts: ClassVar[int]
    max_texts_elsewhere: ClassVar[int]
    max_tokens: ClassVar[int]

    def __init__(
        self,
        model: str | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        dimensions: int | None = None,
        *,
        timeout: float = http.READ_SECONDS,
        retries: int = http.RETRIES,
        max_texts: int | None = None,
        max_chars: int = windows.MAX_CHARS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._model = (model or self.default_model).removeprefix(self.model_prefix)
        url, headers = checked_url(base_url or self.default_url)
        host, key = host_of(url), checked_key(api_key)
        official = host == host_of(self.default_url)
        if key is not None:
            headers = {**headers, self.key_header: self.key_format.format(key)}
        if not headers and official:
            raise SettingsError(f"{self.title} needs a key: pass api_key, or set {self.service.upper()}_API_KEY.")
        self._requested = dimensions
        self._dimensions = dimensions or self.known_dimensions.get(self._model, 0)
        # Host, model and dimensions: vectors that differ in one of them are not comparable.
        self.name = f"{self.service}:{host}/{self._model}" + (f":{self._dimensions}" if self._dimensions else "")
        self.max_chars = max_chars
        self._max_texts = max_texts or (self.max_texts if official else self.max_texts_elsewhere)
        self._transport = http.Transport(
            self.name,
            url + self.path.format(quote(self._model)),
            headers,
            timeout=timeout,
            retries=retries,
            sleep=sleep,
        )

    @property
    def dimensions(self) -> int:
        """The length of a vector; 0 until the first response of an unknown model."""
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed stored texts in batches; all or none."""
        return self._embed(texts, DOCUMENT)

    def close(self) -> None:
        """Close idle connections."""
        self._transport.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def _embed(self, texts: Sequence[str], task: str) -> NDArray[np.float32]:
        def send(batch: list[str]) -> list[NDArray[np.float32]]:
            answer = self._transport.post(self._payload(batch, task))
            try:
                return self._vectors(answer)
            except (KeyError, TypeError, ValueError) as error:
                raise EmbedderError(
                    f"{self.name} did not respond as the {self.title} API does; {self.advice}"
                ) from error

        rows = http.in_batches(texts, send, max_texts=self._max_texts, max_tokens=self.max_tokens, name=self.name)
        if not rows:
            return np.empty((0, self._dimensions), dtype=np.float32)
        lengths = {len(row) for row in rows}
        expected = self._dimensions or min(lengths)
        if lengths != {expected} or not expected:
            raise DimensionMismatch(
                f"{self.name} returned vectors of {sorted(lengths)} dimensions instead of {expected}; "
                "set `dimensions` to those of the model, and check that it is an embedding model."
            )
        self._dimensions = expected
        return unit(np.stack(rows), count=len(rows), name=self.name)

    @abstractmethod
    def _payload(self, batch: list[str], task: str) -> dict[str, object]:
        """Return the body of a request."""

    @abstractmethod
    def _vectors(self, answer: Any) -> list[NDArray[np.float32]]:  # noqa: ANN401  # JSON is anything
        """Return the vectors of a response in the order of the texts."""


class OpenAIEmbedder(RemoteEmbedder):
    """Embeds by `POST {base_url}/embeddings`."""

    service, title = "openai", "OpenAI"
    default_model = "text-embedding-3-small"
    default_url = "https://api.openai.com/v1"
    path, key_header, key_format = "/embeddings", "Authorization", "Bearer {}"
    known_dimensions: ClassVar[Mapping[str, int]] = {
        "text-embedding-3-small": 1536,
        "text-embedding-3-large": 3072,
        "text-embedding-ada-002": 1536,
    }
    # OpenAI accepts 2,048 texts and 300,000 tokens. TEI accepts 32 texts, and a single CPU must respond in time.
    max_texts, max_texts_elsewhere, max_tokens = 256, 32, 250_000
    advice = "check that base_url is the part before /embeddings, for example .../v1."

    def _payload(self, batch: list[str], task: str) -> dict[str, object]:  # noqa: ARG002
        # Models with one size refuse the field, so it is sent only if it was passed.
        size = {"dimensions": self._requested} if self._requested else {}
        return {"model": self._model, "input": batch, **size}

    def _vectors(self, answer: Any) -> list[NDArray[np.float32]]:  # noqa: ANN401
        entries = sorted(answer["data"], key=lambda entry: int(entry["index"]))
        if [entry["index"] for entry in entries] != list(range(len(entries))):
            raise EmbedderError(f"{self.name} numbered its vectors wrongly; nothing was stored. Check the server.")
        return [_vector(entry["embedding"]) for entry in entries]


def _vector(embedding: str | list[float]) -> NDArray[np.float32]:
    """Return one vector: numbers, or base64 of little-endian float32."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").astype(np.float32)
    return np.array(embedding, dtype=np.float32).reshape(len(embedding))


#: Models after 001 expect the task as a prefix instead of a field.
PREFIXES = {DOCUMENT: "title: none | text: ", QUERY: "task: search result | query: "}
TASK_FIELD_MODELS = frozenset({"gemini-embedding-001"})


class GeminiEmbedder(RemoteEmbedder):
    """Embeds by `POST {base_url}/models/{model}:batchEmbedContents`."""

    service, title = "gemini", "Gemini"
    default_model = "gemini-embedding-001"
    default_url = "https://generativelanguage.googleapis.com/v1beta"
    path, model_prefix, key_header = "/models/{}:batchEmbedContents", "models/", "x-goog-api-key"
    known_dimensions: ClassVar[Mapping[str, int]] = {"gemini-embedding-001": 3072, "gemini-embedding-2": 3072}
    # The API accepts 100 texts of 2,048 tokens each.
    max_texts, max_texts_elsewhere, max_tokens = 100, 100, 100_000
    advice = "check base_url and model."

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a query."""
        vector: NDArray[np.float32] = self._embed([text], QUERY)[0]
        return vector

    def _payload(self, batch: list[str], task: str) -> dict[str, object]:
        common: dict[str, object] = {"model": f"models/{self._model}"}
        prefix = PREFIXES[task]
        if self._model in TASK_FIELD_MODELS:
            common["taskType"], prefix = task, ""
        if self._requested:
            common["outputDimensionality"] = self._requested
        # Several texts in one request would get one vector.
        return {"requests": [{**common, "content": {"parts": [{"text": prefix + text}]}} for text in batch]}

    def _vectors(self, answer: Any) -> list[NDArray[np.float32]]:  # noqa: ANN401
        return [_vector(entry["values"]) for entry in answer["embeddings"]]
