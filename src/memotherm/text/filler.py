"""Recognise text that carries a conversation on and says nothing."""

from __future__ import annotations

import re

__all__ = ["is_filler"]

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_LONGEST_CHARS = 80
_FILLER = frozenset(
    """again ah all alright and awesome back bye certainly continue cool do done evening fine go got goodbye good great
    ha haha hello hey hi hm hmm i'm it job just k keep kk let's lgtm lol looks makes me morning much nice no nope now
    ok okay on perfect please proceed right sense so sounds sure thank thanks that that's then there this thx to today
    ty uh um understood very welcome well work yea yeah yep yes you you're""".split()  # noqa: SIM905
)


def is_filler(text: str) -> bool:
    """Return whether a text consists of words such as "ok" and "thanks", or has no words at all.

    Digits are words, and so is every word of another language.
    """
    stripped = text.strip()
    if len(stripped) > _LONGEST_CHARS:
        return False
    return all(word in _FILLER for word in _WORD.findall(stripped.casefold().replace("\u2019", "'")))
