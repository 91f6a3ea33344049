"""Let the daemon run a command; without one, or if it does not answer at once, the caller runs it itself."""

from __future__ import annotations

# What `signal` is made of; the enumerations of that module take a fifth of the time of a client to import.
import _signal  # type: ignore[import-not-found]
import _socket
import os
import sys

from memotherm.daemon.address import folder_of, is_private, is_supported, peer_uid, socket_path
from memotherm.daemon.messages import NUMBER_BYTES, STANDARD_FILES, Request, send_request

__all__ = ["COMMANDS", "connected", "run", "start"]

#: What the daemon runs: hooks and their worker, and commands that read or change a few memories and end.
COMMANDS = {"archive", "context", "events", "feedback", "get", "history", "hook", "list", "move", "pin", "prioritize",
            "recall", "receipts", "remember", "scopes", "search", "session", "status", "undo", "unpin", "update",
            "verify", "worker"}  # fmt: skip

#: The longest time until a fork must have answered, in seconds.
_READY_SECONDS = 0.5
_NO = {"0", "false", "no", "off"}


def run(arguments: list[str], started: float, timeout: float | None = None) -> int | None:
    """Run a command in the daemon and return its exit code; None if it has done nothing.

    Args:
        arguments: The command line.
        started: The time of the monotonic clock when this process started.
        timeout: The longest time to wait for the end of the command, in seconds.
    """
    connection = _wanted_connection(arguments[0])
    if connection is None:
        return None
    try:
        try:
            process = _forked(connection)
            if process is None:
                return None
            send_request(connection, _request(arguments, started, os.getcwd()))
        except (OSError, ValueError, AttributeError):
            # Also without standard files, or in a folder that was removed.
            return None
        return _exit_code(connection, timeout, _forward_signals(process))
    finally:
        connection.close()


def start(arguments: list[str], folder: str) -> bool:
    """Let the daemon begin a command in a folder, without input and output; return whether it has begun.

    Args:
        arguments: The command line.
        folder: The working directory of the command.
    """
    connection = _wanted_connection(arguments[0])
    if connection is None:
        return False
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        if _forked(connection) is None:
            return False
        send_request(connection, _request(arguments, 0.0, folder), (nothing,) * len(STANDARD_FILES))
    except (OSError, ValueError, AttributeError):
        return False
    finally:
        os.close(nothing)
        connection.close()
    return True


def _wanted_connection(command: str) -> _socket.socket | None:
    """Return a connection to the daemon if it runs this command and the environment does not forbid it."""
    wanted = os.environ.get("MEMOTHERM_DAEMON", "").strip().lower() not in _NO
    if not wanted or command not in COMMANDS or not is_supported():
        return None
    return connected(folder_of(os.environ))


def _forked(connection: _socket.socket) -> int | None:
    """Return the process of the fork that has the connection, or None if it has ended."""
    data = connection.recv(NUMBER_BYTES, _socket.MSG_WAITALL)
    return int.from_bytes(data) if len(data) == NUMBER_BYTES else None


def connected(folder: str) -> _socket.socket | None:
    """Return a connection to the daemon of this user, or None."""
    if not is_private(folder):
        return None
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(_READY_SECONDS)
        connection.connect(socket_path(folder))
        if peer_uid(connection) == os.getuid():
            return connection
    except OSError:
        pass
    connection.close()
    return None


def _request(arguments: list[str], started: float, folder: str) -> Request:
    umask = os.umask(0o077)
    os.umask(umask)
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return Request(
        arguments=tuple(arguments),
        environment=dict(os.environ),
        folder=folder,
        umask=umask,
        encodings=tuple(stream.encoding for stream in streams),
        started=started,
    )


def _forward_signals(process: int) -> list[int]:
    """Send signals that would end this process to the fork; return the list that will have them."""
    received: list[int] = []

    def forward(number: int, frame: object) -> None:  # noqa: ARG001
        received.append(number)
        os.kill(process, number)

    for number in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP):
        _signal.signal(number, forward)
    return received


def _exit_code(connection: _socket.socket, timeout: float | None, forwarded: list[int]) -> int:
    connection.settimeout(timeout)
    try:
        code = connection.recv(1)
    except OSError:
        code = b""
    if code:
        return code[0]
    if forwarded:
        # The signal has ended the fork: end as it did.
        _signal.signal(forwarded[-1], _signal.SIG_DFL)
        os.kill(os.getpid(), forwarded[-1])
    sys.stderr.write("error: the process of the daemon ended before the command did: run it again\n")
    return 1
