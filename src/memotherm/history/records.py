"""The values that a reader of transcripts returns, and the interface of one reader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

Role = Literal["user", "assistant", "command", "edit", "summary", "title"]


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


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that happened in a session. Records come in order, without those that the user took back."""

    #: The same in copies, forks and replays; (source, id) is the key of a record.
    id: str
    session: str
    #: The session that started this one as a subagent, else "". The prompts of a subagent are an agent's words.
    parent: str
    #: None if the transcript does not say it.
    time: datetime | None
    role: Role
    #: The prompt, the answer, the command line, the path of the edited file, the summary or the title.
    text: str
    #: The working folder, and the branch of git in it.
    project: str
    branch: str
    #: Whether a command or an edit failed, and the error lines of the command's output.
    failed: bool = False
    output: str = ""

    def as_failed(self, output: str) -> Record:
        """Return the record of a command or edit that failed."""
        return replace(self, failed=True, output=output)


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


class Source(Protocol):
    """The reader of the transcripts of one program."""

    name: str
    #: The newest version of the program whose files were checked.
    verified: str

    def roots(self, environment: Mapping[str, str], home: Path) -> list[Path]:
        """Return the folders and files where the program keeps its transcripts, those that exist."""

    def transcripts(self, root: Path) -> Iterator[Transcript]:
        """List the transcripts in a folder or file, without parsing them."""

    def read(self, transcript: Transcript, reading: Reading) -> Iterator[Record]:
        """Yield the records of a transcript, in memory that does not depend on its size."""
