"""The server as a process: who may listen where, and how it begins and ends."""

from __future__ import annotations

import signal
import sys

from memotherm.errors import PluginUnavailable, SettingsError
from memotherm.memory import Memotherm
from memotherm.rest.keys import Keys

__all__ = ["require_safe", "serve"]

_GRACE_SECONDS = 20
#: How long a thread may compute before others get their turn, in seconds. A write is twenty short statements, and
#: after each it waits for its turn, holding the store's only writer: Python's own 5 ms make that a tenth of a second.
_TURN_SECONDS = 0.0005
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def require_safe(mem: Memotherm, host: str) -> bool:
    """Refuse to listen where others can reach us unless there are keys; tell whether there are."""
    keys = bool(Keys(mem))
    if not keys and host not in _LOOPBACK and not host.startswith("127."):
        raise SettingsError(
            f"{host} can be reached by others and there are no API keys: "
            "make one with `memotherm keys create NAME --tenant TENANT`, or listen on 127.0.0.1"
        )
    return keys


def serve(mem: Memotherm, host: str, port: int, log_level: str) -> None:
    """Serve until the process is asked to end; requests that have begun are answered first."""
    keys = require_safe(mem, host)
    try:
        import uvicorn

        from memotherm.rest.app import application
        from memotherm.rest.observability import log_to_stderr
    except ImportError as exc:
        raise PluginUnavailable(f"the server needs a package ({exc.name}): pip install 'memotherm[server]'") from exc
    log_to_stderr(log_level)
    config = uvicorn.Config(
        application(mem, host=host, require_keys=keys, maintenance=True),
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    # uvicorn raises the signal again when it has shut down; the store is still to be closed then.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.setswitchinterval(_TURN_SECONDS)
    uvicorn.Server(config).run()
