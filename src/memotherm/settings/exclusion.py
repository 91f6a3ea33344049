"""Which projects and folders are not captured."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

__all__ = ["is_excluded"]


def is_excluded(patterns: Sequence[str], project: str | None, folder: str = "") -> bool:
    """Return whether one of the patterns of `capture_exclude` names a project, or a folder or one that contains it."""
    if not patterns:
        return False
    names = [project or ""]
    for path in {Path(folder), Path(os.path.realpath(folder))} if folder else ():
        names += [str(path), *(str(parent) for parent in path.parents)]
    expanded = [str(Path(pattern).expanduser()) for pattern in patterns]
    return any(fnmatchcase(name, pattern) for name in filter(None, names) for pattern in expanded)
