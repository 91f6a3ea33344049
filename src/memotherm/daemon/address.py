"""Where the daemon of a user listens, and what a client and its daemon must have in common."""

from __future__ import annotations

# What `socket` is made of; the rest of that module takes a tenth of the time of a hook to import.
import _socket
import os
import stat
import sys
from collections.abc import Mapping

from memotherm import __file__ as package_file
from memotherm import __version__

__all__ = ["folder_of", "is_private", "is_supported", "peer_uid", "socket_path"]

#: A large prime number: a remainder tells installations apart as well as a checksum, which would be an import.
_PRIME = 2**61 - 1
#: The bytes of a process number, a user number and a group number.
_CREDENTIALS_BYTES = 12


def is_supported() -> bool:
    """Return whether this platform has what the daemon needs: fork, and sockets that tell who is at the other end."""
    return sys.platform == "linux"


def _identity() -> str:
    """Return what a daemon and its clients have in common: interpreter, installed packages, file system and network."""
    root = os.stat("/")
    spaces = [os.readlink(f"/proc/self/ns/{name}") for name in ("mnt", "net")]
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
    """Return the path of the socket; installations that differ have sockets of their own."""
    return f"{folder}/{int.from_bytes(_identity().encode()) % _PRIME:x}.sock"


def is_private(folder: str) -> bool:
    """Return whether a folder is the user's own, and nobody else can open it."""
    try:
        state = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.getuid() and not stat.S_IMODE(state.st_mode) & 0o077


def peer_uid(connection: _socket.socket) -> int:
    """Return the number of the user at the other end of a connection."""
    credentials = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, _CREDENTIALS_BYTES)
    return int.from_bytes(credentials[4:8], sys.byteorder)
