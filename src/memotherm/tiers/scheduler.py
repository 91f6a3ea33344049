"""Maintenance in the background of a long-lived process: one process at a time for each part of a store."""

from __future__ import annotations

import logging
import random
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Self

from memotherm.errors import LeaseLost, MemothermError
from memotherm.storage.base import OwnProcess
from memotherm.storage.store import Claim, Store

_log = logging.getLogger(__name__)
#: How long a claim is valid without being renewed: after a crash, another process takes over after this time.
_TERM = timedelta(minutes=10)
#: How often a claim is renewed while a job runs.
_RENEW_EVERY = timedelta(minutes=2)


class Scheduler:
    """Runs a job periodically on a background thread, on the parts of a store that it can claim."""

    def __init__(
        self,
        store: Store,
        name: str,
        job: Callable[[Store], object],
        now: Callable[[], datetime],
        every: timedelta,
        jitter: float,
        first: timedelta | None = None,
        renew_every: timedelta = _RENEW_EVERY,
    ) -> None:
        self._process = OwnProcess(store.name)
        self._store = store
        self._name = name
        self._job = job
        self._now = now
        #: The interval.
        self.every = every
        self._jitter = jitter
        #: The time before the first run; None for one interval.
        self._first = first
        self._renew_every = renew_every
        self._holder = uuid.uuid4().hex
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        #: Runs that this process has finished.
        self.runs = 0

    def start(self) -> Self:
        """Start the thread; the first run comes after one interval, or after `first`."""
        self._process.require()
        if self._thread is None:
            self._stop.clear()
            self._thread = threading.Thread(target=self._loop, name="memotherm-maintain", daemon=True)
            self._thread.start()
        return self

    def stop(self) -> None:
        """Wait for the current run, and end the thread; a forked process has none."""
        if not self._process.current:
            return
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def run_once(self, *, rested: timedelta = timedelta()) -> bool:
        """Run the job now on every part of the store that no other process works on; return whether there was one.

        Args:
            rested: How long ago a part must have been done.
        """
        before = self._now() - rested + timedelta(microseconds=1)
        worked = False
        with closing(self._store.claims(self._name, self._holder, self._now, _TERM, before)) as claims:
            for claim in claims:
                try:
                    with self._renewing(claim):
                        self._job(claim.store)
                    worked = True
                except LeaseLost as exc:
                    _log.warning("maintenance was stopped: %s", exc)
        self.runs += worked
        return worked

    @contextmanager
    def _renewing(self, claim: Claim[Any]) -> Iterator[None]:
        """Renew a claim on a background thread until the job ends or the claim is lost."""
        ended = threading.Event()

        def renew() -> None:
            while not ended.wait(self._renew_every.total_seconds()):
                try:
                    if not claim.renew():
                        return
                except MemothermError as exc:
                    _log.warning("the lease of maintenance could not be renewed and will be tried again: %s", exc)

        thread = threading.Thread(target=renew, name="memotherm-renew", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _loop(self) -> None:
        pause = self._pause(self.every if self._first is None else min(self._first, self.every))
        while not self._stop.wait(pause):
            pause = self._pause(self.every)
            try:
                self.run_once(rested=self.every / 2)
            except MemothermError as exc:
                _log.warning("maintenance failed and will be tried again: %s", exc)
            except Exception:  # noqa: BLE001 - logged, and tried again
                # Without this, the thread would end and maintenance would never run again.
                _log.exception("maintenance failed and will be tried again")

    def _pause(self, time: timedelta) -> float:
        """Return the seconds to the next run, with random jitter, so that many processes do not start at once."""
        return time.total_seconds() * random.uniform(1 - self._jitter, 1 + self._jitter)
