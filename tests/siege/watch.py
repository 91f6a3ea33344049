"""A real server whose memory and waiting times are watched while it is sent requests."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.helpers import Peer, peers
from tests.interfaces.served import Served, served
from tests.siege.limits import MOST_MEMORY, SECONDS

_MB = 2**20


def kilobytes(pid: int, name: str) -> int:
    """Return a number of `/proc/PID/status`, such as VmRSS or VmHWM."""
    lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def descriptors(pid: int) -> int:
    """Return how many files a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


class Watched:
    """A server, the most memory that one request needed, and the longest that a small request beside it waited."""

    def __init__(self, server: Served, prober: Peer, told: Callable[[str, object], None]) -> None:
        self.server, self.told = server, told
        self.address = server.url.removeprefix("http://")
        self.requests = 0
        self.faults: list[str] = []
        self._prober = prober
        self._memory, self._memory_of = 0, ""
        self._wait, self._wait_of = 0.0, ""
        self._slow = 0
        time.sleep(min(SECONDS, 3))
        self._idle = float(prober.ask("longest"))

    @contextmanager
    def request(self, name: str) -> Iterator[None]:
        """Watch what the server does meanwhile."""
        pid = self.server.process.pid
        Path(f"/proc/{pid}/clear_refs").write_text("5", "utf-8")  # the peak begins anew
        before = kilobytes(pid, "VmRSS")
        self._prober.ask("longest")
        yield
        grown, waited = 1024 * (kilobytes(pid, "VmHWM") - before), float(self._prober.ask("longest"))
        self.requests += 1
        self._slow += waited > 100
        if grown > self._memory:
            self._memory, self._memory_of = grown, name
        if waited > self._wait:
            self._wait, self._wait_of = waited, name
        if grown > MOST_MEMORY:
            self.faults.append(f"{name} needed {grown / _MB:.0f} MB")

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        name: str | None = None,
    ) -> tuple[int, Any]:
        """Send a request, and return the status and the JSON of the answer; an answer that is none is a fault."""
        name = name or f"{method} {path.partition('?')[0]}"[:60]
        with self.request(name):
            connection = http.client.HTTPConnection(self.address, timeout=120)
            try:
                connection.request(method, path, body, {"content-type": "application/json", **(headers or {})})
                answer = connection.getresponse()
                text, kind = answer.read(), answer.headers.get_content_type()
                status, told = answer.status, json.loads(text or b"null") if kind.endswith("json") else None
            except (OSError, ValueError, http.client.HTTPException) as exc:
                status, told = 0, repr(exc)
            finally:
                connection.close()
        if not 200 <= status < 500:
            self.faults.append(f"{name} {(body or b'')[:300]!r}: {status} {str(told)[:300]}")
        return status, told

    def raw(self, name: str, pieces: Iterator[bytes]) -> tuple[int, int]:
        """Send bytes until the server closes the connection; return how many it took, and the status it answered."""
        taken, answer = 0, b""
        with self.request(name), socket.create_connection(tuple(self.address.split(":")), timeout=120) as connection:
            try:
                for piece in pieces:
                    connection.sendall(piece)
                    taken += len(piece)
                answer = connection.recv(65_536)
            except OSError:  # it closed the connection before it had everything
                answer = answer or _received(connection)
        return taken, int(answer.split()[1]) if answer.startswith(b"HTTP/1.1 ") else 0

    def report(self) -> None:
        """Record how many requests there were and the worst numbers; nothing must have been wrong."""
        self.told("tries", self.requests)
        self.told(
            "worst",
            f"{self._memory / _MB:.0f} MB (`{self._memory_of}`); `/health` beside it waited {self._wait:.0f} ms"
            f" (`{self._wait_of}`), {self._slow} times more than 100 ms; {self._idle:.0f} ms when nothing was sent",
        )
        assert self.faults == []
        assert self.server.ask("GET", "/health")[0] == 200


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(65_536)
    except OSError:
        return b""


@contextmanager
def watched(path: Path) -> Iterator[tuple[Served, Peer]]:
    """Start a server on a store, and a process beside it that measures how long others wait."""
    with (
        served(path, MEMOTHERM_SERVER_RATE_PER_MINUTE="0") as server,
        peers(1, "siege/prober.py", server.url.removeprefix("http://")) as (prober,),
    ):
        yield server, prober
