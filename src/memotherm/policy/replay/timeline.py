"""The time line of a store: what happened from outside, what was asked, and when the rules ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from memotherm.model import Memory, Scope, Tier
from memotherm.model.uses import Strength

__all__ = ["Asked", "Born", "Changed", "Moved", "Ran", "Timeline", "TimelineStep", "Used"]


class Born(NamedTuple):
    """A memory was stored."""

    at: datetime
    place: int
    #: As it was then, without its content.
    memory: Memory


class Changed(NamedTuple):
    """A caller changed a memory."""

    at: datetime
    place: int
    #: The new values by field.
    values: Mapping[str, Any]


class Moved(NamedTuple):
    """A rule moved a memory; only the recorded history follows it."""

    at: datetime
    place: int
    tier: Tier
    rule: str


class Used(NamedTuple):
    """Memories were used without a query, or after one."""

    at: datetime
    places: tuple[int, ...]
    #: None for a memory that was stored once more.
    strength: Strength | None = None
    #: The question that had returned them, for a use that followed it.
    question: int | None = None


class Asked(NamedTuple):
    """A query, what it returned, and what answers it in all tiers."""

    at: datetime
    #: Its position among the questions.
    question: int
    scope: Scope
    tiers: tuple[Tier, ...]
    #: What it returned, in order.
    returned: tuple[int, ...]
    #: Whether that counted as a use, and what no search found.
    used: bool
    injected: frozenset[int]
    #: What answers it, best first; empty if it could not be asked again.
    demanded: tuple[int, ...]
    #: How well memories answered it, where that decides something.
    relevance: Mapping[int, float]
    #: Whether the rules of promotion ran, and whether the running relevance was averaged.
    promote: bool
    average: bool
    #: Whether the question counts: it could be asked again, and lies in the period.
    counted: bool


class Ran(NamedTuple):
    """The rules ran."""

    at: datetime
    #: compact or maintain.
    run: str
    scope: Scope
    open_sessions: frozenset[str]


TimelineStep = Born | Changed | Moved | Used | Asked | Ran


@dataclass(frozen=True, kw_only=True, slots=True)
class Timeline:
    """Everything that a replay needs of a store, in order of time."""

    steps: Sequence[TimelineStep]
    #: The number of memories; steps name them by their place in this order.
    memories: int
    #: The id and the beginning of the content of each memory.
    names: Sequence[tuple[str, str]]
    #: From when on rules decide anew; before it, recorded moves are followed.
    start: datetime | None
    #: The end of the time line.
    end: datetime | None = None
    #: How many questions the log has in the period, and how many could be asked again.
    questions: int = 0
    askable: int = 0
    #: The questions that uses have followed.
    followed: frozenset[int] = frozenset()
    #: What is missing, in plain words.
    notes: tuple[str, ...] = field(default=())
