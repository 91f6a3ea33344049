"""Sending many texts to a service in batches, limited by count and by estimated tokens.

A batch that the service refuses as too large is halved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from memotherm.errors import EmbedderError, EmbedderRefused

__all__ = ["BadBatch", "batches", "estimated_tokens", "in_batches"]

T = TypeVar("T")


class BadBatch(EmbedderRefused):
    """The service refused this request; a smaller one may succeed."""


def batches(texts: Sequence[str], *, max_texts: int, max_tokens: int) -> Iterator[list[str]]:
    """Group texts in order, so that no group has too many texts or, as estimated, tokens."""
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
