"""The value that describes a coding agent: its events, files, limits and transcripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

Json = dict[str, Any]

#: The tool of our MCP server that answers hooks. It is not listed, so that no model sees it.
HOOK_TOOL = "answer_hook"


class Event(NamedTuple):
    """An event of a host, and the hook that is installed for it."""

    #: start, prompt, compact, stop, end, tool (a call, or its result) or agent (a subagent starts).
    moment: str
    #: Whether the host adds a text in the answer to its context.
    injects: bool = False
    #: The longest time for the hook, in the host's unit.
    timeout: int = 10
    matcher: str = ""


class Files(NamedTuple):
    """The settings of a host, for a user or a project; None where it has none."""

    #: The file with hooks, and the one with MCP servers, which may be the same.
    hooks: Path | None = None
    servers: Path | None = None
    #: The folder of skills.
    skills: Path | None = None
    #: The folder from which the host loads our plugin by itself; elsewhere the user installs it.
    plugins: Path | None = None


class Host(NamedTuple):
    """A coding agent."""

    #: The name in commands, and the name for people.
    name: str
    title: str
    #: What is left to the user after an installation; {folder} is that of the plugin.
    next_steps: tuple[str, ...]
    #: Returns the files of a project, or of the user for None.
    files: Callable[[Path | None], Files] = lambda project: Files()  # noqa: ARG005

    #: The name in the command of its hooks, and in the metadata of captured memories; empty without hooks.
    client: str = ""
    events: Mapping[str, Event] = {}
    #: The fields of its events that have other names than ours.
    fields: Mapping[str, str] = {}
    #: A field that only its events have, if other hosts have events of the same names.
    mark: str = ""
    #: The field of an answer with the text for the context; empty for `hookSpecificOutput.additionalContext`.
    answer_field: str = ""
    #: The event at which a call can be held back with a text; empty if there is none.
    holds_at: str = ""
    #: The most characters of such a text that the host passes on unchanged.
    max_chars: int = 9000
    #: How the texts begin that the host itself writes where users write, and what triggers turns without the user.
    prefixes: tuple[str, ...] = ()
    own_triggers: tuple[str, ...] = ()

    #: More fields of a hook, and of the file that has them; and whether an event has hooks, not groups of hooks.
    hook_fields: Mapping[str, Any] = {}
    file_fields: Mapping[str, Any] = {}
    ungrouped: bool = False
    #: The events whose hooks may call a tool of our MCP server instead of a command, with the fields that it gets; and
    #: the program, with its first version that can do so: an earlier one rejects all hooks of a file with such a one.
    server_hooks: Mapping[str, Mapping[str, str]] = {}
    server_hooks_from: tuple[str, str] = ("", "")
    #: The section of MCP servers, more fields of a server, and whether its arguments are a part of its command.
    server_section: str = "mcpServers"
    server_fields: Mapping[str, Any] = {}
    whole_command: bool = False
    #: The folder in the package with a plugin for a host that has its hooks there.
    plugin: str = ""
    uninstall_steps: tuple[str, ...] = ()
    #: Returns the events whose installed hooks the host skips, each with the reason, and what to do about it.
    skipped_hooks: Callable[[], Mapping[str, str]] = dict
    trust_step: str = ""

    #: Returns the message in an entry of a transcript, and its context tokens with those of the window (0 if unknown).
    message: Callable[[Mapping[str, Any]], Mapping[str, Any] | None] = lambda entry: None  # noqa: ARG005
    context_size: Callable[[Mapping[str, Any]], tuple[int, int] | None] = lambda entry: None  # noqa: ARG005

    def answer(self, event: str, text: str, *, holds: bool) -> Json:
        """Return the answer to an event that adds a text to the context, or holds a call back with it."""
        if self.answer_field:
            return {self.answer_field: text}
        held = {"permissionDecision": "deny", "permissionDecisionReason": text}
        return {"hookSpecificOutput": {"hookEventName": event, **(held if holds else {"additionalContext": text})}}

    def hook_entry(self, command: str, name: str, *, by_server: bool = False) -> Json:
        """Return the entry of a hook in the settings; by our MCP server, if it answers the event."""
        event = self.events[name]
        if self.ungrouped:
            return {
                "command": command,
                "timeout": event.timeout,
                **({"matcher": event.matcher} if event.matcher else {}),
            }
        if by_server and name in self.server_hooks:
            call = {"server": "memotherm", "tool": HOOK_TOOL, "input": dict(self.server_hooks[name])}
            hook: Json = {"type": "mcp_tool", **call, "timeout": event.timeout}
        else:
            hook = {**self.hook_fields, "type": "command", "command": command, "timeout": event.timeout}
        return {**({"matcher": event.matcher} if event.matcher else {}), "hooks": [hook]}

    def server_entry(self, command: Sequence[str]) -> Json:
        """Return the entry of an MCP server in the settings."""
        own = {"command": command} if self.whole_command else {"command": command[0], "args": command[1:]}
        return {**self.server_fields, **own}


def mapping(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a field that is an object; an empty one for anything else."""
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def number(value: Mapping[str, Any], name: str) -> int:
    """Return a field that is a positive whole number; 0 for anything else."""
    found = value.get(name)
    return found if type(found) is int and found > 0 else 0
