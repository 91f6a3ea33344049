"""What a client and a fork of the daemon send each other.

    fork -> client   its process number: it is there, and has done nothing yet
    client -> fork   the request, with the three standard files: begin
    fork -> client   one byte: the exit code

A client that stops waiting for the fork closes the connection and runs the command itself: the fork then ends.
The files are sent last, because whoever reads the client's output waits until all copies of them are closed.
A request is written by `marshal`, because both ends are the same version of Python and nothing else must be imported.
"""

from __future__ import annotations

import _socket
import marshal
import sys

__all__ = ["NUMBER_BYTES", "STANDARD_FILES", "Request", "send_request"]

#: The size of the process number of a fork, and of the length of a request; the most significant byte is first.
NUMBER_BYTES = 4
#: Standard input, output and error.
STANDARD_FILES = (0, 1, 2)


class Request:
    """A command of a client, and what its process has that the command can see.

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
    """Send a request and its standard files, which are those of this process unless others are given."""
    data = marshal.dumps(vars(request))
    numbers = b"".join(file.to_bytes(4, sys.byteorder) for file in files)
    connection.sendmsg([len(data).to_bytes(NUMBER_BYTES)], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, numbers)])
    connection.sendall(data)
