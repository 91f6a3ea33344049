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
from memotherm.statements.pairs import Effect, effect
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
#: How likely the network finds that a part is replaced, alone, and at least if the words tell so. With the older text
#: at hand, 62 instead of 50 of 68 corrections of `bench/days/dialogues` kept unseen are found, and 0 of 32 other turns.
_LIKELY, _POSSIBLE = 0.7, 0.01
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


def may_replace(text: str) -> bool:
    """Return whether a turn may replace what was said before: it states a number, a day or a name, or a change.

    Questions, options, wishes and guesses replace nothing.
    """
    said = _stated(text)
    values = values_of(said)
    named = _NAME.search(said) and _is_linked(said)
    return bool(values.numbers or values.days or named) or says_change(text)


def says_change(text: str) -> bool:
    """Return whether a turn says that something has changed or is wrong."""
    said = _stated(text)
    if not said:
        return False
    plain = f" {plain_text(said)} "
    if says_now(plain) or _changes().search(plain) is not None or denies(text):
        return True
    return any(likely(each.strip(), Act.CHANGE) > LIKELY for each in sentences(said))


def denies(text: str) -> bool:
    """Return whether a turn begins with the words of a correction, or denies a value: "Kong, not Traefik"."""
    return bool(_stated(text)) and (any(retracts(each.strip()) for each in sentences(text)) or bool(corrections(text)))


def may_change(text: str) -> bool:
    """Return whether a turn states something that may be otherwise than it was before."""
    said = _stated(text)
    if not said or len(text) > _MOST_CHARS_NAMED:
        return may_replace(text)
    return may_replace(text) or any(likely(each.strip(), *_STATING) > _PERHAPS for each in sentences(said))


def replaced_part(
    new: str, old: str, about: str = "", frequent: Set[str] = frozenset(), answered: str = "", *, told: bool = True
) -> str:
    """Return the part of an older text that a turn replaces; empty if none is.

    Args:
        new: The turn.
        old: The older text.
        about: What the turn answers: "no, 14" needs the question before.
        frequent: Words that tell nothing, because many older texts have them.
        answered: The last thing that was said before the turn.
        told: Whether it is enough that the words tell so.
    """
    if len(new) <= _MOST_CHARS_NAMED:
        parts = {part: _likelihood(part, new, answered or about) for part in parts_of(old)[:_MOST_READ]}
        likeliest = max(parts, key=parts.__getitem__, default="")
        if likeliest and parts[likeliest] > _LIKELY:
            return likeliest
    part = _told(new, old, about, frequent) if told and may_replace(new) else ""
    return part if part and _likelihood(part, new, answered or about) > _POSSIBLE else ""


def _likelihood(part: str, new: str, answered: str) -> float:
    """Return how likely a turn replaces a part, alone or as an answer."""
    alone = effect(part, new)[Effect.REPLACED]
    return max(alone, effect(part, new, answered)[Effect.REPLACED]) if answered else alone


def _told(new: str, old: str, about: str, frequent: Set[str]) -> str:
    """Return the part of an older text that a turn replaces as far as their words tell; empty if none is."""
    said, changed, whole = values_of(_stated(new)), says_change(new), values_of(old)
    short = len(new) <= _MOST_CHARS_NAMED
    clauses = [values_of(each) for each in map(str.strip, sentences(new)) if short and _states_change(each)]
    stated = [each.strip() for each in _CLAUSES.split(_stated(new))]
    if about:
        said, *clauses = (each._replace(words=each.words | values_of(about).words) for each in (said, *clauses))
    found = [
        (shared, part)
        for part in parts_of(old)
        if (
            shared := _replaced(
                said, whole, values_of(part), changed=changed, alike=any(_are_about_one(each, part) for each in stated)
            )
        )
        or (shared := max((_renamed(each, whole, values_of(part), frequent) for each in clauses), default=0))
        or (shared := max((_named_otherwise(each, part) for each in stated), default=0))
    ]
    return max(found, key=lambda each: each[0])[1] if found else ""


def is_bare(text: str) -> bool:
    """Return whether a turn begins with the words of a correction, and then names nothing but a value: "no, 14"."""
    first = next(iter(sentences(text)), "").strip()
    return retracts(first) and bool(_stated(text)) and not values_of(first).words


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
    """Return whether two texts may be about one thing: neither tells of an event, and their subjects do not differ.

    "The bus leaves at 7:21" says nothing about the train, nor "the test cluster has 5 nodes" about the other one.
    """
    if tells_event(new) or tells_event(old):
        return False
    words = values_of(new).words
    shared = words & values_of(old).words
    first = next((word for word in ordered_content_words(new) if word in words), "")
    return first in shared or words <= shared


def _is_linked(text: str) -> bool:
    """Return whether a text joins a thing and its name."""
    return not _LINKING.isdisjoint(plain_text(text).split())


def tells_event(text: str) -> bool:
    """Return whether a text tells of something that happened once."""
    return _EVENT.search(f" {plain_text(text)} ") is not None and not says_change(text)


def _named_otherwise(new: str, old: str) -> int:
    """Return how many words two statements share that say the same of one thing, but for a name; 0 if they do not."""
    names, others = (frozenset(map(plain_text, _NAME.findall(each))) - _DAYS for each in (new, old))
    linked = all(_is_linked(each) and not tells_event(each) for each in (new, old))
    if not linked or len(names - others) != 1 or len(others - names) != 1:
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


def _states_change(sentence: str) -> bool:
    """Return whether a sentence states that something has changed or is wrong."""
    return not sentence.endswith(_EXCLAMATION) and says_change(sentence)


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


def _stated(text: str) -> str:
    """Return the sentences of a turn that state something as it is."""
    if len(text) > MOST_CHARS:
        return ""
    return "".join(each for each in sentences(text) if not is_question(each) and not is_hedged(each)).strip()


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
