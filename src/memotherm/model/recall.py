"""The answer to a query: hits, their scores, and how each score came about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from memotherm.model.memory import Memory, Priority, Tier

__all__ = ["Hit", "Recall", "Why"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Why:
    """How a score came about. `relevance` is what thresholds look at."""

    #: Calibrated similarity of meaning, 0 to 1; None when this leg did not find it.
    vector: float | None = None
    #: Strength of the keyword match, 0 to 1; None when this leg did not find it.
    text: float | None = None
    #: Whether the question names who said it.
    author: bool = False
    #: How near it is to a time the question names, 0 to 1.
    time: float = 0.0
    #: The fused score before decay, use and boosts, 0 to 1.
    relevance: float = 0.0
    #: What recency and use added.
    use: float = 0.0
    #: What the priority added.
    boost: float = 0.0
    #: What the tier took away, where a door asks for that.
    tier: float = 0.0
    #: What an exchange with an older or newer version of the same statement added or took.
    newer: float = 0.0
    #: The reranker's score, which orders the best candidates; None without a reranker.
    rerank: float | None = None

    def __str__(self) -> str:
        legs = [
            f"{name} {value:.2f}" for name, value in (("vector", self.vector), ("text", self.text)) if value is not None
        ]
        legs += ["author"] if self.author else []
        legs += [f"time {self.time:.2f}"] if self.time else []
        parts = [f"relevance {self.relevance:.2f} ({' + '.join(legs) or 'not searched'})"]
        parts += [
            f"{name} {value:+.2f}"
            for name, value in (("use", self.use), ("priority", self.boost), ("tier", self.tier), ("newer", self.newer))
            if value
        ]
        parts += [] if self.rerank is None else [f"reranked by {self.rerank:.2f}"]
        return ", ".join(parts)


@dataclass(frozen=True, kw_only=True, slots=True)
class Hit:
    """A memory that answers a query, with its score and the reasons for it."""

    memory: Memory
    #: Relevance in [0, 1], adjusted by use, plus the priority's boost; hits without `why.rerank` are ordered by it.
    score: float
    why: Why

    def explain(self) -> str:
        """Return one line that says how the score came about."""
        return f"{self.score:.2f} = {self.why}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Recall:
    """The answer to a query: hits, best first; pinned memories come first and beside the limit."""

    query: str
    hits: tuple[Hit, ...] = ()
    #: Ids that this recall moved to hot.
    promoted: tuple[str, ...] = ()
    #: The tiers that were searched.
    tiers: tuple[Tier, ...] = ()
    #: What did not work, in plain words; empty when every leg answered.
    degraded: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, index: int) -> Hit:
        return self.hits[index]

    @property
    def pinned(self) -> tuple[Hit, ...]:
        """The hits that are there because they are pinned."""
        return tuple(hit for hit in self.hits if hit.memory.priority is Priority.PINNED)
