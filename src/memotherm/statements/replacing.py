"""What a turn of a conversation replaces in an older text, as far as their words tell.

People correct loosely: "no, 5434", "Paperchain went bust, we order from Officemate instead", "the standup is at 10:15".
A search finds the older text that is meant; this module says which part of it another value replaces:

- a number or a day for another number or day, if both texts share a word, and without words for a change are about one
  thing;
- a name for another one in a statement that is the same otherwise;
- any other word, if the newer text says that something has changed or is wrong, and both share a word;
- whatever a network (`pairs.py`) takes for replaced: "deploys go through Argo", "it is all Flux these days". Both need
  not share a word. It also refuses what is said of something else.

Such a part is only perhaps outdated. `text/corrections.py` knows the statements that leave no doubt.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Set
from typing import NamedTuple

from memotherm.statements.acts import LIKELY, Act, likely
from memotherm.statements.pairs import Effect, effect, similarity
from memotherm.text.corrections import corrections, is_hedged, retracts
from memotherm.text.language import WORD_LISTS
from memotherm.text.phrase_patterns import PhrasePattern
from memotherm.text.phrases import conversational_words, is_question, listed_phrases, sentences
from memotherm.text.versions import says_now
from memotherm.text.words import content_words, ordered_content_words, plain_text

#: A longer turn is a report.
MOST_CHARS = 400
#: The same, if its value is neither a number nor a day, or the network alone decides, which has learned short turns.
_MOST_CHARS_NAMED = 160
#: How likely the network must find that a part is replaced, by how many of four reasons say so: the older text is the
#: best one of a search, its words have a similar meaning, a rule finds the words, the turn says that something changed.
#: Of pairs of a turn and a text that a search finds for it, in weeks and dialogues for development, this finds 174 of
#: 214 corrections, and takes 50 of 1,884 others for one, some of which are; a likelihood of .7, or a rule, took 90.
_LEAST_LIKELIHOODS = (1.0, 0.9, 0.7, 0.1, 0.003)
#: The same where nothing else has to say so.
_SURE = 0.7
#: The cosine of the static vectors of two texts of a similar meaning.
_NEAR = 0.25
#: How many parts of an older text the network reads.
_MOST_READ = 3
#: Acts that a turn needs with this probability to replace anything, unless its words tell so.
_STATING = (Act.CHANGE, Act.REVOKE, Act.DECISION, Act.FACT, Act.PREFERENCE, Act.RULE, Act.PROFILE)
_PERHAPS = 0.1
#: The content words of a clause that can stand alone.
_LEAST_WORDS = 2
#: A number, and the letters or the sign that follow it: "15 minutes", "15%".
_NUMBER = re.compile(r"(\d+(?:[.,:]\d+)*)\s?([^\W\d]{1,12}|[%€$£])?")
_THOUSANDS = re.compile(r"[.,](?=\d{3}(?!\d))")
#: A full hour: "20h", "8 Uhr".
_HOUR = re.compile(r"(?<![\d:.,])(\d{1,2})\s?(?:h|uhr|o'clock|点|點|時|时|시)(?![^\W_])", re.IGNORECASE)
#: An hour has at most so many digits.
_HOUR_DIGITS = 2
_DAYS = frozenset(WORD_LISTS["other"]["days"].split())
_UNSPACED_DAY = re.compile("(?:周|星期|礼拜|週)[一二三四五六日天末]|[月火水木金土日]曜|[월화수목금토일]요일")
#: Exclamations state nothing.
_EXCLAMATION = ("!", "！")
_CLAUSES = re.compile(r"[;，；、：]|,(?!\d)|:\s")
#: Verbs in the past.
_EVENT = re.compile(
    r" (?:\w{2,}(?<!ne)ed|took|ran|went|came|said|told|met|saw|ate|read|wrote|bought|sold|spent|had|did|got"
    r"|was|were|habe|hatte|haben|war|waren|ging|kam|j ai|avons|était|fui|fue|hice|tuve|comí|fiz|foi|tive"
    r"|ho|abbiamo|ben|heb) "
)
#: Words that join a thing and its name, and names, which are no first words.
_LINKING = frozenset((*WORD_LISTS["other"]["copulas"].split(), "heißt"))
_NAME = re.compile(r"(?<=[\w,] )[A-Z][\w.-]*\w")


class Values(NamedTuple):
    """The values in a text that others of the same type may replace, and its other content words."""

    #: Each with its unit, or nothing.
    numbers: dict[str, str]
    days: frozenset[str]
    words: frozenset[str]


class Turn:
    """A turn of a conversation; it is read once, and compared with several older texts."""

    def __init__(self, text: str) -> None:
        self.text = text
        #: The sentences that state something as it is.
        self._stated = "" if len(text) > MOST_CHARS else "".join(filter(_states, sentences(text))).strip()
        self._is_short = len(text) <= _MOST_CHARS_NAMED

    @functools.cached_property
    def says_change(self) -> bool:
        """Whether it says that something has changed or is wrong."""
        if not self._stated:
            return False
        plain = f" {plain_text(self._stated)} "
        if says_now(plain) or _changes().search(plain) is not None or self.denies:
            return True
        return any(likely(each.strip(), Act.CHANGE) > LIKELY for each in sentences(self._stated))

    @functools.cached_property
    def denies(self) -> bool:
        """Whether it begins with the words of a correction, or denies a value: "Kong, not Traefik"."""
        retracting = (retracts(each.strip()) for each in sentences(self.text))
        return bool(self._stated) and (any(retracting) or bool(corrections(self.text)))

    @functools.cached_property
    def is_bare(self) -> bool:
        """Whether it begins with the words of a correction, and then names little but a value: "no, 14"."""
        first = sentences(self.text)[0].strip()
        return retracts(first) and bool(self._stated) and len(values_of(first).words) < _LEAST_WORDS

    @functools.cached_property
    def needs_context(self) -> bool:
        """Whether it may be about what was said before it: it corrects that, or names next to nothing itself."""
        return self.denies or (self.says_change and self._names_little)

    @functools.cached_property
    def may_replace(self) -> bool:
        """Whether it may replace what was said before: it states a number, a day or a name, or a change.

        Questions, options, wishes and guesses replace nothing.
        """
        values = values_of(self._stated)
        named = _NAME.search(self._stated) and _is_linked(self._stated)
        return bool(values.numbers or values.days or named) or self.says_change

    @functools.cached_property
    def may_change(self) -> bool:
        """Whether it states something that may be otherwise than it was before.

        Of a short one, the network tells what is a wish or a guess.
        """
        said = [each.strip() for each in sentences(self.text) if not is_question(each)] if self._is_short else []
        return self.may_replace or any(likely(each, *_STATING) > _PERHAPS for each in said)

    @functools.cached_property
    def _names_little(self) -> bool:
        return len(values_of(self._stated).words) < _LEAST_WORDS

    @functools.cached_property
    def _lasting(self) -> list[str]:
        """The clauses that tell of no event."""
        return [each for each in map(str.strip, _CLAUSES.split(self._stated)) if not tells_event(each)]

    @functools.cached_property
    def _changed(self) -> list[Values]:
        """The values of each sentence of a short turn that states a change."""
        said = map(str.strip, sentences(self.text) if self._is_short else ())
        return [values_of(each) for each in said if not each.endswith(_EXCLAMATION) and Turn(each).says_change]

    def replaced_part(
        self, old: str, about: str = "", frequent: Set[str] = frozenset(), answered: str = "", *,
        is_best: bool = True, may_tell: bool = True,
    ) -> str:  # fmt: skip
        """Return the part of an older text that the turn replaces; empty if none is.

        Args:
            old: The older text.
            about: What the turn answers: "no, 14" needs the question before.
            frequent: Words that tell nothing, because many older texts have them.
            answered: The last thing that was said before the turn.
            is_best: Whether a search finds no other text that is clearly better.
            may_tell: Whether the words of both may tell so.
        """
        told = self._told(old, about, frequent) if may_tell and self.may_replace else ""
        read = parts_of(old)[:_MOST_READ] if self._is_short else []
        found = {"": 0.0}
        for part in dict.fromkeys((*read, told) if told else read):
            reasons = is_best + self.says_change + (part == told) + (bool(about) or self._is_near(part))
            likelihood = _likelihood(part, self.text, answered or about) if reasons else 0.0
            found[part] = likelihood if likelihood > _LEAST_LIKELIHOODS[reasons] else 0.0
        return max(found, key=found.__getitem__)

    def replaced_number(self, old: str) -> str:
        """Return the first part of an older text with a number that the turn replaces, as the network alone is sure."""
        parts = (part for part in parts_of(old)[:_MOST_READ] if self._is_short and values_of(part).numbers)
        return next((part for part in parts if effect(part, self.text)[Effect.REPLACED] > _SURE), "")

    def _is_near(self, part: str) -> bool:
        """Return whether the turn has words of a similar meaning as a part, or too few words to tell."""
        return self._names_little or similarity(part, self.text) >= _NEAR

    def _told(self, old: str, about: str, frequent: Set[str]) -> str:
        """Return the part of an older text that the turn replaces as far as their words tell; empty if none is."""
        said, changes, whole = values_of(self._stated), self._changed, values_of(old)
        if about:
            words = values_of(about).words
            said, *changes = (each._replace(words=each.words | words) for each in (said, *changes))
        found: dict[str, int] = {"": 0}
        for part in parts_of(old):
            values, clauses = values_of(part), [] if tells_event(part) else self._lasting
            alike = any(_are_about_one(each, part) for each in clauses)
            found[part] = (
                _replaced(said, whole, values, changed=self.says_change, alike=alike)
                or max((_renamed(each, whole, values, frequent) for each in changes), default=0)
                or max((_named_otherwise(each, part) for each in clauses), default=0)
            )
        return max(found, key=found.__getitem__)


def _likelihood(part: str, new: str, answered: str) -> float:
    """Return how likely a turn replaces a part, alone or as an answer."""
    alone = effect(part, new)[Effect.REPLACED]
    return max(alone, effect(part, new, answered)[Effect.REPLACED]) if answered else alone


def is_all_of(part: str, text: str) -> bool:
    """Return whether a line of a text states nothing but a part of it."""
    return any(parts_of(line) == [part] for line in text.splitlines() if part in line)


def concerns(words: Set[str], part: str, text: str) -> bool:
    """Return whether words that are asked for concern a part of a text as much as every other part of it."""

    def shared(each: str) -> int:
        return len(words & values_of(each).words)

    return shared(part) >= max(map(shared, parts_of(text)), default=0)


def parts_of(text: str) -> list[str]:
    """Return the statements of a text: its sentences, and the clauses of those whose clauses can stand alone."""
    found: list[str] = []
    for sentence in map(str.strip, sentences(text)):
        clauses = [each.strip() for each in _CLAUSES.split(sentence) if _size(values_of(each.strip())) >= _LEAST_WORDS]
        if sentence and not sentence.endswith(_EXCLAMATION) and not is_question(sentence):
            found += clauses if len(clauses) > 1 else [sentence]
    return found


@functools.lru_cache(maxsize=1000)  # a turn is compared with several texts
def values_of(text: str) -> Values:
    """Return the values of a text."""
    plain = plain_text(text).split()
    days = {word for each in plain for word in (each, each.removesuffix("s")) if word in _DAYS}
    found = _NUMBER.findall(_HOUR.sub(r"\1:00", text))
    numbers = {_THOUSANDS.sub("", number): unit.casefold() for number, unit in found}
    words = {word for word in content_words(text) if not word[0].isdigit()} - conversational_words() - _changing()
    words -= {"uhr", *numbers.values()}
    return Values(numbers, frozenset(days | set(_UNSPACED_DAY.findall(text))), frozenset(words - _day_stems()))


def _size(values: Values) -> int:
    return len(values.words) + len(values.numbers) + len(values.days)


def _replaced(new: Values, old: Values, part: Values, *, changed: bool, alike: bool) -> int:
    """Return how much a turn has in common with a part of which it replaces a value; 0 if it replaces none."""
    shared, common = len(new.words & part.words), len(new.words & old.words)
    same_unit = any(_is_other(new, old, number, unit) == 2 for number, unit in part.numbers.items())
    typed = any(_is_other(new, old, number, unit) for number, unit in part.numbers.items())
    typed = typed or (bool(new.days - old.days) and bool(part.days))
    named = len(new.numbers.keys() & part.numbers.keys()) + len(new.days & part.days)
    if typed and (changed or (named and alike)):
        return shared + common + named + same_unit if common + named else 0
    # Without words for a change, both must be about the same thing.
    return shared if alike and typed and shared and 2 * (common + same_unit) >= len(new.words) else 0


def _are_about_one(new: str, old: str) -> bool:
    """Return whether two texts that tell of no event may be about one thing: their subjects do not differ.

    "The bus leaves at 7:21" says nothing about the train, nor "the test cluster has 5 nodes" about the other one.
    """
    words = values_of(new).words
    shared = words & values_of(old).words
    first = next((word for word in ordered_content_words(new) if word in words), "")
    return first in shared or words <= shared


def _is_linked(text: str) -> bool:
    """Return whether a text joins a thing and its name."""
    return not _LINKING.isdisjoint(plain_text(text).split())


def tells_event(text: str) -> bool:
    """Return whether a text tells of something that happened once."""
    return _EVENT.search(f" {plain_text(text)} ") is not None and not Turn(text).says_change


def _named_otherwise(new: str, old: str) -> int:
    """Return how many words two statements share that say the same of one thing, but for a name; 0 if they do not."""
    names, others = (frozenset(map(plain_text, _NAME.findall(each))) - _DAYS for each in (new, old))
    if len(names - others) != 1 or len(others - names) != 1 or not (_is_linked(new) and _is_linked(old)):
        return 0
    told = values_of(old).words - values_of(" ".join(others)).words
    said = values_of(new).words - values_of(" ".join(names)).words
    return len(said) if said == told else 0


def _renamed(new: Values, old: Values, part: Values, frequent: Set[str]) -> int:
    """Return how many words a sentence about a change shares with a part, if it has others as well.

    Numbers and days replace their like.
    """
    if (new.numbers and part.numbers) or (new.days and part.days):
        return 0
    shared = new.words & part.words
    return len(shared) if new.words - old.words and (len(shared) > 1 or shared - frequent) else 0


def _is_other(new: Values, old: Values, number: str, unit: str) -> int:
    """Return whether a turn has another number of the same size: 2 if it has the same unit as well."""
    others = {
        each: given for each, given in new.numbers.items()
        if each not in old.numbers and _are_alike(each, number)
    }  # fmt: skip
    if not others:
        return 0
    return 2 if unit and unit in others.values() else 1


def _are_alike(first: str, second: str) -> bool:
    """Return whether two numbers may be values of the same thing: two times, or numbers of about the same length."""
    times = [":" in each for each in (first, second)]
    if any(times):
        return all(time or len(each) <= _HOUR_DIGITS for each, time in zip((first, second), times, strict=True))
    return abs(len(first) - len(second)) <= 1


def _states(sentence: str) -> bool:
    """Return whether a sentence states something as it is."""
    return not is_question(sentence) and not is_hedged(sentence)


@functools.cache
def _changes() -> PhrasePattern:
    return PhrasePattern((*listed_phrases("correction"), *listed_phrases("change")))


@functools.cache
def _changing() -> frozenset[str]:
    """Return the stemmed words that say that something has changed."""
    phrases = (*listed_phrases("correction"), *listed_phrases("change"), *listed_phrases("retraction"))
    single = (phrase for phrase in map(plain_text, phrases) if " " not in phrase)
    return frozenset(word for phrase in single for word in content_words(phrase))


@functools.cache
def _day_stems() -> frozenset[str]:
    return frozenset(word for day in _DAYS for word in content_words(day))
