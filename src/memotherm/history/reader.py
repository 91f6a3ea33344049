"""The part that all readers share: one bad transcript never stops the others, and no empty result is silent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from memotherm.errors import MemothermError
from memotherm.history.records import Reading, Record, Transcript


class Reader(ABC):
    """The base of the readers; a subclass lists transcripts and yields records."""

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
