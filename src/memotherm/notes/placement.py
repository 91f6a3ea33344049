"""The tiers of the chunks of a note.

`MEMORY.md` is curated: its first chunks are hot, up to 1,000 tokens, the others warm.
A dated note is warm until it is 30 days old, then cold. Any other note is always warm.
A transcript is cold: only a search of notes, or of cold memories, finds it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import NamedTuple

from memotherm.errors import SettingsError
from memotherm.model import Tier
from memotherm.settings import Settings

#: The name of the curated note.
CURATED = "MEMORY.md"
#: The prefix of the paths of transcripts.
TRANSCRIPTS = "sessions/"

#: Tokens of the curated note that are hot, half of the default hot block: memories need the other half.
HOT_TOKENS = 1000
#: The age in days at which a dated note becomes cold.
_COLD_DAYS = 30
_DATED = re.compile(r"(?:^|/)(\d{4}-\d{2}-\d{2})(?:[-_ .][^/]*)?\.md$", re.IGNORECASE)


class Placement(NamedTuple):
    """The tier of a chunk, and the rule that decides it."""

    tier: Tier
    rule: str
    why: str


def is_curated(path: str) -> bool:
    """Return whether a note is the curated one."""
    return path.casefold() == CURATED.casefold()


def is_transcript(path: str) -> bool:
    """Return whether a path is a transcript."""
    return path.startswith(TRANSCRIPTS) and path.endswith(".jsonl")


def note_date(path: str) -> date | None:
    """Return the date in the name of a note."""
    match = _DATED.search(path)
    if match is None:
        return None
    try:
        return date.fromisoformat(match[1])
    except ValueError:
        return None


def note_placement(path: str, today: date) -> Placement:
    """Return the placement of a note as a whole."""
    if is_curated(path):
        return Placement(Tier.HOT, "note.curated", "the curated note")
    if is_transcript(path):
        return Placement(Tier.COLD, "note.transcript", "the transcript of a session")
    day = note_date(path)
    if day is None:
        return Placement(Tier.WARM, "note.topic", "a note that does not age")
    if (today - day).days >= _COLD_DAYS:
        return Placement(Tier.COLD, "note.old", f"a note of {day}, at least {_COLD_DAYS} days old")
    return Placement(Tier.WARM, "note.recent", f"a note of {day}")


def placements(path: str, tokens: Sequence[int], today: date, settings: Settings) -> Iterator[Placement]:
    """Yield the placement of each chunk of a note, given their tokens in order."""
    placement = note_placement(path, today)
    overflow = Placement(Tier.WARM, "note.overflow", "the curated note, beyond what is kept hot")
    hot_tokens = min(HOT_TOKENS, settings.hot_max_tokens)
    for total in itertools.accumulate(tokens):
        yield overflow if placement.tier is Tier.HOT and total > hot_tokens else placement


def local_day(now: datetime, settings: Settings) -> date:
    """Return the date of a moment in the user's time zone, or in the system's."""
    if not settings.timezone:
        return now.astimezone().date()
    # Imported here, because most users set no time zone.
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return now.astimezone(ZoneInfo(settings.timezone)).date()
    except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
        raise SettingsError(f"unknown timezone {settings.timezone!r}: write for example Europe/Berlin") from exc
