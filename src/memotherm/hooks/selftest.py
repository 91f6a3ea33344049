"""`memotherm hook --selftest`: run a session of every host in a temporary folder, and report the results."""

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
    """Return {"ok": ..., "checks": [...]}; the user's own store is not used."""
    checks: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="memotherm-hook-", ignore_cleanup_errors=True) as folder:
        for client, names in _SESSIONS.items():
            home = Path(folder) / client
            _run(home, "remember", _FACT, "--tier", "hot")
            answers = [_send_event(home, client, name) for name in names]
            worker = _run(home, "worker", "--once", "--json")
            recalled = any("heron" in output for _, output in answers)
            checks += [
                _check(f"{client}: every answer is one JSON object or empty", all(ok for ok, _ in answers), answers),
                _check(f"{client}: the memory is recalled for the agent", recalled, answers),
                _check(f"{client}: the conversation is captured", '"captured": 2' in worker, worker),
            ]
    return {"ok": all(check["ok"] for check in checks), "checks": checks}


def _check(name: str, ok: bool, output: object) -> dict[str, Any]:
    return {"check": name, "ok": ok, **({} if ok else {"output": str(output)[:2000]})}


def _send_event(home: Path, client: str, name: str) -> tuple[bool, str]:
    """Run the hook for an event; return whether its output is valid, and the output."""
    payload = {
        "hook_event_name": name,
        "session_id": "selftest",
        "prompt": "Tell me which staging database we use",
        "last_assistant_message": "The staging database is heron, as you said.",
    }
    output = _run(home, "hook", "--client", client, "--deadline", "60", "--no-worker", stdin=json.dumps(payload))
    try:
        return isinstance(json.loads(output or "{}"), dict), output
    except ValueError:
        return False, output


def _run(home: Path, *arguments: str, stdin: str = "") -> str:
    """Run `memotherm` with a data folder of its own, and return its standard output."""
    home.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "memotherm", *arguments]
    process = subprocess.run(  # noqa: S603 - our own interpreter and module
        command, input=stdin, capture_output=True, text=True, env=isolated(home), cwd=home, timeout=120, check=False
    )
    if process.stderr and os.name != "nt":
        print(process.stderr, end="", file=sys.stderr)  # noqa: T201 - errors belong on standard error
    return process.stdout
