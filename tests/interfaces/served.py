"""A real server in a process of its own, for tests that need one."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn

from memotherm import Memotherm
from memotherm.rest.app import application
from memotherm.rest.serve import configuration
from tests.helpers import ROOT, SOURCE


@dataclass
class Server:
    """A running server."""

    url: str
    key: str | None = None

    def ask(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Send a request and return the status and the JSON of the answer."""
        data = None if body is None else json.dumps(body).encode()
        found = {"content-type": "application/json", **(headers or {})}
        if self.key is not None:
            found.setdefault("authorization", f"Bearer {self.key}")
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=found)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"null")


@dataclass(kw_only=True)
class Served(Server):
    """A server that a test has started."""

    process: subprocess.Popen[bytes]
    log: list[str] = field(default_factory=list)

    def end(self) -> int:
        """Ask it to end, and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


def environment(home: Path, **more: str) -> dict[str, str]:
    """Return the variables for a process that must not touch what is the user's."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("MEMOTHERM_")}
    return {
        **kept,
        "PYTHONPATH": f"{SOURCE}:{ROOT}",
        "MEMOTHERM_EMBEDDER": "none",
        "MEMOTHERM_DAEMON": "off",
        "MEMOTHERM_HOME": str(home),
        **more,
    }


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


#: The product as a command: the package that this interpreter imports.
COMMAND = (sys.executable, "-m", "memotherm")


@contextmanager
def served(
    path: Path,
    *,
    command: Sequence[str] = COMMAND,
    store: str | None = None,
    key: str | None = None,
    options: Sequence[str] = (),
    home: Path | None = None,
    **settings: str,
) -> Iterator[Served]:
    """Start `memotherm serve` on a store, a file unless a URL is given, and wait until it answers."""
    port = free_port()
    process = subprocess.Popen(
        [*command, "serve", "--store", store or str(path), "--port", str(port), *options],
        stderr=subprocess.PIPE,
        env=environment(home or path.parent / "home", **settings),
        cwd=path.parent,
    )
    running = Served(url=f"http://127.0.0.1:{port}", key=key, process=process)
    reader = threading.Thread(target=_read, args=(process, running.log), daemon=True)
    reader.start()
    try:
        _wait(running)
        yield running
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(60)
        reader.join(10)
        assert process.stderr is not None
        process.stderr.close()


@contextmanager
def serving(mem: Memotherm, port: int | None = None, **options: Any) -> Iterator[str]:
    """Serve a memory from a thread of this process, and return the address; `options` are those of the application."""
    port = port or free_port()
    app = application(mem, **options)
    config = configuration(lambda: app, "127.0.0.1", port, lifespan="on", timeout_graceful_shutdown=5)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(60)


def _read(process: subprocess.Popen[bytes], log: list[str]) -> None:
    assert process.stderr is not None
    log.extend(line.decode() for line in process.stderr)


def _wait(running: Served) -> None:
    """Wait until a server answers: minutes, where other programs have the processors; one that ended never will."""
    for _ in range(2_400):
        assert running.process.poll() is None, "".join(running.log)
        try:
            if running.ask("GET", "/health")[0] == 200:
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server does not answer: " + "".join(running.log))
