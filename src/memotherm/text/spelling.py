"""Texts in one spelling, to find what was forgotten: without case, accents, spaces, punctuation, invisible characters.

Letters and digits are joined, so that 123-45-6789 and 123456789 are the same; so are digits of different scripts, and
those of Chinese and Japanese numbers. A passage begins and ends with a word of the text; in scripts without spaces
every character is a word.

The hash of a passage is a polynomial of its characters, modulo 2**64, made in constant time from the sums of the terms
before both ends. It selects the passages to compare and proves nothing: whoever knows the factors can find two passages
with the same hash.

A text is read a second time without the encodings and the markup in which it says the same (`decoded`): to a browser,
a program or a model `&#52;2`, `%34%32`, `\\u0034\\u0032`, `4<b>2</b>` and 四十二 are 42.
"""

from __future__ import annotations

import re
import unicodedata
from html import unescape
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from memotherm.text.content import INVISIBLE, sentence_ends
from memotherm.text.patterns import lazy_pattern

Positions = NDArray[np.int64]
Numbers = NDArray[np.uint64]

#: Characters of scripts without spaces: Thai, kana, ideographs.
_UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = lazy_pattern(f"[{_UNSPACED}]|[^\\W_{_UNSPACED}]+")
_DENSE = lazy_pattern(f"[{_UNSPACED}]")
#: Invisible characters that count as letters, such as the filler of Hangul.
_HIDDEN = lazy_pattern(f"[{INVISIBLE}]")
#: Cyrillic and Greek letters, small capitals and others that look like Latin letters, in either case, and these.
_LOOK_ALIKES = str.maketrans(
    "аеорсухіјѕԁһӏԛԝвнмткοαινκρτυχεβημζᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢɑɡı",
    "aeopcyxijsdhlqwbhmtkoaivkptuxebhmzabcdefghijklmnoprstuvwyzagi",
)
_LATIN = lazy_pattern("[a-z]")
#: What separates clauses.
_BREAK = lazy_pattern(r"[.!?…;:,()\n\"“”—–。，、；：！？]")
#: A passage of so many letters, characters of a script without spaces, or digits is found inside a clause; a shorter
#: one only if it is all of a clause.
_LETTERS, _DENSE_LETTERS, _DIGITS = 10, 5, 6
_MOST_SENTENCES = 200
#: The headings of a Markdown text.
HEADINGS = lazy_pattern(r"^#{1,6} .*$", re.MULTILINE)


class Spelled(NamedTuple):
    """A text in one spelling, and where its words are."""

    joined: str
    #: Where each word begins and ends in `joined`.
    starts: Positions
    ends: Positions
    #: Where each word begins and ends in the text.
    begins: Positions
    stops: Positions
    #: Whether a clause begins with the word, and whether one ends with it.
    first: NDArray[np.bool_]
    last: NDArray[np.bool_]


def spelled(text: str, *, clauses: bool = True) -> Spelled:
    """Return a text in one spelling; one without letters and digits is left as it is.

    Without `clauses` none is marked, so that short passages are not found.
    """
    # Lists of numbers: many tuples would make the garbage collector run.
    starts: list[int] = []
    begins: list[int] = []
    stops: list[int] = []
    parts: list[str] = []
    breaks: list[int] = []
    plain: dict[str, str] = {}
    length = end = 0
    for match in _WORD.finditer(text):
        letters = plain.get(word := match[0])
        if letters is None:
            letters = plain[word] = _plain(word)
        if not letters:
            continue
        start = match.start()
        if parts and text[end:start] != " " and _BREAK.search(text, end, start):
            breaks.append(len(parts))
        end = match.end()
        starts.append(length)
        begins.append(start)
        stops.append(end)
        parts.append(letters)
        length += len(letters)
    if not parts:
        parts, starts, begins, stops = [text.strip()], [0], [0], [len(text)]
    joined = "".join(parts)
    first, last = np.zeros((2, len(parts)), bool)
    if clauses:
        first[[0, *breaks]] = last[[place - 1 for place in (*breaks, len(parts))]] = True
    places = np.array([starts, [*starts[1:], len(joined)], begins, stops], np.int64)
    return Spelled(joined, places[0], places[1], places[2], places[3], first, last)


def _plain(word: str) -> str:
    if word.isascii():
        return word.lower()
    letters = without_invisible(unicodedata.normalize("NFKD", word.casefold()))
    plain = "".join(map(_digit, filter(str.isalnum, letters))).casefold().translate(KANJI_DIGITS)
    # A Russian word stays as it is, unless all of its letters look like Latin ones.
    alike = plain.translate(_LOOK_ALIKES)
    return alike if alike.isascii() or _LATIN.search(plain) else plain


def without_invisible(text: str) -> str:
    """Return a text without the characters that are not shown."""
    return _HIDDEN.sub("", text)


def _digit(char: str) -> str:
    """Return a decimal digit of any script as one of 0 to 9, and other characters as they are."""
    return str(unicodedata.decimal(char)) if char.isdecimal() else char


def is_distinct(passage: str) -> bool:
    """Return whether a passage is long enough to be recognized inside of a clause."""
    return (
        len(passage) >= _LETTERS
        or len(_DENSE.findall(passage)) >= _DENSE_LETTERS
        or sum(map(str.isdecimal, passage)) >= _DIGITS
    )


def statements_of(text: str, said: Spelled) -> set[str]:
    """Return a text and each of its sentences in one spelling; short sentences only if they are all of it."""
    after = np.searchsorted(said.begins, sentence_ends(text)[:_MOST_SENTENCES])
    starts = (*said.starts.tolist(), len(said.joined))
    bounds = [0, *(starts[place] for place in after.tolist()), len(said.joined)]
    sentences = (said.joined[start:end] for start, end in pairwise(bounds))
    return {said.joined, *filter(is_distinct, sentences)} - {""}


_MODULUS = 1 << 64
#: The bits of a short hash.
_BITS = 16


class RollingHash:
    """The hashes of the passages of a text; `factors` are two numbers of 64 bits."""

    def __init__(self, text: str, factors: tuple[int, int]) -> None:
        base, self._mixer = (factor | 1 for factor in factors)
        characters = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint64)
        self._powers = _powers(pow(base, -1, _MODULUS), len(text))
        terms = characters * _powers(base, len(text))[:-1]
        self._sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])

    def of(self, starts: Positions, ends: Positions) -> Numbers:
        """Return the hashes of the passages between positions."""
        hashes: Numbers = (self._sums[ends] - self._sums[starts]) * self._powers[starts]
        return hashes

    def short(self, hashes: Numbers) -> Numbers:
        """Return 16 bits of each hash."""
        return (hashes * np.uint64(self._mixer)) >> np.uint64(64 - _BITS)


def _powers(base: int, count: int) -> Numbers:
    """Return the powers of a number from 0 to `count`, modulo 2**64."""
    factors = np.full(count + 1, base, np.uint64)
    factors[0] = 1
    return np.cumprod(factors, dtype=np.uint64)


#: Digits of Chinese and Japanese numbers, and the formal ones of both.
KANJI_DIGITS = str.maketrans("〇零一二三四五六七八九壹贰叁肆伍陆柒捌玖貳參陸壱弐参", "00123456789123456789236123")
_TENS = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
_MYRIADS = {"万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8}
_UNITS = "".join([*_TENS, *_MYRIADS])
_NUMERALS = "0-9" + "".join(map(chr, KANJI_DIGITS))
#: A text may have been encoded more than once, such as `&amp;#52;`.
_MOST_ROUNDS = 3
#: Most texts have none of these.
_ANY = lazy_pattern(rf"[&%=\\<\[*~`{_UNITS}]|__")
#: What is looked at from each place has a limited length.
_ENCODED = lazy_pattern(
    r"(?P<entity>&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});?)"
    r"|(?P<bytes>(?:%[0-9a-fA-F]{2})+|(?:=[0-9A-F]{2})+)"
    r"|(?P<utf_16>(?:\\u[0-9a-fA-F]{4})+)"
    r"|\\(?:u\{|U00|x)(?P<code>(?<=\{)[0-9a-fA-F]{1,6}(?=\})|(?<=U00)[0-9a-fA-F]{6}|(?<=x)[0-9a-fA-F]{2})\}?"
    r"|(?P<white>\\[nrt](?=\w))"
    r"|(?P<markup><[!/]?[A-Za-z-][^<>]{0,300}>|(?<=\w)(?:\*{1,3}|~~|`|__)(?=\w)"
    r"|\[(?=[^\[\]\n]{0,300}\]\()|\]\([^()\s]{0,300}\))"
    rf"|(?P<number>[{_NUMERALS}]{{0,20}}[{_UNITS}][{_NUMERALS}{_UNITS}]{{0,20}})"
)
#: What markup is read as: it neither separates the letters of a passage nor joins words.
_NOTHING = "\u200b"


class Decoded(NamedTuple):
    """A text as it is read."""

    text: str
    #: Where each of its characters begins and ends in the text that was written.
    begins: NDArray[np.int64]
    stops: NDArray[np.int64]


def decoded(text: str) -> Decoded | None:
    """Return a text without encodings and markup; None if it has none."""
    if not _ANY.search(text):
        return None
    read = None
    for _ in range(_MOST_ROUNDS):
        once = _decoded_once(read.text if read else text)
        if once is None:
            break
        read = Decoded(once.text, read.begins[once.begins], read.stops[once.stops - 1]) if read else once
    return read


def _decoded_once(text: str) -> Decoded | None:
    parts: list[str] = []
    begins: list[NDArray[np.int64]] = []
    stops: list[NDArray[np.int64]] = []
    position = 0
    for match in _ENCODED.finditer(text):
        start, end = match.span()
        read = _read(match)
        if read == match[0]:
            continue
        parts += [text[position:start], read]
        begins += [np.arange(position, start), np.full(len(read), start)]
        stops += [np.arange(position, start) + 1, np.full(len(read), end)]
        position = end
    if not parts:
        return None
    begins.append(np.arange(position, len(text)))
    stops.append(begins[-1] + 1)
    return Decoded("".join([*parts, text[position:]]), np.concatenate(begins), np.concatenate(stops))


def _read(match: re.Match[str]) -> str:
    """Return what an encoded part of a text is read as."""
    written = match[0]
    match match.lastgroup:
        case "entity":
            return unescape(written)
        case "bytes":
            return unquote(written.replace("=", "%"))
        case "utf_16":
            return bytes.fromhex(written.replace("\\u", "")).decode("utf-16-be", "replace")
        case "code":
            code = int(match["code"], 16)
            return chr(code) if code < 0x110000 else written
        case "number":
            return str(_number(written.translate(KANJI_DIGITS)))
        case "white":
            return " "
    return _NOTHING


def _number(written: str) -> int:
    """Return the value of a number that names powers of ten."""
    total = part = 0
    digits = ""
    for char in written:
        if ten := _TENS.get(char):
            part += int(digits or 1) * ten
        elif myriad := _MYRIADS.get(char):
            total += (part + int(digits or 0) or 1) * myriad
            part = 0
        else:
            digits += char
            continue
        digits = ""
    return total + part + int(digits or 0)
