"""Stock phrases: small talk, filler, and statements of users about themselves.

A prompt of small talk alone ("thanks", "continue", "shorter") asks for no memory. Its words are searched like all
others; only the confidence of a recall ignores them.
"""

from __future__ import annotations

import functools
import re

from memotherm.text.language import WORD_LISTS
from memotherm.text.words import words


@functools.cache
def conversational_words() -> frozenset[str]:
    """Return the stemmed words of small talk; each language is a text, because words are stemmed by language."""
    return frozenset(word for text in WORD_LISTS["small_talk"].values() for word in words(text))


_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_LONGEST_CHARS = 80
_FILLER = frozenset(WORD_LISTS["other"]["filler"].split())


def is_filler(text: str) -> bool:
    """Return whether a text has nothing but words such as "ok" and "thanks".

    Numbers and words of other languages are not filler.
    """
    stripped = text.strip()
    if len(stripped) > _LONGEST_CHARS:
        return False
    return all(word in _FILLER for word in _WORD.findall(stripped.casefold().replace("\u2019", "'")))


#: A longer text is a task or a report, even if it also says something about the user.
_MAX_CHARS = 400
_START = r"(?:^|[.!?;\n]\s*|\b(?:and|but|that|note|remember|hi|hello|hey)[,:]?\s+)"
_PREFERENCE = re.compile(
    _START + r"(?:"
    r"i(?:\s+(?:really|always|usually|generally|would|do|don't|do not|never|strongly|still))*\s+"
    r"(?:prefer|like|love|hate|dislike|enjoy|avoid|want you to|favou?r)\b"
    r"|i(?:'d| would) (?:prefer|rather)\b"
    r"|my (?:favou?rite|preferred|preference)\b"
    r"|i (?:always|never|usually) \w+"
    r"|(?:from now on|in (?:the )?future)\b"
    r"|(?:please )?(?:always|never) (?:answer|reply|write|use|call|ask|explain|show|give|address|respond|speak)\b"
    r"|call me\b"
    r")",
    re.IGNORECASE,
)
_FACT = re.compile(
    _START + r"(?:"
    r"my (?:name|birthday|wife|husband|partner|daughter|son|dog|cat|time ?zone|job|role|native language|pronouns)\b"
    r"|i (?:live|work|was born|grew up|speak|studied) (?:in|at|as|for|on|with|a|an|the|[A-Z])"
    r"|(?:i'm|i am) (?:an?|allergic|vegan|vegetarian|based|from|left-handed|colou?r-?blind|new to)\b"
    r")",
    re.IGNORECASE,
)


def kind_about_user(text: str) -> str | None:
    """Return `preference` or `fact` for a short statement of a user about themselves, and None for any other text."""
    if len(text) > _MAX_CHARS or text.rstrip().endswith("?"):
        return None
    if _PREFERENCE.search(text):
        return "preference"
    return "fact" if _FACT.search(text) else None
