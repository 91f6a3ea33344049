"""The values that a reader of transcripts returns, the interface of one reader, and the part that all readers share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol

from memotherm.errors import MemothermError

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


class Reader(ABC):
    """The base of the readers; a subclass lists transcripts and yields records.

    One bad transcript never stops the others, and no empty result is silent.
    """

    name: str
    verified: str

    def roots(self, environment: Mapping[str, str], home: Path) -> list[Path]:
        """Return the folders and files where the program keeps its transcripts, those that exist."""
        return [path for path in dict.fromkeys(self._places(environment, home)) if path.exists()]

    def read(self, transcript: Transcript, reading: Reading) -> Iterator[Record]:
        """Yield the records of a transcript."""
        try:
            for record in self._records(transcript, reading):
                if record.text:
                    reading.records += 1
                    yield _storable(record)
        except MemothermError as exc:
            reading.problem = str(exc)
        except OSError as exc:
            reading.problem = exc.strerror or str(exc)
        except Exception as exc:  # noqa: BLE001 - files of other programs have any shape, and one stops no other
            reading.problem = f"it has an unknown shape ({type(exc).__name__}: {exc})"
        if not (reading.problem or reading.known) and transcript.size:
            reading.problem = "it has no record of a known type"

    @abstractmethod
    def _places(self, environment: Mapping[str, str], home: Path) -> Iterator[Path]:
        """Yield the folders in which the program keeps its sessions."""

    @abstractmethod
    def _records(self, transcript: Transcript, reading: Reading) -> Iterator[Record]:
        """Yield the records of a transcript; what it raises becomes the problem of the reading."""


_TEXTS = ("id", "session", "parent", "text", "project", "branch", "output")


def _storable(record: Record) -> Record:
    """Return a record whose texts are valid Unicode without NUL."""
    texts = "".join([getattr(record, name) for name in _TEXTS])
    if texts.isascii() and "\0" not in texts:
        return record
    changed: dict[str, Any] = {name: _valid(getattr(record, name)) for name in _TEXTS}
    return replace(record, **changed)


def _valid(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")


def folder(environment: Mapping[str, str], variable: str, default: Path) -> Path:
    """Return a folder that a variable of the environment may name."""
    named = environment.get(variable)
    return Path(named).expanduser() if named else default
