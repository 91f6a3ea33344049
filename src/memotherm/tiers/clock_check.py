"""Whether the clock has jumped ahead since the last run of maintenance."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from memotherm.model.clock import from_micros, system_clock, to_micros
from memotherm.settings import Settings
from memotherm.storage.store import Store

__all__ = ["CLOCK_JUMPED", "ClockCheck", "ClockChecks"]

#: The longest time between two runs that is not a jump, and the time that nothing is erased after one.
_DAY = timedelta(days=1)
_NEVER = datetime.min.replace(tzinfo=UTC)
#: How the notice of a jump begins.
CLOCK_JUMPED = "the clock jumped ahead"
_NAMESPACE, _KEY = "maintenance", "clock"


@dataclass(frozen=True, kw_only=True, slots=True)
class ClockCheck:
    """What the runs of maintenance have seen of the clock."""

    #: The time of the last run.
    last: datetime | None = None
    #: The time of the run that saw the clock jump ahead; None if there was none in the last day.
    jumped: datetime | None = None
    #: The time of the run before the jump.
    before: datetime | None = None

    def next(self, now: datetime) -> ClockCheck:
        """Return what a run at this time sees; a clock that was set back ends a jump."""
        if self.last is None or now - self.last > _DAY:
            return ClockCheck(last=now, jumped=now, before=self.last)
        if self.jumped is not None and self.jumped <= now < self.jumped + _DAY:
            return replace(self, last=now)
        return ClockCheck(last=now)

    @property
    def due_at(self) -> datetime | None:
        """The time at which a purge must have been due, if the clock may have jumped since."""
        return None if self.jumped is None else self.before or _NEVER

    def notice(self, now: datetime) -> str | None:
        """Return why memories past their grace may not be purged yet; None if they are."""
        if self.jumped is None or not self.jumped <= now < self.jumped + _DAY:
            return None
        return (
            f"{CLOCK_JUMPED}, or maintenance had not run for more than a day: what is past its grace since then is "
            f"purged from {self.jumped + _DAY:%Y-%m-%d %H:%M} UTC on, unless the clock is set back before"
        )


class ClockChecks:
    """The check of a store's clock, which all its tenants share."""

    def __init__(self, store: Store, settings: Settings, clock: object) -> None:
        self._store = store
        #: Whether jumps of this clock have consequences; a clock that the caller gave is believed.
        self.enabled = settings.clock_check == "always" or (settings.clock_check == "system" and clock is system_clock)

    def read(self, now: datetime) -> ClockCheck:
        """Return what the last run has seen."""
        text = self._store.get_values(_NAMESPACE, now, _KEY).get(_KEY, "{}")
        return ClockCheck(**{name: from_micros(micros) for name, micros in json.loads(text).items()})

    def write(self, check: ClockCheck, now: datetime) -> None:
        """Store what this run has seen, for the next one."""
        times = {"last": check.last, "jumped": check.jumped, "before": check.before}
        text = json.dumps({name: to_micros(time) for name, time in times.items() if time is not None})
        self._store.put_value(_NAMESPACE, _KEY, text, now, None, replace=True)
