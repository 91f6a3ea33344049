"""Find the secrets that words such as "password" announce, in sentences and in the syntax of configurations.

A value is judged by how it looks and by how it is joined to the word: after `:`, `=`, "is" or nothing, hunter2 is a
password; further away in the sentence, only a value that is no name. What is read around a word is bounded, so the
time is linear.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from memotherm.text.patterns import lazy_pattern
from memotherm.text.secret_values import Found, Strength, is_placeholder, is_random, strength

# The words


class Kind(Enum):
    """What a word announces."""

    PASSWORD = "a password"  # noqa: S105
    #: A random value: a token, a key, a secret.
    TOKEN = "a secret value"  # noqa: S105
    #: A few digits.
    PIN = "a code"
    #: The name of a user and a password.
    LOGIN = "credentials"


@functools.cache
def listed_secrets() -> dict[str, dict[str, Any]]:
    """Return the words around each kind of secret, by language, and the prefixes of the keys of services."""
    found: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("secrets.json").read_text("utf-8"))
    return found


#: Up to this length, a word in Latin letters is not found inside another one.
_SHORT_WORD = 4
_LONGEST_ENDING = 6
#: Passwort123 announces nothing, and password2= does.
_NOT_A_VALUE = r"(?![0-9]{1,9}+(?!\s{0,3}[:=]))"
#: Words of the same letters that announce nothing.
_OTHERS = lazy_pattern(r"token(?:i[sz]|ring)|secretar|secretly|passwordless")
#: Scripts that are written without spaces between words, or attach particles to them.
UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
_UNSPACED = lazy_pattern(f"[{UNSPACED}]")


class Announced(NamedTuple):
    """A word in a text that announces a secret."""

    start: int
    #: The end of the word with its ending.
    end: int
    kind: Kind


def _pattern(phrase: str, kind: Kind) -> re.Pattern[str]:
    word = re.escape(phrase)
    if _UNSPACED.search(phrase[-1]):
        return re.compile(word)
    if phrase.isascii() and len(phrase) <= _SHORT_WORD:
        return re.compile(rf"(?<![^\W_]){word}(?![^\W_])")
    if kind is Kind.PASSWORD or not phrase.isascii():
        return re.compile(rf"{word}[^\W\d_]{{0,{_LONGEST_ENDING}}}+{_NOT_A_VALUE}")
    # "token" is found in "apitoken", not in "tokenizer".
    return re.compile(rf"{word}(?:e?s)?(?![^\W\d_]){_NOT_A_VALUE}")


#: Parts of many phrases: a text without the part has none of them.
_PARTS = (
    *("pass", "token", "secret", "key", "log", "cred", "clave", "code", "parol", "contrasen", "hasl", "hesl", "jelsz"),
    *("kunci", "sandi", "salas", "kenn", "zugang", "anmeld", "geheim", "segre", "pin", "wi", "jeton", "chei"),
)
_SCRIPTS = {
    "latin": lazy_pattern("[\u00c0-\u024f\u1e00-\u1eff\u2019]"),
    "greek and cyrillic": lazy_pattern("[\u0370-\u052f]"),
    "others": lazy_pattern(f"[\u0590-\u06ff\u0900-\u097f{UNSPACED}]"),
}


@functools.cache
def _phrases() -> dict[str, dict[str, list[tuple[str, Kind]]]]:
    """Return the phrases with their kinds, by script and by a part of them."""
    kinds = {
        phrase: Kind[kind] for kind, languages in reversed(listed_secrets()["words"].items())
        for text in languages.values() for phrase in text.split(", ")
    }  # fmt: skip
    found: dict[str, dict[str, list[tuple[str, Kind]]]] = {"ascii": {}, **{script: {} for script in _SCRIPTS}}
    for phrase, kind in kinds.items():
        script = next((name for name, letters in reversed(_SCRIPTS.items()) if letters.search(phrase)), "ascii")
        part = next((each for each in _PARTS if each in phrase), phrase)
        found[script].setdefault(part, []).append((phrase, kind))
    return found


_compiled = functools.cache(_pattern)


def announcing_words(lowered: str) -> list[Announced]:
    """Return the words that announce a secret in a text in lower case, in their order; they do not overlap."""
    phrases = _phrases()
    scripts = [phrases["ascii"]]
    if not lowered.isascii():
        scripts += (phrases[name] for name, letters in _SCRIPTS.items() if letters.search(lowered))
    found: list[Announced] = []
    for parts in scripts:
        for part, listed in parts.items():
            if part not in lowered:
                continue
            for phrase, kind in listed:
                found += _places(lowered, phrase, kind)
    found.sort(key=lambda each: (each.start, -each.end, each.kind.value))
    return list(_without_overlaps(found, lowered))


def _places(lowered: str, phrase: str, kind: Kind) -> Iterator[Announced]:
    # A text is searched much faster for a fixed text than for a pattern.
    start = lowered.find(phrase)
    while start >= 0:
        word = _compiled(phrase, kind).match(lowered, start)
        if word is not None:
            yield Announced(*word.span(), kind)
        start = lowered.find(phrase, start + len(phrase))


def _without_overlaps(found: list[Announced], lowered: str) -> Iterator[Announced]:
    end = -1
    for each in found:
        if each.start >= end and not _OTHERS.match(lowered, each.start):
            yield each
            end = each.end


# Their values

_LONGEST_VALUE = 200
#: How far after a word, and before it, a sentence is read: in characters, and in words.
_AFTER, _BEFORE = 240, 80
_MOST_AFTER, _MOST_BEFORE = 12, 8
#: The most words with a meaning between a word and its value.
_MOST_BETWEEN = 8
#: The least length of a number that is a password, of a value that is likely a token, and of one that stands alone.
_SHORTEST_NUMBER, _SHORTEST_TOKEN, _SHORTEST_ALONE = 4, 8, 16
#: How many of the following words are looked at for the end of what a word announces.
_LOOKED_AT = 8

#: What follows the word in a name, such as password_2.
_REST = lazy_pattern(r"(?:[_-][A-Za-z0-9_-]{0,40}+|[0-9]{1,3}(?!\w))?+")
#: Names of something about a secret.
_ABOUT = lazy_pattern(
    r"[_-](?:hash|len|min|max|policy|file|path|field|hint|reset|type|ur[il]|name|id\b|count|limit|manager|expir|ttl|"
    r"strength|rule|check|attempt|prefix|version|auth|protected|based|input|store|env|command|budget|bucket)"
)
#: The sign of an assignment after a name, and what stands around it.
_ASSIGNED = lazy_pattern(
    r"""\\{0,3}["'`*_]{0,3}\s{0,3}(?:\([^()\n]{0,40}\)\s{0,2})?
            (?:
                (?:=>|:=|->|→|=(?![=~])|[:：＝](?!//))
                | (?P<column>\|)
                | (?P<tag>>)
                | ["']?\s{1,40}value["']?\s{0,3}[:=]           # name: DB_PASSWORD, value: ...
            )
            (?:[ \t]{0,8}[|>][+-]?[ \t]{0,4}(?=\n))?           # a block of YAML
            \s{0,60}\\{0,3}(?P<quote>["'`“„«「『]?)""",
    re.VERBOSE,
)
_CLOSING = {"“": "”", "„": "“”", "«": "»", "「": "」", "『": "』"}
_UNQUOTED = lazy_pattern(rf"[^\s\"'`<>{UNSPACED}]{{1,{_LONGEST_VALUE}}}+")
#: The next setting of a line, and the next parameter of a URL.
_NEXT = lazy_pattern(r"[;,](?=$|[^\s=:;,]{0,40}+[=:])|&(?=[\w.-]{1,40}+=)")
_TOKEN = lazy_pattern(rf"[{UNSPACED}]+|[^\s{UNSPACED}、。：；，（）]+|[、。：；，（）]")
_QUOTES = "\"'`“„«「『"
_EDGES = "\"'`“”„‟«»‘’「」『』()[]{}<>,;:.*_…。、"
_LEFT_EDGES = _EDGES.replace(".", "") + "?&="
_UNLIKE_A_WORD = lazy_pattern(r"[0-9]|[^\W_][!#$%&*+?@^~=]{1,3}[^\W_]|[a-z][A-Z]|-[^\s-]{2,20}-")
_SENTENCE_END = lazy_pattern(r"[.!?]['\")\]]?$|[。！？]|^[•|]$")
_CODE_SIGNS = lazy_pattern(r"[\"'\\{}\[\]]|\w\)|\|[\w-]+[|)]|![rsa]$")
#: A number in groups, which is no date, and words with a number among them: dune-lamp-44.
_GROUPS = lazy_pattern(
    "(?!(?:[0-9]{4}-[01][0-9]-[0-3][0-9]|[0-3][0-9]-[01][0-9]-(?:[0-9]{2}){1,2})(?![0-9-]))"
    "[0-9]{2,6}(?:-[0-9]{2,6}){1,5}[A-Z]?"
    "|(?:[a-z]{3,20}-){2,5}[0-9]{1,4}(?:-[a-z]{3,20}){0,3}"
)
_PIN = lazy_pattern("[0-9]{4,8}(?:-?[A-Z]|[#*])?|[0-9]{3,4}-[0-9]{3,4}|(?:[0-9]{2,4}-){2,4}[0-9]{2,4}[A-Z]?")
#: Small and large letters with several numbers among them, as in Vb71Xl20Qs.
_MIXED_TOKEN = lazy_pattern("(?=.{10,40}$)(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?:[A-Za-z]{1,4}[0-9]{1,4}){2,}[A-Za-z]{0,4}")
#: Russian and its relatives say "the password for the database X", without a verb.
_WITHOUT_VERB = lazy_pattern("[\u0400-\u052f]")
#: Up to four characters are taken for a particle.
_PARTICLE = lazy_pattern(f"[{UNSPACED}]{{1,4}}")
#: Words, beside those of "to be", that join a word and its value.
_JOINING = (
    "to equals remains stays becomes now reads called named set lautet heißt heisst jetzt wäre c'est c’est cest ça "
    "vale sarà resta = == - – — → -> => : это це то olarak als as comme como come som jako ca mint как як with mit "
    "avec con com met z med vaut valt wert type enter please pls bitte пожалуйста alsjeblieft api апи такой такая "
    "tegenwoordig"
)
_JOINING_SIGNS = tuple(":=：→は是为為는은が")


def announced_secrets(text: str, lowered: str) -> Iterator[Found]:
    """Yield the secrets that words announce; `lowered` is the text in lower case, of the same length."""
    words = announcing_words(lowered) if _UNLIKE_A_WORD.search(text) else []
    table_end = 0
    for place, word in enumerate(words):
        before = words[place - 1].end if place else 0
        # "password for the wifi": a word for a login does not end what another one announces.
        others = words[place + 1 : place + 1 + _LOOKED_AT]
        ends = [each.start for each in others if word.kind is Kind.LOGIN or each.kind is not Kind.LOGIN]
        after = min(ends, default=others[-1].end if len(others) == _LOOKED_AT else len(text))
        yield from _Reading(text, lowered, word, before, after).secrets()
        if word.kind is Kind.PASSWORD and word.start >= table_end:
            secrets, table_end = _column(text, word)
            yield from secrets


class _Reading:
    """What a text says around a word that announces a secret."""

    def __init__(self, text: str, lowered: str, word: Announced, before: int, after: int) -> None:
        self._text, self._word, self._kind = text, word, word.kind
        rest = _REST.match(text, word.end)
        self._end = rest.end() if rest else word.end
        #: Whether the name is that of something about a secret, such as password_file.
        self._about = _ABOUT.match(lowered, word.end) is not None
        self._before = max(before, word.start - _BEFORE)
        #: How many words may stand between the word and its value where nothing joins them.
        self._unjoined = 1 if _WITHOUT_VERB.match(lowered, word.start) else 0
        #: Where the next word begins, and where the reading ends.
        self._after, self._limit = after, self._end + _AFTER

    def secrets(self) -> Iterator[Found]:
        """Yield the secrets that the word announces."""
        sign = _ASSIGNED.match(self._text, self._end)
        if sign is not None and (
            not sign["tag"] or "<" in self._text[max(0, self._word.start - 40) : self._word.start]
        ):
            found = self._assigned(sign)
            if found is not None:
                yield found
                return
            self._end = sign.start("quote")
        if not self._about:
            yield from self._following()
            yield from self._preceding()

    def _assigned(self, sign: re.Match[str]) -> Found | None:
        """Return the value after `:` or `=`, in quotes or not, if it is a secret."""
        value, start = self._quoted(sign) if sign["quote"] else self._unquoted(sign), sign.end()
        if not value or any(character.isspace() for character in value):
            return None
        if self._kind is Kind.LOGIN or (self._kind is Kind.TOKEN and "/" in value):
            user, _, password = value.partition("/") if "/" in value else value.partition(":")
            if user.isalnum() and strength(password) >= Strength.POSSIBLE and not is_random(value):
                return Found(start + len(user) + 1, start + len(value), self._kind.value)
        return Found(start, start + len(value), self._kind.value) if self._accepts(value, joined=True) else None

    def _quoted(self, sign: re.Match[str]) -> str:
        start, closing = sign.end(), _CLOSING.get(sign["quote"], sign["quote"])
        ends = [self._text.find(each, start, start + _LONGEST_VALUE) for each in closing]
        end = min((end for end in ends if end >= 0), default=start)
        return self._text[start:end].removesuffix("\\")

    def _unquoted(self, sign: re.Match[str]) -> str:
        """Return a value without what follows it: other settings, the next column, the end of a sentence."""
        found = _UNQUOTED.match(self._text, sign.end())
        if found is None:
            return ""
        value = _NEXT.split(found[0], maxsplit=1)[0]
        if sign["column"]:
            value = value.partition("|")[0]
        value = value.rstrip("\\)]};,")
        if self._is_code(value):
            return ""
        return value if "=" in sign[0] else value.rstrip(".:?")

    def _is_code(self, value: str) -> bool:
        """Return whether a value without quotes has signs of code, which a password may have, but not a token."""
        return _CODE_SIGNS.search(value) is not None or (self._kind is not Kind.PASSWORD and "(" in value)

    def _accepts(self, value: str, *, joined: bool) -> bool:
        """Return whether the word announces a value; `joined` if nothing with a meaning is between them."""
        if is_placeholder(value):
            return False
        looks = strength(value)
        if self._kind is Kind.PASSWORD:
            number = (value.isdigit() and len(value) >= _SHORTEST_NUMBER) or _GROUPS.fullmatch(value) is not None
            return looks is Strength.LIKELY or (joined and not self._about and (number or looks is Strength.POSSIBLE))
        if self._kind is Kind.PIN:
            return joined and (_PIN.fullmatch(value) is not None or looks is Strength.LIKELY)
        if self._kind is Kind.TOKEN:
            likely = looks is Strength.LIKELY and len(value) >= _SHORTEST_TOKEN
            mixed = looks is Strength.POSSIBLE and _MIXED_TOKEN.fullmatch(value) is not None
            return is_random(value, _SHORTEST_ALONE) or (joined and (likely or mixed or is_random(value)))
        return looks is Strength.LIKELY or (joined and looks is Strength.POSSIBLE and any(map(str.isdigit, value)))

    def _following(self) -> Iterator[Found]:
        """Yield the secrets in the rest of the sentence."""
        if not _UNLIKE_A_WORD.search(self._text, self._end, self._limit):
            return
        between, previous, preposition, changed, form = 0, "", False, False, ""
        login = self._kind is Kind.LOGIN
        for place, token in enumerate(_TOKEN.finditer(self._text, self._end, self._limit)):
            value, start = _bare(token)
            if place >= _MOST_AFTER or "\n" in self._text[self._end : token.start()]:
                return
            if token.end() > self._after and strength(value) is Strength.NO:
                return  # another word, not one that is a part of a value
            near = previous in _listed("changed to") if changed else token[0][0] in _QUOTES or _joins(previous)
            joined = near and (preposition or between <= self._unjoined + (0 if login or changed else 2))
            if not changed:
                joined |= previous in ("/", "|") if login else between <= self._unjoined
            joined |= previous in _listed("and") and (login or _form(value) == form)
            for found in self._judged(value, start, joined=joined):
                form = _form(value)
                yield found
            previous = token[0].lower()
            word = previous.strip(_EDGES)
            if place == 0 and word in _listed("about"):
                return  # the password manager, the login page
            function = is_function_word(word) or _PARTICLE.fullmatch(token[0]) is not None
            preposition = function if place == 0 else preposition
            changed |= word in _listed("changed")
            between += not (function or word in _listed("changed"))
            if login and word in _listed("called"):
                return  # the name of a network or of an account
            if _SENTENCE_END.search(token[0]) or between > _MOST_BETWEEN or token.end() > self._after:
                return

    def _judged(self, value: str, start: int, *, joined: bool) -> Iterator[Found]:
        """Yield a value, or its part after the name of a user, if it is a secret."""
        if not _UNLIKE_A_WORD.search(value) or (self._kind is Kind.PIN and not joined) or self._is_code(value):
            return
        for separator in "/:" if self._kind is not Kind.TOKEN else "":
            user, _, password = value.partition(separator)
            pair = user.isalnum() and strength(user) is Strength.NO
            if pair and strength(password) >= (Strength.POSSIBLE if joined else Strength.LIKELY):
                yield Found(start + len(user) + 1, start + len(value), self._kind.value)
                return
        if self._accepts(value, joined=joined):
            yield Found(start, start + len(value), self._kind.value)

    def _preceding(self) -> Iterator[Found]:
        """Yield the value in "hunter2 is the password" and in "use hunter2 as password"."""
        if not _UNLIKE_A_WORD.search(self._text, self._before, self._word.start):
            return
        tokens = list(_TOKEN.finditer(self._text, self._before, self._word.start))
        if self._before == self._word.start - _BEFORE:
            del tokens[0]  # it may be the end of a word
        following = ""
        after = self._word.start
        for token in tokens[: -_MOST_BEFORE - 1 : -1]:
            if "\n" in self._text[token.end() : after] or (following and _SENTENCE_END.search(token[0])):
                return
            value, start = _bare(token)
            apart = following or token.end() < after
            if apart and _UNLIKE_A_WORD.search(value) and not re.search("[=<]", value):
                joined = _joins(following) and not value.replace("-", "").isdigit() and self._ends()
                if strength(value) is Strength.LIKELY:
                    yield from self._judged(value, start, joined=joined)
                elif joined and self._kind in (Kind.PASSWORD, Kind.TOKEN):
                    yield from self._judged(value, start, joined=True)
            following, after = token[0].lower(), token.start()

    def _ends(self) -> bool:
        """Return whether no noun follows the word: "the password for", not "the password store"."""
        token = _TOKEN.match(self._text, self._end + 1)
        ended = self._text[self._end : self._end + 1] in ".,;!?)"
        return ended or token is None or is_function_word(token[0].lower().strip(_EDGES))


def _form(value: str) -> str:
    """Return a value with each word and each number replaced by one character."""
    return re.sub(r"[^\W\d_]+", "a", re.sub("[0-9]+", "0", value))


def _bare(token: re.Match[str]) -> tuple[str, int]:
    """Return a value without quotes and punctuation, and where it begins."""
    value = token[0].lstrip(_LEFT_EDGES)
    return value.rstrip(_EDGES + "?"), token.end() - len(value)


def _joins(word: str) -> bool:
    """Return whether a word, or the sign at its end, joins a name and its value."""
    return word in _joining_words() or word.endswith(_JOINING_SIGNS)


@functools.cache
def _joining_words() -> frozenset[str]:
    from memotherm.text.language import WORD_LISTS

    return frozenset([*_JOINING.split(), *WORD_LISTS["other"]["linking"].split(), *WORD_LISTS["other"]["now"].split()])


@functools.cache
def _listed(name: str) -> frozenset[str]:
    """Return the words of all languages under a name, such as those of "was changed to"."""
    return frozenset(word for words in listed_secrets()[name].values() for word in words.split(", "))


@functools.cache
def _function_words() -> frozenset[str]:
    from memotherm.text.language import FUNCTION_WORDS, SCRIPT_FUNCTION_WORDS

    return SCRIPT_FUNCTION_WORDS.union(*FUNCTION_WORDS.values())


def is_function_word(word: str) -> bool:
    """Return whether a word in lower case has a function in grammar only, in any language."""
    if not word or word in _joining_words():
        return True
    return word in _function_words() or word.partition("'")[0] in _function_words()


#: The most lines of a table.
_MOST_LINES = 500
_AROUND_CELL = ' "*_`'


def _column(text: str, word: Announced) -> tuple[list[Found], int]:
    """Return the secrets below the head of a column in a table or CSV file, and where the table ends."""
    begin = text.rfind("\n", max(0, word.start - _AFTER), word.start) + 1
    end = text.find("\n", word.end, word.end + _AFTER)
    head = text[begin:end]
    separator = next((each for each in "|\t;," if each in head), None)
    if end < 0 or begin < word.start - _AFTER or separator is None:
        return [], 0
    left, right = text[begin : word.start].rpartition(separator)[2], text[word.end : end].partition(separator)[0]
    if left.strip(_AROUND_CELL) or right.strip(_AROUND_CELL):
        return [], 0
    number, width = text.count(separator, begin, word.start), head.count(separator)
    found = []
    for _ in range(_MOST_LINES):
        begin, end = end + 1, text.find("\n", end + 1)
        end = len(text) if end < 0 else end
        cells = text[begin:end].split(separator)
        if begin >= len(text) or len(cells) != width + 1:
            break
        value = cells[number].strip(_AROUND_CELL)
        if strength(value) >= Strength.POSSIBLE:
            start = begin + sum(len(cell) + 1 for cell in cells[:number]) + cells[number].find(value)
            found.append(Found(start, start + len(value), word.kind.value))
    return found, begin
