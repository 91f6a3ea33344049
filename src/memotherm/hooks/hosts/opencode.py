"""opencode. It gets only the MCP server."""

from __future__ import annotations

from pathlib import Path

from memotherm.hooks.hosts.host import Files, Host
from memotherm.settings.paths import client_home


def _files(project: Path | None) -> Files:
    folder = client_home("XDG_CONFIG_HOME", ".config") / "opencode" if project is None else project
    name = "opencode.jsonc" if (folder / "opencode.jsonc").is_file() else "opencode.json"
    return Files(servers=folder / name)


OPENCODE = Host(
    "opencode",
    "opencode",
    ("start opencode; it has no hooks that we use, so ask it to remember and to recall",),
    _files,
    server_section="mcp",
    server_fields={"type": "local"},
    whole_command=True,
)
