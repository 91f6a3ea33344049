"""Finding credentials and private passages in texts, and replacing them by a mark.

Every search takes linear time: repeats are bounded and possessive, so they match greedily and never backtrack. The
same holds for patterns of users: a sequence of characters, classes such as `[A-Z0-9]`, `\\d`, `\\w`, `\\s` and `.`,
each with an optional repeat, without groups and alternatives; `*` and `+` match at most 200 characters.
"""

from __future__ import annotations

import json
import re
import warnings
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from memotherm.errors import InvalidInput, SettingsError
from memotherm.settings import Settings
from memotherm.text.content import INVISIBLE
from memotherm.text.credentials import credentials
from memotherm.text.patterns import lazy_pattern
from memotherm.text.secret_grammar import Joint
from memotherm.text.secret_values import MARK, Found, Strength, strength
from memotherm.text.secret_words import Announced, Kind, accepts

__all__ = [
    "MARK", "Redacted", "RedactedValue", "Redactor", "compiled", "named_values", "private_passages", "redactor",
    "secret_values",
]  # fmt: skip

_PRIVATE = lazy_pattern(r"<(?P<close>/?)\s{0,4}private\b[^<>]{0,100}>", re.IGNORECASE)


def private_passages(text: str) -> Iterator[Found]:
    """Yield the passages between `<private>` and `</private>`, tags included; an unclosed one ends with the text."""
    if "<" not in text:
        return
    depth = start = 0
    for tag in _PRIVATE.finditer(text):
        if not tag["close"]:
            start = tag.start() if depth == 0 else start
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                yield Found(start, tag.end(), "a private passage")
    if depth:
        yield Found(start, len(text), "a private passage")


_LONGEST_PATTERN = 200
_UNBOUNDED = 200
#: The maximum length of a match.
_LARGEST_SPAN = 1000
_ELEMENT = lazy_pattern(
    r"""(?P<atom>\\[dDwWsS] | \\[^A-Za-z0-9\s] | \[\^?\]?(?:\\.|[^\]\\\[])+\] | \. | [^\\\[\](){}|*+?^$.])
        (?P<repeat>\{(?P<low>\d{1,4})(?:,(?P<high>\d{1,4}))?\} | [*+?])?""",
    re.VERBOSE | re.DOTALL,
)
_REPEATS = {None: (1, 1), "*": (0, _UNBOUNDED), "+": (1, _UNBOUNDED), "?": (0, 1)}


def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of a user; raise `SettingsError` if it is not supported."""
    position, span, least, parts = 0, 0, 0, []
    while position < len(pattern) <= _LONGEST_PATTERN:
        element = _ELEMENT.match(pattern, position)
        if element is None:
            raise SettingsError(
                f"redact_patterns: {pattern!r} is not understood from {pattern[position : position + 20]!r}: use "
                "characters, classes such as [A-Z0-9], \\d, \\w, \\s and ., and repeats such as {8,40}, without groups "
                "or alternatives (in the environment a comma separates two patterns: use a settings file)"
            )
        repeats = int(element["low"] or 0), int(element["high"] or element["low"] or 0)
        low, high = _REPEATS.get(element["repeat"], repeats)
        span, least, position = span + high, least + low, element.end()
        parts.append(f"{element['atom']}{{{low},{high}}}+")
    if not 0 < span <= _LARGEST_SPAN or not least or len(pattern) > _LONGEST_PATTERN:
        raise SettingsError(
            f"redact_patterns: {pattern[:40]!r} must match at least 1 and at most {_LARGEST_SPAN} characters, "
            f"and have at most {_LONGEST_PATTERN}: lower its repeats"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a class such as [[a]
            return re.compile("".join(parts))
    except re.error as exc:
        raise SettingsError(f"redact_patterns: {pattern!r} is not a pattern: {exc}") from exc


#: A replacement can uncover another secret; the search stops after this many rounds.
_MAX_ROUNDS = 8
_HIDDEN = lazy_pattern(f"[{INVISIBLE}]")


class Redacted(NamedTuple):
    """A text without its secrets."""

    text: str
    #: How many parts were replaced.
    replaced: int = 0


class RedactedValue(NamedTuple):
    """A JSON value without its secrets."""

    value: Any
    #: How many parts were replaced.
    replaced: int = 0


class Redactor:
    """Finds credentials, private passages and matches of the user's patterns; `redact` replaces them if enabled."""

    def __init__(self, *, enabled: bool = True, patterns: Iterable[str] = ()) -> None:
        self._enabled = enabled
        self._patterns = [compiled(pattern) for pattern in patterns]

    def find(self, text: str) -> tuple[str, ...]:
        """Return the kinds of secrets that a text seems to contain, in plain words."""
        return tuple(dict.fromkeys(found.name for found in sorted(self._found(text))))

    def redact(self, text: str) -> Redacted:
        """Replace every secret in a text by the mark; redacting twice changes nothing more."""
        if not self._enabled:
            return Redacted(text)
        total = 0
        for _ in range(_MAX_ROUNDS):
            text, count = _replaced(text, self._found(text))
            if not count:
                break
            total += count
        return Redacted(text, total)

    def text(self, text: str) -> str:
        """Return a text without its secrets."""
        return self.redact(text).text

    def redact_values(self, value: Any) -> RedactedValue:  # noqa: ANN401 - any JSON value
        """Redact every text in a JSON value, names included."""
        try:
            return self._redact_value(value)
        except RecursionError:
            raise InvalidInput("a value is nested too deeply to look for secrets in it: use fewer levels") from None

    def _redact_value(self, value: Any) -> RedactedValue:  # noqa: ANN401 - any JSON value
        if isinstance(value, str):
            return RedactedValue(*self.redact(value))
        if isinstance(value, dict):
            return self._redact_members(value)
        if not isinstance(value, list | tuple):
            return RedactedValue(value)
        redacted = [self._redact_value(each) for each in value]
        return RedactedValue([each.value for each in redacted], sum(each.replaced for each in redacted))

    def _redact_members(self, members: dict[str, Any]) -> RedactedValue:
        """Redact an object; the name of a member, such as password, announces its value."""
        found: dict[str, Any] = {}
        total = 0
        for name, value in members.items():
            shown, replaced = self.redact(str(name))
            redacted = self._redact_value(value)
            if not redacted.replaced and self._announces(str(name), value):
                redacted = RedactedValue(MARK, 1)
            # Two names can be the same without their secrets.
            found[f"{shown} {len(found) + 1}" if replaced and shown in found else shown] = redacted.value
            total += redacted.replaced + replaced
        return RedactedValue(found, total)

    def _announces(self, name: str, value: Any) -> bool:  # noqa: ANN401 - any JSON value
        if not self._enabled or isinstance(value, bool) or not isinstance(value, str | int):
            return False
        return any(each.start > len(name) for each in credentials(f"{name}={json.dumps(value, ensure_ascii=False)}"))

    def _found(self, text: str) -> Iterator[Found]:
        """Yield the parts to redact, also those that invisible characters interrupt."""
        found = sorted(self._found_as_it_is(text))
        yield from found
        if _HIDDEN.search(text):
            shown = [place for place, character in enumerate(text) if not _HIDDEN.match(character)]
            for first, last, name in self._found_as_it_is("".join(text[place] for place in shown)):
                start, end = shown[first], shown[last - 1] + 1
                inside = bisect_left(found, (start,))
                # Without these characters, the word before a secret can seem to be a part of it.
                if inside == len(found) or found[inside].end > end or found[inside].start == start:
                    yield Found(start, end, name)

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
    """Return the redactor for these settings; raise `SettingsError` for an unsupported pattern."""
    return _cached(settings.redact, settings.redact_patterns)


def _between_marks(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for piece in text.split(MARK):
        yield start, start + len(piece)
        start += len(piece) + len(MARK)


def _replaced(text: str, found: Iterable[Found]) -> Redacted:
    """Replace parts of a text; overlapping and adjacent ones are one."""
    pieces: list[str] = []
    last = 0
    for start, end, _ in sorted(found):
        if not pieces or start > last:
            pieces += [text[last:start], MARK]
        last = max(last, end)
    return Redacted("".join([*pieces, text[last:]]), len(pieces) // 2)


#: Small and large letters, digits and symbols in one word, without a word such as "password" beside it.
_MIXED = (lazy_pattern("[a-z]"), lazy_pattern("[A-Z]"), lazy_pattern("[0-9]"), lazy_pattern("[!#%&*+=?@^~$]"))
_SHORTEST_MIXED, _LONGEST_MIXED = 10, 200
_PASSWORD = Announced(0, 0, Kind.PASSWORD)
_AROUND_WORDS = ".,;:!?\"'`()[]<>"


def secret_values(text: str, patterns: Iterable[str] = ()) -> set[str]:
    """Return the parts of a text that are redacted when it is captured, and words that look like passwords.

    A password that is a plain word is left out: texts that have nothing to do with it contain that word.
    """
    values = {word for word in _words(text) if _is_mixed(word)}
    first, *pieces = Redactor(patterns=patterns).redact(text).text.split(MARK)
    position = len(first)
    for piece in pieces:
        end = text.find(piece, position + 1) if piece else len(text)
        if end < 0:
            break
        values.add(_PRIVATE.sub("", text[position:end]).strip())
        position = end + len(piece)
    return {value for value in values - {"", MARK} if not value.isalpha() or strength(value) > Strength.NO}


def named_values(request: str) -> set[str]:
    """Return the words of a request that may be passwords or keys, such as those that memories are selected by."""
    return {word for word in _words(request) if accepts(_PASSWORD, word, Joint.JOINED) or word in secret_values(word)}


def _words(text: str) -> set[str]:
    return {word.strip(_AROUND_WORDS) for word in text.split()}


def _is_mixed(word: str) -> bool:
    if not _SHORTEST_MIXED <= len(word) <= _LONGEST_MIXED or "://" in word:
        return False
    return all(kind.search(word) for kind in _MIXED)
