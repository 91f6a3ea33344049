"""Limits of requests: what no caller may make the server do, and who waits for whom."""

from __future__ import annotations

import json
import select
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2 as httpx
import numpy as np
import pytest
from fastapi.openapi.utils import get_openapi

from memotherm import Memotherm
from memotherm.recall import as_of
from memotherm.rest import app
from memotherm.rest.middleware import MAX_HEADER_BYTES, MAX_HEADERS
from memotherm.rest.turns import AT_ONCE, WAITING
from memotherm.tiers import policy
from tests.helpers import opened, python
from tests.interfaces.served import serving
from tests.interfaces.test_rest import MCP_HEADERS, asking, bearer, problem


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Memotherm]:
    with opened(tmp_path / "memory.db") as found:
        yield found
        assert found.check() == []


def sent(url: str, data: bytes) -> bytes:
    """Send bytes to a server, and return what it answers until it closes the connection."""
    with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=240) as connection:
        connection.sendall(data)
        return b"".join(iter(lambda: connection.recv(65_536), b""))


def test_headers_are_refused_before_they_end(mem: Memotherm) -> None:
    """Whether they are one or many, in the first line or below it; the server does not wait for their end."""
    with serving(mem) as url:
        for endless in (b"GET /health?" + b"q" * MAX_HEADER_BYTES, b"GET /health HTTP/1.1\r\n" + b"a: b\r\n" * 6000):
            answer = sent(url, endless[: MAX_HEADER_BYTES + 100])
            assert answer.startswith(b"HTTP/1.1 431 "), answer
            assert b'"code": "headers_too_large"' in answer
        assert sent(url, b"no HTTP\r\n\r\n").startswith(b"HTTP/1.1 400 ")


def test_too_many_or_too_large_headers_are_refused_before_the_key(mem: Memotherm) -> None:
    """As a problem with what is allowed."""
    mem.keys.create("ci", "acme")
    with asking(mem) as client:
        for headers in ([("x-one", "1")] * MAX_HEADERS, [("x-one", "1" * MAX_HEADER_BYTES)]):
            problem(client.get("/status", headers=headers), 431, "headers_too_large")
        problem(client.get("/status", headers=[("x-one", "1")] * (MAX_HEADERS // 2)), 401, "unauthorized")


def test_a_trailer_is_not_a_header(mem: Memotherm) -> None:
    """A key after the body does not authorize the request."""
    key = bearer(mem.keys.create("ci", "acme"))["authorization"].encode()
    head = b"POST /recall HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    with serving(mem) as url:
        answer = sent(url, head + b'e\r\n{"query": "a"}\r\n0\r\nAuthorization: ' + key + b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 401 "), answer


def test_nobody_waits_for_a_body_of_thousands_of_chunks(mem: Memotherm) -> None:
    """Others are answered between them."""
    head = b"POST /recall HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    with (
        serving(mem) as url,
        socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=240) as connection,
    ):
        connection.sendall(head)
        connection.sendall(b"1\r\n \r\n" * 40_000 + b"0\r\n\r\n")
        assert httpx.get(f"{url}/health").status_code == 200
        assert select.select([connection], [], [], 0)[0] == [], "the body was read first"
        assert connection.recv(100).startswith(b"HTTP/1.1 422 ")


@pytest.mark.parametrize("path", ["/recall", "/mcp"])
def test_a_body_with_too_many_values_or_levels_is_refused_before_it_is_read(mem: Memotherm, path: str) -> None:
    """Whatever it is for; texts may contain as many commas and brackets as they like."""
    long, deep = b"NaN," * 40_000 + b"1", b"[" * 100 + b"]" * 100
    text = json.dumps({"query": 'a "quoted", [listed], {braced} \\ ' * 2000}).encode()
    headers = {**MCP_HEADERS, "content-type": "application/json"}
    with asking(mem) as client:
        for value in (long, deep, b'"\\"", "\\\\",' + long):
            body = b'{"query": "a", "where": {"x": [' + value + b"]}}"
            problem(client.post(path, content=body, headers=headers), 422, "body_too_complex")
            problem(client.post(path, content=body.decode().encode("utf-16"), headers=headers), 400, "bad_request")
        assert client.post("/recall", content=text, headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/recall", {"query": "a", "where": {"x": [float("nan")] * 9000}}),
        ("/recall", {"query": "a", "where": {"x": {"$in": [{"y": "\0"}] * 900}}}),
        ("/memories", {"content": "a", "kind": "fact", **{f"field{number}": 1 for number in range(20_000)}}),
        ("/memories:batch", {"memories": [{"content": 1}] * 900}),
    ],
)
def test_a_wrong_list_is_one_error(mem: Memotherm, path: str, body: dict[str, Any]) -> None:
    """Not one for each of its values, or each form that they could have."""
    with asking(mem) as client:
        answer = client.post(path, content=json.dumps(body), headers={"content-type": "application/json"})
        assert len(problem(answer, 422, "invalid_input")["errors"]) == 1


def test_no_tenant_waits_for_the_past_of_another_one(mem: Memotherm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not with a plain recall, and not with one of its own past; neither waits the tenant itself with a plain one."""
    begun, go_on, filled = threading.Event(), threading.Event(), as_of._copy

    def held(source: Any, target: Any, *arguments: Any) -> Any:
        if not begun.is_set():
            begun.set()
            assert go_on.wait(240)
        return filled(source, target, *arguments)

    monkeypatch.setattr(as_of, "_copy", held)
    acme, other = (bearer(mem.keys.create(tenant, tenant)) for tenant in ("acme", "other"))
    for tenant in ("acme", "other"):
        mem.scoped(tenant=tenant).remember("An otter")
    plain, past = {"query": "otter"}, {"query": "otter", "as_of": "2099-01-01T00:00:00Z"}
    limits = httpx.Limits(max_connections=None)
    with (
        serving(mem) as url,
        httpx.Client(base_url=url, timeout=240, limits=limits) as client,
        ThreadPoolExecutor(60) as pool,
    ):
        slow = [pool.submit(client.post, "/recall", json=past, headers=acme, timeout=240) for _ in range(60)]
        try:
            assert begun.wait(240)
            asked = ((plain, other), (past, other), (plain, acme))
            answers = [client.post("/recall", json=body, headers=key) for body, key in asked]
            assert not any(each.done() for each in slow)
        finally:
            go_on.set()
        answers += [each.result() for each in slow]
    assert [len(answer.json()["items"]) for answer in answers] == [1] * 63


@pytest.mark.parametrize(("proxies", "status"), [((), 429), (("127.0.0.0/8",), 401)])
def test_only_a_proxy_of_the_settings_says_who_the_caller_is(
    tmp_path: Path, proxies: tuple[str, ...], status: int
) -> None:
    """A local client that makes addresses up does not evade the limit of wrong keys."""
    settings = {"server_proxies": proxies}
    with opened(tmp_path / "memory.db", settings=settings) as mem, serving(mem) as url, httpx.Client() as client:
        for number in range(30):
            headers = {**bearer("mtk_wrong"), "x-forwarded-for": f"10.0.0.{number}"}
            answer = client.get(f"{url}/status", headers=headers)
        assert answer.status_code == status


@pytest.mark.parametrize("at", ["0001-01-01", "0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00-14:00"])
def test_feedback_at_the_beginning_of_the_calendar_finds_no_recall(mem: Memotherm, at: str) -> None:
    """There is no day before it."""
    mem.remember("An otter")
    with asking(mem) as client:
        client.post("/recall", json={"query": "otter"})
        problem(client.post("/feedback", json={"answer": "An otter", "at": at}), 404, "not_found")


def test_a_note_that_cannot_be_read_does_not_tell_where_the_notes_are(tmp_path: Path) -> None:
    """Neither a link that leads to itself nor a path that leads outside."""
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "loop.md").symlink_to("loop.md")
    settings = {"notes_root": str(tmp_path)}
    with opened(tmp_path / "memory.db", settings=settings) as mem, asking(mem) as client:
        for path in ("memory/loop.md", "../outside.md"):
            found = problem(client.get("/notes/lines", params={"path": path}), 422, "invalid_input")
            assert str(tmp_path) not in found["detail"]


def test_the_document_of_all_operations_is_made_once_and_counts_as_a_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It needs no key, so that anybody can ask for it; the health of the server is not limited."""
    made, document = [], get_openapi

    def counted(**options: Any) -> Any:
        made.append(1)
        return document(**options)

    monkeypatch.setattr(app, "get_openapi", counted)
    settings = {"server_rate_per_minute": 3}
    with opened(tmp_path / "memory.db", settings=settings) as mem, asking(mem, monotonic=lambda: 0.0) as client:
        assert len({client.get("/openapi.json").text for _ in range(3)}) == len(made) == 1
        problem(client.get("/openapi.json"), 429, "too_many_requests")
        assert client.get("/health").status_code == 200


def test_nobody_waits_for_the_document_of_all_operations(mem: Memotherm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anybody can ask for it; it is made off the event loop."""
    begun, go_on, made = threading.Event(), threading.Event(), get_openapi

    def held(**options: Any) -> Any:
        begun.set()
        assert go_on.wait(240)
        return made(**options)

    monkeypatch.setattr(app, "get_openapi", held)
    with serving(mem) as url, httpx.Client(base_url=url, timeout=240) as client, ThreadPoolExecutor(1) as pool:
        document = pool.submit(client.get, "/openapi.json", timeout=240)
        try:
            assert begun.wait(240)
            assert client.get("/health").status_code == 200
        finally:
            go_on.set()
        assert "/recall" in document.result().json()["paths"]


def test_nobody_waits_for_a_policy_that_another_process_has_adopted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request that reads it does so off the event loop."""
    begun, go_on, read = threading.Event(), threading.Event(), policy.unpacked

    def held(text: str) -> policy.Policy:
        begun.set()
        assert go_on.wait(240)
        return read(text)

    with (
        opened(tmp_path / "memory.db") as mem,
        opened(tmp_path / "memory.db") as other,
        serving(mem) as url,
        httpx.Client(base_url=url, timeout=240) as client,
        ThreadPoolExecutor(1) as pool,
    ):
        other.policies.adopt("research")
        client.post(
            "/memories", json={"content": "An otter", "kind": "fact"}
        )  # A write sees that there is another policy.
        monkeypatch.setattr(policy, "unpacked", held)
        reading = pool.submit(client.get, "/memories", timeout=240)
        try:
            assert begun.wait(240)
            assert client.get("/openapi.json").status_code == 200
        finally:
            go_on.set()
        assert reading.result().status_code == 200


_READY = """
import os, signal, sys, memotherm
from memotherm.rest.serve import serve

def ready(port):
    print("splintr" in sys.modules)
    os.kill(os.getpid(), signal.SIGTERM)

with memotherm.open(sys.argv[1], embedder="none") as mem:
    serve(mem, "127.0.0.1", 0, "error", on_ready=ready)
"""


def test_nobody_waits_for_the_tokenizer(tmp_path: Path) -> None:
    """A server loads it before it accepts requests: all threads stop meanwhile."""
    assert python(_READY, tmp_path / "memory.db").stdout.split() == ["True"]


# Turns


class HeldEmbedder:
    """An embedder that holds the texts with "held" until it is let go."""

    name, dimensions = "held", 8

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.go_on = threading.Event()

    def embed(self, texts: Sequence[str]) -> Any:
        """Return the same vector for all texts."""
        for text in texts:
            if "held" in text:
                self.begun.append(text)
                assert self.go_on.wait(240)
        return np.full((len(texts), self.dimensions), self.dimensions**-0.5, dtype=np.float32)


@pytest.fixture
def embedder() -> Iterator[HeldEmbedder]:
    held = HeldEmbedder()
    yield held
    held.go_on.set()


def until(met: Callable[[], bool]) -> None:
    """Wait for a condition."""
    for _ in range(6000):
        if met():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it was not met within a minute")


def test_the_requests_of_one_key_stop_nobody_else(tmp_path: Path, embedder: HeldEmbedder) -> None:
    """Others and monitors are answered, the rest of them waits for a turn, and what is too much is refused."""
    with opened(tmp_path / "memory.db", embedder=embedder) as mem:
        busy, other = (bearer(mem.keys.create(tenant, tenant)) for tenant in ("busy", "other"))
        limits = httpx.Limits(max_connections=None)
        with (
            serving(mem) as url,
            httpx.Client(base_url=url, timeout=240, limits=limits) as client,
            ThreadPoolExecutor(100) as pool,
        ):
            sent = [
                pool.submit(client.post, "/memories", json={"content": f"held back {number}"}, headers=busy)
                for number in range(AT_ONCE + WAITING + 10)
            ]
            # Refused requests are the only ones that end: all others have arrived.
            until(lambda: sum(each.done() for each in sent) == 10)
            refused = [each.result() for each in sent if each.done()]
            assert client.get("/health").status_code == 200
            assert client.get("/status", headers=other).status_code == 200
            stored = client.post("/memories", json={"content": "An otter swims", "index": False}, headers=other)
            assert stored.status_code == 201
            assert len(embedder.begun) == AT_ONCE
            assert sum(each.done() for each in sent) == 10
            embedder.go_on.set()
            answers = [each.result().status_code for each in sent]
        for answer in refused:
            problem(answer, 429, "too_many_at_once")
            assert answer.headers["retry-after"] == "1"
        assert (answers.count(201), answers.count(429)) == (AT_ONCE + WAITING, 10)


def test_nothing_is_done_for_a_client_that_has_gone(tmp_path: Path, embedder: HeldEmbedder) -> None:
    """A request that waits for its turn is given up; one that has begun is completed."""
    with opened(tmp_path / "memory.db", embedder=embedder) as mem:
        key, other = (bearer(mem.keys.create(tenant, tenant)) for tenant in ("busy", "other"))
        limits = httpx.Limits(max_connections=None)
        with (
            serving(mem) as url,
            httpx.Client(base_url=url, timeout=240, limits=limits) as client,
            ThreadPoolExecutor(100) as pool,
        ):
            port = int(url.rpartition(":")[2])
            body = json.dumps({"content": "held by a client that goes"})
            head = f"POST /memories HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: {key['authorization']}\r\n"
            request = f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
            running = [
                pool.submit(client.post, "/memories", json={"content": f"held back {number}"}, headers=key)
                for number in range(AT_ONCE)
            ]
            until(lambda: len(embedder.begun) == AT_ONCE)
            gone = [socket.create_connection(("127.0.0.1", port), timeout=240) for _ in range(WAITING + 5)]
            for connection in gone:
                connection.sendall(request)
            until(lambda: len(select.select(gone, [], [], 0)[0]) == 5)  # refused: all others wait
            for connection in gone:
                connection.close()
            counted = f'method="POST",route="unmatched",status="499"}} {WAITING}.0'
            until(lambda: counted in client.get("/metrics", headers=other).text)
            embedder.go_on.set()
            assert [each.result().status_code for each in running] == [201] * AT_ONCE
        contents = [memory.content for memory in mem.find(include_narrower=True)]
        assert len(contents) == AT_ONCE
        assert not any("goes" in content for content in contents)
