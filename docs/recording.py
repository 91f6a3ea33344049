"""Record commands in a terminal of 80 columns as an animated picture, docs/images/terminal.svg: `make picture`."""

from __future__ import annotations

import fcntl
import os
import pty
import shlex
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

TARGET = Path(__file__).parent / "images" / "terminal.svg"
COLUMNS = 80
_SECONDS = 5.0
#: The size of a character and of a line, and the space around them.
_WIDTH, _LINE, _EDGE = 8.43, 20, 18

_ASKED = "which port does the staging database use?"
#: What is shown at a time; `{hot}` is the id of the hot memory.
SCENES = (
    (
        'memotherm remember "Deploys are frozen until Friday" --tier hot --tag blocker',
        'memotherm remember "The staging database listens on port 5433"',
        'memotherm remember "The canteen closes at two"',
    ),
    (f'memotherm context "{_ASKED}" --budget 200',),
    ("memotherm receipts --limit 1  # why each memory was in the prompt, or not",),
    (
        'memotherm move {hot} cold --why "the freeze is over"',
        "memotherm undo 4",
        "memotherm history {hot}",
    ),
)
_LABEL = "In a terminal: memories are stored, a context is built, a receipt says why, and a move is undone"
_STYLE = """
  text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre; }
  .back { fill: #14171c; } .plain { fill: #d7dde5; } .prompt { fill: #7ee787; } .command { fill: #ffffff; }
  .scene { opacity: 0; animation: scene TOTALs step-end infinite; }
  .output { opacity: 0; animation: output TOTALs step-end infinite; }
  @keyframes scene { 0% { opacity: 1; } SHARE% { opacity: 0; } }
  @keyframes output { 0% { opacity: 0; } WAIT% { opacity: 1; } }
  @media (prefers-reduced-motion: reduce) {
    .scene, .output { animation: none; } .still, .still .output { opacity: 1; }
  }
"""


def in_terminal(
    command: str, home: str, env: Mapping[str, str] | None = None, folder: Path | None = None, *, notes: bool = False
) -> str:
    """Run a command in a pseudo-terminal, and return what it prints on standard output, with its colours.

    With `notes`, what it prints on standard error is among it.
    """
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    env = {"HOME": home, "MEMOTHERM_HOME": home, "PATH": os.environ["PATH"], **(env or {}), "TERM": "xterm-256color"}
    arguments = [sys.executable, "-m", *shlex.split(command, comments=True)]
    env["COLORTERM"] = "truecolor"
    errors = slave if notes else subprocess.PIPE
    done = subprocess.run(arguments, check=False, stdout=slave, stderr=errors, env=env, cwd=folder or home)  # noqa: S603
    os.close(slave)
    if done.returncode:
        raise SystemExit((done.stderr or b"").decode() or f"{command} failed")
    with os.fdopen(master, "rb") as terminal:
        return terminal.read1(100_000).decode().replace("\r\n", "\n")


def scenes() -> Iterator[list[tuple[str, list[Text]]]]:
    """Yield the commands of each scene with the lines that they print."""
    with tempfile.TemporaryDirectory(prefix="memotherm-recording-") as home:
        for commands in SCENES:
            shown = []
            for command in commands:
                hot = in_terminal("memotherm list --ids --contains Deploys", home).strip() if "{hot}" in command else ""
                typed = command.format(hot=hot[-8:])
                shown.append((typed, list(Text.from_ansi(in_terminal(typed, home)).split("\n"))))
            yield shown


def _line(text: Text, y: int, console: Console) -> str:
    spans, column = [], 0
    for segment in text.render(console, end=""):
        style = segment.style
        colour = style.color.get_truecolor(SVG_EXPORT_THEME).hex if style and style.color else ""
        fill = f' fill="{colour}"' if colour else ' class="plain"'
        weight = ' font-weight="bold"' if style and style.bold else ""
        faint = ' opacity=".65"' if style and style.dim else ""
        spans.append(f'<tspan x="{_EDGE + column * _WIDTH:.1f}"{fill}{weight}{faint}>{escape(segment.text)}</tspan>')
        column += segment.cell_length
    return f'<text y="{y}">{"".join(spans)}</text>'


def drawn(recorded: list[list[tuple[str, list[Text]]]], label: str, still: int = 1) -> str:
    """Return the scenes as an SVG that shows one after the other, and that with the number where nothing may move."""
    console = Console(color_system="truecolor", width=COLUMNS)
    height = max(sum(1 + len(lines) for _, lines in scene) for scene in recorded)
    total, share = _SECONDS * len(recorded), 100 / len(recorded)
    groups = []
    for number, scene in enumerate(recorded):
        delay, y, parts = number * _SECONDS, _EDGE + 12, []
        for command, lines in scene:
            head = f'<tspan class="prompt">$ </tspan><tspan class="command">{escape(command)}</tspan>'
            parts.append(f'<text x="{_EDGE}" y="{y}">{head}</text>')
            rows = [_line(line, y + _LINE * place, console) for place, line in enumerate(lines, 1)]
            parts.append(f'<g class="output" style="animation-delay: {delay:g}s">{"".join(rows)}</g>')
            y += _LINE * (1 + len(lines))
        name = "scene still" if number == still else "scene"
        groups.append(f'<g class="{name}" style="animation-delay: {delay:g}s">{"".join(parts)}</g>')
    style = _STYLE.replace("TOTAL", f"{total:g}").replace("SHARE", f"{share:g}").replace("WAIT", f"{share / 7:.3g}")
    width, tall = round(2 * _EDGE + COLUMNS * _WIDTH), height * _LINE + 2 * _EDGE - 6
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {tall}" width="{width}" height="{tall}" '
        f'role="img" aria-label="{label}">\n<style>{style}</style>\n'
        f'<rect class="back" width="{width}" height="{tall}" rx="8"/>\n' + "\n".join(groups) + "\n</svg>\n"
    )


if __name__ == "__main__":
    TARGET.write_text(drawn(list(scenes()), _LABEL), "utf-8")
