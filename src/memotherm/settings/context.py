"""Settings: context."""

from __future__ import annotations

from dataclasses import dataclass

from memotherm.settings.declaration import MAX_DAYS, setting

__all__ = ["ContextSettings"]


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class ContextSettings:
    """What a context contains, and in which form."""

    __slots__ = ()

    recall_max_tokens: int = setting(
        800, "Tokens reserved for recalled memories, and the most they may cost in the context of a turn.", project=True
    )
    auto_recall_include_cold: bool = setting(False, "Whether a context also searches cold memories.", project=True)
    on_pinned_overflow: str = setting(
        "cut",
        "What happens when the pinned memories exceed the budget: leave out the oldest, or raise an error.",
        choices=("cut", "error"),
        project=True,
    )
    count_injected: bool = setting(True, "Whether inclusion in a context counts as a use.", project=True)
    context_hits: int = setting(100, "The most hits of the search that compete for space.", high=10_000, project=True)
    context_min_score: float = setting(0.0, "The least relevance of such a hit.", high=1, project=True)
    context_min_confidence: float = setting(
        0.3, "The least confidence of a search whose hits enter a context; 0: they always do.", high=1, project=True
    )
    context_entry_tokens: int = setting(
        500, "The most tokens of one memory that is not pinned; a longer one is shortened.", low=1, project=True
    )
    verified_days: float = setting(
        90, "Days after which a context says when a fact was last verified.", high=MAX_DAYS, project=True
    )
    context_role: str = setting(
        "user", "The role in the format `messages`.", choices=("user", "system", "developer", "tool")
    )
