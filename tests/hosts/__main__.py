"""Drive the real Claude Code and Codex with our hooks installed, and look for our memory in what they send.

Nothing leaves the machine: both talk to a small model API on loopback that answers every request with one
sentence and keeps what it was asked. A host that is not installed is told, and is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from memotherm.history.records import Reading
from memotherm.history.sources import SOURCES
from memotherm.notes.files import transcript
from tests.hosts.actions import actions
from tests.hosts.clients import codex_command, patient, worked_off
from tests.hosts.first_day import CLIENTS, first_day, printed, written
from tests.hosts.model import REPLY, Model, model

FACT = "The staging database is called heron"


def claude(port: int, prompt: str) -> list[str]:
    del port
    return ["claude", "-p", prompt, "--output-format", "json", "--model", "claude-sonnet-4-5"]


def environment(home: Path, port: int) -> dict[str, str]:
    return {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "MEMOTHERM_HOME": str(home / "data"),
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
        "ANTHROPIC_API_KEY": "dummy",
        "DUMMY_KEY": "dummy",
    }


def checked(client: str, program: str, command: Callable[[int, str], list[str]]) -> dict[str, bool]:
    if shutil.which(program) is None:
        return {f"{program} is on the PATH": False}
    with (
        tempfile.TemporaryDirectory(prefix="memotherm-hosts-", ignore_cleanup_errors=True) as folder,
        model() as port,
    ):
        home = Path(folder)
        (home / "work").mkdir()
        known = environment(home, port)

        def run(*words: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                words, env=known, cwd=home / "work", capture_output=True, text=True, timeout=180,
                stdin=subprocess.DEVNULL,
            )  # fmt: skip

        def ours(*words: str) -> str:
            return run(sys.executable, "-m", "memotherm", *words).stdout

        ours("remember", FACT, "--tier", "hot", "--tag", "blocker")
        ours("install", client)
        patient(*home.glob(".claude/settings.json"), *home.glob(".codex/hooks.json"))
        first = run(*command(port, "Please note that our mascot is a purple walrus"))
        if REPLY not in first.stdout:
            sys.stderr.write(f"{first.stdout[-2000:]}\n{first.stderr[-2000:]}\n")
        worked_off(home / "data" / "spool", lambda: ours("agent", "worker", "--once", "--all"))
        kept = ours("list", "--project", "auto", "--user", "auto", "--json")
        spoken = said(home)
        begun = "".join(Model.asked)
        Model.asked.clear()
        run(*command(port, "What is our mascot, a walrus perhaps"))
        later = "".join(Model.asked)
        return {
            f"{client}: the host answers": REPLY in first.stdout,
            f"{client}: the memory is in its first request": FACT in begun,
            f"{client}: what was said is kept": "purple walrus" in kept and "port 5433" in kept,
            f"{client}: the next session knows it": "purple walrus" in later,
            f"{client}: its transcript can be read": any(each.startswith("User: Please note") for each in spoken)
            and any(each.startswith("Assistant: ") and REPLY in each for each in spoken),
            f"{client}: what was recalled is not in it": not any(FACT in each for each in spoken),
            f"{client}: a backfill reads it": is_read(client, home),
        }


def said(home: Path) -> list[str]:
    """Return what the host's own transcripts say, as the notes index it."""
    files = [*(home / ".claude" / "projects").rglob("*.jsonl"), *(home / ".codex" / "sessions").rglob("*.jsonl")]
    return [line for file in files for line in transcript(file.read_bytes()) if line]


def is_read(client: str, home: Path) -> bool:
    """Return whether the reader of the host's sessions knows every entry, and finds the prompt and the answer."""
    source, texts, readings = SOURCES[client], set[tuple[str, str]](), list[Reading]()
    for found in (found for root in source.roots({}, home) for found in source.transcripts(root)):
        readings.append(Reading())
        texts |= {(record.role, record.text) for record in source.read(found, readings[-1])}
    understood = not any(reading.unknown or reading.broken or reading.problem for reading in readings)
    if not understood or any(FACT in said for _, said in texts):
        return False
    return ("assistant", REPLY) in texts and any("purple walrus" in said for _, said in texts)


def main() -> int:
    found = {**checked("claude-code", "claude", claude), **checked("codex", "codex", codex_command)}
    for client, program in (("claude-code", "claude"), ("codex", "codex")):
        with tempfile.TemporaryDirectory(prefix="memotherm-actions-", ignore_cleanup_errors=True) as folder:
            sys.stdout.write(f"{client}\n")
            found |= actions(environment, client, Path(folder)) if shutil.which(program) else {}
    days = first_day(environment, [name for name in CLIENTS if shutil.which(CLIENTS[name].program) is not None])
    written(days)
    for name, held in days.items():
        printed(name, held)
        day = held["defaults"]
        found[f"{name}, first day: every answer is found"] = day["answers found"] == day["questions"]
        found[f"{name}, first day: small talk injects nothing"] = not day["tokens with small talk"]
        found[f"{name}, first day: projects keep to themselves"] = not day["memories of the other project injected"]
    for name, well in found.items():
        sys.stdout.write(f"{'ok  ' if well else 'FAIL'} {name}\n")
    return 0 if all(found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
