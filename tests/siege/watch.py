"""A real server whose memory and event loop are watched while it is sent requests."""

from __future__ import annotations

import http.client
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from tests.interfaces.served import Served, served
from tests.siege.limits import MOST_MEMORY, SECONDS
from tests.siege.measured import DELAYS

_MB = 2**20


def kilobytes(pid: int, name: str) -> int:
    """Return a number of `/proc/PID/status`, such as VmRSS or VmHWM."""
    lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def descriptors(pid: int) -> int:
    """Return how many files a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


class Watched:
    """A server, the most memory that one request needed, and the longest delay of the event loop beside it."""

    def __init__(self, server: Served, delays: TextIO, told: Callable[[str, object], None]) -> None:
        self.server, self.told = server, told
        self.address = server.url.removeprefix("http://")
        self.requests = 0
        self.faults: list[str] = []
        self._delays = delays
        self._memory, self._memory_of = 0, ""
        self._delay, self._delay_of = 0.0, ""
        self._slow = 0
        self._longest_delay()
        time.sleep(min(SECONDS, 3))
        self._idle = self._longest_delay()

    def _longest_delay(self) -> float:
        """Return the longest delay of the loop in milliseconds since the last call."""
        return max(map(float, self._delays.read().split()), default=0.0)

    @contextmanager
    def request(self, name: str) -> Iterator[None]:
        """Watch what the server does meanwhile."""
        pid = self.server.process.pid
        Path(f"/proc/{pid}/clear_refs").write_text("5", "utf-8")  # the peak begins anew
        before = kilobytes(pid, "VmRSS")
        yield
        grown, delay = 1024 * (kilobytes(pid, "VmHWM") - before), self._longest_delay()
        self.requests += 1
        self._slow += delay > 100
        if grown > self._memory:
            self._memory, self._memory_of = grown, name
        if delay > self._delay:
            self._delay, self._delay_of = delay, name
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
            f"{self._memory / _MB:.0f} MB (`{self._memory_of}`); the loop was {self._delay:.0f} ms late"
            f" (`{self._delay_of}`), {self._slow} times more than 100 ms; {self._idle:.0f} ms beside `/status` alone",
        )
        assert self.faults == [], self.faults
        assert self.server.ask("GET", "/health")[0] == 200


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(65_536)
    except OSError:
        return b""


def _ask(address: str, enough: threading.Event) -> None:
    """Be another client, which asks for `/status` again and again."""
    connection = http.client.HTTPConnection(address, timeout=120)
    while not enough.wait(0.004):
        try:
            connection.request("GET", "/status")
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            connection.close()


@contextmanager
def watched(path: Path) -> Iterator[tuple[Served, TextIO]]:
    """Start a server on a store that writes the delays of its event loop to a file, and another client beside."""
    file, enough = path.with_name("delays"), threading.Event()
    command = (sys.executable, "-m", "tests.siege.measured")
    with (
        served(path, command=command, MEMOTHERM_SERVER_RATE_PER_MINUTE="0", **{DELAYS: str(file)}) as server,
        file.open(encoding="utf-8") as delays,
    ):
        other = threading.Thread(target=_ask, args=(server.url.removeprefix("http://"), enough))
        other.start()
        try:
            yield server, delays
        finally:
            enough.set()
            other.join()
