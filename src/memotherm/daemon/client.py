"""Let the daemon run a command; without a daemon, or if it does not answer at once, the caller runs it itself.

    fork -> client   its process number: ready, nothing done yet
    client -> fork   the request, with the three standard files: begin
    fork -> client   one byte: the exit code

A client that stops waiting closes the connection and runs the command itself; the fork then ends. Files are sent last,
because readers of the client's output wait until all copies of them are closed. Requests use `marshal`, because both
ends run the same Python and nothing else has to be imported.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _socket
import marshal
import os
import stat
import sys
from collections.abc import Mapping

from memotherm import __file__ as package_file
from memotherm import __version__

__all__ = [
    "COMMANDS",
    "NUMBER_BYTES",
    "STANDARD_FILES",
    "Request",
    "connected",
    "folder_of",
    "is_private",
    "is_supported",
    "peer_uid",
    "run",
    "send_request",
    "socket_path",
    "start",
]

# Address

# What `socket` is made of; the rest of that module takes a tenth of the time of a hook to import.


#: A large prime: the remainder distinguishes installations without importing a checksum.
_PRIME = 2**61 - 1
#: The bytes of a process number, a user number and a group number.
_CREDENTIALS_BYTES = 12


def is_supported() -> bool:
    """Return whether this platform has fork and sockets with peer credentials."""
    return sys.platform == "linux"


def _identity() -> str:
    """Return what a daemon must share with its clients: interpreter, packages, file system, network and processes."""
    root = os.stat("/")
    spaces = [os.readlink(f"/proc/self/ns/{name}") for name in ("mnt", "net", "pid")]
    search = os.environ.get("PYTHONPATH", "")
    return "\n".join(
        (__version__, sys.version, sys.executable, package_file, search, f"{root.st_dev} {root.st_ino}", *spaces)
    )


def folder_of(environ: Mapping[str, str]) -> str:
    """Return the folder of the socket: in the data folder that the environment names, or for the user's login."""
    home, runtime = environ.get("MEMOTHERM_HOME"), environ.get("XDG_RUNTIME_DIR")
    if home:
        return f"{os.path.abspath(home)}/daemon"
    return f"{runtime}/memotherm" if runtime else f"/tmp/memotherm-{os.getuid()}"  # noqa: S108 - checked by `is_private`


def socket_path(folder: str) -> str:
    """Return the path of the socket, which differs between installations."""
    return f"{folder}/{int.from_bytes(_identity().encode()) % _PRIME:x}.sock"


def is_private(folder: str) -> bool:
    """Return whether a folder belongs to the user and is closed to others."""
    try:
        state = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.getuid() and not stat.S_IMODE(state.st_mode) & 0o077


def peer_uid(connection: _socket.socket) -> int:
    """Return the number of the user at the other end of a connection."""
    credentials = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, _CREDENTIALS_BYTES)
    return int.from_bytes(credentials[4:8], sys.byteorder)


# Messages

#: The size of the process number of a fork, and of the length of a request; the most significant byte is first.
NUMBER_BYTES = 4
#: Standard input, output and error.
STANDARD_FILES = (0, 1, 2)


class Request:
    """A command of a client, and the state of its process that the command can see.

    Args:
        arguments: The command line.
        environment: All variables of the client, by name.
        folder: The working directory.
        umask: The mask of the permissions of new files.
        encodings: The encodings of standard input, output and error.
        started: The time of the monotonic clock when the client started.
    """

    def __init__(
        self,
        arguments: tuple[str, ...],
        environment: dict[str, str],
        folder: str,
        umask: int,
        encodings: tuple[str, ...],
        started: float,
    ) -> None:
        self.arguments = arguments
        self.environment = environment
        self.folder = folder
        self.umask = umask
        self.encodings = encodings
        self.started = started


def send_request(connection: _socket.socket, request: Request, files: tuple[int, ...] = STANDARD_FILES) -> None:
    """Send a request and three files, by default the standard files of this process."""
    data = marshal.dumps(vars(request))
    numbers = b"".join(file.to_bytes(4, sys.byteorder) for file in files)
    connection.sendmsg([len(data).to_bytes(NUMBER_BYTES)], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, numbers)])
    connection.sendall(data)


# Client

# What `signal` is made of; the enumerations of that module take a fifth of the time of a client to import.


#: What the daemon runs: hooks, `agent worker`, and commands that read or change a few memories and end.
COMMANDS = {"agent", "archive", "context", "events", "feedback", "get", "history", "hook", "list", "move", "pin",
            "prioritize", "recall", "receipts", "remember", "scopes", "search", "session", "status", "undo", "unpin",
            "update", "verify"}  # fmt: skip

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
