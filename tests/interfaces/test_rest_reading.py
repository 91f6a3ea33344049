"""Over HTTP: the page of the interface, purge, recalls of an earlier state, notes, and the stream of events."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from memotherm import Memotherm, ReadOnly
from tests.helpers import opened
from tests.interfaces.served import served
from tests.interfaces.test_rest import asking, problem


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Memotherm]:
    with opened(tmp_path / "memory.db") as found:
        yield found
        assert found.check() == []


@pytest.fixture
def client(mem: Memotherm) -> Iterator[TestClient]:
    with asking(mem) as found:
        yield found


def test_a_memory_is_purged_once(mem: Memotherm, client: TestClient) -> None:
    """Its content is gone; a repeated request with the same key is answered as the first."""
    made = client.post("/memories", json={"content": "An otter", "kind": "fact"}).json()
    place, key = f"/memories/{made['id']}", {"idempotency-key": "k1"}

    assert client.post(f"{place}/purge", json={"why": "asked for"}, headers=key).status_code == 204
    problem(client.get(place), 404, "not_found")
    assert client.post(f"{place}/purge", json={"why": "asked for"}, headers=key).status_code == 204
    problem(client.post(f"{place}/purge"), 404, "not_found")
    assert client.get(f"{place}/history").json()["events"][-1]["why"] == "asked for"


def test_a_recall_answers_from_an_earlier_state(client: TestClient) -> None:
    """A time in the format of the responses, or one that says what is wrong with it."""
    made = client.post("/memories", json={"content": "The otter lives in Oslo"}).json()
    then = (datetime.fromisoformat(made["created_at"]) + timedelta(microseconds=1)).isoformat()
    client.patch(f"/memories/{made['id']}", json={"content": "The otter lives in Rome"})
    body = {"query": "where does the otter live"}

    def recalled(**more: str) -> list[str]:
        return [hit["content"] for hit in client.post("/recall", json={**body, **more}).json()["items"]]

    assert recalled() == ["The otter lives in Rome"]
    assert recalled(as_of=then) == ["The otter lives in Oslo"]
    assert recalled(as_of=(datetime.now(UTC) - timedelta(days=1)).isoformat()) == []
    assert "Oslo" in client.post("/context", json={**body, "as_of": then}).json()["text"]
    for path, wrong in product(("/recall", "/context"), ("yesterday", "2026-01-31T12:00:00")):
        problem(client.post(path, json={**body, "as_of": wrong}), 422, "invalid_input")


def test_notes_are_searched_and_read_and_a_reader_writes_none(tmp_path: Path) -> None:
    """A key that may only read finds what is indexed; a view that may only be read changes no file."""
    notes = tmp_path / "notes"
    (notes / "memory").mkdir(parents=True)
    (notes / "memory" / "2026-01-26.md").write_text("# Day\n\n- The otter lives in Oslo\n")
    with opened(tmp_path / "memory.db", settings={"notes_root": str(notes)}) as mem:
        keys = mem.keys
        reader, writer = (
            {"authorization": f"Bearer {keys.create(name, 'acme', read_only=name == 'reader')}"}
            for name in ("reader", "writer")
        )
        body = {"query": "where does the otter live", "min_score": 0}
        with asking(mem) as client:
            for key in (writer, reader):
                (hit,) = client.post("/notes/search", json=body, headers=key).json()["results"]
                assert (hit["path"], "Oslo" in hit["snippet"]) == ("memory/2026-01-26.md", True)
                text = client.get("/notes/lines", params={"path": hit["path"], "from_line": 3}, headers=key).json()
                assert text["text"].strip() == "- The otter lives in Oslo"
        reading = mem.read_only().notes(notes)
        for write in (
            lambda: reading.append("A lynx"),
            lambda: reading.curate("memory/2026-01-26.md"),
        ):
            with pytest.raises(ReadOnly):
                write()
        assert [path.name for path in notes.rglob("*.md")] == ["2026-01-26.md"]


@pytest.mark.slow
def test_events_are_streamed_and_the_stream_ends_with_the_server(tmp_path: Path) -> None:
    """After Last-Event-ID, then as they are recorded; only those that the scope can see."""
    with served(tmp_path / "memory.db") as server:
        server.ask("POST", "/memories", {"content": "One otter", "kind": "fact"})
        server.ask("POST", "/memories", {"content": "Two otters"})
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=60)
        connection.request("GET", "/events/stream", headers={"Last-Event-ID": "1", "Memotherm-Scope": "user=ana"})
        stream = connection.getresponse()
        assert stream.headers["content-type"].startswith("text/event-stream")

        def received() -> list[str]:
            """Return the lines of the next event."""
            lines: list[str] = []
            while not lines or lines[-1]:
                lines.append(stream.readline().decode().rstrip("\n"))
            return lines[:-1]

        assert received() == ["retry: 1000", "id: 1", "event: connected", 'data: {"seq": 1}']
        assert received()[:2] == ["id: 2", "event: remember"]
        server.ask("POST", "/memories", {"content": "An otter of Ben"}, {"memotherm-scope": "user=ben"})
        _, made = server.ask("POST", "/memories", {"content": "An otter of Ana"}, {"memotherm-scope": "user=ana"})
        number, _, data = received()
        assert number == "id: 4"
        assert json.loads(data.removeprefix("data: "))["id"] == made["id"]
        assert server.end() == 0
        assert stream.read() == b""
        connection.close()
