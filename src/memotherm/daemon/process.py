"""The daemon process: accept connections of its user, answer each in a fork, and end when idle or outdated.

Forks are made before they are needed: copying the page tables of a process with a model takes 5 ms.
"""

from __future__ import annotations

import fcntl
import marshal
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, NoReturn

from memotherm.daemon.client import COMMANDS, LENGTH_BYTES, STANDARD_FILES, is_private, peer, socket_path

# Forks

#: Runs a command line that a client started at a time of the monotonic clock, and returns the exit code.
RunCommand = Callable[[list[str], float], int]

#: The longest time to wait for a client, in seconds.
_CLIENT_SECONDS = 5.0
#: More than the number of any file that a command opens.
_MOST_FILES = 1024
#: The limits of a process: of its memory, time, files and others.
_LIMITS = {getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")}
#: Prefixes of variables that select the code to run; the daemon's own values are kept.
_OF_THE_PROGRAM = ("PYTHON", "LD_")


class Request(NamedTuple):
    """A command of a client, and the state of its process that the command can see."""

    arguments: tuple[str, ...]
    environment: dict[str, str]
    folder: str
    umask: int
    #: Of standard input, output and error.
    encodings: tuple[str, str, str]
    #: The time of the monotonic clock when the client started.
    started: float


def _answer(waiting: socket.socket, run: RunCommand) -> NoReturn:
    """Wait for a client, run its command in this process, which was forked for it, and end.

    The daemon sends the connection of the client over `waiting`, which is closed if the daemon ends first.
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
    connection.settimeout(_CLIENT_SECONDS)
    try:
        # The client lives until it is answered.
        client = peer(connection)[0]
        limits = {number: resource.prlimit(client, number) for number in _LIMITS}
        connection.sendall(b"\0")
        header, files, _, _ = socket.recv_fds(connection, LENGTH_BYTES, len(STANDARD_FILES))
        if len(header) < LENGTH_BYTES or len(files) < len(STANDARD_FILES):
            return
        length = int.from_bytes(header)
        with connection.makefile("rb") as stream:
            data = stream.read(length)
    except OSError:
        return
    connection.settimeout(None)
    if len(data) < length:
        return
    request = Request(*marshal.loads(data))  # noqa: S302 - the other end is the same user
    if request.arguments[0] not in COMMANDS:
        return
    _become(request, files)
    _limit(limits)
    code = run(list(request.arguments), request.started)
    sys.stdout.flush()
    sys.stderr.flush()
    connection.sendall(bytes([code & 0xFF]))


def _become(request: Request, files: Sequence[int]) -> None:
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
    # As Python's own streams: lines on a terminal, blocks elsewhere.
    buffering = 1 if os.isatty(1) else -1
    sys.stdout = open(1, "w", buffering=buffering, encoding=of_output, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, encoding=of_error, errors="backslashreplace", closefd=False)  # noqa: SIM115


def _limit(limits: Mapping[int, tuple[int, int]]) -> None:
    """Give this process the limits of the client, as far as its own allow it."""
    for number, (soft, hard) in limits.items():
        try:
            resource.setrlimit(number, (soft, hard))
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                resource.setrlimit(number, (soft, resource.getrlimit(number)[1]))


# Daemon

#: How many connections may wait for a fork.
_BACKLOG = 64
#: How often an idle daemon looks whether its folder is still there, in seconds.
_LOOK_SECONDS = 10.0


def serve(folder: str, run: RunCommand, idle_seconds: float) -> bool:
    """Answer requests in forks until there is none for `idle_seconds`; return False if a daemon is already running.

    It also ends when its folder is deleted.
    """
    # Read before anyone can connect: later changes make this daemon outdated.
    files = _module_files()
    path = Path(socket_path(folder))
    lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return False
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
    listener.settimeout(min(_LOOK_SECONDS, idle_seconds))
    last = time.monotonic()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
    fork = _waiting_fork(listener, lock, run)
    while True:
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            if time.monotonic() - last >= idle_seconds or not is_private(folder):
                return
            continue
        last = time.monotonic()
        with connection:
            if _changed(files) or not is_private(folder):
                return
            if peer(connection)[1] != os.getuid():
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
        _answer(its, run)
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
