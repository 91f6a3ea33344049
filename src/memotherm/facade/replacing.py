"""What a captured turn replaces: older memories that a search finds, of which it gives a part another value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from memotherm.model import Memory, Tier
from memotherm.model.memory import SUMMARY
from memotherm.statements.kinds import classified
from memotherm.statements.replacing import denies, is_bare, may_change, replaced_part, says_change, values_of
from memotherm.text.claims import MOST_CHARS

if TYPE_CHECKING:
    from memotherm.facade.view import View

#: How many older memories are looked at.
_MOST_HITS = 6
#: The lowest score of one that is meant, without words for a change and with them, and its share of the best one.
_MIN_SCORE, _MIN_SCORE_CHANGED = 0.5, 0.2
_MIN_SHARE = 0.5
#: How long a turn can answer the one before.
_TURN = timedelta(hours=1)


class Replaced(NamedTuple):
    """What a turn replaces."""

    #: What the turn answers, if its words alone do not tell what it is about.
    about: str = ""
    #: The ids of the memories of which it replaces a part, each with that part.
    parts: Mapping[str, str] = {}


def replaced_by(view: View, text: str, session: object) -> Replaced:
    """Return what a turn of a user replaces; `session` is the name of its conversation, or None.

    A turn such as "no, 14" answers the turn before.
    """
    said = text.partition("\n")[0]
    if not may_change(said) or classified(said).name == "rule":
        return Replaced()
    own = _parts(view, said, "", "")
    if (own and not is_bare(said)) or not says_change(said):
        return Replaced(parts=own)
    before = _before(view, session)
    about, _, answered = before.content.partition("\n") if before is not None else ("", "", "")
    parts = own | _parts(view, said, about, answered) if about else own
    return Replaced(about if parts or denies(said) else "", parts)


def _parts(view: View, said: str, about: str, answered: str) -> dict[str, str]:
    """Return the ids of the memories of which a turn replaces a part, each with that part."""
    query = f"{about}\n{said}" if about else said
    question = view.question(query, tuple(Tier), min_score=0.0)
    found = view.services.recaller.search(question, _MOST_HITS)
    least = _MIN_SCORE_CHANGED if says_change(said) else _MIN_SCORE
    if found.hits:
        least = max(least, _MIN_SHARE * found.hits[0].score)
    hits = [hit for hit in (*found.pinned, *found.hits) if _may_be_meant(hit.memory)]
    counts = Counter(word for hit in hits for word in values_of(hit.memory.content).words)
    frequent = frozenset(word for word, count in counts.items() if 2 * count > len(hits) > 2)
    parts = {
        hit.memory.id: replaced_part(said, hit.memory.content, about, frequent, answered, told=hit.score >= least)
        for hit in hits
    }
    return {memory_id: part for memory_id, part in parts.items() if part}


def _may_be_meant(memory: Memory) -> bool:
    return memory.kind != SUMMARY and len(memory.content) <= MOST_CHARS


def _before(view: View, session: object) -> Memory | None:
    """Return the memory of the turn before in a conversation; None if it was not stored, or long ago."""
    if not isinstance(session, str):
        return None
    store, search = view.listing(where={"session": session})
    found = store.find(replace(search, limit=1))
    recent = (record.memory for record in found if view.now() - record.memory.created_at <= _TURN)
    return next(recent, None)
