"""The marker around recalled text: what it looks like, and how nothing else can look like it.

Whatever stands between the two ends of the marker was recalled by Memotherm. A content cannot
write either end (`escape_markers`), and a text that brings a whole block back is stored without it
(`without_blocks`), so that a memory is never remembered again for having been recalled.
"""

from __future__ import annotations

import re

__all__ = ["CLOSE", "NAME", "OPEN", "carries_marker", "escape_markers", "without_blocks"]

NAME = "memotherm-memory"
OPEN = f"<{NAME}>"
CLOSE = f"</{NAME}>"

#: Characters that take no space: a reader, human or model, does not see them inside a name.
_UNSEEN = "[\u00ad\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff]*"
_ANGLE = "[<\uff1c\ufe64]"
_SPELLED = _UNSEEN.join(re.escape(each) for each in NAME).replace(r"\-", "[-_\u2010-\u2015 ]")
_MARKER = re.compile(rf"{_ANGLE}(?=(?:[\s/\\]|{_UNSEEN[:-1]}){{0,16}}{_SPELLED})", re.IGNORECASE)
#: Control tokens of chat models, such as `<|im_start|>`; some servers would obey them.
_CONTROL = re.compile("<(?=[|\uff5c][^\\s<>]{1,80}[|\uff5c]>)")
_END = re.compile(rf"<(?P<close>/?)\s*{NAME}\b[^<>]*>", re.IGNORECASE)
#: What is left of our JSON messages once their content is gone.
_SHELL = re.compile(r'\[\s*\{\s*"role"\s*:\s*"\w+"\s*,\s*"content"\s*:\s*"\s*"\s*\}\s*\]')


def escape_markers(text: str) -> str:
    """Return the text without anything that could open or close the marker, or speak as a model's control."""
    if "<" not in text and "\uff1c" not in text and "\ufe64" not in text:
        return text
    return _CONTROL.sub("&lt;", _MARKER.sub("&lt;", text))


def carries_marker(text: str) -> bool:
    """Tell whether a text holds an end of the marker."""
    return NAME in text.casefold() and _END.search(text) is not None


def without_blocks(text: str) -> str:
    """Return what a text says beside recalled blocks; one that was cut off is dropped as far as it goes."""
    if not carries_marker(text):
        return text
    kept: list[str] = []
    depth, start = 0, 0
    for end in _END.finditer(text):
        if end["close"]:
            if depth == 0:
                kept.clear()
            depth = max(0, depth - 1)
            start = end.end()
        else:
            if depth == 0:
                kept.append(text[start : end.start()])
            depth += 1
    if depth == 0:
        kept.append(text[start:])
    return _SHELL.sub("", "".join(kept)).strip()
