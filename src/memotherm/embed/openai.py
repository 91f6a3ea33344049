"""Embedding by OpenAI, or by any server with the same API.

Ollama, vLLM, LM Studio, TEI, LiteLLM and Azure differ only in their base URL.
"""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from memotherm.embed import http, windows
from memotherm.embed.remote import RemoteEmbedder, Tuning
from memotherm.embed.secret import checked_key, checked_url, host_of
from memotherm.errors import EmbedderError, SettingsError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["OpenAIEmbedder"]

BASE_URL = "https://api.openai.com/v1"
HOST = "api.openai.com"
DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
#: OpenAI accepts 2,048 texts and 300,000 tokens; the estimate of tokens may be too low.
MAX_TEXTS, MAX_TOKENS = 256, 250_000
#: For other servers: TEI accepts 32 texts, and a single CPU must respond before the timeout.
MAX_TEXTS_ELSEWHERE = 32


class OpenAIEmbedder(RemoteEmbedder):
    """Embeds by `POST {base_url}/embeddings`; only OpenAI itself requires a key."""

    def __init__(
        self,
        model: str = "text-embedding-3-small",
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
        url, headers = checked_url(base_url)
        host, key = host_of(url), checked_key(api_key)
        if key is not None:
            headers = {"Authorization": f"Bearer {key}"}
        if not headers and host == HOST:
            raise SettingsError("OpenAI needs a key: pass api_key, or set OPENAI_API_KEY.")
        self._model, self._requested = model, dimensions
        size = dimensions or DIMENSIONS.get(model, 0)
        # Host, model and dimensions: vectors that differ in one of them are not comparable.
        name = f"openai:{host}/{model}" + (f":{size}" if size else "")
        service = http.Service(name=name, url=f"{url}/embeddings", headers=headers)
        tuning = Tuning(
            max_texts=max_texts or (MAX_TEXTS if host == HOST else MAX_TEXTS_ELSEWHERE),
            max_tokens=MAX_TOKENS,
            max_chars=max_chars,
            timeout=timeout,
            retries=retries,
            sleep=sleep,
        )
        super().__init__(service, size, tuning)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts in batches; all of them or an error, never a part."""
        return self._embed(texts, self._send)

    def _send(self, batch: list[str]) -> list[NDArray[np.float32]]:
        payload: dict[str, object] = {"model": self._model, "input": batch}
        if self._requested:
            # Models with one size refuse the field, so it is sent only if it was passed.
            payload["dimensions"] = self._requested
        return _vectors(self._transport.post(payload), self.name)


def _vectors(answer: Any, name: str) -> list[NDArray[np.float32]]:  # noqa: ANN401  # JSON is anything
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
