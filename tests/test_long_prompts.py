"""A long prompt is searched sentence by sentence, and the sentence that a memory answers decides."""

from __future__ import annotations

import memotherm
from memotherm import Memotherm
from memotherm.recall.pipeline import query_parts

FACTS = [
    "Retries of the payment client stop after 5 attempts.",
    "The invoice numbers restart every January.",
    "Exports are written as UTF-8 with a byte order mark, because Excel needs it.",
    "The staging cluster runs in Frankfurt.",
    "Ana reviews all changes of the importer.",
    "Dates in the API are ISO 8601 in UTC.",
    "The nightly backup starts at 02:30.",
    "Feature flags live in flags.toml.",
    "Customers log in through the page of the identity provider.",
    "Releases go out on Tuesday, after the customers in Asia have gone home.",
    "Pages are tested in Firefox and Chrome before each release.",
    "Cookies of a session are cleared when a customer logs out.",
    "A slow request is logged as a warning after 2 seconds.",
    "Logs of the last week are kept, older ones are deleted.",
    "Customers see an empty page while the search index is built.",
]
REPORT = (
    "Since the release on Tuesday some customers see an empty page after they log in. "
    "I tried it with Firefox and with Chrome, and cleared all cookies first. "
    "The logs show nothing but a warning about a slow request, which is probably unrelated. "
    "How are our exports encoded again? "
    "The customer opened the file in a spreadsheet and saw strange characters in the first column. "
    "It would be good to have this mended before the end of the week."
)


def test_the_sentence_that_a_memory_answers_decides() -> None:
    """What the rest of a report is about does not push the answer away."""
    with memotherm.open(":memory:") as mem:
        mem.remember_many([{"content": fact} for fact in FACTS])

        assert FACTS[2] in [hit.memory.content for hit in mem.recall(REPORT, limit=4).hits]
        assert FACTS[2] in mem.context(REPORT, budget=200).text


def test_scores_fall_and_a_memory_is_found_once(mem: Memotherm) -> None:
    """However many parts have found it; the answer for a smaller limit begins the one for a larger limit."""
    mem.remember_many([{"content": fact} for fact in FACTS])

    hits = mem.recall(REPORT, limit=8).hits

    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert len({hit.memory.id for hit in hits}) == len(hits)
    assert [hit.memory.id for hit in mem.recall(REPORT, limit=3).hits] == [hit.memory.id for hit in hits[:3]]


def test_a_short_query_is_one_part() -> None:
    """So are a long sentence and a text without sentences."""
    for query in ("which port?", "word " * 80, "x" * 5000):
        assert query_parts(query) == [query]


def test_a_huge_prompt_has_as_many_parts_as_a_long_one() -> None:
    """Its beginning and its end are searched, not the log between them."""
    log = "2026-03-04 12:00:00 INFO worker 7 has done its job.\n" * 3000
    parts = query_parts(f"{REPORT}\n{log}\n{REPORT}")

    assert len(parts) <= 8
    assert any("encoded" in part for part in parts[:4])
    assert any("encoded" in part for part in parts[4:])
