"""Recognise statements of users about themselves, in English."""

from __future__ import annotations

import re

__all__ = ["kind_about_user"]

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
