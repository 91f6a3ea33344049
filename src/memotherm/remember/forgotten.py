"""What was forgotten, corrected, rejected or purged, inside of texts that nobody asked to store again."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from memotherm.errors import Forbidden
from memotherm.model import Scope, Trust
from memotherm.storage.store import Store, Transaction
from memotherm.text.spelling import HEADINGS

#: What stands for a forgotten passage inside a larger text.
FORGOTTEN = "[forgotten]"
#: What ends a sentence, and goes with it.
_STOPS = ".!?…。！？"
#: How many characters of a passage an error quotes.
_QUOTED = 100


def without_forgotten(store: Store, scope: Scope, texts: Iterable[str]) -> dict[str, str]:
    """Return texts that say something forgotten -> the same with a mark in its place.

    It is empty if nothing else is left but headings.
    """
    wanted = set(texts)
    found = store.transact(lambda transaction: transaction.tombstones.find(scope, wanted)) if wanted else {}
    return {text: _marked(text, spans) for text, spans in found.items()}


def require_allowed(transaction: Transaction, scope: Scope, texts: Iterable[str], by: Trust) -> None:
    """Raise `Forbidden` if a text says what somebody with more trust has forgotten, corrected, rejected or purged."""
    for text, spans in transaction.tombstones.find(scope, texts, above=by).items():
        start, end, at = max(spans, key=lambda span: span[1] - span[0])
        raise Forbidden(
            f"{text[start:end][:_QUOTED]!r} was forgotten, corrected or purged here on {at:%Y-%m-%d}, and only a "
            "person can store it again: leave it out, or ask the user, who can do so with `memotherm remember`"
        )


def _marked(text: str, spans: list[tuple[int, int, datetime]]) -> str:
    """Return a text with a mark in place of the spans; the longest of those that overlap wins."""
    chosen: list[tuple[int, int]] = []
    for start, end, _ in sorted(set(spans), key=lambda span: span[0] - span[1]):
        if all(end <= begin or start >= over for begin, over in chosen):
            chosen.append((start, end))
    parts: list[str] = []
    position = 0
    for start, end in sorted(chosen):
        between = text[position:start]
        if not parts or any(map(str.isalnum, between)):
            parts += [between, FORGOTTEN]
        position = end + len(text[end:]) - len(text[end:].lstrip(_STOPS))
    rest = text[position:]
    left = HEADINGS.sub("", "".join(parts[::2]) + rest)
    return "".join([*parts, rest]) if any(map(str.isalnum, left)) else ""
