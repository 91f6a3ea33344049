"""Truncating text: between sentences, never inside a character or a piece of markup."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

__all__ = ["first_characters", "sentence_ends", "title"]

#: The end of a sentence. A set of characters comes first: the search for it skips all others at once.
_SENTENCE = re.compile(r"[.!?…。！？．；\n](?:(?<=[.!?…])[\"'”’)\]]*(?=\s)|(?<=[。！？．；])[」』”’）]*|(?<=\n)\n*)")
#: Pieces of markup that must not be split: code, links, tags, emphasis.
_MARKUP = re.compile(
    r"(?P<fence>```|~~~)[\s\S]*?(?:(?P=fence)|\Z)"
    r"|(?P<tick>`+)[^`]*?(?:(?P=tick)|\Z)"
    r"|!?\[[^\[\]\n]{0,500}\]\([^()\n]{0,2000}\)"
    r"|<[A-Za-z/!][^<>]{0,2000}(?:>|\Z)"
    r"|\*\*[^*\n]{1,500}\*\*|__[^_\n]{1,500}__"
)
#: Each piece of markup has one of these, and most texts have none.
_MARKUP_SIGNS = ("`", "~~~", "](", "<", "**", "__")
_SIGNS = re.compile(r"[`*_#<>\[\](){}|~\\]+|https?://\S+")
_JOINER = "\u200d"
#: The size of the caches of titles and of the ends of sentences, and the most characters of a cached text.
_CACHE_SIZE = 4096
_LONGEST_CACHED = 1000


def sentence_ends(text: str) -> Sequence[int]:
    """Return the positions after which the text can be truncated, in order, without the end of the text."""
    return _recent_sentence_ends(text) if len(text) <= _LONGEST_CACHED else _sentence_ends(text)


def _sentence_ends(text: str) -> Sequence[int]:
    has_markup = any(sign in text for sign in _MARKUP_SIGNS)
    markup = [(match.start(), match.end()) for match in _MARKUP.finditer(text)] if has_markup else []
    starts = [start for start, _ in markup]

    def is_outside_markup(position: int) -> bool:
        before = bisect_right(starts, position - 1) - 1
        return before < 0 or markup[before][1] <= position

    ends = (match.start() if match[0][0] == "\n" else match.end() for match in _SENTENCE.finditer(text))
    return tuple(end for end in dict.fromkeys(ends) if 0 < end < len(text) and is_outside_markup(end))


#: Contexts repeat the same memories.
_recent_sentence_ends = lru_cache(maxsize=_CACHE_SIZE)(_sentence_ends)


def title(text: str, most: int = 72) -> str:
    """Return the first words of a text, without markup, in at most `most` characters."""
    return _title(text[: most * 8], most)


@lru_cache(maxsize=_CACHE_SIZE)
def _title(text: str, most: int) -> str:
    plain = " ".join(_SIGNS.sub(" ", text).split())
    if len(plain) <= most:
        return plain
    cut = plain.rfind(" ", most // 2, most + 1)
    return (plain[:cut] if cut > 0 else first_characters(plain, most)).rstrip(" ,;:-–—")


def first_characters(text: str, most: int) -> str:
    """Return at most `most` code points from the start, without splitting a character of several code points."""
    if len(text) <= most:
        return text
    end = most
    while end > 0 and _joined(text, end):
        end -= 1
    return text[:end]


def _joined(text: str, position: int) -> bool:
    """Return whether the code points before and after a position are parts of one character."""
    before, after = text[position - 1], text[position]
    if after == _JOINER or before == _JOINER or _extends(after):
        return True
    if before == "\r" and after == "\n":
        return True
    if _regional(before) and _regional(after):
        return _regional_before(text, position) % 2 == 1
    return _vowel_or_tail(after) or (_lead(before) and (_lead(after) or 0xAC00 <= ord(after) <= 0xD7A3))


def _extends(char: str) -> bool:
    """Return whether a code point is part of the one before it: accents, selectors, skin tones, tags."""
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


def _regional_before(text: str, position: int) -> int:
    """Return the number of regional indicators before a position; two of them are a flag."""
    count = 0
    while count < position and _regional(text[position - 1 - count]):
        count += 1
    return count


def _lead(char: str) -> bool:
    """Return whether a code point is a leading consonant of a decomposed Korean syllable."""
    return 0x1100 <= ord(char) <= 0x115F or 0xA960 <= ord(char) <= 0xA97C


def _vowel_or_tail(char: str) -> bool:
    return 0x1160 <= ord(char) <= 0x11FF or 0xD7B0 <= ord(char) <= 0xD7FB
