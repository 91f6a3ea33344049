"""Maintenance in the background of a long-lived process: one process at a time per store."""

from __future__ import annotations

import logging
import random
import threading
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self

from thermocline.errors import ThermoclineError
from thermocline.storage.store import Store

__all__ = ["Scheduler"]

_log = logging.getLogger(__name__)
_LEASE = "maintain"
#: How long a run may hold the lease without a sign of life; a crash frees it after this.
_TERM = timedelta(minutes=10)


class Scheduler:
    """Runs a job again and again on a thread of its own, in whichever process holds the lease."""

    def __init__(
        self, store: Store, job: Callable[[], object], now: Callable[[], datetime], every: timedelta, jitter: float
    ) -> None:
        self._store = store
        self._job = job
        self._now = now
        self._every = every
        self._jitter = jitter
        self._holder = uuid.uuid4().hex
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        #: Runs that this process has finished.
        self.runs = 0

    def start(self) -> Self:
        """Begin; the first run comes after one interval."""
        if self._thread is None:
            self._stop.clear()
            self._thread = threading.Thread(target=self._loop, name="thermocline-maintain", daemon=True)
            self._thread.start()
        return self

    def stop(self) -> None:
        """Wait for a run that is under way, and end."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def run_once(self) -> bool:
        """Do the job now if no other process is doing it; tell whether it was done."""
        now = self._now()
        if not self._store.lease(_LEASE, self._holder, now, now + _TERM):
            return False
        try:
            self._job()
            self.runs += 1
        finally:
            self._store.release(_LEASE, self._holder)
        return True

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _loop(self) -> None:
        while not self._stop.wait(self._pause()):
            try:
                self.run_once()
            except ThermoclineError as exc:
                _log.warning("maintenance failed and will be tried again: %s", exc)
            except Exception:  # noqa: BLE001 - logged, and tried again
                # A thread that dies in silence would leave the store without maintenance for ever.
                _log.exception("maintenance failed and will be tried again")

    def _pause(self) -> float:
        """Return the seconds to the next run, varied so that many processes do not meet."""
        return self._every.total_seconds() * random.uniform(1 - self._jitter, 1 + self._jitter)
