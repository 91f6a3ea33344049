"""Run the server as a process."""

from __future__ import annotations

import gc
import signal
import socket
import sys
import threading
from collections.abc import Callable
from types import FrameType

from memotherm.errors import PluginUnavailable, SettingsError
from memotherm.memory import Memotherm
from memotherm.rest.keys import Keys
from memotherm.rest.workers import Worker

__all__ = ["require_safe", "serve"]

_GRACE_SECONDS = 20
#: The interpreter's switch interval. A write consists of twenty short statements, and after each the thread waits
#: for the interpreter while it holds the write lock: with Python's default of 5 ms, a tenth of a second in all.
_SWITCH_SECONDS = 0.0005
#: How many more objects than before let the interpreter look for cyclic garbage. A context makes thousands, which
#: Python's default of 700 would have it look through again and again.
_NEW_OBJECTS = 10_000
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def require_safe(mem: Memotherm, host: str) -> bool:
    """Return whether the store has API keys; raise an error if others can reach the address and it has none."""
    keys = bool(Keys(mem))
    if not keys and host not in _LOOPBACK and not host.startswith("127."):
        raise SettingsError(
            f"{host} can be reached from other machines and there are no API keys: "
            "create one with `memotherm keys create NAME --tenant TENANT`, or listen on 127.0.0.1"
        )
    return keys


def serve(
    mem: Memotherm,
    host: str,
    port: int,
    log_level: str,
    *,
    token: str | None = None,
    on_ready: Callable[[int], None] | None = None,
    worker: Worker | None = None,
) -> None:
    """Serve until the process is terminated; requests in progress are completed first.

    Args:
        mem: The memory; the caller closes it.
        host: The address to listen on.
        port: The port to listen on; 0: a free one.
        log_level: The level of the log.
        token: A one-time token that a browser can log in with; every request then needs a login or a key.
        on_ready: Called with the port when the server accepts requests.
        worker: What this process has as one of several of a server.
    """
    keys = require_safe(mem, host)
    try:
        import uvicorn

        from memotherm.rest.app import application
        from memotherm.rest.observability import log_to_stderr
        from memotherm.rest.protocol import HeaderLimit
    except ImportError as exc:
        raise PluginUnavailable(f"the server needs a package ({exc.name}): pip install 'memotherm[server]'") from exc
    log_to_stderr(log_level)
    stopping = threading.Event()

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            stopping.set()
            super().handle_exit(sig, frame)

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started and on_ready is not None:
                on_ready(self.servers[0].sockets[0].getsockname()[1])

    config = uvicorn.Config(
        application(
            mem,
            host=host,
            require_keys=keys or token is not None,
            maintenance=worker is None or worker.first,
            stopping=stopping,
            token=token,
            shared=None if worker is None else worker.shared,
            database="://" in mem.status().store,  # a store in a file is named by its path
        ),
        host=host,
        port=port,
        http=HeaderLimit,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    # uvicorn raises the signal again after its shutdown, before the store is closed.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.set_threshold(_NEW_OBJECTS)
    # What exists now stays: nothing of it needs to be looked through.
    gc.freeze()
    Server(config).run(None if worker is None else [worker.listener])
