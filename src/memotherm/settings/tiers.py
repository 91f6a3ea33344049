"""Settings: tiers."""

from __future__ import annotations

from dataclasses import dataclass

from memotherm.settings.declaration import MAX_DAYS, setting

__all__ = ["TierSettings"]

_MOST_WEIGHT = 100


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class TierSettings:
    """When compaction and recalls move memories between tiers."""

    __slots__ = ()

    tiering: bool = setting(True, "Whether compaction moves anything.", project=True)
    hot_max_tokens: int = setting(2000, "The most tokens of the hot memories in a context.", project=True)
    hot_max_facts: int = setting(50, "The most memories that compaction leaves hot.", project=True)
    compaction_on_session_end: bool = setting(True, "Whether the end of a session runs compaction.", project=True)
    compact_every_run: bool = setting(
        False, "Whether compaction also runs at the end of every run of the agent.", project=True
    )
    inactive_preference_days: float = setting(
        7, "Days without use after which compaction moves a hot preference to warm.", high=MAX_DAYS, project=True
    )
    task_cold_after_days: float = setting(
        14,
        "Days without a change or use after which compaction moves a decision or a task to cold; 0: at once.",
        high=MAX_DAYS,
        project=True,
    )
    strict_hot_blockers_only: bool = setting(False, "Whether compaction leaves nothing but blockers in hot.")
    promote_threshold: float = setting(
        0.85, "The relevance at which a recalled memory is promoted to hot.", high=1, project=True
    )
    promote_access_count: int = setting(
        3,
        "The uses within `use_window_days` after which a recall or maintenance promotes a memory to hot.",
        low=1,
        project=True,
    )
    use_window_days: float = setting(
        7, "The days in which uses count towards `promote_access_count`.", high=MAX_DAYS, project=True
    )
    weight_returned: float = setting(
        1.0, "What it counts as a use that a search found a memory; 0: nothing.", high=_MOST_WEIGHT, project=True
    )
    weight_injected: float = setting(
        0.0,
        "What it counts as a use that a memory was in a context without a search, because it is hot or pinned.",
        high=_MOST_WEIGHT,
        project=True,
    )
    weight_opened: float = setting(
        1.0, "What it counts as a use that a memory was read by its id after a recall.", high=_MOST_WEIGHT, project=True
    )
    weight_confirmed: float = setting(
        2.0, "What it counts as a use that the caller confirmed it with `feedback`.", high=_MOST_WEIGHT, project=True
    )
    weight_reflected: float = setting(
        1.0, "What it counts as a use that the agent's answer says what a memory says.", high=_MOST_WEIGHT, project=True
    )
    opened_minutes: float = setting(
        60, "Minutes after a recall in which reading a returned memory by its id counts as opened.", project=True
    )
