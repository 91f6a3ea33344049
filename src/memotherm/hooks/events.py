"""What hosts say to a hook and what they understand: Claude Code, Codex, Gemini CLI, Cursor, OpenClaw.

Every host has names of its own for five moments: start, prompt, compact, stop and end.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["CLIENTS", "MOST_CHARACTERS", "HookEvent", "answer", "fitted", "listens", "read_event"]

CLIENTS = ("claude", "codex", "gemini", "cursor", "openclaw")
#: What every host passes to its model whole.
MOST_CHARACTERS = 9000

_MOMENTS = {
    "SessionStart": "start",
    "sessionStart": "start",
    "session_start": "start",
    "UserPromptSubmit": "prompt",
    "BeforeAgent": "prompt",
    "beforeSubmitPrompt": "prompt",
    "before_prompt_build": "prompt",
    "PreCompact": "compact",
    "PreCompress": "compact",
    "preCompact": "compact",
    "before_compaction": "compact",
    "Stop": "stop",
    "AfterAgent": "stop",
    "stop": "stop",
    "agent_end": "stop",
    "SessionEnd": "end",
    "sessionEnd": "end",
    "session_end": "end",
}
_GEMINI = {"BeforeAgent", "AfterAgent", "PreCompress"}
_CLOSE = "</memotherm-memory>"


class HookEvent(NamedTuple):
    """One moment in a session of a host."""

    client: str
    #: The host's word for it.
    name: str
    #: start, prompt, compact, stop or end.
    moment: str
    session: str
    #: What the user asks, at a prompt; with some hosts also at a stop.
    prompt: str = ""
    #: What the agent said last, at a stop.
    reply: str = ""
    folder: str = ""
    transcript: str = ""
    #: Whether the host goes on because a stop hook told it to.
    continued: bool = False


def read_event(payload: dict[str, Any], name: str = "", client: str = "auto") -> HookEvent | None:
    """Read what a host says; None when it is about a moment that is not ours."""
    called = _text(payload, "hook_event_name", "hookEventName", "event") or name
    moment = _MOMENTS.get(called)
    if moment is None:
        return None
    return HookEvent(
        client=client if client in CLIENTS else _client(called, payload),
        name=called,
        moment=moment,
        session=_text(payload, "session_id", "sessionId", "conversation_id", "sessionKey")[:200] or "unknown",
        prompt=_text(payload, "prompt"),
        reply=_text(payload, "last_assistant_message", "prompt_response", "reply"),
        folder=_text(payload, "cwd") or _first(payload.get("workspace_roots")),
        transcript=_text(payload, "transcript_path"),
        continued=payload.get("stop_hook_active") is True,
    )


def answer(event: HookEvent, text: str) -> dict[str, Any] | None:
    """Return what the host puts before its model; None where it takes nothing."""
    if not text or event.moment not in ("start", "prompt"):
        return None
    if event.client == "cursor":
        return {"additional_context": text} if event.moment == "start" else None
    if event.client == "openclaw":
        return {"prependContext": text} if event.moment == "prompt" else None
    return {"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}}


def listens(event: HookEvent) -> bool:
    """Tell whether the host takes a text at this moment."""
    return answer(event, "x") is not None


def fitted(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return a block with as many of its lines as a host passes on whole, closed as it should be."""
    if len(text) <= most:
        return text
    lines = text[: most - len(_CLOSE) - 1].split("\n")[:-1]
    return "\n".join([*lines, _CLOSE]) if lines else ""


def _client(name: str, payload: dict[str, Any]) -> str:
    if name in _GEMINI:
        return "gemini"
    if "_" in name:
        return "openclaw"
    if name[0].islower():
        return "cursor"
    return "codex" if "turn_id" in payload else "claude"


def _text(payload: dict[str, Any], *names: str) -> str:
    return next((value for name in names if isinstance(value := payload.get(name), str) and value), "")


def _first(values: object) -> str:
    return values[0] if isinstance(values, list) and values and isinstance(values[0], str) else ""
