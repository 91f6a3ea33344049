"""Transcripts of sessions as notes: one line of text for each line of JSON, empty where nobody spoke.

Claude Code, Codex and OpenClaw write JSON lines. Only what user and assistant said is kept, without
what Memotherm had put into the prompt, so that nothing that was recalled is remembered again.
Line n of the text is line n of the file: citations hold in both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memotherm.text.marker import without_blocks

__all__ = ["Transcript", "transcript"]

_SPEAKERS = {"user": "User", "assistant": "Assistant"}
_TEXTS = {"text", "input_text", "output_text"}
#: What hosts put into the user's mouth.
_NOT_SAID = ("<environment_context>", "<user_instructions>", "<system-reminder>", "<command-name>", "<local-command-")
_LONGEST_LINE = 4_000_000


class Transcript:
    """What was said, line by line."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    @property
    def text(self) -> str:
        """The text that is cut into chunks."""
        return "\n".join(self.lines)

    @property
    def messages(self) -> int:
        """How many messages it has."""
        return sum(1 for line in self.lines if line)


def transcript(data: bytes) -> Transcript:
    """Read a transcript; a line that is no JSON, or that is still being written, says nothing."""
    lines = data.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    return Transcript([_said(line) for line in lines])


def _said(line: bytes) -> str:
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
    text = " ".join(without_blocks(_text(message.get("content"))).split())
    if speaker is None or not text or text.startswith(_NOT_SAID):
        return ""
    return f"{speaker}: {text}".replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


def _message(entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the message of an entry, in whichever host's form."""
    if entry.get("isMeta") or entry.get("isSidechain"):
        return None
    kind = entry.get("type")
    if kind in ("user", "assistant", "message") and isinstance(entry.get("message"), dict):
        message: Mapping[str, Any] = entry["message"]
        return message
    payload = entry.get("payload")
    if kind == "response_item" and isinstance(payload, dict) and payload.get("type") == "message":
        return payload
    return None


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    blocks = (block for block in content if isinstance(block, dict) and block.get("type") in _TEXTS)
    return "\n".join(str(block.get("text", "")) for block in blocks)
