"""The second reading of a text: without the encodings and the markup in which it says the same.

To a browser, a program or a model `&#52;2`, `%34%32`, `\\u0034\\u0032`, `4<b>2</b>` and 四十二 are 42.
"""

from __future__ import annotations

import re
from html import unescape
from typing import NamedTuple
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from memotherm.text.patterns import lazy_pattern

#: Digits of Chinese and Japanese numbers, and the formal ones of both.
KANJI_DIGITS = str.maketrans("〇零一二三四五六七八九壹贰叁肆伍陆柒捌玖貳參陸壱弐参", "00123456789123456789236123")
_TENS = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
_MYRIADS = {"万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8}
_UNITS = "".join([*_TENS, *_MYRIADS])
_DIGITS = "0-9" + "".join(map(chr, KANJI_DIGITS))
#: A text may have been encoded more than once, such as `&amp;#52;`.
_MOST_ROUNDS = 3
#: Most texts have none of these.
_ANY = lazy_pattern(rf"[&%\\<\[*~`{_UNITS}]|__")
#: What is looked at from each place has a limited length.
_ENCODED = lazy_pattern(
    r"(?P<entity>&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});?)"
    r"|(?P<bytes>(?:%[0-9a-fA-F]{2})+)"
    r"|(?P<utf_16>(?:\\u[0-9a-fA-F]{4})+)"
    r"|\\(?:u\{|U00|x)(?P<code>(?<=\{)[0-9a-fA-F]{1,6}(?=\})|(?<=U00)[0-9a-fA-F]{6}|(?<=x)[0-9a-fA-F]{2})\}?"
    r"|(?P<white>\\[nrt](?=\w))"
    r"|(?P<markup><[!/]?[A-Za-z-][^<>]{0,300}>|(?<=\w)(?:\*{1,3}|~~|`|__)(?=\w)"
    r"|\[(?=[^\[\]\n]{0,300}\]\()|\]\([^()\s]{0,300}\))"
    rf"|(?P<number>[{_DIGITS}]{{0,20}}[{_UNITS}][{_DIGITS}{_UNITS}]{{0,20}})"
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
            return unquote(written)
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
