"""Aider: a Markdown file in the folder of a project, with all sessions one after the other."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, cast

from memotherm.history.lines import open_regular
from memotherm.history.listing import files, head_of, transcript
from memotherm.history.reader import Reader
from memotherm.history.records import Reading, Record, Role, Transcript

_FILE = ".aider.chat.history.md"
_BEGUN = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^`\n]*)")
_EDITED = "Applied edit to "
_RAN = "Running "
#: Longer lines are cut there, and longer texts are not kept.
_LONGEST_LINE, _LONGEST_TEXT = 64 * 1024, 1024 * 1024


class Aider(Reader):
    """The histories that a variable or the user names: there is no list of the folders that have one."""

    name = "aider"
    verified = "0.86"

    def _places(self, environment: Mapping[str, str], home: Path) -> Iterator[Path]:
        named = environment.get("AIDER_CHAT_HISTORY_FILE")
        if named:
            yield Path(named).expanduser()
        yield home / _FILE

    def transcripts(self, root: Path) -> Iterator[Transcript]:
        """List the history in a folder, and in the folders in it."""
        for path in files(root, "*.md") if root.is_file() else files(root, _FILE, f"*/{_FILE}"):
            if root.is_dir() or b"# aider chat started at " in head_of(path):
                yield transcript(self.name, path)

    def _records(self, transcript: Transcript, reading: Reading) -> Iterator[Record]:
        history = _History(transcript.path, reading)
        with open_regular(transcript.path) as file:
            for line in _lines(file):
                yield from history.take(line)
        yield from history.finished()


def _lines(file: IO[bytes]) -> Iterator[str]:
    while data := file.readline(_LONGEST_LINE):
        whole = data
        while not whole.endswith(b"\n") and (whole := file.readline(_LONGEST_LINE)):
            pass
        yield data.decode("utf-8", "replace").rstrip("\r\n")


class _History:
    """Puts lines together to prompts and answers."""

    def __init__(self, path: Path, reading: Reading) -> None:
        self._project = str(path.parent)
        self._reading = reading
        self._session, self._time = "", cast("datetime | None", None)
        self._role: Role = "assistant"
        self._said: list[str] = []
        self._length = 0
        self._fence = ""
        self._place = 0

    def take(self, line: str) -> Iterator[Record]:
        """Take a line, and yield the records that end with it."""
        begun = _BEGUN.fullmatch(line)
        if begun is not None:
            yield from self.finished()
            self._reading.known += 1
            self._session, self._time, self._place = begun[1].replace(" ", "T"), _local(begun[1]), 0
        elif self._session and not self._in_fence(line) and line.startswith("#### "):
            yield from self._append("user", line[5:].rstrip())
        elif self._session and not self._fence and line.startswith("> "):
            yield from self._noticed(line[2:].strip())
        elif self._session:
            yield from self._append("assistant", line)

    def finished(self) -> Iterator[Record]:
        """Yield the text that was being put together."""
        said = "\n".join(self._said).strip()
        self._said, self._length, self._fence = [], 0, ""
        if said:
            yield self._record(self._role, said)
        self._role = "assistant"

    def _in_fence(self, line: str) -> bool:
        """Return whether a line is inside a block of code, where it has no marks; the ends of blocks are, too."""
        fence = _FENCE.match(line)
        if self._fence:
            if fence and fence[1].startswith(self._fence) and not fence[2].strip():
                self._fence = ""
            return True
        if fence:
            self._fence = fence[1]
        return bool(fence)

    def _append(self, role: Role, line: str) -> Iterator[Record]:
        if role != self._role:
            fence = self._fence
            yield from self.finished()
            self._role, self._fence = role, fence
        self._length += len(line) + 1
        if self._length <= _LONGEST_TEXT:
            self._said.append(line)

    def _noticed(self, line: str) -> Iterator[Record]:
        """Yield the edit or the command that a notice names, after the answer before it."""
        if line.startswith((_EDITED, _RAN)):
            yield from self.finished()
        if line.startswith(_EDITED):
            yield self._record("edit", line.removeprefix(_EDITED))
        elif line.startswith(_RAN):
            yield self._record("command", line.removeprefix(_RAN))

    def _record(self, role: Role, said: str) -> Record:
        self._place += 1
        # There are no ids; a session has the time of its begin, and a text its place and digest.
        digest = hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:12]
        session = f"{self._project}:{self._session}"
        return Record(f"{session}:{self._place}:{digest}", session, "", self._time, role, said, self._project, "")


def _local(text: str) -> datetime | None:
    """Return a time of this machine."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None
