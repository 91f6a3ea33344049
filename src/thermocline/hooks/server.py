"""The running server of this machine: where it says that it is, and how a hook asks it.

`thermocline serve` announces itself in a small file in the data home; a hook that finds it there
asks over loopback instead of opening the memory itself.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

__all__ = ["announce", "ask", "running", "withdraw"]

_NAME = "server.json"
_MOST_BYTES = 1_000_000


def announce(home: Path, host: str, port: int, store: str) -> Path:
    """Say that a server for a store listens on this port of this machine."""
    home.mkdir(parents=True, exist_ok=True)
    path = home / _NAME
    partial = home / f"{_NAME}.{os.getpid()}.part"
    partial.write_text(json.dumps({"host": host, "port": port, "store": store, "pid": os.getpid()}), "utf-8")
    partial.chmod(0o600)
    return partial.replace(path)


def withdraw(home: Path) -> None:
    """Take the announcement back, if it is this process's own."""
    with contextlib.suppress(OSError, ValueError):
        if json.loads((home / _NAME).read_text("utf-8"))["pid"] == os.getpid():
            (home / _NAME).unlink()


def running(home: Path, store: str) -> tuple[str, int] | None:
    """Return (host, port) of the announced server of a store; None when there is none on this machine."""
    try:
        found = json.loads((home / _NAME).read_text("utf-8"))
        host, port, its = str(found["host"]), int(found["port"]), str(found["store"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return (host, port) if host in ("127.0.0.1", "::1", "localhost") and its == store else None


def ask(place: tuple[str, int], path: str, body: dict[str, Any], timeout: float) -> dict[str, Any] | None:
    """Post a question to the server; None when it does not answer as it should."""
    import http.client

    connection = http.client.HTTPConnection(*place, timeout=timeout)
    try:
        connection.request("POST", path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        response = connection.getresponse()
        told = json.loads(response.read(_MOST_BYTES))
        return told if response.status == 200 and isinstance(told, dict) else None
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        connection.close()
