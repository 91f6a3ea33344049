"""How large the context of a host is, by its event or by the end of its transcript.

Claude Code records the usage of each reply, and Codex the tokens of the last request and the window of the model.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memotherm.hooks.events import HookEvent

__all__ = ["context_size"]

_TAIL_BYTES = 262_144
_DEFAULT_WINDOW = 200_000
_USAGE = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")


def context_size(event: HookEvent) -> tuple[int, int] | None:
    """Return the tokens of the context and of its window; None if they are not known."""
    if event.context_tokens:
        return event.context_tokens, event.context_window or _DEFAULT_WINDOW
    for line in reversed(_last_lines(event.transcript)):
        size = _size_in(line)
        if size is not None:
            return size[0], event.context_window or size[1] or _DEFAULT_WINDOW
    return None


def _last_lines(transcript: str) -> list[bytes]:
    if not transcript:
        return []
    try:
        path = Path(transcript)
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            return file.read(_TAIL_BYTES).split(b"\n")
    except OSError:
        return []


def _size_in(line: bytes) -> tuple[int, int] | None:
    """Return the tokens and the window (0 if unknown) that a line of a transcript records."""
    if b'"usage"' not in line and b'"token_count"' not in line:
        return None
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    if not isinstance(entry, dict) or entry.get("isSidechain"):
        return None
    usage = _at(entry, "message", "usage")
    if usage:
        return sum(_number(usage, name) for name in _USAGE), 0
    info = _at(entry, "payload", "info")
    tokens = _number(_at(info, "last_token_usage"), "total_tokens")
    return (tokens, _number(info, "model_context_window")) if tokens else None


def _at(value: dict[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        found = value.get(name)
        value = found if isinstance(found, dict) else {}
    return value


def _number(values: dict[str, Any], name: str) -> int:
    value = values.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
