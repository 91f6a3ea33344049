"""Collect the names in the memories of a store, by which a hook of a tool knows that no memory concerns its call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from memotherm.hooks.calls import names_none
from memotherm.hooks.events import HookEvent, Options
from memotherm.hooks.project import deciding_files
from memotherm.hooks.quick import names_file, save_names
from memotherm.model.marks import ANCHORS
from memotherm.settings import Settings, default_store
from memotherm.settings.paths import sqlite_path, user_file
from memotherm.text.tool_calls import ToolCall
from memotherm.text.triggers import trigger_names
from memotherm.workspace.anchors import paths_of

if TYPE_CHECKING:
    from memotherm import Memotherm

#: The most events that one hook looks at; later ones go on from there.
_MOST_EVENTS = 1000


class Names:
    """The names in the memories of one store, and of the events that were seen; saved after the store was closed.

    A store on a server, and an encrypted one, have none: its hooks always ask it.
    """

    def __init__(self, event: HookEvent, options: Options, settings: Settings, scope: Mapping[str, str]) -> None:
        store = options.store or default_store(settings)
        file = sqlite_path(store)
        self._local = settings.key == "" and file is not None
        self._store = (file or Path()).absolute()
        self._path = names_file(options.arguments, event.folder)
        self._folder = event.folder or Path()
        self._names: set[str] = set()
        self._seen: dict[str, int] = {}
        self._scope = dict(scope)
        #: Whether all events were seen; None if no store was asked.
        self._complete: bool | None = None
        with suppress(OSError, ValueError, KeyError, AttributeError):
            saved = json.loads(Path(self._path).read_text("utf-8"))
            # Those of another scope say nothing about the earlier memories of this one.
            if self._local and saved["scope"] == self._scope:
                self._names, self._seen = set(saved["names"]), dict(saved["seen"])

    def __enter__(self) -> Names:
        return self

    def collect(self, mem: Memotherm) -> None:
        """Add the names in the memories that have changed since the last time."""
        if not self._local:
            return
        complete = True
        for place, narrower in (("visible", False), ("inside", True)):
            page = mem.events(_MOST_EVENTS, f"after-{self._seen.get(place, 0)}", include_narrower=narrower)
            ids = {event.memory_id for event in page if event.memory_id}
            for memory in mem.find(ids=sorted(ids), limit=len(ids), include_narrower=narrower) if ids else ():
                about = paths_of(memory.metadata.get(ANCHORS))
                self._names |= trigger_names(memory.kind, memory.content, about)
            if page.events:
                self._seen[place] = page.events[-1].seq
            complete &= page.cursor is None
        self._complete = complete

    def have(self, call: ToolCall) -> bool:
        """Return whether a call has one of the names that are known so far."""
        return not names_none(call, self._names)

    def concern(self, call: ToolCall) -> bool:
        """Return whether a memory may concern a call; it does not if all names are known, and the call has none."""
        return self._complete is not True or self.have(call)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Save the names with the state of the files, which the closed store no longer changes."""
        if kind is None and self._complete is not None:
            here = Path.cwd()
            names = ("memotherm.toml", "pyproject.toml")
            settings = [user_file(), *(folder / name for folder in (here, *here.parents) for name in names)]
            store = [self._store, self._store.with_name(f"{self._store.name}-wal")]
            files = [*store, *settings, *deciding_files(self._folder)]
            with suppress(OSError):
                known = map(str, files) if self._complete else ()
                save_names(self._path, known, self._names, self._seen, self._scope)
