"""Reports: receipts of contexts, what a store contains, how it is used, and what was erased."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from memotherm.model.memory import Memory, Retention, Scope, Tier
from memotherm.model.receipts import KeptReceipt
from memotherm.model.results import Event, LoggedRecall, TierCount
from memotherm.model.value import Value


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Heat(Value):
    """How much a memory is used; maintenance keeps a memory hot by it."""

    #: The logarithm of the number of uses, times the decay.
    heat: float
    #: 1 at the time of the last use, halved after every 30 days without one.
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

    #: Percentage of the hot limit in use, in the fullest session (`hot_token_limit`) or other scope (`hot_max_tokens`).
    hot_utilization: float
    spill_count: int
    recall_count: int
    #: Moves to hot, for any reason; storing a memory hot does not count.
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
    #: Durations of recalls without and with cold.
    live_recalls: Durations = field(default_factory=Durations)
    cold_recalls: Durations = field(default_factory=Durations)
    #: Entries of the recall log that this process has lost because the store was busy.
    dropped_log_entries: int = 0

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
class Erased(Value):
    """What was erased in a scope and in narrower ones."""

    scope: Scope
    #: Memories of any retention; how many of them had vectors, and words in the text index.
    memories: int = 0
    with_vectors: int = 0
    with_words: int = 0
    #: Entries of the recall log, receipts of contexts, and states of sessions.
    recalls: int = 0
    receipts: int = 0
    sessions: int = 0
    #: Note files removed from the index, and the folders where the files remain.
    notes: int = 0
    folders: tuple[str, ...] = ()
    #: Digests of erased contents, so that imports do not bring them back.
    tombstones: int = 0
    #: Captured texts that waited for a worker, on this machine and on the server.
    jobs: int = 0


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Uses(Value):
    """The recalls that returned a memory, and the contexts that considered it, newest first."""

    #: Logged recalls that returned it.
    recalls: tuple[LoggedRecall, ...] = ()
    #: Stored receipts of contexts that included it or left it out.
    receipts: tuple[KeptReceipt, ...] = ()
    #: How many contexts with a stored receipt included it, and when the last one did; None if none did.
    injected_count: int = 0
    last_injected_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Activity(Value):
    """What one session, or all that was stored outside of sessions, said in a project on a day."""

    #: The day, such as 2026-01-31.
    day: str
    project: str
    session: str
    first: datetime
    last: datetime
    memories: int = 0
    #: The first sentence that was said, and the files that were edited.
    title: str = ""
    files: tuple[str, ...] = ()

    def __str__(self) -> str:
        span = f"{self.first:%H:%M}" if self.first == self.last else f"{self.first:%H:%M}-{self.last:%H:%M}"
        files = f" [{', '.join(self.files[:5])}]" if self.files else ""
        return f"{span} {self.title} ({self.memories}){files}"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Batch(Value):
    """What one run of `backfill` has stored."""

    #: The name, for `undo`.
    name: str
    at: datetime
    #: The memories that it has stored, and how many of them were not deleted since.
    stored: int
    left: int


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class TierPoint(Value):
    """The number of active memories per tier at a moment."""

    at: datetime
    hot: int
    warm: int
    cold: int


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Everything(Value):
    """Everything stored in a scope and in narrower ones, oldest first."""

    #: Memories of any retention but purged.
    memories: tuple[Memory, ...] = ()
    events: tuple[Event, ...] = ()
    receipts: tuple[KeptReceipt, ...] = ()
    recalls: tuple[LoggedRecall, ...] = ()


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
    #: Where the memories are, if none is visible from this scope.
    hint: str = ""
