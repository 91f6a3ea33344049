"""Find the secrets that words such as "password" announce, in sentences and in the syntax of configurations.

A value is judged by how it looks and by how it is joined to the word: after `:`, `=`, "is" or nothing, hunter2 is a
password; further away in the sentence, only a value that is no name. What is read around a word is bounded, so the
time is linear.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from memotherm.text.patterns import lazy_pattern
from memotherm.text.secret_values import (
    Found,
    Strength,
    could_be_chosen,
    is_placeholder,
    is_random,
    listed,
    listed_secrets,
    strength,
)

# The words


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
#: Scripts that are written without spaces between words, or attach particles to them.
UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
_UNSPACED = lazy_pattern(f"[{UNSPACED}]")


class Announced(NamedTuple):
    """A word in a text that announces a secret."""

    start: int
    #: The end of the word with its ending.
    end: int
    kind: Kind


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
def _phrases() -> dict[str, dict[str, list[tuple[str, str]]]]:
    """Return the phrases with the names of their kinds, by script and by a part of them."""
    kinds = {
        phrase: kind for kind, languages in reversed(listed_secrets()["words"].items())
        for text in languages.values() for phrase in text.split(", ")
    }  # fmt: skip
    found: dict[str, dict[str, list[tuple[str, str]]]] = {"ascii": {}, **{script: {} for script in _SCRIPTS}}
    for phrase, kind in kinds.items():
        script = next((name for name, letters in reversed(_SCRIPTS.items()) if letters.search(phrase)), "ascii")
        part = next((each for each in listed("parts") if each in phrase), phrase)
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
        for part, phrases_of_part in parts.items():
            if part not in lowered:
                continue
            for phrase, kind in phrases_of_part:
                found += _places(lowered, phrase, kind)
    if all(each.kind is Kind.NEW for each in found):
        return []
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
_LAST = f"{_EDGES}?!/&|-–—"
_LEFT_EDGES = _EDGES.replace(".", "") + "?&="
_UNLIKE_A_WORD = lazy_pattern(r"[0-9]|[^\W_][!#$%&*+?@^~=]{1,3}[^\W_]|[a-z][A-Z]|-[^\s-]{2,20}-")
_SENTENCE_END = lazy_pattern(r"[.!?]['\")\]]?$|[。！？]|^[•|]$")
_CODE_SIGNS = lazy_pattern(r"[\"'\\{}\[\]]|\w\)|\|[\w-]+[|)]|![rsa]$")
#: A number in groups, which is no date, and words with a number among them: dune-lamp-44.
_GROUPS = lazy_pattern(
    "(?!(?:[0-9]{4}-[01][0-9]-[0-3][0-9]|[0-3][0-9]-[01][0-9]-(?:[0-9]{2}){1,2})(?![0-9-]))"
    "[0-9]{2,6}(?:-[0-9]{2,6}){1,5}[A-Z]?"
    "|[0-9]{4,8}[#*]|(?:[a-z]{3,20}-){2,5}[0-9]{1,4}(?:-[a-z]{3,20}){0,3}"
)
#: The most words from a secret to another one of the same form.
_MOST_SINCE, _SEPARATORS = 2, ",;、，"
_YEAR = lazy_pattern("(?:19|20)[0-9]{2}")
_PIN = lazy_pattern(
    "(?:[A-Z]-)?[0-9]{4,8}(?:-?[A-Z]|[#*])?|[0-9]{3,4}-[0-9]{3,4}|(?:[0-9]{1,4}-){2,4}[0-9]{1,4}[A-Z]?"
    "|(?=[^0-9]*[0-9]+[^0-9]+[0-9])[A-Za-z0-9]{3,12}(?:-[A-Za-z0-9]{3,12}){0,7}"
)
#: Letters with several numbers among them, as in Vb71Xl20Qs and 9sd8f7-sdf98s.
_MIXED_TOKEN = lazy_pattern("(?=.{10,80}$)[0-9]{0,4}(?:[A-Za-z_-]{1,5}[0-9]{1,4}){2,}[A-Za-z]{0,4}")
#: Russian and its relatives say "the password for the database X", without a verb.
_WITHOUT_VERB = lazy_pattern("[\u0400-\u052f]")
#: Up to four characters are taken for a particle.
_PARTICLE = lazy_pattern(f"[{UNSPACED}]{{1,4}}")
#: The ends of words that join a word and its value.
_JOINING_SIGNS = tuple(":=：→は是为為는은がを가를을")


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
        self._text, self._lowered, self._word, self._kind = text, lowered, word, word.kind
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
        for found in self._first():
            yield found
            yield from self._repeated(found)

    def _first(self) -> Iterator[Found]:
        sign = _ASSIGNED.match(self._text, self._end)
        if sign and (not sign["tag"] or "<" in self._text[max(0, self._word.start - 40) : self._word.start]):
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
        if value.split() != [value]:
            return None  # none, or with a space
        if self._kind is Kind.LOGIN or (self._kind is Kind.TOKEN and "/" in value):
            user, _, password = value.partition("/") if "/" in value else value.partition(":")
            if user.isalnum() and strength(password) >= Strength.POSSIBLE and not is_random(value):
                return Found(start + len(user) + 1, start + len(value), self._kind.value)
        literal = "=" not in sign[0] or sign["quote"] or self._text[self._word.start : self._word.end].isupper()
        chosen = literal and self._may_choose(value, start)
        secret = "secret" in self._lowered[self._word.start : self._word.end] and strength(value) >= Strength.POSSIBLE
        accepted = chosen or (secret and not self._about) or self._accepts(value, joined=True)
        return Found(start, start + len(value), self._kind.value) if accepted else None

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
        return value if "=" in sign[0] else value.rstrip(".:")

    def _is_code(self, value: str) -> bool:
        """Return whether a value without quotes has signs of code, which a password may have, but not a token."""
        return _CODE_SIGNS.search(value) is not None or (self._kind is not Kind.PASSWORD and "(" in value)

    def _may_choose(self, value: str, start: int) -> bool:
        """Return whether a value of words and a number is a password, which nothing more is said of."""
        if self._kind not in (Kind.PASSWORD, Kind.LOGIN) or self._about or not could_be_chosen(value):
            return False
        return self._is_last(start + len(value)) and not announcing_words(value.lower())

    def _is_last(self, end: int) -> bool:
        """Return whether no noun follows: "the password for" and "is X, ", not "the password store"."""
        token = _TOKEN.match(self._text, end) or _TOKEN.match(self._text, end + 1)
        if token is None or token[0][0] in _LAST or _UNSPACED.match(token[0]):
            return True
        word = token[0].lower().strip(_EDGES)
        return is_function_word(word) or _changed().match(word) is not None

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
        if self._kind in (Kind.TOKEN, Kind.KEY):
            likely = looks is Strength.LIKELY and len(value) >= _SHORTEST_TOKEN
            mixed = looks is Strength.POSSIBLE and _MIXED_TOKEN.fullmatch(value) is not None
            if self._kind is Kind.KEY:
                return joined and (likely or mixed)
            return is_random(value, _SHORTEST_ALONE) or (joined and (likely or mixed or is_random(value)))
        return looks is Strength.LIKELY or (joined and looks is Strength.POSSIBLE)

    def _repeated(self, found: Found) -> Iterator[Found]:
        """Yield the values after a secret that have its form: "8812-4471 and 9920-1734", "4096 below, 1357 above"."""
        forms, since, previous = _forms(self._text[found.start : found.end]), 0, ""
        listed_after = self._text[found.end : found.end + 1] in _SEPARATORS
        for token in _TOKEN.finditer(self._text, found.end, self._limit):
            value, start = _bare(token)
            since += bool(value)
            if since > _MOST_SINCE or "\n" in self._text[found.end : token.start()]:
                return
            near = since == 1 or listed_after or previous in listed("and")
            alike = _UNLIKE_A_WORD.search(value) and not forms.isdisjoint(_forms(value))
            if near and alike and not _YEAR.fullmatch(value):
                yield Found(start, start + len(value), found.name)
                since = 0
            previous = token[0].lower()

    def _following(self) -> Iterator[Found]:
        """Yield the secrets in the rest of the sentence."""
        if not _UNLIKE_A_WORD.search(self._text, self._end, self._limit):
            return
        between, previous, preposition, login = 0, "", False, self._kind is Kind.LOGIN
        changed, change = False, _changed().search(self._lowered, self._before, self._word.start) is not None
        for place, token in enumerate(_TOKEN.finditer(self._text, self._end, self._limit)):
            value, start = _bare(token)
            if place >= _MOST_AFTER or "\n" in self._text[self._end : token.start()]:
                return
            if token.end() > self._after and strength(value) is Strength.NO:
                return  # another word, not one that is a part of a value
            near = token[0][0] in _QUOTES or _joins(previous) or (change and previous in listed("changed to"))
            if login:  # a name and a password
                paired = (preposition and near) or previous in ("/", "|")
                joined = (paired and between > 0) or previous in listed("and")
            else:
                joined = near and (preposition or between <= self._unjoined + (0 if changed else 2))
                joined |= between <= self._unjoined and not changed
                joined &= change or previous not in listed("place")
            yield from self._judged(value, start, joined=joined)
            previous = token[0].lower()
            word = previous.strip(_EDGES)
            if (place == 0 and word in listed("about")) or (login and word in listed("called")):
                return  # the password manager, the login page, the name of a network or of an account
            function = is_function_word(word) or _PARTICLE.fullmatch(token[0]) is not None
            preposition = function if place == 0 else preposition
            changed |= _changed().match(word) is not None
            change |= changed
            between += not (function or _changed().match(word) or word.isdigit())
            if self._ends(token[0], place) or between > _MOST_BETWEEN or token.end() > self._after:
                return

    def _ends(self, token: str, place: int) -> bool:
        """Return whether a sentence ends, but not between "the password?" and its answer."""
        asked = token.endswith("?") and place <= 1 and self._kind is not Kind.LOGIN
        return _SENTENCE_END.search(token) is not None and not asked

    def _judged(self, value: str, start: int, *, joined: bool) -> Iterator[Found]:
        """Yield a value, or its part after the name of a user, if it is a secret."""
        if not _UNLIKE_A_WORD.search(value) or (self._kind is Kind.PIN and not joined) or self._is_code(value):
            return
        for separator in "/:=" if self._kind is not Kind.TOKEN else "":
            user, _, password = value.partition(separator)
            pair = user.isalnum() and strength(user) is Strength.NO and "=" not in password
            if pair and strength(password) >= (Strength.POSSIBLE if joined else Strength.LIKELY):
                yield Found(start + len(user) + 1, start + len(value), self._kind.value)
                return
        if self._accepts(value, joined=joined) or (joined and self._may_choose(value, start)):
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
                joined = _joins(following) and not value.replace("-", "").isdigit() and self._is_last(self._end)
                if strength(value) is Strength.LIKELY or (joined and self._kind in (Kind.PASSWORD, Kind.TOKEN)):
                    yield from self._judged(value, start, joined=joined)
            following, after = token[0].lower(), token.start()


def _forms(value: str) -> set[str]:
    """Return a value with one character for each word and number, and with the lengths of its parts."""
    return {
        re.sub(r"[^\W\d_]+", "a", re.sub("[0-9]+", "0", value)),
        re.sub(r"[^\W_]+", lambda part: f"{len(part[0])} ", value),
    }


def _bare(token: re.Match[str]) -> tuple[str, int]:
    """Return a value without quotes and punctuation, and where it begins."""
    value = token[0].lstrip(_LEFT_EDGES)
    return value.rstrip(_EDGES + "?"), token.end() - len(value)


def _joins(word: str) -> bool:
    """Return whether a word, or the sign at its end, joins a name and its value."""
    return word in _joining_words() or word.endswith(_JOINING_SIGNS) or word.startswith(("が", "を", "作为"))


@functools.cache
def _joining_words() -> frozenset[str]:
    from memotherm.text.language import WORD_LISTS

    return frozenset([*listed("joining"), *WORD_LISTS["other"]["linking"].split(), *WORD_LISTS["other"]["now"].split()])


@functools.cache
def _changed() -> re.Pattern[str]:
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(sorted(listed('changed')))})")


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
    if end < 0 or begin < word.start - _AFTER:
        return [], 0
    head = text[begin:end]
    separator = next((each for each in "|\t;," if each in head), None)
    if separator is None:
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
