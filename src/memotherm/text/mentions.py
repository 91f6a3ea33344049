"""Names and identifiers in canonical form: what a text mentions, however it is written.

A text is a sequence of tokens. A word is a token, and so is an e-mail address, a URL, a code, a long number with
separators, a date, an amount such as $100, and the name of a language such as C++. An identifier is never taken apart:
neither "alice" nor "acme.io" is a token of "alice@acme.io", and a hyphenated word is one word. All spellings of an
identifier have the same token.

A name may also be written in another script; `may_mention` compares how it sounds.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise

from memotherm.text.content import INVISIBLE
from memotherm.text.patterns import lazy_pattern
from memotherm.text.words import LONGEST_WORD, is_unspaced, words

_HIDDEN = lazy_pattern(f"[{INVISIBLE}]")
#: Accents and vowel signs.
_MARKS = lazy_pattern("[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670]")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"(?:{'|'.join(_MONTHS)})[a-z]{{0,6}}\.?"
_DAY = r"\d{1,2}(?:st|nd|rd|th|\.)?"
_HOST = r"[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"
_REST_OF_URL = r"[^\s<>\"'()\[\],;]{0,500}"
#: A number in short groups; one that begins like a telephone number may have longer ones.
_GROUPS = r"\+?\(?\b\d{1,4}\)?(?:[ ./-]{1,2}\(?\d{2,4}\)?){2,6}\b"
_TELEPHONE = r"(?:\+\(?|\b0)\d{1,4}\)?(?:[ ./-]{1,2}\(?\d{2,8}\)?){1,6}\b"
#: The kinds of tokens; the first one that matches wins.
_TOKEN = lazy_pattern(
    "|".join(
        (
            rf"(?P<email>\"?[\w.%+-]{{1,64}}\"?@{_HOST})",
            rf"(?P<url>https?://{_REST_OF_URL}|www\.{_REST_OF_URL}|{_HOST}/{_REST_OF_URL})",
            r"(?P<date>\b\d{4}(?P<iso>[-/.])\d{1,2}(?P=iso)\d{1,2}\b|\b\d{1,2}(?P<sep>[-/.])\d{1,2}(?P=sep)\d{4}\b)",
            rf"(?P<written>\b{_MONTH} {_DAY},? \d{{4}}\b|\b{_DAY} {_MONTH},? \d{{4}}\b)",
            r"(?P<address>\b\d{1,3}(?:\.\d{1,3}){3}\b)",
            r"(?P<pairs>\b[0-9a-f]{1,4}(?:::?[0-9a-f]{1,4}){3,7}\b)",
            r"(?P<account>\b[a-z]{2}\d\d(?: [a-z0-9]{4}){2,7}(?: [a-z0-9]{1,3})?\b)",
            rf"(?P<number>{_GROUPS}|{_TELEPHONE})",
            r"(?P<amount>[$\u20ac\u00a3\u00a5] ?\d+(?:[.,]\d+){0,8}(?!\w)|\b\d+(?:[.,]\d+){0,8} ?%)",
            r"(?P<language>\b[a-z](?:\+\+|#)(?!\w))",
            # Other signs belong to a code if there is a number behind them: owl#7, Tr0ub4dor&3.
            r"(?P<word>[^\W_]+(?:['\u2019._+-][^\W_]+|[#&!^~*][^\W\d_]{0,30}+\d[^\W_]*+){0,20})",
        )
    )
)
#: A word with this is a code, a file name or a host.
_CODE = lazy_pattern(r"\d|_|\w\w\.\w\w")
#: What separates two identifiers.
_APART = lazy_pattern(r"[\s,;()\[\]{}<>\"\u201c\u201d\u201e\u00ab\u00bb\u3001\uff0c\uff1b\u3002]")
#: Numbers in groups have at least so many digits; 10-12-14 is a list.
_LEAST_DIGITS = 7
_YEARS = lazy_pattern(r"(?:19|20)\d\d(?: (?:19|20)\d\d)*")
#: A telephone number without the code of its country has at least so many digits, and the code at most three.
_LEAST_NATIONAL, _LONGEST_CODE = 9, 3
#: The most characters of a text that are read; of one character, Unicode makes up to 18.
_LONGEST = 100_000
#: Shorter beginnings of words are too frequent to search for.
_LEAST_BEGINNING = 3
#: Codes are padded with zeros to at most this length.
_PADDED = 12


def tokens(text: str) -> list[str]:
    """Return the tokens of a text, in order."""
    return [token for match in _TOKEN.finditer(_folded(text)) for token in _canonical(match)]


def mention_test(names: Sequence[str]) -> Callable[[str], bool]:
    """Return a function that tells whether a text mentions at least one of several names."""
    mentioned = mentioned_names(names)
    return lambda text: next(mentioned(text), None) is not None


def mentioned_names(names: Sequence[str]) -> Callable[[str], Iterator[str]]:
    """Return a function that yields those of several names that a text mentions; the text is read once."""
    wanted = [(name, tuple(tokens(name))) for name in names]

    def mentioned(text: str) -> Iterator[str]:
        found = _Tokens(text)
        return (name for name, own in wanted if found.mention(own))

    return mentioned


def index_words(name: str) -> list[str]:
    """Return words of which the text index has at least one for each text that mentions a name.

    Separators divide an identifier into words of the index; the first of them is the beginning of its token.
    """
    found, own = dict.fromkeys(words(name)), tokens(name)
    for token in dict.fromkeys((*own, "".join(own)) if _has_digit(name) else own):
        for part in _indexed_parts(token):
            shortest = 1 if _has_digit(part) else min(len(part), _LEAST_BEGINNING)
            beginnings = (part[:length] for length in range(shortest, min(len(part), LONGEST_WORD) + 1))
            found |= dict.fromkeys(word for beginning in beginnings for word in words(beginning))
        if token.isdigit():
            found |= dict.fromkeys(token.zfill(length) for length in range(len(token) + 1, _PADDED + 1))
    return list(found)


def _indexed_parts(token: str) -> list[str]:
    """Return the parts of a token with whose beginnings one of its spellings begins."""
    if token.startswith("+"):
        return [token[length:] for length in range(1, _LONGEST_CODE + 2)]
    if _is_date(token):
        return [token.partition("-")[0]]
    parts = re.split(r"[^\w]+", token)
    # The last part of a host is too frequent to search for.
    return parts[: max(1, len(parts) - 1)]


def identifiers(text: str) -> list[str]:
    """Return the parts of a text that are identifiers: what is not a plain word, has a digit, or follows `@`, `#`, `/`.

    Tokens without a space, a comma or a bracket between them are one identifier: "owl#7" and "heron-Tr0ub4dor&3".
    """
    folded = _folded(text)
    runs: list[list[re.Match[str]]] = []
    for match in _TOKEN.finditer(folded):
        if runs and not _APART.search(folded, runs[-1][-1].end(), match.start()):
            runs[-1].append(match)
        else:
            runs.append([match])
    return [folded[run[0].start() : run[-1].end()] for run in runs if _is_identifier(folded, run)]


def _is_identifier(folded: str, run: Sequence[re.Match[str]]) -> bool:
    start = run[0].start()
    handle = start > 0 and folded[start - 1] in "@#/" and not folded[start - 2 : start - 1].strip()
    return handle or any(match["word"] is None or _CODE.search(match[0]) for match in run)


class _Tokens:
    """The tokens of a text, in which names are looked up."""

    def __init__(self, text: str) -> None:
        self._all = tokens(text)
        self._places: dict[str, list[int]] = {}
        for place, token in enumerate(self._all):
            self._places.setdefault(token, []).append(place)
        self._international = [token for token in self._places if token.startswith("+")]
        #: A code may be written as a word and a number: "ABC 123".
        self._codes = {word + number for word, number in pairwise(self._all) if word.isalpha()}

    def mention(self, name: tuple[str, ...]) -> bool:
        """Return whether the text mentions a name, given as its tokens."""
        if not name:
            return False
        if len(name) == 1 and is_unspaced(name[0]):
            # No spaces are around a name in such a script.
            return any(name[0] in token for token in self._places)
        whole = "".join(name)
        if _has_digit(whole) and (self._has_number(whole) or (len(name) == 1 and whole in self._codes)):
            return True
        return any(tuple(self._all[at : at + len(name)]) == name for at in self._places.get(name[0], ()))

    def _has_number(self, number: str) -> bool:
        """Return whether a token is a number, or the same telephone number with or without the code of its country."""
        if number in self._places:
            return True
        if number.startswith("+"):
            national = (number[1 + length :] for length in range(_LONGEST_CODE + 1))
            return any(len(each) >= _LEAST_NATIONAL and each in self._places for each in national)
        return len(number) >= _LEAST_NATIONAL and any(
            each.endswith(number) and len(each) - 1 - len(number) <= _LONGEST_CODE for each in self._international
        )


def _folded(text: str) -> str:
    plain = _HIDDEN.sub("", unicodedata.normalize("NFKC", text[:_LONGEST])[:_LONGEST]).casefold()
    return (
        plain if plain.isascii() else unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", plain)))
    )


def _canonical(match: re.Match[str]) -> Iterator[str]:
    """Yield the token of a match; a number that is no identifier has a token for each of its groups."""
    kind, text = match.lastgroup, match[0]
    if kind == "email":
        local, _, host = text.replace('"', "").rpartition("@")
        yield f"{local.partition('+')[0]}@{host.rstrip('.')}"
    elif kind == "url":
        yield re.sub(r"^(?:https?://)?(?:www\.)?", "", text).rstrip("/.?!:")
    elif kind in ("date", "written"):
        yield _date_of(text) or _joined(text)
    elif kind in ("address", "language"):
        yield text
    elif kind == "amount":
        yield re.sub("[ ,]", "", text)
    elif kind == "number":
        groups = re.findall(r"\d+", text)
        digits = "".join(groups)
        if len(digits) < _LEAST_DIGITS or _YEARS.fullmatch(text):
            yield from map(_joined, groups)
        else:
            yield "+" + digits if text.startswith("+") else digits.lstrip("0") or "0"
    else:
        yield _joined(text)


def _joined(word: str) -> str:
    """Return a word without separators, a possessive ending and padding zeros; a decimal number keeps its point."""
    word = re.sub(r"['\u2019]s$", "", word)
    if re.fullmatch(r"\d+(?:\.\d+)+", word):
        return word
    plain = re.sub(r"[^\w]|_", "", word)
    padded = re.fullmatch(r"([^\W\d]*)0*(\d+)", plain)
    return "".join(padded.groups()) if padded else plain


@lru_cache(maxsize=1000)
def _date_of(text: str) -> str:
    """Return a date as ISO 8601; empty if it is none. 3/4/2025 is the third month, as 12/25/2025 must be."""
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    named = re.search("|".join(_MONTHS), text)
    try:
        if named:
            return date(numbers[1], _MONTHS.index(named[0]) + 1, numbers[0]).isoformat()
        if numbers[0] > 31:
            return date(*numbers).isoformat()
        month, day, year = numbers
        return date(year, *((day, month) if month > 12 or "." in text else (month, day))).isoformat()
    except ValueError:
        return ""


def _is_date(token: str) -> bool:
    return re.fullmatch(r"\d{4}-\d\d-\d\d", token) is not None


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


#: Consonants that transliterations confuse, each replaced by one of them; vowels differ too much to count.
_CONFUSED = str.maketrans("bdgvzq", "ptkfsk", "aeiouyw")
_DOUBLED = re.compile(r"(.)\1+")
#: How similar the consonants of two names are at least, and how many there are.
_SIMILAR = 0.8
_LEAST_CONSONANTS, _MOST_CONSONANTS = 3, 100
#: The most words of a name in another script.
_MOST_WORDS = 6


def may_mention(text: str, name: str) -> bool:
    """Return whether a text may mention a name in another script: transliterated, it is the same or sounds alike."""
    wanted, found = tokens(name), tokens(text)
    if not wanted or not any(_is_foreign(token) for token in (*found, *wanted)):
        return False
    letters, is_foreign = _letters(wanted), any(map(_is_foreign, wanted))
    foreign = [_is_foreign(token) for token in found]
    compared: set[tuple[str, ...]] = set()
    for count in range(1, min(len(wanted), _MOST_WORDS) + 1):
        for start in range(len(found) - count + 1):
            # One of the two is in another script than Latin, the other is not.
            if any(foreign[start : start + count]) != is_foreign:
                part = tuple(found[start : start + count])
                if part not in compared and _alike(_letters(part), letters, part):
                    return True
                compared.add(part)
    return False


def _alike(one: str, other: str, part: Sequence[str]) -> bool:
    if one == other or (len(part) == 1 and len(other) > _LEAST_CONSONANTS and other in one and _is_unbroken(part[0])):
        return bool(one)
    first, second = (_DOUBLED.sub(r"\1", letters.translate(_CONFUSED)) for letters in (one, other))
    shorter, longer = sorted((len(first), len(second)))
    if not _LEAST_CONSONANTS <= shorter <= longer <= _MOST_CONSONANTS or 2 * shorter < _SIMILAR * (shorter + longer):
        return False
    return SequenceMatcher(None, first, second, autojunk=False).ratio() >= _SIMILAR


def _letters(parts: Sequence[str]) -> str:
    # Its tables are needed by a request to forget somebody only.
    from anyascii import anyascii

    return re.sub("[^a-z]", "", anyascii(" ".join(parts)).lower())


def _is_foreign(token: str) -> bool:
    return any(ord(character) > 0x24F and character.isalpha() for character in token)


def _is_unbroken(token: str) -> bool:
    """Return whether a token is a run of Chinese or Japanese, in which a name has no space around it."""
    return any("\u3040" <= character <= "\u9fff" for character in token)
