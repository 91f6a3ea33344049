"""The result of a query: hits with their scores and the parts of each score."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memotherm.model.memory import Memory, Priority, Scope, Tier
from memotherm.model.value import Value

__all__ = ["Hit", "Recall", "TimedRecall", "Why"]


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Why(Value):
    """The parts of a score. Thresholds apply to `relevance`."""

    #: Calibrated similarity of the vectors, 0 to 1; None when the vector search did not find it.
    vector: float | None = None
    #: Strength of the keyword match, 0 to 1; None when the text search did not find it.
    text: float | None = None
    #: Whether the query names the author.
    author: bool = False
    #: How near it is to a time that the query names, 0 to 1.
    time: float = 0.0
    #: The fused evidence before use and boosts, 0 to 1.
    relevance: float = 0.0
    #: What recency and use added.
    use: float = 0.0
    #: What the priority added.
    boost: float = 0.0
    #: What the tier subtracted, for queries that penalise tiers.
    tier: float = 0.0
    #: What an exchange with an older or newer version of the same statement added or took.
    newer: float = 0.0
    #: The reranker's score, which orders the best candidates; None without a reranker.
    rerank: float | None = None
    #: "newer" for a newer version, in a lower tier, of a statement that a closer tier has too, and "older" for that
    #: one; None for all others.
    version: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the parts by name."""
        return {
            "vector": self.vector,
            "text": self.text,
            "author": self.author,
            "time": self.time,
            "relevance": self.relevance,
            "use": self.use,
            "boost": self.boost,
            "tier": self.tier,
            "newer": self.newer,
            "rerank": self.rerank,
            "version": self.version,
        }

    def __str__(self) -> str:
        evidence = [
            f"{name} {value:.2f}" for name, value in (("vector", self.vector), ("text", self.text)) if value is not None
        ]
        evidence += ["author"] if self.author else []
        evidence += [f"time {self.time:.2f}"] if self.time else []
        parts = [f"relevance {self.relevance:.2f} ({' + '.join(evidence) or 'not searched'})"]
        parts += [
            f"{name} {value:+.2f}"
            for name, value in (("use", self.use), ("priority", self.boost), ("tier", self.tier), ("newer", self.newer))
            if value
        ]
        parts += [] if self.version is None else [f"the {self.version} of two versions in different tiers"]
        parts += [] if self.rerank is None else [f"reranked by {self.rerank:.2f}"]
        return ", ".join(parts)


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Hit(Value):
    """A memory found by a query, with its score and the parts of the score."""

    memory: Memory
    #: Relevance in [0, 1], adjusted by use, plus the priority's boost; hits without `why.rerank` are ordered by it.
    score: float
    why: Why = field(repr=False)

    def explain(self) -> str:
        """Return the score and its parts in one line."""
        return f"{self.score:.2f} = {self.why}"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Recall(Value):
    """The result of a query: hits, best first. Pinned memories come first and do not count towards the limit."""

    #: What `feedback` takes; None if the recall log does not have it.
    recall_id: str | None = field(default=None, compare=False)
    query: str
    hits: tuple[Hit, ...] = ()
    #: Ids that this recall moved to hot.
    promoted: tuple[str, ...] = ()
    #: The tiers that were searched.
    tiers: tuple[Tier, ...] = ()
    #: How likely the hits beside the pinned ones answer the query at all, 0 to 1.
    confidence: float = 0.0
    #: What did not work, in plain words; empty when everything did.
    degraded: tuple[str, ...] = ()
    #: Where the memories are, if none can be seen from the scope.
    hint: str = ""

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, index: int) -> Hit:
        return self.hits[index]

    @property
    def pinned(self) -> tuple[Hit, ...]:
        """The hits that are pinned memories."""
        return tuple(hit for hit in self.hits if hit.memory.priority is Priority.PINNED)


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class TimedRecall(Value):
    """A query of the recall log: what it cost, and whether it found something."""

    #: Its number; a later one has a higher number.
    number: int
    at: datetime
    #: The scope that it was asked from.
    scope: Scope
    #: None if the recall log stores no texts.
    query: str | None
    #: The tiers that were searched.
    tiers: tuple[Tier, ...]
    milliseconds: float
    #: The best relevance among the hits, 0 to 1; from `hit_threshold` on it counts as answered.
    best: float
    #: How many memories the caller got.
    returned: int
    #: What did not work, in plain words.
    degraded: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the query as plain values."""
        return {
            "number": self.number,
            "at": self.at.isoformat(),
            "scope": dict(self.scope.items()),
            "query": self.query,
            "tiers": [str(tier) for tier in self.tiers],
            "milliseconds": round(self.milliseconds, 3),
            "best": round(self.best, 4),
            "returned": self.returned,
            "degraded": list(self.degraded),
        }
