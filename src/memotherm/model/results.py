"""Results of the facade other than memories: pages, counts, and the effects of a run of the rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from memotherm.model import Event, Memory, Move, Retention, Scope, Tier
from memotherm.model.receipts import KeptReceipt
from memotherm.model.value import Value

__all__ = [
    "Captured",
    "Compaction",
    "Durations",
    "Erased",
    "EventPage",
    "Everything",
    "Heat",
    "LoggedRecall",
    "Maintenance",
    "Metrics",
    "Page",
    "Problem",
    "ScopeCount",
    "SessionStatus",
    "Spill",
    "Status",
    "Suggestion",
    "TierCount",
    "TierPoint",
    "Uses",
]


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class TierCount(Value):
    """Memories and tokens in one tier."""

    memories: int = 0
    tokens: int = 0


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Compaction(Value):
    """The moves of one run of the tier rules."""

    moves: tuple[Move, ...] = ()
    #: Whether the moves were only computed.
    dry_run: bool = False
    #: The rules that failed and moved nothing, in plain words.
    degraded: tuple[str, ...] = ()

    @property
    def hot(self) -> int:
        """How many memories moved to hot."""
        return self._count(Tier.HOT)

    @property
    def warm(self) -> int:
        """How many memories moved to warm."""
        return self._count(Tier.WARM)

    @property
    def cold(self) -> int:
        """How many memories moved to cold."""
        return self._count(Tier.COLD)

    def _count(self, tier: Tier) -> int:
        return sum(move.to is tier and move.retention is None for move in self.moves)

    def __str__(self) -> str:
        return f"Tier compaction: hot={self.hot} warm={self.warm} cold={self.cold}"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Maintenance(Value):
    """The effects of one run of maintenance."""

    #: Moves because of use or disuse.
    moves: tuple[Move, ...] = ()
    #: Numbers of memories that expired, and whose retention changed.
    expired: int = 0
    archived: int = 0
    deleted: int = 0
    purged: int = 0
    #: Sessions that nobody had ended.
    ended: int = 0
    #: Memories that got their missing vectors.
    embedded: int = 0
    #: What could not be done, in plain words.
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Spill(Value):
    """The memories that a spill moved out of a session's hot tier."""

    moved: tuple[Move, ...] = ()

    @property
    def spilled_count(self) -> int:
        """How many memories moved."""
        return len(self.moved)

    @property
    def spilled_ids(self) -> tuple[str, ...]:
        """The ids of the memories that moved."""
        return tuple(move.id for move in self.moved)

    @property
    def target_tier(self) -> str | None:
        """The tier they moved to: warm, cold, or mixed; None when nothing moved."""
        targets = {str(move.to) for move in self.moved}
        return "mixed" if len(targets) > 1 else next(iter(targets), None)


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Suggestion(Value):
    """A recommended action for a session."""

    #: spill, recall or prune.
    type: str
    reason: str
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class SessionStatus(Value):
    """The working memory of one session."""

    session: str
    #: active, archived or summarized.
    state: str
    hot: TierCount
    warm: TierCount
    cold: TierCount
    #: The most hot tokens of the session.
    limit: int
    suggestions: tuple[Suggestion, ...] = ()

    @property
    def utilization_percent(self) -> float:
        """The share of the hot limit in use, in percent."""
        return 100.0 * self.hot.tokens / self.limit if self.limit else 100.0


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Heat(Value):
    """How much a memory is used; maintenance reads it when it decides whether a memory stays hot."""

    #: The logarithm of the number of uses, times the decay.
    heat: float
    #: 1 at the time of the last use, halved after every `heat_half_life_days` without one.
    decay: float


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Durations(Value):
    """A histogram of durations."""

    #: (upper bound in milliseconds, how many took at most that long); the last bound is infinite.
    buckets: tuple[tuple[float, int], ...] = ()
    #: The sum of all durations, in milliseconds.
    total_ms: float = 0.0

    @property
    def count(self) -> int:
        """The number of durations."""
        return self.buckets[-1][1] if self.buckets else 0


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Metrics(Value):
    """How the tiers perform, since the store was created."""

    #: Percentage of the hot limit in use: the session's limit, or `hot_max_tokens` outside of a session.
    hot_utilization: float
    spill_count: int
    recall_count: int
    #: Moves to hot, whatever made them; a memory that is stored hot is not counted.
    promotion_count: int
    #: Median and 95th percentile of the last recalls.
    recall_latency_ms: float
    recall_latency_p95_ms: float
    #: Mean of all recalls that searched cold.
    cold_recall_latency_ms: float
    #: Share of recalls that found something relevant.
    hit_rate: float
    #: Number of moves by rule.
    moves: Mapping[str, int] = field(hash=False)
    #: The durations of recalls that did not search cold, and of those that did.
    live_recalls: Durations = field(default_factory=Durations)
    cold_recalls: Durations = field(default_factory=Durations)
    #: Returned memories that policies in the shadow would have had cold, by hash.
    shadow_missed: Mapping[str, int] = field(default_factory=dict, hash=False)

    def as_dict(self) -> dict[str, float]:
        """Return the six metrics under their exported names."""
        return {
            "memory_hot_utilization": self.hot_utilization,
            "memory_spill_count": self.spill_count,
            "memory_recall_count": self.recall_count,
            "memory_promotion_count": self.promotion_count,
            "memory_recall_latency_ms": self.cold_recall_latency_ms,
            "memory_hit_rate": self.hit_rate,
        }


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Captured(Value):
    """The result of `capture`: whether a text was stored, and why or why not."""

    #: stored, duplicate or skipped; spooled if the server of a remote store cannot be reached.
    status: str
    memory: Memory | None = None
    why: str = ""
    #: How many characters of recalled memories were removed from the text.
    removed_chars: int = 0
    #: How many credentials and private passages were replaced by a mark.
    redacted: int = 0


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Erased(Value):
    """What was erased at and below a scope."""

    scope: Scope
    #: Memories of any retention; those of them with vectors, and with words in the text index.
    memories: int = 0
    with_vectors: int = 0
    with_words: int = 0
    #: Entries of the recall log, receipts of contexts, and states of sessions.
    recalls: int = 0
    receipts: int = 0
    sessions: int = 0
    #: Files of notes that are no longer indexed, and the folders where they still are.
    notes: int = 0
    folders: tuple[str, ...] = ()
    #: Marks of erased contents, without the contents, which keep imports from bringing them back.
    tombstones: int = 0
    #: Captured texts of hooks that waited for a worker on this machine, and on the server.
    jobs: int = 0


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class LoggedRecall(Value):
    """An entry of the recall log."""

    at: datetime
    #: The query, or its SHA-256 if the setting `recall_log` says so; empty for uses without a query.
    query: str
    tiers: tuple[Tier, ...] = ()
    #: How many memories were returned.
    returned: int = 0


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Uses(Value):
    """Where a memory was returned, and included in a context or left out, each newest first."""

    #: Recalls that returned it, as far as they are logged.
    recalls: tuple[LoggedRecall, ...] = ()
    #: Contexts that included it or left it out, as far as their receipts are kept.
    receipts: tuple[KeptReceipt, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class TierPoint(Value):
    """How many active memories each tier had at a moment."""

    at: datetime
    hot: int
    warm: int
    cold: int


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Everything(Value):
    """What is stored at and below a scope, each oldest first."""

    #: Memories of any retention but purged.
    memories: tuple[Memory, ...] = ()
    events: tuple[Event, ...] = ()
    receipts: tuple[KeptReceipt, ...] = ()
    recalls: tuple[LoggedRecall, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class EventPage(Value):
    """A page of the ledger; pass `cursor` to `events` for the next one."""

    events: tuple[Event, ...] = ()
    #: Where the next page starts; None on the last one.
    cursor: str | None = None

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Page(Value):
    """A page of a listing; pass `cursor` to `find` for the next one."""

    memories: tuple[Memory, ...] = ()
    #: Where the next page starts; None on the last one.
    cursor: str | None = None
    #: Where the memories are, if none can be seen from this scope.
    hint: str = ""

    def __iter__(self) -> Iterator[Memory]:
        return iter(self.memories)

    def __len__(self) -> int:
        return len(self.memories)

    def __getitem__(self, index: int) -> Memory:
        return self.memories[index]


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Problem(Value):
    """A problem found by `check()`."""

    #: The kind of problem, a stable identifier.
    code: str
    #: What is wrong, and where.
    detail: str

    def __str__(self) -> str:
        return f"{self.code}: {self.detail}"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class ScopeCount(Value):
    """What is stored in exactly one scope, without what is in narrower ones."""

    scope: Scope
    #: Active memories by tier.
    tiers: Mapping[Tier, TierCount] = field(hash=False)
    #: Archived and deleted memories.
    hidden: int = 0

    @property
    def memories(self) -> int:
        """How many active memories it has."""
        return sum(count.memories for count in self.tiers.values())

    @property
    def tokens(self) -> int:
        """The tokens of its active memories."""
        return sum(count.tokens for count in self.tiers.values())


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Status(Value):
    """What a store contains and how it is searched, as seen from one scope."""

    store: str
    scope: Scope
    #: Active memories by tier.
    tiers: Mapping[Tier, TierCount] = field(hash=False)
    #: Memories by retention, all tiers together.
    retention: Mapping[Retention, int] = field(hash=False)
    #: The embedder in use, and the number of memories without its vectors.
    embedder: str
    pending_vectors: int
    #: Size of the database file.
    bytes: int
    #: Sequence number of the newest event.
    seq: int
    #: The number of the store's schema.
    schema: int
    #: The name and hash of the adopted policy; empty for the built-in rules.
    policy: str = ""
    #: What does not work at the moment, in plain words.
    degraded: tuple[str, ...] = ()
    #: Where the memories are, if none can be seen from this scope.
    hint: str = ""
