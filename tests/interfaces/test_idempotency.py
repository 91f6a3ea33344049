"""A change and the response to it are committed together: a server that is killed leaves both, or neither."""

from __future__ import annotations

import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import memotherm
from memotherm import Memotherm, Settings
from memotherm.errors import StoreFull
from memotherm.rest.app import application
from memotherm.storage.sqlite.store import SqliteStore
from memotherm.testing import HashEmbedder
from tests.helpers import together
from tests.interfaces.served import environment, served
from tests.stores import located

#: A server that is killed while it stores the response to a request: `before` or `after` the statement.
KILLED = """
import os, signal, sys
from starlette.testclient import TestClient
from memotherm import Memotherm, Settings
from memotherm.rest.app import application
from memotherm.testing import HashEmbedder

url, moment = sys.argv[1:]
if "://" in url:
    from memotherm.storage.postgres.store import PostgresStore as Base
else:
    from memotherm.storage.sqlite.store import SqliteStore as Base


class Store(Base):
    def put_value(self, namespace, key, value, *arguments, **options):
        if moment == "before" and '"body"' in value:
            os.kill(os.getpid(), signal.SIGKILL)
        existing = super().put_value(namespace, key, value, *arguments, **options)
        if moment == "after" and '"body"' in value:
            os.kill(os.getpid(), signal.SIGKILL)
        return existing


mem = Memotherm(Store(url, Settings()), HashEmbedder())
client = TestClient(application(mem), "http://127.0.0.1")
client.post("/sessions/chat/memories", json={"content": "An otter, once"}, headers={"idempotency-key": "k1"})
"""


@pytest.fixture
def url(tmp_path: Path, store_kind: str) -> str:
    return str(located(tmp_path / "memory.db"))


class FullStore(SqliteStore):
    """A store with no space left for responses."""

    def put_value(
        self, namespace: str, key: str, value: str, now: datetime, expires: datetime | None, *, replace: bool
    ) -> str | None:
        raise StoreFull("no space left")


class ContestedStore(SqliteStore):
    """A store where other requests take an Idempotency-Key first, and are then undone."""

    others = 0

    def put_value(
        self, namespace: str, key: str, value: str, now: datetime, expires: datetime | None, *, replace: bool
    ) -> str | None:
        if ContestedStore.others and namespace == "replies":
            ContestedStore.others -= 1
            return value
        return super().put_value(namespace, key, value, now, expires, replace=replace)


def ask(mem: Memotherm) -> Any:
    """Send the request of the killed server to another one."""
    client = TestClient(application(mem), "http://127.0.0.1", raise_server_exceptions=False)
    body, headers = {"content": "An otter, once"}, {"idempotency-key": "k1"}
    return client.post("/sessions/chat/memories", json=body, headers=headers)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("store_kind", "moment"),
    [("sqlite", "before"), ("sqlite", "after"), ("postgres", "after")],
    indirect=["store_kind"],
)
def test_a_server_that_is_killed_leaves_the_change_and_its_response_or_neither(
    url: str, tmp_path: Path, moment: str
) -> None:
    """Another server carries the repeated request out once, and a third request gets the same response."""
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, url, moment], env=environment(tmp_path), capture_output=True, text=True
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr

    with memotherm.open(url, embedder="none") as mem:
        stored = len(mem.scoped(session="chat").events())
        assert stored == len(mem.store.key_value("replies").all())
        repeated, again = ask(mem), ask(mem)

        assert (repeated.status_code, again.status_code) == (201, 201), repeated.text
        assert again.json() == repeated.json()
        assert len(mem.scoped(session="chat").events()) == 1
        assert mem.check() == []


def test_no_change_is_made_whose_response_cannot_be_stored(tmp_path: Path) -> None:
    """Every request that is one change is rolled back if its response does not fit."""
    with Memotherm(FullStore(str(tmp_path / "memory.db"), Settings()), HashEmbedder()) as mem:
        chat = mem.scoped(session="chat")
        hot, pinned = mem.session("chat").add("An otter"), mem.remember("A heron", priority="pinned")
        cold, _ = chat.remember("A badger", tier="cold"), chat.remember("A vole", tier="cold")
        mem.remember("A marten", tags=["rare"])
        one, two = mem.archive(mem.remember("A kite").id), mem.archive(mem.remember("A crane").id)
        changes: list[tuple[str, dict[str, Any] | None]] = [
            ("/memories", {"content": "A lynx", "kind": "fact"}),
            (
                "/memories:batch",
                {"memories": [{"content": "A wolf", "kind": "fact"}, {"content": "A stoat", "kind": "fact"}]},
            ),
            (f"/memories/{pinned.id}/verify", None),
            (f"/memories/{pinned.id}/unpin", None),
            (f"/memories/{pinned.id}/prioritize", {"priority": "low"}),
            (f"/memories/{pinned.id}/move", {"tier": "cold"}),
            (f"/memories/{pinned.id}/archive", None),
            (f"/memories/{one.id}/restore", None),
            (f"/events/{two.version}/undo", None),
            (f"/memories/{one.id}/pin", None),
            ("/memories:forget", {"tags": ["rare"], "count": 1}),
            ("/memories:restore", {"tags": ["rare"], "count": 1}),
            ("/sessions/chat/memories", {"content": "A lynx"}),
            ("/sessions/chat/spill", {"ids": [hot.id]}),
            ("/sessions/chat/promote", {"memory_id": cold.id}),
            ("/sessions/chat/demote", {"memory_id": cold.id}),
            ("/sessions/chat/keep", {"memory_id": hot.id}),
            ("/sessions/chat/prune", {"keep": 0}),
            ("/sessions/chat/clear", None),
        ]
        client = TestClient(application(mem), "http://127.0.0.1", raise_server_exceptions=False)
        for number, (path, body) in enumerate(changes):
            before = mem.status().seq
            answer = client.post(path, json=body, headers={"idempotency-key": f"k{number}"})
            assert (path, answer.status_code, mem.status().seq) == (path, 507, before), answer.text
            assert client.post(path, json=body).status_code < 300
            assert mem.status().seq > before, path


@pytest.mark.parametrize(("others", "status"), [(2, 201), (100, 503)])
def test_a_request_is_carried_out_if_the_one_before_it_was_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: int, status: int
) -> None:
    """Once, or after a while not at all."""
    with Memotherm(ContestedStore(str(tmp_path / "memory.db"), Settings()), HashEmbedder()) as mem:
        monkeypatch.setattr(ContestedStore, "others", others)
        assert ask(mem).status_code == status
        assert len(mem.scoped(session="chat").events()) == (status == 201)


def test_a_request_that_was_undone_gives_nobody_its_scope(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next user's memory is theirs alone, whatever numbers the undone request had assigned."""
    settings = Settings(default_tier="hot")
    store = ContestedStore(str(tmp_path / "memory.db"), settings)
    with Memotherm(store, HashEmbedder(), settings=settings) as mem:
        client = TestClient(application(mem), "http://127.0.0.1", raise_server_exceptions=False)

        def post(user: str, path: str, body: Any = None, **headers: str) -> Any:
            return client.post(path, json=body, headers={"memotherm-scope": f"user={user}", **headers})

        for user in ("alice", "carol"):
            monkeypatch.setattr(ContestedStore, "others", 100)
            told = {"summary": f"{user} moved the billing job to the nightly queue"}
            for number in range(3):
                undone = post(user, f"/sessions/s{number}/end", told, **{"idempotency-key": "k"})
                assert undone.status_code == 503, undone.text
        monkeypatch.setattr(ContestedStore, "others", 0)
        for number in range(8):
            user = f"dave{number}"
            stored = post(user, "/memories", {"content": f"The plan of {user} is secret"}).json()
            assert stored["scope"] == {"user": user}
            pin = f"/memories/{stored['id']}/pin"
            assert [post(other, pin).status_code for other in ("alice", "carol", user)] == [404, 404, 200]
        assert mem.check() == []


@pytest.mark.slow
@pytest.mark.parametrize("store_kind", ["sqlite", "postgres"], indirect=True)
def test_parallel_requests_with_one_key_are_all_answered_as_the_first(url: str, tmp_path: Path) -> None:
    """Also those whose change another one has just made; none is answered with an error."""
    settings = {"MEMOTHERM_DUPLICATE_WINDOW_HOURS": "0", "MEMOTHERM_SERVER_RATE_PER_MINUTE": "0"}
    with served(tmp_path / "server.db", store=url, **settings) as server:
        for number in range(6):
            body, key = {"content": f"Otter of number {number}"}, {"idempotency-key": f"k{number}"}
            made = together(*[lambda body=body, key=key: server.ask("POST", "/memories", body, key)] * 12)
            (memory_id,) = {memory["id"] for _, memory in made}
            path, key = f"/memories/{memory_id}/purge", {"idempotency-key": f"p{number}"}
            gone = together(*[lambda path=path, key=key: server.ask("POST", path, None, key)] * 12)
            assert {status for status, _ in made} == {201}
            assert {status for status, _ in gone} == {204}, gone
        assert server.ask("GET", "/memories")[1]["memories"] == []


@pytest.mark.slow
def test_a_key_where_no_caller_is_known_is_ignored(tmp_path: Path) -> None:
    """Paths that need no API key keep no responses, and the others ask for one first."""
    once = {"idempotency-key": "k1"}
    with memotherm.open(tmp_path / "memory.db", embedder="none") as mem:
        mem.keys.create("a", "acme")
    with served(tmp_path / "memory.db") as server:
        for path, expected in (("/health", 405), ("/openapi.json", 405), ("/memories", 401)):
            for _ in range(2):
                status, told = server.ask("POST", path, {}, once)
                assert (path, status, told["status"]) == (path, expected, expected)
        assert server.ask("GET", "/health", None, once)[0] == 200
