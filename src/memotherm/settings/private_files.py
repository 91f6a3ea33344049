"""Files and folders that only their owner can read."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

__all__ = ["create_file", "create_folder", "write_text"]

_FILE_MODE = 0o600
_FOLDER_MODE = 0o700


def create_folder(folder: Path) -> None:
    """Create a folder and its missing parents; existing ones keep their mode."""
    for each in reversed((folder, *folder.parents)):
        if not each.exists():
            each.mkdir(mode=_FOLDER_MODE, exist_ok=True)


def create_file(path: Path) -> None:
    """Create an empty file; an existing one is left as it is."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE))


def write_text(path: Path, text: str) -> None:
    """Write a text to a file; an existing one keeps its mode."""
    create_file(path)
    path.write_text(text, "utf-8", newline="")
