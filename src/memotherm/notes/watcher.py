"""A watcher that syncs when files have come to rest, on threads of its own.

Folders of notes are watched with everything in them, the root itself only for what stands directly in
it, so that a large workspace costs nothing. What changes while a sync runs is seen by the next one, and
a sync that failed is tried again: the last change is never lost.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from memotherm.errors import MemothermError, StoreClosed
from memotherm.notes.values import Sync

__all__ = ["Watcher"]

_log = logging.getLogger(__name__)
#: How often a watching thread looks whether it should end or watch other folders, in milliseconds.
_LOOK_MS = 200
#: How long changes are collected before they are looked at.
_GROUP_MS = 40
#: A stream of changes without rest is not waited for longer than so many times the rest.
_MOST_RESTS = 4
_RETRY_SECONDS = 1.0
_START_SECONDS = 30.0


class Watcher:
    """Keeps an index in line with files until it is stopped: `with notes.watch(): ...`."""

    def __init__(self, root: Path, folders: Callable[[], list[Path]], sync: Callable[[], Sync], rest_ms: int) -> None:
        self._root = root
        self._folders = folders
        self._sync = sync
        self._rest = rest_ms / 1000
        self._changed = threading.Event()
        self._stop = threading.Event()
        self._idle = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._ready = threading.Barrier(4)
        #: Syncs that were done, and what the last one came to.
        self.syncs = 0
        self.last: Sync | None = None
        #: What went wrong in the last attempt, in plain words; None when it worked.
        self.problem: str | None = None

    def start(self) -> Self:
        """Begin: when this returns, every later change will be seen, and a first sync is under way."""
        if self._threads:
            return self
        self._stop.clear()
        self._changed.set()
        loops = (self._watch_root, self._watch_folders, self._work)
        names = ("root", "folders", "sync")
        self._ready = threading.Barrier(4)
        self._threads = [
            threading.Thread(target=loop, name=f"memotherm-notes-{name}", daemon=True)
            for loop, name in zip(loops, names, strict=True)
        ]
        for thread in self._threads:
            thread.start()
        self._ready.wait(_START_SECONDS)
        return self

    def stop(self) -> None:
        """Wait for a sync that is under way, and end."""
        self._stop.set()
        self._changed.set()
        for thread in self._threads:
            thread.join()
        self._threads = []

    def wait(self, syncs: int, timeout: float = 30.0) -> bool:
        """Wait until so many syncs were done; tell whether they were."""
        with self._idle:
            return self._idle.wait_for(lambda: self.syncs >= syncs, timeout)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # The threads

    def _watch_root(self) -> None:
        self._listen(lambda: [self._root], recursive=False)

    def _watch_folders(self) -> None:
        self._listen(self._folders, recursive=True)

    def _listen(self, folders: Callable[[], list[Path]], *, recursive: bool) -> None:
        """Watch folders that may come and go; each change of them is a change too."""
        first = True
        while not self._stop.is_set():
            watched = folders()
            if not watched:
                first = self._begun(first)
                self._stop.wait(_LOOK_MS / 1000)
                continue
            try:
                first = self._listen_to(watched, folders, recursive=recursive, first=first)
            except (OSError, RuntimeError) as exc:
                _log.warning("cannot watch %s, trying again: %s", ", ".join(map(str, watched)), exc)
                first = self._begun(first)
                self._stop.wait(_RETRY_SECONDS)
            self._changed.set()

    def _listen_to(
        self, watched: list[Path], folders: Callable[[], list[Path]], *, recursive: bool, first: bool
    ) -> bool:
        import watchfiles

        identities = _identities(watched)
        stream = watchfiles.watch(
            *watched,
            watch_filter=None,
            debounce=_GROUP_MS,
            step=_GROUP_MS // 2,
            stop_event=self._stop,
            rust_timeout=_LOOK_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
            recursive=recursive,
            ignore_permission_denied=True,
        )
        for found in stream:
            # The first answer says that the watch has begun; what was written before is looked at now.
            if first or any(_matters(path) for _, path in found):
                self._changed.set()
            first = self._begun(first)
            if folders() != watched or _identities(watched) != identities:
                break
        return first

    def _begun(self, first: bool) -> bool:
        """Let the others begin once this thread watches."""
        if first:
            self._ready.wait()
        return False

    def _work(self) -> None:
        self._ready.wait()
        while True:
            self._changed.wait()
            if self._stop.is_set():
                return
            self._let_rest()
            if self._stop.is_set():
                return
            self._changed.clear()
            if not self._synced() and not self._stop.wait(_RETRY_SECONDS):
                self._changed.set()

    def _let_rest(self) -> None:
        """Wait until nothing has changed for a while."""
        if not self.syncs:
            return
        deadline = time.monotonic() + _MOST_RESTS * self._rest
        while time.monotonic() < deadline:
            self._changed.clear()
            if self._stop.is_set() or not self._changed.wait(self._rest):
                return

    def _synced(self) -> bool:
        try:
            done = self._sync()
        except StoreClosed:
            self._stop.set()
            return False
        except (MemothermError, OSError) as exc:
            self.problem = str(exc)
            _log.warning("notes could not be synced and will be tried again: %s", exc)
            return False
        with self._idle:
            self.last, self.problem = done, None
            self.syncs += 1
            self._idle.notify_all()
        return True


def _identities(folders: list[Path]) -> list[tuple[int, int] | None]:
    """Return which folders these are: one that was replaced has the same name and is another one."""
    found: list[tuple[int, int] | None] = []
    for folder in folders:
        try:
            told = folder.stat()
        except OSError:
            found.append(None)
        else:
            found.append((told.st_dev, told.st_ino))
    return found


def _matters(path: str) -> bool:
    """Tell whether a change may be one of a note: a Markdown file, a transcript, or a folder."""
    name = path.replace("\\", "/").rpartition("/")[2]
    if name.startswith("."):
        return False
    return name.casefold().endswith((".md", ".jsonl")) or "." not in name
