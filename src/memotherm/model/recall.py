"""The result of a query: hits, the parts of their scores, and how memories were used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from memotherm.model.memory import Memory, Scope, Tier
from memotherm.model.value import Value

#: Metrics count a recall as answered from this relevance on.
HIT_THRESHOLD = 0.35
#: The end of a hint that cold has better matches: how to see them.
SEARCH_COLD = "(recall with tiers=hot,warm,cold)"
#: Uses count as recent until a pause this long.
USE_WINDOW = timedelta(days=7)


class UseKind(StrEnum):
    """How a memory was used."""

    #: A recall returned it.
    RETURNED = "returned"
    #: The agent's answer repeats it, and the query did not.
    REFLECTED = "reflected"
    #: The caller confirmed the use.
    CONFIRMED = "confirmed"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Feedback(Value):
    """The uses counted by feedback about a recall; each counts once."""

    recall_id: str
    #: The ids of the memories that the caller confirmed.
    confirmed: tuple[str, ...] = ()
    #: The ids of the memories that the answer reflects.
    reflected: tuple[str, ...] = ()


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
    #: Added for recent use.
    use: float = 0.0
    #: Added for the priority.
    boost: float = 0.0
    #: Subtracted for the tier, by queries that penalise tiers.
    tier: float = 0.0
    #: The score difference from swapping places with an older or newer version of the same statement.
    newer: float = 0.0
    #: The reranker's score, which orders the best candidates; None without a reranker.
    rerank: float | None = None
    #: Two versions of a statement in different tiers: "newer" for the one in the lower tier, "older" for the other;
    #: None for all other hits.
    version: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the parts by name."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

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
    #: Whether the files that it is about are fresh, moved, changed, gone or unknown; empty if it is about none, or if
    #: nobody has looked.
    files: str = field(default="", repr=False)

    def explain(self) -> str:
        """Return the score and its parts in one line."""
        return f"{self.score:.2f} = {self.why}"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Recall(Value):
    """The result of a query: hits, best first; a sequence of them. Pinned memories are beside them."""

    #: The argument for `feedback`; None if the recall was not logged.
    recall_id: str | None = field(default=None, compare=False)
    query: str
    hits: tuple[Hit, ...] = ()
    #: The pinned memories that the scope sees, the newest `max_pinned`, whatever the query; they are no hits.
    pinned: tuple[Hit, ...] = ()
    #: Ids that this recall moved to hot.
    promoted: tuple[str, ...] = ()
    #: The tiers that were searched.
    tiers: tuple[Tier, ...] = ()
    #: The confidence that the hits answer the query, 0 to 1.
    confidence: float = 0.0
    #: What did not work or was left out, in plain words; empty when nothing was.
    degraded: tuple[str, ...] = ()
    #: Where better matches are: in cold, if the answer is weak; in narrower scopes, if no memory is visible.
    hint: str = ""

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, index: int) -> Hit:
        return self.hits[index]


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class TimedRecall(Value):
    """A query in the recall log: how long it took, and whether it found something."""

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
    #: The best relevance among the hits, 0 to 1; at least `HIT_THRESHOLD` counts as answered.
    best: float
    #: How many memories were returned.
    returned: int
    #: What did not work, in plain words.
    degraded: tuple[str, ...] = ()
