"""Work for later: a folder with one small file per job, oldest first, each written whole or not at all."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["Spool"]

_SUFFIX = ".job.json"
#: More than this means that nobody has taken any for weeks.
_MOST_JOBS = 5000


class Spool:
    """The jobs of one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, job: dict[str, Any]) -> Path:
        """Keep a job until somebody takes it."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if len(self.waiting()) >= _MOST_JOBS:
            raise OSError(f"{_MOST_JOBS} jobs wait in {self.folder}: run `memotherm worker --once`")
        name = f"{time.time_ns():020d}-{os.getpid()}-{secrets.token_hex(4)}"
        partial = self.folder / f"{name}.part"
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            json.dump(job, file)
        return partial.replace(self.folder / f"{name}{_SUFFIX}")

    def waiting(self) -> list[Path]:
        """Return the jobs that wait, oldest first."""
        try:
            return sorted(path for path in self.folder.iterdir() if path.name.endswith(_SUFFIX))
        except FileNotFoundError:
            return []

    def jobs(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Yield the jobs, oldest first; what is no job is put aside."""
        for path in self.waiting():
            try:
                job = json.loads(path.read_text("utf-8"))
            except FileNotFoundError:
                continue
            except (OSError, ValueError):
                self.put_aside(path)
                continue
            if isinstance(job, dict):
                yield path, job
            else:
                self.put_aside(path)

    def done(self, path: Path) -> None:
        """Drop a job that was done."""
        path.unlink(missing_ok=True)

    def put_aside(self, path: Path) -> None:
        """Keep a job that cannot be done where a person may look at it."""
        path.replace(path.with_name(path.name.removesuffix(_SUFFIX) + ".failed.json"))
