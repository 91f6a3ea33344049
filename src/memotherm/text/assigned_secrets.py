"""Find secrets by the syntax of configurations: after `:` or `=`, on the next line, in the columns of tables.

A sign says that what follows is the value, whatever it looks like; only types, states ("required"), placeholders and
code are not. What is read around a word is bounded, so the time is linear.
"""

from __future__ import annotations

import re

from memotherm.text.patterns import lazy_pattern
from memotherm.text.secret_grammar import Joint, ends_clause, is_function_word, is_said_of_secrets
from memotherm.text.secret_values import (
    UNSPACED,
    Found,
    Strength,
    is_placeholder,
    is_random,
    listed,
    strength,
)
from memotherm.text.secret_words import Announced, Kind, accepts, announcing_words

_LONGEST_VALUE = 200
#: How far back a call or a tag may begin.
_BACK = 80
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
_CODE_SIGNS = lazy_pattern(r"[\"'\\{}\[\]]|\w\)|\|[\w-]+[|)]|![rsa]$")
#: A pair of parentheses, and one of a call that is still open: its arguments are names unless they are in quotes.
_CLOSED, _IN_CALL = lazy_pattern(r"\([^()]{0,80}\)"), lazy_pattern(r"\w\([^()]{0,80}$")
#: What follows a type or a variable.
_CODE_AFTER = lazy_pattern(r"[(\[:]|[ \t]{1,4}[|={]")
#: The quotes around the name of a member, whose value is in quotes as well, and the arrow of a pointer.
_CODE_BEFORE = lazy_pattern(r"\\{0,3}[\"']\s{0,3}[:=]|->")
_WORDS = lazy_pattern(r"[^\W_][^\s:=<>{}()\[\]]{0,40}(?: [^\W_][^\s:=<>{}()\[\]]{0,40}){1,4}")


def sign_after(text: str, word: Announced, end: int) -> re.Match[str] | None:
    """Return the sign of an assignment after a name that ends here, with what stands around it."""
    sign = _ASSIGNED.match(text, end)
    if sign and sign["tag"] and "<" not in text[max(0, word.start - 40) : word.start]:
        return None
    return sign


def assigned(text: str, lowered: str, word: Announced, sign: re.Match[str], *, any_word: bool) -> Found | None:
    """Return the value after a sign if it is a secret; `any_word` if it can be a word such as "kangaroo"."""
    value, start = _quoted(text, sign) if sign["quote"] else _unquoted(text, word, sign), sign.end()
    if not value:
        return None
    end, name = start + len(value), word.kind.value
    any_word = any_word and _is_literal(text, word, sign, end)
    if value.split() != [value]:  # with a space
        return Found(start, end, name) if any_word and _is_phrase(value) else None
    if word.kind is Kind.LOGIN or (word.kind is Kind.TOKEN and "/" in value):
        user, _, password = value.partition("/") if "/" in value else value.partition(":")
        if user.isalnum() and strength(password) >= Strength.POSSIBLE and not is_random(value):
            return Found(start + len(user) + 1, end, name)
    secret = "secret" in lowered[word.start : word.end] and strength(value) >= Strength.POSSIBLE
    joint = Joint.STATED if any_word else Joint.JOINED
    accepted = (secret and not word.about) or accepts(word, value, joint)
    return Found(start, end, name) if accepted else None


def _quoted(text: str, sign: re.Match[str]) -> str:
    start, closing = sign.end(), _CLOSING.get(sign["quote"], sign["quote"])
    ends = [text.find(each, start, start + _LONGEST_VALUE) for each in closing]
    end = min((end for end in ends if end >= 0), default=start)
    return text[start:end].removesuffix("\\")


def _unquoted(text: str, word: Announced, sign: re.Match[str]) -> str:
    """Return a value without what follows it: other settings, the next column, the end of a sentence."""
    found = _UNQUOTED.match(text, sign.end())
    if found is None:
        return ""
    value = _NEXT.split(found[0], maxsplit=1)[0]
    if sign["column"]:
        value = value.partition("|")[0]
    value = value.rstrip("\\)]};,")
    if is_code(word, value):
        return ""
    return value if "=" in sign[0] else value.rstrip(".:")


def is_code(word: Announced, value: str) -> bool:
    """Return whether a value without quotes has signs of code, which a password may have, but not a token."""
    return _CODE_SIGNS.search(value) is not None or (word.kind is not Kind.PASSWORD and "(" in value)


def _is_literal(text: str, word: Announced, sign: re.Match[str], end: int) -> bool:
    """Return whether what ends here is a value on the same line, and neither code nor the beginning of a sentence."""
    if "\n" in sign[0] or sign["column"]:
        return False
    if sign["tag"]:
        return text.startswith("</", end)
    begin = max(0, word.start - _BACK)
    begin = max(begin, text.rfind("\n", begin, word.start) + 1)
    if _is_ambiguous(text[begin : word.start], text[word.start : word.end], sign):
        return False
    if sign["quote"]:
        return True
    in_call = _IN_CALL.search(_CLOSED.sub("", text[begin : word.start]))
    if in_call or _CODE_AFTER.match(text, end) or _CODE_BEFORE.match(sign[0]):
        return False
    return sign[0].endswith("=") or ends_clause(text, end)


def _is_ambiguous(before: str, name: str, sign: re.Match[str]) -> bool:
    """Return whether a word such as "pass" may mean something else: "second pass: ...", "self._pass = ..."."""
    if name.lower() not in listed("ambiguous") or (name.isupper() and "=" in sign[0]):
        return False
    last = before.rstrip(" \t*-#>\"'`")[-1:]
    return last not in ("", *",;({|/&?") and not (last in "_-." and sign["quote"])


def _is_phrase(value: str) -> bool:
    """Return whether several words in quotes are a password, and no label."""
    if not _WORDS.fullmatch(value) or is_placeholder(value) or announcing_words(value.lower()):
        return False
    words = value.lower().split()
    return not any(map(is_function_word, words)) and not is_said_of_secrets(words[0])


_NEXT_LINE = lazy_pattern(
    r"[ \t]{0,4}(?:です|は|is)?[.:。]?[ \t]{0,4}\n[ \t]{0,8}(?P<value>[^\s|<>]{4,80}+)[ \t]{0,4}(?=\n|$)"
)
_MOST_BEFORE = 40


def _before(text: str, word: Announced) -> str:
    """Return what stands before a word, from a line break on if there is one."""
    begin = word.start - _MOST_BEFORE
    return text[begin : word.start] if begin > 0 else f"\n{text[: word.start]}"


def on_next_line(text: str, word: Announced, end: int) -> Found | None:
    """Return the secret that stands alone on the line after a line that ends with the word."""
    line = _NEXT_LINE.match(text, end)
    if line is None or word.about or "\n" not in _before(text, word):
        return None
    value = line["value"]
    looks = accepts(word, value, Joint.JOINED) and not is_code(word, value)
    return Found(*line.span("value"), word.kind.value) if looks else None


#: The most lines of a table, and how far its head is read.
_MOST_LINES, _LONGEST_HEAD = 500, 240
_AROUND_CELL = ' "*_`'


def column(text: str, word: Announced) -> tuple[list[Found], int]:
    """Return the secrets below the head of a column in a table or CSV file, and where the table ends."""
    begin = text.rfind("\n", max(0, word.start - _LONGEST_HEAD), word.start) + 1
    end = text.find("\n", word.end, word.end + _LONGEST_HEAD)
    if end < 0 or begin < word.start - _LONGEST_HEAD:
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
