"""A server of several processes, which accept connections from one socket.

Each is a process of its own that opens the store. What must be one for all of them is in the store (memories, keys,
logins, replies to repeated requests, jobs), or in a folder that they share while the server runs: the counts of rate
limits, and the numbers of requests for Prometheus.

Not uvicorn's workers: those kill a process whose event loop does not answer for 5 seconds, which a check of a large
store can take, and start one that cannot open its store again and again. Here a process that a signal has ended is
started again, and one that exits by itself ends the server with its exit code.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from memotherm.errors import SettingsError
from memotherm.settings import extended

__all__ = ["Worker", "serve_with_workers"]

_BACKLOG = 2048


class Worker(NamedTuple):
    """What a process of a server has in common with the others."""

    listener: socket.socket
    #: The folder that all processes of the server share.
    shared: Path
    #: Whether this process does what only one should do: maintenance, and watching the notes.
    first: bool

    @classmethod
    def from_option(cls, text: str) -> Worker:
        """Return the worker that `serve_with_workers` has described in an option."""
        number, file, shared = text.split(",", 2)
        return cls(socket.socket(fileno=int(file)), Path(shared), first=number == "0")


def serve_with_workers(count: int, arguments: Sequence[str], host: str, port: int) -> int:
    """Run `memotherm serve` in several processes until this one is terminated; return the exit code.

    A process that a signal has ended is started again; one that exits by itself ends the server.

    Args:
        count: The number of processes.
        arguments: The options of each of them.
        host: The address to listen on.
        port: The port to listen on; 0: a free one.
    """
    if os.name != "posix":
        raise SettingsError("several workers need Linux or macOS: run one, or several servers on a PostgreSQL store")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with (
        tempfile.TemporaryDirectory(prefix="memotherm-") as shared,
        socket.create_server((host, port), family=family, backlog=_BACKLOG) as listener,
    ):
        return _Workers(count, arguments, listener, shared).run()


class _Workers:
    """The processes of a server."""

    def __init__(self, count: int, arguments: Sequence[str], listener: socket.socket, shared: str) -> None:
        self._arguments = arguments
        self._listener = listener
        self._shared = shared
        self._count = count
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._ending = False

    def run(self) -> int:
        """Start the processes, and wait until all have ended."""
        for ending in (signal.SIGTERM, signal.SIGINT):
            signal.signal(ending, self._end)
        for number in range(self._count):
            self._start(number)
        code = 0
        while self._running:
            ended, status = os.waitpid(-1, 0)
            number = next(number for number, process in self._running.items() if process.pid == ended)
            self._running.pop(number).returncode = os.waitstatus_to_exitcode(status)
            if not self._ending and os.WIFSIGNALED(status):
                self._start(number)
            elif not self._ending:
                code = os.waitstatus_to_exitcode(status)
                self._end(signal.SIGTERM, None)
        return code

    def _start(self, number: int) -> None:
        file = self._listener.fileno()
        place = f"--worker={number},{file},{self._shared}"
        self._running[number] = subprocess.Popen(  # noqa: S603 - the options of this server
            [sys.executable, "-m", "memotherm", "serve", *self._arguments, place],
            env=extended({"PROMETHEUS_MULTIPROC_DIR": self._shared}),
            pass_fds=[file],
        )
        if self._ending:  # by a signal that came meanwhile
            self._running[number].terminate()

    def _end(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self._ending = True
        for process in self._running.values():
            process.terminate()
