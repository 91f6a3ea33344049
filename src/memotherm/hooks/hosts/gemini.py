"""Gemini CLI. Its timeouts are in milliseconds."""

from __future__ import annotations

from pathlib import Path

from memotherm.hooks.hosts.host import Event, Files, Host


def _files(project: Path | None) -> Files:
    file = (project or Path.home()) / ".gemini" / "settings.json"
    return Files(file, file)


GEMINI = Host(
    "gemini",
    "Gemini CLI",
    ("start a new Gemini CLI session in a trusted folder",),
    _files,
    client="gemini",
    events={
        "SessionStart": Event("start", injects=True, timeout=10_000),
        "BeforeAgent": Event("prompt", injects=True, timeout=10_000),
        "AfterTool": Event("tool", True, 10_000, "read_file|write_file|replace|run_shell_command"),
        "AfterAgent": Event("stop", timeout=10_000),
        "PreCompress": Event("compact", timeout=10_000),
        "SessionEnd": Event("end", timeout=10_000),
    },
    fields={"reply": "prompt_response"},
    hook_fields={"name": "memotherm"},
)
