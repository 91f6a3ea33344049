"""Transcripts of sessions as notes: one line of text for each line of JSON.

Claude Code, Codex and OpenClaw write JSON lines; plain `{"role": ..., "content": ...}` lines are read as well.
Only the messages of user and assistant are indexed, without recalled blocks, so that recalled text is not
stored again. Any other line is empty, so that line n of the text is line n of the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from memotherm.text.marker import without_blocks

__all__ = ["Transcript", "transcript"]

_SPEAKERS = {"user": "User", "assistant": "Assistant"}
_TEXTS = {"text", "input_text", "output_text"}
#: The start of messages that hosts write in the user's name.
_BY_HOST = ("<environment_context>", "<user_instructions>", "<system-reminder>", "<command-name>", "<local-command-")
_LONGEST_LINE = 4_000_000


class Transcript:
    """The messages of a transcript, one per line."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    @property
    def text(self) -> str:
        """All lines as one text."""
        return "\n".join(self.lines)

    @property
    def messages(self) -> int:
        """The number of messages."""
        return sum(1 for line in self.lines if line)


def transcript(data: bytes, redact: Callable[[str], str] = str) -> Transcript:
    """Parse a transcript; a line that is not JSON, or still incomplete, gives an empty line.

    Args:
        data: The bytes of the file, or of its end.
        redact: Returns a message without its secrets; `str` leaves them.
    """
    lines = data.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    return Transcript([_line_text(line, redact) for line in lines])


def _line_text(line: bytes, redact: Callable[[str], str]) -> str:
    if not line.startswith(b"{") or len(line) > _LONGEST_LINE:
        return ""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    message = _message(entry)
    if message is None:
        return ""
    speaker = _SPEAKERS.get(str(message.get("role")))
    text = " ".join(redact(without_blocks(_text(message.get("content")))).split())
    if speaker is None or not text or text.startswith(_BY_HOST):
        return ""
    return f"{speaker}: {text}".replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


def _message(entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the message of an entry in the format of any supported host."""
    if entry.get("isMeta") or entry.get("isSidechain"):
        return None
    kind = entry.get("type")
    if kind in ("user", "assistant", "message") and isinstance(entry.get("message"), dict):
        message: Mapping[str, Any] = entry["message"]
        return message
    payload = entry.get("payload")
    if kind == "response_item" and isinstance(payload, dict) and payload.get("type") == "message":
        return payload
    return entry if kind in (None, "message") and "role" in entry else None


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    blocks = (block for block in content if isinstance(block, dict) and block.get("type") in _TEXTS)
    return "\n".join(str(block.get("text", "")) for block in blocks)
