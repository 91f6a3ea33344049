"""Changes of several threads that one of them makes in one transaction."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

import memotherm
from memotherm import Scope
from memotherm.errors import MemothermError, NotFound, StoreError, StoreFull
from memotherm.storage.sqlite.store import SqliteStore
from memotherm.storage.sqlite.transaction import SqliteTransaction

Change = Callable[[SqliteTransaction], object]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """An empty store."""
    with memotherm.open(tmp_path / "a.db", embedder="none") as mem:
        store = mem._services.whole
        assert isinstance(store, SqliteStore)
        yield store


def counting(name: str) -> Change:
    """Return a change that increments a counter and returns its transaction."""

    def change(transaction: SqliteTransaction) -> SqliteTransaction:
        transaction.tally(transaction.space(Scope()), name)
        return transaction

    return change


def failing(error: BaseException) -> Change:
    """Return a change that increments a counter and fails."""

    def change(transaction: SqliteTransaction) -> None:
        transaction.tally(transaction.space(Scope()), "failed")
        raise error

    return change


def counted(store: SqliteStore) -> dict[str, int]:
    """Return how often each counter was incremented."""
    return {name: times for name, (times, _) in store.tallies(store.spaces(Scope())).items()}


def waiting(store: SqliteStore) -> int:
    """Return how many threads wait to make a change, or make it."""
    return len(store._combiner._queue) + store._connections._commits._queued


def together(
    store: SqliteStore, changes: Sequence[Change], made_by: Sequence[int | None] | None = None
) -> list[object]:
    """Make changes in threads of their own, the first one while the others wait; return their results or errors."""
    outcomes: list[object] = [None] * len(changes)
    others: list[threading.Thread] = []

    def run(place: int, change: Change) -> None:
        try:
            outcomes[place] = store.transact(change, made_by=None if made_by is None else made_by[place])
        except BaseException as exc:  # noqa: BLE001 - it is returned
            outcomes[place] = exc

    def first(transaction: SqliteTransaction) -> object:
        for place in range(len(others) + 1, len(changes)):
            others.append(threading.Thread(target=run, args=(place, changes[place])))
            others[-1].start()
            while waiting(store) <= place:
                others[-1].join(0.001)
        return changes[0](transaction)

    run(0, first)
    for thread in others:
        thread.join()
    return outcomes


def test_changes_that_wait_share_a_transaction(store: SqliteStore) -> None:
    """Each thread gets the result of its own."""
    outcomes = together(store, [counting("a"), counting("b"), lambda _: "the third"])

    assert outcomes[0] is outcomes[1]
    assert outcomes[2] == "the third"
    assert counted(store) == {"a": 1, "b": 1}


@pytest.mark.parametrize("error", [NotFound("no such memory"), StoreError("a constraint failed")])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_change_that_fails_takes_back_only_itself(store: SqliteStore, place: int, error: MemothermError) -> None:
    """The others are made once, and only its own thread gets the error."""
    changes = [counting("a"), counting("b")]
    changes.insert(place, failing(error))

    outcomes = together(store, changes)

    assert [outcome is error for outcome in outcomes] == [place == each for each in range(3)]
    assert counted(store) == {"a": 1, "b": 1}


def test_an_error_of_the_store_is_reported_to_all(store: SqliteStore) -> None:
    """Nobody is told that something is stored which is not."""
    error = StoreFull("no space left")

    assert together(store, [counting("a"), failing(error)]) == [error, error]
    assert counted(store) == {}


def test_a_thread_that_is_interrupted_leaves_the_changes_of_others_to_them(store: SqliteStore) -> None:
    """They are made by their own threads."""
    interrupted, other = together(store, [failing(KeyboardInterrupt()), counting("a")])

    assert isinstance(interrupted, KeyboardInterrupt)
    assert not isinstance(other, BaseException)
    assert counted(store) == {"a": 1}


def test_vectors_of_several_embedders_do_not_share_a_transaction(store: SqliteStore) -> None:
    """A transaction knows which embedder has made its vectors."""
    first, second, third = together(store, [counting("a"), counting("b"), counting("c")], [1, 2, 2])

    assert second is third
    assert first is not second
    assert counted(store) == {"a": 1, "b": 1, "c": 1}


def test_the_first_of_very_many_does_not_wait_for_all(store: SqliteStore) -> None:
    """All are made once, in more than one transaction."""
    outcomes = together(store, [counting("a")] * 40)

    assert len(set(map(id, outcomes))) == 2
    assert counted(store) == {"a": 40}


def test_a_change_whose_commit_waits_is_not_shared(store: SqliteStore) -> None:
    """A thread that stores a response with its change takes back both, and nothing of others."""
    stored = threading.Thread(target=store.transact, args=(counting("other"),))

    def change(transaction: SqliteTransaction) -> None:
        counting("own")(transaction)
        stored.start()
        while not waiting(store):
            stored.join(0.001)

    with suppress(NotFound), store.deferring():
        store.transact(change)
        raise NotFound("no response")
    stored.join()

    assert counted(store) == {"other": 1}


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals to threads")
def test_a_thread_that_is_interrupted_while_it_waits_leaves_the_queue(store: SqliteStore) -> None:
    """Its change is not made, and those behind it are."""
    main, behind = threading.get_ident(), threading.Thread(target=store.transact, args=(counting("behind"),))

    def first(transaction: SqliteTransaction) -> None:
        counting("first")(transaction)
        _await(lambda: waiting(store) == 2)
        behind.start()
        _await(lambda: waiting(store) == 3)
        signal.pthread_kill(main, signal.SIGUSR1)
        _await(lambda: waiting(store) == 2)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    leader = threading.Thread(target=store.transact, args=(first,))
    try:
        leader.start()
        _await(lambda: waiting(store) == 1)
        with pytest.raises(KeyboardInterrupt):
            store.transact(counting("interrupted"))
    finally:
        signal.signal(signal.SIGUSR1, before)
    for thread in (leader, behind):
        thread.join()

    assert counted(store) == {"first": 1, "behind": 1}


def _await(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.001)
