"""The folders of Markdown notes that a memory knows: open them, and keep their indexes up to date."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from memotherm.errors import InvalidInput, MemothermError, NotFound
from memotherm.model import Scope
from memotherm.storage.values import RootRow

if TYPE_CHECKING:
    from memotherm.facade.view import View
    from memotherm.notes.notes import Notes

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
        return self._notes(self.view.scope, folder, extra_paths, name)

    def sync_at_start(self) -> None:
        """Synchronise the known folders and `notes_root` when a session starts; errors are logged."""
        store = self.view.services.store
        space = store.collection(self.view.scope, "")
        if space is not None and store.session_state(space) is not None:
            return
        folders = [self._known(root) for root in store.roots(self.view.spaces()) if Path(root.path).is_dir()]
        configured = Path(self.view.services.settings.notes_root or os.devnull).expanduser()
        if configured.is_dir() and configured.resolve() not in {notes.root for notes in folders}:
            folders += self._configured()
        for notes in folders:
            try:
                notes.sync()
            except MemothermError as exc:
                _log.warning("the notes of %s could not be synced: %s", notes.root, exc)

    def refresh(self) -> tuple[str, ...]:
        """Synchronise the notes of `notes_root` before memories are read; return what may be out of date, and why."""
        try:
            return tuple(reason for notes in self._configured() for reason in notes.refresh()[1])
        except InvalidInput as exc:
            return (f"the notes could not be synced: {exc}",)

    def _configured(self) -> list[Notes]:
        """Return the notes of `notes_root` as each scope that the view can see has indexed them."""
        services, scope = self.view.services, self.view.scope
        path = str(Path(services.settings.notes_root).expanduser().resolve())
        visible = [root for root in services.store.roots(self.view.spaces()) if root.path == path]
        known = [root for root in visible if root.scope.tenant == scope.tenant]
        if scope.tenant is not None and not known:
            # The folder is the operator's; a tenant neither changes its index nor gets a copy.
            return []
        # A folder that is not indexed yet belongs to the scope around a session, like other lasting memories.
        return [self._known(root) for root in known] or [self._notes(replace(scope, session=None), path)]

    def _known(self, root: RootRow) -> Notes:
        """Return the notes of a folder that is indexed."""
        return self._notes(root.scope, root.path, root.extra, root.collection.removeprefix("notes:"))

    def _notes(
        self, scope: Scope, root: str | PathLike[str], extra_paths: Sequence[str] = (), name: str | None = None
    ) -> Notes:
        # Only a memory with notes needs them.
        from memotherm.notes.notes import Notes, NoteServices

        services = self.view.services
        tools = NoteServices(
            store=services.store,
            vectorizer=services.vectorizer,
            pipeline=services.pipeline,
            settings=services.settings,
            scope=scope,
            now=self.view.now,
            actor=self.view.actor,
            trust=self.view.trust,
        )
        return Notes(tools, root, extra_paths, name)
