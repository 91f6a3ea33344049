"""The marker around recalled text.

The text between `OPEN` and `CLOSE` was recalled by Memotherm. In a content, both are escaped
(`escape_markers`); a text that contains a recalled block is stored without it (`without_blocks`), so that
recalled text is not stored again.
"""

from __future__ import annotations

import re
from functools import cache

from memotherm.text.invisible import INVISIBLE

__all__ = ["CLOSE", "NAME", "OPEN", "carries_marker", "escape_markers", "without_blocks"]

NAME = "memotherm-memory"
OPEN = f"<{NAME}>"
CLOSE = f"</{NAME}>"

_ANGLE = "[<\uff1c\ufe64]"
#: Hyphens, dashes and spaces that look like the hyphen of the name, or replace it.
_HYPHEN = "[-_\u2010-\u2015\u2043\u2212\ufe58\ufe63\uff0d\\s]"
_SPELLED = f"[{INVISIBLE}]*".join(_HYPHEN if character == "-" else character for character in NAME)
#: The patterns are compiled with the first text that has an angle, because that takes longer than a text.
_MARKER = cache(lambda: re.compile(rf"{_ANGLE}(?=[\s/\\{INVISIBLE}]*{_SPELLED})", re.IGNORECASE))
#: Control tokens of chat models, such as `<|im_start|>`; some servers do not escape them.
_CONTROL = cache(lambda: re.compile(f"<(?=[{INVISIBLE}]*[|\uff5c][^\\s<>]{{1,80}}[|\uff5c][{INVISIBLE}]*>)"))
_TAG = re.compile(rf"<(?P<close>/?)\s*{NAME}\b[^<>]*>", re.IGNORECASE)
#: What is left of a context in the format `messages` without its content.
_EMPTY_MESSAGE = re.compile(r'\[\s*\{\s*"role"\s*:\s*"\w+"\s*,\s*"content"\s*:\s*"\s*"\s*\}\s*\]')


def escape_markers(text: str) -> str:
    """Return the text with everything escaped that looks like a marker or a control token of a model."""
    if "<" not in text and "\uff1c" not in text and "\ufe64" not in text:
        return text
    return _CONTROL().sub("&lt;", _MARKER().sub("&lt;", text))


def carries_marker(text: str) -> bool:
    """Return whether a text contains an opening or closing marker."""
    return NAME in text.casefold() and _TAG.search(text) is not None


def without_blocks(text: str) -> str:
    """Return a text without its recalled blocks; of a block that was cut off, everything up to the cut is removed."""
    if not carries_marker(text):
        return text
    outside: list[str] = []
    depth, start = 0, 0
    for tag in _TAG.finditer(text):
        if tag["close"]:
            if depth == 0:
                outside.clear()
            depth = max(0, depth - 1)
            start = tag.end()
        else:
            if depth == 0:
                outside.append(text[start : tag.start()])
            depth += 1
    if depth == 0:
        outside.append(text[start:])
    return _EMPTY_MESSAGE.sub("", "".join(outside)).strip()
