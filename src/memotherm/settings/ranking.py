"""Settings: recall and ranking."""

from __future__ import annotations

from dataclasses import dataclass

from memotherm.settings.declaration import MAX_DAYS, setting

__all__ = ["RankingSettings"]


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class RankingSettings:
    """How candidates are found and ordered."""

    __slots__ = ()

    fusion: str = setting(
        "evidence",
        "How the vector scores and the text scores are combined.",
        choices=("evidence", "weighted", "rrf"),
        project=True,
    )
    vector_weight: float = setting(
        0.7, "The weight of vectors against `text_weight`, in every fusion; 0: the order is by words.", project=True
    )
    text_weight: float = setting(
        0.3, "The weight of words against `vector_weight`, in every fusion; 0: the order is by vectors.", project=True
    )
    reranker: str = setting(
        "", "The reranker that orders the best candidates of a recall, by its plugin's name; empty: none."
    )
    rerank_candidates: int = setting(
        20, "How many of the best candidates a reranker scores.", low=1, high=1000, project=True
    )
    pool_size: int = setting(
        200, "The most candidates that a query ranks; also the highest `limit`.", low=1, high=10_000, project=True
    )
    min_score: float = setting(0.0, "The least relevance of a hit, unless a call gives another.", high=1, project=True)
    use_weight: float = setting(0.02, "The most that recent use adds to a score.", high=1, project=True)
    use_half_life_days: float = setting(
        30, "Days after which the effect of the last use has halved.", low=0.001, high=MAX_DAYS, project=True
    )
    warm_penalty: float = setting(
        0.02, "What a query over all tiers subtracts from the score of a warm memory.", high=1, project=True
    )
    cold_penalty: float = setting(
        0.1, "What a query over all tiers subtracts from the score of a cold memory.", high=1, project=True
    )
    boost_pinned: float = setting(1.0, "Added to the score of a pinned memory.", low=-10, high=10, project=True)
    boost_critical: float = setting(0.3, "Added to the score of a critical memory.", low=-10, high=10, project=True)
    boost_important: float = setting(0.15, "Added to the score of an important memory.", low=-10, high=10, project=True)
    boost_normal: float = setting(0.0, "Added to the score of a normal memory.", low=-10, high=10, project=True)
    boost_low: float = setting(-0.1, "Added to the score of a memory of low priority.", low=-10, high=10, project=True)
    exact_band_limit: int = setting(
        20_000,
        "Above this number of vectors a search scans 4-bit codes (SQLite) or an index (PostgreSQL), then rescores "
        "exactly.",
    )
    vector_cache_bytes: int = setting(
        256 << 20,
        "How many bytes the vectors take that SQLite keeps in memory for searches; those of the scopes and tiers that "
        "were not searched for long leave first.",
    )
    candidate_cache_bytes: int = setting(
        24 << 20,
        "Bytes of the fields of memories that SQLite keeps in memory for ranking; those that were not candidates for "
        "long leave first.",
    )
    hit_threshold: float = setting(
        0.35, "The metrics count a recall as a hit if its best relevance is at least this.", high=1, project=True
    )
    recall_log: str = setting(
        "text", "What the recall log stores of a query: its text, a hash, or nothing.", choices=("text", "hash", "off")
    )
