"""Windows cover a text, stay within their size, and end where a reader would pause."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memotherm.embed.local import BUNDLED
from memotherm.embed.windows import Unit, by_chars, by_tokens, spans, units
from memotherm.embed.wordpiece import WordPiece, atoms
from memotherm.errors import InvalidInput

WORDS = WordPiece.from_file(BUNDLED / "vocab.txt")

prose = st.lists(
    st.sampled_from(["word", "Two words.", "a,b;c", "\n", "\n\n", " ", "漢字。", "x" * 150, "é", "\u2003"]),
    max_size=60,
)
texts = prose.map("".join) | prose.map(" ".join) | st.text(max_size=300)
pieces = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 4)), max_size=80)


def as_units(costs: list[tuple[int, int]]) -> list[Unit]:
    return [Unit(position + 1, cost, strength) for position, (cost, strength) in enumerate(costs)]


@given(pieces, st.integers(1, 40), st.data())
def test_spans_cover_everything_in_order_and_within_size(
    costs: list[tuple[int, int]], size: int, data: st.DataObject
) -> None:
    """No unit is lost, no window is too large unless a single unit is, and each one goes further."""
    overlap = data.draw(st.integers(0, size // 2))
    found = spans(as_units(costs), size=size, overlap=overlap)
    assert found[0][0] == 0
    assert found[-1][1] == len(costs)
    for start, end in found:
        assert sum(cost for cost, _ in costs[start:end]) <= size or end - start == 1
    for (start, end), (next_start, next_end) in pairwise(found):
        assert start < next_start <= end < next_end
        assert sum(cost for cost, _ in costs[next_start:end]) <= overlap


@settings(deadline=None)
@given(texts)
def test_windows_of_tokens_cover_the_text_and_fit(text: str) -> None:
    """Counted on the window itself, not on its parts."""
    found = by_tokens(text, WORDS.count, atoms, size=120, overlap=15)
    assert_covers(text, found)
    assert all(WORDS.count(window) <= 120 for window in found)


@settings(deadline=None)
@given(texts, st.integers(1, 90))
def test_windows_of_characters_cover_the_text_and_fit(text: str, size: int) -> None:
    """Spaces count, and a run without spaces is cut."""
    found = by_chars(text, size)
    assert_covers(text, found)
    assert all(len(window) <= size for window in found)


def assert_covers(text: str, found: list[str]) -> None:
    """Follow the windows through the text; each begins at or before the end of what is covered."""
    covered = 0
    for window in found:
        starts = range(max(0, covered - len(window)), covered + 1)
        assert any(text.startswith(window, s) and s + len(window) >= covered for s in starts)
        covered = max(s + len(window) for s in starts if text.startswith(window, s))
    assert covered == len(text)


@pytest.mark.parametrize("text", ["", " ", "short", "two\n\nparagraphs"])
def test_a_text_that_fits_is_one_window(text: str) -> None:
    """Nothing is stripped or changed."""
    assert by_tokens(text, WORDS.count, atoms) == [text]
    assert by_chars(text) == [text]


def test_a_window_ends_at_a_sentence_near_its_end() -> None:
    """A sentence is not torn when it could be left whole."""
    text = "This sentence has exactly eight tokens here. " * 20
    found = by_tokens(text, WORDS.count, atoms, size=40, overlap=10)
    assert len(found) > 1
    assert all(window.endswith("here. ") and window.startswith("This") for window in found)


def test_a_paragraph_is_a_better_end_than_a_sentence() -> None:
    """The strongest boundary in the last quarter wins."""
    text = "word " * 32 + "end.\n\n" + "word. " * 3 + "word " * 40
    assert by_tokens(text, WORDS.count, atoms, size=40, overlap=0)[0].endswith("end.\n\n")


def test_the_next_window_repeats_the_end_of_the_last() -> None:
    """What straddles a cut is whole in one of the two windows."""
    text = " ".join(f"w{number}" for number in range(400))
    first, second, *_ = by_chars(text, 400)
    shared = set(first.split()) & set(second.split())
    assert len(shared) > 3


@pytest.mark.slow
@pytest.mark.parametrize("text", ["a." * 100_000, "漢" * 200_000, "x" * 200_000, "no pause " * 22_000])
def test_a_long_text_is_cut_with_or_without_spaces(text: str) -> None:
    """Each unit is visited a few times at most, whatever the text is made of."""
    found = by_tokens(text, WORDS.count, atoms)
    assert sum(map(len, found)) >= len(text)
    assert sum(map(len, found)) <= 2 * len(text)


def test_units_are_read_once() -> None:
    """The work is proportional to the text: every unit is counted exactly once."""
    counted: list[str] = []

    def count(run: str) -> int:
        counted.append(run)
        return 1

    found = units("a b  c\n" * 100, count, atoms)
    assert len(counted) == len(found) == 300


def test_an_overlap_of_more_than_half_is_refused() -> None:
    """Such windows would hardly advance."""
    with pytest.raises(InvalidInput, match="half"):
        spans([], size=10, overlap=6)
