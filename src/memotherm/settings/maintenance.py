"""Settings: maintenance and retention."""

from __future__ import annotations

from dataclasses import dataclass

from memotherm.settings.declaration import MAX_DAYS, setting

__all__ = ["RETENTION_WINDOWS", "DefaultWindow", "MaintenanceSettings"]

#: The windows that each value of `retention` sets.
RETENTION_WINDOWS: dict[str, dict[str, float]] = {
    "off": {},
    "standard": {"archive_after_days": 90, "delete_after_days": 60, "grace_days": 7},
}


class DefaultWindow(int):
    """The default of a window, which `retention` replaces; a window that was given is a plain number."""


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class MaintenanceSettings:
    """What maintenance moves, hides and erases, in the whole store."""

    __slots__ = ()

    maintain_every_minutes: float = setting(60, "Minutes between two runs of background maintenance.", low=0.0001)
    maintain_jitter: float = setting(0.2, "The share by which that interval varies at random.", high=1)
    cool_hot_days: float = setting(30, "Days without use after which a hot memory becomes warm.", high=MAX_DAYS)
    cool_warm_days: float = setting(180, "Days without use after which a warm memory becomes cold.", high=MAX_DAYS)
    keep_hot_heat: float = setting(1.0, "The heat (decayed number of uses) at which a memory stays hot all the same.")
    heat_half_life_days: float = setting(30, "Days after which heat has halved.", low=0.001, high=MAX_DAYS)
    warm_again_uses: int = setting(1, "Uses after which a cold memory becomes warm.", low=1)
    min_stay_days: float = setting(
        1, "Days that a memory stays in a tier before maintenance moves it again.", high=MAX_DAYS
    )
    retention: str = setting(
        "off",
        "`standard` sets the windows `archive_after_days`, `delete_after_days` and `grace_days` that are not given "
        "to 90, 60 and 7.",
        choices=tuple(RETENTION_WINDOWS),
    )
    archive_after_days: float = setting(
        DefaultWindow(0), "Days without use after which a memory is archived; 0: never.", high=MAX_DAYS
    )
    delete_after_days: float = setting(
        DefaultWindow(0), "Days after which an archived memory is deleted; 0: never.", high=MAX_DAYS
    )
    grace_days: float = setting(
        DefaultWindow(7), "Days in which a deleted memory can be restored before maintenance purges it.", high=MAX_DAYS
    )
    clock_check: str = setting(
        "system",
        "Which clock maintenance checks for jumps ahead before it erases anything: `system`, not one that was given "
        "to `open`; `always`, any clock; `off`, none.",
        choices=("system", "always", "off"),
    )
    end_session_days: float = setting(
        7, "Days without a change or use after which maintenance ends a session; 0: never.", high=MAX_DAYS
    )
    recall_log_days: float = setting(30, "Days that entries of the recall log are stored.", high=MAX_DAYS)
    receipt_days: float = setting(
        30, "Days that receipts of contexts are stored: what was injected, and why; 0: none are.", high=MAX_DAYS
    )
