"""Requests in words to forget or to correct something: the names in them, and how much they mean."""

from __future__ import annotations

import re
from collections.abc import Set
from typing import NamedTuple

from memotherm.text.language import WORD_LISTS
from memotherm.text.mentions import identifiers, tokens
from memotherm.text.phrases import listed_phrases
from memotherm.text.words import content_words, is_unspaced, plain_text, words

#: A name: capitalised words, with numbers and particles between or after them.
_NAME = re.compile(
    r"(?<![\w@#&])[^\W\d_a-z][\w'\u2019.&+#-]*(?: (?:(?:de|da|del|di|van|von|der|den|al|el|bin|la|le) )*"
    r"(?:[^\W\d_a-z][\w'\u2019.&+#-]*|\d+))*"
)
_SHORT_NUMBER = re.compile(r"\d{1,4}")
_POSSESSIVE = re.compile(r"(?:['\u2019]s|(?<=s)['\u2019])$")
#: What makes the words before a name its attribute: "the phone number of Frank".
_LONGEST_OF = 40
_OF = re.compile(rf"\w\s+(?:{'|'.join(WORD_LISTS['other']['of'].split())})\s+$", re.IGNORECASE)


class Request(NamedTuple):
    """What a request says."""

    #: Identifiers in it, as they are written.
    identifiers: tuple[str, ...]
    #: Names in it, as they are written.
    names: tuple[str, ...]
    #: The other content words, stemmed.
    words: frozenset[str]
    #: Whether the other words name a part of what is known about a name: "Frank's phone number".
    attribute: bool
    #: Whether it means everything about a subject.
    everything: bool


def parsed_request(text: str) -> Request:
    """Return what a request such as "everything about Frank the engineer" says."""
    plain = f" {plain_text(text)} "
    phrases = [phrase.strip() for phrase in map(plain_text, listed_phrases("everything"))]
    everything = [phrase for phrase in phrases if (phrase if is_unspaced(phrase[:1]) else f" {phrase} ") in plain]
    verbs = [*everything, *listed_phrases("forget")]
    framing = frozenset(word for phrase in verbs for word in words(plain_text(phrase)))
    content = content_words(text)
    found = tuple(dict.fromkeys(_numbered(text, each, content - framing) for each in dict.fromkeys(identifiers(text))))
    names, attribute = [], False
    for match in _NAME.finditer(text):
        name = _without_framing(match[0], framing)
        if name and not identifiers(name):
            names.append(_POSSESSIVE.sub("", name))
            before = text[max(0, match.start() - _LONGEST_OF) : match.start()]
            attribute |= bool(_POSSESSIVE.search(name) or _OF.search(before))
    named = {word for name in (*names, *found) for word in words(name)}
    others = frozenset(content - named - framing)
    return Request(found, tuple(dict.fromkeys(names)), others, attribute, bool(everything))


def _numbered(text: str, identifier: str, content: Set[str]) -> str:
    """Return a short number with the word before it, "sprint 7"; alone it would mean every 7."""
    if not _SHORT_NUMBER.fullmatch(identifier):
        return identifier
    before = re.search(rf"([^\W\d_]+) #?{identifier}(?!\w)", text)
    return f"{before[1].casefold()} {identifier}" if before and not content.isdisjoint(words(before[1])) else identifier


def stems(text: str) -> set[str]:
    """Return the stemmed words of a text; a hyphenated word and an identifier is one word."""
    return {word for token in tokens(text) for word in words(token)}


def _without_framing(name: str, framing: frozenset[str]) -> str:
    """Return a name without words of the request before it ("Forget Frank") and a possessive ending."""
    parts = name.rstrip(".-").split()
    while parts and set(words(parts[0])) <= framing:
        parts = parts[1:]
    joined = " ".join(parts)
    return "" if not joined or is_unspaced(joined[:1]) or not joined[:1].isupper() else joined
