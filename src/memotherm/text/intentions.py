"""Intentions: what a person has to do or is going to do.

A sentence states a task if it has one of these, and what is to be done is an action and no thought:

- a duty of a person ("I have to", "gotta", "il me reste à"), or of a thing that waits for it ("needs to be");
- an intention or an obligation ("I'll", "we should", "must be") with a day that is to come or an event before which it
  is due;
- a first person in the present after such a day: "morgen schreibe ich …", "mañana escribo …".

`word_lists.json` has the phrases of each language: `duty`, `need`, which an infinitive follows, and `intent`.
"""

from __future__ import annotations

import re

from memotherm.text.language import WORD_LISTS
from memotherm.text.phrase_patterns import FoundPhrase
from memotherm.text.phrases import clauses, listed_pattern
from memotherm.text.words import content_words, is_unspaced, plain_text

_OTHER = WORD_LISTS["other"]
#: The content words of an action: what is done, and to what.
_LEAST_WORDS = 2
#: Months that are other words as well.
_AMBIGUOUS = frozenset(("may", "march", "mars", "mart", "mar", "mai"))
_AHEAD = frozenset(f"{_OTHER['ahead']} {_OTHER['days']}".split()) - _AMBIGUOUS
_UNSPACED_AHEAD = re.compile(
    "|".join(word for word in _OTHER["ahead"].split() if is_unspaced(word))
    + "|周[一二三四五六日末]|星期|曜日|까지|요일"
)
#: An event or a date before which something is due.
_BEFORE = re.compile(
    r" (?:before|until|till?|vor|bis|avant|jusqu|antes|hasta|até|prima|entro|voor|tot|przed|до|före|innan|før|inden"
    r"|před|înainte|până|πριν|μέχρι) | by (?:the )?\d"
)
_MENTAL = frozenset(_OTHER["mental"].split())
_ADVERBS = frozenset(_OTHER["adverbs"].split())
#: What denies a duty before its phrase, or makes it a condition, and what denies it after.
_NO_DUTY_BEFORE = re.compile(
    r"(?: (?:no|non|não|nie|не|ikke|inte|never|if|when|whenever|wenn|falls|si|se|als|quand|cuando|quando|jeśli|если|om"
    r"|hvis|what|which|who|they|you|he|she|du|ihr|er|was|tu|vous|il|elle) |[不需重主只])$"
)
_NO_DUTY_AFTER = re.compile("^(?:not|nicht|pas|niet|ikke|inte|nie|never) ")
_INFINITIVE = re.compile(r"^\S*(?:[aeiêé]r|oir|re|[aei]r(?:se|me|lo|la|los|las|nos|te|mi|si|ci|vi)) ")
#: The present of a first person after a day: "demain je rédige …", "am Samstag hole ich …", "amanhã escrevo …".
_PRESENT = re.compile(
    r"^ (?:\S+ ){0,2}?(?P<day>\S+) (?:(?:je|j) (?!suis|ai|serai|pense|crois|sais)\w+"
    r"|(?!habe|hatte|wäre|denke|glaube|finde|würde|könnte)\w+e ich|(?!ben|heb|was|denk|vind)\w+ ik"
    r"|(?!tengo|tenho|sono|estoy|creo|vivo|acho|penso|credo|como|cuando|quando|poco|todo|solo|tutto)\w{3,}o) \S"
)


def states_intention(sentence: str) -> bool:
    """Return whether a sentence states what the speaker has to do or is going to do."""
    plain = f" {plain_text(sentence)} "
    ahead = _is_ahead(plain)
    present = _PRESENT.search(plain) if ahead else None
    if present is not None and present["day"] in _AHEAD and len(content_words(plain)) > _LEAST_WORDS:
        return True
    for clause in clauses(sentence):
        said = f" {plain_text(clause)} "
        for each in dict.fromkeys((said, _without_adverbs(said))):
            for name in ("duty", "need", *(("intent",) if ahead else ())):
                found = listed_pattern(name).finditer(each)
                if any(_is_action(each, match, infinitive=name == "need") for match in found):
                    return True
    return False


def _is_action(clause: str, found: FoundPhrase, *, infinitive: bool) -> bool:
    """Return whether an action is around the words for a duty or an intention, and nothing denies it."""
    before, after = clause[: found.start] + " ", clause[found.end :].lstrip()
    if is_unspaced(found[0].strip()):
        return not _NO_DUTY_BEFORE.search(before.rstrip()) and len(content_words(before + after)) >= _LEAST_WORDS
    if _NO_DUTY_BEFORE.search(before) or _NO_DUTY_AFTER.search(after) or (infinitive and not _INFINITIVE.search(after)):
        return False
    words = after.split()
    if not words or words[0] in _MENTAL or words[-1] in _MENTAL:
        return False
    return len(content_words(before + after)) >= _LEAST_WORDS


def _is_ahead(plain: str) -> bool:
    """Return whether a plain text names a day that is to come, or an event before which something is due."""
    return (
        not _AHEAD.isdisjoint(plain.split())
        or _BEFORE.search(plain) is not None
        or _UNSPACED_AHEAD.search(plain) is not None
    )


def _without_adverbs(plain: str) -> str:
    return f" {' '.join(word for word in plain.split() if word not in _ADVERBS)} "
