"""Several servers use the coordinator of a cluster at once, as one server would."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

import memotherm
from memotherm import Memotherm
from tests.interfaces.served import Served, served
from tests.postgres import database, nodes

#: How many writes each thread has acknowledged before something happens.
_SOME = 5


@pytest.fixture(scope="module")
def mem() -> Iterator[Memotherm]:
    """A distributed store."""
    if not nodes():
        pytest.skip("there is no cluster: run `make citus`")
    with database(nodes()[0]) as url, memotherm.open(url, embedder="none") as found:
        yield found


@pytest.fixture(scope="module")
def key(mem: Memotherm) -> str:
    """The secret of a key of the tenant acme."""
    return mem.keys.create("ana", "acme", "ana")


@pytest.fixture(scope="module")
def servers(mem: Memotherm, key: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Served]]:
    """Two servers on the same store, each with a folder of its own, as on two machines."""
    with ExitStack() as stack:
        first, second = (
            stack.enter_context(served(tmp_path_factory.mktemp(name) / "unused", store=_url(mem), key=key))
            for name in ("first", "second")
        )
        yield first, second


def _url(mem: Memotherm) -> str:
    return mem.status().store


def test_two_servers_know_the_same(servers: tuple[Served, Served], key: str) -> None:
    """A session, a login, an idempotency key and the events of one server are known to the other one."""
    first, second = servers
    once = {"idempotency-key": "k1"}
    status, stored = first.ask("POST", "/sessions/chat/memories", {"content": "An otter, once"}, once)
    assert status == 201
    assert second.ask("POST", "/sessions/chat/memories", {"content": "An otter, once"}, once) == (201, stored)
    assert [each["id"] for each in second.ask("GET", "/sessions/chat/hot")[1]["memories"]] == [stored["id"]]

    _, visible = first.ask("POST", "/memories", {"content": "An otter swims"})
    first.ask("POST", "/recall", {"query": "otter"})
    assert second.ask("POST", "/policy/replay", {"policies": [{"name": "builtin"}]})[1]["questions"] == 1

    cookie = _login(first, key)
    name = f"memotherm-{second.url.rpartition(':')[2]}"
    assert _without_key(second).ask("GET", "/login", headers={"cookie": f"{name}={cookie}"})[1]["key"] == "ana"

    assert _first_event(second) == visible["id"]


def _without_key(server: Served) -> Served:
    return Served(url=server.url, process=server.process)


def _login(server: Served, key: str) -> str:
    """Return the cookie of a new login."""
    headers = {"authorization": f"Bearer {key}", "origin": server.url}
    request = urllib.request.Request(f"{server.url}/login", data=b"", method="POST", headers=headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(answer.headers["set-cookie"]).partition("=")[2].partition(";")[0]


def _first_event(server: Served) -> str:
    """Return the first event that a follower of the ledger receives."""
    headers = {"authorization": f"Bearer {server.key}", "last-event-id": "0"}
    request = urllib.request.Request(f"{server.url}/events/stream", headers=headers)
    with closing(urllib.request.urlopen(request, timeout=60)) as answer:
        for line in answer:
            if line.startswith(b"data:"):
                return str(json.loads(line.removeprefix(b"data:"))["id"])
    raise AssertionError("the stream ended")


class _Writer(threading.Thread):
    """Writes until it is told to end, or its server ends."""

    def __init__(self, server: Served) -> None:
        super().__init__()
        self.server = server
        self.ended = threading.Event()
        self.enough = threading.Event()
        #: The ids of what was acknowledged.
        self.written: list[str] = []
        self.failures = 0

    def run(self) -> None:
        """Write until the end."""
        while not self.ended.is_set():
            content = f"otter {len(self.written)} by {self.name}"
            try:
                status, stored = self.server.ask("POST", "/memories", {"content": content})
            except OSError:
                self.failures += 1
                break
            if status != 201:
                self.failures += 1
                break
            self.written.append(stored["id"])
            if len(self.written) % _SOME == 0:
                self.enough.set()


def test_a_server_is_restarted_while_another_one_goes_on(
    servers: tuple[Served, Served], mem: Memotherm, key: str, tmp_path: Path
) -> None:
    """Nothing acknowledged is lost, and clients of the other server notice nothing."""
    stopping, staying = map(_Writer, servers)
    for writer in (stopping, staying):
        writer.start()
    for writer in (stopping, staying):
        assert writer.enough.wait(60)
    assert stopping.server.end() == 0
    stopping.join(60)
    with served(tmp_path / "unused", store=_url(mem), key=key) as again:
        restarted = _Writer(again)
        staying.enough.clear()
        restarted.start()
        for writer in (restarted, staying):
            assert writer.enough.wait(60)
            writer.ended.set()
            writer.join(60)
    stored = {memory.id for memory in mem.scoped(tenant="acme", user="ana").find(limit=1000)}
    assert {*stopping.written, *staying.written, *restarted.written} <= stored
    assert (staying.failures, restarted.failures) == (0, 0)
    assert mem.check() == []
