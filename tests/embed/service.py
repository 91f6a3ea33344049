"""A small HTTP server that speaks the shapes of embedding services, on a real port."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

SIZE = 8


@dataclass(frozen=True)
class Reply:
    """What the server says to one request."""

    body: object = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None


@dataclass(frozen=True)
class Request:
    """What the server was asked."""

    path: str
    headers: dict[str, str]
    body: Any


Answering = Callable[[Request], Reply]


class Service:
    """Answers with the scripted replies first, then with `usual`."""

    def __init__(self, url: str, usual: Answering) -> None:
        self.url = url
        self.usual = usual
        self.script: list[Reply | Answering] = []
        self.requests: list[Request] = []
        self.released = threading.Event()

    def answer(self, request: Request) -> Reply:
        """Take note of a request and choose the reply."""
        self.requests.append(request)
        chosen = self.script.pop(0) if self.script else self.usual
        return chosen if isinstance(chosen, Reply) else chosen(request)

    def hang(self, request: Request) -> Reply:
        """Stay silent until the test is over."""
        self.released.wait(60)
        return Reply(status=503)


def vector_of(text: str, size: int = SIZE) -> list[float]:
    """Return an arbitrary vector, not of unit length, that depends only on the text."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
    return [float(x) for x in np.random.default_rng(seed).normal(size=size) * 3]


def unit_of(text: str, size: int = SIZE) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the same vector with length 1."""
    vector = np.array(vector_of(text, size))
    return np.asarray(vector / np.linalg.norm(vector))


def openai(request: Request) -> Reply:
    """Answer as OpenAI does."""
    size = request.body.get("dimensions", SIZE)
    texts = request.body["input"]
    data = [{"index": i, "embedding": vector_of(text, size)} for i, text in enumerate(texts)]
    return Reply({"data": data, "model": request.body["model"], "usage": {}})


def openai_shuffled(request: Request) -> Reply:
    """Answer with the vectors in another order than the texts."""
    reply = openai(request)
    reply.body["data"].reverse()  # type: ignore[index]
    return reply


def openai_base64(request: Request) -> Reply:
    """Answer with vectors in base64."""
    data = [
        {"index": i, "embedding": base64.b64encode(np.array(vector_of(text), "<f4").tobytes()).decode()}
        for i, text in enumerate(request.body["input"])
    ]
    return Reply({"data": data})


def gemini(request: Request) -> Reply:
    """Answer as Gemini does."""
    found = []
    for entry in request.body["requests"]:
        text = entry["content"]["parts"][0]["text"]
        found.append({"values": vector_of(text, entry.get("outputDimensionality", SIZE))})
    return Reply({"embeddings": found})


@contextmanager
def serving(usual: Answering) -> Iterator[Service]:
    """Run a service on a free port of this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    service = server.service = Service(f"http://127.0.0.1:{server.server_port}", usual)  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        service.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        """Read a request, answer it."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.server.service.answer(Request(self.path, headers, body))  # type: ignore[attr-defined]
        content = json.dumps(reply.body).encode() if reply.raw is None else reply.raw
        try:
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        except OSError:
            self.close_connection = True  # a client that gave up waiting

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the standard library's name
        """Keep the test output clean."""
