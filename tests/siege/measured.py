"""`memotherm` as a program that measures its event loop: how late it was, beside the wait for a processor.

A timer of the loop runs every millisecond. How much later it runs is what the loop was busy or waited for: other
requests, the interpreter's lock, files. How long its thread was ready to run while other programs had the processor,
which the kernel counts, is not part of it.
"""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import uvicorn

from memotherm.__main__ import main

#: The variable that names the file for the delays.
DELAYS = "SIEGE_DELAYS"
_PAUSE = 0.001
#: Shorter delays are not written.
_SHORTEST_MS = 5.0


def _waited(file: int) -> float:
    """Return how long this thread has waited for a processor so far, in seconds."""
    return int(os.pread(file, 100, 0).split()[1]) / 1e9


async def _measure() -> None:
    """Write each delay in milliseconds to the file, one in a line."""
    schedule = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
    with Path(os.environ[DELAYS]).open("a", buffering=1, encoding="utf-8") as delays:
        while True:
            began, waited = time.perf_counter(), _waited(schedule)
            await asyncio.sleep(_PAUSE)
            late = 1000 * (time.perf_counter() - began - _PAUSE - (_waited(schedule) - waited))
            if late > _SHORTEST_MS:
                delays.write(f"{late:.1f}\n")


class _Server(uvicorn.Server):
    async def startup(self, *arguments: Any) -> None:
        await super().startup(*arguments)
        self.measuring = asyncio.create_task(_measure())


if __name__ == "__main__":
    uvicorn.Server = _Server  # type: ignore[misc]
    main()
