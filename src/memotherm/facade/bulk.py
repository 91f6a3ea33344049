"""Change all memories that filters select, all or none, and undo what was changed together: `mem.bulk`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Unpack

from memotherm.errors import InvalidInput, MemothermError, NotFound, StaleWrite
from memotherm.facade.queries import ANY_RETENTION
from memotherm.facade.view import View
from memotherm.model import Event, Memory, Priority, Retention, Scope, Tier
from memotherm.model.actions import Action
from memotherm.model.clock import to_micros
from memotherm.model.memory import MemoryFilters
from memotherm.model.results import LARGEST_PAGE, Cooled, EventPage, SkippedEvent, Undone
from memotherm.remember.changes import is_first
from memotherm.storage.store import Store
from memotherm.storage.values import EventFilter, Record, Search
from memotherm.text.content import cursor_number, require_limit
from memotherm.vectors.vectorizer import Progress


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


#: How the names of batches begin.
BATCHES = "backfill-"
#: How many events of a batch are undone in one transaction.
_TOGETHER = 500


def event_page(
    view: View, limit: int, cursor: str | None, where: EventFilter, *, oldest_first: bool, include_narrower: bool
) -> EventPage:
    """Return a page of the ledger, with the adoptions of policies."""
    require_limit(limit, LARGEST_PAGE)
    forward = oldest_first if cursor is None else str(cursor).startswith("after-")
    word = "after" if forward else "before"
    past = None if cursor is None else cursor_number(cursor, word)
    store, spaces = view.place(include_narrower=include_narrower)
    events = store.ledger(spaces, past, limit + 1, where, oldest_first=forward)
    if store.adopted:
        from memotherm.tiers.adoption import adoption_events

        events += filter(where.selects, adoption_events(store, past, oldest_first=forward))
    events.sort(key=lambda event: event.seq, reverse=not forward)
    page = tuple(events[:limit])
    return EventPage(events=page, cursor=f"{word}-{page[-1].seq}" if len(events) > limit and page else None)


def undo_event(view: View, seq: int) -> Memory:
    """Undo one event, or raise why it cannot be undone."""
    if type(seq) is not int:
        raise InvalidInput(f"undo takes the number of one event, such as 42, not {seq!r}; bulk.undo takes several")
    event, record = _event(view, view.services.store, view.spaces(), seq)
    ((_, outcome),) = view.services.changes.undo([(view.scope, event, record)], view.cause(Action.UNDO))
    if isinstance(outcome, MemothermError):
        raise outcome
    return outcome


def undo_events(view: View, seqs: Sequence[int], *, run: bool, include_narrower: bool) -> Undone:
    """Undo events, the newest first; those of one tenant in one transaction."""
    if isinstance(seqs, str | int) or not all(isinstance(seq, int) for seq in seqs):
        raise InvalidInput("events is a list of the numbers of events, such as [42, 43]")
    store, spaces = (view.store_inside if include_narrower else view.services.store), view.spaces()
    spaces = (*spaces, *view.spaces_inside()) if include_narrower else spaces
    found = {seq: _event(view, store, spaces, seq) for seq in seqs}
    if run:
        together = {each.seq for event, _ in found.values() for each in _made_with(event, store, spaces)}
        found |= {seq: _event(view, store, spaces, seq) for seq in together if seq not in found}
    return _undo(view, list(found.values()))


def undo_batch(view: View, batch: str, progress: Progress | None = None) -> Undone:
    """Undo all events of a batch, the newest first, some in each transaction.

    Of a memory that it has stored, this is the first event, whatever it has done with it afterwards.
    """
    if not batch.startswith(BATCHES):
        # The actor of other events is whoever made them.
        raise InvalidInput(f"{batch!r} is not the name of a batch: these begin with {BATCHES}")
    store, spaces = view.store_inside, (*view.spaces(), *view.spaces_inside())
    own, gone = set[str](), set[str]()
    for event in _events(store, spaces, EventFilter(actor=batch)):
        if is_first(event):
            own.add(event.memory_id)
        elif event.action == Action.FORGET:
            gone.add(event.memory_id)
    seqs = [
        event.seq
        for event in _events(store, spaces, EventFilter(actor=batch))
        if event.memory_id not in own or (is_first(event) and event.memory_id not in gone)
    ]
    if not seqs:
        raise NotFound(f"there is no batch {batch!r} here: `memotherm events` names the actors of events")
    memories: list[Memory] = []
    skipped: list[SkippedEvent] = []
    for start in range(0, len(seqs), _TOGETHER):
        undone = _undo(view, [_event(view, store, spaces, seq) for seq in seqs[start : start + _TOGETHER]])
        memories += undone.memories
        skipped += undone.skipped
        if progress is not None:
            progress(min(start + _TOGETHER, len(seqs)), len(seqs))
    return Undone(memories=tuple(memories), skipped=tuple(skipped))


def _undo(view: View, found: Sequence[tuple[Event, Record]]) -> Undone:
    wanted: defaultdict[str | None, list[tuple[Scope, Event, Record]]] = defaultdict(list)
    for event, record in found:
        own = record.memory.scope
        scope = view.scope if view.scope.sees(own) else view.scope.narrowed(**dict(own.items()))
        wanted[scope.tenant].append((scope, event, record))
    cause = view.cause(Action.UNDO)
    memories: list[Memory] = []
    skipped: list[SkippedEvent] = []
    for tenant, events in wanted.items():
        for event, outcome in view.narrowed(tenant=tenant).services.changes.undo(events, cause):
            if isinstance(outcome, MemothermError):
                skipped.append(SkippedEvent(seq=event.seq, id=event.memory_id, why=str(outcome)))
            else:
                memories.append(outcome)
    return Undone(memories=tuple(memories), skipped=tuple(skipped))


def _event(view: View, store: Store, spaces: Sequence[int], seq: int) -> tuple[Event, Record]:
    found = store.event(spaces, seq)
    if found is not None:
        return found
    if any(adoption.number == seq for adoption in store.adoptions()):
        raise InvalidInput(
            f"event {seq} is about a policy, not a memory: `memotherm policy rollback` takes back the policy "
            "in force with all its moves"
        )
    raise NotFound(f"no event {seq} can be seen from here ({view.scope})")


def _made_with(event: Event, store: Store, spaces: Sequence[int]) -> Iterator[Event]:
    """Return the events that one call has made together: they have the same actor and the same moment."""
    moment = to_micros(event.at)
    return _events(store, spaces, EventFilter(actor=event.actor, since=moment, until=moment + 1))


def _events(store: Store, spaces: Sequence[int], where: EventFilter) -> Iterator[Event]:
    """Yield events, the newest first."""
    past = None
    while page := store.ledger(spaces, past, LARGEST_PAGE, where, oldest_first=False):
        yield from page
        past = page[-1].seq
