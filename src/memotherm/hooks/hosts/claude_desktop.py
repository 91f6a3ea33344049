"""Claude Desktop. It gets only the MCP server, and has no settings of a project."""

from __future__ import annotations

import sys
from pathlib import Path

from memotherm.hooks.hosts.host import Files, Host
from memotherm.settings.paths import client_home


def _files(project: Path | None) -> Files:
    if project is not None:
        return Files()
    if sys.platform == "darwin":
        folder = Path.home() / "Library" / "Application Support"
    elif sys.platform == "win32":
        folder = client_home("APPDATA", Path.home() / "AppData" / "Roaming")
    else:
        folder = client_home("XDG_CONFIG_HOME", Path.home() / ".config")
    return Files(servers=folder / "Claude" / "claude_desktop_config.json")


CLAUDE_DESKTOP = Host(
    "claude-desktop",
    "Claude Desktop",
    ("restart Claude Desktop; it has no hooks, so ask it to remember and to recall",),
    _files,
)
