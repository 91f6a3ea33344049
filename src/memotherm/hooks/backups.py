"""Copies of changed settings files, in the data folder, and what each file was before the installation."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from memotherm.hooks.merging import FileChange
from memotherm.model.clock import system_clock
from memotherm.settings import data_home
from memotherm.settings.private_files import create_folder, write_text

__all__ = ["back_up", "record", "restored"]


def back_up(change: FileChange) -> Path | None:
    """Write the old content of a file to the data folder, and return the path of the copy."""
    if change.before is None or change.own:
        return None
    folder = _folder()
    stamp = system_clock().strftime("%Y%m%dT%H%M%S%f")
    copy = folder / f"{_key(change.path)}-{change.path.name}.{stamp}.backup"
    create_folder(folder)
    write_text(copy, change.before)
    return copy


def record(change: FileChange, *, uninstall: bool) -> None:
    """Remember what a file was before the first of several installations, and what the last one has written."""
    if change.own:
        return
    file = _record_file(change.path)
    known = _read(change.path)
    if uninstall or change.after is None:
        file.unlink(missing_ok=True)
        return
    original = known["original"] if known and known["installed"] == _digest(change.before) else change.before
    create_folder(file.parent)
    write_text(file, json.dumps({"original": original, "installed": _digest(change.after)}, ensure_ascii=False))


def restored(change: FileChange) -> FileChange:
    """Return the change of an uninstallation; a file that nobody has changed since gets its exact old content."""
    known = None if change.own else _read(change.path)
    if known is None or known["installed"] != _digest(change.before):
        return change
    return change._replace(after=known["original"])


def _read(path: Path) -> dict[str, Any] | None:
    try:
        values = json.loads(_record_file(path).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return values if isinstance(values, dict) and {"original", "installed"} <= set(values) else None


def _record_file(path: Path) -> Path:
    return _folder() / f"{_key(path)}-{path.name}.json"


def _folder() -> Path:
    return data_home() / "backups"


def _key(path: Path) -> str:
    """Return a short name for the place of a file."""
    return hashlib.sha256(os.path.realpath(path).encode()).hexdigest()[:12]


def _digest(text: str | None) -> str:
    return hashlib.sha256((text or "").encode()).hexdigest()
