"""A time of expiry, and the heat of a memory, in every interface."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from memotherm import Memotherm, tools
from memotherm.cli.app import run
from memotherm.errors import InvalidInput
from memotherm.rest.app import application
from memotherm.testing import FakeClock
from memotherm.tiers.rules.properties import HALF_LIFE_DAYS
from tests.helpers import opened

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = datetime(2026, 3, 31, 18, tzinfo=UTC)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOW)


@pytest.fixture
def mem(tmp_path: Path, clock: FakeClock) -> Iterator[Memotherm]:
    with opened(tmp_path / "memory.db", clock=clock) as found:
        yield found


@pytest.fixture
def client(mem: Memotherm) -> Iterator[TestClient]:
    with TestClient(application(mem), base_url="http://127.0.0.1") as found:
        yield found


@pytest.mark.parametrize("given", [LATER, LATER.astimezone(timezone(timedelta(hours=2))), "2026-03-31T20:00:00+02:00"])
def test_a_memory_expires_at_the_time_given(mem: Memotherm, clock: FakeClock, given: datetime | str) -> None:
    """As a datetime or as text, in any time zone; the lifetime until then decides the first tier, as a ttl does."""
    memory = mem.remember("an otter", expires_at=given)
    changed = mem.update(mem.remember("a walrus").id, expires_at=given)

    assert (memory.expires_at, changed.expires_at) == (LATER, LATER)
    assert (memory.tier, memory.tier_rule) == ("warm", "ttl")
    clock.advance(days=30, hours=6)
    assert len(mem.recall("otter walrus")) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"expires_at": datetime(2026, 3, 31, tzinfo=UTC), "ttl": "7d"}, "ttl and expires_at"),
        ({"expires_at": NOW}, "has passed"),
        ({"expires_at": datetime(2026, 3, 31)}, "time zone"),  # noqa: DTZ001
        ({"expires_at": "tomorrow"}, "write a date such as"),
        ({"expires_at": 1_800_000_000}, "datetime or text"),
    ],
)
def test_a_time_of_expiry_that_means_nothing_is_refused(mem: Memotherm, arguments: Any, message: str) -> None:
    """With an error that says what to write; nothing is stored or changed."""
    memory = mem.remember("a walrus")

    with pytest.raises(InvalidInput, match=message):
        mem.remember("an otter", **arguments)
    with pytest.raises(InvalidInput, match=message):
        mem.update(memory.id, **arguments)
    assert list(mem.find()) == [memory]


def test_expiry_is_set_over_rest_and_by_the_tool(mem: Memotherm, client: TestClient) -> None:
    """`expires_at` when a memory is stored or changed; a time that has passed is a conflict."""
    made = client.post("/memories", json={"content": "an otter", "kind": "fact", "expiresAt": "2026-03-31T18:00:00Z"})
    plain = client.post("/memories", json={"content": "a walrus", "kind": "fact"}).json()
    changed = client.patch(f"/memories/{plain['id']}", json={"expires_at": "2026-03-31T18:00:00Z"}).json()
    updated = tools.call(mem, "memory_update", {"memory_id": plain["id"], "expires_at": "2026-04-01T00:00:00Z"})

    assert made.status_code == 201
    assert made.json()["expires_at"] == changed["expires_at"] == LATER.isoformat()
    assert updated["expires_at"] == "2026-04-01T00:00:00+00:00"
    assert (
        client.post(
            "/memories", json={"content": "a seal", "kind": "fact", "expires_at": "2020-01-01T00:00:00Z"}
        ).status_code
        == 409
    )
    assert client.post("/memories", json={"content": "a seal", "kind": "fact", "expires_at": 7}).status_code == 422


def test_expiry_is_set_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--expires-at`, in UTC unless it has an offset; what is no time is an error of usage."""
    monkeypatch.setenv("MEMOTHERM_HOME", str(tmp_path))
    monkeypatch.setenv("MEMOTHERM_EMBEDDER", "none")

    def command(*arguments: str) -> Any:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            assert run([*arguments, "--store", str(tmp_path / "memory.db"), "--json"]) == 0
        return json.loads(printed.getvalue())

    stored = command("remember", "an otter", "--kind", "fact", "--expires-at", "2100-01-01 00:00")
    changed = command("update", stored["id"], "--expires-at", "2100-01-01T02:00:00+01:00")

    assert stored["expires_at"] == "2100-01-01T00:00:00+00:00"
    assert changed["expires_at"] == "2100-01-01T01:00:00+00:00"
    assert run(["remember", "an otter", "--expires-at", "tomorrow"]) == 2
    assert command("get", stored["id"])["decay"] > 0.99


def test_the_heat_of_a_memory_can_be_read(mem: Memotherm, client: TestClient, clock: FakeClock) -> None:
    """It grows with use and halves with every half-life; REST and the tool show what Python does."""
    memory = mem.remember("an otter")
    assert mem.inspect.heat(memory.id).heat == 0
    for _ in range(3):
        mem.recall("otter")
    used = mem.inspect.heat(memory.id)
    clock.advance(days=HALF_LIFE_DAYS)
    later = mem.inspect.heat(mem.find()[0])

    assert (used.heat, used.decay) == (2.0, 1.0)
    assert (later.heat, later.decay) == (1.0, 0.5)
    shown = client.get(f"/memories/{memory.id}").json()
    read = mem.inspect.heat(mem.find()[0])
    told = tools.call(mem, "memory_get", {"id": memory.id})
    assert later.heat < read.heat
    for answer in (shown, told):
        assert (answer["heat"], answer["decay"]) in ((later.heat, later.decay), (read.heat, read.decay))
