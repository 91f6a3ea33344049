"""The time in which a memory holds, beside the time when it was stored."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memotherm import Memotherm
from memotherm.errors import InvalidInput
from memotherm.testing import FakeClock


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
