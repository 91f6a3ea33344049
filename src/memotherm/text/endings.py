"""Which open task a sentence reports as done or cancelled, and which rule it takes back.

A task is closed only if the sentence leaves no doubt: a clause says that something is done, without a negation, a
condition or a plan, and its words name one open task and nothing else. "The certificate of production is renewed" does
not close "Renew the certificate of staging". One word is enough if the task names it by itself: "pagination is in"
closes "The list endpoint needs pagination", but "the importer is fixed" does not close "Finish the importer migration".
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from memotherm.text.language import FUNCTION_WORDS, WORD_LISTS
from memotherm.text.phrases import clauses, is_question, listed_phrases, phrase_pattern, plain_text, sentences
from memotherm.text.words import content_words, is_unspaced

#: A longer sentence is a report.
_MAX_CHARS = 200
#: The words that a sentence and a task must share, unless the task names one word by itself.
_MIN_SHARED = 2
#: The same for texts without spaces: the share of the pairs of characters of the task.
_MIN_SHARE = 0.5
#: The letters of the first part of a compound, and of the rest: "Steuer" for "Steuererklärung".
_MIN_COMPOUND, _MIN_REST = 5, 4
_MONTHS_AND_DAYS = "|".join(re.escape(word) for word in WORD_LISTS["other"]["days"].split())
_DATE = re.compile(
    r"\b\d{4}-\d\d-\d\d\b"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of )?(?:{_MONTHS_AND_DAYS})\b|\b(?:{_MONTHS_AND_DAYS}) \d{{1,2}}\b",
    re.IGNORECASE,
)
_CANCELLED = re.compile(
    " (?:cancell?ed|called off|scrapped|dropped|abandoned|binned|not? (?:longer )?need\\w*|nobody needs it|abgesagt"
    "|gestrichen"
    "|verworfen|entfällt|annul\\w*|cancel\\w*|abandon\\w*|geannuleerd|geschrapt|anulowan\\w*|odwołan\\w*|iptal"
    "|descartad\\w*"
    "|отмен\\w*|скасован\\w*|ألغي\\w*|रद्द|inställ\\w*|avbokad|aflyst|avlyst|peruttu|zruš\\w*|törölve|lemondva"
    "|anulat\\w*"
    "|đã hủy|dibatalkan|batal|ακυρώθηκε|בוטל\\w*) |取消|作废|不做了|キャンセル|中止|취소"
)
#: Verbs of one meaning, `*` for the rest of a word: a task to pay something is not ended by sending it. What arrives
#: was ordered or bought.
_ACTIONS = tuple(
    phrase_pattern(form.replace("_", " ") for form in line.split())
    for line in (
        (
            "pay pays paid paying bezahl* zahl* gezahlt überw* pagar pagad* pagué paguei pagare pagat* pago paga"
            " payer payé* betaal*"
            " betal* zapła* опла* öde* 付了 已付 払"
        ),
        (
            "send sends sent sending mailed emailed schick* geschickt versch* gesendet envi* envoy* mand* invi*"
            " spedi* stur* gestuurd"
            " verst* wysł* отпр* надісл* gönder* skick* sendt* sende 发了 已发 送り 보냈"
        ),
        "sign signed signing unterschr* signé* firmad* firmar assin* onderteken* podpis* подпис* imzal* 签",
        (
            "order orders ordered ordering bestell* commandé* commander encomend* ordinat* ordinare zamów* заказ*"
            " замов* beställ* arriv*"
            " angekommen ist_da sind_da binnen lleg* cheg* 到货"
        ),
        "book booked booking buch* gebucht reserv* réserv* prenot* boek* geboekt zarezerw* брон* 订好 予約 예약",
        "renew* verlänger* renouvel* renov* rinnov* verleng*",
        (
            "write writing wrote written schreib* geschrieben écri* escri* escrev* scriv* scritt* schrijf* geschreven"
            " napis* напис* skriv*"
            " 写"
        ),
        (
            "call called calling anruf* angerufen appel* llam* ligar liguei chiam* bellen gebeld zadzw* позвон* ringde"
            " ringte"
        ),
        "repair* fix fixed fixing reparier* repariert répar* consert* arregl* corrig* sistem* napraw* почин* 修",
        (
            "buy bought buying kauf* gekauft achet* compra* compré koop* gekocht kup* куп* köp* købt* arriv*"
            " angekommen ist_da sind_da binnen lleg* cheg*"
            " 买"
        ),
        "deploy* live online ausgerollt déploy* despleg* uitgerold wdroż* выкат* 上线 部署",
    )
)
#: Words that name nothing in a report or a task.
_FRAMING = (
    "still also thing things stuff part new neue neuen neuer nouveau nouvelle nuevo nueva novo nova nuovo nuova today"
    " yesterday"
    " tonight morning afternoon evening finally just already all now it this that i"
    " we team everyone everybody need needs get got getting has have had been went gone here there back ok good great"
    " heute gestern endlich gerade schon alles sache ding habe hab hat wieder läuft hoy ayer ya lo he ha cosa tema"
    " por fin"
    " aujourd hui hier enfin déjà ai a truc chose hoje ontem já finalmente foi coisa oggi ieri già ho ecco vandaag"
    " gisteren"
    " eindelijk al heb wczoraj dziś już сегодня вчера уже наконец bugün dün idag igår idag nu tak sprint week month"
    " le les me te se sie di da mal noch lassen waiting raus weg fertig sein muss müssen ready done out listo lista"
    " pronto"
    " 습니다 어요 어 음 됨 pronta prêt prête gotowe klaar af hazır готово готов"
)
#: What tasks tell somebody to do: it divides what they name.
_VERBS = (
    "finish complete ship merge fix cancel submit send deliver release deploy resolve close renew pay publish file"
    " write"
    " order book call sign upload import upgrade update install test review print repair buy need needs ordering"
    " renewing fixing writing signing sending booking paying erledigen abschließen abgeben einreichen verschicken"
    " schicken"
    " liefern veröffentlichen verlängern bezahlen zahlen schreiben bestellen buchen anrufen unterschreiben hochladen"
    " importieren aktualisieren installieren reparieren kaufen lassen betalen sturen bestellen boeken schrijven kopen"
    " bellen"
    " pagare inviare mandare scrivere prenotare comprare chiamare pagar enviar mandar escribir reservar comprar llamar"
    " trocar consertar escrever ligar payer envoyer écrire réserver acheter appeler corriger renouveler corrige"
    " migrate commander brauch brauche brauchen reply answer respond talk répondre contestar responder antworten"
    " rispondere erneuern revisar prüfen do make"
    " doen machen faire hacer fazer fare skicka sende kirim"
)
#: Words after which a task names what it is about, for or before, and not what is to be done.
_PREPOSITIONS = (
    "about d par por durch door przez vom beim bei for before of with from on in at to until by after because für"
    " über vor von mit wegen nach bis im am zu"
    " zum zur pour avant de du des sur dans chez à avec para antes sobre con en del per prima su nel con da em no na"
    " pela com voor van met over naar dla przed do z w на для о до от в с за till av om med för til fra om"
)
_ABOUT = frozenset(_PREPOSITIONS.split())


#: Chinese words that name nothing, and verbs of one character, which divide what a text names.
_PARTICLES = re.compile("记得|已经|[了已把给的在吧买写发订修做交打回]")


class Ended(NamedTuple):
    """A task that a sentence reports as ended."""

    #: The place of the task among those given.
    place: int
    status: Literal["done", "cancelled"]
    sentence: str


class _Named(NamedTuple):
    """What a task names."""

    words: frozenset[str]
    #: The words without verbs.
    things: frozenset[str]
    #: The things that are to be done, not those that they are for or about.
    objects: frozenset[str]
    #: Of these, the ones that are named by a single word.
    heads: frozenset[str]
    actions: frozenset[int]


def reports_an_end(sentence: str) -> bool:
    """Return whether a sentence says that something is done or cancelled: no question, condition, plan or denial."""
    if len(sentence) > _MAX_CHARS or is_question(sentence):
        return False
    done, not_done = _patterns()
    # Phrases such as "is in" end a clause.
    parts = [f" {plain_text(clause)} " for clause in clauses(sentence)]
    rest = " ".join(_without(done, part) for part in parts)
    return any(done.search(part) for part in parts) and not not_done.search(rest)


def ended(text: str, contents: Callable[[], Sequence[str]]) -> Iterator[Ended]:
    """Yield the tasks that sentences of a text report as ended, each of the sentences at most one.

    Args:
        text: What a user said.
        contents: Returns the contents of the open tasks; called if a sentence reports an end.
    """
    reports = [sentence.strip() for sentence in sentences(text) if reports_an_end(sentence)]
    if not reports:
        return
    tasks = [_task(content.partition("\n")[0]) for content in contents()]
    for sentence in reports:
        place = next((place for said in _reported(sentence) if (place := _one_meant(said, tasks)) is not None), None)
        if place is not None:
            cancelled = _CANCELLED.search(f" {plain_text(sentence)} ")
            yield Ended(place, "cancelled" if cancelled else "done", sentence)


def taken_back(text: str, contents: Callable[[], Sequence[str]]) -> Iterator[tuple[int, str]]:
    """Yield the places of the rules that sentences of a text take back, each with its sentence.

    Of several rules it is the one that has most words of the sentence; if two have as many, nothing tells which.

    Args:
        text: What a user said.
        contents: Returns the contents of the rules; called if a sentence takes one back.
    """
    ends = phrase_pattern(listed_phrases("rule_ends"))
    found = [each.strip() for each in sentences(text) if len(each) <= _MAX_CHARS and not is_question(each)]
    reports = [each for each in found if ends.search(f" {plain_text(each)} ")]
    if not reports:
        return
    rules = [_task(content).words for content in contents()]
    for sentence in reports:
        said = _words(_without(ends, f" {plain_text(sentence)} "))
        shared = [sum(_has(words, word) for word in said) for words in rules]
        most = max(shared, default=0)
        if most and shared.count(most) == 1:
            yield shared.index(most), sentence


def _reported(sentence: str) -> Iterator[_Named]:
    """Yield what the clauses of a sentence report as ended, each with the clause before if it names nothing."""
    done, before = _patterns()[0], ""
    for clause in clauses(sentence):
        plain = f" {plain_text(_DATE.sub(' ', clause))} "
        if done.search(plain):
            found = _words(_without(done, plain)) or _words(before)
            if found:
                yield _Named(frozenset(found), frozenset(found), frozenset(), frozenset(), _actions(plain))
        before = plain


def _one_meant(said: _Named, tasks: Sequence[_Named]) -> int | None:
    """Return the place of the one task that is meant; None if no task, or more than one, matches alike."""
    found = [place for place, task in enumerate(tasks) if _is_meant(said, task)]
    if len(found) > 1:
        # The one of which everything is named.
        found = [place for place in found if all(_has(said.words, word) for word in tasks[place].things)]
    return found[0] if len(found) == 1 else None


def _is_meant(said: _Named, task: _Named) -> bool:
    """Return whether one of both names all that the other does, and both tell of the same action."""
    if said.actions and task.actions and said.actions.isdisjoint(task.actions):
        return False
    if all(_has(task.words, word) for word in said.words):
        if said.actions and not task.actions and not said.words <= task.words:
            # What was done to a part of a compound may be done to another thing: "Urlaub ist gebucht".
            return False
        if any(map(is_unspaced, said.words)):
            return len(said.words) > _MIN_SHARE * len(task.words)
        # Of several words that a task names by themselves, one may be the person that it is done for.
        single = task.heads if len(task.heads) == 1 else frozenset[str]()
        meant = task.objects if len(said.words) >= _MIN_SHARED else single
        return any(_has(meant, word) for word in said.words)
    return len(task.things) >= _MIN_SHARED and all(_has(said.words, word) for word in task.things)


def _has(words: Iterable[str], word: str) -> bool:
    return any(word == other or _is_part(word, other) or _is_part(other, word) for other in words)


def _is_part(word: str, compound: str) -> bool:
    """Return whether a compound begins with a word."""
    return len(word) >= _MIN_COMPOUND and len(compound) - len(word) >= _MIN_REST and compound.startswith(word)


@functools.lru_cache(maxsize=1000)
def _task(text: str) -> _Named:
    """Return what a task names."""
    plain = f" {plain_text(_DATE.sub(' ', text))} "
    told = _actions(plain)
    plain = _without(_task_phrases(), plain)
    words, things, objects, heads = set[str](), set[str](), set[str](), set[str]()
    segment: list[str] = []
    about = False
    for token in (*plain.split(), ""):
        if token and not _is_framing(token) and token not in _verbs():
            segment += _stems(token)
            continue
        things.update(segment)
        if not about:
            objects.update(segment)
            heads.update(segment if len(segment) == 1 else ())
        if token in _verbs():
            words.update(_stems(token))
        # Articles stand between such a word and what it is about.
        about = (token in _ABOUT and bool(objects)) or (about and not segment and token not in _verbs())
        segment = []
    return _Named(frozenset(words | things), frozenset(things), frozenset(objects), frozenset(heads), told)


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
    return token in _framing_words() or (len(token) == 1 and token.isascii() and token.isalpha())


def _actions(plain: str) -> frozenset[int]:
    """Return the numbers of the actions that a plain text tells of."""
    return frozenset(number for number, forms in enumerate(_ACTIONS) if forms.search(plain))


def _without(pattern: re.Pattern[str], plain: str) -> str:
    """Return a plain text without some phrases."""
    for _ in range(2):
        # Of two phrases with a space between them, one is found at a time.
        plain = f" {' '.join(pattern.sub('  ', plain).split())} "
    return plain


@functools.cache
def _framing_words() -> frozenset[str]:
    others = " ".join(WORD_LISTS["other"][name] for name in ("days", "until", "we", "now", "linking", "articles"))
    return frozenset(f"{_FRAMING} {others}".split()).union(*FUNCTION_WORDS.values())


@functools.cache
def _verbs() -> frozenset[str]:
    return frozenset(_VERBS.split())


@functools.cache
def _task_phrases() -> re.Pattern[str]:
    """Return a pattern for the phrases that make a sentence a task."""
    return phrase_pattern(listed_phrases("task"))


@functools.cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    return phrase_pattern(listed_phrases("done")), phrase_pattern(listed_phrases("not_done"))
