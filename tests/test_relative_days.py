"""Words such as "tomorrow" are shown with the dates that they meant."""

from __future__ import annotations

from datetime import date

import pytest

from memotherm import Memotherm
from memotherm.testing import FakeClock
from memotherm.text.relative_days import with_dates

TUESDAY = date(2026, 11, 3)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("The demo is due Friday", "The demo is due Friday (2026-11-06)"),
        ("We meet tomorrow", "We meet tomorrow (2026-11-04)"),
        ("Das muss bis Freitag fertig sein", "Das muss bis Freitag (2026-11-06) fertig sein"),
        ("Wir sehen uns morgen", "Wir sehen uns morgen (2026-11-04)"),
        ("Guten Morgen", "Guten Morgen"),
        ("Entrega antes del viernes", "Entrega antes del viernes (2026-11-06)"),
        ("por la mañana", "por la mañana"),
        ("Нужно до пятницы", "Нужно до пятницы (2026-11-06)"),
        ("周五之前交报告", "周五之前 (2026-11-06)交报告"),
        ("明天开会", "明天 (2026-11-04)开会"),
        ("until Tuesday", "until Tuesday (2026-11-10)"),
        ("We deploy on Tuesdays", "We deploy on Tuesdays"),
        ("today and Friday", "today and Friday"),
        ("", ""),
    ],
)
def test_a_relative_day_is_followed_by_its_date(text: str, shown: str) -> None:
    """In several languages; words with another meaning stay as they are."""
    assert with_dates(text, TUESDAY) == shown


def test_a_day_beyond_the_calendar_stays_as_it_is() -> None:
    """There is no day after the last one."""
    assert with_dates("tomorrow", date.max) == "tomorrow"


def test_a_context_shows_the_date_of_a_deadline(mem: Memotherm, clock: FakeClock) -> None:
    """Relative to the day of the statement, not to today; the stored content stays as it is."""
    memory = mem.remember("The calendar export is due Friday", tier="hot")
    stated = clock.now.date()
    clock.advance(days=30)

    assert with_dates("due Friday", stated) in mem.context().text
    assert mem.get(memory.id).content == "The calendar export is due Friday"
