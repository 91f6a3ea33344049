"""The worker's side of the spool: remember what was said, end sessions, in the order in which it happened.

What is said in a session stands in its context anyway. So it is remembered when the session is over or
its context is compacted, and not recalled into the conversation that it comes from.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import memotherm
from memotherm import Memotherm
from memotherm.errors import InvalidInput, MemothermError, StoreError
from memotherm.hooks.spool import Spool
from memotherm.hooks.work import scope_of
from memotherm.model import Scope
from memotherm.notes.transcript import transcript

__all__ = ["Done", "work_off"]

#: What hosts put into the user's mouth, and commands to the host itself.
_NOT_SAID = ("<system-reminder>", "<command-name>", "<local-command-", "<environment_context>", "/", "!")
_LONGEST = 20_000
_SHORT_QUESTION = 200
_TAIL = 2_000_000
#: A session that did not say that it ended is taken for over after this time.
_PATIENCE_SECONDS = 3600


Job = tuple[Path, dict[str, Any]]


class Done(NamedTuple):
    """What one run of the worker did."""

    captured: int = 0
    #: What was said already, or says nothing.
    left_out: int = 0
    ended: int = 0
    #: What belongs to sessions that still go on.
    waiting: int = 0
    failed: tuple[str, ...] = ()
    #: Whether another worker has the spool.
    busy: bool = False


def work_off(spool: Spool, *, everything: bool = False) -> Done:
    """Do what is ready, oldest first; a store that cannot be written now keeps its jobs."""
    if not spool.waiting():
        return Done()
    with _alone(spool) as alone:
        return _worked(spool, everything=everything) if alone else Done(busy=True)


def _worked(spool: Spool, *, everything: bool) -> Done:
    jobs = list(spool.jobs())
    ready = jobs if everything else _ready(jobs)
    done = Done(waiting=len(jobs) - len(ready))
    with contextlib.ExitStack() as stack:
        opened: dict[tuple[Any, ...], Memotherm] = {}
        for path, job in ready:
            try:
                done = _one(job, _memory(job, opened, stack), done)
            except StoreError as error:
                return done._replace(failed=(*done.failed, f"{error}; the job waits"))
            except (MemothermError, KeyError, TypeError, ValueError) as error:
                spool.put_aside(path)
                done = done._replace(failed=(*done.failed, f"{path.name}: {error}"))
            else:
                spool.done(path)
    return done


def _ready(jobs: list[Job]) -> list[Job]:
    """Return the jobs of sessions that were over, or compacted, after them, or that nobody has heard of for long."""
    old = f"{time.time_ns() - _PATIENCE_SECONDS * 10**9:020d}"
    released: dict[object, str] = {}
    for path, job in jobs:
        if job.get("do") != "capture" or path.name < old:
            released[job.get("session")] = path.name
    return [(path, job) for path, job in jobs if path.name <= released.get(job.get("session"), "")]


def _memory(job: dict[str, Any], opened: dict[tuple[Any, ...], Memotherm], stack: contextlib.ExitStack) -> Memotherm:
    scope = scope_of(dict(job.get("scope") or {}), str(job.get("folder") or ""))
    key = (job.get("store"), *sorted(scope.items()))
    if key not in opened:
        opened[key] = stack.enter_context(memotherm.open(job.get("store"), scope=Scope(**scope)))
    return opened[key]


def _one(job: dict[str, Any], mem: Memotherm, done: Done) -> Done:
    if job["do"] == "compact":
        mem.session(str(job["session"])).context_compacted()
        return done
    if job["do"] == "end":
        mem.session(str(job["session"])).session_end()
        return done._replace(ended=done.ended + 1)
    if job["do"] != "capture":
        raise InvalidInput(f"unknown job {job['do']!r}: it was spooled by another version")
    text = str(job["text"]) if "text" in job else _last_reply(Path(str(job["transcript"])))
    words = text.strip()[:_LONGEST]
    if _says_nothing(words, str(job["role"])) or words == mem.settings.silent_token:
        return done._replace(left_out=done.left_out + 1)
    about = {"role": job["role"], "session": job["session"], "client": job["client"]}
    captured = mem.capture(words, metadata=about, source="hook")
    if captured.status == "stored":
        return done._replace(captured=done.captured + 1)
    return done._replace(left_out=done.left_out + 1)


def _says_nothing(words: str, role: str) -> bool:
    """Tell whether something is not worth a memory: empty, the host's own words, or a short question."""
    asks = role == "user" and words.endswith("?") and len(words) < _SHORT_QUESTION and "\n" not in words
    return not words or words.startswith(_NOT_SAID) or asks


def _last_reply(path: Path) -> str:
    """Return what the agent said last, from the end of its transcript."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL))
            lines = transcript(file.read()).lines
    except OSError:
        return ""
    return next((line.removeprefix("Assistant: ") for line in reversed(lines) if line.startswith("Assistant: ")), "")


@contextlib.contextmanager
def _alone(spool: Spool) -> Iterator[bool]:
    """Hold the spool, unless another process does; a process that dies gives it back."""
    with (spool.folder / "lock").open("a+b") as file:
        yield _locked(file)


def _locked(file: IO[bytes]) -> bool:
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
