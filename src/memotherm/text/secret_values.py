"""Whether a value looks like a secret.

A secret is a mix of letters, digits and symbols that is neither a word, a number, a name of code nor an address.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from memotherm.text.patterns import lazy_pattern

#: Scripts that are written without spaces between words, or attach particles to them.
UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"


class Found(NamedTuple):
    """A part of a text to redact."""

    start: int
    end: int
    #: What it looks like, in plain words.
    name: str


class Strength(IntEnum):
    """How much a value looks like a secret."""

    #: A word, a number, an address, a name of code, a placeholder.
    NO = 0
    #: A word with a number or a symbol, such as hunter2; a secret after "password:", else perhaps a name.
    POSSIBLE = 1
    #: A mix that is no name.
    LIKELY = 2


#: Replaces a redacted part of a text.
MARK = "[redacted]"
#: Longer values are judged by their beginning.
_LONGEST = 300
_SHORTEST = 6
_SHORTEST_RANDOM = 12
#: In bits per character; English words have less.
_MIN_ENTROPY = 3.0

_DIGIT = re.compile("[0-9]")
_LETTER = re.compile(r"[^\W\d_]")
#: A symbol that ordinary words do not contain.
_SYMBOL = re.compile("[!#$%&*+?@^~=§|/:]")
_PLACEHOLDER = lazy_pattern(
    r"\$\{|\$[A-Za-z_]\w{0,60}+$|.{0,20}\$[A-Z]{1,20}_[A-Z]|\$\(|\{[\w{]|%[sd(]|%\w{1,60}%|<|\[|\.\.\.|your[-_ ]"
    r"|(?:change[-_]?me|example|placeholder|redacted|dummy|todo|required|nullable)(?![^\W_])",
    re.IGNORECASE,
)
_NUMBER = lazy_pattern(
    r"""[~<>≤≥±+\-$€#v]?[0-9][0-9.,:/x×T_-]{0,40}+(?:[A-Za-z%°µ]{0,6}|[+Z][0-9:]{0,6})
        |v?[0-9]{1,8}(?:[.][0-9]{1,8}){1,4}[-.]?(?:rc|alpha|beta|dev|post|b|a)[.]?[0-9]{0,4}""",
    re.VERBOSE | re.IGNORECASE,
)
_NAME = lazy_pattern(
    r"""[A-Z][A-Z0-9]{0,11}(?:-[0-9]{1,8}){1,3}|[A-Z]{2,6}[0-9]{2,6}   # PR-482 INV-2026-1184 ISO27001
        |[A-Za-z]{2,30}(?:[@:=]{1,2}|[-_]?v?)[0-9]{1,4}(?:[.:][0-9]{1,6}){1,4}   # Python3.12 nginx:1.27
        |[a-z]{2,30}(?:@[0-9]{1,2}|:[0-9]{1,6})               # postgres@14 cache:6379
        |(?:issue|pr|mr|pull|ticket|bug|gh)\#[0-9]{1,6}
        |\#[0-9A-Fa-f]{3,8}|[@#][\w-]{1,40}                  # #ff8800 @ana
        |[\w.+-]{2,60}@[\w-]{1,60}(?:\.[\w-]{1,60}){1,6}     # ana@example.org
        |[a-z_][a-z_.-]{2,30}@[a-z][a-z0-9.-]{2,60}          # ana@heron2
        |(?:sha|md)[0-9]{1,3}[-:~].{1,200}|mem_[0-9a-z]{26}|arn:.{1,200}
        |(?i:ctrl|alt|shift|cmd|strg|super)\+.{1,30}""",
    re.VERBOSE,
)
_LOWER_NAME = lazy_pattern(r"[a-z]{1,20}[0-9]{0,3}(?:[-_.:](?:[a-z]{1,30}[0-9]{0,3}|[0-9]{1,4}[a-z]?)){1,12}")
#: A passphrase of words joined by hyphens.
_PASSPHRASE = lazy_pattern(r"[a-z]{3,20}(?:-[a-z]{3,20}){2,8}-(?:[a-z]{3,20}|[0-9]{1,4})")
_CODE = lazy_pattern(
    r"[A-Za-z_][\w.]{0,80}[(\[]|[A-Za-z_][\w.-]{0,80}=[^=]|\^|\\[dws]|[A-Za-z_]{1,60}[0-9]{0,2}(?:\.[A-Za-z_]{1,60}[0-9]{0,2}){1,8}\Z"
)
_FILE = lazy_pattern(
    r"[\w./~\\-]{1,200}\.(?:[a-z]{1,4}|[jt]sx|json5?|ya?ml|toml|lock|html|conf|mp[34]|sqlite3?|tar\.gz)(?::[0-9]{1,6}){0,2}",
    re.ASCII,
)
#: A word that may be in camel case, with numbers at its end.
_WORD = lazy_pattern(
    r"(?:[A-Z]{1,6}|[A-Z]?[^\W\d_A-Z]{1,30})[0-9]{0,4}(?:(?:[A-Z][^\W\d_A-Z]{1,30}|[A-Z]{2,6})[0-9]{0,4}){0,8}"
)
_UUID = lazy_pattern(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_HEX = lazy_pattern("[0-9a-f]+|[0-9A-F]+")
#: A digit, a capital after a small letter, a symbol in a word, words with hyphens. Text is searched seven times faster
#: for one of these characters than for the alternatives.
UNLIKE_A_WORD = lazy_pattern(
    r"[0-9A-Z!#$%&*+?@^~=-](?:(?<=[0-9])|(?<=[a-z][A-Z])|(?<=-)[^\s-]{2,20}-"
    r"|(?<=[^\W_][!#$%&*+?@^~=])[!#$%&*+?@^~=]{0,2}[^\W_])"
)
UNLIKE_A_NAME = lazy_pattern(r"[^\W_][!_#$%&*+?@^~=][^\W_]")
#: Words that are joined by at least two hyphens, or by a low line, as no adjective is: pao-de-queijo.
LINKED = lazy_pattern(r"[^\W_]{1,30}(?:(?:-[^\W_]{1,30}){2,8}|(?:_[^\W_]{1,30}){1,8})")
YEAR = lazy_pattern("(?:19|20)[0-9]{2}")
#: At least three digits, in groups or not, which a letter may follow.
DIGITS = lazy_pattern(r"(?=(?:[0-9]-?){3})[0-9][0-9-]{2,12}(?:[^\W\d_]|[#*])?")


@cache
def listed_secrets() -> dict[str, Any]:
    """Return the words around each kind of secret, by language, and the prefixes of the keys of services."""
    found: dict[str, Any] = json.loads(Path(__file__).with_name("secrets.json").read_text("utf-8"))
    return found


@cache
def listed(key: str) -> frozenset[str]:
    """Return the words of all languages under a key, such as those of "was changed to"."""
    words: str = listed_secrets()[key]
    return frozenset(words.split(", "))


def strength(value: str) -> Strength:
    """Return how much a value looks like a secret."""
    value = value[:_LONGEST]
    if len(value) < _SHORTEST or _is_ordinary(value):
        return Strength.NO
    bare = value.rstrip("!?.")
    digits, letters = _DIGIT.search(value), _LETTER.search(value)
    symbol = _SYMBOL.search(bare, 1)
    if not letters:
        return Strength.POSSIBLE if digits and symbol and not _NUMBER.fullmatch(bare) else Strength.NO
    if not digits:
        if symbol:
            return Strength.POSSIBLE
        return Strength.POSSIBLE if _PASSPHRASE.fullmatch(value) or _has_irregular_case(bare) else Strength.NO
    if symbol:
        return Strength.LIKELY
    lower, upper = value != value.upper(), value != value.lower()
    parts = re.split("[-_.]", bare)
    if lower and upper and not all(_WORD.fullmatch(part) or part.isdigit() for part in parts if part):
        return Strength.LIKELY
    return Strength.POSSIBLE


def _is_ordinary(value: str) -> bool:
    """Return whether a value is a number, an address, a name of code, a term or a placeholder."""
    bare = value.rstrip("!?.")
    if is_placeholder(value) or MARK in value or "://" in value or bare.lower() in listed("terms") or "::" in value:
        return True
    if value.startswith(("/", "./", "../", "~/", "--", "\\")) or value[1:3] == ":\\":
        return True
    if "/" in value and all(map(_is_plain, value.split("/"))):
        return True
    if _PASSPHRASE.fullmatch(value):
        return False
    named = _NUMBER.fullmatch(bare) or _LOWER_NAME.fullmatch(bare) or _FILE.fullmatch(bare) or _CODE.match(value)
    return bool(named or _NAME.fullmatch(bare))


def _is_plain(part: str) -> bool:
    """Return whether a part of a path is a word or a name."""
    return not part or _WORD.fullmatch(part) is not None or _is_ordinary(part)


def _has_irregular_case(value: str) -> bool:
    """Return whether a word has capitals that neither a name nor camel case has."""
    return (
        value.isascii() and value.isalpha() and not _WORD.fullmatch(value) and len(re.findall("[a-z][A-Z]", value)) > 2
    )


def is_placeholder(value: str) -> bool:
    """Return whether a value is a placeholder, such as ${PASSWORD}, *** or xxxx."""
    return len(set(value)) <= 2 or _PLACEHOLDER.match(value) is not None


def is_random(value: str, shortest: int = _SHORTEST_RANDOM) -> bool:
    """Return whether a value looks random: long, of letters and digits, and with few repeated characters."""
    value = value[:_LONGEST]
    if len(value) < shortest or not _DIGIT.search(value) or not _LETTER.search(value):
        return False
    if not (_HEX.fullmatch(value) or _UUID.fullmatch(value)) and _is_ordinary(value):
        return False
    return _entropy(value) >= _MIN_ENTROPY


def _entropy(value: str) -> float:
    """Return the Shannon entropy, in bits per character."""
    counts = Counter(value)
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())


def is_number(value: str) -> bool:
    """Return whether a value is digits, in groups or not."""
    return value.replace("-", "").isdigit()


def forms_of(value: str) -> set[str]:
    """Return a value with one character for each word and number, and with the lengths of its parts."""
    return {
        re.sub(r"[^\W\d_]+", "a", re.sub("[0-9]+", "0", value)),
        re.sub(r"[^\W_]+", lambda part: f"{len(part[0])} ", value),
    }
