"""HTTP requests to embedding services: keys, URLs, batches, timeouts, retries, and errors that name the remedy.

Keys never appear in a repr, a log line or an error.
"""

from __future__ import annotations

import json
import logging
import random
import re
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlsplit

from memotherm.errors import EmbedderError, EmbedderRefused, EmbedderUnavailable, InvalidInput, PluginUnavailable
from memotherm.model.clock import system_clock

if TYPE_CHECKING:
    import urllib3


def checked_key(key: str | None) -> str | None:
    """Return a key that is valid in a header; the HTTP library would print an invalid one in its error."""
    if key is None or not key.strip():
        return None
    key = key.strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise InvalidInput("The API key has invalid characters; copy it again, without line breaks.")
    return key


def checked_url(url: str) -> tuple[str, dict[str, str]]:
    """Return a URL without user and trailing slash, and the header for its user and password."""
    parts = urlsplit(url)
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if parts.scheme not in ("http", "https") or not host:
        raise InvalidInput(f"{redact_url(url)} is not a URL; use http(s)://host[:port]/path.")
    if parts.query or parts.fragment:
        # The logs of servers and proxies would contain it.
        raise InvalidInput(f"{redact_url(url)}: a base URL has no query; pass a key as api_key.")
    netloc = f"[{host}]" if ":" in host else host
    netloc += f":{port}" if port else ""
    headers = {}
    if parts.username or parts.password:
        pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
    return f"{parts.scheme}://{netloc}{parts.path.rstrip('/')}", headers


def host_of(url: str) -> str:
    """Return the host and port of a URL, which identify a service."""
    return urlsplit(url).netloc.rpartition("@")[2].lower()


def redact_url(url: str) -> str:
    """Return a URL without user, query and fragment."""
    bare = re.split(r"[?#]", url, maxsplit=1)[0]
    return re.sub(r"//[^/]*@", "//", bare)


def redact(text: str, secrets: Sequence[str] = ()) -> str:
    """Return a text without secrets and without anything that looks like a key."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    text = re.sub(r"(?i)\bbearer\s+\S+", "Bearer ***", text)
    return re.sub(r"\b(?:sk|pk|AIza|hf|gsk|pa)[-_][\w*.-]{6,}|\bAIza[\w*-]{10,}", "***", text)


def secrets_of(headers: Mapping[str, str]) -> list[str]:
    """Return every header value and, of `Bearer KEY`, the key alone."""
    return [part for value in headers.values() for part in {value, value.rpartition(" ")[2]} if part]


T = TypeVar("T")


class BadBatch(EmbedderRefused):
    """The service refused this batch; it is halved and sent again."""


def batches(texts: Sequence[str], *, max_texts: int, max_tokens: int) -> Iterator[list[str]]:
    """Group texts in order, with limits on texts and estimated tokens per group."""
    group: list[str] = []
    total = 0
    for text in texts:
        tokens = estimated_tokens(text)
        if group and (len(group) == max_texts or total + tokens > max_tokens):
            yield group
            group, total = [], 0
        group.append(text)
        total += tokens
    if group:
        yield group


def in_batches(
    texts: Sequence[str],
    send: Callable[[list[str]], list[T]],
    *,
    max_texts: int,
    max_tokens: int,
    name: str,
) -> list[T]:
    """Send texts in batches and return one raw vector for each, in order."""
    clean = [_sendable(text, position, name) for position, text in enumerate(texts)]
    vectors: list[T] = []
    for batch in batches(clean, max_texts=max_texts, max_tokens=max_tokens):
        vectors += _in_halves(batch, send, name)
    return vectors


def estimated_tokens(text: str) -> int:
    """Return an upper estimate of the tokens of usual text."""
    return len(text.encode()) // 3 + 1


def _in_halves(batch: list[str], send: Callable[[list[str]], list[T]], name: str) -> list[T]:
    try:
        vectors = send(batch)
    except BadBatch:
        if len(batch) == 1:
            raise
        middle = len(batch) // 2
        return _in_halves(batch[:middle], send, name) + _in_halves(batch[middle:], send, name)
    if len(vectors) != len(batch):
        raise EmbedderError(
            f"{name} got {len(batch)} texts and returned {len(vectors)} vectors; nothing was stored. "
            "Check that the model embeds each text on its own."
        )
    return vectors


def _sendable(text: str, position: int, name: str) -> str:
    if not text.strip():
        raise EmbedderRefused(f"Text {position} is empty, and {name} accepts no empty text; leave it out.")
    # JSON has no lone surrogates; a pair of them becomes the character that it encodes.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


log = logging.getLogger(__name__)

RETRIES = 3
CONNECT_SECONDS = 10.0
#: A local server on a CPU may need this long for a batch.
READ_SECONDS = 60.0
#: If a service asks for a longer wait, the request fails.
LONGEST_WAIT = 120.0
FIRST_WAIT, MAX_WAIT, JITTER = 0.5, 8.0, 0.25
#: Maximum length of a quoted server message; a longer one might quote contents.
LONGEST_DETAIL = 200


class Transport:
    """Posts JSON to one service, with retries."""

    def __init__(
        self,
        name: str,
        url: str,
        headers: Mapping[str, str],
        *,
        timeout: float = READ_SECONDS,
        retries: int = RETRIES,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._name = name
        self._url = url
        #: May contain a key.
        self._headers = headers
        self._timeout = timeout
        self._retries = retries
        self._sleep = sleep
        self._pool: urllib3.PoolManager | None = None

    def post(self, payload: Mapping[str, object]) -> Any:  # noqa: ANN401  # JSON is anything
        """Send a payload and return the JSON of the response; retry transient failures."""
        body = json.dumps(payload).encode()
        for attempt in range(self._retries + 1):
            outcome = self._send(body)
            if not isinstance(outcome, Exception) and outcome.status == 200:
                break
            wait = pause(outcome, attempt, now=system_clock().timestamp(), jitter=random.random())
            if wait is None or attempt == self._retries:
                break
            reason = type(outcome).__name__ if isinstance(outcome, Exception) else f"status {outcome.status}"
            log.info("%s: %s; trying again in %.1f s", self._name, reason, wait)
            self._sleep(wait)
        if isinstance(outcome, Exception) or outcome.status != 200:
            raise self._error(outcome, "tried once" if attempt == 0 else f"tried {attempt + 1} times")
        try:
            return json.loads(outcome.data)
        except (ValueError, RecursionError) as error:
            raise EmbedderError(
                f"{self._name} did not answer with JSON; is {self._url} an embedding service?"
            ) from error

    def close(self) -> None:
        """Close idle connections."""
        if self._pool is not None:
            self._pool.clear()

    def __repr__(self) -> str:
        return f"Transport({self._name!r})"

    def _send(self, body: bytes) -> urllib3.BaseHTTPResponse | Exception:
        """Post once; return the response, or the exception of a failed connection."""
        try:
            import urllib3
        except ImportError as error:
            raise PluginUnavailable("Embedding over HTTP needs urllib3: pip install urllib3.") from error
        if self._pool is None:
            timeout = urllib3.Timeout(connect=min(CONNECT_SECONDS, self._timeout), read=self._timeout)
            self._pool = urllib3.PoolManager(timeout=timeout, maxsize=10)
        headers = {"Content-Type": "application/json", "User-Agent": "memotherm", **self._headers}
        try:
            # A redirect is not followed: it would carry the key to another host.
            return self._pool.request("POST", self._url, body=body, headers=headers, retries=False, redirect=False)
        except urllib3.exceptions.HTTPError as error:
            return error

    def _error(self, outcome: urllib3.BaseHTTPResponse | Exception, tried: str) -> EmbedderError:
        """Translate the last outcome into an error with a remedy."""
        if isinstance(outcome, Exception):
            wrong = _is_certificate_error(outcome)
            check = "check the server's certificate" if wrong else "is it running, and the URL right?"
            failure = EmbedderUnavailable(
                f"{self._name} cannot be reached at {self._url} ({type(outcome).__name__}, {tried}): {check}"
            )
            failure.__cause__ = outcome
            return failure
        status = outcome.status
        kind: type[EmbedderError] = EmbedderRefused
        if _out_of_quota(outcome):
            kind, remedy = EmbedderUnavailable, "the quota is used up; add credit, or choose another embedder."
        elif status == 429:
            kind, remedy = EmbedderUnavailable, f"too many requests ({tried}); try later."
        elif status in (408, 409) or status >= 500:
            kind, remedy = EmbedderUnavailable, f"it is overloaded or broken ({tried}); try later."
        elif status in (400, 413, 422):
            kind, remedy = BadBatch, "it does not accept this text; check the model's limits and name."
        elif status in (401, 403):
            remedy = "the key is missing or not valid; set api_key."
        elif status == 404:
            remedy = f"no such model or path at {self._url}; check both (Ollama: pull the model)."
        elif 300 <= status < 400:
            remedy = "it redirects, which is not followed with a key; set the final base_url."
        else:
            remedy = "it refused the request; check base_url and model."
        detail = redact(_detail(outcome.data), secrets_of(self._headers))
        message = f" Its message: {detail}" if detail else ""
        return kind(f"{self._name} answered {status}: {remedy}{message}")


def pause(outcome: urllib3.BaseHTTPResponse | Exception, attempt: int, *, now: float, jitter: float) -> float | None:
    """Return the seconds to wait before a retry, or None if a retry would not help.

    `jitter` lies in [0, 1) and shortens the wait, so that clients do not retry at the same time.
    """
    if isinstance(outcome, Exception):
        return None if _is_certificate_error(outcome) else _backoff(attempt, jitter)
    if not (outcome.status in (408, 409, 429) or outcome.status >= 500) or _out_of_quota(outcome):
        return None
    wait = _retry_after(outcome.headers, now)
    if wait is None:
        return _backoff(attempt, jitter)
    return wait if wait <= LONGEST_WAIT else None


def _backoff(attempt: int, jitter: float) -> float:
    return float(min(FIRST_WAIT * 2**attempt, MAX_WAIT) * (1 - JITTER * jitter))


def _retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the Retry-After of a response in seconds: it may be in milliseconds, seconds or a date."""
    for name, per_second in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            wait = float(headers[name]) / per_second
        except (KeyError, ValueError):
            continue
        if 0 <= wait < float("inf"):
            return wait
    # Imported here, because hardly any service answers with a date.
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(headers["retry-after"]).timestamp() - now)
    except (KeyError, ValueError):
        return None


def _is_certificate_error(error: Exception) -> bool:
    from urllib3.exceptions import SSLError

    return isinstance(error, SSLError)


def _out_of_quota(answer: urllib3.BaseHTTPResponse) -> bool:
    return answer.status == 429 and b"insufficient_quota" in answer.data


def _detail(body: bytes) -> str:
    """Return the message of an error body; other parts may quote the texts that were sent."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    for name in ("error", "message", "detail"):
        inner = content.get(name) if isinstance(content, dict) else None
        if isinstance(inner, dict):
            inner = inner.get("message")
        if isinstance(inner, str):
            return " ".join(inner.split())[:LONGEST_DETAIL]
    return ""
