"""Standing instructions: what a person wants always, never, or whenever something is so.

A sentence is one if it has the form of one of these, in any of the languages of `word_lists.json`:

- a prohibition that is not for now: "do not touch the vendor folder";
- a requirement of every such thing: "each commit needs a ticket number", "commit messages must be in English";
- one thing instead of another: "use tabs, not spaces";
- what to do under a condition that may come often: "if you need a new dependency, ask first";
- what to do by default, or for every such thing: "for every bug fix add a regression test".

What is said of a single occasion ("don't push yet", "when you're ready, start the build") is none.
"""

from __future__ import annotations

import functools
import re

from memotherm.text.language import WORD_LISTS
from memotherm.text.phrase_patterns import PhrasePattern
from memotherm.text.phrases import listed_pattern, listed_phrases
from memotherm.text.words import content_words, is_unspaced, plain_text

#: The content words of an instruction: what is done, and to what.
_LEAST_WORDS = 2
_LISTS = {name: words.split() for name, words in WORD_LISTS["instructions_grammar"].items()}
_FOR_NOW, _IDLE, _SUBJECTS = (frozenset(_LISTS[name]) for name in ("for_now", "idle", "subjects"))
#: What is said to be temporary in scripts without spaces, and what nobody forbids.
_UNSPACED_FOR_NOW = re.compile("先|现在|今天|还|担心|急|客气|まだ|今は|心配|気に")
_ANY = {name: "|".join(word.replace("_", " ") for word in words) for name, words in _LISTS.items()}
_EVERY = rf"^ (?:{_ANY['every']}) (?!of |the )(?:\S+ ){{1,4}}?(?:{_ANY['required']}) \S"
#: Things in the plural without an article, and what they must be.
_PLURAL = (
    rf"^ (?!(?:{_ANY['subjects']}|{_ANY['every']}) )(?:\S+ ){{0,2}}?\w+s (?:must|should|have to|need to|are to) "
    "(?:not )?(?:be|have|use|start|end|contain|follow|go|stay|never|always|only) "
)
_USE = rf"^ (?:(?:please|bitte|por favor) )?(?:{_ANY['use']}) (?!(?:{_ANY['subjects']}) )\S.* (?:{_ANY['instead']}) \S"
#: An occasion that may come often, with a clause after it.
_WHENEVER = (
    r"(?i)^\W*(?:(?:if|when|whenever) you "
    r"(?!re |are |ve |have |see |get |want |like |can |could |finish|feel |think |know )\w"
    r"|(?:wenn|sobald|falls) du (?!fertig|willst|magst|bereit|mal |das |es )\w"
    r"|(?:quand|si|lorsque) tu (?!as |es |veux )\w"
    r"|cuando \w{3,}[aeé]s |si (?:necesit|cambi|us|cre)as |quando (?:você )?(?!for |tiver |puder )\w{3,}[aei]r "
    r"|quando (?!hai |sei |vuoi )\w{3,}i |als je (?!klaar |wilt |kunt )\w)[^,;:]*[,;:]\s*(?P<then>.+)"
)
_BY_DEFAULT = (
    "^ (?:by default|in general|generally|as a rule|standardmäßig|grundsätzlich|en général|por norma|em geral|in genere"
    "|in het algemeen) (?P<then>.+)"
)
_FOR_EVERY = rf"^ (?:for|für|bei|pour|para|per|voor) (?:{_ANY['every']}) (?!of )(?P<then>(?:\S+ ){{3,}})"
#: Somebody acts, or something is so.
_STATED = (
    r" (?:i|we|it|they|he|she|is|are|was|were|s|got|did|had|ich|wir|ist|sind|war|est|sont|était|es|son|era|é|são|foi|è"
    r"|sono|is|zijn) | \w+ed "
)
#: Things as a kind, and how they are written or named.
_MANNER = (
    "^ (?:please )?(?:write|name|format|answer|document|sign|quote|wrap|indent|comment|title|label|spell|phrase|store) "
    r"(?!the |a |an |this |that |these |those |it |me |him |her |us |them |one |to |my |back |\d)(?:\w+ ){0,2}?\w+s "
    "(?:in|with|as|under|without|on|at|before|after) "
    r"|^ (?:please )?(?:stop|quit) \w+ing (?!the |a |an )\S"
)
_ADDRESSED = (
    r" (?:that|sure|ensure|want|expect|need|like|important|ask) you (?:to )?(?:always|never|only) (?!\w+(?:ed|[^s]s) )"
)
_NOTHING_WITHOUT = (
    r" (?:nothing|nobody|no one|nichts|niemand|rien|personne|nada|nadie|ninguém|niente|nessuno|niets|niemand) .*"
    r"(?:without|ohne|sans|sin|sem|senza|zonder) "
    r"(?:my|me|asking|approval|review|a|mein|meine|mich|mon|ma|mi|meu|minha|il|mijn) "
)
_NOT_HERE = (
    r"^ we (?:don t|do not|never|always|only) (?!know|have|need|see|want|think|got|get)\w+ .*(?:here|in this \w+) $"
)


def is_standing(sentence: str, plain: str) -> bool:
    """Return whether a sentence, given as plain text between spaces as well, has the form of a standing instruction."""
    if any(_compiled(form).search(plain) for form in (_ADDRESSED, _NOTHING_WITHOUT, _NOT_HERE)):
        return True
    if _is_for_now(plain):
        return False
    if any(_compiled(form).search(plain) for form in (_EVERY, _PLURAL, _USE, _MANNER)) or _is_forbidden(plain):
        return True
    then = _compiled(_WHENEVER).search(sentence)
    if then is not None and _is_imperative(f" {plain_text(then['then'])} "):
        return True
    default = _compiled(_BY_DEFAULT).search(plain)
    if default is not None and _is_imperative(f" {default['then']}"):
        return True
    every = _compiled(_FOR_EVERY).search(plain)
    return every is not None and not _compiled(_STATED).search(f" {every['then']} ")


def _is_forbidden(plain: str) -> bool:
    found = _prohibition().search(plain)
    if found is None or _UNSPACED_FOR_NOW.search(plain):
        return False
    rest = plain[found.end :].split()
    if is_unspaced(found[0].strip()):
        return len(content_words(plain)) > _LEAST_WORDS
    return bool(rest) and rest[0] not in _IDLE and len(content_words(" ".join(rest))) >= _LEAST_WORDS


def _is_for_now(plain: str) -> bool:
    """Return whether a sentence is about this occasion or this thing, and not about the project."""
    rest = listed_pattern("here").sub(" ", plain)
    return not _FOR_NOW.isdisjoint(rest.split())


def _is_imperative(plain: str) -> bool:
    """Return whether a clause may be an imperative: it has no subject before its verb."""
    first = plain.split()[:1]
    return bool(first) and first[0] not in _SUBJECTS


@functools.cache  # compiled when the first sentence is read
def _compiled(form: str) -> re.Pattern[str]:
    return re.compile(form)


@functools.cache
def _prohibition() -> PhrasePattern:
    """Return what forbids an action; without nouns after "no", of which there may just be none."""
    nouns = ("kein", "pas d", "geen", "nada", "niente", "nichts", "nicht", "niet")
    listed = (phrase for phrase in listed_phrases("prohibition") if not phrase.lstrip("^").startswith(nouns))
    return PhrasePattern(phrase for phrase in listed if phrase.startswith(("^", "ない")))
