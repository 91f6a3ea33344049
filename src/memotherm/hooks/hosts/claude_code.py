"""Claude Code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memotherm.hooks.hosts.host import Event, Files, Host, mapping, number
from memotherm.settings.paths import client_home

_USAGE = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")


def _files(project: Path | None) -> Files:
    if project is not None:
        folder = project / ".claude"
        return Files(folder / "settings.json", project / ".mcp.json", folder / "skills")
    usual = Path.home() / ".claude"
    folder = client_home("CLAUDE_CONFIG_DIR", usual)
    servers = (Path.home() if folder == usual else folder) / ".claude.json"
    return Files(folder / "settings.json", servers, folder / "skills")


def _message(entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    own = entry.get("type") in ("user", "assistant") and not (entry.get("isMeta") or entry.get("isSidechain"))
    return mapping(entry, "message") if own else None


def _context_size(entry: Mapping[str, Any]) -> tuple[int, int] | None:
    usage = {} if entry.get("isSidechain") else mapping(mapping(entry, "message"), "usage")
    return (sum(number(usage, name) for name in _USAGE), 0) if usage else None


def _call(event: str, *fields: str) -> dict[str, str]:
    """Return what a hook passes to the tool: fields of the event, which Claude Code fills in."""
    names = ("session_id", "cwd", "agent_id", "agent_type", *fields)
    return {"hook_event_name": event, **{name: f"${{{name}}}" for name in names}}


CLAUDE_CODE = Host(
    "claude-code",
    "Claude Code",
    ("start a new Claude Code session; `/hooks` and `/mcp` list them",),
    _files,
    client="claude",
    events={
        "SessionStart": Event("start", injects=True, matcher="startup|resume|clear|compact|fork"),
        "UserPromptSubmit": Event("prompt", injects=True),
        "PreToolUse": Event("tool", injects=True, matcher="Read|Edit|Write|MultiEdit|NotebookEdit|Bash|Agent|Task"),
        "PostToolUseFailure": Event("tool", injects=True, matcher="Bash"),
        "SubagentStart": Event("agent", injects=True),
        "PreCompact": Event("compact"),
        "Stop": Event("stop"),
        "SessionEnd": Event("end", timeout=5),
    },
    prefixes=("<system-reminder>", "<command-name>", "<local-command-", "<task-notification>"),
    server_hooks={
        "PreToolUse": _call("PreToolUse", "tool_name", "tool_input"),
        "PostToolUseFailure": _call("PostToolUseFailure", "tool_name", "tool_input", "error"),
        "SubagentStart": _call("SubagentStart"),
    },
    server_hooks_from=("claude", "2.1.118"),
    holds_at="PreToolUse",
    server_fields={"type": "stdio"},
    message=_message,
    context_size=_context_size,
)
