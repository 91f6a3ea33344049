"""Run the server, in this process or in several that uvicorn starts and watches."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from http import HTTPStatus
from types import FrameType
from typing import Any

import h11
import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.supervisors import Multiprocess

import memotherm
from memotherm.errors import MemothermError, SettingsError, StoreBusy, StoreUnavailable
from memotherm.memory import Memotherm
from memotherm.model import Scope
from memotherm.rest.app import application
from memotherm.rest.middleware import HEADERS_TOO_LARGE, MAX_HEADER_BYTES, App, is_loopback
from memotherm.rest.observability import log_to_stderr
from memotherm.rest.problems import problem_response
from memotherm.settings import export
from memotherm.text.tokens import counter

_log = logging.getLogger("memotherm.rest")

_GRACE_SECONDS = 20
#: After this time without an answer, uvicorn replaces a process; its default of 5 can be a busy machine.
_SILENT_SECONDS = 30
#: The pause between two attempts of a process to open the store.
_RETRY_SECONDS = 1.0
#: The interpreter's switch interval. A write consists of twenty short statements, and after each the thread waits
#: for the interpreter while it holds the write lock: with Python's default of 5 ms, a tenth of a second in all.
_SWITCH_SECONDS = 0.0005
#: How many more objects than before let the interpreter look for cyclic garbage. A context makes thousands, which
#: Python's default of 700 would have it look through again and again.
_NEW_OBJECTS = 10_000
#: How long the headers of a request may take to arrive: a caller that never ends them must not hold a connection.
HEADER_SECONDS = 30.0
#: How many bytes are parsed at once: of more, all headers would be made before their size is known, and the other
#: requests would wait for thousands of small chunks.
_PARSED_BYTES = 4096


class HeaderLimit(H11Protocol):
    """uvicorn's protocol with limits for the headers of a request, for whose time uvicorn has no setting.

    The time begins with the connection, and after a response with the first byte of the next request. The protocol is
    always that of h11, which limits the size of headers and keeps trailers apart; that of httptools does neither.
    """

    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin the time."""
        super().connection_made(transport)
        self._unparsed = bytearray()
        self._begin_limit()

    def data_received(self, data: bytes) -> None:
        """Parse a part of the bytes, and the next one after what else the loop has to do: bytes may be many chunks."""
        waiting = bool(self._unparsed)
        self._unparsed += data
        if not waiting:
            self._parse()

    def _parse(self) -> None:
        """Parse the next bytes, and end the time with the headers."""
        if self.transport.is_closing():
            return
        super().data_received(bytes(self._unparsed[:_PARSED_BYTES]))
        del self._unparsed[:_PARSED_BYTES]
        if self._unparsed:
            self.transport.pause_reading()
            self.loop.call_soon(self._parse)
        elif not self.flow.read_paused:
            self.transport.resume_reading()
        if self.cycle is None or self.cycle.response_complete:
            self._begin_limit()
        else:
            self._end_limit()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, or has too large headers, with a problem; uvicorn's own response is text."""
        large = getattr(sys.exception(), "error_status_hint", 0) == HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        refusal = HEADERS_TOO_LARGE if large else (HTTPStatus.BAD_REQUEST, "bad_request", msg)
        response = problem_response(*refusal, {"connection": "close"})
        start = h11.Response(status_code=response.status_code, headers=response.raw_headers)
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            for event in (start, h11.Data(data=bytes(response.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the time."""
        self._end_limit()
        super().connection_lost(exc)

    def _begin_limit(self) -> None:
        if self._limit is None:
            self._limit = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _end_limit(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None


def require_safe(mem: Memotherm, host: str) -> bool:
    """Return whether the store has API keys; raise an error if others can reach the address and it has none."""
    keys = bool(mem.keys)
    if not keys and not is_loopback(host):
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
) -> None:
    """Serve until the process is terminated; requests in progress are completed first.

    With a one-time `token`, which a browser can log in with, every request needs a login or a key. `on_ready` is called
    with the port, which is a free one for 0, when the server accepts requests.
    """
    keys = require_safe(mem, host)
    log_to_stderr(log_level)

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if on_ready is not None:
                on_ready(self.servers[0].sockets[0].getsockname()[1])

    # uvicorn raises the signal again after its shutdown, before the store is closed.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    app = partial(_application, mem, host=host, require_keys=keys or token is not None, token=token)
    with _background(mem):
        Server(configuration(app, host, port)).run()


def serve_with_workers(count: int, mem: Memotherm, url: str | None, host: str, port: int, log_level: str) -> int:
    """Serve with several processes until this one is terminated; return the exit code.

    The memory is for maintenance; the processes that serve open the store at `url` themselves.
    """
    if os.name != "posix":
        raise SettingsError("several workers need Linux or macOS: run one, or several servers on a PostgreSQL store")
    keys = require_safe(mem, host)
    log_to_stderr(log_level)
    app = partial(_worker, url, mem.scope, log_level, host=host, require_keys=keys, workers=count)
    with tempfile.TemporaryDirectory(prefix="memotherm-") as metrics, _background(mem):
        export("PROMETHEUS_MULTIPROC_DIR", metrics)
        config = configuration(app, host, port, workers=count, timeout_worker_healthcheck=_SILENT_SECONDS)
        supervisor = _Supervisor(config, [config.bind_socket()])
        supervisor.run()
    return int(any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes))


class _Supervisor(Multiprocess):
    """uvicorn's supervisor, which would wait the whole time for the answer of a process that ends before it answers."""

    def keep_subprocess_alive(self) -> None:
        """Replace the processes that have ended."""
        for process in self.processes:
            process.child_conn.close()  # Only the process itself keeps its end open, so that its end is noticed.
        super().keep_subprocess_alive()


def _worker(url: str | None, scope: Scope, log_level: str, **options: Any) -> App:  # noqa: ANN401
    """Return the application of one of several processes, which opens the store and closes it at the end.

    The server could open the store when it started, so a process that cannot reach it tries again until it can.
    """
    log_to_stderr(log_level)
    stopping = _set_on_signals()
    while True:
        try:
            with ExitStack() as stack:
                mem = stack.enter_context(memotherm.open(url, scope=scope))
                app = _application(mem, stopping, closes=True, **options)
                stack.pop_all()
                return app
        except (StoreBusy, StoreUnavailable) as exc:
            _log.error("a process of the server waits for the store: %s", exc)
            if stopping.wait(_RETRY_SECONDS):
                sys.exit()
        except MemothermError as exc:
            _log.error("a process of the server cannot open the store: %s", exc)
            # uvicorn ends the server after this exit code; after another one, it starts the process again.
            sys.exit(STARTUP_FAILURE)


def _application(mem: Memotherm, stopping: threading.Event | None = None, **options: Any) -> App:  # noqa: ANN401
    """Return the application, and prepare this process for it; uvicorn calls this when it handles signals."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.set_threshold(_NEW_OBJECTS)
    stopping = stopping or _set_on_signals()
    # Loaded by the first request, it would block all others for a quarter of a second.
    counter(mem.settings.tokenizer).prepare()
    database = "://" in mem.status().store  # a store in a file is named by its path
    app = application(mem, stopping=stopping, database=database, **options)
    # What exists now stays: nothing of it needs to be looked through.
    gc.freeze()
    return app


def _set_on_signals() -> threading.Event:
    """Return an event that a signal to stop sets: uvicorn waits for responses, and does not tell streams to end."""
    stopping = threading.Event()

    def stop(handle: Any, received: int, frame: FrameType | None) -> None:  # noqa: ANN401 - a handler of signals
        stopping.set()
        handle(received, frame)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, partial(stop, signal.getsignal(number)))
    return stopping


def configuration(app: Callable[[], App], host: str, port: int, **options: Any) -> uvicorn.Config:  # noqa: ANN401
    """Return how uvicorn serves an application, with further options of uvicorn."""
    return uvicorn.Config(
        app,
        factory=True,
        host=host,
        port=port,
        http=HeaderLimit,
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
        log_config=None,
        access_log=False,
        server_header=False,
        # uvicorn would believe every local client; the application believes those of the setting `server_proxies`.
        proxy_headers=False,
        **{"timeout_graceful_shutdown": _GRACE_SECONDS, **options},
    )


@contextmanager
def _background(mem: Memotherm) -> Iterator[None]:
    """Run maintenance and watch the notes meanwhile."""
    root = mem.settings.notes_root if mem.settings.watch_notes else None
    with mem.store.maintenance(), mem.notes(root).watch() if root else nullcontext():
        yield
