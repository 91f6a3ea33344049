"""The events and answers of each host: Claude Code, Codex, Gemini CLI, Cursor, OpenClaw.

The hosts have different names for five moments: start, prompt, compact, stop and end.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["CLIENTS", "MAX_CHARS", "HookEvent", "accepts_text", "answer", "parse_event", "truncated"]

CLIENTS = ("claude", "codex", "gemini", "cursor", "openclaw")
#: The longest text that every host passes on unchanged.
MAX_CHARS = 9000

_MOMENTS = {
    "SessionStart": "start",
    "sessionStart": "start",
    "session_start": "start",
    "UserPromptSubmit": "prompt",
    "BeforeAgent": "prompt",
    "beforeSubmitPrompt": "prompt",
    "before_prompt_build": "prompt",
    "before_agent_start": "prompt",
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
    """An event in a session of a host."""

    client: str
    #: The host's name of the event.
    name: str
    #: start, prompt, compact, stop or end.
    moment: str
    session: str
    #: The user's prompt, at a prompt; with some hosts also at a stop.
    prompt: str = ""
    #: The agent's last reply, at a stop.
    reply: str = ""
    folder: str = ""
    transcript: str = ""
    #: The tokens of the context, and the most that it can hold; 0 if the event does not say.
    context_tokens: int = 0
    context_window: int = 0
    #: Whether the host continues because of a stop hook.
    continued: bool = False


def parse_event(payload: dict[str, Any], name: str = "", client: str = "auto") -> HookEvent | None:
    """Return the event of a payload; None if it is not one of the five moments."""
    event_name = _text(payload, "hook_event_name", "hookEventName", "event") or name
    moment = _MOMENTS.get(event_name)
    if moment is None:
        return None
    return HookEvent(
        client=client if client in CLIENTS else _client(event_name, payload),
        name=event_name,
        moment=moment,
        session=_text(payload, "session_id", "sessionId", "conversation_id", "sessionKey")[:200] or "unknown",
        prompt=_text(payload, "prompt"),
        reply=_text(payload, "last_assistant_message", "prompt_response", "reply"),
        folder=_text(payload, "cwd") or _first(payload.get("workspace_roots")),
        transcript=_text(payload, "transcript_path"),
        context_tokens=_number(payload, "context_tokens", "contextTokens"),
        context_window=_number(payload, "context_window", "contextWindow"),
        continued=payload.get("stop_hook_active") is True,
    )


def answer(event: HookEvent, text: str) -> dict[str, Any] | None:
    """Return the answer that makes the host add a text to its context; None where it accepts none."""
    if not text or event.moment not in ("start", "prompt"):
        return None
    if event.client == "cursor":
        return {"additional_context": text} if event.moment == "start" else None
    if event.client == "openclaw":
        return {"prependContext": text} if event.moment == "prompt" else None
    return {"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}}


def accepts_text(event: HookEvent) -> bool:
    """Return whether the host accepts a text at this event."""
    return answer(event, "x") is not None


def truncated(text: str, max_chars: int = MAX_CHARS) -> str:
    """Return a block with as many lines as fit, and with its closing mark."""
    if len(text) <= max_chars:
        return text
    lines = text[: max_chars - len(_CLOSE) - 1].split("\n")[:-1]
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


def _number(payload: dict[str, Any], *names: str) -> int:
    return next((value for name in names if type(value := payload.get(name)) is int and value > 0), 0)


def _first(values: object) -> str:
    return values[0] if isinstance(values, list) and values and isinstance(values[0], str) else ""
