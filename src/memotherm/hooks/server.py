"""The running server of this machine: where it says that it is, and how a hook asks it.

`memotherm serve` announces itself in a small file in the data home; a hook that finds it there
asks over loopback instead of opening the memory itself.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["announced", "ask", "running", "store_name"]

_NAME = "server.json"
_MOST_BYTES = 1_000_000
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_OK = 200


@contextlib.contextmanager
def announced(home: Path, host: str, port: int, store: str) -> Iterator[None]:
    """Say, as long as this lasts, that a server for a store listens on this port of this machine."""
    if host not in _LOOPBACK or not port:
        yield
        return
    home.mkdir(parents=True, exist_ok=True)
    path, partial = home / _NAME, home / f"{_NAME}.{os.getpid()}.part"
    told = {"host": host, "port": port, "store": store_name(store), "pid": os.getpid()}
    partial.write_text(json.dumps(told), "utf-8")
    partial.chmod(0o600)
    partial.replace(path)
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            if json.loads(path.read_text("utf-8"))["pid"] == os.getpid():
                path.unlink()


def store_name(store: str) -> str:
    """Return one name for a store, however it was written."""
    path = store.removeprefix("sqlite:///")
    return store if "://" in path else os.path.realpath(Path(path).expanduser())


def running(home: Path, store: str) -> tuple[str, int] | None:
    """Return (host, port) of the announced server of a store; None when there is none on this machine."""
    try:
        found = json.loads((home / _NAME).read_text("utf-8"))
        host, port, its = str(found["host"]), int(found["port"]), str(found["store"])
        if os.name == "posix":
            # A server that was killed could not take its announcement back.
            os.kill(int(found["pid"]), 0)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return (host, port) if host in _LOOPBACK and its == store_name(store) else None


def ask(
    place: tuple[str, int], path: str, body: dict[str, Any], timeout: float, scope: str = ""
) -> dict[str, Any] | None:
    """Post a question to the server, from a scope; None when it does not answer as it should."""
    import http.client

    headers = {"Content-Type": "application/json"} | ({"Memotherm-Scope": scope} if scope else {})
    connection = http.client.HTTPConnection(*place, timeout=timeout)
    try:
        connection.request("POST", path, json.dumps(body).encode(), headers)
        response = connection.getresponse()
        told = json.loads(response.read(_MOST_BYTES))
        return told if response.status == _OK and isinstance(told, dict) else None
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        connection.close()
