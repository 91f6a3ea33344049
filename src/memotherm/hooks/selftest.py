"""`memotherm hook --selftest`: play a session of every host in a scratch folder, and tell what came of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from memotherm.settings import isolated

__all__ = ["selftest"]

_FACT = "The staging database is called heron"
_SESSIONS = {
    "claude": ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"),
    "codex": ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"),
    "gemini": ("SessionStart", "BeforeAgent", "AfterAgent", "PreCompress", "SessionEnd"),
    "openclaw": ("session_start", "before_prompt_build", "agent_end", "before_compaction", "session_end"),
}


def selftest() -> dict[str, Any]:
    """Return {"ok": ..., "checks": [...]}; the user's own store is not touched."""
    checks: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="memotherm-hook-", ignore_cleanup_errors=True) as folder:
        for client, names in _SESSIONS.items():
            home = Path(folder) / client
            _run(home, "remember", _FACT, "--tier", "hot")
            said = [_event(home, client, name) for name in names]
            kept = _run(home, "worker", "--once", "--json")
            checks += [
                _check(f"{client}: every answer is one JSON object or nothing", all(ok for ok, _ in said), said),
                _check(f"{client}: the memory is given to the agent", any("heron" in text for _, text in said), said),
                _check(f"{client}: what was said is kept", '"captured": 2' in kept, kept),
            ]
    return {"ok": all(each["ok"] for each in checks), "checks": checks}


def _check(name: str, ok: bool, seen: object) -> dict[str, Any]:
    return {"check": name, "ok": ok, **({} if ok else {"seen": str(seen)[:2000]})}


def _event(home: Path, client: str, name: str) -> tuple[bool, str]:
    payload = {
        "hook_event_name": name,
        "session_id": "selftest",
        "prompt": "Tell me which staging database we use",
        "last_assistant_message": "The staging database is heron, as you said.",
    }
    out = _run(home, "hook", "--client", client, "--deadline", "60", "--no-worker", told=json.dumps(payload))
    try:
        return isinstance(json.loads(out or "{}"), dict), out
    except ValueError:
        return False, out


def _run(home: Path, *arguments: str, told: str = "") -> str:
    home.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "memotherm", *arguments]
    done = subprocess.run(  # noqa: S603 - our own interpreter and module
        command, input=told, capture_output=True, text=True, env=isolated(home), cwd=home, timeout=120, check=False
    )
    if done.stderr and os.name != "nt":
        print(done.stderr, end="", file=sys.stderr)  # noqa: T201 - the place for what went wrong
    return done.stdout
