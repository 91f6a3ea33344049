"""Which open task a sentence reports as done or cancelled, and which rule it takes back.

A task is closed if a clause says that something is done, without a denial, and its words are those of one open task:
"pagination is in" closes "The list endpoint needs pagination". "The certificate of production is renewed" does not
close "Renew the certificate of staging". Other words are read by a network (`pairs.py`), which must be sure: "the
invoice went out at noon".
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from memotherm.statements.acts import LIKELY, MOST_SENTENCES, Act, likely
from memotherm.statements.pairs import Effect, effect, similarity
from memotherm.text.language import ENGLISH, FUNCTION_WORDS, WORD_LISTS, latin_language
from memotherm.text.phrase_patterns import PhrasePattern
from memotherm.text.phrases import clauses, is_question, listed_pattern, sentences
from memotherm.text.versions import phrases_in
from memotherm.text.words import content_words, is_unspaced, plain_text

#: A longer sentence is a report.
_MAX_CHARS = 200
#: The words that a clause and a task must share.
_MIN_SHARED = 2
#: The same for texts without spaces: the share of the pairs of characters of the task.
_MIN_SHARE = 0.5
#: How likely the network must find that a task has ended, and that the sentence reports an end at all; another task
#: that is almost as likely leaves it open which one is meant.
_ENDED, _REPORTED, _MARGIN = 0.7, 0.15, 0.8
#: How likely a sentence without a phrase takes a rule back.
_REVOKED = 0.8
#: How many tasks the network reads with a sentence: those that are nearest to it.
_MOST_READ = 12
#: The letters of the first or last part of a compound, and of the rest: "Steuer" for "Steuererklärung".
_MIN_COMPOUND, _MIN_REST = 5, 4
_MONTHS_AND_DAYS = "|".join(re.escape(word) for word in WORD_LISTS["other"]["days"].split())
_DATE = re.compile(
    r"\b\d{4}-\d\d-\d\d\b"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of )?(?:{_MONTHS_AND_DAYS})\b|\b(?:{_MONTHS_AND_DAYS}) \d{{1,2}}\b",
    re.IGNORECASE,
)
#: The infinitive that a task begins or ends with.
_FIRST_INFINITIVE = re.compile(r"^\w{2,}(?:[aeiê]r|oir|[aei]re|dre|ć|ть|ти)$")
_LAST_INFINITIVE = re.compile(r"^\w{3,}(?:en|ern|eln)$")
_DETERMINERS = frozenset(WORD_LISTS["other"]["determiners"].split())
#: Somebody else has done something: "Lena hat ein Kapitel geschickt".
_BY_OTHER = re.compile(
    r"^\W*(?:[aoAO] |[Ll]a |[Ee]l |[Dd]er |[Dd]ie |[Ii]l )?(?!I |We |It |All |Ich |Wir )[A-Z]\w+ "
    r"(?:has|have|hat(?! sich)|haben(?! sich)|a|ont|ha|han|tiene|tem|heeft|hebben|hanno|"
    r"\w+(?:ed|ou|ó)|sent|wrote|bought|paid|made|gave|got|told|said|did) (?!been )"
)
_NAME = re.compile(r"\b[A-Z]\w+")
_NUMBER = re.compile(r"\d+")
_TICKS = re.compile("[✅✔☑]️?")
#: Chinese words that name nothing, verbs of one character, and hiragana, which divide what a text names.
_PARTICLES = re.compile("记得|已经|发(?!票)|[了已把给的在吧买写订修做交打回\u3040-\u309f]")


class Ended(NamedTuple):
    """A task that a sentence reports as ended."""

    #: The place of the task among those given.
    place: int
    status: Literal["done", "cancelled"]
    sentence: str


class _Task(NamedTuple):
    """What a task names."""

    words: frozenset[str]
    #: The words without verbs.
    things: frozenset[str]
    actions: frozenset[int]
    #: All words that name something, as they are written.
    written: frozenset[str]


class _Report(NamedTuple):
    """What a clause reports as done."""

    words: frozenset[str]
    actions: frozenset[int]
    #: What makes the report doubtful, unless the task has that word as well.
    doubts: frozenset[str]


def ended(text: str, contents: Callable[[], Sequence[str]]) -> Iterator[Ended]:
    """Yield the tasks that sentences of a text report as ended, each of the sentences at most one.

    Args:
        text: What a user said.
        contents: Returns the contents of the open tasks; called if a sentence may report an end.
    """
    said = [(each, _reported(each), likely(each, Act.DONE, Act.CANCELLED)) for each in _said(text)]
    said = [each for each in said if each[1] or each[2] > _REPORTED]
    tasks = [content.partition("\n")[0] for content in contents()] if said else []
    for sentence, reports, likelihood in said:
        place = _named(reports, [_task(task) for task in tasks])
        if place is None and likelihood > _REPORTED:
            place = _understood(sentence, tasks)
        if place is not None:
            found = effect(tasks[place], sentence)
            done = found[Effect.DONE] + likely(sentence, Act.DONE)
            cancelled = found[Effect.CANCELLED] + likely(sentence, Act.CANCELLED)
            yield Ended(place, "cancelled" if cancelled > done else "done", sentence)


def taken_back(text: str, contents: Callable[[], Sequence[str]]) -> Iterator[tuple[int, str]]:
    """Yield the places of the rules that sentences of a text take back, each with its sentence.

    Of several rules it is the one that has most words of the sentence; if two have as many, nothing tells which.
    Without a phrase such as "forget the rule", the network of pairs must find as well that the rule is replaced.

    Args:
        text: What a user said.
        contents: Returns the contents of the rules; called if a sentence takes one back.
    """
    ends = listed_pattern("rule_ends")
    reports = [each for each in _said(text) if ends.search(_plain(each)) or likely(each, Act.REVOKE) > _REVOKED]
    rules = list(contents()) if reports else []
    for sentence in reports:
        plain = _plain(sentence)
        said = _words(_without(ends, plain))
        shared = [sum(_has(_task(rule).words, word) for word in said) for rule in rules]
        most = max(shared, default=0)
        if not most or shared.count(most) > 1:
            continue
        place = shared.index(most)
        if ends.search(plain) or effect(rules[place], sentence)[Effect.REPLACED] > LIKELY:
            yield place, sentence


def _said(text: str) -> list[str]:
    """Return the sentences of a text that may report something; none of a document."""
    found = sentences(text)
    said = map(str.strip, found if len(found) <= MOST_SENTENCES else ())
    return [each for each in said if len(each) <= _MAX_CHARS and not is_question(each)]


def _reported(sentence: str) -> list[_Report]:
    """Return what the clauses of a sentence report as done, each alone, then with the clause before it."""
    if _BY_OTHER.search(sentence):
        return []
    done = listed_pattern("done")
    language = latin_language(plain_text(sentence).split())
    # In other languages, words of English; in English, those of all of them.
    not_done = phrases_in(tuple(WORD_LISTS["phrases"]) if language == ENGLISH else (language, ENGLISH), "not_done")
    told = likely(sentence, Act.DONE, Act.CANCELLED) > LIKELY
    # Names may be function words of other languages: "Ben's".
    named = {plain_text(word) for word in _NAME.findall(sentence)} if language == ENGLISH else set[str]()
    named -= FUNCTION_WORDS[ENGLISH] | _framing()
    found, before, doubted = list[_Report](), frozenset[str](), frozenset[str]()
    for clause in map(_plain, clauses(_TICKS.sub(" done ", sentence))):
        rest = _without(done, clause)
        words = frozenset(_words(rest) | (named & set(rest.split())))
        doubts = frozenset(match[0].strip() for match in not_done.finditer(rest))
        if told or rest != clause:
            alone = _Report(words, _actions(clause), doubts)
            found += [alone, alone._replace(words=words | before, doubts=doubts | doubted)]
        # "Done: the password is rotated".
        told = told or (rest != clause and not words)
        before, doubted = words, doubts
    return [each for each in found if each.words]


def _named(reports: Sequence[_Report], tasks: Sequence[_Task]) -> int | None:
    """Return the place of the one task that a report names; None if no task, or more than one, matches alike."""
    for said in reports:
        places = [place for place, task in enumerate(tasks) if _is_meant(said, task)]
        if len(places) > 1:
            # The one of which everything is named.
            places = [place for place in places if all(_has(said.words, word) for word in tasks[place].things)]
        if len(places) == 1:
            return places[0]
    return None


def _is_meant(said: _Report, task: _Task) -> bool:
    """Return whether one of both names all that the other does, and both tell of the same action."""
    if (said.actions and task.actions and said.actions.isdisjoint(task.actions)) or not said.doubts <= task.written:
        return False
    if any(map(is_unspaced, said.words)):
        least = _MIN_SHARE * len(task.words)
        enough = len(said.words) > least or (len(said.words) == least and len(said.words) >= _MIN_SHARED)
        return enough and said.words <= task.words
    if all(_has(task.words, word) for word in said.words):
        if said.actions and not task.actions and not said.words <= task.words:
            # What was done to a part of a compound may be done to another thing: "Urlaub ist gebucht".
            return False
        return len(said.words) >= _MIN_SHARED
    return len(task.things) >= _MIN_SHARED and all(_has(said.words, word) for word in task.things)


def _understood(sentence: str, tasks: Sequence[str]) -> int | None:
    """Return the place of the task that the network finds ended; None if it finds none, or two."""
    language = latin_language(plain_text(sentence).split())
    denied = phrases_in((language,), "negation").search(_plain(sentence)) is not None
    likelihoods = {place: _end(tasks[place], sentence, denied=denied) for place in _nearest(sentence, tasks)}
    first, second = (*sorted(likelihoods, key=likelihoods.__getitem__, reverse=True)[:2], None, None)[:2]
    if first is None or likelihoods[first] < _ENDED or _has_other_number(sentence, tasks[first]):
        return None
    return None if second is not None and likelihoods[second] > _MARGIN * likelihoods[first] else first


def _end(task: str, sentence: str, *, denied: bool) -> float:
    """Return how likely a sentence, or the clause that it begins with, ends a task; a denial may only cancel it."""
    said = dict.fromkeys((sentence, next(clauses(sentence), sentence)))
    return max(
        found[Effect.CANCELLED] + (0 if denied else found[Effect.DONE])
        for found in (effect(task, each) for each in said)
    )


def _nearest(sentence: str, tasks: Sequence[str]) -> Sequence[int]:
    """Return the places of the tasks that are nearest to a sentence by the vectors of their words."""
    if len(tasks) <= _MOST_READ:
        return range(len(tasks))
    near = [similarity(task, sentence) for task in tasks]
    return sorted(range(len(tasks)), key=lambda place: -near[place])[:_MOST_READ]


def _has_other_number(sentence: str, task: str) -> bool:
    """Return whether both have numbers, and none in common: "PR 48 is merged" is not "Merge PR 482"."""
    said, named = (set(_NUMBER.findall(each)) for each in (sentence, task))
    return bool(said and named) and said.isdisjoint(named)


def _has(words: Iterable[str], word: str) -> bool:
    return any(word == other or _is_part(word, other) or _is_part(other, word) for other in words)


def _is_part(word: str, compound: str) -> bool:
    """Return whether a compound begins or ends with a word."""
    long = len(word) >= _MIN_COMPOUND and len(compound) - len(word) >= _MIN_REST
    return long and (compound.startswith(word) or compound.endswith(word))


@functools.lru_cache(maxsize=1000)
def _task(text: str) -> _Task:
    """Return what a task names."""
    plain = _plain(text)
    told = _actions(plain)
    for name in ("task",):
        plain = _without(listed_pattern(name), plain)
    verbs = _verbs(plain.split(), text)
    words = _words(plain)
    return _Task(
        frozenset(words),
        frozenset(_words(" ".join(token for token in plain.split() if token not in verbs))),
        told,
        frozenset(token for token in plain.split() if not _is_framing(token)),
    )


def _verbs(tokens: Sequence[str], text: str) -> set[str]:
    """Return the verbs of a task: usual ones, an infinitive first or last, and what is before an article."""
    usual = set(tokens) & _usual_verbs()
    if len(tokens) < _MIN_SHARED:
        return usual
    first, second, last = tokens[0], tokens[1], tokens[-1]
    if not _is_framing(first) and second in _DETERMINERS:
        return {*usual, first}
    # Names and German nouns have a capital letter.
    if _LAST_INFINITIVE.search(last) and last in text:
        return {*usual, last}
    return {*usual, first} if _FIRST_INFINITIVE.search(first) and not _is_framing(first) else usual


def _plain(text: str) -> str:
    """Return a plain text without dates."""
    return f" {plain_text(_DATE.sub(' ', text))} ".replace(" pr ", " pull request ")


def _words(plain: str) -> set[str]:
    """Return the stems of the words of a plain text that name something."""
    return {stem for token in plain.split() if not _is_framing(token) for stem in _stems(token)}


@functools.lru_cache(maxsize=4000)
def _stems(token: str) -> tuple[str, ...]:
    """Return the stem of a word, or the pairs of characters of a text without spaces."""
    if is_unspaced(token):
        return tuple(sorted(word for part in _PARTICLES.split(token) for word in content_words(part)))
    return tuple(sorted(content_words(token))) or (token,)


def _is_framing(token: str) -> bool:
    """Return whether a word names nothing."""
    return token in _framing_words() or (len(token) == 1 and token.isascii() and not token.isdigit())


def _actions(plain: str) -> frozenset[int]:
    """Return the numbers of the actions that a plain text tells of."""
    return frozenset(number for number, forms in enumerate(_action_forms()) if forms.search(plain))


def _without(pattern: PhrasePattern, plain: str) -> str:
    """Return a plain text without some phrases."""
    for _ in range(2):
        # Of two phrases with a space between them, one is found at a time.
        plain = f" {' '.join(pattern.sub('  ', plain).split())} "
    return plain


@functools.cache
def _framing() -> frozenset[str]:
    names = ("report_framing", "days", "until", "we", "now", "linking", "articles")
    return frozenset(" ".join(WORD_LISTS["other"][name] for name in names).split())


@functools.cache
def _framing_words() -> frozenset[str]:
    return _framing().union(*FUNCTION_WORDS.values())


@functools.cache
def _usual_verbs() -> frozenset[str]:
    return frozenset(WORD_LISTS["other"]["task_verbs"].split())


@functools.cache
def _action_forms() -> tuple[PhrasePattern, ...]:
    """Return verbs of one meaning: a task to pay something is not ended by sending it.

    What arrives was ordered or bought.
    """
    lists = WORD_LISTS["actions"].values()
    return tuple(PhrasePattern(form.replace("_", " ") for form in forms.split()) for forms in lists)
