"""What was forgotten, corrected, rejected or purged, and must not be stored again unasked.

A tombstone is a keyed digest of a passage in one spelling, or of a secret value. It is looked up by a hash of its first
letters, and compared by its length and a hash of all its letters, so that passages are found inside of larger texts.
A text that is encoded somewhere is read a second time without its encodings.
The time that this takes grows with the length of a text, whatever was forgotten.
"""

from __future__ import annotations

import hmac
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise, starmap
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memotherm.model import Memory, Scope, Trust
from memotherm.model.clock import from_micros, to_micros
from memotherm.storage.rows import scope_row
from memotherm.storage.statements import Row, Statements
from memotherm.storage.values import Cause, Record
from memotherm.text.spelling import (
    HEADINGS,
    Decoded,
    Positions,
    RollingHash,
    Spelled,
    decoded,
    is_distinct,
    spelled,
    statements_of,
    without_invisible,
)

#: Passages of fewer letters are only found at the end of a text.
_HEAD = 6
#: A secret value of fewer letters is not recognized.
_SHORTEST_VALUE = 4
#: How many passages are compared at once, which takes up to 20 MB.
_COMPARED = 1 << 18
#: Precedes a secret value in its digest, so that it differs from that of a passage.
_VALUE = "\0"


class Passage(NamedTuple):
    """A part of a text that was forgotten."""

    start: int
    end: int
    #: When it was forgotten for the last time.
    at: datetime
    #: Whether it has a secret value that was purged.
    secret: bool = False


#: Where each text says what was forgotten, in order; parts do not overlap.
Passages = dict[str, list[Passage]]


#: What stands for a forgotten passage inside a larger text.
FORGOTTEN = "[forgotten]"
#: What ends a sentence, and goes with it.
_STOPS = ".!?…。！？"


def with_marks(text: str, passages: Sequence[Passage]) -> str:
    """Return a text with a mark in place of the passages."""
    parts: list[str] = []
    position = 0
    for passage in passages:
        between = text[position : passage.start]
        if not parts or any(map(str.isalnum, between)):
            parts += [between, FORGOTTEN]
        position = max(position, passage.end)
        while position < len(text) and text[position] in _STOPS:
            position += 1
    rest = text[position:]
    left = HEADINGS.sub("", "".join(parts[::2]) + rest)
    return "".join([*parts, rest]) if any(map(str.isalnum, left)) else ""


def telling(found: Passages) -> Passages:
    """Return the passages that are more than a word: a tag may be the same as a word that was forgotten."""
    told: Passages = {}
    for text, passages in found.items():
        said = [(passage, text[passage.start : passage.end]) for passage in passages]
        kept = [passage for passage, words in said if passage.secret or not words.isalpha() or not words.isascii()]
        if kept:
            told[text] = kept
    return told


class _Match(NamedTuple):
    """Passages of a text that have a tombstone."""

    mark: str
    at: int
    #: The first and the last word of each.
    first: Positions
    last: Positions
    secret: bool


class _Tombstone(NamedTuple):
    """A row, without its space and trust."""

    head: int
    length: int
    bits: int
    mark: str
    at: int


@dataclass(frozen=True, slots=True)
class Compared:
    """Texts in one spelling, and the tombstones that they were compared with."""

    #: By the text and whether its clauses are marked.
    texts: dict[tuple[str, bool], Spelled] = field(default_factory=dict)
    marks: set[str] = field(default_factory=set)


class Tombstones:
    """The tombstones of a store inside one transaction; `exist` tells whether there are any at its beginning.

    What was `compared` before the transaction is not compared again.
    """

    def __init__(self, statements: Statements, *, exist: bool) -> None:
        self._sql = statements
        self.exist = exist
        self.compared = Compared()
        self._looked_up: set[str] = set()

    def add(self, record: Record, cause: Cause, content: str | None = None, beside: str = "") -> None:
        """Keep the content of a memory, or a former one, from being stored again unasked.

        What is also said `beside` it, such as by the memory that replaces it, is not marked.
        """
        kept = self._spelled(beside).joined
        for own in _readings(_own_text(record.memory, record.memory.content if content is None else content)):
            said = statements_of(own, self._spelled(own))
            if len(said) > 1 and any(each in kept for each in said):
                said.remove(max(said, key=len))  # all of it together
            for each in said:
                if each not in kept:
                    self._put(record, each, self._mark(each), cause)

    def add_values(self, record: Record, cause: Cause, values: Iterable[str]) -> None:
        """Keep secret values from being stored again, in whatever text."""
        for value in values:
            said = spelled(value)
            if _is_recognizable(value, said):
                identity = _identity(value, said, 0, len(said.starts) - 1)
                self._put(record, said.joined, self._mark(_VALUE + identity), cause)

    def drop(self, record: Record, by: Trust) -> bool:
        """Delete the tombstones of what a memory says, except those of more trust; return whether there were any."""
        if not self.exist:
            return False
        memory = record.memory
        own = _readings(_own_text(memory, memory.content))
        marks = [self._mark(said) for each in own for said in statements_of(each, self._spelled(each))]
        if by is Trust.PERSON:
            read = {each: self._spelled(each) for each in _readings(memory.content)}
            found = self._found(memory.scope, read, above=Trust.AGENT)
            marks += [each.mark for matches in found.values() for each in matches if each.secret]
        return bool(self._sql.rows("tombstone_drop", space=record.space, marks=marks, trust=by.rank))

    def find(self, scope: Scope, texts: Iterable[str], above: Trust | None = None, *, clauses: bool = True) -> Passages:
        """Return where texts say, in any spelling, what was forgotten, and since when.

        It was forgotten in a scope that this one can see, or in one of its tenant whose memories can be seen together
        with those of this scope. With `above`, only what was forgotten by somebody with more trust. Without `clauses`,
        a short passage is not found if it is all of a clause.
        """
        if not self.exist or above is Trust.PERSON:
            return {}
        texts = set(texts)
        second = {text: reading for text in texts if (reading := decoded(text))}
        read = {*texts, *(reading.text for reading in second.values())}
        said = {text: self._spelled(text, clauses=clauses) for text in read}
        found = {text: _merged(said[text], matches) for text, matches in self._found(scope, said, above).items()}
        for text, reading in second.items():
            if passages := found.get(reading.text):
                found[text] = _joined([*found.get(text, ()), *_written(passages, reading)])
        return {text: found[text] for text in texts if text in found}

    def in_names(self, scope: Scope) -> bool:
        """Return whether the names of a scope say what a person has forgotten."""
        names = "\n".join(value for _, value in scope.items())
        return bool(telling(self.find(scope, [names], Trust.AGENT, clauses=False)))

    @property
    def result(self) -> Compared:
        """What was compared here, for a transaction that follows."""
        return Compared(self.compared.texts, self._looked_up)

    def _found(self, scope: Scope, texts: dict[str, Spelled], above: Trust | None) -> dict[str, list[_Match]]:
        """Return the tombstones that match in each text, if there are any."""
        hashes = {text: RollingHash(said.joined, self._factors) for text, said in texts.items()}
        heads = {text: _heads(said, hashes[text]) for text, said in texts.items()}
        wanted = np.unique(np.concatenate([*heads.values()])).tolist() if heads else []
        least = -1 if above is None else above.rank
        rows = self._sql.rows("tombstones_like", heads=wanted, above=least, **scope_row(scope)) if wanted else []
        marks = [mark for _, _, _, mark, _ in rows]
        rows = [row for row, mark in zip(rows, marks, strict=True) if mark not in self.compared.marks]
        found = {text: list(self._matches(text, said, hashes[text], heads[text], rows)) for text, said in texts.items()}
        self._looked_up.update(marks)
        return {text: matches for text, matches in found.items() if matches}

    def _matches(
        self,
        text: str,
        said: Spelled,
        hashes: RollingHash,
        heads: NDArray[np.uint64],
        rows: Sequence[Row],
    ) -> Iterator[_Match]:
        """Yield the passages of a text that have tombstones."""
        for number, *candidates in _candidates(said, hashes, heads, rows):
            row, (words, ends, values) = _Tombstone._make(rows[number]), candidates
            while len(values):  # nearly always once: the same passage may occur often
                same = values == values[0]
                first, last = words[same], ends[same]
                words, ends, values = words[~same], ends[~same], values[~same]
                start = int(said.starts[first[0]])
                passage = said.joined[start : start + row.length]
                if row.mark == self._mark(passage):
                    if not is_distinct(passage):
                        whole = said.first[first] & said.last[last]
                        first, last = first[whole], last[whole]
                    secret = False
                else:
                    equal = [
                        row.mark == self._mark(_VALUE + _identity(text, said, *place))
                        for place in zip(first.tolist(), last.tolist(), strict=True)
                    ]
                    first, last, secret = first[equal], last[equal], True
                if len(first):
                    yield _Match(row.mark, row.at, first, last, secret)

    def _put(self, record: Record, passage: str, mark: str, cause: Cause) -> None:
        self.exist = True
        hashes = RollingHash(passage, self._factors)
        ends = np.array([min(_HEAD, len(passage)), len(passage)])
        head, bits = hashes.short(hashes.of(np.zeros_like(ends), ends)).tolist()
        values = {"mark": mark, "head": head, "length": len(passage), "bits": bits}
        self._sql.run("tombstone_add", space=record.space, **values, at=to_micros(cause.at), trust=cause.by.rank)

    def _spelled(self, text: str, *, clauses: bool = True) -> Spelled:
        known = self.compared.texts.get((text, clauses))
        if known is None:
            known = self.compared.texts[text, clauses] = spelled(text, clauses=clauses)
        return known

    @cached_property
    def _key(self) -> bytes:
        return bytes.fromhex(str(self._sql.value("meta_get", key="secret")))

    @cached_property
    def _factors(self) -> tuple[int, int]:
        digest = blake2b(key=self._key, digest_size=16).digest()
        return int.from_bytes(digest[:8]), int.from_bytes(digest[8:])

    def _mark(self, passage: str) -> str:
        """Return what identifies a passage."""
        return hmac.digest(self._key, passage.encode(errors="surrogatepass"), "sha256").hex()


def _heads(said: Spelled, hashes: RollingHash) -> NDArray[np.uint64]:
    """Return a hash of the first letters of the passages that begin with each word."""
    return hashes.short(hashes.of(said.starts, np.minimum(said.starts + _HEAD, len(said.joined))))


def _candidates(
    said: Spelled, hashes: RollingHash, heads: NDArray[np.uint64], rows: Sequence[Row]
) -> Iterator[tuple[int, Positions, Positions, NDArray[np.uint64]]]:
    """Yield the number of a tombstone, the first and last words of passages with the same hashes, and their hashes."""
    if not rows:
        return
    order = np.argsort(heads, kind="stable")
    wanted, lengths, bits = np.array([row[:3] for row in rows]).T
    low, high = (np.searchsorted(heads[order], wanted.astype(np.uint64), side) for side in ("left", "right"))
    ending = np.full(len(said.joined) + 1, -1)
    ending[said.ends] = np.arange(len(said.ends))
    for numbers in _groups(high - low):
        counts = (high - low)[numbers]
        which = np.repeat(numbers, counts)
        words = order[np.repeat(low[numbers] - np.cumsum(counts) + counts, counts) + np.arange(len(which))]
        starts = said.starts[words]
        stops = starts + lengths[which]
        fitting = stops <= len(said.joined)
        which, words, starts, stops = which[fitting], words[fitting], starts[fitting], stops[fitting]
        values = hashes.of(starts, stops)
        same = (hashes.short(values) == bits[which]) & (ending[stops] >= 0)
        which, words, values, ends = which[same], words[same], values[same], ending[stops[same]]
        bounds = [0, *(np.flatnonzero(np.diff(which)) + 1).tolist(), len(which)]
        for place in starmap(slice, pairwise(bounds) if len(which) else ()):
            yield int(which[place.start]), words[place], ends[place], values[place]


def _groups(counts: Positions) -> Iterator[Positions]:
    """Yield the numbers of counts in groups of a limited sum, without those that are 0."""
    numbers = np.flatnonzero(counts)
    sums = np.cumsum(counts[numbers]) // _COMPARED
    yield from np.split(numbers, np.flatnonzero(np.diff(sums)) + 1) if len(numbers) else ()


def _merged(said: Spelled, matches: Sequence[_Match]) -> list[Passage]:
    """Return the parts of a text that matches cover."""
    count = len(said.starts)
    begun = np.zeros(count + 1, np.int64)
    since, secret = np.zeros(count, np.int64), np.zeros(count, bool)
    for match in matches:
        begun += np.bincount(match.first, minlength=count + 1) - np.bincount(match.last + 1, minlength=count + 1)
        since[match.first] = np.maximum(since[match.first], match.at)
        secret[match.first] |= match.secret
    covered = np.concatenate([[False], np.cumsum(begun) > 0])
    first, behind = (np.flatnonzero(each) for each in (covered[1:] & ~covered[:-1], covered[:-1] & ~covered[1:]))
    return [
        Passage(
            int(said.begins[start]),
            int(said.stops[end - 1]),
            from_micros(int(since[start:end].max())),
            bool(secret[start:end].any()),
        )
        for start, end in zip(first.tolist(), behind.tolist(), strict=True)
    ]


def _readings(text: str) -> list[str]:
    """Return a text, and the same without encodings if it has some."""
    second = decoded(text)
    return [text] if second is None else [text, second.text]


def _written(passages: Iterable[Passage], reading: Decoded) -> Iterator[Passage]:
    """Yield the passages of a text that was written, from those of its second reading."""
    for each in passages:
        yield each._replace(start=int(reading.begins[each.start]), end=int(reading.stops[each.end - 1]))


def _joined(passages: Iterable[Passage]) -> list[Passage]:
    """Return passages in order, and those that overlap as one."""
    joined: list[Passage] = []
    for each in sorted(passages):
        if joined and each.start < joined[-1].end:
            last = joined.pop()
            each = Passage(last.start, max(last.end, each.end), max(last.at, each.at), last.secret or each.secret)  # noqa: PLW2901
        joined.append(each)
    return joined


def _is_long_value(passage: str) -> bool:
    """Return whether a secret value is recognized by its letters and digits alone."""
    return is_distinct(passage) or (len(passage) >= _HEAD and any(map(str.isdecimal, passage)))


def _is_recognizable(value: str, said: Spelled) -> bool:
    """Return whether a secret value can be told from an ordinary word."""
    inside = value[said.begins[0] : said.stops[-1]]
    return _is_long_value(said.joined) or (len(said.joined) >= _SHORTEST_VALUE and not inside.isalnum())


def _identity(text: str, said: Spelled, first: int, last: int) -> str:
    """Return what makes a passage a secret value: its letters and digits, and if they are few, its symbols, too."""
    passage = said.joined[said.starts[first] : said.ends[last]]
    if _is_long_value(passage):
        return passage
    return unicodedata.normalize("NFKC", without_invisible(text[said.begins[first] : said.stops[last]])).casefold()


def _own_text(memory: Memory, content: str) -> str:
    """Return a content; that of a part of a note without headings, which other parts have as well."""
    heading = memory.metadata.get("heading")
    return content if heading is None else HEADINGS.sub("", content.removeprefix(f"{heading}\n\n"))
