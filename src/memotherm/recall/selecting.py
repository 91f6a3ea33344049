"""What mentions a name or an identifier, and what a request in words concerns, each memory with a reason.

Names and identifiers are found by the text index and verified on the contents.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace
from typing import NamedTuple

from memotherm.model import Memory, Recall
from memotherm.model.recall import HIT_THRESHOLD
from memotherm.model.results import Match, Selection
from memotherm.storage.store import Store
from memotherm.storage.values import Record, Search
from memotherm.text.language import WORD_LISTS
from memotherm.text.mentions import identifiers, index_words, may_mention, mention_test, mentioned_names, tokens
from memotherm.text.phrases import listed_phrases
from memotherm.text.words import content_words, is_unspaced, plain_text, words

#: The keys and the kind of the memories that say which names mean the same.
ALIASES, ALIAS = "alias/", "alias"
_PAGE = 1000
_ALL = 1 << 62


def mentioned(store: Store, search: Search, names: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers of the memories that mention one of some names, or one of their aliases."""
    names = with_aliases(store, search, names)
    test = mention_test(names)
    return tuple(record.no for record in _indexed(store, search, names) if test(record.memory.content))


def with_aliases(store: Store, search: Search, names: Sequence[str]) -> list[str]:
    """Return names with all that mean the same, as `alias` has recorded in the spaces of a search."""
    recorded = Search(spaces=search.spaces, now=search.now, prefix=ALIASES, limit=_PAGE)
    found = {tuple(tokens(name)): name for name in reversed(names)}
    # By the tokens of each name, all names that it was said to mean the same as.
    same: dict[tuple[str, ...], list[tuple[tuple[str, ...], str]]] = {}
    for alias in map(alias_names, store.each(recorded)):
        spelled = [(tuple(tokens(name)), name) for name in alias]
        for own, _ in spelled:
            same.setdefault(own, []).extend(spelled)
    # An alias of an alias is one as well.
    open_ones = list(found)
    while open_ones:
        for own, name in same.pop(open_ones.pop(), ()):
            if own not in found:
                found[own] = name
                open_ones.append(own)
    return list(dict.fromkeys((*names, *found.values())))


def alias_names(alias: Record) -> list[str]:
    """Return the names of an alias; a memory that only has its kind or its key may have none."""
    names = alias.memory.metadata.get("names")
    return list(map(str, names)) if isinstance(names, list) else []


def _indexed(store: Store, search: Search, names: Sequence[str]) -> Iterator[Record]:
    """Yield the memories that may mention one of the names; all of them if the text index has a problem."""
    if store.recall_problems():
        yield from store.each(replace(search, limit=_PAGE))
        return
    words = list(dict.fromkeys(word for name in names for word in index_words(name)))
    found = list(store.search_text(search, words, _ALL).scores) if words else []
    for start in range(0, len(found), _PAGE):
        yield from store.records(found[start : start + _PAGE]).values()


# What a request in words concerns

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
    before = re.search(rf"(?<![^\W\d_])([^\W\d_]++) #?{identifier}(?!\w)", text)
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


#: The share of the best match's words that a match needs, if the request means everything, or one thing.
_OF_EVERYTHING, _OF_ONE = 0.5, 0.8
#: The least share of the words of a request that a match has, and what is only proposed.
_MOST_WORDS, _LEAST_WORDS = 2 / 3, 1 / 3
_WORD = re.compile(r"\w+")


def select(
    text: str, recall: Callable[[str], Recall], mentioning: Callable[[Sequence[str]], list[Memory]], confident: float
) -> Selection:
    """Return the memories that a request such as "everything about Frank" concerns.

    An identifier or a name in the request selects the memories that mention it; "Frank's phone number" only those of
    them that have another of its words. Without a name, it selects the memories with most of its words. Memories with
    fewer of its words, or without its identifier, the best hit of a confident search, and names in another script are
    only proposed.

    `mentioning` returns the memories that mention one of some names; `confident` is the least confidence of a search by
    meaning.
    """
    request, found = parsed_request(text), recall(text)
    ranked = [hit.memory for hit in (*found.hits, *found.pinned)]
    matches = _named(request, mentioning)
    proposed: list[Match] = []
    if not matches:
        matches, proposed = _worded(request, ranked)
        if (
            not matches
            and not proposed
            and found.hits
            and found.hits[0].score >= HIT_THRESHOLD
            and found.confidence >= confident
        ):
            proposed = [Match(memory=ranked[0], reason="meaning", why="its meaning is closest to the request")]
    chosen = {match.memory.id for match in (*matches, *proposed)}
    proposed += [
        Match(memory=memory, reason="transliteration", why=f"it may mention {name} in another script")
        for memory in ranked
        if memory.id not in chosen
        for name in request.names[:1]
        if may_mention(memory.content, name)
    ]
    known = chosen | {match.memory.id for match in proposed}
    left_out = next((memory for memory in ranked if memory.id not in known), None)
    return Selection(
        matches=tuple(matches),
        proposed=tuple(proposed),
        left_out=None if left_out is None else Match(memory=left_out, reason="", why=_missing(request, left_out)),
    )


def _named(request: Request, mentioning: Callable[[Sequence[str]], list[Memory]]) -> list[Match]:
    """Return the memories that mention what the request names."""
    names = request.identifiers or request.names
    if not names:
        return []
    memories = mentioning(names)
    if not request.identifiers:
        # "frank" is not Frank.
        memories = [memory for memory in memories if _capitalised(memory.content, names)]
    mentioned = mentioned_names(names)
    named = {memory.id: list(mentioned(memory.content)) for memory in memories}
    others = {memory.id: sorted(request.words & stems(memory.content)) for memory in memories}
    if request.attribute and not request.everything and any(others.values()):
        memories = [memory for memory in memories if others[memory.id]]
    return [
        Match(memory=memory, reason="mentions", why=f"it mentions {' and '.join(named[memory.id]) or 'an alias'}")
        for memory in memories
    ]


def _worded(request: Request, ranked: Sequence[Memory]) -> tuple[list[Match], list[Match]]:
    """Return the memories that have most words of the request, and those that have fewer, or not its identifiers."""
    wanted = request.words | {word for name in request.names for word in stems(name)}
    shared = [(memory, wanted & stems(memory.content)) for memory in ranked if wanted]
    best = max((len(words) for _, words in shared), default=0)
    least = max(_LEAST_WORDS * len(wanted), (_OF_EVERYTHING if request.everything else _OF_ONE) * best)
    found = [
        (
            len(words),
            Match(memory=memory, reason="words", why=f"it has {len(words)} of {len(wanted)} words of the request"),
        )
        for memory, words in shared
        if len(words) >= least
    ]
    most = float("inf") if request.identifiers else _MOST_WORDS * len(wanted)
    return [match for count, match in found if count >= most], [match for count, match in found if count < most]


def _missing(request: Request, memory: Memory) -> str:
    names = request.identifiers or request.names
    if names:
        return f"it does not mention {' or '.join(names)}"
    return f"it has {len(request.words & stems(memory.content))} of {len(request.words)} words of the request"


def _capitalised(content: str, names: Sequence[str]) -> bool:
    """Return whether the first word of a name begins with a capital letter in a content, or is not there.

    A content that mentions an alias need not have it, and not every script has capital letters.
    """
    wanted = {first for name in names for first in tokens(name)[:1]}
    small, capital = set[str](), set[str]()
    for word in _WORD.findall(unicodedata.normalize("NFKC", content)):
        (small if word[0].islower() else capital).update(tokens(word)[:1])
    return not wanted <= small - capital
