"""The daemon process: accept connections of its user, answer each in a fork, and end when idle or outdated.

Forks are made before they are needed: copying the page tables of a process with a model takes 5 ms.
"""

from __future__ import annotations

import fcntl
import marshal
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from memotherm.daemon.client import COMMANDS, NUMBER_BYTES, STANDARD_FILES, Request, is_private, peer_uid, socket_path

__all__ = ["RunCommand", "answer", "lock_path", "serve"]

# Forks

#: Runs a command line that a client started at a time of the monotonic clock, and returns the exit code.
RunCommand = Callable[[list[str], float], int]

#: The longest time to wait for a client, in seconds.
_CLIENT_SECONDS = 5.0
#: More than the number of any file that a command opens.
_MOST_FILES = 1024
#: Prefixes of variables that select the code to run; the daemon's own values are kept.
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
        # Close files first: readers of the client's output wait for them, and exiting frees memory before files.
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
    """Announce this process, receive a request, and take over the client's files and environment."""
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
    """Return the buffering of Python's own streams: lines on a terminal, blocks elsewhere."""
    return 1 if os.isatty(file) else -1


# Daemon

#: How many connections may wait for a fork.
_BACKLOG = 64


def lock_path(folder: str) -> Path:
    """Return the file that the daemon of a folder has locked, with its process number in it."""
    return Path(socket_path(folder)).with_suffix(".lock")


def serve(folder: str, run: RunCommand, idle_seconds: float) -> bool:
    """Answer requests until idle; return False if a daemon is already running.

    Args:
        folder: The folder of the socket; only its user may open it.
        run: Runs the command of a client in a fork.
        idle_seconds: The time without a request after which the daemon ends.
    """
    # Read before anyone can connect: later changes make this daemon outdated.
    files = _module_files()
    lock = os.open(lock_path(folder), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return False
    os.ftruncate(lock, 0)
    os.write(lock, str(os.getpid()).encode())
    path = Path(socket_path(folder))
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen(_BACKLOG)
        own = path.stat().st_ino
        try:
            _answer_all(listener, lock, folder, run, idle_seconds, files)
        finally:
            with suppress(OSError):
                if path.stat().st_ino == own:
                    path.unlink()
    return True


def _answer_all(
    listener: socket.socket, lock: int, folder: str, run: RunCommand, idle_seconds: float, files: dict[str, int]
) -> None:
    listener.settimeout(idle_seconds)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
    fork = _waiting_fork(listener, lock, run)
    while True:
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            return
        with connection:
            if _changed(files) or not is_private(folder):
                return
            if peer_uid(connection) != os.getuid():
                continue
            # A fork may have been killed: its client then runs the command itself.
            with fork, suppress(OSError):
                socket.send_fds(fork, [b"\0"], [connection.fileno()])
        # Not before the connection is closed here: a client waits until all copies of its other end are.
        fork = _waiting_fork(listener, lock, run)


def _waiting_fork(listener: socket.socket, lock: int, run: RunCommand) -> socket.socket:
    """Fork a process that answers one client; return the socket on which it waits for the connection."""
    own, its = socket.socketpair()
    if not os.fork():
        own.close()
        listener.close()
        os.close(lock)
        answer(its, run)
    its.close()
    return own


def _module_files() -> dict[str, int]:
    """Return the files of the package's modules and of the packages it uses, with the times of their last change.

    The standard library is left out: another version of it has a daemon of its own.
    """
    packages = {name for name in sys.modules if "." not in name} - sys.stdlib_module_names
    modules = [module for name, module in sys.modules.items() if name in packages or name.startswith("memotherm.")]
    paths = {path for module in modules if (path := getattr(module, "__file__", None))}
    return {path: changed for path in paths if (changed := _changed_at(path)) is not None}


def _changed(files: dict[str, int]) -> bool:
    return any(_changed_at(path) != changed for path, changed in files.items())


def _changed_at(path: str) -> int | None:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None
