"""The coding agents that Memotherm works with, one module for each.

A new host is a module with a `Host` and its name here: `install`, `doctor`, the hooks and the readers of transcripts
use nothing else. Every hook imports these modules, so they import nothing from outside the standard library and ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from memotherm.hooks.hosts.claude_code import CLAUDE_CODE
from memotherm.hooks.hosts.claude_desktop import CLAUDE_DESKTOP
from memotherm.hooks.hosts.codex import CODEX
from memotherm.hooks.hosts.cursor import CURSOR
from memotherm.hooks.hosts.gemini import GEMINI
from memotherm.hooks.hosts.host import Event, Files, Host
from memotherm.hooks.hosts.openclaw import OPENCLAW
from memotherm.hooks.hosts.opencode import OPENCODE
from memotherm.settings.paths import read_regular

__all__ = ["CLIENTS", "HOSTS", "PREFIXES", "Event", "Files", "Host", "host_of", "last_entries", "message_of"]

#: By the names that `install` and `doctor` use.
HOSTS = {
    host.name: host for host in (CLAUDE_CODE, CODEX, GEMINI, CURSOR, OPENCLAW, OPENCODE, CLAUDE_DESKTOP)
}  # fmt: skip
#: Those with hooks, by the names in the commands of their hooks.
CLIENTS = {host.client: host for host in HOSTS.values() if host.client}
#: How the messages begin that hosts write in the user's name.
PREFIXES = tuple(prefix for host in HOSTS.values() for prefix in host.prefixes)


def host_of(event: str, payload: Mapping[str, Any]) -> Host | None:
    """Return the host that an event comes from, by the names of the event and of its fields."""
    found = [host for host in CLIENTS.values() if event in host.events]
    return next((host for host in found if host.mark in payload), found[0] if found else None)


def last_entries(transcript: str | Path, most_bytes: int) -> Iterator[dict[str, Any]]:
    """Yield the entries in the last bytes of a transcript, the last one first; none if it cannot be read."""
    try:
        lines = read_regular(transcript, most_bytes, tail=True).split(b"\n")
    except (OSError, ValueError):
        return
    for line in reversed(lines):
        with suppress(ValueError, RecursionError):
            entry = json.loads(line)
            if isinstance(entry, dict):
                yield entry


def message_of(entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the message in a line of a transcript, with its `role` and `content`; None if the line has none."""
    return next(filter(None, (host.message(entry) for host in CLIENTS.values())), None)
