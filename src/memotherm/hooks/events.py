"""Events of hosts and the options of `memotherm hook`: parsing, answers, and the size of the host's context.

Nothing here raises for bad input: a usage error must never reach the host.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from memotherm.hooks.calls import tool_call
from memotherm.hooks.hosts import CLIENTS, Host, host_of, last_entries
from memotherm.hooks.hosts.host import number
from memotherm.hooks.project import digest, working_tree
from memotherm.text.tool_calls import ToolCall

_CLOSE = "</memotherm-memory>"
#: Our names of the fields of an event, and those that most hosts have.
_FIELDS = {
    "session": "session_id",
    "prompt": "prompt",
    "reply": "last_assistant_message",
    "folder": "cwd",
    "transcript": "transcript_path",
}
_MAX_SESSION_CHARS = 200


class HookEvent(NamedTuple):
    """An event in a session of a host."""

    host: Host
    #: The host's name of the event.
    name: str
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
    #: The tool call, and the whole of its input; None if memories concern no such call.
    call: ToolCall | None = None
    input: str = ""
    #: The id of the subagent in which it happens, and its type, or the one that a call starts.
    agent: str = ""
    agent_type: str = ""

    @property
    def moment(self) -> str:
        """The moment in the session: start, prompt, compact, stop, end, tool or agent."""
        return self.host.events[self.name].moment


def parse_event(payload: dict[str, Any], name: str = "", client: str = "") -> HookEvent | None:
    """Return the event of a payload; None if no host has it, or we do nothing at it."""
    name = _text(payload, "hook_event_name") or name
    named = CLIENTS.get(client)
    host = named if named and name in named.events else host_of(name, payload)
    if host is None:
        return None
    texts = {ours: _text(payload, host.fields.get(ours, theirs), theirs) for ours, theirs in _FIELDS.items()}
    begun = payload.get("trigger") in host.own_triggers or texts["prompt"].startswith(host.prefixes)
    at_tool = host.events[name].moment in ("tool", "agent")
    agent, given = (_text(payload, "agent_id"), payload.get("tool_input")) if at_tool else ("", None)
    # What was shown to a subagent was not shown to the agent that started it.
    own = f"{texts['session']}:{agent}" if texts["session"] and agent else texts["session"]
    return HookEvent(
        host,
        name,
        **{**texts, "session": _session(own, host, texts["folder"])},
        call=tool_call(payload, name) if at_tool else None,
        input=json.dumps(given, ensure_ascii=False) if isinstance(given, dict) else "",
        agent=agent,
        agent_type=_text(payload, "agent_type") or _text(given if isinstance(given, dict) else {}, "subagent_type"),
        context_tokens=number(payload, "context_tokens"),
        context_window=number(payload, "context_window"),
        continued=payload.get("stop_hook_active") is True,
        automatic=begun,
    )


class Told(NamedTuple):
    """What is said at an event, and whether a tool call is held back for it."""

    text: str = ""
    holds: bool = False


def answer(event: HookEvent, told: Told) -> dict[str, Any] | None:
    """Return the answer that makes the host add a text to its context; None where it accepts none."""
    text = truncated(told.text, event.host.max_chars)
    return event.host.answer(event.name, text, holds=told.holds) if text and accepts_text(event) else None


def accepts_text(event: HookEvent) -> bool:
    """Return whether the host accepts a text at this event."""
    return event.host.events[event.name].injects


def truncated(text: str, max_chars: int) -> str:
    """Truncate a block to whole lines, keeping its closing tag."""
    if len(text) <= max_chars:
        return text
    lines = text[: max_chars - len(_CLOSE) - 1].split("\n")[:-1]
    return "\n".join([*lines, _CLOSE]) if lines else ""


def _session(named: str, host: Host, folder: str) -> str:
    """Return the id of a session; without one, each host and working tree has its own.

    One that is long, or has characters that no scope can have, ends with a digest instead.
    """
    printable = "".join(filter(str.isprintable, named)).strip()
    if not printable:
        return f"unknown-{digest(f'{host.client} {working_tree(folder or Path())} {named.strip()}'.strip())}"
    if printable == named and len(named) <= _MAX_SESSION_CHARS:
        return named
    return f"{printable[: _MAX_SESSION_CHARS - 9]}-{digest(named)}"


def _text(payload: dict[str, Any], *names: str) -> str:
    """Return the first of some fields that has a text, or a list that begins with one."""
    values = (value[0] if isinstance(value, list) and value else value for value in map(payload.get, names))
    return next((value for value in values if isinstance(value, str) and value.strip()), "")


# Context size

_TAIL_BYTES = 262_144
_DEFAULT_WINDOW = 200_000


def context_size(event: HookEvent) -> tuple[int, int] | None:
    """Return the tokens of the context and of its window; None if they are not known."""
    if event.context_tokens:
        return event.context_tokens, event.context_window or _DEFAULT_WINDOW
    for entry in last_entries(event.transcript, _TAIL_BYTES) if event.transcript else ():
        if (size := event.host.context_size(entry)) is not None:
            return size[0], event.context_window or size[1] or _DEFAULT_WINDOW
    return None


# Options

#: The options that name a scope.
SCOPE_OPTIONS = ("tenant", "project", "environment", "user", "agent")
_MAX_BUDGET = 2400


class Options:
    """The parsed command line of a hook; unknown arguments are ignored."""

    def __init__(self, arguments: list[str]) -> None:
        self.client = ""
        self.event = ""
        self.store: str | None = None
        self.scope: dict[str, str] = {}
        self.budget = 2000
        self.deadline: float | None = None
        self.capture = True
        self.worker = True
        self.arguments = list(arguments)
        self._parse(list(arguments))

    def _parse(self, arguments: list[str]) -> None:
        while arguments:
            name, equals, value = arguments.pop(0).partition("=")
            if name in ("--no-capture", "--no-worker"):
                setattr(self, name.removeprefix("--no-"), False)
            elif name.startswith("--"):
                self._set(name[2:], value if equals or not arguments else arguments.pop(0))
            elif not self.event:
                self.event = name

    def _set(self, name: str, value: str) -> None:
        if name in SCOPE_OPTIONS:
            self.scope[name] = value
        elif name == "store":
            self.store = value
        elif name == "client":
            self.client = value
        elif name == "budget" and value.isdecimal():
            self.budget = min(int(value), _MAX_BUDGET)
        elif name == "deadline":
            self.deadline = max(0.0, float(value))
