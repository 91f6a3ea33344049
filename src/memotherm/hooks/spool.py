"""The queue of jobs that hooks leave for a worker: one small file per job, written atomically, oldest first.

A file that is no job, and a job that cannot be done, is set aside: renamed, kept, and listed by `doctor`.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memotherm.errors import StoreBusy
from memotherm.hooks.project import scope_of
from memotherm.settings import data_home
from memotherm.settings.paths import create_file, create_folder, read_regular, sqlite_path, try_lock

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


#: The file of a job, and its content.
Job = tuple[Path, dict[str, Any]]

_SUFFIX = ".job.json"
_FAILED_SUFFIX = ".failed.json"
#: The time at which a job was added, in nanoseconds.
_TIME_DIGITS = 20
#: Much more than a job has.
_MAX_BYTES = 16_000_000
#: The types of the fields of a job, with the most that a number may be.
_TEXTS = {"do", "session", "client", "role", "text", "sealed", "transcript", "folder", "started_in", "store", "error"}
_OBJECTS = {"scope", "settings", "arguments"}
_NUMBERS = {"attempts": 10_000, "deaths": 10_000, "redacted": 10**9, "retry_at": 10**11}
#: What a worker has added to a job.
_OF_ATTEMPTS = ("failed", "attempts", "deaths", "retry_at", "error")
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
        return self.replace(self.folder / f"{name}{_SUFFIX}", job)

    def replace(self, path: Path, job: dict[str, Any]) -> Path:
        """Write a job to its file, atomically; it keeps its place in the order."""
        partial = self.folder / f"{path.name.removesuffix(_SUFFIX)}-{os.urandom(4).hex()}.part"
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(json.dumps(job))
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

    def failed(self) -> dict[Path, str]:
        """Return the files that were set aside, oldest first, each with the reason."""
        reasons = {}
        for path in sorted(self.folder.glob(f"*{_FAILED_SUFFIX}")):
            try:
                reasons[path] = str(read_job(path).get("failed") or "no reason was recorded")
            except ValueError as error:
                reasons[path] = str(error)
            except OSError as error:
                reasons[path] = f"it cannot be read: {error.strerror or error}"
        return reasons

    def jobs(self, rejected: list[str] | None = None) -> Iterator[Job]:
        """Yield the jobs, oldest first; a file that is no job is set aside, and its reason added to `rejected`."""
        for path in self.waiting():
            try:
                job = read_job(path)
            except FileNotFoundError:
                continue
            except (OSError, ValueError) as error:
                self.set_aside(path)
                if rejected is not None:
                    rejected.append(f"{path.name}: {error}")
                continue
            yield path, job

    def retry(self) -> int:
        """Let the jobs that were set aside wait again, and return their number; files that are no jobs stay."""
        count = 0
        for path in self.failed():
            with contextlib.suppress(OSError, ValueError):
                job = {name: value for name, value in read_job(path).items() if name not in _OF_ATTEMPTS}
                self.replace(path.with_name(path.name.removesuffix(_FAILED_SUFFIX) + _SUFFIX), job)
                path.unlink()
                count += 1
        return count

    def set_aside(self, path: Path, why: str = "") -> None:
        """Rename the file of a job, so that it is kept and not tried again; record why, unless it is no job."""
        with contextlib.suppress(OSError, ValueError, RecursionError):
            if why:
                self.replace(path, {**read_job(path), "failed": why})
        with contextlib.suppress(FileNotFoundError):
            path.replace(path.with_name(path.name.removesuffix(_SUFFIX) + _FAILED_SUFFIX))


def read_job(path: Path) -> dict[str, Any]:
    """Return the job in a file; raise ValueError with the reason if it has none."""
    if not path.name[:_TIME_DIGITS].isdecimal():
        raise ValueError("its name does not begin with a time")
    data = read_regular(path, _MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ValueError(f"it is larger than {_MAX_BYTES} bytes")
    try:
        job = json.loads(data.decode())
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"it is not JSON: {error}") from None
    if not isinstance(job, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - every reason is a ValueError
    problems = (f"its field {name!r} {problem}" for name in job if (problem := _problem(name, job[name])))
    problem = "it does not say what to do" if not job.get("do") else next(problems, "")
    if problem:
        raise ValueError(problem)
    return job


def _problem(name: str, value: object) -> str:
    """Return what is wrong with a field of a job; an empty text if nothing is."""
    if name in _NUMBERS:
        valid = isinstance(value, int | float) and 0 <= value <= _NUMBERS[name]
        return "" if valid else f"is not a number from 0 to {_NUMBERS[name]}"
    if name in _OBJECTS and value is not None:
        if not isinstance(value, dict):
            return "is not an object"
        named = name != "scope" or all(isinstance(each, str) for each in value.values())
        return "" if named else "has values that are not texts"
    return "is not a text" if name in _TEXTS and not isinstance(value, str | None) else ""


@contextlib.contextmanager
def locked(spool: Spool) -> Iterator[bool]:
    """Try to lock the spool, and yield whether it worked; it does not where files cannot be locked."""
    create_file(spool.folder / "lock")
    with (spool.folder / "lock").open("a+b") as file:
        free = False
        with contextlib.suppress(OSError):
            free = try_lock(file.fileno())
        yield free


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
            path.unlink(missing_ok=True)
        return len(paths)


def _belongs(path: Path, store: str, scope: Scope) -> bool:
    from memotherm.model import Scope  # every hook imports this module, and few erase

    try:
        job = read_job(path)
        own = Scope(**scope_of(dict(job.get("scope") or {}), str(job.get("folder") or "")))
    except (OSError, ValueError, TypeError, AttributeError):
        return False
    session = Scope(**{**dict(own.items()), "session": str(job["session"])}) if job.get("session") else own
    known = bool(job.get("store") or job.get("settings"))
    return session.sees(scope) and (not known or _name(destination(job)) == _name(store))


def _name(store: str) -> str:
    """Return the canonical name of a store, without a password."""
    path = sqlite_path(store)
    return _PASSWORD.sub("@", store) if path is None else os.path.realpath(path)
