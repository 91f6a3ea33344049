"""A fork of the daemon: become what the client's own process would be, and run its command."""

from __future__ import annotations

import marshal
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import NoReturn

from memotherm.daemon.client import COMMANDS
from memotherm.daemon.messages import NUMBER_BYTES, STANDARD_FILES, Request

__all__ = ["RunCommand", "answer"]

#: Runs a command line that a client started at a time of the monotonic clock, and returns the exit code.
RunCommand = Callable[[list[str], float], int]

#: The longest time to wait for a client, in seconds.
_CLIENT_SECONDS = 5.0
#: More than the number of any file that a command opens.
_MOST_FILES = 1024
#: The start of the names of variables that say which code is run: they are those of the daemon.
_OF_THE_PROGRAM = ("PYTHON", "LD_")


def answer(waiting: socket.socket, run: RunCommand) -> NoReturn:
    """Wait for a client, run its command in this process, which was forked for it, and end.

    Args:
        waiting: A socket on which the daemon sends the connection of the client; it is closed if the daemon ends first.
        run: Runs the command.
    """
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # an interrupt of the daemon also ends this process
        _, connections, _, _ = socket.recv_fds(waiting, 1, 1, socket.MSG_CMSG_CLOEXEC)
        for number in connections:
            _answer_client(socket.socket(fileno=number), run)
    except BaseException:  # noqa: BLE001 - nothing of the daemon may run in its fork
        sys.excepthook(*sys.exc_info())
    finally:
        # A process that ends releases its memory before its files, for which whoever reads the client's output waits.
        os.closerange(0, _MOST_FILES)
        os._exit(0)  # nobody waits for it


def _answer_client(connection: socket.socket, run: RunCommand) -> None:
    """Run the command of a client, if it sends one, and send it the exit code."""
    request = _accepted(connection)
    if request is not None:
        code = run(list(request.arguments), request.started)
        sys.stdout.flush()
        sys.stderr.flush()
        connection.sendall(bytes([code & 0xFF]))


def _accepted(connection: socket.socket) -> Request | None:
    """Say that this process is there, receive a request, and take the place of the client."""
    connection.settimeout(_CLIENT_SECONDS)
    try:
        connection.sendall(os.getpid().to_bytes(NUMBER_BYTES))
        received = _received(connection)
    except OSError:
        return None
    connection.settimeout(None)
    if received is None or received[0].arguments[0] not in COMMANDS:
        return None
    request, files = received
    _become(request, files)
    return request


def _received(connection: socket.socket) -> tuple[Request, list[int]] | None:
    """Return a request and the standard files of the client; None if the client has gone."""
    header, files, _, _ = socket.recv_fds(connection, NUMBER_BYTES, len(STANDARD_FILES))
    if len(header) < NUMBER_BYTES or len(files) < len(STANDARD_FILES):
        return None
    length = int.from_bytes(header)
    data = bytearray()
    while len(data) < length:
        part = connection.recv(length - len(data))
        if not part:
            return None
        data += part
    return Request(**marshal.loads(data)), list(files)  # noqa: S302 - the other end is the same user


def _become(request: Request, files: list[int]) -> None:
    """Give this process the files, environment and folder of the client."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    own = {name: value for name, value in os.environ.items() if name.startswith(_OF_THE_PROGRAM)}
    given = {name: value for name, value in request.environment.items() if not name.startswith(_OF_THE_PROGRAM)}
    os.environ.clear()
    os.environ.update({**given, **own})
    time.tzset()
    os.chdir(request.folder)
    os.umask(request.umask)
    sys.argv[1:] = request.arguments
    of_input, of_output, of_error = request.encodings
    sys.stdin = open(0, encoding=of_input, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", buffering=_buffering(1), encoding=of_output, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, encoding=of_error, errors="backslashreplace", closefd=False)  # noqa: SIM115


def _buffering(file: int) -> int:
    """Return what Python's own streams have: lines on a terminal, blocks elsewhere."""
    return 1 if os.isatty(file) else -1
