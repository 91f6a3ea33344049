"""Validation and digests of contents."""

from __future__ import annotations

import hashlib
import unicodedata

from memotherm.errors import ContentTooLarge, InvalidInput

__all__ = ["digest", "require_content", "require_text"]


def require_content(value: object, longest: int) -> str:
    """Return the content of a memory unchanged; raise InvalidInput or ContentTooLarge if it cannot be stored."""
    return require_text(
        value, "content", longest, "split it, keep it as a note, or raise the setting max_content_chars"
    )


def require_text(value: object, name: str, longest: int, advice: str = "shorten it") -> str:
    """Return the text unchanged; raise InvalidInput or ContentTooLarge if it cannot be stored.

    Args:
        value: What should be a text.
        name: What it is, for the error.
        longest: How many characters it may have.
        advice: What to do if it has more.
    """
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be text, not {type(value).__name__}")
    if not value.strip():
        raise InvalidInput(f"{name} is empty: pass some text")
    if len(value) > longest:
        raise ContentTooLarge(f"{name} has {len(value):,} characters and the limit is {longest:,}: {advice}")
    if "\x00" in value:
        raise InvalidInput(f"{name} contains a NUL character at position {value.index(chr(0))}: remove it")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise InvalidInput(
            f"{name} contains half of a surrogate pair at position {exc.start}: it was cut or decoded wrongly"
        ) from exc
    return value


def digest(content: str) -> str:
    """Return the SHA-256 of a content, ignoring its Unicode normal form and outer white space."""
    return hashlib.sha256(unicodedata.normalize("NFC", content).strip().encode()).hexdigest()
