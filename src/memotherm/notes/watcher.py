"""A watcher that syncs notes after their files have changed, on its own threads.

Folders of notes are watched recursively, the root itself only for its direct entries, so that a large
workspace is cheap to watch. A change during a sync starts another one, and a failed sync is retried: the
last change is never lost.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from memotherm.errors import StoreClosed
from memotherm.notes.values import Sync

_log = logging.getLogger(__name__)
#: How often a watching thread checks whether to stop or to watch other folders, in milliseconds.
_POLL_MS = 200
#: How long changes are collected before they are reported, in milliseconds.
_GROUP_MS = 40
#: Continuous changes delay a sync by at most this many times the debounce time.
_MAX_DEBOUNCES = 4
_RETRY_SECONDS = 1.0
_START_SECONDS = 30.0


class Watcher:
    """Syncs notes after changes until it is stopped: `with notes.watch(): ...`."""

    def __init__(
        self, root: Path, folders: Callable[[], list[Path]], sync: Callable[[], Sync], debounce_ms: int
    ) -> None:
        self._root = root
        self._folders = folders
        self._sync = sync
        self._debounce = debounce_ms / 1000
        self._changed = threading.Event()
        self._stop = threading.Event()
        self._idle = threading.Condition()
        self._threads: list[threading.Thread] = []
        #: The number of syncs, and the result of the last one.
        self.syncs = 0
        self.last: Sync | None = None
        #: The error of the last attempt; None when it succeeded.
        self.problem: str | None = None

    def start(self) -> Self:
        """Start watching: every change after this call is seen, and a first sync is started."""
        if self._threads:
            return self
        self._stop.clear()
        self._changed.set()
        watching = [threading.Event(), threading.Event()]
        loops: dict[str, Callable[[], None]] = {
            "root": partial(self._listen, lambda: [self._root], watching[0], recursive=False),
            "folders": partial(self._listen, self._folders, watching[1], recursive=True),
            "sync": self._work,
        }
        self._threads = [
            threading.Thread(target=loop, name=f"memotherm-notes-{name}", daemon=True) for name, loop in loops.items()
        ]
        *listeners, worker = self._threads
        for thread in listeners:
            thread.start()
        for event in watching:
            event.wait(_START_SECONDS)
        worker.start()
        return self

    def stop(self) -> None:
        """Wait for a running sync, and stop."""
        self._stop.set()
        self._changed.set()
        for thread in self._threads:
            thread.join()
        self._threads = []

    def wait(self, syncs: int, timeout: float = 30.0) -> bool:
        """Wait for a number of syncs; return False after the timeout."""
        with self._idle:
            return self._idle.wait_for(lambda: self.syncs >= syncs, timeout)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # The threads

    def _listen(self, folders: Callable[[], list[Path]], watching: threading.Event, *, recursive: bool) -> None:
        """Watch folders until the watcher is stopped, whatever happens."""
        while not self._stop.is_set():
            try:
                self._listen_once(folders, watching, recursive=recursive)
            except Exception as exc:  # noqa: BLE001 - a thread that ends would miss all later changes
                self.problem = f"cannot watch {self._root}, trying again: {exc}"
                _log.warning("%s", self.problem)
                watching.set()
                self._stop.wait(_RETRY_SECONDS)
                self._changed.set()

    def _listen_once(self, folders: Callable[[], list[Path]], watching: threading.Event, *, recursive: bool) -> None:
        """Watch folders until others have to be watched."""
        import watchfiles

        watched = folders()
        if not watched:
            watching.set()
            self._stop.wait(_POLL_MS / 1000)
            return
        identities = _identities(watched)
        stream = watchfiles.watch(
            *watched,
            watch_filter=None,
            debounce=_GROUP_MS,
            step=_GROUP_MS // 2,
            stop_event=self._stop,
            rust_timeout=_POLL_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
            recursive=recursive,
            ignore_permission_denied=True,
        )
        for changes in stream:
            # The first result means that watching has started; earlier changes are synced now.
            if not watching.is_set() or any(_is_relevant(path) for _, path in changes):
                self._changed.set()
            watching.set()
            if folders() != watched or _identities(watched) != identities:
                break
        self._changed.set()

    def _work(self) -> None:
        while True:
            self._changed.wait()
            if self._stop.is_set():
                return
            self._wait_for_quiet()
            if self._stop.is_set():
                return
            self._changed.clear()
            if not self._try_sync() and not self._stop.wait(_RETRY_SECONDS):
                self._changed.set()

    def _wait_for_quiet(self) -> None:
        """Wait until nothing has changed for the debounce time."""
        if not self.syncs:
            return
        deadline = time.monotonic() + _MAX_DEBOUNCES * self._debounce
        while time.monotonic() < deadline:
            self._changed.clear()
            if self._stop.is_set() or not self._changed.wait(self._debounce):
                return

    def _try_sync(self) -> bool:
        try:
            result = self._sync()
        except StoreClosed:
            self._stop.set()
            return False
        except Exception as exc:  # noqa: BLE001 - a thread that ends would leave all later changes unsynced
            self.problem = str(exc) or repr(exc)
            _log.warning("notes could not be synced and will be tried again: %s", exc)
            return False
        with self._idle:
            self.last, self.problem = result, None
            self.syncs += 1
            self._idle.notify_all()
        return True


def _identities(folders: list[Path]) -> list[tuple[int, int] | None]:
    """Return the device and inode of each folder: a replaced folder has the same path and another inode."""
    identities: list[tuple[int, int] | None] = []
    for folder in folders:
        try:
            status = folder.stat()
        except OSError:
            identities.append(None)
        else:
            identities.append((status.st_dev, status.st_ino))
    return identities


def _is_relevant(path: str) -> bool:
    """Return whether a path may be a note: a Markdown file, a transcript, or a folder."""
    name = path.replace("\\", "/").rpartition("/")[2]
    if name.startswith("."):
        return False
    return name.casefold().endswith((".md", ".jsonl")) or "." not in name
