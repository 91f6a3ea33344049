"""Events of hosts and the options of `memotherm hook`: parsing, answers, and the size of the host's context.

Nothing here raises for bad input: a usage error must never reach the host.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any, NamedTuple

from memotherm.hooks.project import digest, working_tree

CLIENTS = ("claude", "codex", "gemini", "cursor", "openclaw")
#: The longest text that every host passes on unchanged.
MAX_CHARS = 9000

#: The names of each moment in the events of hosts.
_NAMES = {
    "start": "SessionStart sessionStart session_start",
    "prompt": "UserPromptSubmit BeforeAgent beforeSubmitPrompt before_prompt_build before_agent_start",
    "compact": "PreCompact PreCompress preCompact before_compaction",
    "stop": "Stop AfterAgent stop agent_end",
    "end": "SessionEnd sessionEnd session_end",
}
_MOMENTS = {name: moment for moment, names in _NAMES.items() for name in names.split()}
_GEMINI = {"BeforeAgent", "AfterAgent", "PreCompress"}
_CLOSE = "</memotherm-memory>"
#: The names of a session's id in the events of hosts.
_SESSION_NAMES = ("session_id", "sessionId", "conversation_id", "sessionKey")
_MAX_SESSION_CHARS = 200
#: What begins a turn of OpenClaw without the user, and how the prompt of such a turn begins in Claude Code.
_OWN_TURNS = ("heartbeat", "cron", "memory")
_NOTIFICATION = "<task-notification>"


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
    #: Whether the host itself began the turn, not the user.
    automatic: bool = False


def parse_event(payload: dict[str, Any], name: str = "", client: str = "auto") -> HookEvent | None:
    """Return the event of a payload; None if it is not one of the five moments."""
    event_name = _text(payload, "hook_event_name", "hookEventName", "event") or name
    moment = _MOMENTS.get(event_name)
    if moment is None:
        return None
    client = client if client in CLIENTS else _client(event_name, payload)
    folder = _text(payload, "cwd") or _first(payload.get("workspace_roots"))
    return HookEvent(
        client=client,
        name=event_name,
        moment=moment,
        session=_session(_text(payload, *_SESSION_NAMES), client, folder),
        prompt=_text(payload, "prompt"),
        reply=_text(payload, "last_assistant_message", "prompt_response", "reply"),
        folder=folder,
        transcript=_text(payload, "transcript_path"),
        context_tokens=_number(payload, "context_tokens", "contextTokens"),
        context_window=_number(payload, "context_window", "contextWindow"),
        continued=payload.get("stop_hook_active") is True,
        automatic=payload.get("trigger") in _OWN_TURNS or _text(payload, "prompt").startswith(_NOTIFICATION),
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
    """Truncate a block to whole lines, keeping its closing tag."""
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


def _session(named: str, client: str, folder: str) -> str:
    """Return the id of a session, shortened if it is long; without one, each host and working tree has its own."""
    if not named:
        return f"unknown-{digest(f'{client} {working_tree(folder or Path())}')}"
    return named if len(named) <= _MAX_SESSION_CHARS else f"{named[: _MAX_SESSION_CHARS - 9]}-{digest(named)}"


def _text(payload: dict[str, Any], *names: str) -> str:
    return next((value for name in names if isinstance(value := payload.get(name), str) and value), "")


def _number(payload: dict[str, Any], *names: str) -> int:
    return next((value for name in names if type(value := payload.get(name)) is int and value > 0), 0)


def _first(values: object) -> str:
    return values[0] if isinstance(values, list) and values and isinstance(values[0], str) else ""


# Context size

_TAIL_BYTES = 262_144
_DEFAULT_WINDOW = 200_000
_USAGE = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")


def read_tail(path: str | Path, count: int) -> bytes:
    """Return the last bytes of a file; raise OSError for anything else, such as a pipe, which could block."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{path} is not a plain file")
        file.seek(max(0, status.st_size - count))
        return file.read(count)


def context_size(event: HookEvent) -> tuple[int, int] | None:
    """Return the tokens of the context and of its window; None if they are not known."""
    if event.context_tokens:
        return event.context_tokens, event.context_window or _DEFAULT_WINDOW
    if not event.transcript:
        return None
    try:
        lines = read_tail(event.transcript, _TAIL_BYTES).split(b"\n")
    except (OSError, ValueError):
        return None
    for line in reversed(lines):
        size = _size_in(line)
        if size is not None:
            return size[0], event.context_window or size[1] or _DEFAULT_WINDOW
    return None


def _size_in(line: bytes) -> tuple[int, int] | None:
    """Return the tokens and the window (0 if unknown) that a line of a transcript records."""
    if b'"usage"' not in line and b'"token_count"' not in line:
        return None
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict) or entry.get("isSidechain"):
        return None
    usage = _object(_object(entry, "message"), "usage")
    if usage:
        return sum(_number(usage, name) for name in _USAGE), 0
    info = _object(_object(entry, "payload"), "info")
    tokens = _number(_object(info, "last_token_usage"), "total_tokens")
    return (tokens, _number(info, "model_context_window")) if tokens else None


def _object(value: dict[str, Any], name: str) -> dict[str, Any]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


# Options

#: The options that name a scope.
SCOPE_OPTIONS = ("tenant", "project", "environment", "user", "agent")
_MAX_BUDGET = 2400


class Options:
    """The parsed command line of a hook; unknown arguments are ignored."""

    def __init__(self, arguments: list[str]) -> None:
        self.client = "auto"
        self.event = ""
        self.store: str | None = None
        self.scope: dict[str, str] = {}
        self.budget = 2000
        self.deadline: float | None = None
        self.capture = True
        self.worker = True
        self.selftest = False
        self._parse(list(arguments))

    def _parse(self, arguments: list[str]) -> None:
        while arguments:
            name, equals, value = arguments.pop(0).partition("=")
            if name in ("--no-capture", "--no-worker", "--selftest"):
                setattr(self, name.removeprefix("--").removeprefix("no-"), name == "--selftest")
            elif name.startswith("--"):
                self._set(name[2:], value if equals or not arguments else arguments.pop(0))
            elif not self.event:
                self.event = name

    def _set(self, name: str, value: str) -> None:
        if name in SCOPE_OPTIONS:
            self.scope[name] = value
        elif name == "store":
            self.store = value
        elif name == "client" and value in CLIENTS:
            self.client = value
        elif name == "budget" and value.isdecimal():
            self.budget = min(int(value), _MAX_BUDGET)
        elif name == "deadline":
            self.deadline = max(0.0, float(value))
