"""Start and stop the daemon."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from shlex import quote

from memotherm.daemon.client import connected, folder_of, is_private, is_supported, peer, socket_path

#: Environment variables of the daemon: locations only, no keys and no settings.
_KEPT = ("HOME", "PATH", "PYTHONPATH", "LANG", "LC_ALL", "MEMOTHERM_HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
         "XDG_RUNTIME_DIR")  # fmt: skip
#: The most bytes of the path of a socket, which ends with a zero byte on Linux.
_LONGEST_SOCKET = 107


def folder() -> str:
    """Return the folder of the daemon's socket; create it if it does not exist."""
    path = Path(folder_of(os.environ))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)
    return str(path)


def obstacle() -> tuple[str, str] | None:
    """Return why no daemon can run in its folder, and what to do about it; None if one can."""
    path = folder_of(os.environ)
    if len(os.fsencode(socket_path(path))) > _LONGEST_SOCKET:
        return f"{path} is too long a path for a socket", "set MEMOTHERM_HOME to a shorter one"
    if Path(path).exists() and not is_private(path):
        return f"others can open {path}", f"run `chmod 700 {quote(path)}`"
    return None


def running() -> int | None:
    """Return the process number of the running daemon, or None."""
    connection = connected(folder_of(os.environ)) if is_supported() else None
    if connection is None:
        return None
    process, _ = peer(connection)
    connection.close()
    return process


def start() -> None:
    """Start the daemon in the background, unless the platform or the folder does not allow one.

    If one is running, the new one ends at once.
    """
    if not is_supported() or obstacle() or not is_private(folder()):
        return
    subprocess.Popen(
        [sys.executable, "-P", "-m", "memotherm", "agent", "daemon", "run"],
        cwd="/",
        env={name: value for name in _KEPT if (value := os.environ.get(name)) is not None},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def stop() -> int | None:
    """End the running daemon and return its process number; None if there is none. Its forks finish their commands."""
    process = running()
    if process is not None:
        os.kill(process, signal.SIGTERM)  # the next daemon removes the socket; nobody can connect to it
    return process
