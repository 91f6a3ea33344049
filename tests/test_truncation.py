"""Texts are cut between sentences, never inside a character or a piece of markup."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memotherm.text.content import first_characters, sentence_ends, title

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
FLAG = "\U0001f1e9\U0001f1ea"
THUMB = "\U0001f44d\U0001f3fd"
ACCENTED = "e\u0301"
HAN = "\u1112\u1161\u11ab"


def prefixes(text: str) -> list[str]:
    return [text[:end] for end in sentence_ends(text)]


def test_sentences_end_at_their_marks_and_at_lines() -> None:
    assert prefixes("One is 1.5. Two! Three?\nFour") == [
        "One is 1.5.",
        "One is 1.5. Two!",
        "One is 1.5. Two! Three?",
    ]
    assert prefixes("金曜日です。承認が必要。担当は田中") == ["金曜日です。", "金曜日です。承認が必要。"]


@pytest.mark.parametrize(
    "markup",
    [
        "```python\na = 1.\nb = 2. c\n```",
        "~~~\nno end. Not here\nnor here",
        "`a. b. c`",
        "[a. link. text](https://example.org/a. b)",
        "<div title='a. b. c'>",
        "**bold. very. bold**",
    ],
)
def test_no_cut_falls_into_markup(markup: str) -> None:
    """Only what stands before or after it is a place to cut."""
    text = f"Before. {markup} after. End"
    start, end = text.index(markup), text.index(markup) + len(markup)

    assert all(place <= start or place >= end for place in sentence_ends(text))
    assert len("Before.") in sentence_ends(text)


@pytest.mark.parametrize("cluster", [FAMILY, FLAG, THUMB, ACCENTED, HAN, "\u2764\ufe0f", "\r\n"])
def test_no_cut_falls_into_a_character(cluster: str) -> None:
    """However many code points it takes."""
    text = cluster * 10
    for most in range(len(text)):
        assert len(first_characters(text, most)) % len(cluster) == 0


def test_korean_syllables_are_characters_of_their_own() -> None:
    assert first_characters("배포는금요일까지", 3) == "배포는"


@given(st.text(), st.integers(min_value=1, max_value=80))
def test_a_title_is_short_plain_and_on_one_line(text: str, most: int) -> None:
    found = title(text, most)

    assert len(found) <= most
    assert "\n" not in found
    assert not set("`*_#<>[](){}|~\\") & set(found)


def test_a_title_breaks_between_words() -> None:
    assert title("# The **deploy** of [the service](https://x.y/z) is frozen", 24) == "The deploy of the"


def test_long_texts_are_cut_in_linear_time() -> None:
    """A million characters of the worst kind; the test's own limit would end it otherwise."""
    for piece in ("<a", "`", "[a](", "**a", "\n", ". ", "&lt;"):
        sentence_ends(piece * (200_000 // len(piece)))
        title(piece * (200_000 // len(piece)))
