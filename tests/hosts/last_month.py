"""Record the first day of a user whose programs have past sessions: `make first-day`.

The real Claude Code and Codex hold a session each in a fresh home, without memotherm; their transcripts are dated back
a month. Then memotherm is installed, the backfill is accepted, and the first prompt of the first session is answered
from last month. What the terminal shows, and what Claude Code sends to its model with that prompt, becomes
`docs/images/first-day.svg`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from docs.recording import COLUMNS, drawn, in_terminal
from rich.console import Console
from rich.text import Text

from tests.helpers import ROOT
from tests.hosts.__main__ import environment
from tests.hosts.clients import ClaudeCode, codex_command, patient
from tests.hosts.model import Model, model

TARGET = ROOT / "docs" / "images" / "first-day.svg"
_DAYS = 30
#: What was said a month ago, in which program, and what it answered.
_CODEX = ("Why does the nightly export of the shop fail?", "The bucket of the export was renamed to shop-exports-eu.")
_CLAUDE = ("We decided to keep carts in Redis for 14 days, because Postgres was too slow for them.", "Noted.")
_ASKED = "Which bucket does the nightly export use?"
_LABEL = "In a terminal: memotherm is installed, past sessions are stored, and the first prompt is answered from them"


def dated_back(home: Path, days: int) -> None:
    """Move the times in the transcripts of both programs, and of the files, some days back."""
    today = datetime.now(UTC)
    changed = (today - timedelta(days=days)).timestamp()
    for path in [*(home / ".claude" / "projects").rglob("*.jsonl"), *(home / ".codex" / "sessions").rglob("*.jsonl")]:
        text = path.read_text("utf-8")
        for day in (today - timedelta(days=1), today):
            text = text.replace(f'"{day:%Y-%m-%d}T', f'"{day - timedelta(days=days):%Y-%m-%d}T')
        path.write_text(text, "utf-8")
        os.utime(path, (changed, changed))


def past_sessions(home: Path, folder: Path, env: Mapping[str, str], port: int) -> None:
    """Hold a session in each program, and date both back."""
    prompt, Model.reply = _CODEX
    asked = codex_command(port, prompt)
    subprocess.run(asked, env=env, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    prompt, Model.reply = _CLAUDE
    session = ClaudeCode(folder, env)
    session.ask(prompt)
    session.end()
    dated_back(home, _DAYS)


def first_day(home: Path, folder: Path, env: Mapping[str, str], port: int) -> list[list[tuple[str, list[Text]]]]:
    """Return the commands of the first day with the lines that they print, and what the first prompt is sent with."""

    def shown(command: str, *, notes: bool = False) -> tuple[str, list[Text]]:
        return command, list(Text.from_ansi(in_terminal(command, str(home), env, folder, notes=notes)).split("\n"))

    installed = [shown("memotherm install claude-code", notes=True), shown("memotherm backfill --yes")]
    patient(home / ".claude" / "settings.json")
    session = ClaudeCode(folder, env)
    injected = session.ask(_ASKED)
    session.end()
    sent = [line for part in injected for line in part.splitlines() if line.strip()]
    if not any("shop-exports-eu" in line for line in sent):
        raise SystemExit(f"the first prompt was not answered from last month: {sent}")
    return [installed[:1], installed[1:], [(f'claude -p "{_ASKED}"  # the model gets:', list(map(Text, sent)))]]


def main() -> None:
    """Hold the day in a temporary home, and write the picture."""
    missing = [program for program in ("claude", "codex") if shutil.which(program) is None]
    if missing:
        raise SystemExit(f"{' and '.join(missing)} must be on the PATH: `make first-day` installs them")
    with (
        tempfile.TemporaryDirectory(prefix="memotherm-first-day-", ignore_cleanup_errors=True) as place,
        model() as port,
    ):
        home = Path(place)
        folder = home / "shop"
        folder.mkdir()
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
        commands = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        env = {**environment(home, port), "PATH": commands}
        past_sessions(home, folder, env, port)
        day = first_day(home, folder, env, port)
        shown = [[(command, _wrapped(lines, place)) for command, lines in scene] for scene in day]
    TARGET.write_text(drawn(shown, _LABEL, still=2), "utf-8")


def _wrapped(lines: Iterable[Text], home: str) -> list[Text]:
    """Return lines that fit the terminal, with `~` for the home folder."""
    shortened = (Text(line.plain.replace(home, "~")) if home in line.plain else line for line in lines)
    return [part for line in shortened for part in line.wrap(Console(), COLUMNS)]


if __name__ == "__main__":
    main()
