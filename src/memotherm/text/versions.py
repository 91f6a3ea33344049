"""Versions of a statement: whether two short texts are about the same thing, and what they say differently.

`share_most` compares the words of two texts, and is all that ranking needs. `Statement` tells more: its slots are the
places in a sentence where a value may stand, each with the words around it. Two statements with the same slot
and other values disagree: "the port is 5433", "the port is 5544". So do two of which one denies the other: "we deploy
on Fridays", "we no longer deploy on Fridays".

A place is a slot if what stands there is the only answer:

- a word after a linking verb or a preposition ("is", "until", "in"), or after a word for "prefer", unless the
  statement leaves open who or what is meant: "you" is another one from one text to the next, "some advice on" takes
  several values, and "those" and "it" point to another text;
- a number that at least two words precede;
- anything, if one of the two statements says that something has changed ("now", "switched to").

The subject, which comes first, is never a value: "Ana likes tea" and "Bob likes tea" agree. Neither is what comes
before the first linking verb.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Set
from itertools import accumulate, islice
from typing import NamedTuple, TypeVar

from memotherm.text.language import ENGLISH, FUNCTION_WORDS, SCRIPT_FUNCTION_WORDS, WORD_LISTS, latin_language
from memotherm.text.patterns import lazy_pattern
from memotherm.text.phrase_patterns import PhrasePattern
from memotherm.text.phrases import conversational_words, is_question, phrases_of, sentences
from memotherm.text.words import folded, is_unspaced, ordered_content_words, plain_text

T = TypeVar("T")

#: The most words of a text that has versions, and the share of the shorter one's words that the other must have.
MOST_WORDS = 50
COMMON_WORDS = 0.6
#: A longer sentence, or a longer text of which the first sentence is compared, is no single statement.
MOST_CHARS = 300
#: The most words of a value; characters of a script without spaces count as words.
_LONGEST_VALUE, _LONGEST_UNSPACED = 4, 8
#: The fewest words before a number, and in a slot of a changed statement.
_LEAST_WORDS = 2

#: How many of the first words, and in how many characters, show what a statement is about.
_FIRST_WORDS, _FIRST_CHARS = 4, 80

_LINKING, _SINGLE, _BACK, _INDEFINITE = (
    frozenset(WORD_LISTS["other"][name].split()) for name in ("linking", "single", "back", "indefinite")
)
_UNSPACED_LINKING = PhrasePattern(filter(is_unspaced, _LINKING))
_NOW = PhrasePattern(WORD_LISTS["other"]["now"].split())
_ARTICLES = frozenset(WORD_LISTS["other"]["articles"].split())
_PARTICLES = frozenset("的了在和与到于由从で に を が へ と も の 를 을 에 로 가 이 의".replace(" ", ""))
#: Exclamations, questions and headings state nothing.
_NO_STATEMENT = ("!", "！", "?", "？", ":", "：")
_MARKUP = " \n*_"
_DIGIT = lazy_pattern(r"\d")
#: A letter that is neither Latin nor an accent.
_OTHER_SCRIPT = lazy_pattern("[^\x00-\u036f]")
_EQUALS = lazy_pattern(r"\s*(?:[:=]\s|→|->|：|＝)\s*")
_UNSPACED_TEXT = lazy_pattern("(?<=[^\x00-\u0dff])|(?=[^\x00-\u0dff])")
_BETWEEN_UNSPACED = lazy_pattern("(?<=[^\x00-\u0dff…]) (?=[^\x00-\u0dff…])")
#: How a slot begins that only counts for a change.
_LOOSE = "~"
#: A linking verb in the place of a colon and of words that say that something has changed.
_LINK = " is "


def says_now(plain: str) -> bool:
    """Return whether a plain text has a word for "now"."""
    return _NOW.search(plain) is not None


def share_most(first: Set[T], second: Set[T]) -> bool:
    """Return whether two short texts share most of their words."""
    shorter, longer = (first, second) if len(first) <= len(second) else (second, first)
    if not shorter or len(longer) > MOST_WORDS or len(longer) > 2 * len(shorter):
        return False
    return len(shorter & longer) >= COMMON_WORDS * len(shorter)


class Difference(NamedTuple):
    """What two statements about the same thing say differently."""

    #: The words that they have in common, in small letters, with "…" in the place of the value.
    about: str
    #: What the first and the second one say, in small letters; for a denial, the words that deny, or nothing.
    values: tuple[str, str]
    #: Whether the second one says that something has changed.
    changed: bool


class _Word(NamedTuple):
    raw: str
    stem: str
    #: Whether it is a noun, a verb, a name or a number, and not a function word.
    content: bool
    #: Whether a linking verb, a preposition or a word for "prefer" is before it.
    linked: bool = False
    #: Whether that is a linking verb.
    verb: bool = False
    #: Whether it has a digit.
    number: bool = False
    #: Whether an article is before it.
    article: bool = False


#: Which words of a statement, and where a value begins and ends in them; an empty one at the end stands for the whole
#: statement.
_Place = tuple[int, int, int]


class Statement:
    """A sentence, and the slots in it.

    `last` is whether no other sentence follows it in its text, `changed` whether it is known to say that something has
    changed, whatever its words.
    """

    __slots__ = ("_loose_slots", "_words", "changed", "denial", "slots")

    def __init__(self, sentence: str, *, last: bool = True, changed: bool = False) -> None:
        sentence = sentence if len(sentence) <= MOST_CHARS else ""
        defined, signs = _EQUALS.subn(_LINK, sentence.strip())
        plain = (
            ""
            if sentence.rstrip(_MARKUP).endswith(_NO_STATEMENT) or is_question(sentence)
            else f" {plain_text(defined)} "
        )
        languages = languages_of(plain)
        denies, corrects = phrases_in(languages, "negation"), phrases_in(languages, "correction")
        denial = denies.search(plain)
        #: The words that deny it; empty if none do.
        self.denial = denial[0].strip() if denial else ""
        if denial:
            plain = denies.sub(" ", plain)
        #: Whether it says that something has changed.
        told = (plain, f" {self.denial} ") if denial else (plain,)
        self.changed = changed or any(pattern.search(each) for each in told for pattern in (corrects, _NOW))
        # "The standup has moved to 10:00" is about "the standup is at 9:30" without its verb.
        said = [_NOW.sub(" ", each) for each in (corrects.sub(_LINK, plain), plain)] if self.changed else [plain]
        # In front of another sentence, a letter is an initial: "E. M. Forster".
        spoken = [_words(each, languages, lettered=last) for each in said]
        self._words = spoken if signs else [words for words in spoken if not _is_small_talk(words)]
        #: Where the value of each slot stands.
        self.slots = self._places(_slots)
        self._loose_slots: dict[str, _Place] | None = None

    @property
    def loose_slots(self) -> dict[str, _Place]:
        """The slots that only count if one of two statements says that something has changed."""
        if self._loose_slots is None:
            self._loose_slots = self._places(_loose_slots)
        return self._loose_slots

    def _places(self, slots: Callable[[list[_Word]], Iterator[tuple[str, int, int]]]) -> dict[str, _Place]:
        numbered = enumerate(self._words)
        return {slot: (number, start, end) for number, words in numbered for slot, start, end in slots(words)}

    @property
    def outlines(self) -> set[tuple[str, ...]]:
        """Two statements that have none of these in common have no loose slot in common."""
        found = set()
        for words in self._words:
            content = [word.stem for word in words if word.content]
            # Before a value are two content words or more, or one, and then some behind it, unless it is a number.
            found |= {tuple(content[:2]), (*content[:1], "…", *content[-1:])}
            if len(content) <= 1 + _LONGEST_UNSPACED and _has_number(words):
                found.add((*content[:1], "…"))
        return found

    def values(self) -> Iterator[tuple[str, str]]:
        """Yield each slot with its value, and the whole statement with the words that deny it."""
        for slot, (number, start, end) in self.slots.items():
            if start == end:
                yield slot, self.denial and "denied"
            elif not self.denial:
                yield slot, " ".join(sorted([word.stem for word in self._words[number][start:end]]))

    def difference(self, other: Statement) -> Difference | None:
        """Return what another statement says differently; None if it is about something else, or agrees."""
        shared = self.slots.keys() & other.slots.keys()
        if self.changed or other.changed:
            shared |= self.loose_slots.keys() & other.loose_slots.keys()
        # The longest slot has the shortest values.
        return next(filter(None, (self.differs(other, slot) for slot in sorted(shared, key=len, reverse=True))), None)

    def differs(self, other: Statement, slot: str) -> Difference | None:
        """Return what another statement with the same slot says differently in it; None if nothing."""
        (words, start, end), (other_words, *other_place) = self._place(slot), other._place(slot)
        if start == end:
            if bool(self.denial) is bool(other.denial):
                return None
            return Difference(_raw(words), (self.denial, other.denial), other.changed)
        if self.denial or other.denial or (slot.startswith(_LOOSE) and not (self.changed or other.changed)):
            return None
        own, others = words[start:end], other_words[slice(*other_place)]
        stems, other_stems = ({word.stem for word in value} for value in (own, others))
        if _has_number(own) is not _has_number(others) or stems <= other_stems or other_stems <= stems:
            return None
        about = _raw([*words[:start], _GAP, *words[end:]])
        return Difference(about, (_raw(own), _raw(others)), other.changed)

    def _place(self, slot: str) -> tuple[list[_Word], int, int]:
        """Return the words of a slot, and where its value begins and ends in them."""
        number, start, end = self.loose_slots[slot] if slot.startswith(_LOOSE) else self.slots[slot]
        return self._words[number], start, end


def _slots(words: list[_Word]) -> Iterator[tuple[str, int, int]]:
    """Yield each slot of a statement with the place of its value, and the whole statement, which has none."""
    if not _states(words):
        return
    if len(words) >= _LEAST_WORDS:
        yield " ".join(word.stem for word in words), len(words), len(words)
    before, behind = _joined([f"{word.stem} " for word in words])
    contents = [0, *accumulate(word.content for word in words)]
    definite = _INDEFINITE.isdisjoint(word.raw for word in words)
    numbers = [place for place, word in enumerate(words) if word.number]
    for start in _starts(words):
        if words[start].linked and definite and words[start - 1].raw not in _BACK:
            least = start
        elif contents[start] >= _LEAST_WORDS and numbers and numbers[-1] >= start:
            least = next(place for place in numbers if place >= start)
        else:
            continue
        yield from ((f"{before[start]}… {behind[end]}", start, end) for end in _ends(words, start) if end > least)


def _loose_slots(words: list[_Word]) -> Iterator[tuple[str, int, int]]:
    """Yield each loose slot of a statement with the place of its value: the content words around it."""
    if not _states(words):
        return
    before, behind = _joined([f"{word.stem} " if word.content else "" for word in words])
    contents = [0, *accumulate(word.content for word in words)]
    for start in _starts(words):
        for end in _ends(words, start):
            around = contents[-1] - (contents[end] - contents[start])
            if around >= _LEAST_WORDS or _has_number(words[start:end]):
                yield f"{_LOOSE}{before[start]}… {behind[end]}", start, end


def _states(words: list[_Word]) -> bool:
    """Return whether some words can be a statement."""
    return 0 < len(words) <= MOST_WORDS and any(word.content for word in words) and words[0].raw not in _BACK


def _starts(words: list[_Word]) -> Iterator[int]:
    """Yield the places where a value may begin."""
    subject = next(place for place, word in enumerate(words) if word.content)
    # What is before the verb belongs to the subject.
    verb = next((place for place, word in enumerate(words) if word.verb), 1)
    return (place for place in range(max(subject + 1, verb), len(words)) if words[place].content)


def _ends(words: list[_Word], start: int) -> Iterator[int]:
    """Yield the places where a value may end."""
    longest = _LONGEST_UNSPACED if is_unspaced(words[start].raw) else _LONGEST_VALUE
    ends = range(start + 1, min(len(words), start + longest) + 1)
    return (end for end in ends if words[end - 1].content)


def _is_small_talk(words: list[_Word]) -> bool:
    """Return whether a sentence begins with small talk: "thanks for ..." does, and "the retry limit is 5" does not.

    Many nouns are also words of small talk. Behind an article they are none, and neither are they if the subject, which
    ends at the first linking verb, has other words.
    """
    if not words or not words[0].content or words[0].stem not in conversational_words() or words[0].article:
        return False
    verb = next((place for place, word in enumerate(words) if word.verb), 1)
    return all(word.stem in conversational_words() for word in words[:verb] if word.content)


def _joined(texts: list[str]) -> tuple[list[str], list[str]]:
    """Return the texts before each place, and those from it on."""
    before = ["", *accumulate(texts)]
    return before, [before[-1][len(each) :] for each in before]


_GAP = _Word("…", "…", content=False)


def _raw(words: list[_Word]) -> str:
    return _BETWEEN_UNSPACED.sub("", " ".join(word.raw for word in words))


def _has_number(words: list[_Word]) -> bool:
    return any(word.number for word in words)


def _words(plain: str, languages: tuple[str, ...], *, lettered: bool) -> list[_Word]:
    """Return the words of a statement, without articles and linking verbs.

    If it is `lettered`, a letter behind a linking verb at its end is a value: "the grade is A".
    """
    frequent = _function_words(languages)
    found: list[_Word] = []
    linked = verb = article = False
    if not plain.isascii():
        plain = _UNSPACED_TEXT.sub(" ", _UNSPACED_LINKING.sub(_LINK, plain))
    raws = plain.split()
    for place, raw in enumerate(raws, 1):
        if lettered and verb and place == len(raws) and len(raw) == 1:
            found.append(_Word(raw, raw, content=True, linked=True, verb=True, number=raw.isdigit()))
        elif raw in _LINKING:
            linked = verb = True
        elif raw in _ARTICLES:
            article = True
        else:
            word = _word(raw, raw in frequent, linked, verb)
            found.append(word._replace(article=True) if article else word)
            linked, verb, article = not word.content or raw in _SINGLE, False, False
    return found


@functools.lru_cache(maxsize=10_000)  # most words of a text are in others as well
def _word(raw: str, frequent: bool, linked: bool, verb: bool) -> _Word:
    content = not frequent and raw not in _PARTICLES and (len(raw) > 1 or raw.isdigit() or raw > "\u0dff")
    return _Word(raw, folded(raw), content, linked, verb, _DIGIT.search(raw) is not None)


@functools.cache
def _function_words(languages: tuple[str, ...]) -> frozenset[str]:
    return SCRIPT_FUNCTION_WORDS.union(*(FUNCTION_WORDS.get(language, ()) for language in languages))


def languages_of(plain: str) -> tuple[str, ...]:
    """Return the languages whose phrases are looked for: those of a script, or English and the text's own."""
    if _OTHER_SCRIPT.search(plain):
        return _OTHER_SCRIPTS
    return tuple(dict.fromkeys((latin_language(plain.split()), ENGLISH)))


_OTHER_SCRIPTS = (
    "chinese",
    "japanese",
    "korean",
    "russian",
    "ukrainian",
    "arabic",
    "hindi",
    "greek",
    "hebrew",
    ENGLISH,
)


@functools.lru_cache(maxsize=1000)
def statement(text: str) -> Statement:
    """Return the first statement of a short text; contexts compare the same ones again and again."""
    first = sentences(text)[0] if len(text) <= MOST_CHARS else ""
    return Statement(first, last=first.strip() == text.strip())


@functools.lru_cache(maxsize=1000)
def first_words(text: str) -> frozenset[str]:
    """Return the first content words of a text; two that share none are about different things.

    The first of them is in every slot, unless it denies the statement or says that something has changed.
    """
    return frozenset(islice(ordered_content_words(text[:_FIRST_CHARS]), _FIRST_WORDS))


@functools.cache
def phrases_in(languages: tuple[str, ...], name: str) -> PhrasePattern:
    """Return a pattern for the phrases of some languages."""
    return PhrasePattern(phrase for language in languages for phrase in phrases_of(language, name))
