"""API keys of a user, keys that may only read, the scope header, and bodies that never arrive."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from memotherm import Memotherm, Scope, Tier
from memotherm.errors import ReadOnly
from memotherm.rest import middleware, serve
from memotherm.rest.app import application
from tests.helpers import opened
from tests.interfaces.served import serving
from tests.interfaces.test_rest import MCP_HEADERS, asking, bearer, problem


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Memotherm]:
    with opened(tmp_path / "memory.db") as found:
        yield found
        assert found.check() == []


def tool(client: TestClient, headers: dict[str, str], name: str, **arguments: Any) -> Any:
    """Call a tool over HTTP and return its result."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    return client.post("/mcp", json=body, headers={**headers, **MCP_HEADERS}).json()["result"]


def test_a_key_of_a_user_gives_access_to_that_user_only(mem: Memotherm) -> None:
    """Over REST and MCP; the header cannot name another user, and responses are not repeated to another one."""
    keys = mem.keys
    ana, ben = (bearer(keys.create(name, "acme", name)) for name in ("ana", "ben"))
    with asking(mem) as client:
        once = {"idempotency-key": "k1"}
        made = [
            client.post("/memories", json={"content": "An otter", "kind": "fact"}, headers={**key, **once})
            for key in (ana, ben)
        ]
        assert [each.json()["scope"]["user"] for each in made] == ["ana", "ben"]
        place = made[0].headers["location"]
        assert client.get(place, headers=ana).status_code == 200
        problem(client.get(place, headers=ben), 404, "not_found")
        problem(client.get("/status", headers={**ben, "memotherm-scope": "user=ana"}), 422, "invalid_input")
        assert tool(client, ben, "memory_get", id=made[0].json()["id"])["isError"]
        assert not tool(client, ana, "memory_get", id=made[0].json()["id"])["isError"]


def test_a_tool_with_the_key_of_a_person_is_an_agent(mem: Memotherm) -> None:
    """A model calls it."""
    with asking(mem) as client:
        key = bearer(mem.keys.create("ana", "acme", person=True))
        result = tool(client, key, "store_memory", content="The harbour office opens at nine")
    assert "mem_" in str(result), result
    assert [each.trust for each in mem.find(include_narrower=True)] == ["agent"]


def test_a_key_of_a_user_changes_only_what_belongs_to_the_user(mem: Memotherm) -> None:
    """What the tenant shares is read-only for it, over REST and MCP, unless the key says otherwise."""
    acme = mem.scoped(tenant="acme")
    tax, otter = acme.remember("A tax rule of acme", tags=["old"], tier="cold"), acme.remember("An otter of acme")
    ana, editor = (bearer(mem.keys.create(name, "acme", "ana", shared=name == "editor")) for name in ("ana", "editor"))
    place, seq = f"/memories/{tax.id}", acme.status().seq
    changes: list[tuple[str, str, dict[str, Any] | None]] = [
        ("PATCH", place, {"content": "A lynx"}),
        ("DELETE", place, None),
        *(("POST", f"{place}/{verb}", None) for verb in ("archive", "pin", "purge", "verify")),
        ("POST", f"{place}/move", {"tier": "hot"}),
        ("POST", f"/events/{tax.version}/undo", None),
        ("POST", "/memories", {"content": "A lynx", "kind": "fact", "supersedes": tax.id}),
    ]
    with asking(mem) as client:
        for session in ("", "; session=s1"):
            key = {**ana, "memotherm-scope": f"project=web{session}"}
            assert client.get(place, headers=key).status_code == 200
            for method, path, body in changes:
                found = problem(client.request(method, path, json=body, headers=key), 403, "forbidden")
                assert "--shared" in found["detail"]
        assert "[forbidden]" in tool(client, ana, "memory_forget", memory_id=tax.id)["content"][0]["text"]
        purged = client.post("/memories:purge", json={"tags": ["old"], "count": 0}, headers=ana)
        assert (purged.status_code, acme.status().seq) == (200, seq)
        own = client.post("/memories", json={"content": "A lynx of ana"}, headers=ana).headers["location"]
        assert client.delete(own, headers=ana).status_code < 300
        assert client.delete(f"/memories/{otter.id}", headers=editor).status_code < 300


def test_a_key_of_a_user_moves_memories_only_to_scopes_of_the_user(mem: Memotherm) -> None:
    """Neither by naming another scope nor by undoing what somebody else has moved; the id and the history stay."""
    acme, ana = mem.scoped(tenant="acme"), bearer(mem.keys.create("ana", "acme", "ana"))
    own = acme.scoped(user="ana").remember("An otter of ana").id
    with asking(mem) as client:
        for scope in ({"user": "ben"}, {"project": "web"}):
            problem(client.post(f"/memories/{own}/rescope", json={"scope": scope}, headers=ana), 403, "forbidden")
        for scope in ({"tenant": "other"}, {"owner": "ana"}, {"colour": "red"}):
            assert client.post(f"/memories/{own}/rescope", json={"scope": scope}, headers=ana).status_code == 409
        asked = {"scope": {"project": "web", "user": "ana"}}
        moved = client.post(f"/memories/{own}/rescope", json=asked, headers=ana).json()
        assert (moved["id"], moved["scope"]) == (own, {"tenant": "acme", "project": "web", "user": "ana"})
        web = {**ana, "memotherm-scope": "project=web"}
        assert client.post(f"/events/{moved['version']}/undo", headers=web).json()["scope"] == {
            "tenant": "acme", "user": "ana",
        }  # fmt: skip
        shared = acme.remember("A tax rule of acme").id
        given = acme.rescope(shared, {"user": "ana"}, why="hers")
        problem(client.post(f"/events/{given.version}/undo", headers=ana), 403, "forbidden")
    assert [event.action for event in acme.scoped(user="ana").history(own)] == ["remember", "rescope", "undo"]
    assert mem.check() == []


def test_a_read_only_key_reads_and_changes_nothing(mem: Memotherm) -> None:
    """Not a memory, not a session, not the number of uses; over REST and MCP."""
    acme = mem.scoped(tenant="acme")
    otter = acme.remember("An otter swims", tier="cold")
    acme.session("s1").add("A badger digs")
    reader = bearer(mem.keys.create("reader", "acme", read_only=True))
    before = (acme.status().seq, acme.metrics())
    place = f"/memories/{otter.id}"
    with asking(mem) as client:
        for path in ("/recall", "/context"):
            assert client.post(path, json={"query": "otter"}, headers=reader).status_code == 200
        assert client.post("/memory/query", json={"query": "otter"}, headers=reader).json()["results"]
        for path in (place, f"{place}/history", "/events", "/status", "/metrics", "/sessions/s1/status"):
            assert client.get(path, headers=reader).status_code == 200
        assert not tool(client, reader, "memory_recall", query="otter", includeCold=True)["isError"]
        changes: list[tuple[str, str, dict[str, Any] | None]] = [
            ("POST", "/memories", {"content": "A lynx", "kind": "fact"}),
            ("PATCH", place, {"content": "A lynx"}),
            ("DELETE", place, None),
            ("POST", f"{place}/pin", None),
            ("POST", "/recall", {"query": "otter", "tiers": ["cold"], "promote": True}),
            ("POST", "/sessions/s2/memories", {"content": "A lynx"}),
            ("POST", "/sessions/s1/clear", None),
            ("POST", "/maintain", None),
            ("POST", f"/events/{otter.version}/undo", None),
        ]
        for method, path, body in changes:
            problem(client.request(method, path, json=body, headers=reader), 403, "read_only")
        assert "[read_only]" in tool(client, reader, "store_memory", content="A lynx sleeps")["content"][0]["text"]
    assert (acme.status().seq, acme.metrics()) == before
    assert acme.get(otter.id).access_count == 0


def test_a_read_only_view_refuses_changes(mem: Memotherm) -> None:
    """In the library as well, for the scopes inside it too."""
    otter = mem.remember("An otter", tier="hot")
    view = mem.read_only()

    assert view.get(otter.id) == otter
    assert view.status().tiers[Tier.HOT].memories == 1
    for change in (
        lambda: view.remember("A lynx"),
        lambda: view.scoped(tenant="acme").remember("A lynx"),
        lambda: view.session("s1"),
        lambda: view.purge(otter.id),
        view.maintain,
        lambda: view.store.key_value("keys").put("a", {}),
    ):
        with pytest.raises(ReadOnly):
            change()


@pytest.mark.parametrize(
    ("header", "scope"),
    [
        ("agent=planner;project=web", Scope(project="web", agent="planner")),
        (" user = ana ; project = my shop ; ", Scope(project="my shop", user="ana")),
        ("user=J%C3%BCrgen;agent=%E2%98%83%3B%25", Scope(user="Jürgen", agent="☃;%")),
        ("user=a=b+c", Scope(user="a=b+c")),
    ],
)
def test_a_scope_header_takes_fields_in_any_order_and_any_name(mem: Memotherm, header: str, scope: Scope) -> None:
    """Spaces around them are ignored, and characters other than ASCII are percent-encoded; over MCP as well."""
    with asking(mem) as client:
        made = client.post(
            "/memories", json={"content": "An otter", "kind": "fact"}, headers={"memotherm-scope": header}
        )
        assert made.json()["scope"] == dict(scope.items())
        result = tool(client, {"memotherm-scope": header}, "memory_get", id=made.json()["id"])
        assert not result["isError"]
        assert tool(client, {}, "memory_get", id=made.json()["id"])["isError"]


@pytest.mark.parametrize(
    "header",
    ["tenant=acme", "colour=red", "user=", "user", "user=a;user=b", "user=%zz", "user=%FF", "user=%00", "user=\xfc"],
)
def test_a_scope_header_that_is_not_understood_is_refused(mem: Memotherm, header: str) -> None:
    """Ignored, it would give the caller another scope than intended."""
    with asking(mem) as client:
        for path in ("/memories", "/mcp"):
            answer = client.post(path, json={"content": "A"}, headers={b"memotherm-scope": header.encode("latin-1")})
            problem(answer, 422, "invalid_input")
    assert mem.status().seq == 0


def test_several_scope_headers_are_read_together(mem: Memotherm) -> None:
    """A proxy may add its own line, but not another name for a field."""
    with asking(mem) as client:
        lines = [("memotherm-scope", "project=web"), ("memotherm-scope", "user=ana")]
        assert client.get("/status", headers=lines).json()["scope"] == {"project": "web", "user": "ana"}
        problem(client.get("/status", headers=[*lines, ("memotherm-scope", "user=ben")]), 422, "invalid_input")


def test_a_body_that_does_not_arrive_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request is answered with 408, and the connection is closed."""
    sent: list[Any] = []

    async def receive() -> Any:
        if not sent:
            sent.append("begun")
            return {"type": "http.request", "body": b'{"content"', "more_body": True}
        return await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/memories",
        "headers": [(b"host", b"127.0.0.1")],
        "query_string": b"",
    }
    monkeypatch.setattr(middleware, "BODY_SECONDS", 0.05)
    with opened(tmp_path / "memory.db") as mem:
        app = application(mem)

        async def serve() -> None:
            await app(scope, receive, send)

        asyncio.run(serve())

    assert sent[1]["status"] == 408
    assert (b"connection", b"close") in sent[1]["headers"]
    assert json.loads(sent[2]["body"])["code"] == "body_too_slow"


def test_headers_that_never_end_close_the_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a new connection and after a response; what is sent in time is answered, however long it takes to answer."""
    monkeypatch.setattr(serve, "HEADER_SECONDS", 3)
    health = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    with opened(tmp_path / "memory.db") as mem, serving(mem) as url:
        address = ("127.0.0.1", int(url.rpartition(":")[2]))
        answered = HTTPConnection(*address, timeout=60)
        with socket.create_connection(address, timeout=60) as first, closing(answered):
            first.sendall(health)
            answered.request("GET", "/health")
            response = answered.getresponse()
            response.read()
            answered.sock.sendall(health)

            assert response.status == 200
            assert [first.recv(65_536), answered.sock.recv(65_536)] == [b"", b""]
