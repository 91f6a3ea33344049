"""Kinds of statements: rules, what users say about themselves, preferences, decisions, tasks, corrections.

`classified` is the one place that decides what a text of a conversation is; hooks, `capture`, the tools of agents and
imports ask it. A statement is recognised by phrases, which `word_lists.json` lists by kind and language. It is never
reworded.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from memotherm.text.language import FUNCTION_WORDS, WORD_LISTS
from memotherm.text.phrases import (
    is_filler,
    is_question,
    listed_phrases,
    phrase_pattern,
    phrases_of,
    plain_text,
    sentences,
)
from memotherm.text.relative_days import last_day
from memotherm.text.words import is_unspaced


class Kind(NamedTuple):
    """The kind of a text of a conversation."""

    #: rule, preference, fact, decision or task; message if no phrase marks one of these.
    name: str
    #: Whether it concerns the user in all projects: facts about the user, preferences, rules for all projects.
    about_user: bool = False
    #: Whether it says that something has changed.
    correction: bool = False
    #: Whether it asks and says nothing.
    question: bool = False
    #: Whether it says nothing.
    filler: bool = False


#: A longer sentence is a report, even if it also contains a decision.
_MAX_CHARS = 400
#: The names in the lists, the first that applies decides.
_KINDS = {
    "rule": Kind("rule"),
    "henceforth": Kind("rule"),
    "about_user": Kind("fact", about_user=True),
    "preference": Kind("preference", about_user=True),
    "decision": Kind("decision"),
    "task": Kind("task"),
    "reminder": Kind("rule"),
    "correction": Kind("fact"),
}
_RULES = frozenset(name for name, kind in _KINDS.items() if kind.name == "rule")
#: Where "always" and "never" tell of something: an English verb in the third person or in the past follows.
_TOLD = re.compile(r"^ (?:\w+ )?(?:always|never) (?!embed |exceed |feed |need |proceed |speed )\w*(?:[^s]s|ed) ")
#: Languages whose imperatives are first words that end neither in -t nor in -r, as their reports do: "Lösche nie …".
_IMPERATIVE = r"^ (?:bitte )?(?P<verb>commit|edit|\w*[^\W\dtr]) "
_VERB_FIRST = re.compile(_IMPERATIVE + "(?:immer|niemals|nie|altijd|nooit|alltid|aldrig|altid|aldri) ")
_VERB_FIRST_NOT = re.compile(_IMPERATIVE + "(?:nichts?|kein|keinen?|niets?|geen|inget?|inga|inte|ikke|ingen) ")
_WITHOUT = re.compile(" (?:ohne|zonder|utan|uden|uten) ")
_ALL_FUNCTION_WORDS = frozenset[str]().union(*FUNCTION_WORDS.values())
#: What may be before a rule in its sentence, besides filler and words for its scope: "when you write tests, ...".
_CONDITION = re.compile(r"^(?:when|if|for|in|on|before|after|wenn|beim|für|bei|quand|pour|si|cuando|para|quando|per) ")
_WE = frozenset(WORD_LISTS["other"]["we"].split())
_DEADLINE = re.compile(
    rf" (?:{'|'.join(WORD_LISTS['other']['until'].split())}) (?:\S+ ){{0,2}}"
    rf"(?:{'|'.join(WORD_LISTS['other']['days'].split())}|\d{{4}} \d\d \d\d) "
    "|(?:周[一二三四五六日天末]|星期.|\\d[日号]|明天|后天|月底|下周.?)(?:之前|以前|前)"
    "|(?:曜日?|\\d日|明日|今週中|月末)まで|(?:요일|\\d일|내일|이번 주)까지"
)
#: Something is so until a day: no deadline.
_STATE = re.compile(
    " (?:is|are|was|were|stays?|remains?|ist|sind|bleibt|bleiben|est|sont|reste|está|están|queda|è|sono|rimane|é|são"
    r"|fica|zijn|blijft|jest|są|pozostaje) (?:\w+ )*?(?:until|till|bis|hasta|jusqu|fino|até|tot|do) "
)


def classified(text: str, *, by_user: bool = True) -> Kind:
    """Return what a text of a conversation is; of several sentences, the first kind that one of them has.

    Only users give rules. A text of filler and questions is a question.
    """
    found = [_classified(sentence, by_user=by_user) for sentence in sentences(text) if sentence.strip()]
    said = [kind for kind in found if not kind.filler and not kind.question]
    if not said:
        asks = any(kind.question for kind in found)
        return Kind("message", question=asks, filler=not asks)
    first = next((kind for kind in said if kind.name != "message"), said[0])
    return first._replace(
        about_user=all(kind.about_user for kind in said), correction=any(kind.correction for kind in said)
    )


def _classified(sentence: str, *, by_user: bool) -> Kind:
    if is_filler(sentence):
        return Kind("message", filler=True)
    if is_question(sentence):
        return Kind("message", question=True)
    return kind_of(sentence, by_user=by_user) or Kind("message")


def kind_of(sentence: str, *, by_user: bool = True) -> Kind | None:
    """Return the kind of a statement; None if no phrase marks one."""
    if len(sentence) > _MAX_CHARS:
        return None
    plain = f" {plain_text(sentence)} "
    patterns = _patterns()
    marked = {name for name in _KINDS if patterns[name].search(plain)} if patterns["any"].search(plain) else set[str]()
    if _DEADLINE.search(plain) and not _STATE.search(plain):
        marked.add("task")
    if not by_user or _TOLD.search(plain) or patterns["no_rule"].search(plain):
        marked -= _RULES
    elif _is_instruction(sentence, plain):
        marked.add("rule")
    name = next((name for name in _KINDS if name in marked), None)
    if name is None:
        return None
    kind = _KINDS[name]
    if name in ("preference", "henceforth") and any(
        word in plain if is_unspaced(word) else f" {word} " in plain for word in _WE
    ):
        # What a team does is not a preference of the user.
        kind = _KINDS["decision"]
    if kind.name in ("preference", "rule"):
        # Scopes in words: a preference may be for one project, a rule for all of them.
        everywhere = patterns["everywhere"].search(plain) is not None
        here = not everywhere and patterns["here"].search(plain) is not None
        kind = kind._replace(about_user=everywhere or (kind.about_user and not here))
    return kind._replace(correction="correction" in marked)


def may_decide(text: str) -> bool:
    """Return whether a text has a phrase of a decision somewhere; only then a sentence of it can be one."""
    return _patterns()["decides"].search(f" {plain_text(text)} ") is not None


def _is_instruction(sentence: str, plain: str) -> bool:
    """Return whether a sentence forbids something without something else, or gives a rule after its first clause."""
    if _prohibition().search(plain) and any(
        forbids.search(plain) and without.search(plain) for forbids, without in _prohibitions()
    ):
        return True
    first_verb = _VERB_FIRST.search(plain) or (_WITHOUT.search(plain) and _VERB_FIRST_NOT.search(plain))
    if first_verb and first_verb["verb"] not in _ALL_FUNCTION_WORDS:
        return True
    rule, no_rule = _patterns()["rule"], _patterns()["no_rule"]
    later = [rest for rest in _after_condition(sentence, plain) if rule.search(rest)]
    return any(not _TOLD.search(rest) and not no_rule.search(rest) for rest in later)


def _after_condition(sentence: str, plain: str) -> Iterator[str]:
    """Yield the rest of a sentence, as plain text, after the words at its start that say where and when it applies."""
    for name in ("here", "everywhere"):
        found = _patterns()[name].search(plain)
        if found and found.start() <= 1:
            yield f" {plain[found.end() :].lstrip()}"
    before, comma, rest = sentence.partition(",")
    if comma and (is_filler(before) or _CONDITION.match(plain_text(before))):
        yield f" {plain_text(rest)} "


def holds_until(text: str, written: date) -> datetime | None:
    """Return the end of the day until which a text says that something holds ("until Friday").

    A task has a deadline instead, and is open when it has passed. Of several sentences, one does not speak for all.
    """
    if len(list(sentences(text.strip()))) > 1:
        return None
    day = None if _patterns()["task"].search(f" {plain_text(text)} ") else last_day(text, written)
    return None if day is None else datetime.combine(day + timedelta(days=1), time(), UTC)


@functools.cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """Return the phrases of each kind, and those that tell which rules are meant for which projects."""
    listed = {name: listed_phrases(name) for name in (*_KINDS, "no_rule", "here", "everywhere")}
    # One search instead of eight for most sentences.
    listed["any"] = tuple(phrase for name in _KINDS for phrase in listed[name])
    # In a text of several sentences, the first word of one may be anywhere.
    listed["decides"] = tuple(phrase.removeprefix("^") for phrase in listed["decision"])
    return {name: phrase_pattern(phrases) for name, phrases in listed.items()}


@functools.cache
def _prohibition() -> re.Pattern[str]:
    """Return the words that forbid in any language."""
    return phrase_pattern(listed_phrases("prohibition"))


@functools.cache
def _prohibitions() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    """Return the words that forbid and those for "without", by language: one's "without" is no other's."""
    return tuple(
        (phrase_pattern(phrases_of(language, "prohibition")), phrase_pattern(phrases_of(language, "without")))
        for language in WORD_LISTS["phrases"]
    )
