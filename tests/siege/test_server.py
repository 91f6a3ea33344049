"""A real server under random requests and bombs: memory and event loop are watched, and it never answers 5xx."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain, count, cycle, repeat
from typing import Any, TextIO

import pytest

from tests.helpers import opened
from tests.hostile import HOSTILE
from tests.interfaces.served import Served
from tests.interfaces.test_rest import MCP_HEADERS
from tests.properties.texts import PIECES
from tests.siege.fuzz import Fuzz
from tests.siege.limits import SECONDS
from tests.siege.watch import Watched, watched

pytestmark = [
    pytest.mark.sqlite,
    pytest.mark.skipif(sys.platform != "linux", reason="it looks for processes in /proc"),
]
#: A stream has no end.
_LEFT_OUT = ("/events/stream",)
_MB = 2**20
_POST = b"POST /recall HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
_CHUNKED = _POST + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, TextIO]]:
    """A server on a store with some memories, and the delays of its event loop."""
    path = tmp_path_factory.mktemp("siege") / "memory.db"
    with opened(path) as mem:
        mem.remember_many([{"content": f"{piece} {number}"} for number, piece in enumerate(PIECES * 5)])
    with watched(path) as found:
        # The models are loaded once per process: what that takes is not what one request needs.
        for value in (1, 2):
            found[0].ask("POST", "/memories:capture", {"content": f"The colour of the door is {value}."})
        yield found
        assert found[0].end() == 0
    with opened(path) as mem:
        assert mem.check() == []


@pytest.fixture
def watch(running: tuple[Served, TextIO], record_property: Callable[[str, object], None]) -> Watched:
    """The server, watched during one test."""
    return Watched(*running, record_property)


def calling(tool: str, arguments: Any) -> dict[str, Any]:
    """Return the call of an MCP tool."""
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


@pytest.mark.slow
def test_random_requests(watch: Watched) -> None:
    """Of every operation in the OpenAPI document."""
    document = watch.server.ask("GET", "/openapi.json")[1]
    operations = [
        (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if path not in _LEFT_OUT
    ]
    fuzz, until = Fuzz(37, document), time.monotonic() + SECONDS
    while time.monotonic() < until:
        fuzz.ids = [memory["id"] for memory in watch.server.ask("GET", "/memories?limit=20")[1]["memories"]]
        for method, path, operation in fuzz.dice.sample(operations, 10):
            target, body, headers = fuzz.request(path, operation)
            watch.send(method, target, body, headers)
    watch.report()


def test_random_calls_of_mcp_tools(watch: Watched) -> None:
    """Of every tool, with arguments that follow its schema or not; each gets a result or an error of the protocol."""
    tools = watch.server.ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, MCP_HEADERS)[1][
        "result"
    ]["tools"]
    fuzz, until = Fuzz(38, {}), time.monotonic() + SECONDS
    fuzz.ids = [memory["id"] for memory in watch.server.ask("GET", "/memories?limit=20")[1]["memories"]]
    while time.monotonic() < until:
        tool = fuzz.dice.choice(tools)
        arguments = fuzz.members(tool["inputSchema"]) if fuzz.dice.random() < 0.9 else fuzz.value({})
        call = calling(tool["name"], arguments)
        status, told = watch.send("POST", "/mcp", fuzz.body(call), MCP_HEADERS)
        if status == 200 and not {"result", "error"} & dict(told).keys():
            watch.faults.append(f"{tool['name']}: {told}")
    watch.report()


def readings(text: str, memory_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the path and the body of requests, and of calls of tools, that read a text."""
    for path in ("/memories", "/memories:capture"):
        yield path, {"content": text}
    yield f"/memories/{memory_id}/amend", {"content": text}
    yield "/memories:select", {"request": text}
    yield "/recall", {"query": text}
    yield "/context", {"query": text, "budget": 400}
    yield "/mcp", calling("store_memory", {"content": text, "force": True})
    yield "/mcp", calling("memory_amend", {"id": memory_id, "content": text, "why": text[:500]})
    yield "/mcp", calling("memory_search", {"query": text})


def test_hostile_texts(watch: Watched) -> None:
    """Of 20 kB, through REST and MCP: each is answered before the client gives up after two minutes."""
    until, names, longest = time.monotonic() + SECONDS, cycle(sorted(HOSTILE)), (0.0, "")
    while time.monotonic() < until:
        name = next(names)
        memory_id = watch.server.ask("GET", "/memories?limit=1")[1]["memories"][0]["id"]
        for path, body in readings(HOSTILE[name](20_000), memory_id):
            began = time.monotonic()
            watch.send("POST", path, json.dumps(body).encode(), MCP_HEADERS, name=f"{path} {name}"[:60])
            longest = max(longest, (time.monotonic() - began, f"{path}, {name}"))
    watch.told("worst", f"{longest[0]:.1f} s (`{longest[1]}`)")
    watch.report()


def bodies() -> Iterator[tuple[str, str, bytes]]:
    """Yield a name, a path and a body that costs more to read than to send."""
    nested: dict[str, Any] = {"x": 1}
    for _ in range(60):
        nested = {"$not": nested}
    wide = {"$or": [{"$and": [{"x": number}] * 30} for number in range(300)]}
    wheres: dict[str, Any] = {
        "NaN list": {"x": [float("nan")] * 200_000}, "NaN list within the limit": {"x": [float("nan")] * 29_000},
        "nested where": nested, "wide where": wide, "objects in a list": {"x": {"$in": [{"y": "\0"}] * 9000}},
    }  # fmt: skip
    for name, where in wheres.items():
        yield name, "/recall", json.dumps({"query": "otter", "where": where}).encode()
        call = calling("memory_search", {"query": "otter", "where": where})
        yield f"{name}, MCP", "/mcp", json.dumps(call).encode()
    call = calling("store_memory", {"content": "a", "tags": [1] * 300_000})
    yield "tags [1]*300000, MCP", "/mcp", json.dumps(call).encode()
    yield "20,000 unknown fields", "/memories", json.dumps({f"f{number}": 1 for number in range(20_000)}).encode()
    yield "9,000 wrong memories", "/memories:batch", json.dumps({"memories": [{"content": 1}] * 9000}).encode()
    yield "a number of 3 million digits", "/recall", b'{"query": "a", "limit": ' + b"9" * 3_000_000 + b"}"
    yield "a text of 4 MB", "/memories", json.dumps({"content": "otter " * 690_000}).encode()
    yield "a query of 4 MB", "/recall", json.dumps({"query": "otter " * 690_000}).encode()
    yield "brackets without end", "/recall", b"[" * 4_000_000
    yield "quotes and backslashes", "/recall", b'{"query": "' + b'\\"' * 2_000_000
    yield "escapes", "/memories", b'{"content": "' + b"\\u0001" * 600_000 + b'"}'


def streams() -> Iterator[tuple[str, Iterator[bytes]]]:
    """Yield a name and 60 MB that belong to one request."""
    get = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    many = b"".join(b"x-%d: y\r\n" % number for number in range(6000))
    yield "headers without end", chain([get], repeat(many, 60 * _MB // len(many)))
    yield "one header without end", chain([get + b"x: "], repeat(b"y" * 65_536, 960))
    yield "a first line without end", chain([b"GET /"], repeat(b"y" * 65_536, 960))
    yield (
        "trailers without end",
        chain([_CHUNKED, b'e\r\n{"query": "a"}\r\n0\r\n'], repeat(many, 60 * _MB // len(many))),
    )
    yield "chunks without end", chain([_CHUNKED], repeat(b"10000\r\n" + b" " * 65_536 + b"\r\n", 960))
    yield "a chunk size without end", chain([_CHUNKED], repeat(b"0" * 65_536, 960))
    yield "chunk extensions without end", chain([_CHUNKED + b"1;"], repeat(b"a" * 65_536, 960))
    yield "a body of 60 MB", chain([_POST + b"Content-Length: %d\r\n\r\n" % (60 * _MB)], repeat(b" " * 65_536, 960))
    yield "chunks of one byte", chain([_CHUNKED], repeat(b"1\r\n \r\n" * 10_000, 20), [b"0\r\n\r\n"])


@pytest.mark.slow
def test_bombs(watch: Watched) -> None:
    """Headers, trailers and bodies without end, and small bodies that are expensive to read: each is refused."""
    until = time.monotonic() + SECONDS
    for number in count():
        for name, stream in streams():
            taken, status = watch.raw(name, stream)
            if taken > 16 * _MB or status >= 500:
                watch.faults.append(f"{name}: the server took {taken / _MB:.0f} MB and answered {status}")
        for name, path, body in bodies():
            watch.send("POST", path, body, MCP_HEADERS, name=name)
        if time.monotonic() > until or number == 5:
            break
    watch.report()
