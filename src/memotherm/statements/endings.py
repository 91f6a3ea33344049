"""Which open task a sentence reports as done or cancelled, and which rule it takes back.

A task is closed only if the sentence leaves no doubt: a clause says that something is done, without a negation, a
condition or a plan, and its words name one open task and nothing else. It says so by a phrase ("is out"), by the verb
of the task in the past ("descaled" for "descale"), or if the recipient has the thing ("Priya has the slides").

"The certificate of production is renewed" does not close "Renew the certificate of staging". One word is enough if the
task names it by itself: "pagination is in" closes "The list endpoint needs pagination", but "the importer is fixed"
does not close "Finish the importer migration".

What more a sentence says does not matter if two words are shared and the network has no doubt: "looked through Tomas'
pull request and approved it". Beside a shared word, none may stand in the place of another one: "the flaky checkout
test is fixed" does not close "Fix the flaky login test".
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from memotherm.statements.acts import LIKELY, MOST_SENTENCES, Act, acts, likely
from memotherm.text.intentions import states_intention
from memotherm.text.language import ENGLISH, FUNCTION_WORDS, WORD_LISTS, latin_language
from memotherm.text.phrase_patterns import PhrasePattern
from memotherm.text.phrases import clauses, is_question, listed_pattern, sentences
from memotherm.text.versions import phrases_in
from memotherm.text.words import content_words, is_unspaced, plain_text

#: A longer sentence is a report.
_MAX_CHARS = 200
#: The words that a sentence and a task must share, unless the task names one word by itself.
_MIN_SHARED = 2
#: The same for texts without spaces: the share of the pairs of characters of the task.
_MIN_SHARE = 0.5
#: The share of the words of a report that a task has at least, if the report says more.
_MIN_TOLD = 0.6
#: The least probability of a report that says more.
_SURE = 0.85
#: The letters of the first or last part of a compound, and of the rest: "Steuer" for "Steuererklärung".
_MIN_COMPOUND, _MIN_REST = 5, 4
_MONTHS_AND_DAYS = "|".join(re.escape(word) for word in WORD_LISTS["other"]["days"].split())
_DATE = re.compile(
    r"\b\d{4}-\d\d-\d\d\b"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of )?(?:{_MONTHS_AND_DAYS})\b|\b(?:{_MONTHS_AND_DAYS}) \d{{1,2}}\b",
    re.IGNORECASE,
)
#: How long something holds after it is done: "renewed until 2028".
_HOLDS = re.compile(r" (?:until|till|bis|jusqu en|hasta|até|fino al|tot) \d{4} ")
_CANCELLED = re.compile(
    " (?:cancell?ed|called off|scrapped|dropped|abandoned|binned|not? (?:longer )?need\\w*|nobody needs it|abgesagt"
    "|gestrichen"
    "|verworfen|entfällt|annul\\w*|cancel\\w*|abandon\\w*|geannuleerd|geschrapt|anulowan\\w*|odwołan\\w*|iptal"
    "|descartad\\w*"
    "|отмен\\w*|скасован\\w*|ألغي\\w*|रद्द|inställ\\w*|avbokad|aflyst|avlyst|peruttu|zruš\\w*|törölve|lemondva"
    "|anulat\\w*"
    "|đã hủy|dibatalkan|batal|ακυρώθηκε|בוטל\\w*) |取消|作废|不做了|キャンセル|中止|취소"
)
#: Words after which a task names what it is about, for or before, and not what is to be done.
_ABOUT = frozenset(WORD_LISTS["other"]["prepositions"].split())
_DETERMINERS = frozenset(WORD_LISTS["other"]["determiners"].split())
#: The recipient of a thing has it: "Priya has the slides".
_HAS = re.compile(" (?:has|have|got|hat|haben|tiene|tienen|tem|ha|hanno|heeft|hebben|ma|mają|har) ")
#: The form of a verb that tells of the past: "descaled", "gewechselt", "renovado", "verlengd".
_PAST = re.compile(
    "(?:ed|t|d|en|é|ée|és|ées|i|is|ie|it|u|ue|[aiu]d[oa]s?|[aiu]t[oaie]|ei|ou|ó|í|ił|iła|ał|ała|ano|ono|ado|л|ла|ли|но)$"
)
#: The infinitive that a task begins or ends with.
_FIRST_INFINITIVE = re.compile(r"^\w{2,}(?:[aeiê]r|oir|[aei]re|dre|ć|ть|ти)$")
_LAST_INFINITIVE = re.compile(r"^\w{3,}(?:en|ern|eln)$")
_NAME = re.compile(r"\b[A-Z]\w+")
#: Somebody else has done something: "Lena hat ein Kapitel geschickt".
_BY_OTHER = re.compile(
    r"^\W*(?:[aoAO] |[Ll]a |[Ee]l |[Dd]er |[Dd]ie |[Ii]l )?(?!I |We |It |All |Ich |Wir )[A-Z]\w+ "
    r"(?:has|have|hat(?! sich)|haben(?! sich)|a|ont|ha|han|tiene|tem|heeft|hebben|hanno|"
    r"\w+(?:ed|ou|ó)|sent|wrote|bought|paid|made|gave|got|told|said|did) (?!been )"
)
#: Where something comes from: an invoice from somebody is not the one that they get.
_FROM = re.compile(r" (?:from|von|vom) (?:the |der |dem )?(\w+)")
#: Before a past that is the speaker's or of the thing: "the dentist called" tells of somebody else.
_BEFORE_PAST = frozenset(
    ("", "i", "we", "ve", "have", "has", "just", "been", "be", "is", "are", "was", "were", "s", "got", "and", "all")
)
#: The letters that two forms of a verb share at least.
_MIN_VERB = 4
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
    #: The things that are to be done, not those that they are for or about.
    objects: frozenset[str]
    #: Of these, the ones that are named by a single word.
    heads: frozenset[str]
    actions: frozenset[int]
    #: The verbs, and all words that name something, as they are written.
    verbs: frozenset[str]
    written: frozenset[str]
    #: Where the things come from.
    sources: frozenset[str]
    #: All words in their order.
    tokens: Sequence[str]


class _Report(NamedTuple):
    """What a clause may report as ended."""

    words: frozenset[str]
    actions: frozenset[int]
    #: Whether a phrase says that it is done.
    told: bool
    #: The words that may be verbs in the past, as they are written.
    past: frozenset[str]
    #: Who has something.
    owner: frozenset[str]
    #: Where it comes from.
    sources: frozenset[str]
    #: What makes the report doubtful, unless the task has that word as well.
    doubts: frozenset[str]
    #: All words in their order.
    tokens: Sequence[str]
    #: Whether the network has no doubt, and whether a phrase says that it is not to be done any more.
    sure: bool
    cancelled: bool


def ended(text: str, contents: Callable[[], Sequence[str]]) -> Iterator[Ended]:
    """Yield the tasks that sentences of a text report as ended, each of the sentences at most one.

    Args:
        text: What a user said.
        contents: Returns the contents of the open tasks; called if a sentence may report an end.
    """
    reports = [(sentence.strip(), found) for sentence in _said(text) if (found := _reported(sentence))]
    if not reports:
        return
    tasks = [_task(content.partition("\n")[0]) for content in contents()]
    for sentence, found in reports:
        places = (
            place for meant in (_one_meant, _most_named) for said in found if (place := meant(said, tasks)) is not None
        )
        place = next(places, None)
        if place is not None:
            found_acts = acts(sentence)
            cancelled = _CANCELLED.search(f" {plain_text(sentence)} ") or (
                found_acts[Act.CANCELLED] > max(found_acts[Act.DONE], LIKELY)
            )
            yield Ended(place, "cancelled" if cancelled else "done", sentence)


def taken_back(text: str, contents: Callable[[], Sequence[str]]) -> Iterator[tuple[int, str]]:
    """Yield the places of the rules that sentences of a text take back, each with its sentence.

    Of several rules it is the one that has most words of the sentence; if two have as many, nothing tells which.

    Args:
        text: What a user said.
        contents: Returns the contents of the rules; called if a sentence takes one back.
    """
    ends = listed_pattern("rule_ends")
    found = [each.strip() for each in _said(text) if len(each) <= _MAX_CHARS and not is_question(each)]
    reports = [each for each in found if ends.search(f" {plain_text(each)} ") or likely(each, Act.REVOKE) > LIKELY]
    if not reports:
        return
    rules = [_task(content).words for content in contents()]
    for sentence in reports:
        said = _words(_without(ends, f" {plain_text(sentence)} "))
        shared = [sum(_has(words, word) for word in said) for words in rules]
        most = max(shared, default=0)
        if most and shared.count(most) == 1:
            yield shared.index(most), sentence


def _said(text: str) -> list[str]:
    """Return the sentences of a text; none of a document."""
    found = list(sentences(text))
    return found if len(found) <= MOST_SENTENCES else []


def _reported(sentence: str) -> list[_Report]:
    """Return what the clauses of a sentence may report as ended, each alone, then with the clause before it.

    Questions, conditions, plans and denials report nothing.
    """
    if len(sentence) > _MAX_CHARS or is_question(sentence) or states_intention(sentence):
        return []
    done = listed_pattern("done")
    language = latin_language(plain_text(sentence).split())
    # In other languages, words of English; in English, those of all of them.
    not_done = phrases_in(tuple(WORD_LISTS["phrases"]) if language == ENGLISH else (language, ENGLISH), "not_done")
    hedge = phrases_in((language, ENGLISH), "hedge")
    found_acts = acts(sentence)
    cancelled = found_acts[Act.CANCELLED] > LIKELY and _CANCELLED.search(f" {plain_text(sentence)} ") is not None
    reported = found_acts[Act.DONE] + found_acts[Act.CANCELLED] > LIKELY
    named = _names(sentence)
    plain = [_HOLDS.sub(" ", _plain(clause)) for clause in clauses(_TICKS.sub(" done ", sentence))]
    by_other = _BY_OTHER.search(sentence) is not None
    found, before, doubted = list[_Report](), set[str](), frozenset[str]()
    for clause in plain:
        rest = _without(done, clause)
        told = reported or rest != f" {' '.join(clause.split())} "
        hedged = any(hedge.search(_without(done, each)) for each in plain if each != clause)
        words = _words(rest) | (named & set(rest.split()))
        doubts = frozenset(match[0].strip() for match in not_done.finditer(rest))
        if not hedged and not (told and by_other):
            has = _HAS.search(clause)
            alone = _Report(
                frozenset(words),
                _actions(clause),
                told,
                frozenset[str]() if by_other else _past_forms(clause),
                frozenset(_words(clause[: has.start()])) if has else frozenset[str](),
                frozenset(_words(" ".join(_FROM.findall(clause)))),
                doubts,
                rest.split(),
                found_acts[Act.DONE] + found_acts[Act.CANCELLED] > _SURE,
                cancelled,
            )
            found += [alone, alone._replace(words=frozenset(words | before), doubts=doubts | doubted)]
        before, doubted = words, doubts
    return [each for each in found if each.words]


def _past_forms(clause: str) -> frozenset[str]:
    """Return the words that may be verbs in the past, of the speaker or of the thing."""
    pairs = itertools.pairwise(("", *clause.split()))
    forms = ((last, token) for last, token in pairs if _PAST.search(token))
    return frozenset(token for last, token in forms if last in _BEFORE_PAST or not token.endswith("ed"))


def _one_meant(said: _Report, tasks: Sequence[_Task]) -> int | None:
    """Return the place of the one task that is meant; None if no task, or more than one, matches alike."""
    found = [place for place, task in enumerate(tasks) if _is_meant(said, task)]
    if len(found) > 1:
        # The one of which everything is named.
        found = [place for place in found if all(_has(said.words, word) for word in tasks[place].things)]
    return found[0] if len(found) == 1 else None


def _most_named(said: _Report, tasks: Sequence[_Task]) -> int | None:
    """Return the place of the task that shares most words with a report that says more; None if two share as many."""
    shared = [sum(_has(said.words, word) for word in task.words) if _is_named(said, task) else 0 for task in tasks]
    most = max(shared, default=0)
    return shared.index(most) if most and shared.count(most) == 1 else None


def _is_named(said: _Report, task: _Task) -> bool:
    """Return whether a report names a task by two words and an object of it, whatever it says besides."""
    if not said.sure or not (said.cancelled or said.doubts <= task.written) or any(map(is_unspaced, said.words)):
        return False
    if said.actions and task.actions and said.actions.isdisjoint(task.actions):
        return False
    if any(_has(task.things - task.sources, word) for word in said.sources):
        return False
    told = [word for word in said.words if _has(task.words, word)]
    if len(told) < _MIN_SHARED or len(told) < _MIN_TOLD * len(said.words):
        return False
    return any(_has(task.objects, word) for word in told) and not _is_replaced(said, task)


def _is_replaced(said: _Report, task: _Task) -> bool:
    """Return whether beside a word of both, each has a word that the other lacks: "checkout test" and "login test"."""
    for place, token in enumerate(said.tokens):
        shared = {other for other in task.tokens if not _is_framing(other) and _is_form(token, other)}
        if _is_framing(token) or not shared or not _lacks(said.tokens, place, task.written):
            continue
        own = [at for at, other in enumerate(task.tokens) if other in shared]
        if any(_lacks(task.tokens, at, said.tokens, frozenset(task.verbs)) for at in own):
            return True
    return False


def _lacks(tokens: Sequence[str], place: int, others: Iterable[str], known: frozenset[str] = frozenset()) -> bool:
    """Return whether a word beside one, over a preposition, is no word of others, and none that is known."""
    for step in (-1, 1):
        at = place + step
        if 0 <= at < len(tokens) and tokens[at] in _ABOUT:
            at += step
        if 0 <= at < len(tokens) and tokens[at] not in known and not _is_framing(tokens[at]):
            lacks = not any(_is_form(tokens[at], other) for other in others)
            if lacks:
                return True
    return False


def _is_form(token: str, other: str) -> bool:
    """Return whether two words are forms of one, or one is a part of the other."""
    return token == other or any(_has(_stems(other), stem) for stem in _stems(token)) or _is_past_of(token, other)


def _is_meant(said: _Report, task: _Task) -> bool:
    """Return whether one of both names all that the other does, and both tell of the same action."""
    if said.actions and task.actions and said.actions.isdisjoint(task.actions):
        return False
    if any(_has(task.things - task.sources, word) for word in said.sources):
        return False
    done = _is_done(said, task)
    if not said.doubts <= task.written or not (said.told or done):
        return False
    same = done or not said.actions.isdisjoint(task.actions)
    if any(map(is_unspaced, said.words)):
        least = _MIN_SHARE * len(task.words)
        enough = len(said.words) > least or (len(said.words) == least and len(said.words) >= _MIN_SHARED)
        return enough and said.words <= task.words
    if all(_has(task.words, word) for word in said.words):
        if said.actions and not task.actions and not said.words <= task.words:
            # What was done to a part of a compound may be done to another thing: "Urlaub ist gebucht".
            return False
        # Of several words that a task names by themselves, one may be the person that it is done for.
        single = task.heads if len(task.heads) == 1 else frozenset[str]()
        meant = task.objects if len(said.words) >= _MIN_SHARED or same else single
        return any(_has(meant, word) for word in said.words) or (same and len(said.words) >= _MIN_SHARED)
    return len(task.things) >= _MIN_SHARED and all(_has(said.words, word) for word in task.things)


def _is_done(said: _Report, task: _Task) -> bool:
    """Return whether a report has a verb of a task in the past, or says that the recipient has the thing."""
    if said.owner and not said.told and all(_has(task.things - task.objects, word) for word in said.owner):
        return any(_has(said.words, word) for word in task.objects)
    return any(_is_past_of(past, verb) for past in said.past for verb in task.verbs)


def _is_past_of(past: str, verb: str) -> bool:
    """Return whether a word is another form of a verb: "descaled" of "descale", "gewechselt" of "wechseln"."""
    if past == verb:
        return False
    for form in (past, past.removeprefix("ge")):
        shared = next((n for n, pair in enumerate(zip(form, verb, strict=False)) if pair[0] != pair[1]), len(form))
        if shared >= _MIN_VERB and shared >= len(verb) - 3 and len(form) - shared <= _MIN_VERB:
            return True
    return False


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
    # What the phrases of a task divide are two things.
    for name in ("task", "duty", "need", "intent"):
        plain = listed_pattern(name).sub(" | ", plain)
    words, things, objects, heads = set[str](), set[str](), set[str](), set[str]()
    segment: list[str] = []
    about = False
    verbs = _verbs() | _verbs_by_place(plain.replace("|", " ").split(), text)
    for token in (*plain.split(), ""):
        if token and not _is_framing(token) and token not in verbs:
            segment += _stems(token)
            continue
        things.update(segment)
        if not about:
            objects.update(segment)
            heads.update(segment if len(segment) == 1 else ())
        if token in verbs:
            words.update(_stems(token))
        # Articles stand between such a word and what it is about.
        about = (token in _ABOUT and bool(objects)) or (about and not segment and token not in verbs)
        segment = []
    return _Task(
        frozenset(words | things),
        frozenset(things),
        frozenset(objects),
        frozenset(heads),
        told,
        verbs.intersection(plain.split()),
        frozenset(token for token in plain.split() if not _is_framing(token)),
        frozenset(_words(" ".join(_FROM.findall(plain)))),
        plain.replace("|", " ").split(),
    )


def _verbs_by_place(tokens: Sequence[str], text: str) -> set[str]:
    """Return the word that is the verb of a task by its place: an infinitive first or last, or before an article."""
    if len(tokens) < _MIN_SHARED:
        return set()
    first, second, last = tokens[0], tokens[1], tokens[-1]
    if not _is_framing(first) and second in _DETERMINERS:
        return {first}
    # Names and German nouns have a capital letter.
    if _LAST_INFINITIVE.search(last) and last in text:
        return {last}
    return {first} if _FIRST_INFINITIVE.search(first) and not _is_framing(first) else set()


def _names(sentence: str) -> set[str]:
    """Return the names in an English sentence, which may be function words of other languages: "Ben's"."""
    if latin_language(plain_text(sentence).split()) != ENGLISH:
        return set()
    found = {plain_text(word) for word in _NAME.findall(sentence)} - FUNCTION_WORDS[ENGLISH] - _framing()
    return found & _framing_words()


def _plain(text: str) -> str:
    """Return a plain text without dates."""
    return f" {plain_text(_DATE.sub(' ', text))} ".replace(" pr ", " pull request ")


def _words(plain: str) -> set[str]:
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
def _verbs() -> frozenset[str]:
    return frozenset(WORD_LISTS["other"]["task_verbs"].split())


@functools.cache
def _action_forms() -> tuple[PhrasePattern, ...]:
    """Return verbs of one meaning: a task to pay something is not ended by sending it.

    What arrives was ordered or bought.
    """
    lists = WORD_LISTS["actions"].values()
    return tuple(PhrasePattern(form.replace("_", " ") for form in forms.split()) for forms in lists)
