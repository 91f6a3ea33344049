"""The REST API: access, errors, idempotency, and the start and end of the server."""

from __future__ import annotations

import io
import itertools
import json
import logging
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

import memotherm
from memotherm import Memotherm, Scope
from memotherm.errors import NotFound, SettingsError
from memotherm.rest.app import application
from memotherm.rest.observability import JsonFormatter
from memotherm.rest.serve import require_safe
from memotherm.tools import call
from tests.helpers import opened, python, together
from tests.interfaces.served import Served, environment, free_port, served

NOBODY = "mem_00000000000000000000000000"
Json = dict[str, Any]
MCP_HEADERS = {"accept": "application/json, text/event-stream"}


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Memotherm]:
    with opened(tmp_path / "memory.db") as found:
        yield found
        assert found.check() == []


@pytest.fixture
def client(mem: Memotherm) -> Iterator[TestClient]:
    with asking(mem) as found:
        yield found


@pytest.fixture(scope="module")
def served_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A real server that logs as much as it can."""
    with served(tmp_path_factory.mktemp("served") / "memory.db", options=("--log-level", "debug")) as running:
        yield running


def asking(mem: Memotherm, **arguments: Any) -> TestClient:
    return TestClient(application(mem, **arguments), base_url="http://127.0.0.1:8077", raise_server_exceptions=False)


def bearer(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"}


def problem(answer: Any, status: int, code: str) -> dict[str, Any]:
    """Require an answer to be a problem, and return it."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    found: dict[str, Any] = answer.json()
    assert (answer.status_code, found["status"], found["code"]) == (status, status, code), found
    assert found["detail"]
    return found


# Memories


def test_a_memory_is_created_read_changed_forgotten_and_brought_back(client: TestClient) -> None:
    """With an ETag for each state, and 304 or 412 for what has not, or has, changed."""
    made = client.post("/memories", json={"content": "An otter", "kind": "fact", "tier": "hot", "tags": ["animal"]})
    place, etag = made.headers["location"], made.headers["etag"]

    assert made.status_code == 201
    assert client.get(place, headers={"if-none-match": etag}).status_code == 304
    changed = client.patch(place, json={"content": "Two otters"}, headers={"if-match": etag})
    assert (changed.status_code, changed.json()["content"]) == (200, "Two otters")
    problem(client.patch(place, json={"tags": []}, headers={"if-match": etag}), 412, "stale_write")
    gone = client.delete(place)
    assert gone.json()["retention"] == "deleted"
    problem(client.get(place), 404, "not_found")
    assert client.get(place, params={"hidden": True}).json()["retention"] == "deleted"
    problem(client.post(f"{place}/pin"), 409, "conflict")
    assert client.post(f"/events/{gone.json()['version']}/undo").json()["retention"] == "active"
    assert client.post(f"{place}/archive", json={"why": "old"}).json()["retention"] == "archived"
    assert client.post(f"{place}/restore").json()["retention"] == "active"
    events = client.get(f"{place}/history").json()["events"]
    assert [event["action"] for event in events] == ["remember", "update", "forget", "undo", "archive", "restore"]


@pytest.mark.parametrize("more", [{"force": True}, {"kind": "message"}, {"type": "message"}, {"key": "answers/1"}])
def test_a_request_with_nothing_to_remember_is_skipped_unless_it_insists(
    client: TestClient, more: dict[str, object]
) -> None:
    """The answer has a status and a reason; `force`, a kind or a key stores it. A repeat is answered alike."""
    for content in ("ok", "Ok, thanks!", "Route 667"):
        once = {"idempotency-key": f"key of {content[:3]}{len(content)}"}
        for _ in range(2):
            answer = client.post("/memories", json={"content": content}, headers=once)
            assert (answer.status_code, answer.json()["status"]) == (200, "skipped")
            assert "force" in answer.json()["why"]
    assert client.get("/memories").json()["memories"] == []

    stored = client.post("/memories", json={"content": "ok", **more})

    assert (stored.status_code, stored.json()["content"]) == (201, "ok")
    assert client.post("/memories", json={"content": "Route 6677"}).status_code == 201


def test_a_batch_stores_what_has_something_to_remember_and_names_the_rest(client: TestClient) -> None:
    """A kind of its own, or `force` for all of them, stores a memory all the same."""
    batch = [{"content": "ok"}, {"content": "The ferry is blue"}, {"content": "yes", "kind": "message"}]

    answer = client.post("/memories:batch", json={"memories": batch}).json()

    assert [memory["content"] for memory in answer["memories"]] == ["The ferry is blue", "yes"]
    assert [(each["content"], each["status"]) for each in answer["skipped"]] == [("ok", "skipped")]
    forced = client.post("/memories:batch", json={"memories": batch, "force": True}).json()
    assert [memory["content"] for memory in forced["memories"]] == ["ok", "The ferry is blue", "yes"]
    assert forced["skipped"] == []


def test_pages_lead_through_all_memories(client: TestClient) -> None:
    """Newest first, none twice; a cursor that is none is refused."""
    client.post("/memories:batch", json={"memories": [{"content": f"otter {n}", "kind": "fact"} for n in range(7)]})
    seen: list[str] = []
    page: str | None = None
    while True:
        answer = client.get("/memories", params={"limit": 3, **({"cursor": page} if page else {})}).json()
        seen += [memory["content"] for memory in answer["memories"]]
        page = answer["cursor"]
        if page is None:
            break

    assert seen == [f"otter {n}" for n in reversed(range(7))]
    problem(client.get("/memories", params={"cursor": "first"}), 422, "invalid_input")


@pytest.mark.parametrize(("order", "first"), [("newest", 5), ("oldest", 1)])
def test_pages_lead_through_the_ledger(client: TestClient, order: str, first: int) -> None:
    """From either end; a feed goes on after the last event that it has seen."""
    for number in range(5):
        client.post("/memories", json={"content": f"otter {number}", "kind": "fact"})
    seen: list[int] = []
    query: dict[str, Any] = {"oldest_first": order == "oldest"}
    while query:
        answer = client.get("/events", params={"limit": 2, **query}).json()
        seen += [event["seq"] for event in answer["events"]]
        query = {"cursor": answer["cursor"]} if answer["cursor"] else {}

    assert seen == sorted(seen, reverse=order == "newest")
    assert (len(seen), seen[0]) == (5, first)
    assert [event["seq"] for event in client.get("/events", params={"cursor": "after-4"}).json()["events"]] == [5]
    problem(client.get("/events", params={"cursor": "4"}), 422, "invalid_input")


def test_the_priority_of_a_memory_is_set(client: TestClient) -> None:
    """To any of the five, with a reason that the ledger keeps."""
    place = client.post("/memories", json={"content": "An otter", "kind": "fact"}).headers["location"]

    assert (
        client.post(f"{place}/prioritize", json={"priority": "critical", "why": "x"}).json()["priority"] == "critical"
    )
    event = client.get("/events").json()["events"][0]
    assert (event["why"], event["changes"]["priority"]) == ("x", {"from": "normal", "to": "critical"})


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({"query": "otter"}, {"hot", "warm", "cold"}),
        ({"query": "otter", "tier": "cold"}, {"cold"}),
        ({"query": "otter", "filters": {"tier": "warm"}, "k": 5}, {"warm"}),
        ({"query": "otter", "limit": 1}, {"hot"}),
    ],
)
def test_the_query_of_the_source_searches_all_tiers_or_one(
    mem: Memotherm, client: TestClient, body: dict[str, Any], found: set[str]
) -> None:
    """`limit` or `k`, `tier` or `filters.tier`; the closer tiers rank first."""
    for tier in ("cold", "warm", "hot"):
        mem.remember(f"an otter kept {tier}", tier=tier)

    answer = client.post("/memory/query", json=body).json()

    assert {hit["tier"] for hit in answer["results"]} == found
    assert set(answer["tiers"]) >= found


def test_every_search_reports_its_scores_pinned_memories_and_limit(mem: Memotherm, client: TestClient) -> None:
    """C06: relevanceScores by id, pinned memories apart, what was promoted, and the limit that took effect."""
    pinned = mem.pin(mem.remember("Our mascot is a walrus").id).id
    found = mem.session("s").add("The budget is $50K", "fact").id
    client.post("/sessions/s/keep", json={"memory_id": found})

    recalled = client.post("/recall", json={"query": "budget"}).json()
    queried = client.post("/memory/query", json={"query": "budget", "k": 4}).json()
    in_session = client.post("/sessions/s/recall", json={"query": "budget"}).json()

    for answer, items, limit in ((recalled, "items", 10), (queried, "results", 4), (in_session, "items", 3)):
        assert set(answer["relevanceScores"]) == {hit["id"] for hit in (*answer["pinned"], *answer[items])}
        assert pinned not in {hit["id"] for hit in answer[items]}
        assert [hit["id"] for hit in answer["pinned"]] == [pinned]
        assert (answer["promoted"], answer["limit"]) == ([], limit)
    assert recalled["relevanceScores"][found] > recalled["relevanceScores"][pinned]


def test_a_query_need_not_count_as_a_use(mem: Memotherm, client: TestClient) -> None:
    """With `track` false, /memory/query leaves the count of uses as it is."""
    mem.remember("An otter")

    assert client.post("/memory/query", json={"query": "otter", "track": False}).json()["results"]
    assert mem.find()[0].access_count == 0
    client.post("/memory/query", json={"query": "otter"})
    assert mem.find()[0].access_count == 1


def test_a_session_works_by_http(client: TestClient) -> None:
    """Add, spill, recall, promote, context, flush, end."""
    base = "/sessions/s1"
    client.post("/memories", json={"content": "Our mascot is a walrus", "tier": "hot"})
    assert "walrus" in client.post(f"{base}/start", json={"budget": 500}).json()["text"]
    made = client.post(f"{base}/memories", json={"content": "The budget is $50K", "type": "fact"}).json()
    assert made["tier"] == "hot"
    assert client.get(f"{base}/hot").json()["memories"][0]["id"] == made["id"]
    assert client.post(f"{base}/spill", json={"ids": [made["id"]]}).json()["spilledIds"] == [made["id"]]
    found = client.post(f"{base}/recall", json={"query": "budget", "auto_promote": False}).json()
    assert [hit["id"] for hit in found["items"]] == [made["id"]]
    assert client.post(f"{base}/promote", json={"memory_id": made["id"]}).json()["promoted"] is True
    assert client.get(f"{base}/status").json()["hot"]["items"] == 1
    assert "$50K" in client.post(f"{base}/context", json={"prompt": "what is the budget?"}).json()["text"]
    assert "$50K" not in client.post(f"{base}/context", json={"prompt": "the budget?"}).json()["text"]
    assert client.post(f"{base}/compacted").status_code == 204
    assert "$50K" in client.post(f"{base}/context", json={"prompt": "the budget?"}).json()["text"]
    assert client.post(f"{base}/flush", json={"total_tokens": 190_000}).json()["flush"] is not None
    assert client.post(f"{base}/end", json={"summary": "We talked about money"}).status_code == 200
    assert client.get("/memories").json()["memories"][0]["content"] == "We talked about money"


def test_a_flush_takes_what_the_host_knows_and_returns_all_of_it(client: TestClient) -> None:
    """O30: nothing is due on a heartbeat, read only or with unknown tokens; once for each count of compactions."""
    near = {"total_tokens": 190_000, "context_window": 200_000.0}
    answers = [
        client.post("/sessions/s/flush", json=body).json()["flush"] is not None
        for body in (
            {**near, "heartbeat": True},
            {**near, "read_only": True},
            {"total_tokens": None},
            {**near, "compactions": 1},
            {**near, "compactions": 1},
        )
    ]
    again = client.post("/sessions/s/flush", json={**near, "compactions": 2}).json()["flush"]

    assert answers == [False, False, False, True, False]
    assert again.keys() == {"prompt", "system", "file", "date", "total_tokens", "threshold", "silent_token"}
    assert (again["total_tokens"], again["threshold"]) == (190_000, 176_000)
    assert again["file"] == f"memory/{again['date']}.md"
    assert again["silent_token"] in again["prompt"]


def test_a_session_is_tidied_by_http(client: TestClient) -> None:
    """C44: demote, keep, prune and clear; a session that has not begun is not found."""
    base = "/sessions/s1"
    first, second, _third = (
        client.post(f"{base}/memories", json={"content": f"turn {number} of the talk"}).json()["id"]
        for number in range(3)
    )

    demoted = client.post(f"{base}/demote", json={"memory_id": first, "tier": "cold"}).json()
    kept = client.post(f"{base}/keep", json={"memory_id": second}).json()
    pruned = client.post(f"{base}/prune", json={"keep": 0}).json()
    cleared = client.post(f"{base}/clear").json()

    assert (demoted["tier"], kept["scope"], pruned["pruned"], cleared["cleared"]) == ("cold", {}, [first], 1)
    for verb in ("prune", "clear"):
        problem(client.post(f"/sessions/nobody/{verb}"), 404, "not_found")


def test_the_scope_comes_with_a_header(client: TestClient) -> None:
    """What one agent stores, another does not see."""
    mine, other = {"memotherm-scope": "user=u1;agent=planner"}, {"memotherm-scope": "user=u1;agent=coder"}
    made = client.post("/memories", json={"content": "An otter", "kind": "fact"}, headers=mine).json()

    assert made["scope"] == {"user": "u1", "agent": "planner"}
    assert client.get(f"/memories/{made['id']}", headers=mine).status_code == 200
    problem(client.get(f"/memories/{made['id']}", headers=other), 404, "not_found")
    problem(client.get("/status", headers={"memotherm-scope": "tenant=acme"}), 422, "invalid_input")
    for field in ("agent", "tenant", "session"):
        response = problem(client.get("/memories", params={field: "planner"}), 422, "invalid_input")
        assert "Memotherm-Scope" in response["detail"]


# Keys and tenants


def test_keys_are_hashed_scoped_and_revoked(mem: Memotherm, tmp_path: Path) -> None:
    """No key, a wrong key, another tenant's key and id."""
    keys = mem.keys
    acme, other = keys.create("acme-ci", "acme"), keys.create("other-ci", "other")
    with asking(mem) as client:
        made = client.post("/memories", json={"content": "An otter of acme"}, headers=bearer(acme)).json()
        place = f"/memories/{made['id']}"

        assert made["scope"] == {"tenant": "acme"}
        assert problem(client.get("/status"), 401, "unauthorized")["detail"].startswith("this server requires")
        assert client.get("/status").headers["www-authenticate"].startswith("Bearer")
        for wrong in (bearer("mtk_wrong"), {"authorization": "Basic eDp5"}, {"authorization": "Bearer"}):
            problem(client.get("/status", headers=wrong), 401, "unauthorized")
        assert client.get("/health").status_code == 200
        for method, path in (("GET", place), ("DELETE", place), ("POST", f"{place}/pin"), ("GET", f"{place}/history")):
            problem(client.request(method, path, headers=bearer(other)), 404, "not_found")
        problem(client.post(f"/events/{made['version']}/undo", headers=bearer(other)), 404, "not_found")
        assert client.post("/recall", json={"query": "otter"}, headers=bearer(other)).json()["items"] == []
        assert client.get("/events", headers=bearer(other)).json()["events"] == []
        assert len(client.get("/events", headers=bearer(acme)).json()["events"]) == 1
        assert b'memotherm_memories{tier="warm"} 0.0' in client.get("/metrics", headers=bearer(other)).content
        keys.revoke("acme-ci")
        problem(client.get(place, headers=bearer(acme)), 401, "unauthorized")
    mem.store.key_value("replies").all()
    assert acme.encode() not in (tmp_path / "memory.db").read_bytes()
    assert acme.encode() not in (tmp_path / "memory.db-wal").read_bytes()


def test_a_server_of_one_tenant_takes_its_keys_only(tmp_path: Path) -> None:
    """A key of another tenant is no key there."""
    with opened(tmp_path / "memory.db", scope=Scope(tenant="acme")) as mem, asking(mem) as client:
        keys = mem.keys
        acme, other = keys.create("a", "acme"), keys.create("o", "other")

        assert client.get("/status", headers=bearer(acme)).status_code == 200
        problem(client.get("/status", headers=bearer(other)), 401, "unauthorized")


def test_mcp_beside_it_wants_the_same_keys(mem: Memotherm) -> None:
    """And sees the same tenant's memories only."""
    key = mem.keys.create("ci", "acme")
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "store_memory", "arguments": {"content": "An otter by MCP"}},
    }
    with asking(mem) as client:
        problem(client.post("/mcp", json=call, headers=MCP_HEADERS), 401, "unauthorized")
        answer = client.post("/mcp", json=call, headers={**MCP_HEADERS, **bearer(key)})
        evil = client.post("/mcp", json=call, headers={**MCP_HEADERS, **bearer(key), "origin": "https://evil.example"})

        made = answer.json()["result"]["structuredContent"]
        assert made["scope"] == {"tenant": "acme"}
        assert client.get(f"/memories/{made['id']}", headers=bearer(key)).json()["content"] == "An otter by MCP"
        problem(evil, 403, "wrong_origin")


def test_the_server_listens_to_others_only_with_keys(mem: Memotherm) -> None:
    """The refusal names the command that makes one; and revoking the last key opens nothing."""
    with pytest.raises(SettingsError, match="memotherm keys create"):
        require_safe(mem, "0.0.0.0")
    assert require_safe(mem, "127.0.0.1") is False
    mem.keys.create("ci", "acme")
    assert require_safe(mem, "0.0.0.0") is True
    with asking(mem, host="0.0.0.0", require_keys=True) as client:
        mem.keys.revoke("ci")
        problem(client.get("/status"), 401, "unauthorized")


# What is refused


def test_strange_hosts_and_origins_are_refused(mem: Memotherm, client: TestClient) -> None:
    """A page that has been lured here by DNS can read nothing."""
    problem(client.get("/status", headers={"host": "evil.example"}), 421, "wrong_host")
    for host in ("[", "evil@127.0.0.1", "127.0.0.1/evil", "127.0.0.1@evil.example", "127.0.0.1.evil.example", ""):
        problem(client.get("/status", headers={"host": host}), 421, "wrong_host")
    problem(client.get("/status", headers={"origin": "https://evil.example"}), 403, "wrong_origin")
    for origin in ("null", "", "http://[", "http://127.0.0.1:8077@evil.example", "http://127.0.0.1:8078"):
        problem(client.get("/status", headers={"origin": origin}), 403, "wrong_origin")
    problem(client.post("/mcp", json={}, headers={**MCP_HEADERS, "host": "evil.example"}), 421, "wrong_host")
    assert client.get("/status", headers={"host": "[::1]:8077"}).status_code == 200
    assert client.get("/status", headers={"origin": "http://127.0.0.1:8077"}).status_code == 200
    assert client.get("/status", headers={"host": "localhost:8077"}).status_code == 200


@pytest.mark.slow
def test_a_cloned_project_cannot_open_the_server_to_web_pages(tmp_path: Path) -> None:
    """`serve` refuses a project's file that allows a foreign origin; only a user who trusts it gets what it says."""
    (tmp_path / "memotherm.toml").write_text('server_origins = ["https://evil.example"]\n', "utf-8")
    store = tmp_path / "memory.db"
    command = [sys.executable, "-m", "memotherm", "serve", "--store", str(store), "--port", str(free_port())]
    refused = subprocess.run(
        command, env=environment(tmp_path / "home"), cwd=tmp_path, capture_output=True, text=True, timeout=60
    )

    assert refused.returncode == 5
    assert "server_origins" in refused.stderr
    assert "MEMOTHERM_TRUST_PROJECT" in refused.stderr
    with served(store, MEMOTHERM_TRUST_PROJECT="1") as running:
        assert running.ask("GET", "/memories", headers={"origin": "https://evil.example"})[0] == 200


def test_other_pages_may_be_let_in(tmp_path: Path) -> None:
    """By name, with what a browser wants to hear first."""
    settings = {"server_origins": ["https://app.example"]}
    with opened(tmp_path / "memory.db", settings=settings) as mem, asking(mem) as client:
        asked = {"origin": "https://app.example", "access-control-request-method": "POST"}
        assert client.options("/recall", headers=asked).headers["access-control-allow-origin"] == asked["origin"]
        assert client.get("/status", headers={"origin": "https://app.example"}).status_code == 200


@pytest.mark.parametrize(
    "content", [b"{", b"\xff\xfe", b"[]", b"null", b'{"content": "\\ud800"}', b'{"content": "a", "colour": 1}', b""]
)
def test_malformed_bodies_are_refused(mem: Memotherm, client: TestClient, content: bytes) -> None:
    """As a problem, and nothing is written."""
    answer = client.post("/memories", content=content, headers={"content-type": "application/json"})

    assert answer.status_code in (400, 422)
    problem(answer, answer.status_code, answer.json()["code"])
    assert mem.status().seq == 0


@pytest.mark.parametrize("depth", [33, 900, 100_000])
def test_what_is_nested_too_deeply_is_refused(mem: Memotherm, client: TestClient, depth: int) -> None:
    """Before it is stored: a memory that a later answer chokes on would spoil every listing."""
    body = b'{"content": "An otter swims", "metadata": {"deep": ' + b"[" * depth + b"]" * depth + b"}}"
    call = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "store_memory", "arguments": %s}}'
    answer = client.post("/memories", content=body, headers={"content-type": "application/json"})
    response = client.post("/mcp", content=call % body, headers={**MCP_HEADERS, "content-type": "application/json"})

    assert answer.status_code in (400, 422)
    assert response.status_code in (400, 422) or response.json()["result"]["isError"]
    assert mem.status().seq == 0


def test_resources_and_prompts_are_a_tenants_own(tmp_path: Path) -> None:
    """By MCP over HTTP: another tenant's id, and what is hot for whom."""
    with opened(tmp_path / "memory.db", settings={"mcp_tools": "all"}) as mem:
        _require_own_resources(mem)


def _require_own_resources(mem: Memotherm) -> None:
    keys = mem.keys
    acme, other = keys.create("a", "acme"), keys.create("o", "other")
    made = mem.scoped(tenant="acme").remember("An otter of acme", tier="hot")
    calls: list[tuple[str, Json]] = [
        ("resources/read", {"uri": f"memory://{made.id}"}),
        ("resources/read", {"uri": "memory://hot"}),
        ("prompts/get", {"name": "recall", "arguments": {"topic": "otter"}}),
        ("tools/call", {"name": "memory_get", "arguments": {"path": made.id}}),
        ("tools/call", {"name": "memory_context", "arguments": {"query": "otter"}}),
        ("tools/call", {"name": "memory_recall", "arguments": {"query": "otter", "includeCold": True}}),
        ("tools/call", {"name": "memory_search", "arguments": {"query": "otter", "minScore": 0}}),
    ]
    with asking(mem) as client:
        for method, params in calls:
            call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            mine, theirs = (
                client.post("/mcp", json=call, headers={**MCP_HEADERS, **bearer(key)}).text for key in (acme, other)
            )
            assert "of acme" in mine, method
            assert "of acme" not in theirs, method


def test_every_route_wants_a_key(mem: Memotherm) -> None:
    """All that the document names but health, and what it does not name but the pages, which hold no memories."""
    mem.keys.create("ci", "acme")
    # An hour passes between two looks at the clock, so that no wrong key is one too many.
    with asking(mem, monotonic=itertools.count(step=3600).__next__) as client:
        paths = client.get("/openapi.json").json()["paths"]
        routes = [(method, path) for path, operations in paths.items() for method in operations if path != "/health"]
        for method, path in [*routes, ("get", "/mcp"), ("post", "/mcp"), ("get", "/nowhere")]:
            filled = path.replace("{memory_id}", NOBODY).replace("{session_id}", "s1").replace("{seq}", "1")
            problem(client.request(method, filled), 401, "unauthorized")
            problem(client.request(method, filled, headers=bearer("mtk_wrong")), 401, "unauthorized")


def test_oversized_bodies_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By their length, or as soon as they have become too long."""
    monkeypatch.setattr("memotherm.rest.middleware.MAX_BODY_BYTES", 1000)
    with opened(tmp_path / "memory.db") as mem, asking(mem) as client:
        problem(client.post("/memories", json={"content": "x" * 2000}), 413, "body_too_large")
        problem(client.post("/memories", content=iter([b"x" * 600, b"y" * 600])), 413, "body_too_large")
        problem(client.post("/memories", content=b"", headers={"content-length": "many"}), 400, "bad_request")
        assert client.post("/memories", json={"content": "x" * 500}).status_code == 201


def test_too_many_requests_have_to_wait(tmp_path: Path) -> None:
    """Each caller for itself; health is always answered."""
    with opened(tmp_path / "memory.db", settings={"server_rate_per_minute": 3}) as mem, asking(mem) as client:
        answers = [client.get("/status") for _ in range(4)]

        assert [answer.status_code for answer in answers[:3]] == [200] * 3
        problem(answers[3], 429, "too_many_requests")
        assert int(answers[3].headers["retry-after"]) > 0
        assert client.get("/health").status_code == 200


def test_a_wrong_method_is_told_the_right_ones(client: TestClient) -> None:
    """All of them, whichever route they are on."""
    answer = client.put("/memories")

    problem(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == "GET, POST"
    problem(client.get("/nowhere"), 404, "not_found")


def test_limits_of_the_memory_are_conflicts(client: TestClient) -> None:
    """Pinned memories are few."""
    ids = [client.post("/memories", json={"content": f"otter {n}", "kind": "fact"}).json()["id"] for n in range(6)]
    for memory_id in ids[:5]:
        assert client.post(f"/memories/{memory_id}/pin").json()["priority"] == "pinned"

    problem(client.post(f"/memories/{ids[5]}/pin"), 409, "limit_reached")


# Repetition


def test_a_repeated_request_is_answered_as_the_first_on_every_server(tmp_path: Path) -> None:
    """Two servers on one file; another body under the same key is refused, a failure is not kept."""
    path, key = tmp_path / "memory.db", {"idempotency-key": "order-1"}
    body = {"content": "An otter, once"}
    anew = {"duplicate_window_hours": 0}
    with opened(path, settings=anew) as one, opened(path, settings=anew) as two:
        with asking(one) as here, asking(two) as there:
            answers = together(*[lambda to=to: to.post("/memories", json=body, headers=key) for to in (here, there)])
            answers = [a if a.status_code == 201 else there.post("/memories", json=body, headers=key) for a in answers]

            assert {answer.json()["id"] for answer in answers} == {answers[0].json()["id"]}
            assert here.post("/memories", json=body, headers=key).headers["idempotency-replayed"] == "true"
            other = there.post("/memories", json={"content": "Another otter"}, headers=key)
            problem(other, 422, "idempotency_key_reused")
            problem(here.post("/memories", json=body, headers={"idempotency-key": "x" * 300}), 422, "invalid_input")
        assert one.status().tiers[memotherm.Tier.WARM].memories == 1
        kept = json.dumps(one.store.key_value("replies").all())
        assert "otter" not in kept
        assert "order-1" not in kept


def test_a_repeat_tells_of_memories_as_they_are_now(mem: Memotherm, client: TestClient) -> None:
    """From any scope, one or several; what was purged since is not brought back by it."""
    key, scope = {"idempotency-key": "k1"}, {"memotherm-scope": "user=u1;agent=planner"}
    batch = {"memories": [{"content": "One otter", "kind": "fact"}, {"content": "Two otters"}]}
    made = client.post("/memories:batch", json=batch, headers={**key, **scope}).json()["memories"]
    added = client.post("/sessions/s1/memories", json={"content": "An otter"}, headers={"idempotency-key": "k2"})
    client.patch(f"/memories/{made[0]['id']}", json={"content": "Three otters"}, headers=scope)
    again = client.post("/memories:batch", json=batch, headers={**key, **scope})
    other = client.post("/sessions/s1/memories", json={"content": "An otter"}, headers={"idempotency-key": "k2"})

    assert again.status_code == 201
    assert [each["content"] for each in again.json()["memories"]] == ["Three otters", "Two otters"]
    assert (other.json(), other.headers["etag"]) == (added.json(), added.headers["etag"])
    assert other.headers["location"] == added.headers["location"]
    problem(client.post("/memories:batch", json=batch, headers=key), 422, "idempotency_key_reused")
    mem.scoped(user="u1", agent="planner").purge(made[0]["id"])
    problem(client.post("/memories:batch", json=batch, headers={**key, **scope}), 404, "not_found")


def test_what_was_refused_or_asked_is_not_kept(mem: Memotherm, client: TestClient) -> None:
    """A refusal changed nothing; a question has its answer of today."""
    key = {"idempotency-key": "k1"}
    place = f"/memories/{NOBODY}/pin"
    problem(client.post(place, headers=key), 404, "not_found")
    problem(client.post(place, headers=key), 404, "not_found")
    assert client.post("/recall", json={"query": "otter"}, headers=key).json()["items"] == []
    mem.remember("An otter")
    assert len(client.post("/recall", json={"query": "otter"}, headers=key).json()["items"]) == 1
    assert mem.store.key_value("replies").all() == {}


def test_a_key_is_one_tenants_own(mem: Memotherm) -> None:
    """Another tenant's request under the same Idempotency-Key is another request."""
    keys = mem.keys
    acme, other = keys.create("a", "acme"), keys.create("o", "other")
    with asking(mem) as client:
        made = [
            client.post(
                "/memories",
                json={"content": "An otter", "kind": "fact"},
                headers={**bearer(key), "idempotency-key": "k1"},
            )
            for key in (acme, other)
        ]

    assert [each.json()["scope"] for each in made] == [{"tenant": "acme"}, {"tenant": "other"}]
    assert "idempotency-replayed" not in made[1].headers


# What can be seen


def test_logs_and_metrics_tell_what_happened_and_never_what_was_said(client: TestClient) -> None:
    """One JSON line for a request, with its name; counts by route."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(JsonFormatter())
    logger = logging.getLogger("memotherm.rest")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        made = client.post("/memories", json={"content": "A secret otter"}, headers={"x-request-id": "r-1"})
        client.post("/recall", json={"query": "secret otter"})
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
    first = json.loads(written.getvalue().splitlines()[0])
    metrics = client.get("/metrics").text

    assert made.headers["x-request-id"] == first["request_id"] == "r-1"
    assert (first["route"], first["status"]) == ("/memories", 201)
    assert "otter" not in written.getvalue()
    assert 'memotherm_http_requests_total{method="POST",route="/memories",status="201"} 1.0' in metrics
    assert 'memotherm_memories{tier="warm"} 1.0' in metrics
    assert "memotherm_recalls_total 1.0" in metrics


def test_hot_utilisation_is_that_of_the_fullest_scope_and_promotions_say_what_they_count(tmp_path: Path) -> None:
    """Sessions by their limit, other scopes by theirs, wherever they are; every move to hot is a promotion."""
    settings = {"hot_max_tokens": 4, "hot_token_limit": 100}
    with opened(tmp_path / "memory.db", settings=settings) as mem, asking(mem) as client:
        hot = mem.scoped(project="shop").remember("A hot memory that is longer than the limit", tier="hot")
        mem.scoped(project="other").remember("Hot", tier="hot")
        said = mem.scoped(project="shop").session("s").add("A turn of the talk")
        made = client.post("/memories", json={"content": "An otter", "kind": "fact"}).json()
        client.post(f"/memories/{made['id']}/move", json={"tier": "hot"})
        families = {family.name: family for family in text_string_to_metric_families(client.get("/metrics").text)}

    ratios = {each.labels["fullest"]: each.value for each in families["memotherm_hot_utilization_ratio"].samples}
    (promotions,) = families["memotherm_promotions"].samples
    assert ratios == {"scope": hot.tokens / 4, "session": said.tokens / 100}
    assert promotions.value == 1.0
    assert "moved to hot" in families["memotherm_promotions"].documentation


def test_recall_latency_is_a_histogram_of_the_store(mem: Memotherm, client: TestClient) -> None:
    """C38: recalls of every process, in cumulative buckets, apart for those that searched cold."""
    mem.remember("An otter")
    mem.recall("otter")
    for tiers in (["cold"], ["warm"], ["hot", "warm"]):
        client.post("/recall", json={"query": "otter", "tiers": tiers})
    page = client.get("/metrics").text
    metrics = mem.metrics()

    [family] = [
        each for each in text_string_to_metric_families(page) if each.name == "memotherm_recall_duration_seconds"
    ]
    *buckets, count, total = [sample.value for sample in family.samples if sample.labels["cold"] == "false"]
    cold = [sample.value for sample in family.samples if sample.labels["cold"] == "true"]
    assert (family.type, buckets[-1], count, cold[-2]) == ("histogram", 3, 3, 1)
    assert buckets == sorted(buckets)
    assert total > 0
    assert total == pytest.approx(metrics.live_recalls.total_ms / 1000)
    assert metrics.cold_recall_latency_ms == pytest.approx(metrics.cold_recalls.total_ms)


def test_an_oversized_addition_to_a_session_says_that_it_went_to_warm(tmp_path: Path) -> None:
    """The rule and a warning are part of the answer."""
    with opened(tmp_path / "memory.db", settings={"hot_token_limit": 20}) as mem, asking(mem) as client:
        made = client.post("/sessions/s1/memories", json={"content": "far too large " * 20}).json()

    assert (made["tier"], made["rule"]) == ("warm", "session.oversized")
    assert "hot_token_limit" in made["warnings"][0]


def test_the_metrics_are_what_prometheus_reads(client: TestClient) -> None:
    """Every family once, named by the rules, with a help; no sample twice; no label that callers could make up."""
    client.post("/memories", json={"content": "A secret otter"})
    client.request("OTTER", "/a/secret/otter")
    answer = client.get("/metrics")
    families = list(text_string_to_metric_families(answer.text))
    names = [family.name for family in families]
    samples = [(sample.name, tuple(sorted(sample.labels.items()))) for family in families for sample in family.samples]

    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert len(names) == len(set(names))
    assert all(family.name.startswith("memotherm_") and family.documentation for family in families)
    assert {family.type for family in families} == {"counter", "gauge", "histogram"}
    assert len(samples) == len(set(samples))
    assert "otter" not in answer.text.lower()


@pytest.mark.slow
def test_the_server_ends_in_order_and_keeps_what_it_acknowledged(tmp_path: Path) -> None:
    """SIGTERM: exit code 0, and another process finds the memories; keys are made by the command."""
    path = tmp_path / "memory.db"
    code = "from memotherm.cli.app import run; import sys; sys.exit(run(sys.argv[1:]))"
    made = python(code, "keys", "create", "ci", "--tenant", "acme", "--store", path, env=environment(tmp_path / "home"))
    with served(path, key=made.stdout.strip()) as server:
        status, memory = server.ask("POST", "/memories", {"content": "An otter", "kind": "fact"})
        refused, _ = server.ask("GET", "/status", headers={"authorization": "Bearer no"})
        ended = server.end()
        lines = [json.loads(line) for line in server.log if line.startswith("{")]

    assert (status, refused, ended) == (201, 401, 0)
    assert any(line.get("route") == "/memories" for line in lines)
    with memotherm.open(path, embedder="none") as mem:
        assert mem.scoped(tenant="acme").get(memory["id"]).content == "An otter"
        assert mem.check() == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": "memory_recall", "arguments": {"query": {"a secret": "otter"}}},
        {"name": "memory_forget", "arguments": {"memory_id": "a secret otter"}},
        {"name": "a secret otter", "arguments": {}},
    ],
)
def test_what_a_tool_refuses_is_not_in_the_log(served_store: Served, arguments: dict[str, Any]) -> None:
    """The MCP package would quote it."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": arguments}
    status, answer = served_store.ask("POST", "/mcp", call, headers=MCP_HEADERS)

    assert (status, answer["result"]["isError"]) == (200, True)
    assert served_store.ask("GET", "/health", headers={"x-request-id": "last"})[0] == 200
    while not any('"last"' in line for line in served_store.log):
        time.sleep(0.01)
    assert "otter" not in "".join(served_store.log)


def test_listening_to_others_without_keys_is_refused_by_the_command(tmp_path: Path) -> None:
    """With the exit code for configuration."""
    code = "from memotherm.cli.app import run; import sys; sys.exit(run(sys.argv[1:]))"
    done = python(code, "serve", "--host", "0.0.0.0", "--store", tmp_path / "m.db", env=environment(tmp_path / "home"))

    assert done.returncode == 5
    assert "keys create" in done.stderr


def test_without_the_packages_the_command_says_how_to_get_them(tmp_path: Path) -> None:
    """One line with the command to run."""
    code = "import sys; sys.modules['uvicorn'] = None; from memotherm.cli.app import run; sys.exit(run(sys.argv[1:]))"
    done = python(code, "serve", "--store", tmp_path / "m.db", env=environment(tmp_path / "home"))

    assert done.returncode == 5
    assert "pip install 'memotherm[server]'" in done.stderr


# Sessions that have not begun


def test_reading_the_status_of_a_session_does_not_begin_it(mem: Memotherm, client: TestClient) -> None:
    """An unknown session is 404 and stays unknown; one that has begun is described."""
    before = mem.status().seq
    problem(client.get("/sessions/nobody/status"), 404, "not_found")
    problem(client.get("/sessions/nobody/hot"), 404, "not_found")
    problem(client.get("/sessions/nobody/status"), 404, "not_found")
    with pytest.raises(NotFound, match="no session 'nobody' has begun"):
        mem.inspect.session("nobody")

    assert mem.status().seq == before
    client.post("/sessions/somebody/memories", json={"content": "An otter"})
    assert client.get("/sessions/somebody/status").json()["hot"]["items"] == 1
    assert len(client.get("/sessions/somebody/hot").json()["memories"]) == 1
    problem(client.get("/sessions/nobody/status"), 404, "not_found")


def test_a_request_that_is_refused_does_not_begin_a_session(client: TestClient) -> None:
    """Its body is validated first."""
    problem(client.post("/sessions/s1/memories", json={"content": ""}), 422, "invalid_input")

    problem(client.get("/sessions/s1/status"), 404, "not_found")


def test_a_key_of_a_tenant_is_not_told_what_is_wrong_with_a_request_about_the_whole_store(mem: Memotherm) -> None:
    """Whether it may ask at all is checked first."""
    secret = mem.keys.create("ci", "acme")
    with asking(mem) as client:
        problem(client.post("/policy/lint", json={"nonsense": 1}, headers=bearer(secret)), 403, "forbidden")


def test_a_recall_in_an_empty_session_says_that_it_is_empty(mem: Memotherm, client: TestClient) -> None:
    """Over REST, MCP and in Python; a session with memories gets no hint, whatever it finds."""
    mem.remember("The otter is the mascot")
    told = "session 'new' has no memories; a recall without a session searches the scope around it"

    assert client.post("/sessions/new/recall", json={"query": "otter"}).json()["hint"] == told
    assert mem.session("new").recall("otter").hint == told
    assert call(mem, "memory_recall", {"sessionId": "new", "query": "otter"})["hint"] == told
    mem.session("new").add("A heron")
    mem.session("new").spill()
    assert mem.session("new").recall("otter").hint == ""


# Wrong keys


class Seconds:
    """A monotonic clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_wrong_keys_are_limited_by_the_address_they_come_from(mem: Memotherm) -> None:
    """429 with Retry-After until the minute has passed; a key that has worked from there goes on working."""
    keys, seconds = mem.keys, Seconds()
    secret, other = keys.create("acme", "acme"), keys.create("globex", "globex")
    with asking(mem, require_keys=True, monotonic=seconds) as client:
        assert client.get("/status", headers=bearer(secret)).status_code == 200
        answers = [client.get("/status", headers=bearer(f"wrong-{n}")) for n in range(40)]
        refused = next(number for number, answer in enumerate(answers) if answer.status_code == 429)
        limited = problem(answers[-1], 429, "too_many_failures")

        assert 0 < refused <= 20
        assert {answer.status_code for answer in answers[:refused]} == {401}
        assert {answer.status_code for answer in answers[refused:]} == {429}
        assert 0 < int(answers[-1].headers["retry-after"]) <= 60
        assert "API key" in limited["detail"]
        assert client.get("/status", headers=bearer(secret)).status_code == 200
        assert client.get("/status", headers=bearer(other)).status_code == 429, "an untried key may be a guess"
        assert client.get("/health").status_code == 200
        seconds.now += 61
        assert client.get("/status", headers=bearer(other)).status_code == 200
        assert client.get("/status", headers=bearer("wrong")).status_code == 401


def test_a_missing_key_is_not_a_failed_attempt(mem: Memotherm) -> None:
    """Requests without a key guess nothing, and do not lock anybody out."""
    secret = mem.keys.create("acme", "acme")
    with asking(mem, require_keys=True, monotonic=Seconds()) as client:
        assert {client.get("/status").status_code for _ in range(40)} == {401}
        assert client.get("/status", headers=bearer(secret)).status_code == 200


def test_a_listing_takes_a_priority(client: TestClient) -> None:
    """A parameter that is not known would be ignored, and the page have every memory."""
    for content, priority in (("An otter", "pinned"), ("A badger", "normal")):
        client.post("/memories", json={"content": content, "kind": "fact", "priority": priority})
    assert [each["content"] for each in client.get("/memories?priority=pinned").json()["memories"]] == ["An otter"]


def test_listings_and_recalls_are_filtered_by_http(client: TestClient) -> None:
    """By metadata and by time, with the same words as in Python."""
    for content, metadata in (("deploy the shop", {"status": "open", "n": 5}), ("deploy it all", {"status": "done"})):
        client.post("/memories", json={"content": content, "metadata": metadata})

    def found(**filters: Any) -> list[str]:
        listed = client.post("/memories:find", json=filters).json()["memories"]
        recalled = client.post("/recall", json={"query": "deploy", **filters}).json()["items"]
        assert sorted(each["id"] for each in listed) == sorted(each["id"] for each in recalled)
        return [each["content"] for each in listed]

    assert found(where={"status": "open"}) == found(where={"n": {"$gte": 5, "$lt": 6}}) == ["deploy the shop"]
    assert found(where={"n": {"$exists": False}}) == ["deploy it all"]
    assert len(found(since="1h")) == 2
    assert found(until="2026-01-31T12:00:00Z", since="2026-01-31", where={}) == []
    assert len(client.get("/memories", params={"since": "1h", "retention": "any"}).json()["memories"]) == 2
    for wrong in ({"where": {"n": {"$like": 1}}}, {"where": {"n": {"$gt": None}}}, {"since": "yesterday"}):
        problem(client.post("/memories:find", json=wrong), 422, "invalid_input")


def test_many_memories_are_changed_by_http_when_their_number_is_confirmed(client: TestClient) -> None:
    """A dry run tells the number, and another number changes nothing."""
    for number in range(3):
        client.post("/memories", json={"content": f"ticket {number}", "kind": "fact", "metadata": {"sprint": 12}})
    body: Json = {"where": {"sprint": 12}}

    assert client.post("/memories:forget", json={**body, "dry_run": True}).json() == {
        "count": 3, "dry_run": True, "memories": []
    }  # fmt: skip
    assert "count=3" in client.post("/memories:forget", json=body).json()["detail"]
    assert client.post("/memories:forget", json={**body, "count": 2}).status_code in (409, 412)
    assert client.post("/memories:forget", json={"count": 3}).status_code == 409
    assert len(client.get("/memories").json()["memories"]) == 3
    assert client.post("/memories:forget", json={**body, "count": 3}).json()["dry_run"] is False
    assert client.get("/memories").json()["memories"] == []
    assert client.post("/memories:restore", json={**body, "count": 3}).json()["count"] == 3
    assert client.post("/memories:purge", json={**body, "count": 3}).json()["count"] == 3
    assert client.get("/memories?retention=any").json()["memories"] == []


def test_a_key_looks_inside_its_own_tenant_only(mem: Memotherm) -> None:
    """Scopes, counts, listings, recalls and hints name nothing of another tenant."""
    key = mem.keys.create("ours", "acme")
    mem.scoped(tenant="acme", project="web").remember("acme drinks tea")
    mem.scoped(tenant="rival", project="spy").remember("rivals drink tea")
    with asking(mem, require_keys=True) as client:
        client.headers.update(bearer(key))
        own = {"tenant": "acme", "project": "web"}

        assert [each["scope"] for each in client.get("/scopes").json()["scopes"]] == [own]
        assert client.get("/status?include_narrower=true").json()["warm"]["items"] == 1
        assert [each["scope"] for each in client.get("/memories?include_narrower=true").json()["memories"]] == [own]
        hits = client.post("/recall", json={"query": "tea", "include_narrower": True}).json()["items"]
        assert [hit["scope"] for hit in hits] == [own]
        for answer in (client.get("/status"), client.get("/memories"), client.post("/recall", json={"query": "tea"})):
            assert "project=web (1)" in answer.json()["hint"]
            assert "rival" not in answer.text
        assert (
            client.post("/recall", json={"query": "tea", "include_narrower": True, "promote": True}).status_code == 409
        )


def test_notes_are_curated_by_http(tmp_path: Path) -> None:
    """Lines of a daily note go to MEMORY.md; without notes it is 404."""
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "2026-01-05.md").write_text("- Ana owns the vault.\n", "utf-8")
    body = {"path": "memory/2026-01-05.md", "from_line": 1}

    with opened(tmp_path / "a.db", settings={"notes_root": str(tmp_path)}) as mem, asking(mem) as client:
        assert client.post("/notes/curate", json={**body, "dry_run": True}).json()["endLine"] == 0
        assert client.post("/notes/curate", json=body).json()["lines"] == ["- Ana owns the vault."]
    assert (tmp_path / "MEMORY.md").read_text("utf-8") == "- Ana owns the vault.\n"
    with opened(tmp_path / "b.db") as mem, asking(mem) as client:
        problem(client.post("/notes/curate", json=body), 404, "not_found")


# Policies


def test_a_replay_returns_its_report(tmp_path: Path) -> None:
    """The one of the scope; a past without questions, and no policy, are refused."""
    body = {"policies": [{"name": "builtin"}]}
    with opened(tmp_path / "memory.db") as mem, asking(mem) as client:
        problem(client.post("/policy/replay", json=body), 422, "invalid_input")
        mem.remember("we use SQLite")
        mem.recall("SQLite")
        report = client.post("/policy/replay", json=body).json()
        assert [row["name"] for row in report["policies"]] == ["everything", "builtin", "recorded"]
        problem(client.post("/policy/replay", json=body, headers={"memotherm-scope": "user=ana"}), 422, "invalid_input")
        problem(client.post("/policy/replay", json={"policies": []}), 422, "invalid_input")


def test_a_policy_is_linted_adopted_and_rolled_back(tmp_path: Path) -> None:
    """By its text or by the name of one of the package; a tenant's key can do none of it."""
    rule = '[policy]\nname = "house"\nextends = "builtin"\n[[rule]]\nid = "house.cold"\nto = "cold"\nwhy = "old"\n'
    house = {"text": rule + 'when = { kind = "message", tier = "warm", uses = 0, idle = ">= 0d" }\n'}
    with opened(tmp_path / "memory.db") as mem, asking(mem) as client:
        said = mem.remember("good morning", kind="message", tier="warm")
        wrong = client.post("/policy/lint", json={"text": '[[rule]]\nid = "a"\nto = "cod"\n'}).json()
        assert wrong["findings"][0]["code"] == "P002"
        assert client.post("/policy/test", json={"name": "research"}).json()["failed"] == 0
        problem(client.post("/policy/adopt", json={"text": "[[rule]]"}), 422, "policy")
        problem(client.post("/policy/adopt", json={"name": "research", **house}), 422, "invalid_input")
        problem(client.post("/policy/adopt", json={"name": "/etc/passwd"}), 422, "invalid_input")
        differences = client.post("/policy/diff", json={"second": house}).json()["differences"]
        assert [difference["memory"]["id"] for difference in differences] == [said.id]
        adopted = client.post("/policy/adopt", json=house).json()
        assert client.post("/compact").json()["moves"][0]["policy"] == adopted["hash"]
        assert client.get("/policy").json()["hash"] == adopted["hash"]
        assert [move["id"] for move in client.post("/policy/rollback").json()["moves"]] == [said.id]
        problem(client.post("/policy/rollback"), 404, "not_found")
        secret = mem.keys.create("ci", "acme")
        problem(client.get("/policy", headers={"authorization": f"Bearer {secret}"}), 403, "forbidden")
