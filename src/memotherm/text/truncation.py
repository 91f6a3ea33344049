"""Where a text may be cut: between sentences, never inside a character or a piece of markup."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right

__all__ = ["first_characters", "sentence_ends", "title"]

_SENTENCE = re.compile(r"(?:[.!?…][\"'”’)\]]*(?=\s)|[。！？．；][」』”’）]*|\n+)")
#: Pieces of markup that mean something else when they are cut: code, links, tags, emphasis.
_MARKUP = re.compile(
    r"(?P<fence>```|~~~)[\s\S]*?(?:(?P=fence)|\Z)"
    r"|(?P<tick>`+)[^`]*?(?:(?P=tick)|\Z)"
    r"|!?\[[^\[\]\n]{0,500}\]\([^()\n]{0,2000}\)"
    r"|<[A-Za-z/!][^<>]{0,2000}(?:>|\Z)"
    r"|\*\*[^*\n]{1,500}\*\*|__[^_\n]{1,500}__"
)
_SIGNS = re.compile(r"[`*_#<>\[\](){}|~\\]+|https?://\S+")
_JOINER = "\u200d"


def sentence_ends(text: str) -> list[int]:
    """Return the places where the text can end, in order; the end of the text is not one of them."""
    inside = [(found.start(), found.end()) for found in _MARKUP.finditer(text)]
    starts = [start for start, _ in inside]

    def free(place: int) -> bool:
        before = bisect_right(starts, place - 1) - 1
        return before < 0 or inside[before][1] <= place

    ends = (found.start() if found[0][0] == "\n" else found.end() for found in _SENTENCE.finditer(text))
    return [place for place in dict.fromkeys(ends) if 0 < place < len(text) and free(place)]


def title(text: str, most: int = 72) -> str:
    """Return the first words of a text, without markup, in at most so many characters."""
    plain = " ".join(_SIGNS.sub(" ", text[: most * 8]).split())
    if len(plain) <= most:
        return plain
    cut = plain.rfind(" ", most // 2, most + 1)
    return (plain[:cut] if cut > 0 else first_characters(plain, most)).rstrip(" ,;:-–—")


def first_characters(text: str, most: int) -> str:
    """Return at most so many code points from the start, without cutting a character that takes several."""
    if len(text) <= most:
        return text
    place = most
    while place > 0 and _joined(text, place):
        place -= 1
    return text[:place]


def _joined(text: str, place: int) -> bool:
    """Tell whether what stands before and after a place is one character to its reader."""
    before, after = text[place - 1], text[place]
    if after == _JOINER or before == _JOINER or _extends(after):
        return True
    if before == "\r" and after == "\n":
        return True
    if _regional(before) and _regional(after):
        return _flags_before(text, place) % 2 == 1
    return _vowel_or_tail(after) or (_lead(before) and (_lead(after) or 0xAC00 <= ord(after) <= 0xD7A3))


def _extends(char: str) -> bool:
    """Tell whether a code point belongs to the one before it: accents, selectors, skin tones, tags."""
    code = ord(char)
    if code < 0x300:
        return False
    return (
        unicodedata.category(char)[0] == "M"
        or 0x1F3FB <= code <= 0x1F3FF
        or 0xE0020 <= code <= 0xE007F
        or code == 0x200C
        or 0xFF9E <= code <= 0xFF9F
    )


def _regional(char: str) -> bool:
    return 0x1F1E6 <= ord(char) <= 0x1F1FF


def _flags_before(text: str, place: int) -> int:
    count = 0
    while count < place and _regional(text[place - 1 - count]):
        count += 1
    return count


def _lead(char: str) -> bool:
    """Tell whether a code point is the first letter of a Korean syllable, written apart."""
    return 0x1100 <= ord(char) <= 0x115F or 0xA960 <= ord(char) <= 0xA97C


def _vowel_or_tail(char: str) -> bool:
    return 0x1160 <= ord(char) <= 0x11FF or 0xD7B0 <= ord(char) <= 0xD7FB
