"""How a sentence joins a secret to the word that announces it, in 28 languages.

"The password is X", "X is the password" and "from X to Y" state a value; what follows a preposition or stands further
away is only near the word. What people say *of* passwords (required, wrong, too short) is a closed class, listed in
`secrets.json`; what passwords *are* is an open one.
"""

from __future__ import annotations

import functools
import re
from enum import IntEnum

from memotherm.text.patterns import lazy_pattern
from memotherm.text.secret_values import UNSPACED, listed, listed_secrets


class Joint(IntEnum):
    """How tightly a sentence joins a value to the word that announces it."""

    #: In the same sentence.
    NEAR = 0
    #: By a word such as "to", "as" or "with", or by standing next to it.
    JOINED = 1
    #: By "is", a sign or quotation marks, and nothing more is said of it.
    STATED = 2


TOKEN = lazy_pattern(rf"[{UNSPACED}]+|[^\s{UNSPACED}、。：；，（）]+|[、。：；，（）]")
QUOTES = "\"'`“„«「『"
EDGES = "\"'`“”„‟«»‘’「」『』()[]{}<>,;:.*_…。、"
_LAST = f"{EDGES}?!/&|-–—"
_LEFT_EDGES = EDGES.replace(".", "") + "?&="
_SENTENCE_END = lazy_pattern(r"[.!?]['\")\]]?$|[。！？]|^[•|]$")
#: Up to four characters are taken for a particle.
_PARTICLE = lazy_pattern(f"[{UNSPACED}]{{1,4}}")
_UNSPACED = lazy_pattern(f"[{UNSPACED}]")
#: The ends of words that join a word and its value.
_JOINING_SIGNS = tuple(":=：→は是为為는은がを가를을")
_STATING_SIGNS = tuple(":：→は是为為는은")
#: What follows a value that a sentence without spaces states.
_STATED_BEFORE = lazy_pattern(
    r"(?:です|でした|だ(?!け)|である|になり|に(?:変更|した|しま|設定)|[、。，；）」』]|"
    r"입니다|이에요|예요|이야|야|임|으로 |로 |了|吧|哦)"
)
_LONGEST_WORD = 40
CAMEL_CASE = lazy_pattern("[a-z][A-Z]")
#: A phrase of several words in quotation marks.
_PHRASE = lazy_pattern(
    r"[\"'`“„«「『]\s?(?P<phrase>[^\s\"'`“”„«»「」『』:=<>{}()\[\]]{1,40}"
    r"(?:[ ][^\s\"“”„«»「」『』:=<>{}()\[\]]{1,40}){1,9}?)\s?[\"'`”“»」』](?![^\W_])"
)


def bare(token: re.Match[str]) -> tuple[str, int]:
    """Return a value without quotes and punctuation, and where it begins."""
    value = token[0].lstrip(_LEFT_EDGES)
    start, value = token.end() - len(value), value.rstrip(EDGES + "?")
    starred = value.isdigit() and token.string.startswith("*", start + len(value))
    return f"{value}*" if starred else value, start


def ends_sentence(token: str) -> bool:
    """Return whether a sentence ends with a word."""
    return _SENTENCE_END.search(token) is not None


def _token_after(text: str, end: int) -> re.Match[str] | None:
    limit = end + _LONGEST_WORD
    return TOKEN.match(text, end, limit) or TOKEN.match(text, end + 1, limit)


def is_last(text: str, end: int) -> bool:
    """Return whether no noun follows: "the password for" and "is X, ", not "the password store"."""
    token = _token_after(text, end)
    if token is None or token[0][0] in _LAST or _UNSPACED.match(token[0]):
        return True
    word = token[0].lower().strip(EDGES)
    return is_function_word(word) or changed().match(word) is not None


def ends_clause(text: str, end: int) -> bool:
    """Return whether nothing follows, in its clause, that would make an adjective of the word that ends here."""
    if text[end : end + 1] in ("", "\n") or _STATED_BEFORE.match(text, end):
        return True
    if text[end] in "([" or (text[end] == ":" and not text[end + 1 : end + 2].isspace()):  # a call, a path
        return False
    if text[end - 1] in "!?":
        return True
    token = _token_after(text, end)
    if token is None or text[end : token.start()].count("\n"):
        return True
    if _UNSPACED.match(token[0]):
        return _STATED_BEFORE.match(token[0]) is not None
    return is_last(text, end)


def joins(word: str) -> bool:
    """Return whether a word, or the sign at its end, joins a name and its value."""
    return word in _joining_words() or word.endswith(_JOINING_SIGNS) or word.startswith(("が", "を", "作为"))


def states(word: str, announcing: str) -> bool:
    """Return whether a word, or the sign at its end, says what follows an announcing word: "is", ":"."""
    if not word or word.endswith(_STATING_SIGNS) or word.strip("(") in _stating("any"):
        return bool(word)
    return word in _stating(announcing[:4])


def is_particle(word: str) -> bool:
    """Return whether a word of a script without spaces is short enough for a particle."""
    return _PARTICLE.fullmatch(word) is not None


def is_said_of_secrets(value: str) -> bool:
    """Return whether a value is what people say of passwords: a state, a type, a function word."""
    word = value.strip("!?.,;:")[:_LONGEST_WORD].lower()
    return is_function_word(word) or is_state(word) or word in listed("about")


def is_state(word: str) -> bool:
    """Return whether a word in lower case is what people say of passwords: "required", "too", "string"."""
    return _said().fullmatch(word) is not None


@functools.cache
def _said() -> re.Pattern[str]:
    """Return the states of passwords; `*` stands for a part of a word, and a state may follow a hyphen."""
    words = sorted({word for text in listed_secrets()["said"].values() for word in text.split(", ")})
    whole = [re.escape(word) for word in words if "*" not in word]
    parts = [word.partition("*") for word in words if "*" in word]
    glob = [rf"{re.escape(first)}[^\W\d_]{{{len(last) + 2},20}}+(?<={re.escape(last)})" for first, _, last in parts]
    return re.compile(rf"(?:[^\W_]{{1,20}}-)?(?:{'|'.join(whole + glob)})")


@functools.cache
def _stating(key: str) -> frozenset[str]:
    return frozenset(listed_secrets()["stating"].get(key, "").split(", "))


@functools.cache
def _joining_words() -> frozenset[str]:
    from memotherm.text.language import WORD_LISTS

    return frozenset([*listed("joining"), *WORD_LISTS["other"]["linking"].split(), *WORD_LISTS["other"]["now"].split()])


def quoted_phrase(text: str, start: int) -> tuple[int, int] | None:
    """Return the phrase in the quotation marks that open here, if it is none of the things said of passwords."""
    found = _PHRASE.match(text, start)
    words = found["phrase"].lower().split() if found else []
    return None if found is None or is_state(words[0]) or is_state(words[-1]) else found.span("phrase")


def it_is(text: str, start: int) -> re.Match[str] | None:
    """Return the sentence that begins here, if it is "It's X", or X and a word such as "です"."""
    return _it_is().match(text, start)


@functools.cache
def _it_is() -> re.Pattern[str]:
    it, after = (
        "|".join(map(re.escape, sorted(listed(key), key=len, reverse=True))) for key in ("it is", "said after it")
    )
    return re.compile(
        rf"(?i:(?P<it>{it})\s)?(?P<value>[^\s。]{{3,60}}?)(?:\s(?P<after>{after}))?"
        r"(?=[.!。]?(?:\s{0,3}$|\n|\s[A-Z]))"
    )


@functools.cache
def opened() -> re.Pattern[str]:
    """Return the words for what a password opens, which tell the "pass" for a server from that over a mountain."""
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(sorted(listed('opened')))})(?![^\W_])")


def follows_user(before: str) -> bool:
    """Return whether a text in lower case ends with the name of a user: "user ana, "."""
    found = _user().search(before)
    return found is not None and not is_function_word(found["name"])


@functools.cache
def _user() -> re.Pattern[str]:
    users = "|".join(map(re.escape, sorted(listed("users"), key=len, reverse=True)))
    return re.compile(
        rf"(?<![^\W_])(?:{users})[\s:=]{{1,3}}(?P<name>[^\s,;:=]{{2,40}})[\s,;/]{{1,3}}(?:[^\W\d_]{{1,4}} ){{0,2}}$"
    )


def was_changed(lowered: str, start: int, end: int) -> bool:
    """Return whether a part of a text in lower case says that something was changed."""
    return changed().search(lowered, start, end) is not None


@functools.cache
def replaced() -> re.Pattern[str]:
    """Return the beginnings of the words that say that one value is replaced by another."""
    return re.compile("|".join(sorted(listed("replaced"))))


def is_renewed(lowered: str, start: int, end: int) -> bool:
    """Return whether a part of a text in lower case says that something was changed, or is new."""
    return was_changed(lowered, start, end) or _new().search(lowered, start, end) is not None


@functools.cache
def _new() -> re.Pattern[str]:
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(sorted(listed('new')))})")


@functools.cache
def changed() -> re.Pattern[str]:
    """Return the beginnings of the words that say that a secret was changed."""
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


class Walk:
    """What a sentence has said since the word that announces a secret."""

    def __init__(self, change: bool) -> None:
        #: Whether a secret is said to be changed, before the word or after it.
        self.change, self.changed = change, False
        self.place, self.previous = 0, ""
        #: How many words with a meaning there were, and whether the first word was a preposition or a verb.
        self.between, self.preposition = 0, False
        self._linked = False

    def is_near(self, token: str) -> bool:
        """Return whether a token is in quotes, or the one before joins it."""
        changed_to = self.change and self.previous in listed("changed to")
        return token[0] in QUOTES or joins(self.previous) or changed_to

    def is_linked(self, announcing: str) -> bool:
        """Return whether the last word is a verb such as "is", or stands between such a verb and the next word."""
        self._linked = states(self.previous, announcing) or (self._linked and self.previous in listed("still"))
        return self._linked

    def past(self, token: str, word: str) -> None:
        """Go past a token in lower case, which is this word with punctuation."""
        function, change = is_function_word(word) or is_particle(token), changed().match(word) is not None
        if self.place == 0:
            self.preposition = function
        self.changed |= change
        self.change |= change
        self.between += not (function or change or word.isdigit())
        self.place, self.previous = self.place + 1, token


def continues(word: str) -> bool:
    """Return whether a word after "password" is no noun that it belongs to: "for", "is", "now", "changed"."""
    if is_function_word(word) or word in listed("still") or states(word, ""):
        return True
    return word not in listed("changes") and changed().match(word) is not None
