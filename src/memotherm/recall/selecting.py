"""What a request in words concerns: the memories that it names, each with a reason."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

from memotherm.model import Memory, Recall
from memotherm.model.recall import HIT_THRESHOLD
from memotherm.model.results import Match, Selection
from memotherm.text.mentions import mentioned_names, tokens
from memotherm.text.requests import Request, parsed_request, stems
from memotherm.text.transliteration import may_mention

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
