"""The time in which a memory holds, beside the time when it was stored."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from memotherm import Memotherm
from memotherm.cli.app import run
from memotherm.errors import InvalidInput
from memotherm.mcp.results import concise
from memotherm.rest.app import application
from memotherm.testing import FakeClock
from memotherm.tools import call


def test_what_held_is_another_question_than_what_was_known(mem: Memotherm, clock: FakeClock) -> None:
    """`true_at` asks for the one, `as_of` for the other; nothing is deleted."""
    frozen = mem.remember("Deploys of the shop are frozen", valid_from="2026-01-10", valid_until="2026-01-20")
    always = mem.remember("Deploys of the shop run from main")

    def true_at(day: str) -> set[str]:
        found = {hit.memory.id for hit in mem.recall("deploys of the shop", true_at=day, track=False)}
        assert {memory.id for memory in mem.find(true_at=day)} == found
        return found

    assert true_at("2026-01-09") == {always.id}
    assert true_at("2026-01-20") == {frozen.id, always.id}
    assert true_at("2026-01-21") == {always.id}
    clock.advance(days=60)
    assert len(mem.recall("deploys of the shop", track=False).hits) == 2
    assert mem.update(frozen.id, valid_until="2026-05-01").valid_until == datetime(2026, 5, 2, tzinfo=UTC)
    assert frozen.id in true_at("2026-04-30")
    with pytest.raises(InvalidInput, match="true_at"):
        mem.find(true_at="soon")


def test_contexts_say_until_when_and_leave_out_what_no_longer_holds(mem: Memotherm, clock: FakeClock) -> None:
    """The receipt names what was left out."""
    mem.remember("Deploys of the shop are frozen", valid_until="2026-01-09")

    assert ", until 2026-01-09: Deploys of the shop" in mem.context("deploys of the shop").text
    clock.advance(days=30)
    context = mem.context("deploys of the shop")
    assert context.text == ""
    assert "no longer holds" in context.receipt.left_out[0].reason


def test_contexts_leave_out_what_does_not_hold_yet(mem: Memotherm, clock: FakeClock) -> None:
    """From its first day on they have it; a recall finds it before."""
    mem.remember("Deploys of the shop are frozen", valid_from="2026-01-20", tier="hot")
    context = mem.context("deploys of the shop")
    assert context.text == ""
    assert "does not hold yet" in context.receipt.left_out[0].reason
    assert mem.recall("deploys of the shop").hits
    clock.advance(days=30)
    assert "frozen" in mem.context("deploys of the shop").text


@pytest.mark.parametrize("bounds", [{"valid_until": "2025-12-31"}, {"valid_from": "2026-03-01"}])
@pytest.mark.parametrize("priority", ["normal", "pinned"])
def test_a_memory_that_holds_is_no_duplicate_of_one_that_does_not(
    mem: Memotherm, bounds: dict[str, str], priority: str
) -> None:
    """The same content was stored for another time in a wider scope; the context has the one that holds."""
    lapsed = mem.remember("The gate code is 4711", tier="hot", priority=priority, **bounds)
    user = mem.scoped(user="ana")
    holds = user.remember("The gate code is 4711")
    context = user.context("gate code")

    assert holds.id != lapsed.id
    assert [entry.id for entry in context.included] == [holds.id]
    assert [(entry.id, entry.rule) for entry in context.left_out] == [(lapsed.id, next(iter(bounds)))]


def test_what_is_stated_again_after_its_end_holds_again(mem: Memotherm, clock: FakeClock) -> None:
    """Without an end, or until another one; before its end, a repetition does not change when it holds."""
    stated = mem.remember("Deploys of the shop are frozen", valid_until="2026-01-09")
    assert mem.remember("Deploys of the shop are frozen").valid_until == stated.valid_until
    clock.advance(days=30)
    assert mem.context("deploys of the shop").text == ""

    until = mem.remember("Deploys of the shop are frozen", valid_until="2026-02-20")
    assert (until.id, until.valid_until) == (stated.id, datetime(2026, 2, 21, tzinfo=UTC))
    clock.advance(days=30)
    again = mem.remember("Deploys of the shop are frozen")
    assert (again.id, again.valid_until) == (stated.id, None)
    assert "frozen" in mem.context("deploys of the shop").text
    mem.undo(mem.history(stated.id)[-1].seq)
    assert mem.context("deploys of the shop").text == ""


def test_pinned_memories_that_do_not_hold_take_no_place(open_mem: Callable[..., Memotherm]) -> None:
    """`max_pinned` counts those that hold, although the newer ones have ended."""
    mem = open_mem(settings={"max_pinned": 2})
    rules = [mem.remember(f"Rule {number}: ask first") for number in (1, 2)]
    user = mem.scoped(user="ana")
    for number in (3, 4):
        user.remember(f"Rule {number}: ask later", valid_until="2025-12-31", priority="pinned")
    for rule in rules:
        mem.pin(rule.id)
    context = user.context()

    assert {entry.id for entry in context.included} == {rule.id for rule in rules}
    assert not context.pinned_cut


def test_tasks_that_have_ended_do_not_displace_open_ones(mem: Memotherm, clock: FakeClock) -> None:
    """A session begins with open tasks, although those with the earliest end come first."""
    for number in range(6):
        mem.remember(f"Prepare the review of week {number}", kind="task", valid_until="2026-01-06")
    clock.advance(days=5)
    mem.remember("Order the new badges", kind="task")

    assert "Order the new badges" in mem.context("what is still to do?").text


@pytest.mark.sqlite
def test_every_interface_says_until_when_a_hit_holds(
    open_mem: Callable[..., Memotherm], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also of what no longer holds."""
    mem = open_mem(tmp_path / "memory.db")
    mem.remember("Deploys are frozen", valid_from="2025-01-01", valid_until="2025-02-01")
    assert run(["recall", "deploys", "--store", str(tmp_path / "memory.db")]) == 0
    assert "from 2025-01-01  until 2025-02-01" in capsys.readouterr().out
    end = datetime(2025, 2, 2, tzinfo=UTC)
    assert mem.recall("deploys").hits[0].memory.valid_until == end
    client = TestClient(application(mem), base_url="http://127.0.0.1:8077")
    assert "2025-02-02T00:00" in client.post("/recall", json={"query": "deploys"}).json()["items"][0]["valid_until"]
    assert "2025-02-02T00:00" in concise(call(mem, "memory_recall", {"query": "deploys"}))["items"][0]["valid_until"]


@pytest.mark.parametrize(
    ("text", "until"),
    [
        ("Deploys of the shop are frozen until Friday", datetime(2026, 1, 10, tzinfo=UTC)),
        ("Der Zugang zum Server bleibt bis Freitag gesperrt", datetime(2026, 1, 10, tzinfo=UTC)),
        ("La tienda está cerrada hasta mañana por obras", datetime(2026, 1, 7, tzinfo=UTC)),
        ("商店的部署冻结到周五", datetime(2026, 1, 10, tzinfo=UTC)),
        ("The office is closed until 2026-02-01", datetime(2026, 2, 2, tzinfo=UTC)),
        ("The report is due by Friday", None),
        ("The flight lands at 11:15. I have put it on hold until Friday.", None),
        ("Don't forget to keep the lights on until Friday", None),
    ],
)
def test_a_captured_text_says_how_long_it_holds(mem: Memotherm, text: str, until: datetime | None) -> None:
    """A deadline is none: a task that is late is still open."""
    captured = mem.capture(text)  # on a Monday

    assert captured.memory is not None
    assert captured.memory.valid_until == until
