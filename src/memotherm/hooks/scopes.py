"""The scope of a folder: its project, and the user. A remote's project is only for folders that are trusted with it.

Any folder can name any remote: an unpacked archive may contain a `.git` folder. The first folder that names a remote is
trusted with the memories of its project, and its worktrees with it. Any other folder has a project of its own until
`memotherm agent trust` was run for it.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from memotherm.hooks.project import Project, project_at
from memotherm.settings import data_home
from memotherm.settings.paths import append_line, read_lines

#: The value of an option that is derived from the working folder or the user account.
AUTO = "auto"
#: The scope of hooks, as `install` configures it.
HOOKS = {"project": AUTO, "user": AUTO}
_MAX_CHARS = 200


def scope_of(named: Mapping[str, str], folder: str) -> dict[str, str]:
    """Return the scope of an event; `auto` means the project of the working folder, or the current user."""
    scope = dict(named)
    if scope.get("project") == AUTO:
        project = project_at(folder or Path.cwd())
        trust_first(project)
        scope["project"] = name_of(project)
    if scope.get("user") == AUTO:
        scope["user"] = user_name()
    return scope


def name_of(project: Project) -> str:
    """Return the name under which a folder's memories are stored: its remote if it is trusted, else its own name."""
    return project.remote if project.remote and not mistrust(project) else project.local


def mistrust(project: Project) -> list[str]:
    """Return the folders that are trusted with the remote of a project, if its own is not one of them; else none."""
    trusted = trusted_folders().get(project.remote, [])
    return [] if str(project.place) in trusted else trusted


def trust_first(project: Project) -> None:
    """Trust a folder with its remote, if it is the first one that names it."""
    if project.remote and project.remote not in trusted_folders():
        # Without the file, no other folder is trusted with this remote either.
        with suppress(OSError):
            trust(project)


def trust(project: Project) -> None:
    """Trust a folder, and its worktrees, with the memories of its remote."""
    append_line(trust_file(), [project.remote, str(project.place)])


def trusted_folders() -> dict[str, list[str]]:
    """Return the folders that are trusted with each remote, oldest first."""
    folders: dict[str, list[str]] = {}
    for values in read_lines(trust_file()):
        with suppress(ValueError):
            remote, folder = map(str, values)
            folders.setdefault(remote, []).append(folder)
    return folders


def trust_file() -> Path:
    """Return the file with the trusted folders: one JSON array on each line, a remote and a folder."""
    return data_home() / "trusted-folders.jsonl"


def untrusted_text(project: Project) -> str:
    """Return why a folder does not get the memories of its remote, and how it gets them; empty if it does."""
    folders = mistrust(project)
    if not folders:
        return ""
    return (
        f"This folder names the repository {project.remote}, whose memories are those of {folders[0]}. Any folder can "
        f"name any repository, so it has memories of its own. If it is a clone of yours: `{trust_command(project)}`"
    )


def trust_command(project: Project) -> str:
    """Return the command that trusts a folder."""
    from shlex import quote

    return f"memotherm agent trust {quote(str(project.root))}"


def user_name() -> str:
    """Return the name of the user account that runs the program."""
    try:
        import pwd

        # Not the environment, which a host may change.
        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        pass
    try:
        return getpass.getuser()[:_MAX_CHARS]
    except (OSError, KeyError, ImportError):
        return "user"
