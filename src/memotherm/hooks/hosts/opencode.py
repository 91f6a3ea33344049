"""opencode. Our plugin for version 1 sends its events to the hook; the MCP server works in every version."""

from __future__ import annotations

from pathlib import Path

from memotherm.hooks.hosts.host import Event, Files, Host
from memotherm.settings.paths import client_home


def _files(project: Path | None) -> Files:
    folder = client_home("XDG_CONFIG_HOME", Path.home() / ".config") / "opencode" if project is None else project
    name = "opencode.jsonc" if (folder / "opencode.jsonc").is_file() else "opencode.json"
    return Files(servers=folder / name, plugins=(folder if project is None else folder / ".opencode") / "plugin")


OPENCODE = Host(
    "opencode",
    "opencode",
    ("start opencode; version 1 loads the plugin by itself, in version 2 ask it to remember and to recall",),
    _files,
    client="opencode",
    events={
        # The plugin sends it with the first prompt of a session, and with the first one after a compaction.
        "session.created": Event("start", injects=True),
        "chat.message": Event("prompt", injects=True),
        "tool.execute.after": Event("tool", injects=True),
        "session.idle": Event("stop"),
        "session.compacted": Event("compact"),
        "session.deleted": Event("end"),
    },
    fields={"reply": "reply"},
    answer_field="text",
    server_section="mcp",
    server_fields={"type": "local"},
    whole_command=True,
    plugin="opencode",
)
