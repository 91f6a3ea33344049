"""Which open task a sentence reports as done or cancelled.

A task is closed only if the sentence leaves no doubt: it says that something is done, without a negation, a condition
or a plan, and what it names is the task and nothing else. "The certificate of production is renewed" does not close
"Renew the certificate of staging".
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from memotherm.text.language import WORD_LISTS
from memotherm.text.phrases import is_question, listed_phrases, phrase_pattern, plain_text, sentences
from memotherm.text.words import content_words, is_unspaced

#: A longer sentence is a report.
_MAX_CHARS = 200
#: The words that a sentence and a task must share, unless all that the task names is one word.
_MIN_SHARED = 2
_MONTHS_AND_DAYS = "|".join(re.escape(word) for word in WORD_LISTS["other"]["days"].split())
_DATE = re.compile(
    r"\b\d{4}-\d\d-\d\d\b"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of )?(?:{_MONTHS_AND_DAYS})\b|\b(?:{_MONTHS_AND_DAYS}) \d{{1,2}}\b",
    re.IGNORECASE,
)
_CANCELLED = re.compile(
    " (?:cancell?ed|called off|abgesagt|gestrichen|annul\\w*|cancel\\w*|geannuleerd|anulowan\\w*|odwołan\\w*|iptal"
    "|отмен\\w*|скасован\\w*|ألغي\\w*|रद्द|inställ\\w*|avbokad|aflyst|avlyst|peruttu|zruš\\w*|törölve|lemondva|anulat\\w*"
    "|đã hủy|dibatalkan|batal|ακυρώθηκε|בוטל\\w*) |取消|キャンセル|中止|취소"
)


class Ended(NamedTuple):
    """A task that a sentence reports as ended."""

    #: The place of the task among those given.
    place: int
    status: Literal["done", "cancelled"]
    sentence: str


def reports_an_end(sentence: str) -> bool:
    """Return whether a sentence says that something is done or cancelled: no question, condition, plan or denial."""
    if len(sentence) > _MAX_CHARS:
        return False
    plain = f" {plain_text(sentence)} "
    done, not_done = _patterns()
    return bool(done.search(plain)) and not not_done.search(plain) and not is_question(sentence)


def ended(text: str, contents: Callable[[], Sequence[str]]) -> Iterator[Ended]:
    """Yield the tasks that sentences of a text report as ended, each of the sentences at most one.

    Args:
        text: What a user said.
        contents: Returns the contents of the open tasks; called if a sentence reports an end.
    """
    reports = [sentence.strip() for sentence in sentences(text) if reports_an_end(sentence)]
    if not reports:
        return
    named = [_named(content.partition("\n")[0]) for content in contents()]
    for sentence in reports:
        said = _named(sentence)
        found = [place for place, words in enumerate(named) if _is_meant(said, words)]
        # Of several tasks, nothing tells which is meant.
        if len(found) == 1:
            cancelled = _CANCELLED.search(f" {plain_text(sentence)} ")
            yield Ended(found[0], "cancelled" if cancelled else "done", sentence)


def _is_meant(said: frozenset[str], task: frozenset[str]) -> bool:
    """Return whether one of both names all that the other does."""
    shared = said & task
    if not shared or not (said <= task or task <= said):
        return False
    return len(shared) >= min(_MIN_SHARED, len(task))


@functools.lru_cache(maxsize=1000)
def _named(text: str) -> frozenset[str]:
    """Return the content words of a text without dates, and without the words of tasks and of their end."""
    return frozenset(content_words(_DATE.sub(" ", text)) - _framing())


@functools.cache
def _framing() -> frozenset[str]:
    phrases = [*listed_phrases("done"), *listed_phrases("not_done"), *listed_phrases("task"), *_VERBS]
    others = (WORD_LISTS["other"][name] for name in ("days", "until", "we", "now"))
    return frozenset(
        word for text in (*phrases, *others) for word in content_words(plain_text(text)) if not is_unspaced(word)
    )


#: What tasks tell somebody to do, and what their end is reported with.
_VERBS = (
    "finish complete ship merge fix cancel submit send deliver release deploy resolve close renew pay publish file",
    "write",
    "erledigen abschließen abgeben einreichen verschicken liefern veröffentlichen verlängern bezahlen schreiben",
    "today yesterday tonight morning evening finally just already all now it this that i we team",
    "heute gestern endlich gerade schon alles hoy ayer ya aujourd hui hier enfin déjà",
)


@functools.cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    return phrase_pattern(listed_phrases("done")), phrase_pattern(listed_phrases("not_done"))
