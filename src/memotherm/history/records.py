"""The values that a reader of transcripts returns."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple

from memotherm.text.failures import error_lines

Role = Literal["user", "assistant", "command", "edit"]


@dataclass(frozen=True, slots=True)
class Transcript:
    """One unit of reading: a file, or one session of a database. Listing finds it without parsing."""

    #: The name of the source, such as "claude-code".
    source: str
    path: Path
    #: The id of the session if the listing knows it, else "".
    session: str
    size: int
    #: The state of the transcript, such as "size:mtime_ns" of a file; equal means that nothing is new.
    changed: str


class Record(NamedTuple):
    """One thing that happened in a session. Records come in order, without those that the user took back."""

    #: The same in copies, forks and replays; (source, id) is the key of a record.
    id: str
    session: str
    #: The session that started this one as a subagent, else "". The prompts of a subagent are an agent's words.
    parent: str
    #: None if the transcript does not say it.
    time: datetime | None
    role: Role
    #: The prompt, the answer, the command line, or the path of the edited file.
    text: str
    #: The working folder, and the branch of git in it.
    project: str
    branch: str
    #: Whether a command or an edit failed, and the error lines of the command's output.
    failed: bool = False
    output: str = ""

    def with_result(self, output: str, *, failed: bool) -> Record:
        """Return the record of a command or edit with its result; of the output, the lines that tell why it failed."""
        return self._replace(failed=True, output=error_lines(output)) if failed else self


@dataclass(slots=True)
class Reading:
    """What reading one transcript found out beside its records."""

    records: int = 0
    #: Entries of a known type, with or without a record.
    known: int = 0
    #: Entries that are no valid JSON, torn, or too long.
    broken: int = 0
    #: How often each unknown type of entry occurs.
    unknown: Counter[str] = field(default_factory=Counter)
    #: The version of the program that wrote the transcript.
    version: str = ""
    #: Why nothing, or not everything, could be read.
    problem: str = ""

    def count(self, kind: str, known: bool = True) -> None:
        """Count an entry of a type."""
        if known:
            self.known += 1
        else:
            self.unknown[kind or "no type"] += 1


def branch_to(last: str, parents: Mapping[str, str], reading: Reading) -> dict[str, None]:
    """Return the entries of a branch from its last one up, given the parent of each; a cycle is counted as broken."""
    path: dict[str, None] = {}
    at = last
    while at in parents and at not in path:
        path[at] = None
        at = parents[at]
    reading.broken += at in path
    return path


class Ranges:
    """Ranges of lines that were taken back, without overlaps; each new one ends after all others."""

    def __init__(self) -> None:
        self._first, self._last = list[int](), list[int]()

    def add(self, first: int, last: int) -> None:
        """Add a range, which may contain or continue earlier ones."""
        while self._first and self._first[-1] >= first:
            self._first.pop()
            self._last.pop()
        self._first.append(first)
        self._last.append(last)

    def __contains__(self, number: int) -> bool:
        place = bisect_right(self._first, number) - 1
        return place >= 0 and number <= self._last[place]
