"""Work that is done after its caller has gone on: the vectors of long contents."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable

from memotherm.errors import MemothermError
from memotherm.model.process import OwnProcess

_log = logging.getLogger(__name__)


class Background:
    """Jobs that one thread runs in their order; it ends when there are none.

    The interpreter waits for it when it ends. What fails is logged: the vectors are then missing, as the status says.
    """

    def __init__(self, name: str) -> None:
        self._process = OwnProcess(name)
        self._lock = threading.Lock()
        self._jobs: deque[Callable[[], object]] = deque()
        self._thread: threading.Thread | None = None

    def add(self, job: Callable[[], object]) -> None:
        """Run a job after those that were added before."""
        with self._lock:
            self._jobs.append(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="memotherm-vectors")
                self._thread.start()

    def wait(self) -> None:
        """Return when all jobs have ended."""
        while self._process.current and (thread := self._thread) is not None:
            thread.join()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._jobs:
                    self._thread = None
                    return
                job = self._jobs.popleft()
            try:
                job()
            except MemothermError as exc:
                _log.warning("a long content waits for its vectors: %s", exc)
            except Exception:  # noqa: BLE001 - the next job is run
                _log.exception("a long content waits for its vectors")
