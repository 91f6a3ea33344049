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


@pytest.mark.parametrize(
    "question",
    [
        "what did I do last March?", "what happened in March?", "What did we work on in March 2025?",
        "what did we do on March 17?", "what did I do 10 months ago?", "what did we decide in 2025?",
        "Was habe ich im März gemacht?", "¿Qué hice en marzo?", "qu'est-ce qu'on a fait en mars ?",
        "cosa abbiamo fatto a marzo?", "что мы делали в марте?",
    ],
)  # fmt: skip
def test_what_was_said_long_ago_is_found_in_cold(mem: Memotherm, clock: FakeClock, question: str) -> None:
    """Unless only other tiers are asked for: a question for a month is one for the archive."""
    clock.now = datetime(2025, 3, 17, 9, tzinfo=UTC)
    mem.remember("The parser was rewritten in Rust", tier="cold")
    clock.now = datetime(2026, 1, 14, 9, tzinfo=UTC)
    mem.remember("Ana likes tea")

    assert mem.recall(question).hits[0].memory.content == "The parser was rewritten in Rust"
    assert "rewritten in Rust" in mem.context(question).text
    assert all(hit.memory.tier != "cold" for hit in mem.recall(question, tiers=("hot",)))


def test_a_question_with_a_subject_is_searched(mem: Memotherm, clock: FakeClock) -> None:
    """Its day is one sign among others."""
    mem.remember("The gateway is Kong")
    clock.advance(days=1)
    mem.remember("Ana likes tea")
    clock.advance(days=1)

    assert mem.recall("what is the gateway since yesterday?").hits[0].memory.content == "The gateway is Kong"


@pytest.mark.parametrize(
    "said",
    ["good work today", "thanks for today", "enough for this week", "let's stop here for today", "that's it for today"],
)
def test_small_talk_that_names_a_day_asks_nothing(mem: Memotherm, said: str) -> None:
    """It would be answered with everything of the day."""
    for text in ("The gateway is Kong", "Ana likes tea", "The parser is written in Rust"):
        mem.remember(text)
    asked = mem.session("s1").before_turn("what did we do today?")
    assert len(asked.included) == 3

    assert not mem.session("s2").before_turn(said).text
