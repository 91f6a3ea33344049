"""The store itself: `mem.store`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime, timedelta
from os import PathLike
from typing import TYPE_CHECKING, Any

from memotherm.facade.keys import KeyValue
from memotherm.facade.undoing import undo_batch
from memotherm.facade.view import View
from memotherm.model import Scope, Trust
from memotherm.model.actions import Action
from memotherm.model.clock import as_duration
from memotherm.model.memory import UNREAD_TURN
from memotherm.model.results import LARGEST_PAGE, Undone
from memotherm.remember.export_scope import move_project
from memotherm.remember.writer import imported_draft
from memotherm.storage.values import Cause, EventFilter, Search
from memotherm.text.claims import Claims, claims_of_many
from memotherm.tiers.scheduler import Scheduler
from memotherm.vectors.vectorizer import Progress

if TYPE_CHECKING:
    from memotherm.notes.imports import Imported


#: The namespace of the time of the last backup, and the age from which one is due.
_BACKUPS = "backups"
_BACKUP_AGE = timedelta(days=7)
#: The namespace of the transcripts that were read.
TRANSCRIPTS = "transcripts"

#: The interval of maintenance in the background.
_MAINTAIN_EVERY = timedelta(hours=1)
#: The share by which the interval of maintenance varies at random.
_MAINTENANCE_JITTER = 0.2


class Upkeep:
    """The store itself, which a memory on a server does not have.

    `encrypt`, `decrypt`, `rekey`, `migrate` and `distribute` are functions of the package: they need a
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

    def repair(self) -> None:
        """Rebuild the text index from the memories, if `check` says that it is lost or differs from them."""
        self._view.services.all_tenants.repair()

    def import_(
        self,
        kind: str,
        path: str | PathLike[str],
        progress: Progress | None = None,
        trust: Trust | str | None = None,
    ) -> Imported:
        """Import memories of another program, or of an export; a second import stores nothing twice.

        Exported memories keep all their fields except `version`; `skipped` names those that were left out or changed.
        The times at which other programs stored theirs are kept, and users, agents and projects become the scope, as
        far as the scope of this memory does not set them.

        Args:
            kind: openclaw, claude-code, codex, mcp-memory, mem0, claude-mem, hindsight, or jsonl for an export.
            path: The file or folder.
            progress: Called with (entries done, entries in all); what is done stays if it is interrupted.
            trust: The highest trust of the imported memories, at most that of the caller; with `import`, none of them
                is hot or pinned. None restores an export as it was, and is `import` for other programs.
        """
        from memotherm.notes.imports import import_memories

        view, now = self._view, self._view.now()
        restored = Trust.PERSON if kind == "jsonl" else Trust.IMPORT
        by = (Trust.of(trust) if trust else restored).at_most(view.trust)

        cause = replace(view.cause(Action.REMEMBER), at=now, by=by)

        def store(entries: Sequence[Mapping[str, Any]], within: Mapping[str, str]) -> list[str]:
            # Rows of a tenant are written through its own view of the store.
            inner = view.narrowed(**{**within, **dict(view.scope.items())})
            # An entry that does not say whose it is is the caller's.
            drafts = [imported_draft(entry, view.trust) for entry in entries]
            return inner.services.writer.import_drafts(drafts, inner.scope, cause)

        return import_memories(kind, path, now, view.services.settings, store, progress, by)

    def add_history(
        self,
        entries: Iterable[Mapping[str, Any]],
        batch: str,
        at: datetime,
        read: Mapping[str, Mapping[str, Any]] | None = None,
        claims: Mapping[str, Claims] | None = None,
    ) -> list[str]:
        """Store texts of past sessions, oldest first, and which transcripts were read, in one transaction.

        Words can be searched at once; vectors are made by maintenance. An entry of the kind "unread-turn" corrects
        nothing; a later one with its id, and another kind, takes its place.

        Args:
            entries: The arguments of `remember`, `created_at`, `scope`, `trust`, and `state` with the id.
            batch: The actor of the events, by which `undo_batch` finds them.
            at: When the events happened; the same for all of a batch.
            read: The transcripts, and the state in which each was read.
            claims: The claims of the contents, as `claims_of_many` returns them; others are found here.

        Returns:
            For each entry "stored", "read" if it took the place of a turn, "known", "forgotten", or why it was left
            out.
        """
        listed, outcomes = list(entries), dict[int, str]()
        known = dict(claims or {})
        known |= claims_of_many(
            each["content"] for each in listed if each["kind"] != UNREAD_TURN and each["content"] not in known
        )
        places = defaultdict[tuple[object, ...], list[int]](list)
        for number, entry in enumerate(listed):
            places[*sorted(entry["scope"].items()), entry["trust"]].append(number)
        corrects: dict[int, tuple[View, Cause]] = {}
        transcripts = self.key_value(TRANSCRIPTS)
        with transcripts.unit_of_work():
            for numbers in places.values():
                inner, cause = self._place(listed[numbers[0]], batch, at)
                drafts = [imported_draft(_arguments(listed[number]), cause.by) for number in numbers]
                stored = inner.services.writer.import_drafts(drafts, inner.scope, cause, known)
                outcomes |= zip(numbers, stored, strict=True)
                corrects |= dict.fromkeys(numbers, (inner, cause))
            # What was said later is there already, and is left as it is.
            for number, entry in enumerate(listed):
                said = known.get(entry["content"])
                if said is not None and said.corrects and outcomes[number] in ("stored", "read"):
                    inner, cause = corrects[number]
                    inner.services.writer.correct(entry["state"]["id"], inner.scope, cause, said)
            for name, state in (read or {}).items():
                transcripts.put(name, state)
        return [outcomes[number] for number in range(len(listed))]

    def _place(self, entry: Mapping[str, Any], batch: str, at: datetime) -> tuple[View, Cause]:
        """Return the view of the scope of an entry of past sessions, and the cause of its events."""
        view = self._view
        by = view.trust.at_most(Trust(entry["trust"]))
        inner = view.narrowed(**{**entry["scope"], **dict(view.scope.items())})
        return inner, Cause(action=Action.REMEMBER, at=at, actor=batch, by=by)

    def transcripts_read(self) -> dict[str, dict[str, Any]]:
        """Return the transcripts that were read, and the state in which each was."""
        return self.key_value(TRANSCRIPTS).all()

    def captured_sessions(self) -> dict[str, datetime]:
        """Return the sessions of which hooks have stored something, and when the first of it was said."""
        view = self._view
        store, spaces = view.store_inside, view.spaces_inside()
        search = Search(spaces=tuple(spaces), now=view.now(), sources=("hook",), limit=LARGEST_PAGE)
        first: dict[str, datetime] = {}
        for record in store.each(search):
            session, said = str(record.memory.metadata.get("session", "")), record.memory.created_at
            first[session] = min(said, first.get(session, said))
        return first

    def undo_batch(self, batch: str, progress: Progress | None = None) -> Undone:
        """Undo all events of a batch, such as that of a backfill, in every scope; repeat it if it was interrupted.

        Args:
            batch: The name of the batch, which is the actor of its events.
            progress: Called with (events done, events in all).
        """
        view = self._view
        everywhere = View(view.services, Scope(tenant=view.scope.tenant), view.caller)
        return undo_batch(everywhere, batch, progress)

    def snapshot(self, *, include_narrower: bool = False) -> AbstractContextManager[object]:
        """Let the reads of this thread see one state of the store: `with mem.store.snapshot(): ...`.

        Nothing may be written inside; other threads and processes may write meanwhile.

        Args:
            include_narrower: Whether listings inside take `include_narrower`, too.
        """
        return self._view.place(include_narrower=include_narrower)[0].flushed_snapshot()

    def move_project(self, old: str, new: str) -> dict[str, str]:
        """Move the memories of a project to another one, such as after its repository was renamed.

        Each move is an event of the ledger, and `bulk.undo` with `run` takes all of them back; users, agents and
        sessions of the memories stay. A memory is not moved if the other project has the same one, if a limit forbids
        it, or if it is part of a note, which has the scope of its folder. Recall log and receipts are not moved.

        Args:
            old: The project to move from.
            new: The project to move to.

        Returns:
            For each memory, by its id, why it was not moved; an empty text if it was.
        """
        view = self._view
        cause = view.cause(Action.MOVE_PROJECT, f"{old} -> {new}")
        services = view.services
        return move_project(services.store, services.changes, view.scope.tenant, old, new, cause)

    def maintenance(self, every_minutes: float | None = None, first_minutes: float | None = None) -> Scheduler:
        """Return a scheduler that runs maintenance in the background: `with mem.store.maintenance(): ...`.

        Of all processes that use the store, only one runs maintenance at a time, and a run is left out if another
        process has finished one less than half an interval ago.

        Args:
            every_minutes: The interval; None for an hour.
            first_minutes: The time before the first run; None for one interval.
        """
        view = self._view
        every = _MAINTAIN_EVERY if every_minutes is None else as_duration(timedelta(minutes=every_minutes))
        name = f"maintain {view.scope}" if view.scope.items() else "maintain"
        first = None if first_minutes is None else as_duration(timedelta(minutes=first_minutes))
        return Scheduler(view.store_inside, name, view.maintain, view.now, every, _MAINTENANCE_JITTER, first)

    def missing_nodes(self) -> tuple[str, ...]:
        """Return the nodes of a distributed store that do not answer, each as host:port."""
        return self._view.services.all_tenants.missing_nodes()

    def last_backup(self) -> tuple[datetime | None, bool]:
        """Return when the last checkpoint was made, and whether one is due.

        It is due if the last one, or the first change of a store without one, is older than a week; never for a
        database server, which has backups of its own.
        """
        view, store = self._view, self._view.services.all_tenants
        last = (self.key_value(_BACKUPS).get("last") or {}).get("at")
        made = datetime.fromisoformat(last) if last else None
        if not store.writes_checkpoints:
            return made, False
        spaces = store.spaces_within(Scope())
        first = [] if made else store.ledger(spaces, None, 1, EventFilter(), oldest_first=True)
        since = first[0].at if first else made
        return made, since is not None and view.now() - since > _BACKUP_AGE

    def record_backup(self) -> None:
        """Record that a checkpoint was made."""
        if self._view.services.all_tenants.writable:
            self.key_value(_BACKUPS).put("last", {"at": self._view.now().isoformat()})

    def key_value(self, namespace: str) -> KeyValue:
        """Return the JSON values of a namespace, such as the server's API keys; no scope applies to them."""
        return KeyValue(self._view.services.all_tenants, namespace, self._view.now)


def _arguments(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name not in ("scope", "trust")}
