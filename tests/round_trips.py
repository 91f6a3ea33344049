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
        #: While this is not set, the answers to a COMMIT that is sent alone are kept back.
        self.answering = threading.Event()
        self.answering.set()

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
                committing = threading.Event()
                for work, ends in ((self._requests, (client, server)), (self._answers, (server, client))):
                    threading.Thread(target=work, args=(*ends, committing), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket, committing: threading.Event) -> None:
        """Pass on the messages of a client; the first has no type.

        A Flush after a Sync waits for the same answer. A COMMIT that is sent alone is waited for if a Flush follows.
        """
        with client, server, suppress(OSError), client.makefile("rb") as stream:
            kind, waited, statements, text = b"", False, 0, b""
            while length := stream.read(4):
                body = stream.read(int.from_bytes(length) - 4)
                if kind and kind in _WAITING:
                    alone = kind == b"S" and statements == 1 and b"COMMIT\0" in text
                    self.count += not (waited or alone)
                    waited, statements, text = not alone, 0, b""
                    if alone:
                        committing.set()
                elif kind == b"P":
                    text = body
                elif kind == b"B":
                    waited, statements = False, statements + 1
                    committing.clear()
                server.sendall(kind + length + body)
                kind = stream.read(1)

    def _answers(self, server: socket.socket, client: socket.socket, committing: threading.Event) -> None:
        with suppress(OSError):
            while data := server.recv(65536):
                if committing.is_set():
                    self.answering.wait()
                client.sendall(data)
            client.shutdown(socket.SHUT_WR)
