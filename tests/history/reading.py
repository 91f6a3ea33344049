"""Files of other programs for tests, and the records that the readers make of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from memotherm.history.records import Reading, Record, Transcript
from memotherm.history.sources import SOURCES


class Read(NamedTuple):
    """What reading some transcripts returned."""

    records: list[Record]
    readings: list[Reading]
    transcripts: list[Transcript]

    @property
    def reading(self) -> Reading:
        """The only reading."""
        (reading,) = self.readings
        return reading

    def told(self) -> list[tuple[str, str]]:
        """Return the roles and texts."""
        return [(record.role, record.text) for record in self.records]

    def texts(self, role: str) -> list[str]:
        """Return the texts of one role."""
        return [record.text for record in self.records if record.role == role]


def read(source: str, root: Path) -> Read:
    """Read every transcript that a source finds in a folder."""
    reader = SOURCES[source]
    found = list(reader.transcripts(root))
    result = Read([], [], found)
    for transcript in found:
        reading = Reading()
        result.records.extend(reader.read(transcript, reading))
        result.readings.append(reading)
    return result


def write_lines(path: Path, entries: Iterable[Mapping[str, Any] | bytes]) -> Path:
    """Write a file of lines; bytes are written as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (each if isinstance(each, bytes) else json.dumps(each, separators=(",", ":")).encode() for each in entries)
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path
