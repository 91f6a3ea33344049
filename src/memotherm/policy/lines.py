"""Where in a policy file a key is written, for messages."""

from __future__ import annotations

import re

__all__ = ["line_of"]

_HEADER = re.compile(r"\s*(\[\[?)\s*([A-Za-z0-9_.-]+)\s*\]\]?")


def line_of(text: str, path: tuple[str | int, ...]) -> int | None:
    """Return the line of a key such as ("rule", 0, "when", "idle"): that of the last part that is found."""
    if not path:
        return None
    lines = text.splitlines()
    start, end = _section(lines, path)
    if start is None:
        return None
    line = start
    for part in path[2:] if len(path) > 1 and isinstance(path[1], int) else path[1:]:
        if not isinstance(part, str):
            continue
        found = _key(lines, line, end, part)
        if found is None:
            break
        line = found
    return line + 1


def _section(lines: list[str], path: tuple[str | int, ...]) -> tuple[int | None, int]:
    """Return the first line of the table that a path leads into, and the line behind its last one."""
    wanted = path[1] if len(path) > 1 and isinstance(path[1], int) else 0
    start, count = None, 0
    for number, line in enumerate(lines):
        header = _HEADER.match(line)
        if header is None:
            continue
        if start is not None and not header[2].startswith(f"{path[0]}."):
            return start, number
        if header[2] == path[0]:
            if count == wanted:
                start = number
            count += 1
    return start, len(lines)


def _key(lines: list[str], start: int, end: int, key: str) -> int | None:
    """Return the first line that sets a key, whole or its last part."""
    names = "|".join(re.escape(name) for name in dict.fromkeys((key, key.rsplit(".", 1)[-1])))
    pattern = re.compile(rf"(?:^|[\s{{,.\[\"])(?:{names})\"?\s*[=.]")
    return next((number for number in range(start, end) if pattern.search(lines[number])), None)
