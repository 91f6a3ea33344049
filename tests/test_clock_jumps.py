"""A clock that jumps ahead erases nothing, a day without maintenance is no obstacle, and a clock may be set back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memotherm import Memotherm, NotFound
from memotherm.testing import FakeClock
from memotherm.tiers import engine

Open = Callable[..., Memotherm]


@pytest.fixture
def system_clock(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check the clock of the test as if it were that of the system; a custom clock is trusted."""
    monkeypatch.setattr(engine, "system_clock", clock)


@pytest.mark.usefixtures("system_clock")
def test_a_jump_ahead_purges_nothing_that_is_in_its_grace(open_mem: Open, clock: FakeClock) -> None:
    """The run and the status say that purging waits, and after the clock is set back the memory can be restored."""
    mem = open_mem()
    memory = mem.remember("deleted by mistake")
    mem.recall("deleted by mistake")
    mem.maintain()
    clock.advance(hours=1)
    mem.forget(memory.id)

    clock.advance(days=400)
    runs = [mem.maintain() for _ in range(3)]
    status = mem.status()
    clock.advance(days=-400)
    after = mem.maintain()

    assert [run.purged for run in (*runs, after)] == [0, 0, 0, 0]
    assert all("the clock jumped ahead" in reason for run in runs for reason in run.degraded)
    assert "the clock jumped ahead" in status.degraded[-1]
    assert after.degraded == mem.status().degraded == ()
    assert "deleted by mistake" in str(mem.inspect.everything().recalls), "the log of recalls was not trimmed"
    assert mem.restore(memory.id).content == "deleted by mistake"


@pytest.mark.usefixtures("system_clock")
def test_a_store_that_was_not_used_for_a_month_purges_a_day_later(open_mem: Open, clock: FakeClock) -> None:
    """Time that really passed looks like a jump, so that purging waits for a run one day after the first."""
    mem = open_mem()
    memory = mem.remember("forgotten before the holidays")
    mem.forget(memory.id)
    mem.maintain()

    purged = []
    for hours in (30 * 24, 23, 1):
        clock.advance(hours=hours)
        purged.append(mem.maintain().purged)

    assert purged == [0, 0, 1]
    with pytest.raises(NotFound):
        mem.get(memory.id)


@pytest.mark.usefixtures("system_clock")
def test_regular_runs_purge_at_the_end_of_the_grace(open_mem: Open, clock: FakeClock) -> None:
    """With a run every day the check delays nothing, also after a clock that was ahead is set back."""
    mem = open_mem()
    clock.advance(days=1000)
    mem.maintain()
    clock.advance(days=-1000)
    mem.forget(mem.remember("no longer wanted").id)
    purged = []
    for _ in range(7):
        clock.advance(days=1)
        purged.append(mem.maintain().purged)

    assert purged == [0, 0, 0, 0, 0, 0, 1]


@pytest.mark.usefixtures("system_clock")
def test_rare_runs_purge_what_the_run_before_found_past_its_grace(open_mem: Open, clock: FakeClock) -> None:
    """Every run looks like a jump to the one before, but not every one can be wrong about the same memory."""
    mem = open_mem()
    mem.forget(mem.remember("no longer wanted").id)
    mem.maintain()
    purged = []
    for _ in range(2):
        clock.advance(days=8)
        purged.append(mem.maintain().purged)

    assert purged == [0, 1]


def test_a_clock_that_the_program_gives_is_believed(open_mem: Open, clock: FakeClock) -> None:
    """By default only the system clock is checked, which others may set."""
    mem = open_mem()
    mem.forget(mem.remember("no longer wanted").id)
    mem.maintain()
    clock.advance(days=8)

    assert mem.maintain().purged == 1
