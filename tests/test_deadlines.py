"""Deadlines of tasks: read from their texts, in order in the agenda, and overdue once."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from memotherm import Memotherm
from memotherm.testing import FakeClock
from memotherm.text.relative_days import due_day

MONDAY = date(2026, 9, 7)


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("VAT report is due on the 14th, please remind me", date(2026, 9, 14)),
        ("insurance for the van needs renewing before the 5th", date(2026, 10, 5)),
        ("need to write the postmortem by friday", date(2026, 9, 11)),
        ("the evidence has to be uploaded until end of may", date(2027, 5, 31)),
        ("the contract has to be signed this week", date(2026, 9, 13)),
        ("The report is due on 3 March", date(2027, 3, 3)),
        ("Submit it by October 2nd, 2028", date(2028, 10, 2)),
        ("Send it by 2026-11-01", date(2026, 11, 1)),
        ("die Auskunft muss bis zum 20. raus", date(2026, 9, 20)),
        ("Abgabe bis 3. Oktober", date(2026, 10, 3)),
        ("il me faut les CGV relues avant fin octobre", date(2026, 10, 31)),
        ("hay que hacer el pedido antes del viernes", date(2026, 9, 11)),
        ("отчёт надо сдать до 15 ноября", date(2026, 11, 15)),
        ("月底前要做一次压测", date(2026, 9, 30)),
        ("報告書は9月20日まで", date(2026, 9, 20)),
        ("call Bob back", None),
        ("fix port 5432 of the 40th host", None),
    ],
)
def test_the_text_of_a_task_says_until_when(mem: Memotherm, text: str, due: date | None) -> None:
    """The next such day after it was said, in the metadata of the captured task."""
    assert due_day(text, MONDAY) == due
    captured = mem.capture(text, kind="task", at=datetime(2026, 1, 5, tzinfo=UTC)).memory
    assert captured is not None
    assert ("due" in captured.metadata) == (due is not None)


def test_the_agenda_is_in_the_order_of_deadlines(mem: Memotherm) -> None:
    """Those without one come last."""
    for text in ("todo: clean the shed", "The report is due on 2027-03-03", "The invoice is due on 2026-12-01"):
        mem.capture(text)

    found = [entry.memory.content for entry in mem.context("what is coming up?").included]
    assert [text.split()[1] for text in found] == ["invoice", "report", "clean"]


def test_an_overdue_task_is_at_the_next_start_and_then_no_more(mem: Memotherm, clock: FakeClock) -> None:
    """Until a session has ended since, or a week is over; asked for, it is still open."""
    clock.now = datetime(2026, 9, 7, tzinfo=UTC)
    mem.capture("VAT report is due on the 14th, please remind me")
    assert "overdue" not in mem.session("s1").session_start().text

    clock.now = datetime(2026, 9, 16, tzinfo=UTC)
    assert "overdue since 14 September: VAT report" in mem.session("s2").session_start().text
    mem.remember("Session of 2026-09-16\nSaid: nothing", "summary", key="session/s2/summary", index=False)
    clock.advance(days=1)
    assert "VAT report" not in mem.session("s3").session_start().text
    assert "overdue since 14 September: VAT report" in mem.context("what's still open?").text
    assert len(mem.tasks()) == 1
