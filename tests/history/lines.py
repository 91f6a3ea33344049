"""A source for tests: one file for each session, one JSON object for each record."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from memotherm.history.reader import Reader
from memotherm.history.records import Reading, Record, Transcript


class Lines(Reader):
    """Reads the files that `write` has written, and counts how many."""

    name = "claude-code"
    verified = "1.0"

    def __init__(self) -> None:
        self.parsed: list[str] = []

    def _places(self, environment: Mapping[str, str], home: Path) -> Iterator[Path]:
        yield home / "sessions"

    def transcripts(self, root: Path) -> Iterator[Transcript]:
        """List the files."""
        for path in sorted(root.glob("*.jsonl")):
            stat = path.stat()
            yield Transcript(self.name, path, path.stem, stat.st_size, f"{stat.st_size}:{stat.st_mtime_ns}")

    def _records(self, transcript: Transcript, reading: Reading) -> Iterator[Record]:
        """Yield the records; a line `poison` is an error that no reader expects."""
        self.parsed.append(transcript.session)
        for line in transcript.path.read_text("utf-8").splitlines():
            if line == "poison":
                raise RuntimeError("poison")
            try:
                entry = json.loads(line)
            except ValueError:
                reading.broken += 1
                continue
            reading.known += 1
            time = entry.pop("time", None)
            yield Record(**{"parent": "", "branch": "main", **entry}, time=time and datetime.fromisoformat(time))


def write(
    home: Path, session: str, *records: Mapping[str, Any] | str, folder: str = "/w/shop", copies: str = ""
) -> Path:
    """Write a session: mappings of the fields of records, or lines as they are; `copies` names whose ids they have."""
    path = home / "sessions" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for number, record in enumerate(records):
        if isinstance(record, str):
            lines.append(record)
        else:
            entry = {"id": f"{copies or session}-{number}", "session": session, "project": folder, **record}
            lines.append(json.dumps(entry, ensure_ascii=False))
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def said(time: str, prompt: str, answer: str = "") -> list[dict[str, Any]]:
    """Return the records of a turn."""
    records = [{"role": "user", "text": prompt, "time": time}]
    return [*records, {"role": "assistant", "text": answer, "time": time}] if answer else records
