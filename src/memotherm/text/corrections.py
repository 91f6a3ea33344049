"""Corrections in plain words: what a sentence says holds now, without the words that say that it corrects something.

"No, that's wrong: the gateway is Kong, not Traefik" states that the gateway is Kong; "we moved the retry limit to 3"
that the retry limit is 3. The phrases of each language are in `word_lists.json`: `retraction`, which a correction
begins with, `hedge`, which marks an option, a wish or a guess, and `moved`, verbs of which the object gets a new value.
"""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from memotherm.text.language import WORD_LISTS
from memotherm.text.patterns import lazy_pattern
from memotherm.text.phrase_patterns import PhrasePattern
from memotherm.text.phrases import is_question, listed_phrases, sentences
from memotherm.text.versions import MOST_CHARS, Statement, languages_of, phrases_in
from memotherm.text.words import plain_text

#: What ends the words that a correction begins with.
_HEAD = lazy_pattern(r"[,:;.!，、：；。！—–]+\s*|\s+-\s+")
#: How many such parts a correction begins with at most, and the letters of each: "no, wait, that's wrong: …".
_MOST_HEADS, _LONGEST_HEAD = 3, 40
#: The denied value behind the one that holds: "the gateway is Kong, not Traefik".
_TAIL = lazy_pattern(r"[,，、;—–(]\s*([^,，、;—–()]{2,60}?)\)?[.。!！]?\s*$")
#: What may be before such words: "hm no", "ach nein".
_INTERJECTION = lazy_pattern(
    "^(?:h+m+|oh|ah|uh|er|um|well|wait|hey|ok|oops|ach|na|naja|äh|hä|mais|bah|ben|oye|ay|ué|ei|poxa|boh|nou|ну|а) "
)
_MOST_DENIED_WORDS = 5
_BUT = lazy_pattern(
    r" (?:not|nicht|pas|no|non|não|niet|nie|не|inte|ikke) (?:\S+ ){1,4}?"
    r"(?:but|sondern|mais|sino|bensì|mas|maar|lecz|а|utan|men) "
)
_FROM = lazy_pattern(r" (?:from|von|de|da|van) (?:\S+ ){1,4}$")


class Correction(NamedTuple):
    """A sentence that corrects something."""

    #: The number of the sentence in its text.
    sentence: int
    #: What it says holds now.
    statement: Statement


def corrections(text: str) -> list[Correction]:
    """Return the sentences of a text that say that something else holds now, and are no option, wish or guess."""
    found = sentences(text)
    stated = enumerate(statements(text))
    return [
        Correction(number, statement)
        for number, statement in stated
        if statement.changed and statement.slots and not is_hedged(found[number])
    ]


@functools.lru_cache(maxsize=100)  # a write asks for those of the same text three times
def statements(text: str) -> tuple[Statement, ...]:
    """Return what each sentence of a text states; what a correction says holds now, without its other words."""
    stated, retracted = [], False
    found = sentences(text)
    for number, sentence in enumerate(found, 1):
        said, begun = _without_head(sentence.strip())
        # "Scratch that. The port is 5434."
        stated.append(_stated(said, cue=begun or retracted, last=number == len(found)))
        retracted = begun and not said
    return tuple(stated)


def retracts(sentence: str) -> bool:
    """Return whether a sentence begins with the words of a correction: "no, …"."""
    return _without_head(sentence)[1]


def is_hedged(sentence: str) -> bool:
    """Return whether a sentence is an option, a wish, a guess or a condition, and not a statement of what holds."""
    plain = f" {plain_text(sentence)} "
    return phrases_in(languages_of(plain), "hedge").search(plain) is not None


def _stated(said: str, *, cue: bool, last: bool) -> Statement:
    """Return what a sentence states, whose first words may have been a cue that it corrects something."""
    if len(said) > MOST_CHARS or is_question(said):
        return Statement("")
    denied = _TAIL.search(said)
    if denied is not None and _is_denial(denied[1]):
        said, cue = said[: denied.start()], True
    plain = f" {plain_text(said)} "
    if (but := _BUT.search(plain)) is not None:
        said, cue = f"{plain[: but.start()]} {plain[but.end() :]}", True
    elif (moved := _moved().search(plain)) is not None:
        subject = _FROM.sub(" ", f" {moved[1]} ").strip()
        said, cue = f"{subject} is {moved[2].strip()}", True
    return Statement(said, last=last, changed=cue)


def _without_head(sentence: str) -> tuple[str, bool]:
    """Return a sentence without the words that a correction begins with, and whether it had some."""
    begun = False
    for _ in range(_MOST_HEADS):
        mark = _HEAD.search(sentence, 0, _LONGEST_HEAD)
        head = plain_text(sentence[: mark.start()] if mark else sentence[:_LONGEST_HEAD])
        if _INTERJECTION.sub("", head) not in _retractions():
            break
        begun, sentence = True, sentence[mark.end() :] if mark else ""
    return sentence, begun


def _is_denial(text: str) -> bool:
    plain = f" {plain_text(text)} "
    found = _negation().match(plain)
    return found is not None and 1 <= len(plain[found.end :].split()) <= _MOST_DENIED_WORDS


@functools.cache
def _negation() -> PhrasePattern:
    """Return a pattern for a negation at the beginning."""
    return PhrasePattern(f"^{phrase}" for phrase in listed_phrases("negation"))


@functools.cache
def _retractions() -> frozenset[str]:
    return frozenset(map(plain_text, listed_phrases("retraction")))


@functools.cache
def _moved() -> re.Pattern[str]:
    """Return a pattern for the object of a verb such as "moved", and the value that it gets."""
    verbs, prepositions = (
        "|".join(sorted({word for each in WORD_LISTS["moved"].values() for word in each.split(" : ")[side].split()}))
        for side in (0, 1)
    )
    return re.compile(rf"^(?: \S+){{0,2}}? (?:{verbs}) ((?:\S+ ){{1,7}}?)(?:{prepositions}) ((?:\S+ ){{1,5}})$")
