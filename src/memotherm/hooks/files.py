"""The files that an agent has read or edited in a turn, from the transcript of its host."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memotherm.history.sources.codex_calls import command_of, patched_files
from memotherm.history.values import blocks_of, text_of
from memotherm.hooks.hosts import PREFIXES, last_entries, message_of
from memotherm.hooks.tools import FILES, PATH_FIELDS

_TAIL_BYTES = 2_000_000
_MOST_FILES = 20


def files_of_turn(transcript: Path, prompt: str, folder: str) -> list[Path]:
    """Return the files that the calls after a prompt name, the last ones first; none if the prompt is not found."""
    wanted, found = prompt.split(), dict[Path, None]()
    for entry in last_entries(transcript, _TAIL_BYTES):
        message = message_of(entry) or {}
        said = text_of(message.get("content")) if message.get("role") == "user" else ""
        if said.strip() and not said.startswith(PREFIXES):
            if said.split() == wanted:
                return list(found)[:_MOST_FILES]
            found.clear()  # of a later turn
        for path in _paths(entry, message):
            found.setdefault(Path(os.path.realpath(Path(folder) / path)))
    return []


def _paths(entry: Mapping[str, Any], message: Mapping[str, Any]) -> Iterator[str]:
    """Yield the files that the calls in a line of a transcript name."""
    for block in blocks_of(message.get("content")):
        given = block.get("input")
        if block.get("type") == "tool_use" and block.get("name") in FILES and isinstance(given, dict):
            yield from (path for name in PATH_FIELDS if isinstance(path := given.get(name), str) and path)
    payload = entry.get("payload")
    if isinstance(payload, dict) and payload.get("type") in ("function_call", "custom_tool_call", "local_shell_call"):
        yield from patched_files(command_of(str(payload["type"]), payload))
