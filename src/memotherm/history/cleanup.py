"""How long Claude Code keeps transcripts: it deletes them after `cleanupPeriodDays`, by default 30, without a word."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from memotherm.history.sources.claude_code import ClaudeCode
from memotherm.hooks.hosts import HOSTS
from memotherm.hooks.settings_files import FileChange, merged_json
from memotherm.model.clock import system_clock
from memotherm.settings.paths import environment

#: What is offered: ten years.
KEEP_DAYS = 3650
_DEFAULT_DAYS = 30
_SETTING = "cleanupPeriodDays"
_HOST = HOSTS[ClaudeCode.name]


class Cleanup(NamedTuple):
    """After how many days transcripts are deleted, and the age of the oldest in days."""

    days: int
    oldest: int

    @property
    def soon(self) -> bool:
        """Whether transcripts are deleted in the next years."""
        return self.days < KEEP_DAYS

    def __str__(self) -> str:
        oldest = f"your oldest transcript is {self.oldest} days old"
        return f"{_HOST.title} deletes transcripts after {self.days} days; {oldest}"


def cleanup() -> Cleanup | None:
    """Return when transcripts are deleted; None if there are none."""
    source = ClaudeCode()
    found = [each for root in source.roots(environment(), Path.home()) for each in source.transcripts(root)]
    times = [int(each.changed.rpartition(":")[2]) / 1e9 for each in found]
    if not times:
        return None
    oldest = system_clock() - datetime.fromtimestamp(min(times), UTC)
    return Cleanup(cleanup_days(), max(oldest.days, 0))


def change_of_cleanup(days: int) -> FileChange | None:
    """Return the change of the settings of Claude Code that keeps transcripts for some days; None if it does so."""
    return merged_json(_file(), lambda values: {**values, _SETTING: days})


def cleanup_days() -> int:
    """Return the number in the settings of the user."""
    days = _DEFAULT_DAYS

    def look(values: dict[str, object]) -> dict[str, object]:
        nonlocal days
        value = values.get(_SETTING)
        if isinstance(value, int) and not isinstance(value, bool):
            days = value
        return values

    merged_json(_file(), look)
    return days


def _file() -> Path:
    file = _HOST.files(None).hooks
    assert file is not None  # noqa: S101 - this host has one
    return file
