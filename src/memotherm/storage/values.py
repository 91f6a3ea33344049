"""What a store and its callers tell each other: rows as they are stored, filters, causes, findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from memotherm.model import Memory, Priority, Retention, Scope, Tier
from memotherm.model.results import TierCount

__all__ = [
    "CandidateRow",
    "CandidateText",
    "Cause",
    "ChunkLocation",
    "ChunkRow",
    "Counts",
    "Filter",
    "Find",
    "Identity",
    "NoteRow",
    "RecallEntry",
    "Record",
    "RootRow",
    "Scores",
    "Tally",
]


@dataclass(frozen=True, slots=True)
class Record:
    """A memory as it is stored: with its number and that of its space."""

    no: int
    space: int
    memory: Memory
    #: Vectors under the embedder in use; 0 = still to be made.
    parts: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Cause:
    """Why something changes: the part of an event that the store cannot know."""

    action: str
    at: datetime
    actor: str = "agent"
    rule: str = "explicit"
    why: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Filter:
    """What a search may return, beside its spaces and tiers."""

    now: datetime
    kinds: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None

    @property
    def selective(self) -> bool:
        """Whether anything but time is filtered."""
        return self.kinds is not None or self.tags is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class Find:
    """A listing: filters, and where the page begins."""

    now: datetime
    tier: Tier | None = None
    priority: Priority | None = None
    retention: Retention = Retention.ACTIVE
    kind: str | None = None
    tags: tuple[str, ...] | None = None
    limit: int = 100
    #: Only memories with a smaller number than this.
    before: int | None = None


#: What a leg of the search has found: numbers of memories, strongest first, and how strong each is.
#: That is the cosine for the vector leg, and for the text leg how rare the words are that a memory has.
Scores = dict[int, float]


class CandidateText(NamedTuple):
    """What a memory says, as the text index has it, and where it stands in a conversation."""

    #: Its words, with a space between two of them.
    words: str
    #: Who said it; empty when that is not known.
    author: str = ""
    #: The memory that was said just before it.
    previous: int | None = None


class CandidateRow(NamedTuple):
    """What ranking needs to know of a memory, and what it says; times in microseconds."""

    no: int
    space: int
    tier: Tier
    priority: Priority
    kind: str
    created_at: int
    accessed_at: int | None
    access_count: int
    #: As in `Saying`.
    words: str
    author: str = ""
    previous: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RecallEntry:
    """What was asked and what came of it, for the log of recalls."""

    at: datetime
    space: int | None
    query: str
    tiers: tuple[Tier, ...]
    micros: int
    #: (memory number, score), best first.
    candidates: Sequence[tuple[int, float]]
    returned: Sequence[int]
    promoted: Sequence[int] = ()
    degraded: Sequence[str] = ()
    #: The best relevance among the hits, and whether it counts as found.
    best: float = 0.0
    found: bool = False
    #: Memories whose use is counted.
    touched: Sequence[int] = ()
    #: (memory number, new running relevance).
    relevance: Sequence[tuple[int, float]] = ()


class Tally(NamedTuple):
    """How often something happened, and how much of it."""

    times: int = 0
    amount: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """How much some spaces hold."""

    tiers: dict[Tier, TierCount] = field(default_factory=dict)
    retention: dict[Retention, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """The embedder whose vectors serve searches."""

    number: int
    name: str
    dimensions: int


class RootRow(NamedTuple):
    """A folder whose files are indexed, and the space that their chunks are in."""

    space: int
    path: str
    #: Further files and folders inside it.
    extra: tuple[str, ...]
    scope: Scope
    collection: str


class NoteRow(NamedTuple):
    """A file as it was when it was last read."""

    #: Its number; 0 before it is stored.
    note: int
    space: int
    #: Relative to the root, with forward slashes.
    path: str
    #: SHA-256 of its bytes.
    hash: str
    #: What the file system said of it: times, number and size.
    stamp: str
    size: int
    #: Messages of a transcript; 0 for Markdown.
    messages: int
    #: Whether the same stamp will mean the same bytes.
    settled: bool
    #: The rule that cut it into chunks.
    cut: str
    #: Where the rules have put it.
    tier: Tier


class ChunkRow(NamedTuple):
    """A piece of a file and the memory that it is."""

    record: Record
    first: int
    last: int
    heading: str
    #: The digest of the content that the file last had for it.
    digest: str
    #: Whether it is a list item that is a memory of its own, which others may change too.
    linked: bool


class ChunkLocation(NamedTuple):
    """Where a memory stands in a file."""

    path: str
    first: int
    last: int
    heading: str
    linked: bool
