"""Whether Codex runs our hooks: it skips, in silence, each hook that the user has not trusted as it is now.

A hook is trusted by a hash of its event, matcher and command, which Codex keeps in config.toml:

    [hooks.state."/home/ana/.codex/hooks.json:session_start:0:0"]
    trusted_hash = "sha256:..."
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memotherm.hooks.settings_files import is_our_hook
from memotherm.settings import client_home

_CAPITALS = re.compile(r"(?<!^)(?=[A-Z])")
_DEFAULT_TIMEOUT = 600


def skipped_hooks() -> dict[str, str]:
    """Return the events whose hooks Codex skips, each with the reason: not trusted, changed since, or switched off."""
    home = client_home("CODEX_HOME", ".codex")
    try:
        hooks = json.loads((home / "hooks.json").read_text("utf-8")).get("hooks")
        config = tomllib.loads((home / "config.toml").read_text("utf-8")) if (home / "config.toml").is_file() else {}
        states = config.get("hooks", {}).get("state", {})
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}
    if not isinstance(hooks, dict) or not isinstance(states, dict):
        return {}
    skipped = {}
    for event, place, group, hook in _ours(hooks):
        names = [f"{path}:{_label(event)}:{place}" for path in _paths(home / "hooks.json")]
        state: dict[str, Any] = next((states[name] for name in names if isinstance(states.get(name), dict)), {})
        trusted = state.get("trusted_hash")
        if state.get("enabled") is False:
            skipped[event] = "switched off"
        elif trusted is None:
            skipped[event] = "not trusted"
        elif trusted != _hash(event, group.get("matcher"), hook):
            skipped[event] = "changed since it was trusted"
    return skipped


def _ours(hooks: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any], dict[str, Any]]]:
    """Yield the event, the position, the group and the hook of each of ours."""
    for event, groups in hooks.items():
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            found = group.get("hooks") if isinstance(group, dict) else None
            for index, hook in enumerate(found if isinstance(found, list) else ()):
                if is_our_hook(hook):
                    yield event, f"{number}:{index}", group, hook


def _paths(path: Path) -> list[str]:
    return list(dict.fromkeys((str(path.absolute()), os.path.realpath(path))))


def _label(event: str) -> str:
    """Return SessionStart as session_start."""
    return _CAPITALS.sub("_", event).lower()


def _hash(event: str, matcher: str | None, hook: dict[str, Any]) -> str:
    """Return the hash of a hook as Codex makes it: of its normal form, as JSON with sorted names."""
    timeout = hook.get("timeout", _DEFAULT_TIMEOUT)
    normal = {"type": "command", "command": hook["command"], "timeout": timeout, "async": hook.get("async", False)}
    identity = {"event_name": _label(event), "hooks": [normal], **({} if matcher is None else {"matcher": matcher})}
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
