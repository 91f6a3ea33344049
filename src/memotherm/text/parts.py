"""The statements of a text, so that one of them can be replaced while the others stay."""

from __future__ import annotations

import functools
import re
import string
from collections.abc import Iterator
from itertools import accumulate, takewhile

from memotherm.text.language import ENGLISH, FUNCTION_WORDS, WORD_LISTS, latin_language
from memotherm.text.phrases import sentences
from memotherm.text.words import is_unspaced

_MARKS = r"(?<!\s)\s*+[;；][\s;；]*+|，(?:并且?|而且|同时)?|、(?:そして|また)"
_OTHER_SCRIPTS = " ".join(WORD_LISTS["script_conjunctions"].values())
#: Words that point back to what was said before: a part that has one cannot stand alone.
_BACK = frozenset(WORD_LISTS["other"]["back"].split())
_SPEAKERS = frozenset(("i", "we", "you", "they"))
_WORD = re.compile(r"\w+")
#: What ends a sentence.
_ENDING = f"{string.whitespace}\u3000.!?。！？"
#: A part has at least so many words, or characters of a script without spaces.
_LEAST_WORDS, _LEAST_CHARACTERS = 2, 3
#: The most characters of a word that are looked at.
_LONGEST_WORD = 40
#: The most words of a subject: each statement that stays may get it.
_MOST_SUBJECT_WORDS = 10


def statements(text: str) -> list[str]:
    """Return the statements of a text, as they stand in it.

    They are its sentences, divided at "and" where both sides stand alone. A side of one word is a member of a list,
    and one with "there" or "it" points back to the other.
    """
    language = latin_language(_WORD.findall(text.casefold()))
    found = (part for sentence in sentences(text) for part in _divided(sentence.strip(), language))
    return [statement for statement in found if statement]


def _divided(sentence: str, language: str) -> Iterator[str]:
    """Yield the statements of a sentence; its words are counted once, whatever the number of joints."""
    joints = [joint.span() for joint in _joints(language).finditer(sentence)]
    places = [0, *(place for joint in joints for place in joint), len(sentence)]
    sides = [sentence[start:end].split() for start, end in zip(places[::2], places[1::2], strict=True)]
    counts = [0, *accumulate(map(len, sides))]
    backs = [0, *accumulate(any(map(_points_back, side)) for side in sides)]

    def stands_alone(first: int, last: int) -> bool:
        """Return whether the sides from one to another stand alone, joints between them included."""
        start, end = places[2 * first], places[2 * last + 1]
        if backs[last + 1] > backs[first]:
            return False
        unspaced = is_unspaced(sentence[start : start + 1]) and end - start >= _LEAST_CHARACTERS
        return unspaced or counts[last + 1] - counts[first] >= _LEAST_WORDS

    first = 0
    for number, (start, end) in enumerate(joints):
        alone = stands_alone(first, number) and stands_alone(number + 1, len(joints))
        begin = places[2 * first]
        if alone and (language != ENGLISH or _is_predicate(_first_word(sentence, begin), _first_word(sentence, end))):
            yield sentence[begin:start]
            first = number + 1
    yield sentence[places[2 * first] :].rstrip(_ENDING)


def replaced(text: str, part: str, new: str) -> str:
    """Return a text in which a part is replaced by a new statement.

    If the part is one of several statements, the others keep their subject and the new one follows them.
    """
    found = statements(text)
    others = [each for each in found if each != part]
    if len(others) == len(found) or not others:
        return new if part == text or not others else text.replace(part, new, 1)
    subject = _subject(text, new)
    kept = [each if each == found[0] else _with_subject(subject, each) for each in others]
    return " ".join(each if each[-1:] in _ENDING else f"{each}{_stop(each)}" for each in (*kept, new))


def with_subject(text: str, part: str, new: str) -> str:
    """Return a statement of a text with the subject that it has there: the words that a new statement begins with, too.

    A part that is none of its statements is returned as it is.
    """
    found = statements(text)
    return part if part not in found or part == found[0] else _with_subject(_subject(text, new), part)


def _with_subject(subject: str, part: str) -> str:
    return part if part[:1].isupper() else f"{subject} {part}".strip()


@functools.cache
def _joints(language: str) -> re.Pattern[str]:
    """Return what divides the statements of a sentence: conjunctions of a language, and marks."""
    conjunctions = f"{WORD_LISTS['conjunctions'].get(language, '')} {_OTHER_SCRIPTS}".split()
    return re.compile(rf"(?:,|(?<![\s,]))\s++(?:{'|'.join(conjunctions)})\s++|{_MARKS}")


def _stop(text: str) -> str:
    return "。" if is_unspaced(text[-1:]) else "."


def _subject(text: str, new: str) -> str:
    """Return the words that both texts begin with, or the first word of the text; none if they are too long."""
    if is_unspaced(text[:1]):
        return ""
    words = text.split()[:_MOST_SUBJECT_WORDS]
    common = [one for one, other in takewhile(lambda pair: pair[0] == pair[1], zip(words, new.split(), strict=False))]
    return " ".join(word for word in common or words[:1] if len(word) <= _LONGEST_WORD)


def _points_back(word: str) -> bool:
    return len(word) <= _LONGEST_WORD and word.casefold().strip(",.;!?") in _BACK


def _first_word(sentence: str, start: int) -> str:
    return (sentence[start : start + _LONGEST_WORD].split(maxsplit=1) or [""])[0]


def _is_predicate(before: str, after: str) -> bool:
    """Return whether the second side seems to begin with a verb or a name, and not to continue a list of nouns.

    The sides are given by their first words.
    """
    if not after[:1].islower() or after.endswith(("s", "ed")) or before.casefold() in _SPEAKERS:
        return True
    return after in FUNCTION_WORDS[ENGLISH]
