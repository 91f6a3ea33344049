"""The date in the user's time zone."""

from __future__ import annotations

from datetime import date, datetime

from memotherm.errors import SettingsError
from memotherm.settings import Settings

__all__ = ["local_day"]


def local_day(now: datetime, settings: Settings) -> date:
    """Return the date of a moment in the user's time zone, or in the system's."""
    if not settings.timezone:
        return now.astimezone().date()
    # Imported here, because most users set no time zone.
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return now.astimezone(ZoneInfo(settings.timezone)).date()
    except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
        raise SettingsError(f"unknown timezone {settings.timezone!r}: write for example Europe/Berlin") from exc
