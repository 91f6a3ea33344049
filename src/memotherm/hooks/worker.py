"""Process the spool in a process of its own, which is ended if one job takes too long.

A job runs code of libraries, of plugins and of other programs, and waits for servers. Only the end of its process stops
all of that, and releases the lock of the spool. The job is then set aside, and a new process goes on with the others.
"""

from __future__ import annotations

import multiprocessing
import sys
from contextlib import suppress
from dataclasses import fields
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from memotherm.hooks.capture import WorkerResult, process_spool, set_aside
from memotherm.hooks.spool import Job, Spool, locked

#: The longest time for a turn of a conversation. Opening a store and storing a turn takes a second on a busy machine,
#: and waiting for another writer up to 30.
JOB_SECONDS = 120.0


def run_worker(spool: Spool, *, include_running: bool = False, seconds: float = JOB_SECONDS) -> WorkerResult:
    """Process the jobs that are ready, as `process_spool` does, and set those aside that take longer than `seconds`."""
    total = WorkerResult()
    while spool.waiting():
        result, names, late = _run_process(spool, seconds, include_running=include_running)
        if late:
            _set_aside(spool, names or (), f"it took longer than {seconds:g} seconds", result)
        _add(result, total)
        if names is None:
            break
    return total


def _run_process(
    spool: Spool, seconds: float, *, include_running: bool
) -> tuple[WorkerResult, tuple[str, ...] | None, bool]:
    """Run one process; return its result, the jobs that it did not finish if it was ended, and whether for their time.

    If it has died, the next one counts how often that has happened during the same job.
    """
    # A fork shares what the daemon has loaded; elsewhere forks are missing or not safe.
    context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_process, args=(sender, spool.folder, include_running), daemon=True)
    process.start()
    sender.close()
    result, names = WorkerResult(), None
    try:
        while receiver.poll(seconds if names is not None else None):
            result, names = receiver.recv()
    except (EOFError, OSError):
        process.join()
        if process.exitcode:
            result.failed += (f"a process of the worker ended with {process.exitcode}",)
        return result, names, False
    process.kill()
    process.join()
    return result, names, True


def _process(sender: Connection, folder: Path, include_running: bool) -> None:
    def send(result: WorkerResult, names: tuple[str, ...] | None) -> None:
        sender.send((result, names))

    result = WorkerResult()
    try:
        result = process_spool(Spool(folder), include_running=include_running, progress=send)
    except KeyboardInterrupt:
        return  # this is also an interrupt of the process that waits for the result
    except Exception as error:  # noqa: BLE001 - the process that waits for it prints it
        result.failed = (f"the worker ended: {type(error).__name__}: {error}",)
    with suppress(BrokenPipeError):
        send(result, None)


def _set_aside(spool: Spool, names: tuple[str, ...], why: str, result: WorkerResult) -> None:
    """Set jobs aside, unless another worker has begun to process the spool: it has a limit of its own."""
    with locked(spool) as free:
        turn: list[Job] = [(spool.folder / name, {}) for name in names]
        if turn and free:
            set_aside(spool, turn, why, result)
        elif free:
            result.failed += (f"the summaries of sessions: {why}",)


def _add(part: WorkerResult, result: WorkerResult) -> None:
    """Add the result of a process to that of all; the last one knows what waits."""
    for field in fields(WorkerResult):
        before, new = getattr(result, field.name), getattr(part, field.name)
        setattr(result, field.name, new if field.name in ("waiting", "busy") else before + new)
