"""The daemon: accept connections of its user, and end when idle or when the package has changed.

Each connection goes to a fork that was made before: copying the page tables of a process that has a model takes 5 ms.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path

from memotherm.daemon.address import is_private, peer_uid, socket_path
from memotherm.daemon.forks import RunCommand, answer

__all__ = ["lock_path", "serve"]

#: How many connections may wait for a fork.
_BACKLOG = 64


def lock_path(folder: str) -> Path:
    """Return the file that the daemon of a folder has locked, with its process number in it."""
    return Path(socket_path(folder)).with_suffix(".lock")


def serve(folder: str, run: RunCommand, idle_seconds: float) -> bool:
    """Answer requests until there were none for some time; return False if a daemon is running already.

    Args:
        folder: The folder of the socket; only its user may open it.
        run: Runs the command of a client in a fork.
        idle_seconds: The time without a request after which the daemon ends.
    """
    # Before anyone can connect: what changes from now on makes this daemon outdated.
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
