"""Tool calls in the events of hosts."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Set
from typing import Any

from memotherm.hooks.tools import AGENTS, COMMANDS, FILES, PATCH_BEGINS, PATH_FIELDS, relative
from memotherm.text.tool_calls import ToolCall, call_names

#: Those that change nothing.
READERS = frozenset(("Read", "read_file"))
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
    if tool in COMMANDS and PATCH_BEGINS not in command:
        error = _text(payload.get("error"))
        if not error and event in _AFTER:
            # The command itself has been answered before it ran, where the host can do that.
            error = _output(payload.get("tool_response") or payload.get("tool_output"))
            error = error if re.search(_FAILED, error, re.IGNORECASE) else ""
            if not error and event != "postToolUse" and event != "AfterTool":
                return None
        return ToolCall(tool, (), command, error)
    if tool not in FILES | COMMANDS:
        return None
    patch = command or _text(given.get("input")) or _text(given.get("patch"))
    paths = [path for name in PATH_FIELDS if (path := _text(given.get(name)))]
    paths += [first or second for first, second in re.findall(_PATCHED, patch[:_OUTPUT_CHARS], re.MULTILINE)]
    folder = str(payload.get("cwd") or os.getcwd())
    return ToolCall(tool, tuple(relative(path.strip(), folder) for path in paths[:_MOST_PATHS])) if paths else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _output(value: object) -> str:
    """Return both ends of what a command has printed."""
    if isinstance(value, dict):
        value = "\n".join(_text(value.get(name)) for name in ("llmContent", "stdout", "stderr", "output", "error"))
    text = _text(value)
    return text if len(text) <= 2 * _OUTPUT_CHARS else f"{text[:_OUTPUT_CHARS]}\n{text[-_OUTPUT_CHARS:]}"


def names_none(call: ToolCall, names: Set[str]) -> bool:
    """Return whether a call has none of the names in memories."""
    return not ("*" in names or call.task or call_names(call) & names or (call.error and "!" in names))
