"""A queue of jobs in a folder: one small file for each job, oldest first, written completely or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from memotherm.settings import data_home
from memotherm.settings.private_files import create_file, create_folder

__all__ = ["Job", "Spool", "locked", "user_spool"]

#: The file of a job, and its content.
Job = tuple[Path, dict[str, Any]]

_SUFFIX = ".job.json"
_FAILED_SUFFIX = ".failed.json"
#: This many jobs accumulate only if no worker has run for weeks.
_MAX_JOBS = 5000


def user_spool() -> Spool:
    """Return the user's spool."""
    return Spool(data_home() / "spool")


class Spool:
    """The jobs in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, job: dict[str, Any]) -> Path:
        """Add a job, and return its file."""
        create_folder(self.folder)
        if len(self._names()) >= _MAX_JOBS:
            raise OSError(f"{_MAX_JOBS} jobs wait in {self.folder}: run `memotherm worker --once`")
        name = f"{time.time_ns():020d}-{os.getpid()}-{os.urandom(4).hex()}"
        return self._write(job, self.folder / f"{name}{_SUFFIX}")

    def replace(self, path: Path, job: dict[str, Any]) -> None:
        """Replace a job; it keeps its place in the order."""
        self._write(job, path)

    def _write(self, job: dict[str, Any], path: Path) -> Path:
        partial = self.folder / f"{path.name.removesuffix(_SUFFIX)}-{os.urandom(4).hex()}.part"
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            json.dump(job, file)
        return partial.replace(path)

    def waiting(self) -> list[Path]:
        """Return the files of the jobs, oldest first."""
        return [self.folder / name for name in sorted(self._names())]

    def _names(self) -> list[str]:
        """Return the names of the files of the jobs, in no order; every hook counts them."""
        try:
            # Not `iterdir`, which makes a path of each.
            return [name for name in os.listdir(self.folder) if name.endswith(_SUFFIX)]  # noqa: PTH208
        except FileNotFoundError:
            return []

    def failed(self) -> list[Path]:
        """Return the files of the jobs that were set aside, oldest first."""
        return sorted(self.folder.glob(f"*{_FAILED_SUFFIX}"))

    def jobs(self) -> Iterator[Job]:
        """Yield the jobs, oldest first; a file that is no job is set aside."""
        for path in self.waiting():
            try:
                job = json.loads(path.read_text("utf-8"))
            except FileNotFoundError:
                continue
            except (OSError, ValueError):
                self.set_aside(path)
                continue
            if isinstance(job, dict):
                yield path, job
            else:
                self.set_aside(path)

    def remove(self, path: Path) -> None:
        """Remove a job that is done."""
        path.unlink(missing_ok=True)

    def set_aside(self, path: Path) -> None:
        """Rename a job that cannot be done, so that it is not tried again and can be inspected."""
        path.replace(path.with_name(path.name.removesuffix(_SUFFIX) + _FAILED_SUFFIX))


@contextlib.contextmanager
def locked(spool: Spool) -> Iterator[bool]:
    """Lock the spool, unless another process has; the operating system releases the lock of a process that dies."""
    create_file(spool.folder / "lock")
    with (spool.folder / "lock").open("a+b") as file:
        yield _try_lock(file)


def _try_lock(file: IO[bytes]) -> bool:
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
