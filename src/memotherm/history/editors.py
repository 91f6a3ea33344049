"""Where VS Code and its relatives keep the data of a user and of a workspace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from memotherm.history.listing import head_of
from memotherm.history.reader import folder
from memotherm.history.values import parsed, text

VS_CODE = ("Code", "Code - Insiders", "VSCodium")
_SERVERS = (".vscode-server", ".vscode-server-insiders")


def user_folders(environment: Mapping[str, str], home: Path, programs: tuple[str, ...]) -> Iterator[Path]:
    """Yield the folders of user data of some programs, on every system, and those of remote machines."""
    bases = [
        home / "Library" / "Application Support",
        folder(environment, "XDG_CONFIG_HOME", home / ".config"),
        folder(environment, "APPDATA", home / "AppData" / "Roaming"),
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
