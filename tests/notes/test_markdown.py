"""Cutting Markdown: whole lines, along its structure, exactly numbered, whatever the text is."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memotherm.errors import InvalidInput
from memotherm.text.chunks import Chunk, ChunkSize, chunks
from memotherm.text.markdown import decode, entries, split_lines
from memotherm.text.tokens import count_tokens
from tests.notes.ids import spec

SMALL = ChunkSize(size=40, overlap=10)


def cut(text: str, size: int = 400, overlap: int = 80) -> list[Chunk]:
    return chunks(text, count_tokens, ChunkSize(size=size, overlap=overlap))


def prose(words: int, word: str = "word") -> str:
    return " ".join(f"{word}{number}" for number in range(words))


@spec("O12")
def test_chunks_have_400_tokens_with_80_overlap_and_lines_from_1() -> None:
    """A long section is cut between lines; the next chunk repeats the end of the one before."""
    text = "\n".join(f"Line {number} says something that takes a few tokens." for number in range(1, 201))
    found = cut(text)

    assert len(found) > 3
    assert found[0].start == 1
    assert found[-1].end == 200
    for before, after in itertools.pairwise(found):
        assert count_tokens(before.text) <= 400
        assert count_tokens(before.text) > 300
        repeated = "\n".join(text.split("\n")[after.start - 1 : before.end])
        assert 0 < count_tokens(repeated) <= 80
    assert ChunkSize() == ChunkSize(size=400, overlap=80)


@spec("O12")
def test_a_chunk_is_exactly_the_lines_it_names() -> None:
    """Line numbers are those of an editor, for any kind of line end and without a final one."""
    for end in ("\n", "\r\n"):
        for final in ("", end):
            lines = ["# Title", "", "first", "second", "", "- item", "  more", "", "last"]
            text = end.join(lines) + final
            for chunk in chunks(text, count_tokens, SMALL):
                assert chunk.text == "\n".join(lines[chunk.start - 1 : chunk.end])


def test_a_heading_begins_a_chunk_once_there_is_enough_before_it() -> None:
    """Sections are not mixed, and small ones are not scattered."""
    text = f"# One\n\n{prose(60)}\n\n# Two\n\n{prose(60)}\n\n# Three\nshort\n# Four\nshort\n"
    found = cut(text)

    assert [chunk.text.split("\n")[0] for chunk in found] == ["# One", "# Two", "# Three"]
    assert found[-1].text.endswith("# Four\nshort")


def test_a_chunk_travels_with_the_headings_above_it() -> None:
    """They are part of what is stored and searched, and not of the lines."""
    text = f"# Deploy\n\n## Database\n\n{prose(80, 'a')}\n\n{prose(80, 'b')}\n\n## Web\n\n{prose(80, 'c')}"
    found = cut(text, 200, 20)

    assert [chunk.heading for chunk in found] == ["", "Deploy > Database", "Deploy"]
    assert found[1].content == f"Deploy > Database\n\n{found[1].text}"
    assert found[2].text.startswith("## Web")


def test_underlined_headings_count_and_rules_do_not() -> None:
    """`Title` over `=====` is a heading; a line of dashes below text in a paragraph is none of ours."""
    found = cut(f"Title\n=====\n\nintro\n\nPart\n----\n\n{prose(90)}\n\n{prose(90)}", 200, 0)

    assert found[-1].heading == "Title > Part"


def test_code_and_lists_stay_whole_where_they_fit() -> None:
    """A fence that fits into one chunk is not cut, and a list is cut between its items."""
    code = "```python\n" + "\n".join(f"x{number} = {number}\n" for number in range(10)) + "```"
    text = f"{prose(30)}\n\n{code}\n\n{prose(30)}"
    size = count_tokens(code) + 5

    assert any(code in chunk.text for chunk in cut(text, size, 0))

    listed = "\n".join(f"- item {number} of the list\n  with a second line" for number in range(40))
    for chunk in cut(listed, 60, 0):
        assert chunk.text.startswith("- item")
        assert chunk.text.endswith("second line")


def test_what_stands_in_code_is_neither_heading_nor_item() -> None:
    """A shell comment is no heading."""
    found = cut("# Real\n\n```sh\n# not one\n- nor this\n```\n\nafter\n\n# Next\n" + prose(200), 60, 0)

    assert all("not one" not in chunk.heading for chunk in found)
    assert [entry.text for entry in entries(split_lines("```\n- no\n```\n- yes"))] == ["```\n- no\n```", "yes"]


def test_a_block_of_code_ends_with_the_mark_that_began_it() -> None:
    """Another one is a line of it, and what follows is still code."""
    text = "~~~\n```\n\n- no\n\n# no\n~~~\n\n- yes"

    assert [entry.text for entry in entries(split_lines(text))] == ["~~~\n```\n\n- no\n\n# no\n~~~", "yes"]


def test_front_matter_is_one_piece() -> None:
    """Its lines are no headings."""
    found = cut("---\ntitle: A\ntags: [b]\n---\n# Head\ntext\n")

    assert found[0].text.startswith("---\ntitle: A")
    assert found[0].heading == ""


def test_a_line_that_is_too_long_is_cut_inside() -> None:
    """All pieces name the same line, and no word of it is lost."""
    found = cut(f"# Top\n\n{prose(2000)}\n\nend", 100, 20)
    pieces = [chunk for chunk in found if chunk.start == 3]

    assert len(pieces) > 10
    assert all(count_tokens(chunk.text) <= 100 and chunk.end == 3 for chunk in pieces)
    assert {word for chunk in pieces for word in chunk.text.split()} >= set(prose(2000).split())


def test_ten_megabytes_in_one_line_are_cut_in_linear_time() -> None:
    """With spaces and without."""
    for line in ("x" * 10_000_000, "ab " * 3_400_000):
        found = cut(line)

        assert len(found) > 1000
        assert all(chunk.start == chunk.end == 1 for chunk in found)
        assert max(count_tokens(chunk.text) for chunk in found[:50]) <= 400


def test_appending_changes_only_the_end() -> None:
    """So that a daily note costs one chunk's work for each line that is added."""
    text = "\n\n".join(f"## At {number}:00\n\n{prose(40, f'w{number}x')}" for number in range(24))
    before, after = cut(text), cut(f"{text}\n\n## Midnight\n\nOne more line.")

    assert after[: len(before) - 1] == before[:-1]


def test_an_overlap_must_be_smaller_than_a_chunk() -> None:
    """Otherwise the next chunk would never begin."""
    with pytest.raises(InvalidInput, match="overlap must be smaller"):
        ChunkSize(size=100, overlap=100)


LINES = st.lists(
    st.one_of(
        st.sampled_from(["", "# H1", "## H2", "### H3 #", "- item", "  - nested", "1. one", "```", "~~~", "---", "===",
                         "| a | b |", "> quote", "\t", "text"]),
        st.text(st.characters(blacklist_characters="\n\r\x00", blacklist_categories=["Cs"]), max_size=120),
        st.integers(1, 120).map(prose),
    ),
    max_size=60,
)  # fmt: skip


@given(LINES, st.integers(16, 120), st.integers(0, 15))
@example(["```", "x", "```"], 16, 0)
def test_every_text_is_covered_exactly(lines: list[str], size: int, overlap: int) -> None:
    """No line with content is lost, every chunk is its lines, order and size hold, for any text."""
    found = chunks("\n".join(lines), count_tokens, ChunkSize(size=size, overlap=overlap))
    real = split_lines("\n".join(lines))
    covered = {number for chunk in found for number in range(chunk.start, chunk.end + 1)}
    numbered = list(enumerate(real, 1))
    headings = {number for number, line in numbered if line.lstrip().startswith("#") or set(line) <= set("=- ")}
    underlined = {number - 1 for number in headings}

    missing = {number for number, line in numbered if line.strip()} - covered
    assert missing <= headings | underlined
    assert [chunk.start for chunk in found] == sorted(chunk.start for chunk in found)
    for chunk in found:
        whole = "\n".join(real[chunk.start - 1 : chunk.end])
        assert chunk.text == whole or (chunk.start == chunk.end and chunk.text in whole)
        # A cut between lines may change how single characters join into tokens.
        assert count_tokens(chunk.text) <= size + 2


def test_bytes_that_are_no_text_are_replaced() -> None:
    """Nothing in a file is an error."""
    assert decode(b"caf\xe9\x00!") == "caf\ufffd\ufffd!"
    assert decode("\ufeffbom".encode()) == "bom"
    assert decode("wide".encode("utf-16")) == "wide"
    assert split_lines("") == []
    assert split_lines("a\n\n") == ["a", ""]
