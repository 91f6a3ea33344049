"""Which of some files a sentence is about: one that it names, or one with the code that it names.

    charge.ts rounds half even                    the file, however its lines change
    fetch_page gives up after three tries         the lines that define it, until they change

A capitalised word such as PostgreSQL is a name of code only where a file defines it, or in code quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from memotherm.errors import InvalidInput
from memotherm.workspace.anchors import anchor_of, file_lines
from memotherm.workspace.checks import Workspace

__all__ = ["anchors_for"]

_MOST_CHARS = 4000
_MOST_CODES = 20
_MOST_ANCHORS = 3
_MOST_LINES = 40
#: More lines with a name than this do not tell which of them is meant.
_MOST_PLACES = 3
_NAME = re.compile(r"[^\W\d]\w{3,60}")
_FILE = re.compile(r"[\w@./+-]{3,200}")
_DEFINES = re.compile(
    r"\s*(?:(?:export|default|public|private|protected|static|async|abstract|final|pub|override)\s+){0,4}"
    r"(?:(?:def|class|function|func|fn|struct|enum|trait|interface|type|module|const|let|var|val)\s+"
    r"(?:\([^)]{0,80}\)\s*)?)?(\w{4,61})\s*(?:[(:=<{]|$)"
)


def anchors_for(text: str, files: Sequence[Path], here: Workspace) -> list[dict[str, Any]]:
    """Return the anchors of a text in some files of the project; none in most texts.

    Code that is in several of them says nothing about which is meant.
    """
    text = text[:_MOST_CHARS]
    named = {word.rstrip(".").removeprefix("./") for word in _FILE.findall(text)}
    codes, known = list(islice(_codes(text), _MOST_CODES)), dict[str, list[str]]()
    for file in files:
        relative = file.relative_to(here.root).as_posix() if file.is_relative_to(here.root) else ""
        if relative and (lines := file_lines(relative, here)) is not None:
            known[relative] = lines
    places = {path: _lines_of(codes, lines) for path, lines in known.items()}
    with_code = [path for path, (found, _) in places.items() if found]
    made: list[dict[str, Any]] = []
    for path, (_, (first, last)) in places.items():
        is_named = any("." in name and (path == name or path.endswith(f"/{name}")) for name in named)
        if is_named or with_code == [path]:
            try:
                made.append(anchor_of(path, first, last, here, whole=not first))
            except InvalidInput:
                return []  # no repository
    return made[:_MOST_ANCHORS]


def _codes(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the names of code in a text, and whether a file has to define each."""
    for match in _NAME.finditer(text):
        name, before, after = match[0], text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
        quoted = before == "`" == after or after == "("
        mixed = any(map(str.isupper, name[1:])) and any(map(str.islower, name))
        if quoted or "_" in name.strip("_") or mixed:
            yield name, not quoted and name[0].isupper() and "_" not in name


def _lines_of(codes: Sequence[tuple[str, bool]], lines: Sequence[str]) -> tuple[bool, tuple[int, int]]:
    """Return whether a file has one of some names, and the lines of the first that it defines; 0 for no lines."""
    found, used = False, (0, 0)
    for name, must_be_defined in codes:
        word = re.compile(rf"\b{name}\b")
        places = [number for number, line in enumerate(lines) if name in line and word.search(line)]
        for number in places:
            defines = _DEFINES.match(lines[number])
            if defines is not None and defines[1] == name:
                return True, (number + 1, _end_of_block(lines, number) + 1)
        if places and not must_be_defined:
            found = True
            if used == (0, 0) and len(places) <= _MOST_PLACES:
                used = (places[0] + 1, places[0] + 1)
    return found, used


def _end_of_block(lines: Sequence[str], start: int) -> int:
    """Return the last line that is indented more than the first, and a closing bracket below."""
    depth, end = _indent(lines[start]), start
    for number in range(start + 1, min(start + _MOST_LINES, len(lines))):
        line = lines[number]
        if not line.strip():
            continue
        if _indent(line) <= depth:
            return number if line.strip()[0] in ")}]" else end
        end = number
    return end


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
