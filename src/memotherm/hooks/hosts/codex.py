"""Codex. It skips, in silence, each hook that the user has not trusted as it is now.

A hook is trusted by a hash of its event, matcher and command, which Codex keeps in config.toml:

    [hooks.state."/home/ana/.codex/hooks.json:session_start:0:0"]
    trusted_hash = "sha256:..."
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memotherm.hooks.hosts.host import Event, Files, Host, Json, mapping, number
from memotherm.settings.paths import client_home

#: Environment variables that select the store; Codex passes only listed ones to a server.
_FORWARDED = [f"MEMOTHERM_{name}" for name in ("HOME", "STORE", "EMBEDDER", "KEY", "KEY_FILE", "API_KEY")]
_CAPITALS = re.compile(r"(?<!^)(?=[A-Z])")
_DEFAULT_TIMEOUT = 600


def _files(project: Path | None) -> Files:
    folder = client_home("CODEX_HOME", Path.home() / ".codex") if project is None else project / ".codex"
    return Files(folder / "hooks.json", folder / "config.toml", (project or Path.home()) / ".agents" / "skills")


def _message(entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    payload = mapping(entry, "payload")
    return payload if entry.get("type") == "response_item" and payload.get("type") == "message" else None


def _context_size(entry: Mapping[str, Any]) -> tuple[int, int] | None:
    info = mapping(mapping(entry, "payload"), "info")
    tokens = number(mapping(info, "last_token_usage"), "total_tokens")
    return (tokens, number(info, "model_context_window")) if tokens else None


def _skipped_hooks() -> dict[str, str]:
    """Return the events whose hooks Codex skips, each with the reason: not trusted, changed since, or switched off."""
    import tomllib

    file = client_home("CODEX_HOME", Path.home() / ".codex") / "hooks.json"
    config = file.with_name("config.toml")
    try:
        hooks = mapping(json.loads(file.read_text("utf-8")), "hooks")
        trust = tomllib.loads(config.read_text("utf-8")) if config.is_file() else {}
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}
    states, skipped = mapping(mapping(trust, "hooks"), "state"), {}
    for event, place, group, hook in _ours(hooks):
        names = (f"{path}:{_label(event)}:{place}" for path in (file.absolute(), os.path.realpath(file)))
        state = next(filter(None, (mapping(states, name) for name in names)), {})
        if state.get("enabled") is False:
            skipped[event] = "switched off"
        elif "trusted_hash" not in state:
            skipped[event] = "not trusted"
        elif state["trusted_hash"] != _hash(event, group.get("matcher"), hook):
            skipped[event] = "changed since it was trusted"
    return skipped


def _ours(hooks: Mapping[str, Any]) -> Iterator[tuple[str, str, Json, Json]]:
    """Yield the event, the position, the group and the hook of each of ours."""
    from memotherm.hooks.settings_files import is_our_hook

    for event, groups in hooks.items():
        for position, group in enumerate(groups if isinstance(groups, list) else ()):
            found = group.get("hooks") if isinstance(group, dict) else None
            for index, hook in enumerate(found if isinstance(found, list) else ()):
                if is_our_hook(hook):
                    yield event, f"{position}:{index}", group, hook


def _label(event: str) -> str:
    """Return SessionStart as session_start."""
    return _CAPITALS.sub("_", event).lower()


def _hash(event: str, matcher: str | None, hook: Json) -> str:
    """Return the hash of a hook as Codex makes it: of its normal form, as JSON with sorted names."""
    import hashlib

    timeout = hook.get("timeout", _DEFAULT_TIMEOUT)
    normal = {"type": "command", "command": hook["command"], "timeout": timeout, "async": hook.get("async", False)}
    identity = {"event_name": _label(event), "hooks": [normal], **({} if matcher is None else {"matcher": matcher})}
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


CODEX = Host(
    "codex",
    "Codex",
    ("start a new Codex session, and trust the hooks when it asks",),
    _files,
    client="codex",
    events={
        "SessionStart": Event("start", injects=True, matcher="startup|resume|clear|compact"),
        "UserPromptSubmit": Event("prompt", injects=True),
        "PreToolUse": Event("tool", injects=True, matcher="Bash|apply_patch"),
        "PostToolUse": Event("tool", injects=True, matcher="Bash"),
        "PreCompact": Event("compact"),
        "Stop": Event("stop"),
        "SessionEnd": Event("end", timeout=3),
    },
    mark="turn_id",
    prefixes=("<environment_context>", "<user_instructions>"),
    server_section="mcp_servers",
    holds_at="PreToolUse",
    server_fields={"env_vars": _FORWARDED},
    skipped_hooks=_skipped_hooks,
    trust_step="start codex, type /hooks, and trust those of memotherm",
    message=_message,
    context_size=_context_size,
)
