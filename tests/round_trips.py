"""A proxy in front of a PostgreSQL server that counts how often a client waits for an answer."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit, urlunsplit

__all__ = ["RoundTrips"]

#: The messages after which a client reads: Query, Sync and Flush.
_WAITING = b"QSH"


class RoundTrips:
    """Counts the round trips of all connections through a proxy."""

    def __init__(self, url: str) -> None:
        self._server = urlsplit(url)
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        user = self._server.netloc.rpartition("@")[0]
        #: The URL of the database behind the proxy; nothing is encrypted, so that messages can be read.
        self.url = urlunsplit(
            self._server._replace(netloc=f"{user}@127.0.0.1:{port}", query="sslmode=disable&gssencmode=disable")
        )
        self.count = 0

    @classmethod
    @contextmanager
    def counted(cls, url: str) -> Iterator[RoundTrips]:
        """Run a proxy until the context is left."""
        proxy = cls(url)
        with proxy._listener:
            threading.Thread(target=proxy._accept, daemon=True).start()
            yield proxy

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection((str(self._server.hostname), int(self._server.port or 0)))
                for work, ends in ((self._requests, (client, server)), (_answers, (server, client))):
                    threading.Thread(target=work, args=ends, daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket) -> None:
        """Pass on the messages of a client; the first has no type. A Flush after a Sync waits for the same answer."""
        with client, server, suppress(OSError), client.makefile("rb") as stream:
            kind, before = b"", b""
            while length := stream.read(4):
                if kind in _WAITING and kind and before not in (b"S", b"H"):
                    self.count += 1
                body = stream.read(int.from_bytes(length) - 4)
                server.sendall(kind + length + body)
                before, kind = kind, stream.read(1)


def _answers(server: socket.socket, client: socket.socket) -> None:
    with suppress(OSError):
        while data := server.recv(65536):
            client.sendall(data)
        client.shutdown(socket.SHUT_WR)
