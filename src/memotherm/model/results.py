"""What the verbs return beside memories: pages, counts, and what a run of the rules has done.

Frozen, comparable, printable, free of I/O, like the values of `model` that they are made of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from memotherm.model import Event, Memory, Move, Retention, Scope, Tier

__all__ = [
    "Captured",
    "Compaction",
    "EventPage",
    "Maintenance",
    "Metrics",
    "Page",
    "Problem",
    "SessionStatus",
    "Spill",
    "Status",
    "Suggestion",
    "TierCount",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class TierCount:
    """How much one tier holds."""

    memories: int = 0
    tokens: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Compaction:
    """What one run of the tier rules moved, or would move."""

    moves: tuple[Move, ...] = ()
    #: Whether nothing was really moved.
    dry_run: bool = False

    @property
    def hot(self) -> int:
        """How many memories went to hot."""
        return self._count(Tier.HOT)

    @property
    def warm(self) -> int:
        """How many memories went to warm."""
        return self._count(Tier.WARM)

    @property
    def cold(self) -> int:
        """How many memories went to cold."""
        return self._count(Tier.COLD)

    def _count(self, tier: Tier) -> int:
        return sum(move.to is tier for move in self.moves)

    def __str__(self) -> str:
        return f"Tier compaction: hot={self.hot} warm={self.warm} cold={self.cold}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Maintenance:
    """What one run of maintenance did."""

    #: Memories that use or disuse moved.
    moves: tuple[Move, ...] = ()
    #: Memories whose time was over, by what became of them.
    expired: int = 0
    archived: int = 0
    deleted: int = 0
    purged: int = 0
    #: Memories that got the vectors they were waiting for.
    embedded: int = 0
    #: What could not be done, in plain words.
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Spill:
    """What left a session's hot memory, and where each memory went."""

    moved: tuple[Move, ...] = ()

    @property
    def spilled_count(self) -> int:
        """How many memories left."""
        return len(self.moved)

    @property
    def spilled_ids(self) -> tuple[str, ...]:
        """Which memories left."""
        return tuple(move.id for move in self.moved)

    @property
    def target_tier(self) -> str | None:
        """Where they went: warm, cold, or mixed; None when nothing moved."""
        targets = {str(move.to) for move in self.moved}
        return "mixed" if len(targets) > 1 else next(iter(targets), None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Suggestion:
    """Something a session might do next."""

    #: spill, recall or prune.
    type: str
    reason: str
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionStatus:
    """The working memory of one session."""

    session: str
    #: active, archived or summarized.
    state: str
    hot: TierCount
    warm: TierCount
    cold: TierCount
    #: How many hot tokens the session may have.
    limit: int
    suggestions: tuple[Suggestion, ...] = ()

    @property
    def utilization_percent(self) -> float:
        """How much of the hot limit is used."""
        return 100.0 * self.hot.tokens / self.limit if self.limit else 100.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Metrics:
    """How the tiers work out, since the store was made."""

    #: Share of the hot limit in use: a session's own, or `hot_max_tokens` elsewhere.
    hot_utilization: float
    spill_count: int
    recall_count: int
    promotion_count: int
    #: Median and 95th percentile of the last recalls.
    recall_latency_ms: float
    recall_latency_p95_ms: float
    #: Mean of all recalls that looked into cold.
    cold_recall_latency_ms: float
    #: Share of recalls that found something relevant.
    hit_rate: float
    #: Moves by the rule that made them.
    moves: Mapping[str, int]

    def as_dict(self) -> dict[str, float]:
        """Return the six metrics under the names of their source."""
        return {
            "memory_hot_utilization": self.hot_utilization,
            "memory_spill_count": self.spill_count,
            "memory_recall_count": self.recall_count,
            "memory_promotion_count": self.promotion_count,
            "memory_recall_latency_ms": self.cold_recall_latency_ms,
            "memory_hit_rate": self.hit_rate,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Captured:
    """The result of `capture`."""

    #: stored, duplicate or skipped.
    status: str
    memory: Memory | None = None
    why: str = ""
    #: How many characters of recalled memories were removed from the text.
    removed_chars: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class EventPage:
    """A part of the ledger; pass `cursor` to `events` for the next one."""

    events: tuple[Event, ...] = ()
    #: Where the next page begins; None on the last one.
    cursor: str | None = None

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """A part of a listing; pass `cursor` to `find` for the next one."""

    memories: tuple[Memory, ...] = ()
    #: Where the next page begins; None on the last one.
    cursor: str | None = None

    def __iter__(self) -> Iterator[Memory]:
        return iter(self.memories)

    def __len__(self) -> int:
        return len(self.memories)

    def __getitem__(self, index: int) -> Memory:
        return self.memories[index]


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """Something `check()` found to be wrong."""

    #: A stable word for the kind of problem.
    code: str
    #: What exactly is wrong, and where.
    detail: str

    def __str__(self) -> str:
        return f"{self.code}: {self.detail}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Status:
    """What is stored and how it can be searched, seen from one scope."""

    store: str
    scope: Scope
    #: Active memories by tier.
    tiers: Mapping[Tier, TierCount]
    #: Memories by retention, all tiers together.
    retention: Mapping[Retention, int]
    #: The embedder in use, and how many memories still wait for its vectors.
    embedder: str
    pending_vectors: int
    #: Size of the database file.
    bytes: int
    #: Sequence number of the newest event.
    seq: int
    #: The number of the store's schema.
    schema: int
    #: What does not work at the moment, in plain words.
    degraded: tuple[str, ...] = ()
