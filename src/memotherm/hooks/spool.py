"""The queue of jobs that hooks leave for a worker: one small file per job, written atomically, oldest first."""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from memotherm.errors import StoreBusy
from memotherm.hooks.project import scope_of
from memotherm.settings import data_home
from memotherm.settings.paths import create_file, create_folder

if TYPE_CHECKING:
    from memotherm.model import Scope


def destination(job: Mapping[str, Any]) -> str:
    """Return the store of a job, or the folder whose settings name it."""
    return str(job.get("store") or (job.get("settings") or {}).get("store") or job.get("started_in"))


#: A store, a scope and the id of a session.
SessionKey = tuple[str, tuple[tuple[str, str], ...], str]


def session_key(job: Mapping[str, Any]) -> SessionKey:
    """Return what the jobs of one session share; ids of sessions may be equal in different stores and projects."""
    scope = scope_of(dict(job.get("scope") or {}), str(job.get("folder") or job.get("started_in") or ""))
    return destination(job), tuple(sorted(scope.items())), str(job.get("session"))


def store_name(store: str) -> str:
    """Return the canonical name of a store."""
    path = store.removeprefix("sqlite:///")
    return store if "://" in path else os.path.realpath(Path(path).expanduser())


#: The file of a job, and its content.
Job = tuple[Path, dict[str, Any]]

_SUFFIX = ".job.json"
_FAILED_SUFFIX = ".failed.json"
_STARTED = "started"
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
            raise OSError(f"{_MAX_JOBS} jobs wait in {self.folder}: run `memotherm agent worker --once`")
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
        """Return the file names of the jobs, in no order; every hook counts them."""
        try:
            # `iterdir` would make a Path of each.
            return [name for name in os.listdir(self.folder) if name.endswith(_SUFFIX)]  # noqa: PTH208
        except FileNotFoundError:
            return []

    def failed(self) -> list[Path]:
        """Return the files of failed jobs, oldest first."""
        return sorted(self.folder.glob(f"*{_FAILED_SUFFIX}"))

    def jobs(self) -> Iterator[Job]:
        """Yield the jobs, oldest first; an invalid file is set aside."""
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

    def started(self) -> str:
        """Return the file name of the job that a worker had started when it died; empty if there is none."""
        try:
            return (self.folder / _STARTED).read_text("utf-8")
        except (OSError, ValueError):
            return ""

    def start(self, name: str) -> None:
        """Note the file name of the job that is being processed; empty if none is."""
        create_file(self.folder / _STARTED)
        (self.folder / _STARTED).write_text(name, "utf-8")

    def remove(self, path: Path) -> None:
        """Remove a job that is done."""
        path.unlink(missing_ok=True)

    def set_aside(self, path: Path) -> None:
        """Mark a job as failed by renaming its file, so that it is not retried and can be inspected."""
        path.replace(path.with_name(path.name.removesuffix(_SUFFIX) + _FAILED_SUFFIX))


@contextlib.contextmanager
def locked(spool: Spool) -> Iterator[bool]:
    """Try to lock the spool, and yield whether it worked; the operating system releases the lock of a dead process."""
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


_PASSWORD = re.compile(r":[^:@/]*@")


def erase_jobs(spool: Spool, store: str, scope: Scope) -> int:
    """Delete the jobs of a store in a scope, failed ones included, and return their number.

    A job whose settings could not be read may belong to any store; it is deleted if its scope matches.
    """
    if not spool.folder.is_dir():
        return 0
    with locked(spool) as free:
        if not free:
            raise StoreBusy("a worker is processing the spool of the hooks: try again when it has finished")
        paths = [path for path in [*spool.waiting(), *spool.failed()] if _belongs(path, store, scope)]
        for path in paths:
            spool.remove(path)
        return len(paths)


def _belongs(path: Path, store: str, scope: Scope) -> bool:
    from memotherm.model import Scope  # every hook imports this module, and few erase

    try:
        job: dict[str, Any] = json.loads(path.read_text("utf-8"))
        own = Scope(**scope_of(dict(job.get("scope") or {}), str(job.get("folder") or "")))
    except (OSError, ValueError, TypeError, AttributeError):
        return False
    session = Scope(**{**dict(own.items()), "session": str(job["session"])}) if job.get("session") else own
    known = bool(job.get("store") or job.get("settings"))
    return session.sees(scope) and (not known or _name(destination(job)) == _name(store))


def _name(store: str) -> str:
    """Return the name of a store without a password."""
    return _PASSWORD.sub("@", store_name(store))
