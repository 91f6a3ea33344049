"""Cursor. It has a list of commands for each event, and takes a text at the start of a session and after a tool."""

from __future__ import annotations

from pathlib import Path

from memotherm.hooks.hosts.host import Event, Files, Host


def _files(project: Path | None) -> Files:
    folder = (project or Path.home()) / ".cursor"
    return Files(folder / "hooks.json", folder / "mcp.json")


CURSOR = Host(
    "cursor",
    "Cursor",
    ("restart Cursor; it shows memories at the start of a session, and the tools recall in between",),
    _files,
    client="cursor",
    events={
        "sessionStart": Event("start", injects=True),
        "beforeSubmitPrompt": Event("prompt"),
        "postToolUse": Event("tool", injects=True, matcher="Read|Write|Shell"),
        "preCompact": Event("compact"),
        "stop": Event("stop"),
        "sessionEnd": Event("end"),
    },
    fields={"session": "conversation_id", "folder": "workspace_roots"},
    answer_field="additional_context",
    file_fields={"version": 1},
    ungrouped=True,
)
