"""Events of the ledger: a page of them, and the undo of one, several, or all that one call has made."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from memotherm.errors import InvalidInput, MemothermError, NotFound
from memotherm.facade.view import View
from memotherm.model import Event, Memory, Scope
from memotherm.model.actions import Action
from memotherm.model.clock import to_micros
from memotherm.model.results import LARGEST_PAGE, EventPage, SkippedEvent, Undone
from memotherm.remember.changes import is_first
from memotherm.storage.store import Store
from memotherm.storage.values import EventFilter, Record
from memotherm.text.content import cursor_number, require_limit
from memotherm.vectors.vectorizer import Progress

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
