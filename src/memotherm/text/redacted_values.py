"""The secret values in a text, so that those of a purged memory are recognized elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable

from memotherm.text.redaction import MARK, Redactor

_PRIVATE_TAG = re.compile(r"</?\s{0,4}private\b[^<>]{0,100}>", re.IGNORECASE)
#: Small and large letters, digits and symbols in one word, without a word such as "password" beside it.
_MIXED = (re.compile("[a-z]"), re.compile("[A-Z]"), re.compile("[0-9]"), re.compile("[!#%&*+=?@^~$]"))
_SHORTEST_MIXED, _LONGEST_MIXED = 10, 200
_PUNCTUATION = ".,;:!?\"'`()[]<>"


def secret_values(text: str, patterns: Iterable[str] = ()) -> set[str]:
    """Return the parts of a text that are redacted when it is captured, and words that look like passwords."""
    values = {word for word in _words(text) if _is_mixed(word)}
    first, *pieces = Redactor(patterns=patterns).redact(text).text.split(MARK)
    position = len(first)
    for piece in pieces:
        end = text.find(piece, position + 1) if piece else len(text)
        if end < 0:
            break
        values.add(_PRIVATE_TAG.sub("", text[position:end]).strip())
        position = end + len(piece)
    return values - {"", MARK}


def named_values(request: str) -> set[str]:
    """Return the words of a request that may be passwords or keys, such as those that memories are selected by."""
    return {word for word in _words(request) if word in secret_values(f"password: {word}") | secret_values(word)}


def _words(text: str) -> set[str]:
    return {word.strip(_PUNCTUATION) for word in text.split()}


def _is_mixed(word: str) -> bool:
    if not _SHORTEST_MIXED <= len(word) <= _LONGEST_MIXED or "://" in word:
        return False
    return all(kind.search(word) for kind in _MIXED)
