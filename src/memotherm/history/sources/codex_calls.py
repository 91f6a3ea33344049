"""The calls of tools in the files of Codex: command lines, patches, and what came out."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

from memotherm.history.values import mapping, text

_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.{1,1000})$", re.MULTILINE)
_EXIT_CODE = re.compile(r"(?:Process exited with code|Exit code:?|\"exit_code\":) ?(-?\d{1,9})")
#: Where the verdict stands in the output of a call.
_VERDICT = 400
_SHELLS = ("-lc", "-c", "-Command", "/c")


def patched_files(command: str) -> list[str]:
    """Return the files that a patch changes; none if the command is not a patch."""
    return [path.strip() for path in _PATCHED.findall(command)] if "*** Begin Patch" in command else []


def has_failed(output: str, patch: bool) -> bool:
    """Return whether what a call returned says that it failed."""
    verdict = _EXIT_CODE.search(output, 0, _VERDICT) or _EXIT_CODE.search(output, max(0, len(output) - _VERDICT))
    if verdict is None:
        return patch and "uccess" not in output[:_VERDICT]
    return int(verdict[1]) != 0


def command_of(kind: str, payload: Mapping[str, Any]) -> str:
    """Return the command line, or the patch, of a call; "" if it is neither."""
    if kind == "local_shell_call":
        return joined(mapping(payload, "action").get("command"))
    name = text(payload, "name")
    if kind == "custom_tool_call":
        return text(payload, "input") if name == "apply_patch" else ""
    if name not in ("exec_command", "shell", "shell_command", "container.exec", "apply_patch"):
        return ""
    try:
        arguments = json.loads(text(payload, "arguments"))
    except (ValueError, RecursionError):
        return ""
    known = arguments if isinstance(arguments, dict) else {}
    return joined(known.get("cmd") or known.get("command") or known.get("input"))


def joined(command: object) -> str:
    """Return a command as one line: what a shell was given to run, or the words of the command."""
    if isinstance(command, str):
        return command.strip()
    words = [word for word in command if isinstance(word, str)] if isinstance(command, list) else []
    if len(words) > 2 and words[1] in _SHELLS:
        return words[2].strip()
    return words[1] if len(words) == 2 and words[0] == "apply_patch" else shlex.join(words)


def output_of(told: str) -> str:
    """Return the output in what a call returned, which may be an object, or have lines about the run before it."""
    if told.startswith("{"):
        try:
            value = json.loads(told)
        except (ValueError, RecursionError):
            return told
        return text(value, "output") if isinstance(value, dict) else told
    _, found, output = told.partition("Output:\n")
    return output if found else told
