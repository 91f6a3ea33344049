"""Find the words that announce a secret, such as "password", in 28 languages.

A word that means something else alone, such as "code", needs company: the word for a door, a safe or an alarm beside
it. What is read around a word is bounded, so the time is linear.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from memotherm.text.patterns import lazy_pattern
from memotherm.text.secret_grammar import Joint, is_said_of_secrets
from memotherm.text.secret_values import UNSPACED, Strength, is_placeholder, is_random, listed, listed_secrets, strength


class Kind(Enum):
    """What a word announces."""

    PASSWORD = "a password"  # noqa: S105
    #: A random value: a token, a key, a secret.
    TOKEN = "a secret value"  # noqa: S105
    #: A few digits.
    PIN = "a code"
    #: The code of something that is locked.
    CODE = PIN
    #: The value of any key, which may also be an id.
    KEY = "a key"
    #: "The new one" beside a word for a password.
    NEW = "a new secret"
    #: The name of a user and a password.
    LOGIN = "credentials"


#: Up to this length, a word in Latin letters is not found inside another one.
_SHORT_WORD = 4
_LONGEST_ENDING = 6
#: How far around a word its company may be.
_BESIDE = 32
#: Passwort123 announces nothing, and password2= does.
_NOT_A_VALUE = r"(?![0-9]{1,9}+(?!\s{0,3}[:=]))"
#: Words of the same letters that announce nothing.
_OTHERS = lazy_pattern(r"token(?:i[sz]|ring)|secretar|secretly|passwordless")
_UNSPACED = lazy_pattern(f"[{UNSPACED}]")


class Announced(NamedTuple):
    """A word in a text that announces a secret."""

    start: int
    #: The end of the word with its ending.
    end: int
    kind: Kind
    #: Whether it is part of the name of something about a secret, such as password_file.
    about: bool = False


def _pattern(phrase: str, kind: str) -> re.Pattern[str]:
    word = re.escape(phrase)
    if _UNSPACED.search(phrase[-1]):
        return re.compile(word)
    if kind == "CODE":
        return re.compile(rf"{word}[^\W\d_]{{0,{_LONGEST_ENDING}}}+")
    if phrase.isascii() and len(phrase) <= _SHORT_WORD:
        return re.compile(rf"(?<![^\W_]){word}(?![^\W_])")
    if kind == "PASSWORD" or not phrase.isascii():
        return re.compile(rf"{word}[^\W\d_]{{0,{_LONGEST_ENDING}}}+{_NOT_A_VALUE}")
    # "token" is found in "apitoken", not in "tokenizer".
    return re.compile(rf"{word}(?:e?s)?(?![^\W\d_]){_NOT_A_VALUE}")


_SCRIPTS = {
    "latin": lazy_pattern("[\u00c0-\u024f\u1e00-\u1eff\u2019]"),
    "greek and cyrillic": lazy_pattern("[\u0370-\u052f]"),
    "others": lazy_pattern(f"[\u0590-\u06ff\u0900-\u097f{UNSPACED}]"),
}


@functools.cache
def _phrases(passwords_only: bool) -> dict[str, dict[str, list[tuple[str, str]]]]:
    """Return the phrases with the names of their kinds, by script and by a part of them."""
    kinds = {
        phrase: kind for kind, languages in reversed(listed_secrets()["words"].items())
        for text in languages.values() for phrase in text.split(", ") if kind == "PASSWORD" or not passwords_only
    }  # fmt: skip
    found: dict[str, dict[str, list[tuple[str, str]]]] = {"ascii": {}, **{script: {} for script in _SCRIPTS}}
    for phrase, kind in kinds.items():
        script = next((name for name, letters in reversed(_SCRIPTS.items()) if letters.search(phrase)), "ascii")
        part = next((each for each in listed("parts") if each in phrase), phrase)
        found[script].setdefault(part, []).append((phrase, kind))
    return found


_compiled = functools.cache(_pattern)


def announcing_words(lowered: str, *, passwords_only: bool = False) -> list[Announced]:
    """Return the words that announce a secret in a text in lower case, in their order; they do not overlap."""
    phrases = _phrases(passwords_only)
    scripts = [phrases["ascii"]]
    if not lowered.isascii():
        scripts += (phrases[name] for name, letters in _SCRIPTS.items() if letters.search(lowered))
    found: list[Announced] = []
    for parts in scripts:
        for phrases_of_part in [each for part, each in parts.items() if part in lowered]:
            for phrase, kind in phrases_of_part:
                found += _places(lowered, phrase, kind)
    found.sort(key=lambda each: (each.start, -each.end, each.kind.value))
    return list(_without_overlaps(found, lowered))


def _places(lowered: str, phrase: str, kind: str) -> Iterator[Announced]:
    # A text is searched much faster for a fixed text than for a pattern.
    start = lowered.find(phrase)
    while start >= 0:
        word = _compiled(phrase, kind).match(lowered, start)
        if word is not None and (kind not in listed_secrets()["beside"] or _is_beside(lowered, word, kind)):
            yield Announced(*word.span(), Kind[kind])
        start = lowered.find(phrase, start + len(phrase))


def _is_beside(lowered: str, word: re.Match[str], kind: str) -> bool:
    """Return whether a word that means something else alone has the company that it needs."""
    first, end = max(0, word.start() - _BESIDE), word.end() + _BESIDE
    start = max(first, lowered.rfind("\n", first, word.start()))
    needed, other = _company(kind)
    return needed.search(lowered, start, end) is not None and other.search(lowered, start, end) is None


@functools.cache
def _company(kind: str) -> list[re.Pattern[str]]:
    """Return what must, and what may not, be beside the words of a kind."""
    texts: dict[str, str] = listed_secrets()["beside"][kind]
    words = [map(re.escape, texts[name].split(", ")) for name in ("needed", "other")]
    return [re.compile(rf"(?<![a-z])(?:{'|'.join(each)})") for each in words]


def _without_overlaps(found: list[Announced], lowered: str) -> Iterator[Announced]:
    end = -1
    for each in found:
        if each.start >= end and not _OTHERS.match(lowered, each.start):
            yield each
            end = each.end


# The values that they announce

#: The least length of a number that is a password, of a value that is likely a token, and of one that stands alone.
_SHORTEST_NUMBER, _SHORTEST_TOKEN, _SHORTEST_ALONE = 4, 8, 16
#: A number in groups, which is no date, and words with a number among them: dune-lamp-44.
_GROUPS = lazy_pattern(
    "(?!(?:[0-9]{4}-[01][0-9]-[0-3][0-9]|[0-3][0-9]-[01][0-9]-(?:[0-9]{2}){1,2})(?![0-9-]))"
    "[0-9]{2,6}(?:-[0-9]{2,6}){1,5}[A-Z]?"
    "|[0-9]{4,8}[#*]|(?:[a-z]{3,20}-){2,5}[0-9]{1,4}(?:-[a-z]{3,20}){0,3}"
)
_PIN = lazy_pattern(
    "(?:[A-Z]-)?[0-9]{4,8}(?:-?[^\\W\\d_]|[#*])?|[0-9]{3}[^\\W\\d_]|[0-9]{3,4}-[0-9]{3,4}|(?:[0-9]{1,4}-){2,4}[0-9]{1,4}[A-Z]?"
    "|(?=[^0-9]*[0-9]+[^0-9]+[0-9])[A-Za-z0-9]{3,12}(?:-[A-Za-z0-9]{3,12}){0,7}"
)
#: Letters with several numbers among them, as in Vb71Xl20Qs and 9sd8f7-sdf98s.
_MIXED_TOKEN = lazy_pattern("(?=.{10,80}$)[0-9]{0,4}(?:[A-Za-z_-]{1,8}[0-9]{1,4}){2,}[A-Za-z]{0,4}")
#: A word, or several that are joined; capitals tell Lilac.Storm from an attribute of code.
_CHOSEN = lazy_pattern(r"(?=[^\s]*[^\W\d_])[^\W_](?:[^\s.:()\[\]{}<>\"`\\/=@]|\.(?=[^\W\d_a-z])|[!?.]$){2,60}")


def accepts(word: Announced, value: str, joint: Joint) -> bool:
    """Return whether a word announces a value that is joined to it."""
    if is_placeholder(value):
        return False
    looks, joined = strength(value), joint >= Joint.JOINED
    if word.kind is Kind.PASSWORD:
        number = (value.isdigit() and len(value) >= _SHORTEST_NUMBER) or _GROUPS.fullmatch(value) is not None
        likely = looks is Strength.LIKELY or (joined and not word.about and (number or looks is Strength.POSSIBLE))
        return likely or (joint is Joint.STATED and not word.about and may_be_chosen(value))
    if word.kind is Kind.PIN:
        return joined and (_PIN.fullmatch(value) is not None or looks is Strength.LIKELY)
    if word.kind in (Kind.TOKEN, Kind.KEY):
        likely = looks is Strength.LIKELY and len(value) >= _SHORTEST_TOKEN
        mixed = looks is Strength.POSSIBLE and _MIXED_TOKEN.fullmatch(value) is not None
        if word.kind is Kind.KEY:
            return joined and (likely or mixed)
        return is_random(value, _SHORTEST_ALONE) or (joined and (likely or mixed or is_random(value)))
    stated = joint is Joint.STATED and may_be_chosen(value)
    return looks is Strength.LIKELY or (joined and looks is Strength.POSSIBLE) or stated


@functools.cache
def _english() -> frozenset[str]:
    return frozenset(listed_secrets()["words"]["PASSWORD"]["english"].split(", "))


def is_english(word: str) -> bool:
    """Return whether a word for a password is English, which lets other nouns follow it: "the password rotation"."""
    return word in _english()


def may_be_chosen(value: str) -> bool:
    """Return whether somebody may have chosen a value, of any letters, as a password: what nobody says of one."""
    if not _CHOSEN.fullmatch(value) or value.isdigit() or value.endswith(("'s", "’s")) or is_said_of_secrets(value):
        return False
    lowered = value.lower()
    return lowered not in listed("terms") and (value[-1].isdigit() or not announcing_words(lowered))
