"""Kinds of statements: rules, what users say about themselves, preferences, decisions, tasks, corrections.

`classified` is the one place that decides what a text of a conversation is; hooks, `capture`, the tools of agents and
imports ask it. A statement is recognised by what a small network makes of it (`acts`), and by phrases, which
`word_lists.json` lists by kind and language. It is never reworded.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from memotherm.model.memory import PROFILE
from memotherm.statements.acts import LIKELY, MOST_SENTENCES, Act, acts, first_acts, read_first
from memotherm.text.introductions import introduces_user
from memotherm.text.language import FUNCTION_WORDS, WORD_LISTS
from memotherm.text.phrase_patterns import FoundPhrase, PhrasePattern
from memotherm.text.phrases import (
    clauses,
    is_filler,
    is_question,
    listed_pattern,
    listed_phrases,
    phrases_of,
    sentences,
)
from memotherm.text.relative_days import last_day
from memotherm.text.words import is_unspaced, plain_text


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

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of a memory of this kind: what corrects, and facts about the user."""
        about = self.name == "fact" and self.about_user
        return (*(("correction",) if self.correction else ()), *((PROFILE,) if about else ()))


#: The least probability of a rule and of what users say about themselves, if no phrase marks one: a session starts with
#: them. Of 200 rules in everyday words and 500 other turns, .85 takes 140 and 9 for rules, .7 takes 154 and 16.
_SURE = 0.85
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
#: What the network finds, besides rules; a task before what it also says.
_KIND_OF_ACT = {
    Act.PROFILE: _KINDS["about_user"],
    Act.PREFERENCE: _KINDS["preference"],
    Act.DECISION: _KINDS["decision"],
    Act.TASK: _KINDS["task"],
    Act.CHANGE: _KINDS["correction"],
}
#: The acts that make one kind together. The second network is not asked about a sentence to which the first one gives
#: less probability of each, or of a change if phrases mark its kind: of 700 labelled sentences for development, this
#: lets it read 179 instead of 310, and changes one.
_ACTS_OF_KINDS = (
    (Act.RULE, Act.RULE_EVERYWHERE), (Act.PROFILE, Act.PREFERENCE), (Act.DECISION,), (Act.TASK,), (Act.CHANGE,),
)  # fmt: skip
_NO_KIND, _NO_CHANGE = 0.1, 0.05
_RULES = frozenset(name for name, kind in _KINDS.items() if kind.name == "rule")
#: Where "always" and "never" tell of something: an English verb in the third person or in the past follows.
_TOLD = re.compile(r"^ (?:\w+ )?(?:always|never) (?!embed |exceed |feed |need |proceed |speed )\w*(?:[^s]s|ed) ")
#: Languages whose imperatives are first words that end neither in -t nor in -r, as their reports do: "Lösche nie …".
_IMPERATIVE = r"^ (?:bitte )?(?P<verb>commit|edit|\w*[^\W\dtr]) "
_VERB_FIRST = re.compile(_IMPERATIVE + "(?:immer|niemals|nie|altijd|nooit|alltid|aldrig|altid|aldri) ")
_VERB_FIRST_NOT = re.compile(_IMPERATIVE + "(?:nichts?|kein|keinen?|niets?|geen|inget?|inga|inte|ikke|ingen) ")
_WITHOUT = re.compile(" (?:ohne|zonder|utan|uden|uten) ")
#: The same in French, where reports have a subject: "Commite jamais sans …".
_VERB_FIRST_FRENCH = re.compile(
    r"^ (?P<verb>(?!marche|arrive|fonctionne|passe|presque)\w{3,}(?:e|s|ez)) (?:jamais|toujours) "
)
_ALL_FUNCTION_WORDS = frozenset[str]().union(*FUNCTION_WORDS.values())
_ALWAYS = (
    "always never ever immer nie niemals stets toujours jamais siempre nunca jamás sempre mai altijd nooit zawsze nigdy"
    " всегда никогда завжди ніколи alltid aldrig altid aldri aina vždy nikdy mindig mereu întotdeauna luôn selalu πάντα"
)
_AFTER_ALWAYS = (
    "in on with as by per from without auf mit als ohne en avec sans comme con de por sin como senza em com sem op met"
    " zonder po w z na bez на по в с без på med i som utan uden uten cu în fără bằng dengan tanpa amb sense στα με"
    " χωρίς"
)
#: A sentence without a verb: "commit messages always in English".
_VERBLESS = re.compile(rf" (?:{'|'.join(_ALWAYS.split())}) (?:{'|'.join(_AFTER_ALWAYS.split())}) ")
#: "No deploys on Friday please", "on ne déploie jamais le vendredi".
_ASKED = re.compile(
    r"^ (?:no|keine?n?|pas de|pas d|nada de|sem|niente|geen|żadnych|inga|ingen) .{3,80} "
    "(?:please|pls|bitte|stp|svp|por favor|porfa|per favore|graag|proszę|tack|tak|takk) $"
    r"|^ (?:on|nous) n[e]? (?!sait |savons )\w+ jamais "
)
#: How what is to be done in all projects begins.
_ORDER = re.compile(
    " (?:please|only|use|write|keep|put|make|add|format|answer|reply|ask|run|avoid|sign|bitte|nur|por favor|solo|só|stp"
    "|per favore|i want|i d like) "
)
#: Who does something, in a report of what is always so.
_SUBJECTS = re.compile(
    " (?:i|we|they|he|she|it|you|this|that|ich|wir|er|sie|es|das|je|on|il|elle|ça|ce|yo|él|ella|eso|io|noi|lui|lei|eu"
    "|ele|ela|ik|wij|hij|zij|het|ja|my|on|ona|to|я|мы|он|она|они|это|jag|vi|han|hon|det|jeg|hun|minä|se|já|én|ő|eu|el"
    "|ea|tôi|saya|jo|εγώ|αυτό) "
)
_OTHER_LINKING = "a e o je se do does did has have had will would hat haben ha han har has tem heeft hebben be"
_NO_COPULAS = frozenset(_OTHER_LINKING.split())
_LINKING = frozenset(WORD_LISTS["other"]["linking"].split()) - _NO_COPULAS
#: What may be before a rule in its sentence, besides filler and words for its scope: "when you write tests, ...".
_CONDITION = re.compile(r"^(?:when|if|for|in|on|before|after|wenn|beim|für|bei|quand|pour|si|cuando|para|quando|per) ")
#: What a team does as a habit, after the words for its project: "in this repo we use pnpm".
_HABIT = re.compile(rf"^ ?(?:\w+ ){{0,2}}?(?:{'|'.join(WORD_LISTS['other']['habits'].split())}) ")
#: Words of a sentence that only says where the rule before it applies: "goes for all my projects".
_APPLIES = frozenset(WORD_LISTS["other"]["applies"].split()) | _ALL_FUNCTION_WORDS
#: Somebody else does something from now on: a name before a verb, or after the words for "from now on".
_OTHERS = re.compile(
    r"(?:^|[,;.] )[A-Z]\w+ \w+(?:s|es) (?:the|our|my|all|a|your|this|that) |[,;] (?:Mr |Ms |Mrs |Dr |Herr |Frau"
    r" )?[A-Z]\w+ [a-zà-ÿ]"
    r"|(?:now on|here on|forward|jetzt(?: an)?|sofort|künftig|maintenant|désormais|ahora|adelante|agora|diante|ora in"
    r" poi)"
    r",? (?:[a-zà-ÿ]+t )?(?:Herr |Frau |Mr |Ms |Mrs |Dr )?[A-Z]\w+ [a-zà-ÿ]"
    r"|[A-Z]\w+ (?:übernimmt|macht|prüft|reviewt|kümmert|relit|gère|s'occupe|revisa|lleva|gestiona|revê|cuida"
    r"|gestisce) "
)
_WE = frozenset(WORD_LISTS["other"]["we"].split())
_UNTIL = frozenset(WORD_LISTS["other"]["until"].split()) - {"à", "d"}
_DEADLINE = re.compile(
    rf" (?:{'|'.join(sorted(_UNTIL))}) (?:\S+ ){{0,2}}"
    rf"(?:{'|'.join(WORD_LISTS['other']['days'].split())}|\d{{4}} \d\d \d\d) "
)
_DEADLINE_UNSPACED = re.compile(
    "(?:周[一二三四五六日天末]|星期.|\\d[日号]|明天|后天|月底|下周.?)(?:之前|以前|前)"
    "|(?:曜日?|\\d日|明日|今週中|月末)まで|(?:요일|\\d일|내일|이번 주)까지"
)
#: Something is so until a day: no deadline.
_STATE = re.compile(
    " (?:is|are|was|were|stays?|remains?|ist|sind|bleibt|bleiben|est|sont|reste|está|están|queda|è|sono|rimane|é|são"
    r"|fica|zijn|blijft|jest|są|pozostaje) (?:\w+ )*?(?:until|till|bis|hasta|jusqu|fino|até|tot|do) "
)


def classified(text: str, *, by_user: bool = True) -> Kind:
    """Return what a text of a conversation is; of several sentences, the first kind that one of them has.

    Only users give rules. A text of filler and questions is a question. A document is a message, whatever it contains.
    """
    if len(sentences(text)) > MOST_SENTENCES:
        return Kind("message")
    found = [kind for _, kind in classified_sentences(text, by_user=by_user)]
    said = [kind for kind in found if not kind.filler and not kind.question]
    if not said:
        asks = any(kind.question for kind in found)
        return Kind("message", question=asks, filler=not asks)
    first = next((kind for kind in said if kind.name != "message"), said[0])
    return first._replace(
        about_user=all(kind.about_user for kind in said), correction=any(kind.correction for kind in said)
    )


def classified_sentences(text: str, *, by_user: bool = True) -> list[tuple[str, Kind]]:
    """Return the sentences of a text with their kinds; one that only says where a rule applies belongs to the rule.

    In a document, only phrases tell.
    """
    found: list[tuple[str, Kind]] = []
    parts = sentences(text)
    kind_of_sentence = kind_by_phrases if len(parts) > MOST_SENTENCES else kind_of
    for sentence in parts:
        said, before = found[-1] if found else ("", None)
        scope = _scope_alone(sentence) if before is not None and before.name in ("rule", "preference") else None
        if before is not None and scope:
            found[-1] = (said + sentence, before._replace(about_user=scope == "everywhere"))
        elif sentence.strip():
            if is_filler(sentence):
                kind = Kind("message", filler=True)
            elif is_question(sentence):
                kind = Kind("message", question=True)
            else:
                kind = kind_of_sentence(sentence, by_user=by_user) or Kind("message")
            found.append((sentence, kind))
    return found


def kind_of(sentence: str, *, by_user: bool = True) -> Kind | None:
    """Return the kind of a statement; None if it has none.

    What a phrase marks counts, and otherwise what the network finds. The network knows what users say, not how agents
    answer.
    """
    listed = kind_by_phrases(sentence, by_user=by_user)
    if not by_user or len(sentence) > _MAX_CHARS or not sentence.strip():
        return listed
    found = _acts_of(sentence, listed)
    correction = found[Act.CHANGE] > LIKELY or (listed is not None and listed.correction)
    if listed is not None:
        return listed._replace(correction=correction)
    if found[Act.RULE] + found[Act.RULE_EVERYWHERE] > _SURE:
        everywhere = found[Act.RULE_EVERYWHERE] > found[Act.RULE]
        return _scoped(_KINDS["rule"], sentence, everywhere=everywhere)._replace(correction=correction)
    kind = next((kind for act, kind in _KIND_OF_ACT.items() if found[act] > LIKELY), None)
    if kind is not None and kind.about_user and found[Act.PROFILE] + found[Act.PREFERENCE] <= _SURE:
        kind = None
    return None if kind is None else _scoped(kind, sentence, everywhere=False)._replace(correction=correction)


def _acts_of(sentence: str, listed: Kind | None) -> Mapping[Act, float]:
    """Return what the networks find; the second one is asked only if it may find another kind."""
    found, doubtful = first_acts(sentence)
    if not doubtful:
        return found
    if listed is not None:
        return acts(sentence) if found[Act.CHANGE] > _NO_CHANGE else found
    others = (sum(found[act] for act in each) for each in _ACTS_OF_KINDS)
    return acts(sentence) if max(others) > _NO_KIND else found


def read_together(texts: Iterable[str]) -> None:
    """Let the first network read the sentences of many texts at once, before `classified_sentences` asks for them."""
    found = (parts for text in texts if len(parts := sentences(text)) <= MOST_SENTENCES)
    said = (part for parts in found for part in parts if part.strip() and len(part) <= _MAX_CHARS)
    read_first(part for part in said if not is_filler(part) and not is_question(part))


def _scoped(kind: Kind, sentence: str, *, everywhere: bool) -> Kind:
    """Return a rule or a preference with its scope, which words may name: a preference may be for one project."""
    if kind.name not in ("preference", "rule"):
        return kind
    plain = f" {plain_text(sentence)} "
    patterns = _patterns()
    everywhere = everywhere or patterns["everywhere"].search(plain) is not None
    here = not everywhere and patterns["here"].search(plain) is not None
    return kind._replace(about_user=everywhere or (kind.about_user and not here))


def kind_by_phrases(sentence: str, *, by_user: bool = True) -> Kind | None:
    """Return the kind of a statement; None if no phrase marks one."""
    if len(sentence) > _MAX_CHARS:
        return None
    plain = f" {plain_text(sentence)} "
    patterns = _patterns()
    marked = {name for name in _KINDS if patterns[name].search(plain)} if patterns["any"].search(plain) else set[str]()
    if _has_deadline(plain) and not _STATE.search(plain):
        marked.add("task")
    if introduces_user(sentence):
        marked.add("about_user")
    others = "henceforth" in marked and _OTHERS.search(sentence)
    if (
        not by_user
        or others
        or any(pattern.search(plain) for pattern in (_TOLD, patterns["no_rule"], patterns["rule_ends"]))
    ):
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
    return _scoped(kind, sentence, everywhere=False)._replace(correction="correction" in marked)


def _has_deadline(plain: str) -> bool:
    # Looking for one of many words at every space takes longer than all the rest.
    if not _UNTIL.isdisjoint(plain.split()) and _DEADLINE.search(plain):
        return True
    return not plain.isascii() and _DEADLINE_UNSPACED.search(plain) is not None


def may_decide(text: str) -> bool:
    """Return whether a text has a phrase of a decision somewhere; only then a sentence of it can be one."""
    return _decides().search(f" {plain_text(text)} ") is not None


@functools.cache
def _decides() -> PhrasePattern:
    """Return the phrases of decisions; in a text of several sentences, the first word of one may be anywhere."""
    return PhrasePattern(phrase.removeprefix("^") for phrase in listed_phrases("decision"))


def _is_instruction(sentence: str, plain: str) -> bool:
    """Return whether a sentence forbids something without something else, or gives a rule after its first clause."""
    if listed_pattern("prohibition").search(plain) and any(
        forbids.search(plain) and without.search(plain) for forbids, without in _prohibitions()
    ):
        return True
    first_verb = _VERB_FIRST.search(plain) or (_WITHOUT.search(plain) and _VERB_FIRST_NOT.search(plain))
    if first_verb and first_verb["verb"] not in _ALL_FUNCTION_WORDS:
        return True
    french = _VERB_FIRST_FRENCH.search(plain)
    here, everywhere = (_patterns()[name].search(plain) for name in ("here", "everywhere"))
    if (french and french["verb"] not in _ALL_FUNCTION_WORDS) or _is_scoped(sentence, plain, here, everywhere):
        return True
    rule, no_rule = _patterns()["rule"], _patterns()["no_rule"]
    later = [rest for rest in _after_condition(sentence, plain, here, everywhere) if rule.search(rest)]
    return any(not _TOLD.search(rest) and not no_rule.search(rest) for rest in later)


def _is_scoped(sentence: str, plain: str, here: FoundPhrase | None, everywhere: FoundPhrase | None) -> bool:
    """Return whether a sentence without a statement says that something is so always, or in all projects."""
    if here and here.start <= 1 and _HABIT.search(f" {plain[here.end :].lstrip()}"):
        return True
    *before, last = clauses(sentence) if sentence.strip() else [sentence]
    if before and plain_text(last) in _ALWAYS.split():
        return here is not None or not _states(plain)
    if _ASKED.search(plain) or (everywhere and everywhere.end >= len(plain) - 1 and _ORDER.match(plain)):
        return True
    scoped = bool(before) and _scope_alone(last) == "everywhere"
    said = f" {plain_text(' '.join(before) if scoped else sentence)} "
    return not _states(said) and (scoped or _VERBLESS.search(said) is not None)


def _states(plain: str) -> bool:
    """Return whether a sentence says who does something, or what something is."""
    return _SUBJECTS.match(plain) is not None or not _LINKING.isdisjoint(plain.split())


def _scope_alone(sentence: str) -> str | None:
    """Return where the rule before it applies, if a sentence says nothing else: everywhere or here."""
    if len(sentence) > _MAX_CHARS:
        return None
    plain = f" {plain_text(sentence)} "
    for name in ("everywhere", "here"):
        found = _patterns()[name].search(plain)
        if found is not None:
            rest = f"{plain[: found.start]} {plain[found.end :]}"
            return name if all(word in _APPLIES for word in rest.split()) else None
    return None


def _after_condition(
    sentence: str, plain: str, here: FoundPhrase | None, everywhere: FoundPhrase | None
) -> Iterator[str]:
    """Yield the rest of a sentence, as plain text, after the words at its start that say where and when it applies."""
    for found in (here, everywhere):
        if found and found.start <= 1:
            yield f" {plain[found.end :].lstrip()}"
    before, comma, rest = sentence.partition(",")
    if comma and (is_filler(before) or _CONDITION.match(plain_text(before))):
        yield f" {plain_text(rest)} "


def holds_until(text: str, written: date) -> datetime | None:
    """Return the end of the day until which a text says that something holds ("until Friday").

    A task has a deadline instead, and is open when it has passed. Of several sentences, one does not speak for all.
    """
    if len(sentences(text.strip())) > 1:
        return None
    day = None if _patterns()["task"].search(f" {plain_text(text)} ") else last_day(text, written)
    return None if day is None else datetime.combine(day + timedelta(days=1), time(), UTC)


@functools.cache
def _patterns() -> dict[str, PhrasePattern]:
    """Return the phrases of each kind, and those that tell which rules are meant for which projects."""
    return {
        **{name: listed_pattern(name) for name in (*_KINDS, "no_rule", "rule_ends", "here", "everywhere")},
        # One search instead of eight for most sentences.
        "any": PhrasePattern(phrase for name in _KINDS for phrase in listed_phrases(name)),
    }


@functools.cache
def _prohibitions() -> tuple[tuple[PhrasePattern, PhrasePattern], ...]:
    """Return the words that forbid and those for "without", by language: one's "without" is no other's."""
    return tuple(
        (PhrasePattern(phrases_of(language, "prohibition")), PhrasePattern(phrases_of(language, "without")))
        for language in WORD_LISTS["phrases"]
    )
