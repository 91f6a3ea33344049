"""Arguments and results of stores: records, filters, causes, rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from memotherm.model import Event, Memory, Move, Priority, Retention, Scope, Tier, Trust
from memotherm.model.actions import Action
from memotherm.model.clock import to_micros
from memotherm.model.memory import OrderName
from memotherm.model.recall import UseKind
from memotherm.model.results import TierCount
from memotherm.tiers.rules.where import Condition

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Behind everything that begins with a prefix: the last character, which stands for nothing.
AFTER_PREFIX = chr(0x10FFFF) * 4
#: The rule in the event of a chunk whose lines are no longer in its file.
DISCARDED = "note.gone"


class Record(NamedTuple):
    """A memory as it is stored: with its number and that of its space."""

    no: int
    space: int
    memory: Memory
    #: Vectors under the embedder in use; 0 = still to be made, -1 = none are wanted.
    parts: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Cause:
    """The cause of a change: the part of an event that the caller supplies."""

    action: Action
    at: datetime
    actor: str = "agent"
    rule: str = "explicit"
    why: str = ""
    #: The hash of the adopted policy that the rule belongs to.
    policy: str = ""
    #: Who asks for it, as far as they are trusted.
    by: Trust = Trust.AGENT

    def for_move(self, move: Move) -> Cause:
        """Return the cause of a move that a rule decided."""
        return replace(self, action=Action.MOVE, rule=move.rule, why=move.why, policy=move.policy)


#: What most reads want, and what can be read at all: a purged memory has no content.
ACTIVE_ONLY = (Retention.ACTIVE,)
EVERY_RETENTION = tuple(retention for retention in Retention if retention is not Retention.PURGED)
EVERY_TIER = tuple(Tier)


@dataclass(frozen=True, kw_only=True, slots=True)
class Search:
    """Which memories are read: those of some spaces, tiers and retentions that pass all conditions.

    A listing has a page as well.
    """

    spaces: tuple[int, ...]
    now: datetime
    tiers: tuple[Tier, ...] = EVERY_TIER
    #: Memories that have expired count as hidden: they are read with other retentions than active.
    retentions: tuple[Retention, ...] = ACTIVE_ONLY
    # Conditions
    kinds: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    #: Created at or after the first of these, and before the second.
    since: datetime | None = None
    until: datetime | None = None
    #: Conditions on the metadata.
    where: Condition | None = None
    #: What the key begins with.
    prefix: str | None = None
    priority: Priority | None = None
    sources: tuple[str, ...] | None = None
    ids: tuple[str, ...] | None = None
    #: Only the memories with these numbers.
    nos: tuple[int, ...] | None = None
    #: What it says held at this moment.
    true_at: datetime | None = None
    #: A text that the content contains.
    contains: str | None = None
    trust: Trust | None = None
    # The page of a listing
    limit: int = 100
    #: Only memories with a smaller number than this.
    before: int | None = None
    order: OrderName = "newest"
    #: How many memories of the order to leave out before the page.
    skip: int = 0

    @property
    def selective(self) -> bool:
        """Whether there are conditions besides spaces, tiers, retention and expiry."""
        return _conditions(self) != _NO_CONDITIONS

    @property
    def selective_beside_kinds(self) -> bool:
        """Whether there are conditions besides those and kinds."""
        return _conditions(self)[1:] != _NO_CONDITIONS[1:]

    @property
    def hidden(self) -> bool:
        """Whether memories are wanted that are in no index."""
        return self.retentions != ACTIVE_ONLY


_CONDITIONS = Search.__slots__[Search.__slots__.index("kinds") : Search.__slots__.index("limit")]
_conditions = attrgetter(*_CONDITIONS)
_NO_CONDITIONS = (None,) * len(_CONDITIONS)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Prefetch:
    """What a recall reads first, so that a store that is far away can send all of it at once."""

    search: Search
    #: The words and the vector of the query, and the embedder of the vector.
    words: tuple[str, ...]
    vector: NDArray[np.float32] | None
    by: Identity | None
    #: The most results of each of the two searches.
    limit: int
    #: The spaces of which the pinned memories are read.
    pinned_spaces: tuple[int, ...]
    #: Whether the number of memories without vectors is read.
    pending: bool


#: The result of a search: memory number -> score, best first. The score of a vector search is the cosine, that of a
#: text search the sum of the inverse document frequencies of the words.
Scores = dict[int, float]


class TextMatches(NamedTuple):
    """What a search by words has found."""

    #: The best matches, strongest first.
    scores: Scores
    #: The number of memories in the spaces and tiers, and the number of them that contain each word, filter or not.
    total: int
    frequencies: Mapping[str, int]


class ReceiptRow(NamedTuple):
    """The receipt of a context, as it is stored."""

    query: str | None
    budget: int
    tokens: int
    #: Tokens of what was left out because the session has it.
    given: int
    format: str
    #: (id, section, form, tokens, reasons, score, mark) of each memory that was included, or left out: without a form.
    #: A reason is a code and its details.
    entries: Sequence[tuple[str, str, str | None, int, Sequence[Sequence[str | int | float]], float | None, str]]


class Use(NamedTuple):
    """A use of a memory."""

    no: int
    weight: float = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class LaterUse:
    """A use of a memory that a recall had returned before."""

    at: datetime
    #: The number of the recall in the log, and its space.
    recall: int
    space: int
    strength: UseKind
    no: int
    weight: float

    @property
    def use(self) -> Use:
        """The use to count."""
        return Use(self.no, self.weight)


class UseRow(NamedTuple):
    """A use that followed a recall, as it was stored."""

    #: The number of the recall in the log.
    recall: int
    no: int
    strength: UseKind
    at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class RecallEntry:
    """An entry of the recall log."""

    #: The id by which feedback names it; empty for a run of the rules and for a read by id or key.
    id: str = ""
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
    #: The best relevance among the hits, and whether it counts as a hit.
    best: float = 0.0
    found: bool = False
    #: The uses that it counts.
    uses: Sequence[Use] = ()
    #: (memory number, new running relevance).
    relevance: Sequence[tuple[int, float]] = ()
    #: What a replay needs to know beside that, as JSON values.
    options: Mapping[str, Any] = field(default_factory=dict)
    #: The receipt of a context, to be kept.
    receipt: ReceiptRow | None = None
    #: The number of the last event when its memories were read; None if it is not known.
    seen: int | None = None


class EventFilter(NamedTuple):
    """Which events of the ledger are read; a text that is empty selects all."""

    action: str = ""
    actor: str = ""
    rule: str = ""
    #: The first moment, and the one before which they end, in microseconds.
    since: int = -(1 << 62)
    until: int = 1 << 62

    def selects(self, event: Event) -> bool:
        """Return whether an event is one of them."""
        texts = zip(self, (event.action, event.actor, event.rule), strict=False)
        return all(wanted in ("", text) for wanted, text in texts) and self.since <= to_micros(event.at) < self.until


EVERY_EVENT = EventFilter()


class TierChange(NamedTuple):
    """An event of a memory, or of several that were stored in one period, and where the memory is now."""

    no: int
    at: datetime
    #: Field -> (before, after).
    changes: Mapping[str, tuple[Any, Any]]
    tier: Tier
    retention: Retention
    memories: int


class LogEntry(NamedTuple):
    """An entry of the recall log as it was stored: a recall, uses without a query, or a run of the rules."""

    number: int
    at: datetime
    space: int
    #: Empty for uses without a query and for runs of the rules.
    query: str
    tiers: tuple[Tier, ...]
    #: The numbers of the memories that the caller got.
    returned: tuple[int, ...]
    #: As in `RecallEntry`.
    options: Mapping[str, Any]
    id: str = ""


class Tally(NamedTuple):
    """A counter: how often, and the sum of the amounts."""

    times: int = 0
    amount: int = 0


class UsageCounts(NamedTuple):
    """How much the logs hold of some spaces."""

    recalls: int = 0
    receipts: int = 0
    sessions: int = 0
    #: Marks of purged contents, which stay.
    tombstones: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """The number of memories of some spaces, by tier and by retention."""

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
    #: Times, inode and size from the file system.
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


class Succession(NamedTuple):
    """A memory, and another one that has superseded it, or perhaps has."""

    no: int
    successor: int
    #: The parts of it that were superseded; none if all of it was.
    parts: tuple[str, ...]
    content: str


class ClaimRow(NamedTuple):
    """A claim of a sentence of a memory."""

    space: int
    slot: int
    no: int
    sentence: int
    value: int


class ChunkRow(NamedTuple):
    """A piece of a file and the memory that it is."""

    record: Record
    first: int
    last: int
    heading: str
    #: The digest of the content that the file last had for it.
    digest: str


class ChunkLocation(NamedTuple):
    """The position of a memory in a file."""

    path: str
    first: int
    last: int
    heading: str
