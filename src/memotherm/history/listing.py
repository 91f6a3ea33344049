"""Finding the files of transcripts below a folder. Links are not followed, so nothing outside it is found."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import unquote, urlsplit

from memotherm.history.lines import open_regular
from memotherm.history.records import Transcript
from memotherm.history.values import parsed, text
from memotherm.settings.paths import client_home

#: Deeper than any program nests its folders.
_DEEPEST = 12


def files(root: Path, *patterns: str) -> Iterator[Path]:
    """Yield the regular files below a folder whose relative path matches a pattern, in order.

    `*` matches within one name; a first part `**` matches any number of folders. A root that is a file is yielded
    itself if its name matches the last part of a pattern.
    """
    root = Path(os.path.realpath(root))
    split = [tuple(pattern.split("/")) for pattern in patterns]
    if root.is_file():
        if any(fnmatchcase(root.name, parts[-1]) for parts in split):
            yield root
        return
    yield from _below(root, split, 0)


def _below(folder: Path, patterns: list[tuple[str, ...]], depth: int) -> Iterator[Path]:
    try:
        with os.scandir(folder) as found:
            children = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return
    for child in children:
        if child.is_symlink():
            continue
        if child.is_dir(follow_symlinks=False):
            deeper = [rest for parts in patterns for rest in _inside(child.name, parts)]
            if deeper and depth < _DEEPEST:
                yield from _below(Path(child.path), deeper, depth + 1)
        elif child.is_file(follow_symlinks=False) and any(_is_last(child.name, parts) for parts in patterns):
            yield Path(child.path)


def _inside(name: str, parts: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the patterns for the files in a folder."""
    if parts[0] == "**":
        yield parts
        yield from _inside(name, parts[1:])
    elif len(parts) > 1 and fnmatchcase(name, parts[0]):
        yield parts[1:]


def _is_last(name: str, parts: tuple[str, ...]) -> bool:
    while parts[0] == "**":
        parts = parts[1:]
    return len(parts) == 1 and fnmatchcase(name, parts[0])


def children(folder: Path, suffix: str) -> list[Path]:
    """Return the regular files in a folder with a suffix, in order; none if a link leads to the folder."""
    if Path(os.path.realpath(folder)) != folder:
        return []
    return list(_below(folder, [(f"*{suffix}",)], 0))


def transcript(source: str, path: Path, session: str = "") -> Transcript:
    """Return the transcript in a file; of one that is gone, reading it says so."""
    try:
        status = path.stat(follow_symlinks=False)
    except OSError:
        return Transcript(source, path, session, 0, "")
    return Transcript(source, path, session, status.st_size, f"{status.st_size}:{status.st_mtime_ns}")


def head_of(path: Path, most_bytes: int = 4096) -> bytes:
    """Return the beginning of a file, which tells its format; nothing if it cannot be read."""
    try:
        with open_regular(path) as file:
            return file.read(most_bytes)
    except OSError:
        return b""


VS_CODE = ("Code", "Code - Insiders", "VSCodium")
_SERVERS = (".vscode-server", ".vscode-server-insiders")


def user_folders(environment: Mapping[str, str], home: Path, programs: tuple[str, ...]) -> Iterator[Path]:
    """Yield the folders of user data of some programs, on every system, and those of remote machines."""
    bases = [
        home / "Library" / "Application Support",
        client_home("XDG_CONFIG_HOME", home / ".config", environment),
        client_home("APPDATA", home / "AppData" / "Roaming", environment),
    ]
    yield from (base / program / "User" for base in bases for program in programs)
    if programs is VS_CODE:
        yield from (home / server / "data" / "User" for server in _SERVERS)


def workspace_of(storage: Path) -> str:
    """Return the folder that is open in a workspace, from the file in its folder of data; "" if it says none."""
    known = parsed(head_of(storage / "workspace.json", 100_000)) or {}
    return path_of(text(known, "folder"))


def path_of(uri: str) -> str:
    """Return the path in a URI of a file; "" for another one."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return ""
    if parts.scheme not in ("file", "vscode-remote"):
        return ""
    path = unquote(parts.path)
    # /c:/Users/ann
    return path[1:] if len(path) > 2 and path[2] == ":" else path
