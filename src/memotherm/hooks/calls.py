"""Tool calls in the events of hosts, and the cheap answer to most of them.

Most calls concern no memory. A hook of a tool therefore begins with this module, which imports little: if the names
of files and programs in the call are in no memory of the store, it ends at once. The names are in a file that hooks
write (`save_names`), with the state of the store's files: if one of these has changed since, the store is asked.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memotherm.daemon.client import own_variables
from memotherm.text.tool_calls import ToolCall, call_names

#: The tools of hosts by what they do; others are not looked at.
_FILES = frozenset(
    ("Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "apply_patch", "read_file", "write_file", "replace")
)
_COMMANDS = frozenset(("Bash", "Shell", "shell", "run_shell_command"))
#: Those that change nothing.
READERS = frozenset(("Read", "read_file"))
#: Those that start a subagent.
AGENTS = frozenset(("Agent", "Task"))
_PATH_FIELDS = ("file_path", "notebook_path", "absolute_path", "path")
_PATCH_BEGINS = "*** Begin Patch"
_PATCHED = r"^\*\*\* (?:Add|Update|Delete) File: (.{1,4096})$|^\*\*\* Move to: (.{1,4096})$"
_MOST_PATHS = 20
#: Events of tools that have run: what a command has printed may be an error, though no field says so.
_AFTER = frozenset(("PostToolUse", "AfterTool", "postToolUse"))
_FAILED = (
    r"\b(?:exit code:? [1-9]|exited with code [1-9]|error|exception|fatal|panic|traceback|failed|not found|denied)"
)
#: An output is looked at from both ends.
_OUTPUT_CHARS = 16_384


def tool_call(payload: Mapping[str, Any], event: str) -> ToolCall | None:
    """Return the call in an event; None if it is none that memories concern."""
    tool, given = payload.get("tool_name"), payload.get("tool_input")
    if not isinstance(tool, str) or not isinstance(given, dict):
        return None
    if tool in AGENTS:
        return ToolCall(tool, task=_text(given.get("prompt")))
    command = given.get("command") or ""
    command = " ".join(map(str, command)) if isinstance(command, list) else str(command)
    # Codex runs patches in its shell, too: apply_patch <<'EOF'.
    if tool in _COMMANDS and _PATCH_BEGINS not in command:
        error = _text(payload.get("error"))
        if not error and event in _AFTER:
            # The command itself has been answered before it ran, where the host can do that.
            error = _output(payload.get("tool_response") or payload.get("tool_output"))
            error = error if re.search(_FAILED, error, re.IGNORECASE) else ""
            if not error and event != "postToolUse" and event != "AfterTool":
                return None
        return ToolCall(tool, (), command, error)
    if tool not in _FILES | _COMMANDS:
        return None
    patch = command or _text(given.get("input")) or _text(given.get("patch"))
    paths = [path for name in _PATH_FIELDS if (path := _text(given.get(name)))]
    paths += [first or second for first, second in re.findall(_PATCHED, patch[:_OUTPUT_CHARS], re.MULTILINE)]
    folder = str(payload.get("cwd") or os.getcwd())
    return ToolCall(tool, tuple(_relative(path.strip(), folder) for path in paths[:_MOST_PATHS])) if paths else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _output(value: object) -> str:
    """Return both ends of what a command has printed."""
    if isinstance(value, dict):
        value = "\n".join(_text(value.get(name)) for name in ("llmContent", "stdout", "stderr", "output", "error"))
    text = _text(value)
    return text if len(text) <= 2 * _OUTPUT_CHARS else f"{text[:_OUTPUT_CHARS]}\n{text[-_OUTPUT_CHARS:]}"


def _relative(path: str, folder: str) -> str:
    """Return a path from the root of its working tree, without symbolic links; an absolute one if it has no root."""
    full = os.path.realpath(os.path.join(folder, os.path.expanduser(path)))
    parent = os.path.dirname(full)
    while parent != os.path.dirname(parent):
        if os.path.exists(f"{parent}/.git"):
            return os.path.relpath(full, parent).replace(os.sep, "/")
        parent = os.path.dirname(parent)
    here = os.path.realpath(folder)
    return os.path.relpath(full, here).replace(os.sep, "/") if full.startswith(here + os.sep) else full


# The names in a store


def is_unknown(data: bytes, arguments: Sequence[str]) -> bool:
    """Return whether an event is a tool call whose names are in no memory of the store."""
    payload = json.loads(data)
    call = tool_call(payload, str(payload.get("hook_event_name") or ""))
    if call is None or call.task:
        return call is None
    with open(names_file(arguments, str(payload.get("cwd") or "")), encoding="utf-8") as file:
        saved = json.load(file)
    if not saved["files"] or any(state_of(path) != state for path, state in saved["files"].items()):
        return False
    names = set(saved["names"])
    return not ("*" in names or names & call_names(call) or (call.error and "!" in names))


def names_file(arguments: Sequence[str], folder: str) -> str:
    """Return the file with the names in the memories of a store: one for each folder and command of a hook."""
    import zlib

    variables = own_variables()
    where = json.dumps([list(arguments), variables, folder, os.getcwd()])
    home = variables.get("MEMOTHERM_HOME")
    if not home:
        import platformdirs

        home = platformdirs.user_data_dir("memotherm", appauthor=False)
    return f"{home}/names/{zlib.crc32(where.encode()):08x}{zlib.adler32(where.encode()):08x}.json"


def state_of(path: str) -> list[int] | None:
    """Return what changes when a file does; None if there is no file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return [status.st_mtime_ns, status.st_size, status.st_ino]


def save_names(path: str, files: Iterable[str], names: Iterable[str], seen: Mapping[str, int]) -> None:
    """Write the names in the memories of a store up to the events seen, with the state of the files that hold them."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    saved = {"files": {file: state_of(file) for file in files}, "names": sorted(names), "seen": dict(seen)}
    partial = f"{path}.{os.getpid()}"
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump(saved, file)
    os.replace(partial, path)
