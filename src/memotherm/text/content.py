"""Contents and other texts of callers: validation, digests, the marker around recalled text, and truncation.

The text between `OPEN` and `CLOSE` was recalled by Memotherm. Contents have both escaped, and a
text that contains a recalled block is stored without it (`without_blocks`), so that recalled text is not stored
again. Texts are truncated between sentences, never inside a character or a piece of markup.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache

from memotherm.errors import ContentTooLarge, InvalidInput
from memotherm.text.patterns import lazy_pattern

#: Characters that are not shown, for a class in a pattern: Unicode's Default_Ignorable_Code_Point, and control
#: characters except line breaks and tabs.
INVISIBLE = (
    "\\x00-\\x08\\x0e-\\x1f\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f"
    "\\u202a-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8"
    "\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff"
)


def require_content(value: object, longest: int) -> str:
    """Return the content of a memory unchanged; raise InvalidInput or ContentTooLarge if it cannot be stored."""
    return require_text(
        value, "content", longest, "split it, keep it as a note, or raise the setting max_content_chars"
    )


def require_text(value: object, name: str, longest: int, advice: str = "shorten it") -> str:
    """Return the text unchanged; raise InvalidInput or ContentTooLarge, with its `name`, if it cannot be stored."""
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be text, not {type(value).__name__}")
    if not value.strip():
        raise InvalidInput(f"{name} is empty: pass some text")
    if len(value) > longest:
        raise ContentTooLarge(f"{name} has {len(value):,} characters and the limit is {longest:,}: {advice}")
    if "\x00" in value:
        raise InvalidInput(f"{name} contains a NUL character at position {value.index(chr(0))}: remove it")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise InvalidInput(
            f"{name} contains half of a surrogate pair at position {exc.start}: it was cut or decoded wrongly"
        ) from exc
    return value


def digest(content: str) -> str:
    """Return the SHA-256 of a content, ignoring its Unicode normal form and outer white space."""
    return hashlib.sha256(unicodedata.normalize("NFC", content).strip().encode()).hexdigest()


_PLURALS = {"memory": "memories", "better match": "better matches", "fix": "fixes"}


def pluralize(count: int, noun: str) -> str:
    """Return "1 memory", "2 memories", "0 files"."""
    return f"{count:,} {noun if count == 1 else _PLURALS.get(noun, f'{noun}s')}"


NAME = "memotherm-memory"
OPEN = f"<{NAME}>"
CLOSE = f"</{NAME}>"

_TAG = lazy_pattern(rf"<(?P<close>/?)\s*{NAME}\b[^<>]*>", re.IGNORECASE)
#: A context in the format `messages` whose content was removed.
_EMPTY_MESSAGE = lazy_pattern(r'\[\s*\{\s*"role"\s*:\s*"\w+"\s*,\s*"content"\s*:\s*"\s*"\s*\}\s*\]')


def carries_marker(text: str) -> bool:
    """Return whether a text contains an opening or closing marker."""
    return NAME in text.casefold() and _TAG.search(text) is not None


def without_blocks(text: str) -> str:
    """Return a text without its recalled blocks; if a block was truncated, remove everything up to the truncation."""
    if not carries_marker(text):
        return text
    outside: list[str] = []
    depth, start = 0, 0
    for tag in _TAG.finditer(text):
        if tag["close"]:
            if depth == 0:
                outside.clear()
            depth = max(0, depth - 1)
            start = tag.end()
        else:
            if depth == 0:
                outside.append(text[start : tag.start()])
            depth += 1
    if depth == 0:
        outside.append(text[start:])
    return _EMPTY_MESSAGE.sub("", "".join(outside)).strip()


#: The end of a sentence. The pattern starts with a character class, which `re` scans for quickly.
_SENTENCE = lazy_pattern(
    r"[.!?…؟।。！？．；\n](?:(?<=[.!?…؟।])[\"'”’)\]]*(?=\s)|(?<=[。！？．；])[」』”’）]*|(?<=\n)\n*)"
)
#: Pieces of markup that must not be split: code, links, tags, emphasis. Begins with a set, too.
_MARKUP = lazy_pattern(
    r"[`~!\[<*_](?:"
    r"(?<=`)``[\s\S]*?(?:```|\Z)"
    r"|(?<=~)~~[\s\S]*?(?:~~~|\Z)"
    r"|(?<=`)(?P<more>`*)[^`]*?(?:`(?P=more)|\Z)"
    r"|(?:(?<=!)\[|(?<=\[))[^\[\]\n]{0,500}\]\([^()\n]{0,2000}\)"
    r"|(?<=<)[A-Za-z/!][^<>]{0,2000}(?:>|\Z)"
    r"|(?<=\*)\*[^*\n]{1,500}\*\*|(?<=_)_[^_\n]{1,500}__)"
)
_SIGNS = lazy_pattern(r"[`*_#<>\[\](){}|~\\]+|https?://\S+")
#: The letters of flags.
_REGIONAL = "".join(map(chr, range(0x1F1E6, 0x1F200)))
#: Two code points of one character: with a joiner, a selector, a skin tone or a tag; parts of a Korean syllable.
_JOINED = lazy_pattern(
    r"\u200d|[\s\S][\u200c\u200d\uff9e\uff9f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]|\r\n"
    r"|[\s\S][\u1160-\u11ff\ud7b0-\ud7fb]|[\u1100-\u115f\ua960-\ua97c][\u1100-\u115f\ua960-\ua97c\uac00-\ud7a3]"
)
#: Entries in the caches of titles and sentence ends, and the maximum length of a cached text.
_CACHE_SIZE = 4096
_LONGEST_CACHED = 1000


def sentence_ends(text: str) -> Sequence[int]:
    """Return the positions at which the text can be truncated, in order; the end of the text is not one of them."""
    return _recent_sentence_ends(text) if len(text) <= _LONGEST_CACHED else _sentence_ends(text)


def _sentence_ends(text: str) -> Sequence[int]:
    found = list(_SENTENCE.finditer(text))
    markup = [match.span() for match in _MARKUP.finditer(text)] if found else []
    starts = [start for start, _ in markup]
    ends: list[int] = []
    last = 0
    for match in found:
        start, end = match.span()
        if text[start] == "\n":
            end = start
        if last < end < len(text):
            before = bisect_right(starts, end - 1) - 1
            if before < 0 or markup[before][1] <= end:
                ends.append(end)
            last = end
    return tuple(ends)


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


def first_line(text: str, most: int = 140) -> str:
    """Return the first line of a text, as many of its words as fit and as they are; "…" stands for what follows."""
    text = text.strip()
    line = text[: most + 1].split("\n", 1)[0]
    if len(line) == len(text):
        return line
    start = first_characters(line, most)
    word = start.rfind(" ", most // 2) if len(start) < len(line) else -1
    return f"{(start[:word] if word > 0 else start).rstrip()}…"


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
    after = text[position]
    # Accents are marks of Unicode, which patterns have no class for.
    if unicodedata.category(after)[0] == "M" or _JOINED.match(text, position - 1):
        return True
    # Two regional indicators are a flag.
    head = text[:position]
    return after in _REGIONAL and (len(head) - len(head.rstrip(_REGIONAL))) % 2 == 1


#: Behind the last character that has a case.
_CASED = 0x20000


def _folded(char: str) -> str:
    """Return a character without its case; one whose folding has several characters, such as İ, stays as it is."""
    return next((folded for folded in (char.casefold(), char.lower()) if len(folded) == 1), char)


@cache
def _variants() -> dict[str, str]:
    """Return the characters that differ only in case, by what they fold to."""
    variants: defaultdict[str, str] = defaultdict(str)
    for char in map(chr, range(_CASED)):
        if _folded(char) != char:
            variants[_folded(char)] += char
    return dict(variants)


def case_variants(char: str) -> str:
    """Return a character in every case, without case first."""
    return (folded := _folded(char)) + _variants().get(folded, "")


# The marker in any spelling
#
# A model reads full-width or Cyrillic letters as well as a person does. So the marker is looked for in a folded text,
# in which a character that looks like another one is that one: an angle of any form is `<`, and letters have neither
# case, accent nor style. A folded text is as long as the text itself, so a place in one is a place in the other.

#: What looks like a character of the marker; compatible forms, such as full-width ones, are not listed.
_LOOKALIKES = {
    "<": "‹«〈《⟨⟪❬❮❰˂ᐸ≺⪡⋖⦑⧼",
    "/": "\\∕⁄⧸╱⟋⧹∖╲⟍ノ丿",
    "-": "‐‑‒–—―⁃−~∼·・ー᠆֊־⸺⸻゠•",
    "|": "¦∣│┃❘ǀ❙",
    "m": "мμᴍꮇⲙ",
    "e": "еєҽεᴇꭼ℮ə",
    "o": "о0οσօөᴏჿ๐০〇øѳ",
    "t": "тτᴛꭲ†ⲧ",
    "h": "һнηհʜꮋⲏ",
    "r": "гʀꭱꮢⲅ",
    "y": "уүγυყʏꭹⲩ",
}
_SEEN_AS = {other: char for char, others in _LOOKALIKES.items() for other in others}
#: What a hidden character is folded to, and what one that is a space as well; a class of both.
_HIDDEN, _HIDDEN_SPACE = "\u200b", "\x85"
_ANY_HIDDEN = f"[{_HIDDEN}{_HIDDEN_SPACE}]*"
_IS_HIDDEN = lazy_pattern(f"[{INVISIBLE}]")
#: An angle, or what looks like one, in any text. Most texts have none.
_ANGLES = lazy_pattern(f"[<＜﹤≮{_LOOKALIKES['<']}]")
_SPELLED = _ANY_HIDDEN.join("[-_\\s]" if char == "-" else char for char in NAME)
#: The marker, and control tokens of chat models, such as `<|im_start|>`, which some servers do not escape.
_MARKER = lazy_pattern(
    rf"<(?=[\s/{_HIDDEN}]*{_SPELLED}|{_ANY_HIDDEN}\|[^\s<>]{{1,80}}\|{_ANY_HIDDEN}[>›»〉》⟩⟫❭❯❱˃ᐳ≻])"
)


class _FoldedChars(dict[int, str]):
    """What each character is folded to, found out when it is first seen."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if _IS_HIDDEN.match(char) or unicodedata.category(char)[0] == "M":
            folded = _HIDDEN_SPACE if char.isspace() else _HIDDEN
        else:
            # Some characters stand for several; the first one keeps the length.
            plain = unicodedata.normalize("NFKD", char)[0].casefold()[0]
            folded = " " if char.isspace() else _SEEN_AS.get(char, _SEEN_AS.get(plain, plain))
        self[code] = folded
        return folded


_FOLDED = _FoldedChars()


def escape_markers(text: str, angle: str = "&lt;") -> str:
    """Return a text with another angle in everything that looks like a marker or a control token of a model."""
    if _ANGLES.search(text) is None:
        return text
    places = [match.start() for match in _MARKER.finditer(text.translate(_FOLDED))]
    starts, ends = [0, *(place + 1 for place in places)], [*places, len(text)]
    return angle.join(text[start:end] for start, end in zip(starts, ends, strict=True))


# Arguments of callers

#: The longest text that a listing looks for in contents.
LONGEST_PART = 1000
_LONGEST_CURSOR = 18


def require_limit(limit: int, most: int | None, name: str = "limit", least: int = 0) -> None:
    """Refuse a limit that is no whole number, too small, or more than can be served."""
    whole = isinstance(limit, int) and not isinstance(limit, bool)
    if not whole or limit < least or (most is not None and limit > most):
        bounds = f"from {least}" if most is None else f"from {least} to {most}"
        raise InvalidInput(f"{name} must be a whole number {bounds}, not {limit!r}")


def cursor_number(cursor: str, word: str) -> int:
    """Return the number in a cursor such as `before-17`."""
    number = str(cursor).removeprefix(f"{word}-")
    if not number.isascii() or not number.isdigit() or len(number) > _LONGEST_CURSOR:
        raise InvalidInput(f"{cursor!r} is not a cursor: pass the one that the last page came with")
    return int(number)


def listed(values: object, name: str) -> Sequence[object]:
    """Return several values where one, or several, were given."""
    if isinstance(values, str):
        return [values]
    if not isinstance(values, Sequence | AbstractSet):
        raise InvalidInput(f"{name} must be a list of words, not {values!r}")
    return list(values)


def require_texts(values: object, name: str, each: str, longest: int = LONGEST_PART) -> tuple[str, ...]:
    """Return the texts of an argument that takes one or several."""
    return tuple(require_text(value, each, longest) for value in listed(values, name))
