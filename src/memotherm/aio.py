"""The same verbs for asyncio, derived from the facade and not written again.

The verbs are listed for type checkers; one that is missing here is added to its class.

Each call runs on a thread of the instance's own pool. Cancelling an await does not stop a
statement that is already running.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, Unpack

from memotherm.errors import StoreClosed
from memotherm.memory import Memotherm
from memotherm.model import Trust
from memotherm.model.memory import ScopeFields
from memotherm.notes.notes import Notes
from memotherm.notes.watcher import Watcher
from memotherm.session import Session
from memotherm.storage.base import OwnProcess

__all__ = ["AsyncMemotherm", "AsyncNotes", "AsyncSession", "Opening"]

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S")
Class = TypeVar("Class", bound=type)

_THREADS = 8


class _ThreadRunner(Protocol):
    """What runs a call on a thread and waits for it without blocking the loop."""

    def __call__(self, call: Callable[[], T], /) -> Coroutine[Any, Any, T]:
        """Run the call."""


class _Derived(Generic[S]):
    """Something whose synchronous twin does the work, on a thread."""

    def __init__(self, twin: S, run: _ThreadRunner) -> None:
        self._twin = twin
        self._run = run


def _off_thread(
    method: Callable[Concatenate[S, P], T],
) -> Callable[Concatenate[_Derived[S], P], Coroutine[Any, Any, T]]:
    @functools.wraps(method)
    async def call(self: _Derived[S], /, *args: P.args, **kwargs: P.kwargs) -> T:
        # By its name, because the twin may be of a class that does it another way.
        return await self._run(functools.partial(getattr(self._twin, method.__name__), *args, **kwargs))

    return call


def _derived_from(twin: type) -> Callable[[Class], Class]:
    """Return a decorator that adds the verbs of the twin which a class does not list for type checkers."""

    def add(cls: Class) -> Class:
        for name, method in vars(twin).items():
            if inspect.isfunction(method) and not name.startswith("_") and not hasattr(cls, name):
                setattr(cls, name, _off_thread(method))
        return cls

    return add


@_derived_from(Session)
class AsyncSession(_Derived[Session[Memotherm]]):
    """A session, for asyncio. `sync` is the session underneath."""

    @property
    def sync(self) -> Session[Memotherm]:
        """The session underneath."""
        return self._twin

    add = _off_thread(Session.add)
    hot = _off_thread(Session.hot)
    spill = _off_thread(Session.spill)
    promote = _off_thread(Session.promote)
    demote = _off_thread(Session.demote)
    recall = _off_thread(Session.recall)
    status = _off_thread(Session.status)
    prune = _off_thread(Session.prune)
    forget = _off_thread(Session.forget)
    keep = _off_thread(Session.keep)
    clear = _off_thread(Session.clear)
    end = _off_thread(Session.end)
    session_start = _off_thread(Session.session_start)
    before_turn = _off_thread(Session.before_turn)
    before_tool = _off_thread(Session.before_tool)
    heard = _off_thread(Session.heard)
    context_compacted = _off_thread(Session.context_compacted)
    session_end = _off_thread(Session.session_end)
    run_ended = _off_thread(Session.run_ended)
    flush_due = _off_thread(Session.flush_due)


@_derived_from(Notes)
class AsyncNotes(_Derived[Notes]):
    """Markdown notes, for asyncio."""

    sync = _off_thread(Notes.sync)
    refresh = _off_thread(Notes.refresh)
    search = _off_thread(Notes.search)
    get = _off_thread(Notes.get)
    append = _off_thread(Notes.append)
    curate = _off_thread(Notes.curate)
    clear = _off_thread(Notes.clear)
    today = _off_thread(Notes.today)
    paths = _off_thread(Notes.paths)
    stale = _off_thread(Notes.stale)

    def watch(self) -> Watcher:
        """Return a watcher that syncs when files have come to rest, on threads of its own."""
        return self._twin.watch()


class AsyncGroup(_Derived[Any]):
    """What belongs together, such as `mem.receipts`, for asyncio: all its methods are awaited."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - a coroutine function, or a value
        found = getattr(self._twin, name)
        if not callable(found):
            return found

        @functools.wraps(found)
        async def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - those of the method
            return await self._run(functools.partial(found, *args, **kwargs))

        return call


def _group(of: Any) -> property:  # noqa: ANN401 - a property
    name = of.fget.__name__
    return property(lambda self: AsyncGroup(getattr(self.sync, name), self._run), doc=of.__doc__)


@_derived_from(Memotherm)
class AsyncMemotherm(_Derived[Memotherm]):
    """An agent's memory, for asyncio. `sync` is the facade underneath."""

    def __init__(self, sync: Memotherm, executor: ThreadPoolExecutor | None = None) -> None:
        super().__init__(sync, self._on_thread)
        #: The facade underneath.
        self.sync = sync
        self._owner = executor is None
        self._process = OwnProcess("the memory")
        self._executor = executor or ThreadPoolExecutor(_THREADS, thread_name_prefix="memotherm")

    async def _on_thread(self, call: Callable[[], T]) -> T:
        self._process.require()  # A fork has no threads that would run the call.
        try:
            future = asyncio.get_running_loop().run_in_executor(self._executor, call)
        except RuntimeError as exc:
            raise StoreClosed("the memory is closed: open it again") from exc
        return await future

    remember = _off_thread(Memotherm.remember)
    remember_many = _off_thread(Memotherm.remember_many)
    recall = _off_thread(Memotherm.recall)
    context = _off_thread(Memotherm.context)
    feedback = _off_thread(Memotherm.feedback)
    get = _off_thread(Memotherm.get)
    verify = _off_thread(Memotherm.verify)
    stale = _off_thread(Memotherm.stale)
    select = _off_thread(Memotherm.select)
    amend = _off_thread(Memotherm.amend)
    alias = _off_thread(Memotherm.alias)
    find = _off_thread(Memotherm.find)
    conflicts = _off_thread(Memotherm.conflicts)
    decide = _off_thread(Memotherm.decide)
    tasks = _off_thread(Memotherm.tasks)
    finish = _off_thread(Memotherm.finish)
    count = _off_thread(Memotherm.count)
    kinds = _off_thread(Memotherm.kinds)
    history = _off_thread(Memotherm.history)
    events = _off_thread(Memotherm.events)
    status = _off_thread(Memotherm.status)
    update = _off_thread(Memotherm.update)
    move = _off_thread(Memotherm.move)
    prioritize = _off_thread(Memotherm.prioritize)
    pin = _off_thread(Memotherm.pin)
    unpin = _off_thread(Memotherm.unpin)
    archive = _off_thread(Memotherm.archive)
    forget = _off_thread(Memotherm.forget)
    restore = _off_thread(Memotherm.restore)
    approve = _off_thread(Memotherm.approve)
    reject = _off_thread(Memotherm.reject)
    purge = _off_thread(Memotherm.purge)
    erase = _off_thread(Memotherm.erase)
    undo = _off_thread(Memotherm.undo)
    capture = _off_thread(Memotherm.capture)
    pinned = _off_thread(Memotherm.pinned)
    get_relevant_memories = _off_thread(Memotherm.get_relevant_memories)
    move_out_of_session = _off_thread(Memotherm.move_out_of_session)
    rescope = _off_thread(Memotherm.rescope)
    compact = _off_thread(Memotherm.compact)
    maintain = _off_thread(Memotherm.maintain)
    metrics = _off_thread(Memotherm.metrics)
    check = _off_thread(Memotherm.check)
    checkpoint = _off_thread(Memotherm.checkpoint)

    async def session(self, session_id: str) -> AsyncSession:
        """Return the working memory of one session, beginning or continuing it."""
        return AsyncSession(await self._run(functools.partial(self.sync.session, session_id)), self._run)

    bulk = _group(Memotherm.bulk)
    inspect = _group(Memotherm.inspect)
    keys = _group(Memotherm.keys)
    policies = _group(Memotherm.policies)
    receipts = _group(Memotherm.receipts)
    store = _group(Memotherm.store)

    def notes(
        self, root: str | PathLike[str] | None = None, extra_paths: Sequence[str] = (), *, name: str | None = None
    ) -> AsyncNotes:
        """Return the Markdown notes of a folder: MEMORY.md and memory/**/*.md, indexed and searchable."""
        return AsyncNotes(self.sync.notes(root, extra_paths, name=name), self._run)

    def scoped(self, /, **fields: Unpack[ScopeFields]) -> AsyncMemotherm:
        """Return the same store seen from a narrower scope; closing it closes nothing."""
        return AsyncMemotherm(self.sync.scoped(**fields), self._executor)

    def read_only(self) -> AsyncMemotherm:
        """Return the same memory for reading: changes raise `ReadOnly`, and recalls are neither counted nor logged."""
        return AsyncMemotherm(self.sync.read_only(), self._executor)

    def for_user(self) -> AsyncMemotherm:
        """Return the same store seen from the scope of the user alone; closing it does not close the store."""
        return AsyncMemotherm(self.sync.for_user(), self._executor)

    def in_folder(self, folder: str | PathLike[str]) -> AsyncMemotherm:
        """Return the same memory for somebody who works in a folder."""
        return AsyncMemotherm(self.sync.in_folder(folder), self._executor)

    def by(self, trust: Trust | str | None = None, name: str = "") -> AsyncMemotherm:
        """Return the same memory for an interface in front of a person, an agent or another source."""
        return AsyncMemotherm(self.sync.by(trust, name), self._executor)

    async def close(self) -> None:
        """Close the store and the threads; calling it twice, or in a forked process, is harmless."""
        if not self._owner or not self._process.current:
            return
        await asyncio.to_thread(self.sync.close)
        self._executor.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class Opening:
    """What `aopen` returns: await it, or enter it with `async with`."""

    def __init__(self, opener: Callable[[], Memotherm]) -> None:
        self._opener = opener
        self._opened: AsyncMemotherm | None = None

    if not TYPE_CHECKING:  # a type checker sees by itself that there is no such attribute

        def __getattr__(self, name: str) -> object:
            advice = f"`async with memotherm.aopen(...) as mem`, then `await mem.{name}(...)`"
            raise AttributeError(f"the memory is not open yet: {advice}", name=name, obj=self)

    async def _open(self) -> AsyncMemotherm:
        self._opened = AsyncMemotherm(await asyncio.to_thread(self._opener))
        return self._opened

    def __await__(self) -> Any:  # noqa: ANN401
        return self._open().__await__()

    async def __aenter__(self) -> AsyncMemotherm:
        return await self._open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opened is not None:
            await self._opened.close()
