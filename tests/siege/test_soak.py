"""A server under steady load: memory and open files before and after it, and nothing acknowledged is lost."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from bench.load import Client, _lost, _run

from tests.interfaces.served import served
from tests.siege.limits import LONG, MOST_MEMORY, SECONDS
from tests.siege.watch import descriptors, kilobytes

pytestmark = [
    LONG,
    pytest.mark.sqlite,
    pytest.mark.skipif(sys.platform != "linux", reason="it looks for processes in /proc"),
]
_CLIENTS = 4
#: How many times as long as other tests it goes on.
_LONGER = 4


def test_a_soak(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """Clients write, recall, ask for contexts and read; others hang up in the middle of a request."""
    path, enough = tmp_path / "memory.db", threading.Event()
    with served(path, MEMOTHERM_SERVER_RATE_PER_MINUTE="0") as server:
        pid, address = server.process.pid, server.url.removeprefix("http://")
        warming, crowd = ([Client(first + n, address) for n in range(_CLIENTS)] for first in (0, _CLIENTS))
        _run(warming, SECONDS)
        time.sleep(1)
        memory, files = kilobytes(pid, "VmRSS"), descriptors(pid)
        rude = threading.Thread(target=_hang_up, args=(int(address.partition(":")[2]), enough))
        rude.start()
        _run(crowd, _LONGER * SECONDS)
        enough.set()
        rude.join()
        time.sleep(1)
        grown, more = kilobytes(pid, "VmRSS") - memory, descriptors(pid) - files
        assert server.end() == 0
    written = {key: text for client in (*warming, *crowd) for key, text in client.seen.written.items()}
    times = [each for client in crowd for kind in client.seen.times.values() for each in kind]
    record_property("tries", len(times))
    record_property(
        "worst", f"{memory / 1024:.0f} MB, {grown / 1024:+.0f} MB after {_LONGER * SECONDS:.0f} s and "
                 f"{len(written):,} writes; {files} open files, {more:+d}; slowest {max(times):.0f} ms")  # fmt: skip
    assert [error for client in crowd for error in client.seen.errors] == []
    assert _lost(path, written) == []
    assert more <= 4
    assert 1024 * grown <= MOST_MEMORY


def _hang_up(port: int, enough: threading.Event) -> None:
    """Open connections and leave them in the middle of a request."""
    head = b"POST /recall HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 40\r\n\r\n"
    while not enough.wait(0.1):
        for part in (b"", head[:30], head, head + b'{"query": '):
            with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
                connection.sendall(part)
