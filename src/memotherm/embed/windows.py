"""Overlapping windows of a long content, split at paragraphs, lines, sentences or words.

All functions are pure and linear in the length of the text, with or without spaces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from memotherm.errors import InvalidInput
from memotherm.text.patterns import lazy_pattern

#: Tokens per window for the bundled model, and tokens of overlap.
WINDOW_TOKENS = 510
OVERLAP_TOKENS = 64
#: Tokens of the parts whose vectors are averaged with that of the whole window.
PART_TOKENS = 64
#: Characters of one window for embedders whose tokens cannot be counted: about 500 tokens of English,
#: and still within 2,048 tokens where each character is one.
MAX_CHARS = 2_000
#: A window of characters repeats this share of the one before, as 64 of 510 tokens do.
OVERLAP_SHARE = 8

#: A run without spaces up to this length is one unit; a longer one is cut inside.
LONGEST_RUN = 64
#: How far back from its end, as a share of its size, a window looks for a better boundary.
LOOK_BACK = 4

# The spaces of BERT, not of `\s`: BERT deletes the control characters that `\s` would also match.
_SPACE = " \t\n\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_RUN = lazy_pattern(f"([^{_SPACE}]*)([{_SPACE}]*)")

_SENTENCE_ENDS = frozenset(".!?…。！？")
_CLOSERS = "\"')]}»”’」』）"

#: How good a boundary the end of a unit is.
INSIDE, WORD, SENTENCE, LINE, PARAGRAPH = range(5)


class Unit(NamedTuple):
    """A piece of text that is not split."""

    #: Its end in the text; it starts at the end of the previous unit.
    end: int
    #: Its size, in tokens or characters.
    cost: int
    #: How good a boundary its end is.
    strength: int


def by_tokens(
    text: str,
    count: Callable[[str], int],
    atoms: Callable[[str], Iterable[str]],
    *,
    size: int = WINDOW_TOKENS,
    overlap: int = OVERLAP_TOKENS,
) -> list[str]:
    """Cut a text into windows of at most `size` tokens.

    `count` counts the tokens of a run without spaces; `atoms` cuts a run where tokens never join.
    """
    return [text[start:end] for start, end in spans(units(text, count, atoms), size=size, overlap=overlap)]


def by_sentences(
    text: str, count: Callable[[str], int], atoms: Callable[[str], Iterable[str]], *, size: int = PART_TOKENS
) -> list[str]:
    """Pack whole sentences into parts of at most `size` tokens; only a longer sentence is cut.

    A short last sentence is repeated at the beginning of the next part, so that what refers to it stays with it.
    """
    sentences = list(_sentences(units(text, count, atoms), size))
    parts: list[str] = []
    first = 0
    while first < len(sentences):
        last, total = first, 0
        while last < len(sentences) and (last == first or total + sentences[last].cost <= size):
            total += sentences[last].cost
            last += 1
        parts.append(text[sentences[first - 1].end if first else 0 : sentences[last - 1].end])
        if last == len(sentences):
            break
        tail = sentences[last - 1].cost
        repeats = last - first > 1 and tail <= size // 4 and tail + sentences[last].cost <= size
        first = last - 1 if repeats else last
    return parts or [text]


def _sentences(pieces: Iterable[Unit], size: int) -> Iterator[Unit]:
    """Join units into sentences, cutting those that cost more than `size`."""
    end, cost = 0, 0
    for piece in pieces:
        if cost and cost + piece.cost > size:
            yield Unit(end, cost, SENTENCE)
            cost = 0
        end, cost = piece.end, cost + piece.cost
        if piece.strength >= SENTENCE:
            yield Unit(end, cost, SENTENCE)
            cost = 0
    if cost or not end:
        yield Unit(end, cost, SENTENCE)


def by_chars(text: str, size: int = MAX_CHARS) -> list[str]:
    """Cut a text into windows of at most `size` characters."""
    if len(text) <= size:
        return [text]
    # Small windows take small units, so that a unit always fits and leaves room for the overlap.
    step = max(1, min(LONGEST_RUN, size // 4))
    pieces = units(text, len, lambda run: _slices(run, step), longest=step, spaces_cost=True)
    return [text[start:end] for start, end in spans(pieces, size=size, overlap=size // OVERLAP_SHARE)]


def units(
    text: str,
    count: Callable[[str], int],
    atoms: Callable[[str], Iterable[str]],
    *,
    longest: int = LONGEST_RUN,
    spaces_cost: bool = False,
) -> list[Unit]:
    """Split a text into the units of windows, each with the spaces after it."""
    pieces: list[Unit] = []
    for match in _RUN.finditer(text):
        run, space = match.groups()
        position = match.start()
        for part in [run] if 0 < len(run) <= longest else atoms(run):
            position += len(part)
            pieces.append(Unit(position, count(part), SENTENCE if part[-1] in "。！？" else INSIDE))
        if space:
            pieces += _spaced(pieces.pop() if run else None, match, longest if spaces_cost else 0)
    return pieces


def spans(pieces: Sequence[Unit], *, size: int, overlap: int) -> list[tuple[int, int]]:
    """Return the (start, end) of windows that together cover every unit.

    A window costs `size` at most, unless a single unit costs more; it repeats up to `overlap` of the one
    before, and ends at the strongest boundary in its last quarter.
    """
    if not 0 <= overlap <= size // 2:
        raise InvalidInput(f"An overlap of {overlap} is too large for windows of {size}; use at most half of the size.")
    windows: list[tuple[int, int]] = []
    start = cut = 0
    while cut < len(pieces):
        fits = _reach(pieces, start, size)
        if fits <= cut:
            # The repeated part leaves no room for the next unit, so this window repeats nothing.
            start, fits = cut, max(_reach(pieces, cut, size), cut + 1)
        cut = fits if fits == len(pieces) else _best_end(pieces, cut + 1, fits, size // LOOK_BACK)
        windows.append((pieces[start - 1].end if start else 0, pieces[cut - 1].end))
        start = _next_start(pieces, start, cut, overlap)
    return windows or [(0, 0)]


def _reach(pieces: Sequence[Unit], start: int, size: int) -> int:
    """Return the index after the last unit that still fits a window beginning at `start`."""
    total = 0
    for index in range(start, len(pieces)):
        total += pieces[index].cost
        if total > size:
            return index
    return len(pieces)


def _best_end(pieces: Sequence[Unit], first: int, last: int, look_back: int) -> int:
    """Return the strongest boundary between `first` and `last`, the latest among equals."""
    best, strength, passed = last, pieces[last - 1].strength, 0
    for end in range(last - 1, first - 1, -1):
        passed += pieces[end].cost
        if passed > look_back:
            break
        if pieces[end - 1].strength > strength:
            best, strength = end, pieces[end - 1].strength
    return best


def _next_start(pieces: Sequence[Unit], start: int, cut: int, overlap: int) -> int:
    """Return the start of the next window: the strongest boundary within the overlap."""
    best, strength, repeated = cut, -1, 0
    for index in range(cut - 1, start, -1):
        repeated += pieces[index].cost
        if repeated > overlap:
            break
        # Sentences, lines and paragraphs count as equal, and the earliest wins, so that more is repeated.
        here = min(pieces[index - 1].strength, SENTENCE)
        if here >= strength:
            best, strength = index, here
    return best


def _spaced(last: Unit | None, match: re.Match[str], step: int) -> Iterator[Unit]:
    """Join the spaces after a run to its last unit, or make units of them where they cost too much."""
    run, space = match.groups()
    strength = _strength(run, space)
    if not step:
        yield Unit(match.end(), last.cost if last else 0, strength)
        return
    if last:
        yield last
    position = match.end() - len(space)
    for part in _slices(space, step):
        position += len(part)
        yield Unit(position, len(part), strength if position == match.end() else WORD)


def _strength(run: str, space: str) -> int:
    if space.count("\n") > 1:
        return PARAGRAPH
    if "\n" in space:
        return LINE
    ends_sentence = run.rstrip(_CLOSERS)[-1:] in _SENTENCE_ENDS if run else False
    return SENTENCE if ends_sentence else WORD


def _slices(text: str, step: int) -> Iterator[str]:
    return (text[start : start + step] for start in range(0, len(text), step))
