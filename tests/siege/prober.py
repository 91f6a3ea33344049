"""A process that asks a server for `/health` again and again, and says how long it waited since it was asked last."""

from __future__ import annotations

import http.client
import sys
import threading
import time
from contextlib import suppress

_PAUSE = 0.004


class Prober:
    """Sends one request after the other, and keeps the longest wait."""

    def __init__(self, address: str) -> None:
        self._connection = http.client.HTTPConnection(address, timeout=120)
        self._longest = 0.0
        self._since: float | None = None
        self._lock = threading.Lock()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            with self._lock:
                self._since = time.perf_counter()
            with suppress(OSError, http.client.HTTPException):
                self._connection.request("GET", "/health")
                self._connection.getresponse().read()
            with self._lock:
                self._longest = max(self._longest, time.perf_counter() - self._since)
                self._since = None
            time.sleep(_PAUSE)

    def longest_ms(self) -> float:
        """Return the longest wait in milliseconds since the last call; a request that still waits counts."""
        with self._lock:
            waiting = 0.0 if self._since is None else time.perf_counter() - self._since
            longest, self._longest = max(self._longest, waiting), 0.0
        return 1000 * longest


if __name__ == "__main__":
    prober = Prober(sys.argv[1])
    for _ in sys.stdin:
        print(f"{prober.longest_ms():.1f}", flush=True)  # noqa: T201 - the answer channel
