"""The store itself: vectors, imports, maintenance in the background, the nodes of a cluster: `mem.store`."""

from __future__ import annotations

from datetime import timedelta
from os import PathLike
from typing import TYPE_CHECKING

from memotherm.model.clock import as_duration
from memotherm.remember.writer import Importer
from memotherm.storage.keyvalue import KeyValue
from memotherm.tiers.scheduler import Scheduler
from memotherm.vectors.vectorizer import Progress
from memotherm.view import View

if TYPE_CHECKING:
    from memotherm.notes import Imported

__all__ = ["KeyValue", "Upkeep"]

#: The share by which the interval of maintenance varies at random.
_MAINTENANCE_JITTER = 0.2


class Upkeep:
    """The store itself, which a memory on a server does not have.

    `encrypt`, `decrypt`, `rekey`, `migrate`, `partition` and `distribute` are functions of the package: they need a
    store that nobody has open.
    """

    def __init__(self, view: View) -> None:
        self._view = view

    @property
    def embedding_seconds(self) -> float:
        """How long the embedder has worked on contents since the store was opened."""
        return self._view.services.vectorizer.seconds

    def reembed(self, progress: Progress | None = None) -> int:
        """Make the missing vectors, and return for how many memories they were made.

        After a change of embedder the old vectors are used until all new ones are made, if the former embedder can
        be found by its name to embed queries; an interrupted run continues where it stopped.
        """
        return self._view.services.vectorizer.reembed(self._view.now(), progress)

    def import_(self, kind: str, path: str | PathLike[str], progress: Progress | None = None) -> Imported:
        """Import memories of another program, or of an export; a second import stores nothing twice.

        Memories that were archived when they were exported are stored as archived. The times at which other programs
        stored theirs are kept, and users, agents and projects become the scope, as far as the scope of this memory
        does not set them.

        Args:
            kind: openclaw, claude-code, codex, mcp-memory, mem0, letta, claude-mem, mempalace, hindsight, or jsonl
                for an export.
            path: The file or folder.
            progress: Called with (entries done, entries in all); what is done stays if it is interrupted.
        """
        from memotherm.notes.imports import import_memories

        services, scope, now = self._view.services, self._view.scope, self._view.now()
        importer = Importer(services.store, services.writer, scope, now, self._view.actor)
        return import_memories(kind, path, now, services.settings, importer.store, progress)

    def maintenance(self, every_minutes: float | None = None, first_minutes: float | None = None) -> Scheduler:
        """Return a scheduler that runs maintenance in the background: `with mem.store.maintenance(): ...`.

        Of all processes that use the store, only one runs maintenance at a time, and a run is left out if another
        process has finished one less than half an interval ago.

        Args:
            every_minutes: The interval; None for the setting `maintain_every_minutes`.
            first_minutes: The time before the first run; None for one interval.
        """
        view = self._view
        minutes = view.services.settings.maintain_every_minutes if every_minutes is None else every_minutes
        every = as_duration(timedelta(minutes=minutes))
        name = f"maintain {view.scope}" if view.scope.items() else "maintain"
        first = None if first_minutes is None else as_duration(timedelta(minutes=first_minutes))
        return Scheduler(view.store_inside, name, view.maintain, view.now, every, _MAINTENANCE_JITTER, first)

    def missing_nodes(self) -> tuple[str, ...]:
        """Return the nodes of a distributed store that do not answer, each as host:port."""
        return self._view.services.all_tenants.missing_nodes()

    def key_value(self, namespace: str) -> KeyValue:
        """Return the JSON values of a namespace, such as the server's API keys; no scope applies to them."""
        return KeyValue(self._view.services.all_tenants, namespace, self._view.now)
