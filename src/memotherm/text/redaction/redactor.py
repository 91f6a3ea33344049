"""Replace credentials and private passages in texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from memotherm.settings import Settings
from memotherm.text.invisible import INVISIBLE
from memotherm.text.redaction.credentials import Found, credentials, private_passages
from memotherm.text.redaction.patterns import compiled

__all__ = ["MARK", "Redacted", "Redactor", "redactor"]

#: What stands for a part of a text that was redacted.
MARK = "[redacted]"
#: A replacement can uncover what was part of a longer word; after this many rounds nothing more is looked for.
_MOST_ROUNDS = 8
_HIDDEN = re.compile(f"[{INVISIBLE}]")


class Redacted(NamedTuple):
    """A text without its secrets."""

    text: str
    #: How many parts were replaced.
    replaced: int = 0


class Redactor:
    """Finds and replaces what looks like a credential, private passages, and what matches the user's patterns.

    Args:
        enabled: Whether anything is replaced; what is found does not depend on it.
        patterns: Patterns of the user.
    """

    def __init__(self, *, enabled: bool = True, patterns: Iterable[str] = ()) -> None:
        self._enabled = enabled
        self._patterns = [compiled(pattern) for pattern in patterns]

    def find(self, text: str) -> tuple[str, ...]:
        """Return what a text seems to contain, in plain words, each once."""
        return tuple(dict.fromkeys(found.name for found in sorted(self._found(text))))

    def redact(self, text: str) -> Redacted:
        """Return a text with every secret replaced by the mark; a second time changes nothing."""
        if not self._enabled:
            return Redacted(text)
        total = 0
        for _ in range(_MOST_ROUNDS):
            parts = _merged(sorted(self._found(text)))
            if not parts:
                break
            text, total = _replaced(text, parts), total + len(parts)
        return Redacted(text, total)

    def text(self, text: str) -> str:
        """Return a text without its secrets."""
        return self.redact(text).text

    def redact_values(self, value: Any) -> tuple[Any, int]:  # noqa: ANN401 - any JSON value
        """Return a JSON value with every text in it redacted, and how many parts were replaced."""
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, dict):
            values, counts = self._each(value.values())
            return dict(zip(value, values, strict=True)), counts
        return self._each(value) if isinstance(value, list) else (value, 0)

    def _each(self, values: Iterable[Any]) -> tuple[list[Any], int]:
        redacted = [self.redact_values(value) for value in values]
        return [value for value, _ in redacted], sum(count for _, count in redacted)

    def _found(self, text: str) -> Iterator[Found]:
        """Yield what is to be redacted in a text as it is, and as it is shown."""
        yield from self._found_as_it_is(text)
        if _HIDDEN.search(text):
            shown = [place for place, character in enumerate(text) if not _HIDDEN.match(character)]
            for start, end, name in self._found_as_it_is("".join(text[place] for place in shown)):
                yield Found(shown[start], shown[end - 1] + 1, name)

    def _found_as_it_is(self, text: str) -> Iterator[Found]:
        yield from private_passages(text)
        yield from credentials(text)
        for pattern in self._patterns:
            for start, end in _between_marks(text):
                matches = pattern.finditer(text, start, end)
                yield from (Found(*match.span(), "what redact_patterns names") for match in matches)


@lru_cache(maxsize=16)
def _cached(enabled: bool, patterns: tuple[str, ...]) -> Redactor:
    return Redactor(enabled=enabled, patterns=patterns)


def redactor(settings: Settings) -> Redactor:
    """Return the redactor that the settings describe; raise `SettingsError` for a pattern that is not one."""
    return _cached(settings.redact, settings.redact_patterns)


def _between_marks(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the parts of a text are that no mark stands for."""
    start = 0
    for piece in text.split(MARK):
        yield start, start + len(piece)
        start += len(piece) + len(MARK)


def _merged(found: Sequence[Found]) -> list[tuple[int, int]]:
    """Return the parts to replace in order, those that overlap or touch as one."""
    parts: list[tuple[int, int]] = []
    for start, end, _ in found:
        if parts and start <= parts[-1][1]:
            parts[-1] = (parts[-1][0], max(end, parts[-1][1]))
        else:
            parts.append((start, end))
    return parts


def _replaced(text: str, parts: Sequence[tuple[int, int]]) -> str:
    pieces, last = [], 0
    for start, end in parts:
        pieces += [text[last:start], MARK]
        last = end
    return "".join([*pieces, text[last:]])
