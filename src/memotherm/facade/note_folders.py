"""The folders of Markdown notes that a memory knows: open them, and keep their indexes up to date."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

from memotherm.errors import InvalidInput, MemothermError, NotFound
from memotherm.facade.view import View
from memotherm.model import Memory, Scope
from memotherm.notes.notes import Notes, NoteServices
from memotherm.remember.draft import Draft
from memotherm.storage.values import RootRow

_log = logging.getLogger(__name__)


class NoteFolders:
    """The folders of notes of one scope."""

    def __init__(self, view: View) -> None:
        self.view = view

    def open(self, root: str | PathLike[str] | None, extra_paths: Sequence[str], name: str | None) -> Notes:
        """Return the notes of a folder; None is that of the setting `notes_root`."""
        folder = self.view.services.settings.notes_root if root is None else root
        if not folder:
            raise NotFound("there are no notes: name their folder, or set notes_root to it")
        return Notes(self._tools(self.view.scope), folder, extra_paths, name)

    def sync_at_start(self) -> None:
        """Synchronise the known folders when a session starts; errors are logged."""
        store = self.view.services.store
        space = store.collection(self.view.scope, "")
        if space is not None and store.session_state(space) is not None:
            return
        for root in store.roots(self.view.spaces()):
            if not Path(root.path).is_dir():
                continue
            try:
                self._known(root).sync()
            except MemothermError as exc:
                _log.warning("the notes of %s could not be synced: %s", root.path, exc)

    def refresh(self) -> tuple[str, ...]:
        """Synchronise the notes of `notes_root` before a recall; return what may be out of date, and why."""
        services, scope = self.view.services, self.view.scope
        path = str(Path(services.settings.notes_root).expanduser().resolve())
        visible = [root for root in services.store.roots(self.view.spaces()) if root.path == path]
        known = [root for root in visible if root.scope.tenant == scope.tenant]
        if scope.tenant is not None and not known:
            # The folder is the operator's; a tenant neither changes its index nor gets a copy.
            return ()
        try:
            # A folder that is not indexed yet belongs to the scope around a session, like other lasting memories.
            around = replace(scope, session=None)
            notes = [self._known(root) for root in known] or [Notes(self._tools(around), path)]
            return tuple(reason for each in notes for reason in each.refresh()[1])
        except InvalidInput as exc:
            return (f"the notes could not be synced: {exc}",)

    def _known(self, root: RootRow) -> Notes:
        """Return the notes of a folder that is indexed."""
        return Notes(self._tools(root.scope), root.path, root.extra, root.collection.removeprefix("notes:"))

    def _tools(self, scope: Scope) -> NoteServices:
        services = self.view.services
        return NoteServices(
            store=services.store,
            vectorizer=services.vectorizer,
            pipeline=services.pipeline,
            settings=services.settings,
            scope=scope,
            now=self.view.now,
            actor=self.view.actor,
            get=self.view.get,
            remember=self._remember,
            update=self._update,
        )

    def _remember(self, content: str) -> Memory:
        draft = Draft(content=content, source="note")
        return self.view.services.writer.remember([draft], self.view.scope, self.view.now(), self.view.actor)[0]

    def _update(self, memory_id: str, content: str) -> Memory:
        return self.view.update(memory_id, content, {}, why="settled with its note")
