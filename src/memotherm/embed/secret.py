"""Keys and URLs: validation, and removal of secrets from printed text."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from urllib.parse import unquote, urlsplit

from memotherm.errors import InvalidInput


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
