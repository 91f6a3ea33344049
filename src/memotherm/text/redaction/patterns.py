"""Patterns of users for what is to be redacted: regular expressions that match in linear time.

A pattern is a sequence of characters, classes such as `[A-Z0-9]`, `\\d`, `\\w`, `\\s` and `.`, each with an optional
repeat. There are no groups and no alternatives. A repeat takes as many characters as it can and gives none back, and
`*` and `+` take at most 200, so that no pattern and no text makes a search slow.
"""

from __future__ import annotations

import re
import warnings

from memotherm.errors import SettingsError

__all__ = ["compiled"]

_LONGEST_PATTERN = 200
_UNBOUNDED = 200
#: The most characters that all repeats of a pattern together may take.
_LARGEST_SPAN = 1000
_ELEMENT = re.compile(
    r"""(?P<atom>\\[dDwWsS] | \\[^A-Za-z0-9\s] | \[\^?\]?(?:\\.|[^\]\\\[])+\] | \. | [^\\\[\](){}|*+?^$.])
        (?P<repeat>\{(?P<low>\d{1,4})(?:,(?P<high>\d{1,4}))?\} | [*+?])?""",
    re.VERBOSE | re.DOTALL,
)
_REPEATS = {"*": (0, _UNBOUNDED), "+": (1, _UNBOUNDED), "?": (0, 1)}


def compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern of a user in compiled form; raise `SettingsError` if it is not one."""
    position, span, least, parts = 0, 0, 0, []
    while position < len(pattern) <= _LONGEST_PATTERN:
        element = _ELEMENT.match(pattern, position)
        if element is None:
            raise SettingsError(
                f"redact_patterns: {pattern!r} is not understood from {pattern[position : position + 20]!r}: use "
                "characters, classes such as [A-Z0-9], \\d, \\w, \\s and ., and repeats such as {8,40}, without groups "
                "or alternatives (in the environment a comma separates two patterns: use a settings file)"
            )
        low, high = _bounds(element)
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


def _bounds(element: re.Match[str]) -> tuple[int, int]:
    """Return the least and most repeats of an element."""
    if element["repeat"] is None:
        return 1, 1
    if element["low"] is None:
        return _REPEATS[element["repeat"]]
    return int(element["low"]), int(element["high"] or element["low"])
