"""Events as they are recorded, as server-sent events."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator

import anyio
import anyio.to_thread

from memotherm import Event, Memotherm
from memotherm.operations.codec import to_json

__all__ = ["event_stream"]

_PAGE = 100
#: How often the ledger is read, and how often a comment shows that the connection is alive, in seconds.
_POLL = 0.5
_HEARTBEAT = 15.0
#: A stream ends after this time, and the client connects again: by then its key may have been revoked.
_LONGEST = 600.0


async def event_stream(
    view: Memotherm, after: int | None, stopping: threading.Event, *, inside: bool = False
) -> AsyncIterator[bytes]:
    """Yield the events after a number (None: from now on), and comments in between, until the server stops."""
    position = (await anyio.to_thread.run_sync(view.status)).seq if after is None else after
    yield b"retry: 1000\n: connected\n\n"
    now = alive = anyio.current_time()
    end = now + _LONGEST
    while now < end and not stopping.is_set():
        for event in await anyio.to_thread.run_sync(view.events, _PAGE, f"after-{position}", False, inside):
            position, alive = event.seq, now
            yield f"id: {event.seq}\nevent: {event.action}\ndata: {_data(event)}\n\n".encode()
        if now - alive >= _HEARTBEAT:
            alive = now
            yield b": alive\n\n"
        await anyio.sleep(_POLL)
        now = anyio.current_time()


def _data(event: Event) -> str:
    return json.dumps(to_json(event))
