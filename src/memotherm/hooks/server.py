"""Find the running server of this machine, and send it a request.

`memotherm serve` writes its address to a file in the data folder. A hook that finds the file sends its
request over the loopback interface instead of opening the store itself.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memotherm.settings.private_files import create_folder, write_text
from memotherm.spool.destination import store_name

__all__ = ["advertised", "post", "running_server"]

_FILE_NAME = "server.json"
_MAX_RESPONSE_BYTES = 1_000_000
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_OK = 200


@contextlib.contextmanager
def advertised(home: Path, host: str, port: int, store: str) -> Iterator[None]:
    """Write the address of the server of a store to the data folder, and remove it at the end."""
    if host not in _LOOPBACK or not port:
        yield
        return
    create_folder(home)
    path, partial = home / _FILE_NAME, home / f"{_FILE_NAME}.{os.getpid()}.part"
    write_text(partial, json.dumps({"host": host, "port": port, "store": store_name(store), "pid": os.getpid()}))
    partial.replace(path)
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            if json.loads(path.read_text("utf-8"))["pid"] == os.getpid():
                path.unlink()


def running_server(home: Path, store: str) -> tuple[str, int] | None:
    """Return (host, port) of the server of a store on this machine, or None."""
    try:
        advertisement = json.loads((home / _FILE_NAME).read_text("utf-8"))
        host, port, its_store = str(advertisement["host"]), int(advertisement["port"]), str(advertisement["store"])
        if os.name == "posix":
            # A server that was killed has not removed its file.
            os.kill(int(advertisement["pid"]), 0)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return (host, port) if host in _LOOPBACK and its_store == store_name(store) else None


def post(
    address: tuple[str, int], path: str, body: dict[str, Any], timeout: float, scope: str = ""
) -> dict[str, Any] | None:
    """Post a request to the server, with the scope as a header; return None unless the answer is 200 and JSON.

    Raise TimeoutError if there is no answer in time: the server may still carry out the request.
    """
    import http.client

    headers = {"Content-Type": "application/json"} | ({"Memotherm-Scope": scope} if scope else {})
    connection = http.client.HTTPConnection(*address, timeout=timeout)
    try:
        connection.request("POST", path, json.dumps(body).encode(), headers)
        response = connection.getresponse()
        answer = json.loads(response.read(_MAX_RESPONSE_BYTES))
        return answer if response.status == _OK and isinstance(answer, dict) else None
    except TimeoutError:
        raise
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        connection.close()
