"""Fields of JSON whose shape is not known: a value of another type than expected counts as absent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from memotherm.hooks.hosts.host import mapping
from memotherm.model.clock import any_moment as moment

__all__ = ["blocks_of", "items", "mapping", "moment", "parsed", "text", "text_of"]

#: Texts of JSON above this length are shortened before they are decoded, if they are in a line above that length.
_LONG_TEXT, _LONG_LINE = 64 * 1024, 1024 * 1024
_STRING = re.compile(rb'"((?:[^"\\]++|\\.)*+)"', re.DOTALL)
#: How far back a space is looked for where a text is cut.
_WORD = 4096


def parsed(line: bytes | str) -> Mapping[str, Any] | None:
    """Return the object in a line of JSON, or None. A long line loses most of its long texts."""
    data = line.encode("utf-8", "replace") if isinstance(line, str) else line
    if len(data) > _LONG_LINE:
        data = _STRING.sub(_shortened, data)
    try:
        value = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _shortened(string: re.Match[bytes]) -> bytes:
    """Return a string with at most as many bytes as a long text, cut between words; one without words is empty."""
    start, end = string.span(1)
    if end - start <= _LONG_TEXT:
        return string[0]
    # An escape has no space in it, and a secret neither.
    cut = string.string.rfind(b" ", start + _LONG_TEXT - _WORD, start + _LONG_TEXT)
    return b'"' + string.string[start : max(cut, start)] + b'"'


def text(value: Mapping[str, Any], name: str) -> str:
    """Return a field that is a text; "" for anything else."""
    found = value.get(name)
    return found if isinstance(found, str) else ""


def items(value: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Return the objects in a field that is a list; none for anything else."""
    found = value.get(name)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def blocks_of(content: object) -> Iterator[Mapping[str, Any]]:
    """Yield the blocks of a message; a plain text is one block, and so is a text in a list."""
    for each in content if isinstance(content, list) else [content]:
        if isinstance(each, str):
            yield {"type": "text", "text": each}
        elif isinstance(each, dict):
            yield each


def text_of(content: object, kinds: tuple[str, ...] = ("text", "input_text", "output_text", "")) -> str:
    """Return the texts in the blocks of a message, without images and calls."""
    return "\n".join(
        filter(None, (text(block, "text") for block in blocks_of(content) if text(block, "type") in kinds))
    )
