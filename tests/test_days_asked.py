"""Questions for a day: what was said then, and not what mentions a day of that name."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memotherm import Memotherm
from memotherm.testing import FakeClock


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did we do last Thursday?", {"The parser was rewritten in Rust"}),
        ("what happened yesterday?", {"The demo is next Thursday at noon"}),
        ("Was haben wir gestern gemacht?", {"The demo is next Thursday at noon"}),
        ("我们昨天做了什么？", {"The demo is next Thursday at noon"}),
        ("¿Qué hicimos ayer?", {"The demo is next Thursday at noon"}),
        ("What did we work on this week?", {"The demo is next Thursday at noon", "Ana fixed the login page"}),
    ],
)
def test_a_question_for_a_day_is_answered_by_what_was_said_then(
    mem: Memotherm, clock: FakeClock, question: str, expected: set[str]
) -> None:
    """The time of what was said decides, not the name of a day in another memory."""
    for day, text in (
        (8, "The parser was rewritten in Rust"),  # a Thursday
        (12, "Ana fixed the login page"),
        (13, "The demo is next Thursday at noon"),
    ):
        clock.now = datetime(2026, 1, day, 9, tzinfo=UTC)
        mem.remember(text)
    clock.now = datetime(2026, 1, 14, 9, tzinfo=UTC)

    assert {hit.memory.content for hit in mem.recall(question, limit=len(expected))} == expected
    assert expected <= {entry.memory.content for entry in mem.context(question).included}


def test_a_question_with_a_subject_is_searched(mem: Memotherm, clock: FakeClock) -> None:
    """Its day is one sign among others."""
    mem.remember("The gateway is Kong")
    clock.advance(days=1)
    mem.remember("Ana likes tea")
    clock.advance(days=1)

    assert mem.recall("what is the gateway since yesterday?").hits[0].memory.content == "The gateway is Kong"
