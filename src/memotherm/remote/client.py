"""The facade of a store on a server: the same verbs, each one a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from os import PathLike
from typing import Any, Literal, Self, Unpack

from memotherm.context.values import Context
from memotherm.errors import InvalidInput, ReadOnly, StoreUnavailable
from memotherm.memory import Memotherm
from memotherm.model import Memory, Recall, Scope
from memotherm.model.memory import MemoryFilters, OrderName
from memotherm.model.recall import Feedback, TimedRecall
from memotherm.model.reports import Erased, Heat, ReceiptAnswer, ReceiptPage, Status
from memotherm.model.results import Captured, EventPage, Maintenance, Page, Problem, ScopeCount
from memotherm.notes import Notes
from memotherm.remote import decoding
from memotherm.remote.notes import RemoteNotes
from memotherm.remote.pages import page_sizes
from memotherm.remote.policies import RemotePolicies
from memotherm.remote.session import RemoteSession
from memotherm.remote.spooling import spool_capture
from memotherm.remote.table import ROUTES
from memotherm.remote.transport import Transport
from memotherm.remote.verbs import plain, refused, sent
from memotherm.session import Session
from memotherm.settings import Settings
from memotherm.spool import erase_jobs, user_spool
from memotherm.tiers.policies import Policies
from memotherm.vectors.vectorizer import Progress

__all__ = ["RemoteMemotherm"]

Json = dict[str, Any]

#: Operations that count a use unless they are told not to.
_TRACKED = frozenset({"recall", "context"})
#: Operations whose response contains the memories only if that is requested.
_WITH_MEMORIES = frozenset({"context", "session_start", "session_context"})
#: Operations whose result names the query.
_QUERIES = frozenset({"recall", "session_recall"})


class RemoteMemotherm(Memotherm):
    """An agent's memory on a server, seen from one scope. What needs the store itself is refused."""

    def __init__(self, transport: Transport, settings: Settings, scope: Scope | None = None) -> None:
        self._transport = transport
        self._settings = settings
        self._scope = scope or Scope()
        self._reads_only = False
        self._owner = True

    def _seen_from(self, scope: Scope, *, read_only: bool | None = None) -> Self:
        view = type(self)(self._transport, self._settings, scope)
        view._reads_only = self._reads_only if read_only is None else read_only
        view._owner = False
        return view

    def _call(self, operation: str, arguments: Mapping[str, Any]) -> Json:
        """Carry out an operation in this scope."""
        if self._reads_only and ROUTES[operation].writes:
            raise ReadOnly("this memory may only be read: use the one that read_only() was called on")
        if self._reads_only and operation in _TRACKED:
            arguments = {**arguments, "track": False}
        if operation in _WITH_MEMORIES:
            arguments = {**arguments, "memories": True, "parts": True}
        found = self._transport.send(operation, self._scope, arguments)
        return {**found, "query": arguments.get("query")} if operation in _QUERIES else found

    @property
    def scope(self) -> Scope:
        """The scope that this memory is seen from."""
        return self._scope

    @property
    def settings(self) -> Settings:
        """The settings of this machine; the server has its own."""
        return self._settings

    @property
    def embedding_seconds(self) -> float:
        """0: the server makes the vectors."""
        return 0.0

    @property
    def policies(self) -> Policies:
        """The tier policies of the store on the server."""
        return RemotePolicies(self)

    def __repr__(self) -> str:
        return f"<Memotherm {self._transport.url!r} scope: {self.scope}>"

    # Scope and lifetime

    def scoped(
        self,
        *,
        tenant: str | None = None,
        project: str | None = None,
        environment: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
    ) -> Self:
        """Return the same store seen from a narrower scope."""
        return self._seen_from(
            self.scope.narrowed(
                tenant=tenant, project=project, environment=environment, user=user, agent=agent, session=session
            )
        )

    def read_only(self) -> Self:
        """Return the same memory for reading: changes raise `ReadOnly`, and recalls are not counted."""
        return self._seen_from(self.scope, read_only=True)

    def for_user(self) -> Self:
        """Return the same store seen from the scope of the user alone."""
        if self.scope.user is None:
            raise InvalidInput("the scope has no user: open it with Scope(user=...)")
        return self._seen_from(Scope(user=self.scope.user))

    def close(self) -> None:
        """Close the connections to the server."""
        if self._owner:
            self._transport.close()

    # Remembering

    remember = sent(Memotherm.remember, "remember", decoding.memory_of)

    def remember_many(
        self, memories: Iterable[Mapping[str, Any]], *, forget: Sequence[str] = (), why: str = ""
    ) -> list[Memory]:
        """Store several memories, given as mappings of `remember`'s arguments, and delete others: all, or nothing."""
        drafts = [{"source": "agent", **plain(values)} for values in memories]
        if not drafts and not forget:
            return []
        body = {"memories": drafts, "forget": list(forget), "why": why}
        return [decoding.memory_of(found) for found in self._call("remember_many", body)["memories"]]

    def capture(
        self,
        content: str,
        kind: str = "message",
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        source: str = "capture",
    ) -> Captured:
        """Store text of a conversation; if the server cannot be reached, spool it for `memotherm worker`."""
        options = plain({"kind": kind, "tags": list(tags), "metadata": metadata, "source": source})
        try:
            return decoding.captured_of(self._call("capture", {"content": content, **options}))
        except StoreUnavailable as error:
            return spool_capture(self._transport.url, self.scope, self.settings, content, options, error)

    # Recalling

    recall = sent(Memotherm.recall, "recall", decoding.recall_of)
    context = sent(Memotherm.context, "context", decoding.context_of)

    def pinned(self) -> list[Memory]:
        """Return the pinned memories, oldest first."""
        return list(reversed(self.find(priority="pinned", limit=1000).memories))

    # Reading

    def get(self, memory_id: str | None = None, *, key: str | None = None, inside: bool = False) -> Memory:
        """Return a memory by its id, archived and deleted ones included, or the active one that has a key."""
        if (memory_id is None) == (key is None):
            raise InvalidInput("get takes either the id of a memory or a key")
        if key is not None:
            return decoding.memory_of(self._call("get_by_key", {"key": key}))
        return decoding.memory_of(self._read(str(memory_id), inside=inside))

    def _read(self, memory_id: str, *, inside: bool = False) -> Json:
        return self._call("get_memory", {"memory_id": memory_id, "hidden": True, "inside": inside})

    def keys(
        self, prefix: str = "", depth: int | None = None, limit: int = 1000, after: str | None = None
    ) -> list[str]:
        """Return the distinct keys of the visible memories in order, or the prefixes that they have in common."""
        arguments = {"prefix": prefix or None, "depth": depth, "limit": limit, "after": after}
        keys: list[str] = self._call("list_keys", arguments)["keys"] if limit else []
        return keys

    full_id = sent(Memotherm.full_id, "full_id", lambda found: str(found["id"]))

    def heat(self, memory: Memory | str) -> Heat:
        """Return how much a memory, or the one with an id, is used."""
        return decoding.heat_of(self._read(memory if isinstance(memory, str) else memory.id))

    def find(
        self,
        *,
        limit: int = 100,
        cursor: str | None = None,
        inside: bool = False,
        order: OrderName = "newest",
        skip: int = 0,
        **filters: Unpack[MemoryFilters],
    ) -> Page:
        """List memories, newest first unless another order is given, a page at a time."""
        hint = ""
        memories: list[Memory] = []
        for count in page_sizes(limit):
            arguments = {**plain(filters), "inside": inside, "limit": count, "page": cursor, "order": order}
            # The cursor of the first page continues behind what was skipped.
            place = skip + len(memories) if order != "newest" or not memories else 0
            found = self._call("find", {**arguments, "skip": place})
            memories += [decoding.memory_of(memory) for memory in found["memories"]]
            cursor, hint = found["next_page"], found["hint"] or hint
            if cursor is None and (order == "newest" or len(found["memories"]) < count):
                break
        return Page(memories=tuple(memories), cursor=cursor, hint=hint)

    def count(self, *, inside: bool = False, **filters: Unpack[MemoryFilters]) -> int:
        """Return how many memories `find` lists on all its pages."""
        return int(self._call("count", {**plain(filters), "inside": inside})["count"])

    neighbours = sent(Memotherm.neighbours, "neighbours", decoding.hits_of)
    uses = sent(Memotherm.uses, "uses", decoding.uses_of)
    tier_history = sent(Memotherm.tier_history, "tier_history", decoding.tier_points_of)

    history = sent(Memotherm.history, "history", lambda found: [decoding.event_of(event) for event in found["events"]])

    def events(
        self, limit: int = 100, cursor: str | None = None, oldest_first: bool = False, inside: bool = False
    ) -> EventPage:
        """Return the events of all visible memories, newest first, a page at a time."""
        events = []
        order = "oldest" if oldest_first else "newest"
        for count in page_sizes(limit):
            found = self._call("events", {"order": order, "limit": count, "page": cursor, "inside": inside})
            events += [decoding.event_of(event) for event in found["events"]]
            cursor = found["next_page"]
            if cursor is None:
                break
        return EventPage(events=tuple(events), cursor=cursor)

    def receipts(self, session: str | None = None, limit: int = 20, cursor: str | None = None) -> ReceiptPage:
        """Return what was injected by contexts inside this scope, newest first, a page at a time."""
        view = self if session is None else self.scoped(session=session)
        receipts = []
        for count in page_sizes(limit):
            found = view._call("receipts", {"limit": count, "page": cursor})
            receipts += [decoding.receipt_of(receipt) for receipt in found["receipts"]]
            cursor = found["next_page"]
            if cursor is None:
                break
        return ReceiptPage(receipts=tuple(receipts), cursor=cursor)

    def recalls(self, limit: int = 100, order: Literal["newest", "slowest"] = "newest") -> list[TimedRecall]:
        """Return queries of the recall log inside this scope, with how long each took and what it found."""
        found = self._call("recalls", {"limit": limit, "order": order})["recalls"] if limit else []
        return [decoding.timed_recall_of(entry) for entry in found]

    receipt = sent(Memotherm.receipt, "receipt", decoding.receipt_of)
    explain_receipt = sent(Memotherm.explain_receipt, "explain_receipt", lambda found: ReceiptAnswer(**found))

    def status(self, inside: bool = False) -> Status:
        """Return counts of the visible memories and the state of the store."""
        return decoding.status_of(self._call("status", {"inside": inside}), self._transport.url, self.scope)

    def scopes(self) -> list[ScopeCount]:
        """Return every scope at and below this one that holds memories, with counts and tokens."""
        return [decoding.scope_count_of(found) for found in self._call("scopes", {})["scopes"]]

    check = sent(Memotherm.check, "check", lambda found: [Problem(**problem) for problem in found["problems"]])
    everything = sent(Memotherm.everything, "everything", decoding.everything_of)
    metrics = sent(Memotherm.metrics, "status", decoding.metrics_of)

    # Changing

    def feedback(
        self,
        recall: Recall | Context | str | None = None,
        used: Sequence[str] = (),
        answer: str = "",
        at: datetime | str | None = None,
    ) -> Feedback:
        """Say which memories of a recall were of use, so that tiers follow what helps, not what is shown."""
        recall_id = recall if recall is None or isinstance(recall, str) else recall.recall_id
        if recall is not None and recall_id is None:
            raise InvalidInput("that recall is not in the recall log: set recall_log to text, and leave track on")
        if isinstance(used, str):
            raise InvalidInput("feedback takes a list of ids in used, and a text in answer")
        arguments = {"recall_id": recall_id, "used": list(used), "answer": answer, "at": at}
        return decoding.feedback_of(self._call("feedback", plain(arguments)))

    update = sent(Memotherm.update, "change", decoding.memory_of)
    move = sent(Memotherm.move, "move", decoding.memory_of)
    prioritize = sent(Memotherm.prioritize, "prioritize", decoding.memory_of)
    unpin = sent(Memotherm.unpin, "unpin", decoding.memory_of)
    verify = sent(Memotherm.verify, "verify", decoding.memory_of)
    widen = sent(Memotherm.widen, "widen", decoding.memory_of)
    archive = sent(Memotherm.archive, "archive", decoding.memory_of)
    forget = sent(Memotherm.forget, "forget", decoding.memory_of)
    restore = sent(Memotherm.restore, "restore", decoding.memory_of)
    purge = sent(Memotherm.purge, "purge", lambda _: None)
    undo = sent(Memotherm.undo, "undo", decoding.memory_of)

    def forget_many(
        self, why: str = "", *, count: int | None = None, dry_run: bool = False, **filters: Unpack[MemoryFilters]
    ) -> list[Memory]:
        """Delete all memories that the filters of `find` select, all or none; `restore_many` brings them back."""
        return self._change_many("forget_many", why, filters, count=count, dry_run=dry_run)

    def restore_many(
        self, why: str = "", *, count: int | None = None, dry_run: bool = False, **filters: Unpack[MemoryFilters]
    ) -> list[Memory]:
        """Make all deleted memories that the filters select active again, or with `retention` archived ones."""
        return self._change_many("restore_many", why, filters, count=count, dry_run=dry_run)

    def purge_many(
        self, why: str = "", *, count: int | None = None, dry_run: bool = False, **filters: Unpack[MemoryFilters]
    ) -> list[Memory]:
        """Erase all memories that the filters select permanently; return the memories as they were."""
        return self._change_many("purge_many", why, filters, count=count, dry_run=dry_run)

    def _change_many(
        self, operation: str, why: str, filters: MemoryFilters, *, count: int | None, dry_run: bool
    ) -> list[Memory]:
        """Change what a dry run has found; if that is something else by then, nothing is changed."""
        arguments = {"why": why, "count": count, **plain(filters)}
        found = self._call(operation, {**arguments, "dry_run": True, "memories": True})
        if not dry_run and found["count"]:
            # The response of a purge, if it were repeated, could not contain what was purged.
            wanted = operation != "purge_many"
            changed = self._call(operation, {**arguments, "count": found["count"], "memories": wanted})
            found = changed if wanted else found
        return [decoding.memory_of(memory) for memory in found["memories"]]

    compact = sent(Memotherm.compact, "compact", decoding.compaction_of)

    def maintain(self, progress: Progress | None = None) -> Maintenance:  # noqa: ARG002
        """Run the maintenance rules over all inside this scope, on the server; progress is not reported."""
        return decoding.maintenance_of(self._call("maintain", {}))

    def erase(self, *, jobs: bool = True) -> Erased:
        """Erase everything at and below this scope permanently, on the server and in the jobs of hooks here and there.

        Args:
            jobs: Whether to erase the jobs of hooks on this machine as well.
        """
        if not self.scope.items():
            raise InvalidInput("name the scope to erase, such as mem.scoped(user='ana').erase(): this one has no field")
        waiting = erase_jobs(user_spool(), self._transport.url, self.scope) if jobs else 0
        # The server may add the tenant of the API key.
        found = decoding.erased_of(self._call("erase", {"confirm": str(self.status().scope)}))
        return replace(found, jobs=found.jobs + waiting)

    # Sessions

    def session(self, session_id: str) -> Session[Self]:
        """Return the working memory of one session, starting it if it is new."""
        return RemoteSession(self.scoped(session=session_id), session_id)

    session_status = sent(Memotherm.session_status, "session_status", decoding.session_status_of)

    # Markdown notes

    def notes(
        self, root: str | PathLike[str] | None = None, extra_paths: Sequence[str] = (), *, name: str | None = None
    ) -> Notes:
        """Return the notes of the server: those of its setting `notes_root`, to search, read and curate."""
        if root is not None or extra_paths or name is not None:
            raise InvalidInput(
                "a folder of this machine needs the store itself: leave it out for the notes of the server, which "
                "is the folder of its setting notes_root"
            )
        return RemoteNotes(self)

    # What needs the store itself

    import_ = refused(Memotherm.import_)
    maintenance = refused(Memotherm.maintenance)
    reembed = refused(Memotherm.reembed)
    checkpoint = refused(Memotherm.checkpoint)
    missing_nodes = refused(Memotherm.missing_nodes)
    key_value = refused(Memotherm.key_value)
