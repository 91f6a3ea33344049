"""The tools of hosts that memories may concern, and the files that their calls name; it imports `os` only."""

from __future__ import annotations

import os

#: The tools of hosts by what they do; calls of others are not looked at.
FILES = frozenset(
    ("Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "apply_patch", "read_file", "write_file", "replace")
)
COMMANDS = frozenset(("Bash", "Shell", "shell", "run_shell_command"))
#: Those that start a subagent.
AGENTS = frozenset(("Agent", "Task"))
PATH_FIELDS = ("file_path", "notebook_path", "absolute_path", "path")
PATCH_BEGINS = "*** Begin Patch"


def relative(path: str, folder: str) -> str:
    """Return a path from the root of its working tree, without symbolic links; an absolute one if it has no root."""
    full = os.path.realpath(os.path.join(folder, os.path.expanduser(path)))
    parent = os.path.dirname(full)
    while parent != os.path.dirname(parent):
        if os.path.exists(f"{parent}/.git"):
            return os.path.relpath(full, parent).replace(os.sep, "/")
        parent = os.path.dirname(parent)
    here = os.path.realpath(folder)
    return os.path.relpath(full, here).replace(os.sep, "/") if full.startswith(here + os.sep) else full
