"""The scope and the store of a job."""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["AUTO", "destination", "project_name", "scope_of", "store_name"]

#: The value of an option that is derived from the working folder or the user account.
AUTO = "auto"


def destination(job: Mapping[str, Any]) -> str:
    """Return the store of a job, or the folder whose settings name it."""
    return str(job.get("store") or (job.get("settings") or {}).get("store") or job.get("started_in"))


def store_name(store: str) -> str:
    """Return the same name for every way to write the path of a store."""
    path = store.removeprefix("sqlite:///")
    return store if "://" in path else os.path.realpath(Path(path).expanduser())


def scope_of(named: Mapping[str, str], folder: str) -> dict[str, str]:
    """Return the scope of an event: `auto` stands for the project of the working folder, and for the current user."""
    scope = dict(named)
    if scope.get("project") == AUTO:
        scope["project"] = project_name(Path(folder) if folder else Path.cwd())
    if scope.get("user") == AUTO:
        scope["user"] = user_name()
    return scope


def project_name(folder: Path) -> str:
    """Return the name of the folder that contains the repository, or of the folder itself."""
    root = next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), folder)
    return root.name[:200] or "root"


def user_name() -> str:
    """Return the name of the user account that runs the program."""
    try:
        import pwd

        # Not the environment, which a host may change.
        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        pass
    try:
        return getpass.getuser()[:200]
    except (OSError, KeyError, ImportError):
        return "user"
