"""Change all memories that filters select, all or none, and undo what was changed together: `mem.bulk`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Unpack

from memotherm.errors import InvalidInput, StaleWrite
from memotherm.facade.queries import ANY_RETENTION
from memotherm.facade.undoing import undo_batch, undo_events
from memotherm.facade.view import View
from memotherm.model import Memory, Priority, Retention, Tier
from memotherm.model.actions import Action
from memotherm.model.memory import MemoryFilters
from memotherm.model.results import LARGEST_PAGE, Cooled, Undone
from memotherm.storage.values import Search


class Bulk:
    """Changes of all memories that filters select; nothing is changed unless all can be."""

    def __init__(self, view: View) -> None:
        self._view = view

    def forget(
        self, why: str = "", *, count: int | None = None, dry_run: bool = False, include_narrower: bool = False,
        **filters: Unpack[MemoryFilters],
    ) -> list[Memory]:  # fmt: skip
        """Delete all memories that the filters of `find` select, all or none; `restore` brings them back.

        Args:
            why: The reason, for the ledger.
            count: How many there must be; with another number nothing is changed.
            dry_run: Return the memories without changing them.
            include_narrower: Select everything at and below the scope; those of each tenant are changed together.
            filters: As in `find`; at least one.
        """
        change = partial(View.retain, wanted=Retention.DELETED, action=Action.FORGET, why=why)
        return self._changed(change, filters, count, dry_run=dry_run, inside=include_narrower)

    def restore(
        self, why: str = "", *, count: int | None = None, dry_run: bool = False, include_narrower: bool = False,
        **filters: Unpack[MemoryFilters],
    ) -> list[Memory]:  # fmt: skip
        """Make all deleted memories that the filters select active again, or with `retention` archived ones.

        The arguments are those of `forget`.
        """
        change = partial(View.retain, wanted=Retention.ACTIVE, action=Action.RESTORE, why=why)
        wanted: MemoryFilters = {"retention": Retention.DELETED, **filters}
        return self._changed(change, wanted, count, dry_run=dry_run, inside=include_narrower)

    def approve(
        self, why: str = "", *, count: int | None = None, dry_run: bool = False, include_narrower: bool = False,
        **filters: Unpack[MemoryFilters],
    ) -> list[Memory]:  # fmt: skip
        """Approve all proposals that the filters select; only a person can do so.

        The arguments are those of `forget`.
        """
        change = partial(View.review, wanted=Retention.ACTIVE, action=Action.APPROVE, why=why)
        wanted: MemoryFilters = {**filters, "retention": Retention.PROPOSED}
        return self._changed(change, wanted, count, dry_run=dry_run, inside=include_narrower)

    def reject(
        self, why: str = "", *, count: int | None = None, dry_run: bool = False, include_narrower: bool = False,
        **filters: Unpack[MemoryFilters],
    ) -> list[Memory]:  # fmt: skip
        """Reject all proposals that the filters select.

        The arguments are those of `forget`.
        """
        change = partial(View.review, wanted=Retention.DELETED, action=Action.REJECT, why=why)
        wanted: MemoryFilters = {**filters, "retention": Retention.PROPOSED}
        return self._changed(change, wanted, count, dry_run=dry_run, inside=include_narrower)

    def purge(
        self, why: str = "", *, count: int | None = None, dry_run: bool = False, include_narrower: bool = False,
        **filters: Unpack[MemoryFilters],
    ) -> list[Memory]:  # fmt: skip
        """Erase all memories that the filters select permanently, deleted and archived ones included.

        The arguments are those of `forget`. Return the memories as they were.
        """
        named = [filters.get("contains") or "", *(filters.get("mentions") or ())]

        def change(view: View, ids: list[str], *, inside: bool) -> list[Memory]:
            view.services.changes.purge(view.scope, ids, view.cause(Action.PURGE, why), named, inside=inside)
            return []

        wanted: MemoryFilters = {"retention": ANY_RETENTION, **filters}
        return self._changed(change, wanted, count, dry_run=dry_run, inside=include_narrower)

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
            include_narrower: Also undo events of narrower scopes.
            batch: Instead of events: all that a run of `backfill` has stored at and below this scope.
        """
        if bool(events) == bool(batch):
            raise InvalidInput("name the numbers of events, or a batch")
        if batch:
            return undo_batch(self._view, batch)
        return undo_events(self._view, events, run=run, include_narrower=include_narrower)

    def _changed(
        self, change: Callable[..., list[Memory]], filters: MemoryFilters, count: int | None, *, dry_run: bool,
        inside: bool,
    ) -> list[Memory]:  # fmt: skip
        """Change all memories that filters select and that this scope may change, those of a tenant together."""
        if not any(value is not None for name, value in filters.items() if name != "retention"):
            raise InvalidInput(
                "no filter is given: name the memories with where, prefix, since, until, kind, tags or others"
            )
        view, (store, search) = self._view, self._view.listing(include_narrower=inside, **filters)
        selected: list[Memory] = []
        ids: defaultdict[str | None, list[str]] = defaultdict(list)
        for memory in (record.memory for record in store.each(replace(search, limit=LARGEST_PAGE))):
            scope = view.scope.narrowed(**dict(memory.scope.items())) if inside else view.scope
            if scope.may_change(memory.scope):
                selected.append(memory)
                ids[scope.tenant].append(memory.id)
        if count is not None and count != len(selected):
            raise StaleWrite(f"{len(selected)} memories match the filters, not {count}: nothing was changed")
        if dry_run:
            return selected
        changed = [change(view.narrowed(tenant=tenant), own, inside=inside) for tenant, own in ids.items()]
        return [memory for part in changed for memory in part] or selected
