"""Change all memories that filters select, all or none, and undo what was changed together: `mem.bulk`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack

from memotherm.errors import InvalidInput, StaleWrite
from memotherm.facade.queries import ANY_RETENTION, LARGEST_PAGE
from memotherm.facade.undoing import undo_batch, undo_events
from memotherm.facade.view import View
from memotherm.model import Memory, Priority, Retention, Tier
from memotherm.model.actions import Action
from memotherm.model.memory import MemoryFilters
from memotherm.model.results import Cooled, Undone
from memotherm.storage.values import Search


class Bulk:
    """Changes of all memories that filters select; nothing is changed unless all can be."""

    def __init__(self, view: View) -> None:
        self._view = view

    def forget(
        self, why: str = "", *, count: int | None = None, dry_run: bool = False, **filters: Unpack[MemoryFilters]
    ) -> list[Memory]:
        """Delete all memories that the filters of `find` select, all or none; `restore` brings them back.

        Args:
            why: The reason, for the ledger.
            count: How many there must be; with another number nothing is changed.
            dry_run: Return the memories without changing them.
            filters: As in `find`; at least one.
        """
        chosen = self._selected(count, filters)
        return chosen if dry_run else self._view.retain(_ids(chosen), Retention.DELETED, Action.FORGET, why)

    def restore(
        self, why: str = "", *, count: int | None = None, dry_run: bool = False, **filters: Unpack[MemoryFilters]
    ) -> list[Memory]:
        """Make all deleted memories that the filters select active again, or with `retention` archived ones.

        The arguments are those of `forget`.
        """
        chosen = self._selected(count, {"retention": Retention.DELETED, **filters})
        return chosen if dry_run else self._view.retain(_ids(chosen), Retention.ACTIVE, Action.RESTORE, why)

    def approve(
        self, why: str = "", *, count: int | None = None, dry_run: bool = False, **filters: Unpack[MemoryFilters]
    ) -> list[Memory]:
        """Approve all proposals that the filters select; only a person can do so.

        The arguments are those of `forget`.
        """
        chosen = self._selected(count, {**filters, "retention": Retention.PROPOSED})
        return chosen if dry_run else self._view.review(_ids(chosen), Retention.ACTIVE, Action.APPROVE, why)

    def reject(
        self, why: str = "", *, count: int | None = None, dry_run: bool = False, **filters: Unpack[MemoryFilters]
    ) -> list[Memory]:
        """Reject all proposals that the filters select.

        The arguments are those of `forget`.
        """
        chosen = self._selected(count, {**filters, "retention": Retention.PROPOSED})
        return chosen if dry_run else self._view.review(_ids(chosen), Retention.DELETED, Action.REJECT, why)

    def purge(
        self, why: str = "", *, count: int | None = None, dry_run: bool = False, **filters: Unpack[MemoryFilters]
    ) -> list[Memory]:
        """Erase all memories that the filters select permanently, deleted and archived ones included.

        The arguments are those of `forget`. Return the memories as they were.
        """
        memories = self._selected(count, {"retention": ANY_RETENTION, **filters})
        if memories and not dry_run:
            named = [filters.get("contains") or "", *(filters.get("mentions") or ())]
            cause = self._view.cause(Action.PURGE, why)
            self._view.services.changes.purge(self._view.scope, _ids(memories), cause, named)
        return memories

    def cool(self, why: str = "") -> Cooled:
        """Move the hot memories of exactly this scope that were not used for longest to warm, until the others fit.

        The limit is that of hot in a prompt, or of the working memory of a session. Pinned and critical memories stay.
        All moves are one run: `undo([event], run=True)` takes them back together.

        Args:
            why: The reason, for the ledger; empty: that hot was over its limit.
        """
        view = self._view
        space, store = view.services.store.collection(view.scope, ""), view.services.store
        search = Search(spaces=() if space is None else (space,), now=view.now(), tiers=(Tier.HOT,), limit=LARGEST_PAGE)
        own = [record.memory for record in store.each(search)][::-1]
        settings, left = view.services.settings, sum(memory.tokens for memory in own)
        limit = settings.hot_max_tokens if view.scope.session is None else settings.hot_token_limit
        cause = view.cause(Action.MOVE, why or f"hot had {left} tokens, and its limit is {limit}")
        chosen: list[str] = []
        for memory in sorted(own, key=lambda memory: memory.accessed_at or memory.created_at):
            if left <= limit:
                break
            if memory.priority not in (Priority.PINNED, Priority.CRITICAL):
                chosen.append(memory.id)
                left -= memory.tokens
        moved = view.services.changes.move_many(view.scope, chosen, Tier.WARM, cause)
        return Cooled(count=len(moved), tokens=left, limit=limit, event=moved[0].version if moved else None)

    def undo(
        self, events: Sequence[int] = (), *, run: bool = False, include_narrower: bool = False, batch: str = ""
    ) -> Undone:
        """Undo several events of the ledger, the newest first, in one transaction.

        An event that cannot be undone, because its memory was changed again since, is skipped with the reason.

        Args:
            events: The numbers of the events.
            run: Also undo all that was made by the same call, such as every move of a compaction.
            include_narrower: Undo events of narrower scopes as well.
            batch: Instead of events: all that a run of `backfill` has stored at and below this scope.
        """
        if bool(events) == bool(batch):
            raise InvalidInput("name the numbers of events, or a batch")
        if batch:
            return undo_batch(self._view, batch)
        return undo_events(self._view, events, run=run, include_narrower=include_narrower)

    def _selected(self, count: int | None, filters: MemoryFilters) -> list[Memory]:
        """Return all memories that filters select and that this scope may change."""
        if not any(value is not None for name, value in filters.items() if name != "retention"):
            raise InvalidInput(
                "no filter is given: name the memories with where, prefix, since, until, kind, tags or others"
            )
        scope, (store, search) = self._view.scope, self._view.listing(**filters)
        found = store.each(replace(search, limit=LARGEST_PAGE))
        selected = [record.memory for record in found if scope.may_change(record.memory.scope)]
        if count is not None and count != len(selected):
            raise StaleWrite(f"{len(selected)} memories match the filters, not {count}: nothing was changed")
        return selected


def _ids(memories: list[Memory]) -> list[str]:
    return [memory.id for memory in memories]
