"""The value that describes a coding agent: its events, files, limits and transcripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

Json = dict[str, Any]


class Event(NamedTuple):
    """An event of a host, and the hook that is installed for it."""

    #: start, prompt, compact, stop or end.
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


def hook_group(command: str, event: Event) -> Json:
    """Return the entry of a hook, as Claude Code and Codex have it."""
    hook = {"type": "command", "command": command, "timeout": event.timeout}
    return {**({"matcher": event.matcher} if event.matcher else {}), "hooks": [hook]}


def program_and_arguments(command: Sequence[str]) -> Json:
    """Return the entry of an MCP server, as most hosts have it."""
    return {"command": command[0], "args": list(command[1:])}


def specific_output(event: str, text: str) -> Json:
    """Return the answer that adds a text to the context, as most hosts read it."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


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
    #: Returns the answer to an event that adds a text to the context.
    answer: Callable[[str, str], Json] = specific_output
    #: The most characters of such a text that the host passes on unchanged.
    max_chars: int = 9000
    #: How the texts begin that the host itself writes where users write, and what triggers turns without the user.
    prefixes: tuple[str, ...] = ()
    own_triggers: tuple[str, ...] = ()

    #: Returns the entry of a hook in its settings, for a command.
    hook_entry: Callable[[str, Event], Json] = hook_group
    #: Fields that the file with hooks must have.
    required: Mapping[str, Any] = {}
    #: Returns the entry of an MCP server, and the section that has these.
    server_entry: Callable[[Sequence[str]], Json] = program_and_arguments
    server_section: str = "mcpServers"
    #: The folder in the package with a plugin for a host that has its hooks there.
    plugin: str = ""
    uninstall_steps: tuple[str, ...] = ()
    #: Returns the events whose installed hooks the host skips, each with the reason, and what to do about it.
    skipped_hooks: Callable[[], Mapping[str, str]] = dict
    trust_step: str = ""

    #: Returns the message in an entry of a transcript, and its context tokens with those of the window (0 if unknown).
    message: Callable[[Mapping[str, Any]], Mapping[str, Any] | None] = lambda entry: None  # noqa: ARG005
    context_size: Callable[[Mapping[str, Any]], tuple[int, int] | None] = lambda entry: None  # noqa: ARG005


def mapping(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a field that is an object; an empty one for anything else."""
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def number(value: Mapping[str, Any], name: str) -> int:
    """Return a field that is a positive whole number; 0 for anything else."""
    found = value.get(name)
    return found if type(found) is int and found > 0 else 0
