"""The lines that a question or a start got, and what each of them says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

__all__ = ["Line", "Standing", "entries", "has", "hit_line", "injected_lines", "is_marked", "plain", "standing"]

#: How a line says that it no longer holds, or perhaps not. No turn of a week has these words; "Said:" heads a part of a
#: summary.
_MARK = re.compile(r"\bsaid\b(?!:)[^\n;]{1,200}\buntil\b|\boutdated\b|\bsuperseded\b", re.IGNORECASE)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, kw_only=True)
class Line:
    """A memory as it was shown."""

    text: str
    #: Whether it is shown as outdated, or perhaps outdated.
    marked: bool


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How the values of a topic stand in the lines of a question."""

    #: Whether the current value is there, before each older one.
    first: bool
    #: Whether, in addition, every older value is marked.
    current: bool


def entries(block: str) -> list[str]:
    """Return the entries of an injected block: the lines that begin with "- ", with the indented ones that follow."""
    found: list[str] = []
    for line in block.splitlines():
        if line.startswith("- "):
            found.append(line)
        elif found and line.startswith("  "):
            found[-1] += f"\n{line}"
    return found


def injected_lines(*blocks: str) -> list[Line]:
    """Return the entries of injected blocks; their dates are left out, because a day may look like a value."""
    found = (_DATE.sub("", entry) for block in blocks for entry in entries(block))
    return [Line(text=entry, marked=is_marked(entry)) for entry in found]


def hit_line(hit: Mapping[str, Any], now: datetime) -> Line:
    """Return a hit of a recall; it is marked if one of its fields says that it no longer holds."""
    fields = {name: value for name, value in hit.items() if name != "content" and value}
    until = fields.get("valid_until")
    ended = until is not None and _time(until) <= now
    marked = ended or is_marked(hit["content"]) or is_marked(json.dumps(fields, ensure_ascii=False))
    return Line(text=hit["content"], marked=marked)


def _time(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def is_marked(text: str) -> bool:
    """Return whether a text says of itself that it is outdated."""
    return _MARK.search(text) is not None


def standing(lines: Sequence[Line], answer: Sequence[str], older: Sequence[str]) -> Standing:
    """Return how the current value and others stand; a line that has both speaks of the change, so it is current."""
    current = [number for number, line in enumerate(lines) if has(line.text, answer) and not line.marked]
    others = [
        number for number, line in enumerate(lines)
        if has(line.text, older) and (line.marked or not has(line.text, answer))
    ]  # fmt: skip
    first = bool(current) and (not others or current[0] < others[0])
    return Standing(first=first, current=first and all(lines[number].marked for number in others))


def has(line: str, texts: Iterable[str]) -> bool:
    """Return whether a line has one of the texts, from the start of a word; a number is not part of a longer one."""
    words = plain(line)
    return any(re.search(rf"(?<![0-9a-z]){each}(?!\d)", words) for each in map(re.escape, map(plain, texts)))


def plain(text: str) -> str:
    """Return a text in lower case with single spaces."""
    return " ".join(text.casefold().split())
