"""Let the daemon run a command; without a daemon, or if it does not answer at once, the caller runs it itself.

    fork -> client   one byte: ready, nothing done yet; the kernel adds the number of the fork's process
    client -> fork   the request, with the three standard files: begin
    fork -> client   one byte: the exit code

A client that stops waiting closes the connection and runs the command itself; the fork then ends. Files are sent last,
because readers of the client's output wait until all copies of them are closed. Requests use `marshal`, because both
ends run the same Python and nothing else has to be imported. Signals go to the process that the kernel names, never to
a number that the other end claims.
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

# `_signal` and `_socket` are what `signal` and `socket` are made of: the rest of those modules takes a third of the
# time of a hook to import.

#: What the daemon runs: hooks, `agent worker`, and commands that read or change a few memories and end.
COMMANDS = {"agent", "archive", "context", "events", "feedback", "get", "history", "hook", "list", "move", "pin",
            "prioritize", "recall", "receipts", "remember", "scopes", "search", "session", "status", "undo", "unpin",
            "update", "verify"}  # fmt: skip
#: The bytes of the length of a request; the most significant one is first.
LENGTH_BYTES = 4
#: Standard input, output and error.
STANDARD_FILES = (0, 1, 2)

#: A large prime: the remainder distinguishes installations without importing a checksum.
_PRIME = 2**61 - 1
#: The bytes of a process number, a user number and a group number.
_CREDENTIALS_BYTES = 12
#: The longest time until a fork must have answered, in seconds.
_READY_SECONDS = 0.5
_NO = {"0", "false", "no", "off"}


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


def peer(connection: _socket.socket) -> tuple[int, int]:
    """Return the numbers of the process and the user at the other end of a connection, as the kernel knows them."""
    return _process_and_user(connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, _CREDENTIALS_BYTES))


def _process_and_user(credentials: bytes) -> tuple[int, int]:
    return int.from_bytes(credentials[:4], sys.byteorder), int.from_bytes(credentials[4:8], sys.byteorder)


def connected(folder: str) -> _socket.socket | None:
    """Return a connection to the daemon of this user, or None."""
    if not is_private(folder):
        return None
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(_READY_SECONDS)
        connection.setsockopt(_socket.SOL_SOCKET, _socket.SO_PASSCRED, 1)
        connection.connect(socket_path(folder))
        if peer(connection)[1] == os.getuid():
            return connection
    except OSError:
        pass
    connection.close()
    return None


def run(arguments: list[str], started: float, timeout: float | None = None) -> int | None:
    """Run a command in the daemon and return its exit code; None if it has done nothing.

    `started` is the time of the monotonic clock when this process started; `timeout` limits the time of the command.
    """
    connection = _wanted_connection(arguments[0])
    if connection is None:
        return None
    try:
        try:
            process = _ready_fork(connection)
            if process is None:
                return None
            _send_request(connection, arguments, started, os.getcwd(), STANDARD_FILES)
        except (OSError, ValueError, AttributeError):
            # Also without standard files, or in a folder that was removed.
            return None
        return _exit_code(connection, timeout, _forward_signals(process))
    finally:
        connection.close()


def start(arguments: list[str], folder: str) -> bool:
    """Let the daemon begin a command in a folder, without input and output; return whether it has begun."""
    connection = _wanted_connection(arguments[0])
    if connection is None:
        return False
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        if _ready_fork(connection) is None:
            return False
        _send_request(connection, arguments, 0.0, folder, (nothing, nothing, nothing))
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


def _ready_fork(connection: _socket.socket) -> int | None:
    """Return the process of the fork that has the connection; None if it has ended, or is not one of this user."""
    ready, messages, _, _ = connection.recvmsg(1, _socket.CMSG_SPACE(_CREDENTIALS_BYTES))
    for level, kind, credentials in messages:
        if ready and (level, kind) == (_socket.SOL_SOCKET, _socket.SCM_CREDENTIALS):
            process, user = _process_and_user(credentials)
            # The number is 0 for a process that has none in this namespace.
            return process if process and user == os.getuid() else None
    return None


def _send_request(
    connection: _socket.socket, arguments: list[str], started: float, folder: str, files: tuple[int, ...]
) -> None:
    """Send a command, the state of this process that it can see (see `process.Request`), and three files."""
    umask = os.umask(0o077)
    os.umask(umask)
    encodings = tuple(stream.encoding for stream in (sys.stdin, sys.stdout, sys.stderr))
    data = marshal.dumps((tuple(arguments), dict(os.environ), folder, umask, encodings, started))
    numbers = b"".join(file.to_bytes(4, sys.byteorder) for file in files)
    connection.sendmsg([len(data).to_bytes(LENGTH_BYTES)], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, numbers)])
    connection.sendall(data)


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
