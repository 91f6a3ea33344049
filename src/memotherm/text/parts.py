"""The statements of a text, so that one of them can be replaced while the others stay."""

from __future__ import annotations

import functools
import re
from itertools import takewhile

from memotherm.text.language import ENGLISH, FUNCTION_WORDS, WORD_LISTS, latin_language
from memotherm.text.phrases import sentences
from memotherm.text.words import is_unspaced

_MARKS = r"\s*[;；]\s*|，(?:并且?|而且|同时)?|、(?:そして|また)"
_OTHER_SCRIPTS = " ".join(WORD_LISTS["script_conjunctions"].values())
#: Words that point back to what was said before: a part that has one cannot stand alone.
_BACK = frozenset(WORD_LISTS["other"]["back"].split())
_SPEAKERS = frozenset(("i", "we", "you", "they"))
_WORD = re.compile(r"\w+")
_ENDING = re.compile(r"[\s.!?。！？]+$")
#: A part has at least so many words, or characters of a script without spaces.
_LEAST_WORDS, _LEAST_CHARACTERS = 2, 3


def statements(text: str) -> list[str]:
    """Return the statements of a text, as they stand in it.

    They are its sentences, divided at "and" where both sides stand alone. A side of one word is a member of a list,
    and one with "there" or "it" points back to the other.
    """
    language, found = latin_language(_WORD.findall(text.casefold())), []
    joints = _joints(language)
    for sentence in (each.strip() for each in sentences(text)):
        start = 0
        for joint in joints.finditer(sentence):
            before, after = sentence[start : joint.start()], sentence[joint.end() :]
            alone = _stands_alone(before) and _stands_alone(after)
            if alone and (language != ENGLISH or _is_predicate(before, after)):
                found.append(before)
                start = joint.end()
        found.append(_ENDING.sub("", sentence[start:]))
    return [statement for statement in found if statement]


def replaced(text: str, part: str, new: str) -> str:
    """Return a text in which a part is replaced by a new statement.

    If the part is one of several statements, the others keep their subject and the new one follows them.
    """
    found = statements(text)
    others = [each for each in found if each != part]
    if part not in found or not others:
        return new if part == text or not others else text.replace(part, new, 1)
    kept = [with_subject(text, each, new) for each in others]
    return " ".join(each if _ENDING.search(each) else f"{each}{_stop(each)}" for each in (*kept, new))


def with_subject(text: str, part: str, new: str) -> str:
    """Return a statement of a text with the subject that it has there: the words that a new statement begins with, too.

    A part that is none of its statements is returned as it is.
    """
    found = statements(text)
    if part not in found or part == found[0] or part[:1].isupper():
        return part
    return f"{_subject(text, new)} {part}".strip()


@functools.cache
def _joints(language: str) -> re.Pattern[str]:
    """Return what divides the statements of a sentence: conjunctions of a language, and marks."""
    conjunctions = f"{WORD_LISTS['conjunctions'].get(language, '')} {_OTHER_SCRIPTS}".split()
    return re.compile(rf",?\s+(?:{'|'.join(conjunctions)})\s+|{_MARKS}")


def _stop(text: str) -> str:
    return "。" if is_unspaced(text[-1:]) else "."


def _subject(text: str, new: str) -> str:
    """Return the words that both texts begin with, or the first word of the text."""
    if is_unspaced(text[:1]):
        return ""
    pairs = zip(text.split(), new.split(), strict=False)
    common = [one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
    return " ".join(common or text.split()[:1])


def _stands_alone(part: str) -> bool:
    parts = part.split()
    if any(word.casefold().strip(",.;!?") in _BACK for word in parts):
        return False
    return len(parts) >= _LEAST_WORDS or (is_unspaced(part[:1]) and len(part) >= _LEAST_CHARACTERS)


def _is_predicate(before: str, after: str) -> bool:
    """Return whether the second side seems to begin with a verb or a name, and not to continue a list of nouns."""
    first = after.split(maxsplit=1)[0]
    if not first[:1].islower() or first.endswith(("s", "ed")) or before.split(maxsplit=1)[0].casefold() in _SPEAKERS:
        return True
    return first in FUNCTION_WORDS[ENGLISH]
