"""Where the chunks of a note are kept: the curated file in front, recent days at hand, old days in the archive.

`MEMORY.md` is curated: its first chunks are hot, as far as `note_hot_tokens` reaches, the rest is warm.
A dated note is warm until it is `note_cold_days` old, then cold. Any other note is warm and does not age.
A transcript is cold: it is found when notes are searched, and never comes up by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import NamedTuple

from memotherm.model import Tier
from memotherm.settings import Settings

__all__ = ["CURATED", "Resting", "is_curated", "is_transcript", "note_date", "note_tier", "resting"]

#: The name of the file that a person or an agent keeps in order.
CURATED = "MEMORY.md"
#: Where transcripts appear among the notes.
TRANSCRIPTS = "sessions/"

_DATED = re.compile(r"(?:^|/)(\d{4}-\d{2}-\d{2})(?:[-_ .][^/]*)?\.md$", re.IGNORECASE)


class Resting(NamedTuple):
    """Where a chunk belongs, and the rule that says so."""

    tier: Tier
    rule: str
    why: str


def is_curated(path: str) -> bool:
    """Tell whether a note is the curated one."""
    return path.casefold() == CURATED.casefold()


def is_transcript(path: str) -> bool:
    """Tell whether a note is the transcript of a session."""
    return path.startswith(TRANSCRIPTS) and path.endswith(".jsonl")


def note_date(path: str) -> date | None:
    """Return the day that a note's name says it is about."""
    found = _DATED.search(path)
    if found is None:
        return None
    try:
        return date.fromisoformat(found[1])
    except ValueError:
        return None


def note_tier(path: str, today: date, settings: Settings) -> Tier:
    """Return the tier of a note as a whole."""
    if is_curated(path):
        return Tier.HOT
    if is_transcript(path):
        return Tier.COLD
    day = note_date(path)
    old = day is not None and (today - day).days >= settings.note_cold_days
    return Tier.COLD if old else Tier.WARM


def resting(path: str, tokens: Sequence[int], today: date, settings: Settings) -> Iterator[Resting]:
    """Yield where each chunk of a note belongs, given their tokens in order."""
    tier = note_tier(path, today, settings)
    if tier is Tier.HOT:
        yield from _curated(tokens, min(settings.note_hot_tokens, settings.hot_max_tokens))
        return
    day = note_date(path)
    if is_transcript(path):
        place = Resting(tier, "note.transcript", "the transcript of a session")
    elif day is None:
        place = Resting(tier, "note.topic", "a note that does not age")
    elif tier is Tier.COLD:
        place = Resting(tier, "note.old", f"a note of {day}, at least {settings.note_cold_days:g} days old")
    else:
        place = Resting(tier, "note.recent", f"a note of {day}")
    yield from [place] * len(tokens)


def _curated(tokens: Sequence[int], room: int) -> Iterator[Resting]:
    """Keep the first chunks hot that fit; the order of the file is the order of importance."""
    open_ = True
    for each in tokens:
        room -= each
        open_ = open_ and room >= 0
        if open_:
            yield Resting(Tier.HOT, "note.curated", "the curated note")
        else:
            yield Resting(Tier.WARM, "note.overflow", "the curated note, beyond what is kept hot")
