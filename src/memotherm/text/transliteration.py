"""Names in other scripts: whether a text may mention a name that is written in another script."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from anyascii import anyascii

from memotherm.text.mentions import tokens

#: Consonants that transliterations confuse, each replaced by one of them; vowels differ too much to count.
_CONFUSED = str.maketrans("bdgvzq", "ptkfsk", "aeiouyw")
_DOUBLED = re.compile(r"(.)\1+")
#: How similar the consonants of two names are at least, and how many there are.
_SIMILAR = 0.8
_LEAST_CONSONANTS, _MOST_CONSONANTS = 3, 100
#: The most words of a name in another script.
_MOST_WORDS = 6


def may_mention(text: str, name: str) -> bool:
    """Return whether a text may mention a name in another script: transliterated, it is the same or sounds alike."""
    wanted, found = tokens(name), tokens(text)
    if not wanted or not any(_is_foreign(token) for token in (*found, *wanted)):
        return False
    letters, is_foreign = _letters(wanted), any(map(_is_foreign, wanted))
    foreign = [_is_foreign(token) for token in found]
    compared: set[tuple[str, ...]] = set()
    for count in range(1, min(len(wanted), _MOST_WORDS) + 1):
        for start in range(len(found) - count + 1):
            # One of the two is in another script than Latin, the other is not.
            if any(foreign[start : start + count]) != is_foreign:
                part = tuple(found[start : start + count])
                if part not in compared and _alike(_letters(part), letters, part):
                    return True
                compared.add(part)
    return False


def _alike(one: str, other: str, part: Sequence[str]) -> bool:
    if one == other or (len(part) == 1 and len(other) > _LEAST_CONSONANTS and other in one and _is_unbroken(part[0])):
        return bool(one)
    first, second = (_DOUBLED.sub(r"\1", letters.translate(_CONFUSED)) for letters in (one, other))
    shorter, longer = sorted((len(first), len(second)))
    if not _LEAST_CONSONANTS <= shorter <= longer <= _MOST_CONSONANTS or 2 * shorter < _SIMILAR * (shorter + longer):
        return False
    return SequenceMatcher(None, first, second, autojunk=False).ratio() >= _SIMILAR


def _letters(parts: Sequence[str]) -> str:
    return re.sub("[^a-z]", "", anyascii(" ".join(parts)).lower())


def _is_foreign(token: str) -> bool:
    return any(ord(character) > 0x24F and character.isalpha() for character in token)


def _is_unbroken(token: str) -> bool:
    """Return whether a token is a run of Chinese or Japanese, in which a name has no space around it."""
    return any("\u3040" <= character <= "\u9fff" for character in token)
