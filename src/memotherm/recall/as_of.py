"""What was stored at an earlier moment, rebuilt from the ledger, archived and deleted memories included.

Each memory is taken back to that moment, event by event, and put into a store in memory, which is searched like any
other. The last states of a tenant stay in memory, so only the first query about a moment has to rebuild it: later
events do not change the past, unless they purge a memory or move it to another scope. A state is also that of every
other moment with no change in between.

Uses have no events, so nobody knows how often a memory had been used at a moment: in a state, none has been.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from memotherm.errors import EmbedderError, EmbedderRefused, InvalidInput
from memotherm.model import Event, Memory, Retention, Scope
from memotherm.model.actions import Action
from memotherm.recall.pipeline import Pipeline
from memotherm.recall.recaller import Recaller
from memotherm.recall.values import Question, RankingOptions
from memotherm.settings import Settings
from memotherm.storage.open import open_store
from memotherm.storage.rows import apply_changes
from memotherm.storage.store import Store, Transaction
from memotherm.storage.values import Cause, Record
from memotherm.text.content import digest
from memotherm.text.tokens import DEFAULT, count_tokens
from memotherm.vectors.vectorizer import Vectorizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


_PAGE = 1000
#: The times of a memory, and the fields whose last change they are.
_TIMES: Mapping[str, frozenset[str]] = {
    "updated_at": frozenset({"content", "kind", "tags", "metadata", "source"}),
    "tier_since": frozenset({"tier"}),
    "retention_since": frozenset({"retention"}),
}


def histories_until(
    store: Store, spaces: tuple[int, ...], moment: datetime
) -> Iterator[tuple[Record, Sequence[Event]]]:
    """Yield the memories that some spaces have since a moment or longer, as they are now, with all their events.

    Purged memories are left out.
    """
    after = 0
    while page := store.written_before(spaces, moment, after, _PAGE):
        histories = store.histories([record.no for record in page])
        yield from ((record, histories.get(record.memory.id, ())) for record in page)
        after = page[-1].no


def state_at(memory: Memory, history: Sequence[Event], moment: datetime, tokenizer: str = DEFAULT) -> Memory | None:
    """Return what a memory was at a moment; None when it did not exist yet.

    Uses have no events, so they are those of now.
    """
    if memory.created_at > moment:
        return None
    return state_after(memory, history, count_until(history, moment), tokenizer)


def count_until(history: Sequence[Event], moment: datetime) -> int:
    """Return how many events of a history were made until a moment."""
    return next((count for count in range(len(history), 0, -1) if history[count - 1].at <= moment), 0)


def state_after(memory: Memory, history: Sequence[Event], count: int, tokenizer: str = DEFAULT) -> Memory | None:
    """Return what a memory was after the first events of its history; None when it did not exist yet."""
    values: dict[str, Any] = {}
    for event in reversed(history[count:]):
        values |= {name: before for name, (before, _) in event.changes.items()}
    if not values:
        return memory
    if values.get("retention", "") is None:
        return None
    then = apply_changes(memory, values)
    times: dict[str, Any] = {
        name: _last_change(history[:count], fields) or memory.created_at
        for name, fields in _TIMES.items()
        if not fields.isdisjoint(values)
    }
    if "content" in values:
        then = replace(then, digest=digest(then.content), tokens=count_tokens(then.content, tokenizer))
    return replace(then, **times)


def _last_change(history: Sequence[Event], fields: frozenset[str]) -> datetime | None:
    """Return when one of some fields was last changed; None if it never was."""
    for event in reversed(history):
        if any(name in fields and before is not None for name, (before, _) in event.changes.items()):
            return event.at
    return None


#: How many states of a tenant, and of how many tenants, stay in memory; each is a copy of everything that was visible.
_MOST_STATES = 2
_MOST_TENANTS = 2

Key = tuple[Scope, datetime]
_USES = frozenset({"accessed_at", "access_count", "use_weight", "recent_uses", "relevance"})
#: What uses change of a memory, as it is before the first.
_UNUSED: dict[str, Any] = {field.name: field.default for field in fields(Memory) if field.name in _USES}


def require_moment(value: object) -> datetime:
    """Return the argument `as_of`, or raise `InvalidInput` if it is not a datetime with a time zone."""
    if not isinstance(value, datetime):
        raise InvalidInput(f"as_of must be a datetime, not {value!r}")
    if value.utcoffset() is None:
        raise InvalidInput(
            f"as_of must have a time zone, such as datetime(2026, 1, 31, 12, tzinfo=UTC); {value.isoformat()} has none"
        )
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(f"as_of is out of range: {value.isoformat()}") from None


def _memories_at(store: Store, key: Key, tokenizer: str) -> Iterator[tuple[Record, Memory]]:
    """Yield every memory that there was at a moment, as it is now and as it was then, but never used."""
    scope, moment = key
    for record, history in histories_until(store, store.spaces(scope), moment):
        then = state_at(record.memory, history, moment, tokenizer)
        if then is not None and then.content:
            yield record, _unused(then)


def _unused(memory: Memory) -> Memory:
    """Return a memory as if it had never been used."""
    if all(getattr(memory, name) == value for name, value in _UNUSED.items()):
        return memory
    return replace(memory, **_UNUSED)


@dataclass(frozen=True, slots=True)
class PastState:
    """What a scope could see at a moment."""

    store: Store
    #: The spaces that the scope can see there.
    spaces: tuple[int, ...]
    pipeline: Pipeline
    recaller: Recaller
    #: Whether all vectors are there; False when the embedder failed.
    complete: bool

    def placed(self, question: Question) -> Question:
        """Return a question about this state."""
        search = replace(question.search, spaces=self.spaces)
        return replace(question, search=search, serving=self.store.identity())


@dataclass(slots=True)
class _Kept:
    """A state that stays in memory, and the newest event when it was last compared with the ledger."""

    state: PastState
    seq: int


States = dict[Key, _Kept]


@dataclass(slots=True)
class _Tenant:
    """The last states of a tenant, and the lock of the thread that uses them."""

    states: States = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    #: How many threads use them or wait for them.
    users: int = 0


class PastStates:
    """Earlier states of a store; no tenant waits for those of another one."""

    def __init__(self, settings: Settings, options: RankingOptions) -> None:
        # Queries about the past are not logged.
        self._settings = replace(settings, recall_log="off")
        self._options = options
        #: The last used at the end.
        self._tenants: dict[str | None, _Tenant] = {}
        self._lock = threading.Lock()

    @contextmanager
    def at(self, store: Store, vectorizer: Vectorizer, scope: Scope, moment: datetime) -> Iterator[PastState]:
        """Yield what a scope could see at a moment; one thread at a time uses the states of a tenant."""
        key = (scope, moment)
        with self._states_of(scope.tenant) as states:
            _drop_changed(states, store)
            kept = states.get(key) or _moved(states, store, key)
            if kept is None:
                _drop(states, list(states)[: len(states) - _MOST_STATES + 1])
                seq = store.seq()
                kept = states[key] = _Kept(self._rebuilt(store, vectorizer, key), seq)
            try:
                yield kept.state
            finally:
                # The next query tries again to make the vectors that are missing now.
                if not kept.state.complete:
                    _drop(states, [key])

    @contextmanager
    def _states_of(self, name: str | None) -> Iterator[States]:
        """Yield the states of a tenant to one thread at a time; afterwards drop those of tenants unused for longest."""
        with self._lock:
            tenant = self._tenants.pop(name, None) or _Tenant()
            self._tenants[name] = tenant
            tenant.users += 1
        try:
            with tenant.lock:
                yield tenant.states
        finally:
            with self._lock:
                tenant.users -= 1
                unused = [each for each, other in self._tenants.items() if not other.users]
                for each in unused[: max(0, len(self._tenants) - _MOST_TENANTS)]:
                    _drop(self._tenants.pop(each).states)

    def close(self) -> None:
        """Close all states."""
        with self._lock:
            while self._tenants:
                _, tenant = self._tenants.popitem()
                with tenant.lock:
                    _drop(tenant.states)

    def _rebuilt(self, source: Store, vectorizer: Vectorizer, key: Key) -> PastState:
        scope, moment = key
        store = open_store(":memory:", self._settings)
        with source.snapshot():
            _copy(source, store, key, self._settings.tokenizer)
        own = vectorizer.open_on(store)
        complete = _add_vectors(own, store, moment)
        pipeline = Pipeline(store, own, self._settings, self._options)
        recaller = Recaller(store, pipeline, self._settings)
        return PastState(store, store.spaces(scope), pipeline, recaller, complete)


def _moved(states: States, store: Store, key: Key) -> _Kept | None:
    """Let the state of another moment be that of a new one, if it is the same; return None if none is."""
    scope, moment = key
    for other in [other for other in states if other[0] == scope]:
        after, until = sorted((moment, other[1]))
        if not store.changed_between(store.spaces(scope), after, until):
            states[key] = states.pop(other)
            return states[key]
    return None


def _drop(states: States, keys: Sequence[Key] | None = None) -> None:
    """Close some states, or all."""
    for key in list(states) if keys is None else keys:
        states.pop(key).state.store.close()


def _drop_changed(states: States, store: Store) -> None:
    """Drop the states that events since the last query have changed."""
    seq = store.seq()
    for key, kept in list(states.items()):
        scope, moment = key
        if kept.seq != seq and not _is_unchanged(store, store.spaces(scope), moment, kept.seq, seq):
            _drop(states, [key])
        kept.seq = seq


def _is_unchanged(store: Store, spaces: tuple[int, ...], moment: datetime, known: int, seq: int) -> bool:
    """Return whether what some spaces held at a moment is the same after the events from `known` to `seq`.

    It is not known of events that cannot be seen from these spaces: a memory may have left them.
    """
    events = store.ledger(spaces, known, _PAGE, oldest_first=True)
    return len(events) == seq - known and all(event.at > moment and _is_reversible(event) for event in events)


def _is_reversible(event: Event) -> bool:
    """Return whether the state before an event follows from the state after it: no purge, no move to another space."""
    if not event.changes or "scope" in event.changes:
        return False
    _, retention = event.changes.get("retention", ("", ""))
    return bool(retention != Retention.PURGED)


def _add_vectors(vectorizer: Vectorizer, store: Store, moment: datetime) -> bool:
    """Make the vectors of contents that have changed since; return False if the embedder fails."""
    identity = store.identity()
    if identity is not None and identity.name == vectorizer.embedder.name:
        try:
            vectorizer.reembed(moment)
        except EmbedderRefused:
            return True
        except EmbedderError:
            return False
    return True


def _copy(source: Store, target: Store, key: Key, tokenizer: str) -> None:
    """Fill a store with what was stored at a moment, with the vectors of contents that are still the same."""
    identity = source.identity()
    number = target.register_embedder(identity.name, identity.dimensions).number if identity is not None else None
    cause = Cause(action=Action.REMEMBER, at=key[1], actor="as_of", rule="as_of")

    def fill(transaction: Transaction) -> None:
        space = cache(transaction.space)
        memories = _memories_at(source, key, tokenizer)
        while page := list(islice(memories, _PAGE)):
            vectors = _vectors(source, page)
            for record, then in page:
                transaction.insert(space(then.scope), then, vectors.get(record.no), cause)

    # In this thread, which has the snapshot of the source.
    with target.unit_of_work():
        target.transact(fill, made_by=number)


def _vectors(source: Store, memories: Sequence[tuple[Record, Memory]]) -> dict[int, Vectors]:
    """Return the vectors of those memories whose content is still the same, by number."""
    unchanged = [record for record, then in memories if then.content == record.memory.content]
    vectors = source.vectors_of([record.no for record in unchanged])
    for record in unchanged:
        if record.no not in vectors and (cached := source.cached_vectors(record.memory.digest)) is not None:
            vectors[record.no] = cached
    return vectors
