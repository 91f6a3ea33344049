"""What a memory is about: lines of files, and whether they are still what they were.

An anchor has a path, the lines, a digest of them, the last commit when it was set, and the project. Spaces at the ends
of lines and the kind of line breaks do not count. Without a digest, it is about the file whatever its lines are.

A sentence is about a file that it names, or the only one of some files with the code that it names:

    charge.ts rounds half even                    the file, however its lines change
    fetch_page gives up after three tries         the lines that define it, until they change

A capitalised word such as PostgreSQL is a name of code only where a file defines it, or in code quotes.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from memotherm.errors import InvalidInput
from memotherm.text.conditions import parse_condition
from memotherm.text.patterns import lazy_pattern
from memotherm.workspace.checks import Workspace
from memotherm.workspace.versions import Files

__all__ = ["STATES", "anchor_at", "anchors_for", "paths_of", "place_in", "renewed", "state_of"]

#: The states of what a memory is about, the one that needs most attention last.
STATES = ("unknown", "fresh", "moved", "changed", "gone")
_PLACE = lazy_pattern(r"(?P<path>.{1,300}?)(?::(?P<first>[1-9]\d{0,6})(?:-(?P<last>[1-9]\d{0,6}))?)?")


class Anchored(NamedTuple):
    """Where the lines of an anchor are now."""

    #: fresh, moved, changed, gone or unknown.
    state: str
    path: str = ""
    #: The number of the first line, from 1.
    first: int = 1


def anchor_at(text: str, here: Workspace) -> dict[str, Any]:
    """Return the anchor of a file or of lines in it, written as `src/app.py` or `src/app.py:10-20`."""
    found = _PLACE.fullmatch(text.strip())
    path = found["path"] if found else ""
    if found is None or parse_condition(f"file {path} exists") is None:
        raise InvalidInput(f"{text!r} is not a file of a project: write it like src/app.py or src/app.py:10-20")
    first = int(found["first"] or 0)
    return anchor_of(path, first, int(found["last"] or first), here)


def anchor_of(path: str, first: int, last: int, here: Workspace, *, whole: bool = False) -> dict[str, Any]:
    """Return the anchor of some lines, of all for 0, or of a file as a whole; refuse what is not in the repository."""
    lines = file_lines(path, here.files)
    if here.repository is None or lines is None:
        raise InvalidInput(f"there is no file {path} in the repository of this folder: write its path from the root")
    if first > last or last > len(lines):
        raise InvalidInput(f"{path} has {len(lines)} lines: there are no lines {first}-{last}")
    part = lines[first - 1 : last] if first else lines
    digest = "" if whole else _digest(part)
    anchor = {"path": path, "digest": digest, "place": here.place, "commit": here.repository.head() or ""}
    # The first line tells quickly where the lines may be.
    return {**anchor, "lines": [first, last], "start": _sum(part[0])} if first else anchor


def state_of(anchors: object, here: Workspace, files: Files | None = None) -> str:
    """Return the state of what a memory is about, that of the anchor which needs most attention; empty without one.

    It is compared with the files as they are now, or with those given, such as those of a commit.
    """
    return max(
        (_found(each, here, files or here.files).state for each in _listed(anchors)), key=STATES.index, default=""
    )


def paths_of(anchors: object) -> list[str]:
    """Return the files of some anchors."""
    return [anchor["path"] for anchor in _listed(anchors) if _is_anchor(anchor)]


def place_in(anchors: object, paths: Collection[str], here: Workspace) -> str:
    """Return the place of an anchor in one of some files, as it is written; empty if none is there."""
    for anchor in _listed(anchors):
        if _is_anchor(anchor) and anchor["path"] in paths and anchor["place"] == here.place:
            first, last = anchor.get("lines", (0, 0))
            return f"{anchor['path']}:{first}-{last}" if first else str(anchor["path"])
    return ""


def renewed(anchors: Sequence[object], here: Workspace) -> list[object]:
    """Return anchors for the lines as they are now; those that are gone or unknown stay as they are."""
    return [_renewed(each, here) for each in anchors]


def _renewed(anchor: object, here: Workspace) -> object:
    found = _found(anchor, here, here.files)
    lines = file_lines(found.path, here.files) if found.path else None
    if not isinstance(anchor, Mapping) or found.state in ("gone", "unknown") or lines is None:
        return anchor
    if "lines" not in anchor:
        return anchor_of(found.path, 0, 0, here, whole=not anchor["digest"])
    length = anchor["lines"][1] - anchor["lines"][0]
    return anchor_of(found.path, min(found.first, len(lines)), min(found.first + length, len(lines)), here)


def _listed(anchors: object) -> Sequence[object]:
    return anchors if isinstance(anchors, Sequence) and not isinstance(anchors, str) else ()


def _found(anchor: object, here: Workspace, files: Files) -> Anchored:
    """Return where the lines of an anchor are."""
    if not _is_anchor(anchor) or anchor["place"] != here.place or here.repository is None:
        return Anchored("unknown")
    path = anchor["path"]
    if parse_condition(f"file {path} exists") is None:
        return Anchored("unknown")
    exists = files.exists(path)
    if exists is None:
        return Anchored("unknown")
    if not exists:
        head = here.repository.head()
        path = here.repository.renamed(path, anchor["commit"], head) if head else None
        if path is None or not files.exists(path):
            return Anchored("gone")
    lines = file_lines(path, files)
    if lines is None:
        return Anchored("unknown")
    first, last = anchor.get("lines", (1, len(lines)))
    if not anchor["digest"] or _digest(lines[first - 1 : last]) == anchor["digest"]:
        return Anchored("fresh" if path == anchor["path"] else "moved", path, first)
    length = last - first + 1
    starts = (place for place, line in enumerate(lines) if "lines" in anchor and _sum(line) == anchor.get("start"))
    # Each is hashed, so that few are looked at where the first line is a common one.
    for _, place in zip(range(_MOST_PLACES), starts, strict=False):
        if _digest(lines[place : place + length]) == anchor["digest"]:
            return Anchored("moved", path, place + 1)
    return Anchored("changed", path, first)


#: The most places of a file where moved lines are looked for.
_MOST_PLACES = 50


def _is_anchor(anchor: object) -> TypeGuard[Mapping[str, Any]]:
    """Return whether a value of metadata is an anchor that this module has made, or has the same form."""
    if not isinstance(anchor, Mapping) or not all(isinstance(anchor.get(name), str) for name in _TEXTS):
        return False
    lines = anchor.get("lines", [1, 1])
    sound = isinstance(lines, list) and len(lines) == 2 and all(type(each) is int for each in lines)
    return sound and 1 <= lines[0] <= lines[1] and re.fullmatch(r"[0-9a-f]{0,64}", anchor["commit"]) is not None


_TEXTS = ("path", "digest", "place", "commit")


def file_lines(path: str, files: Files) -> list[str] | None:
    """Return the lines of a file of the project, without spaces at their ends; None if there is none to be read."""
    text = files.text(path)
    return None if text is None else [line.rstrip() for line in text.splitlines()]


def _sum(line: str) -> int:
    return zlib.crc32(line.encode("utf-8", "replace"))


def _digest(lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode("utf-8", "replace")).hexdigest()[:32]


# What a sentence is about

_MOST_CHARS = 4000
_MOST_CODES = 20
_MOST_ANCHORS = 3
_MOST_LINES = 40
#: More lines with a name than this do not tell which of them is meant.
_MOST_NAMED = 3
_NAME = lazy_pattern(r"[^\W\d]\w{3,60}")
_FILE = lazy_pattern(r"[\w@./+-]{3,200}")
_DEFINES = lazy_pattern(
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
        if relative and (lines := file_lines(relative, here.files)) is not None:
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
            if used == (0, 0) and len(places) <= _MOST_NAMED:
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
