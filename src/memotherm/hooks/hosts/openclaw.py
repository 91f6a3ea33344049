"""OpenClaw. Our plugin for it sends its events to the hook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memotherm.hooks.hosts.host import Event, Host, mapping


def _message(entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return mapping(entry, "message") if entry.get("type") == "message" else None


OPENCLAW = Host(
    "openclaw",
    "OpenClaw",
    (
        "openclaw plugins install {folder} --accept-capabilities",
        "openclaw config set plugins.entries.memotherm.hooks.allowConversationAccess true",
    ),
    client="openclaw",
    events={
        "session_start": Event("start"),
        "before_prompt_build": Event("prompt", injects=True),
        "before_agent_start": Event("prompt", injects=True),
        "agent_end": Event("stop"),
        "before_compaction": Event("compact"),
        "session_end": Event("end"),
    },
    fields={"session": "sessionKey", "reply": "reply"},
    answer_field="prependContext",
    own_triggers=("heartbeat", "cron", "memory"),
    plugin="openclaw",
    uninstall_steps=("openclaw plugins uninstall memotherm",),
    message=_message,
)
