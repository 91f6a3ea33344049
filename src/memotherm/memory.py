"""The facade: one class whose methods validate arguments, call a service and return a value."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack, get_args

from memotherm.context.assembler import Assembler, Request
from memotherm.context.explain import explain
from memotherm.context.values import Context
from memotherm.embed import Embedder
from memotherm.errors import InvalidInput, MemothermError, NotFound, StaleWrite
from memotherm.model import Event, Hit, Memory, Move, Priority, Recall, Retention, Scope, Tier
from memotherm.model.clock import Clock, as_duration, as_moment, system_clock
from memotherm.model.memory import FormatName, MemoryFilters, OrderName, PriorityName, TierName
from memotherm.model.process import OwnProcess
from memotherm.model.recall import Feedback, TimedRecall
from memotherm.model.receipts import KeptReceipt, ReceiptAnswer, ReceiptPage
from memotherm.model.results import (
    Captured,
    Compaction,
    EventPage,
    Maintenance,
    Page,
    Problem,
    ScopeCount,
    SessionStatus,
)
from memotherm.recall.as_of import require_moment
from memotherm.recall.values import DEFAULT_RANKING, Question, RankingOptions
from memotherm.remember.capture import prepared
from memotherm.remember.draft import (
    Draft,
    checked_key,
    checked_kind,
    checked_metadata,
    checked_tags,
    draft_of,
    expiry,
    lifetime_of,
    list_keys,
)
from memotherm.remember.writer import Importer
from memotherm.services import ANY_RETENTION, Services, View, require_limit, wanted_retentions
from memotherm.session import Session
from memotherm.settings import Settings
from memotherm.spool import user_spool
from memotherm.storage.keyvalue import KeyValue
from memotherm.storage.store import Store, SupportsCheckpoint
from memotherm.storage.values import RootRow
from memotherm.text.content import require_content
from memotherm.text.redaction import redactor
from memotherm.tiers.active_policy import ActivePolicy
from memotherm.tiers.engine import combined
from memotherm.tiers.rules import Rule
from memotherm.tiers.rules.properties import decay, heat
from memotherm.tiers.rules.retention import require_active
from memotherm.tiers.rules.rule import RuleSource, checked_rules
from memotherm.vectors.embedder_session import ResolveFormer
from memotherm.vectors.vectorizer import Progress, Vectorizer, missing_vectors

if TYPE_CHECKING:
    # Loaded by the methods that use them: a recall needs neither notes nor policies nor reports.
    from memotherm.model.reports import Erased, Everything, Heat, Metrics, Status, TierPoint, Uses
    from memotherm.notes import Imported, Notes
    from memotherm.notes.notes import NoteServices
    from memotherm.tiers.lab.replay import Replay
    from memotherm.tiers.policies import Policies, PolicySource
    from memotherm.tiers.scheduler import Scheduler

__all__ = ["KeyValue", "Memotherm"]

_log = logging.getLogger(__name__)

_LARGEST_PAGE = 1000
#: The share by which the interval of maintenance varies at random.
_MAINTENANCE_JITTER = 0.2
_LONGEST_CURSOR = 18
_ORDERS = get_args(OrderName)
#: The most moments of a history, and the most memories that a listing leaves out.
_MOST_POINTS = 1000
_MOST_SKIPPED = 1_000_000_000
#: How much of a memory its neighbours are searched by.
_LIKENESS_CHARS = 2000


class Memotherm:
    """An agent's memory: one store, seen from one scope."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        *,
        fallback: Embedder | None = None,
        resolve_former: ResolveFormer = lambda _: None,
        scope: Scope | None = None,
        rules: Iterable[Rule] | None = None,
        settings: Settings | None = None,
        clock: Clock | None = None,
        ranking: RankingOptions = DEFAULT_RANKING,
    ) -> None:
        whole = store.for_tenant(None)
        scope = scope or Scope()
        services = Services.build(
            whole.for_tenant(scope.tenant or ""),
            whole,
            Vectorizer.open(whole, embedder, fallback, resolve_former),
            ActivePolicy(whole, None if rules is None else _given(rules), settings or Settings()),
            clock or system_clock,
            ranking,
        )
        self._view = View(services, scope)
        self._process = OwnProcess(whole.name)
        self._owner = True

    @classmethod
    def _of(cls, view: View) -> Self:
        """Return the facade of a view; closing it does not close the store."""
        memory = cls.__new__(cls)
        memory._view = view
        memory._owner = False
        return memory

    @property
    def scope(self) -> Scope:
        """The scope that this memory is seen from."""
        return self._view.scope

    @property
    def settings(self) -> Settings:
        """The settings that it was opened with, and the limits of the adopted policy."""
        return self._services.settings

    @property
    def embedding_seconds(self) -> float:
        """How long the embedder has worked on contents since the store was opened."""
        return self._services.vectorizer.seconds

    @property
    def _services(self) -> Services:
        return self._view.services

    def __repr__(self) -> str:
        return f"<Memotherm {self._services.store.name!r} scope: {self.scope}>"

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
        """Return the same store seen from a narrower scope; closing it does not close the store."""
        view = self._view.narrowed(
            tenant=tenant, project=project, environment=environment, user=user, agent=agent, session=session
        )
        return self._of(view)

    def read_only(self) -> Self:
        """Return the same memory for reading: changes raise `ReadOnly`, and recalls are neither counted nor logged."""
        return self._of(View(self._services.read_only(), self.scope))

    def for_user(self) -> Self:
        """Return the same store seen from the scope of the user alone; closing it does not close the store."""
        if self.scope.user is None:
            raise InvalidInput("the scope has no user: open it with Scope(user=...)")
        return self._of(self._view.of_user())

    def close(self) -> None:
        """Close the store; calling it twice, or in a forked process, is harmless."""
        if self._owner and self._process.current:
            self._services.past.close()
            self._services.store.close()
            self._services.vectorizer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Remembering

    def remember(
        self,
        content: str,
        kind: str = "fact",
        tags: Iterable[str] = (),
        tier: Tier | TierName | None = None,
        priority: Priority | PriorityName | int = Priority.NORMAL,
        ttl: timedelta | float | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        source: str = "agent",
        supersedes: str | None = None,
        key: str | None = None,
        index: bool = True,
        expires_at: datetime | str | None = None,
        version: int | None = None,
    ) -> Memory:
        """Store a memory, or merge it into one with the same content.

        With a key, replace the memory of this scope that has the key, even if it is archived or deleted: it keeps
        its id, its first time and its history, and its tier and priority unless others are given.

        Args:
            content: The text.
            kind: fact, preference, decision, task, message, entity, context, note, or your own word.
            tags: Free labels.
            tier: hot, warm or cold; None lets the settings and the time to live decide.
            priority: pinned, critical, important, normal or low.
            ttl: The time until it expires: seconds, a timedelta, or text such as "7d".
            metadata: Further values, as JSON.
            source: Where it comes from.
            supersedes: The id of a memory that this one replaces; that one is archived.
            key: Your own name for it, unique in this scope, such as "notes/plan"; a purge makes it free again.
            index: Whether to make vectors of it; without them, it is found by its words only.
            expires_at: The time when it expires, instead of `ttl`: a datetime with a time zone, or ISO 8601 text.
            version: The version that the memory with the key must have, 0 if there must be none; `StaleWrite` is
                raised if it is another one.
        """
        draft = Draft(
            content=content, kind=kind, tags=tags, tier=tier, priority=priority, ttl=ttl, expires_at=expires_at,
            metadata=metadata, source=source, supersedes=supersedes, key=key, index=index, version=version,
        )  # fmt: skip
        return self._services.writer.remember([draft], self.scope, self._view.now(), self._view.actor)[0]

    def remember_many(
        self, memories: Iterable[Mapping[str, Any]], *, forget: Sequence[str] = (), why: str = ""
    ) -> list[Memory]:
        """Store several memories, given as mappings of `remember`'s arguments: all of them, or none.

        Args:
            memories: The memories.
            forget: The ids of memories to delete in the same transaction.
            why: The reason for that, for the ledger.
        """
        drafts = [draft_of(values) for values in memories]
        if isinstance(forget, str):
            raise InvalidInput("forget takes a list of ids")
        if not drafts and not forget:
            return []
        view = self._view
        return self._services.writer.remember(drafts, self.scope, view.now(), view.actor, forget=forget, why=why)

    def capture(
        self,
        content: str,
        kind: str = "message",
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        source: str = "capture",
    ) -> Captured:
        """Store text of a conversation, unless it is short, filler such as "ok, thanks", or stored already.

        Blocks of recalled memories in the text are removed first, so that a memory is not stored again for
        having been recalled; the result says how many characters were removed. What looks like a credential, and
        passages between `<private>` and `</private>`, are replaced by `[redacted]`; the result says how many.
        """
        text, metadata, result = prepared(content, metadata, self.scope.project, self.settings)
        if result.status == "skipped":
            return result
        before = self._services.store.seq()
        memory = self.remember(text, kind=kind, tags=tags, metadata=metadata, source=source)
        new = memory.version > before and memory.access_count == 0
        return replace(result, status="stored" if new else "duplicate", memory=memory)

    def secrets_in(self, content: str) -> tuple[str, ...]:
        """Return what a text seems to contain that should not be stored, in plain words, such as "a GitHub token".

        `capture` and imports replace it; `remember` stores what it is given.
        """
        return redactor(self.settings).find(content)

    # Recalling

    def recall(
        self,
        query: str,
        limit: int = 10,
        tiers: Sequence[Tier | TierName] | TierName = ("hot", "warm"),
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        min_score: float | None = None,
        promote: bool = False,
        track: bool = True,
        as_of: datetime | None = None,
        *,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        where: Mapping[str, Any] | None = None,
        retention: Retention | str = Retention.ACTIVE,
        prefix: str | None = None,
        inside: bool = False,
    ) -> Recall:
        """Return the memories that answer a query, best first.

        Pinned memories come first, from any tier, and do not count towards `limit`. The notes of `notes_root` are
        synced first, unless `sync_on_search` is off.

        Args:
            query: The question, in words.
            limit: The most hits besides the pinned ones; a larger limit only appends hits.
            tiers: The tiers to search.
            kinds: Only memories of one of these kinds.
            tags: Only memories with at least one of these tags.
            min_score: The least relevance, before boosts; None takes the setting.
            promote: Move the hits that the promotion rules select to hot.
            track: Count this as a use of the hits; with False, only the recall log records it.
            as_of: Answer from the state of the memories at an earlier moment, which the ledger records.
            since: Only memories created at or after this: a datetime, an ISO date or time, or "7d" (ago).
            until: Only memories created before this.
            where: Only memories whose metadata matches, such as {"status": "open", "votes": {"$gte": 3}}.
            retention: active, archived, deleted or any. Archived and deleted memories are in no index, so finding
                them takes longer the more of them pass the filters; no use is counted.
            prefix: Only memories whose key begins with this, such as "notes/".
            inside: Search this scope and narrower ones, instead of what is visible from it.
        """
        require_limit(limit, self.settings.pool_size)
        retentions = wanted_retentions(retention)
        filters: dict[str, Any] = {"kinds": kinds, "tags": tags, "since": since, "until": until}
        filters |= {"where": where, "prefix": prefix}
        if inside and (promote or as_of is not None):
            raise InvalidInput("promote and as_of concern what is visible from a scope: leave inside out")
        if as_of is not None:
            moment = require_moment(as_of)
            question = self._view.question(query, tiers, **filters, min_score=min_score, now=moment)
            return self._recall_past(question, limit, retentions)
        stale = self._refresh_notes()
        view = self._view.at_and_below() if inside else self._view

        def promoted(hits: Sequence[Hit]) -> tuple[list[Move], tuple[str, ...]]:
            return self._services.engine.promote(hits, self.scope, self._view.cause("move"))

        spaces = view.services.reader.spaces_within(self.scope) if inside else None
        question = view.question(query, tiers, **filters, min_score=min_score, spaces=spaces)
        if retentions != (Retention.ACTIVE,):
            return view.services.recaller_with_hidden(question, retentions).recall(question, limit, track=False)
        recall = view.services.recaller.recall(question, limit, promote=promoted if promote else None, track=track)
        recall = replace(recall, degraded=(*stale, *recall.degraded)) if stale else recall
        return recall if recall.hits or inside else replace(recall, hint=self._view.hint())

    def _recall_past(self, question: Question, limit: int, retentions: tuple[Retention, ...]) -> Recall:
        """Return the hits of an earlier state."""
        services, moment = self._services, question.where.now
        with services.past.at(services.store, services.vectorizer, self.scope, moment, retentions) as past:
            recall = past.recaller.recall(replace(question, spaces=past.spaces), limit, track=False)
            return past.restored(recall)

    def context(
        self,
        query: str | None = None,
        budget: int = 2000,
        format: FormatName = "markdown",  # noqa: A002 - the word everyone uses for it
        include_cold: bool | None = None,
        track: bool = True,
        as_of: datetime | None = None,
    ) -> Context:
        """Return the memories for a prompt as text, in at most `budget` tokens, with a receipt.

        Pinned memories come first, then hot ones, then the hits of the query in warm; each memory is
        included once. Without a query, as at the start of a session, nothing is searched. Hits are left
        out if the confidence of the search is below the setting `context_min_confidence`.

        Args:
            query: What the agent is about to work on, in words.
            budget: The most tokens of the text; 0 returns an empty context.
            format: markdown, xml, messages (JSON), or index (id, tier, score and title only).
            include_cold: Whether to search cold as well; None takes the setting.
            track: Count this as a use of the included memories, and log it.
            as_of: Assemble it from the state of the memories at an earlier moment; it is not counted or logged.
        """
        moment = None if as_of is None else require_moment(as_of)

        def requested() -> Request:
            return self._view.context_request(
                query, budget, format, include_cold=include_cold, track=track and moment is None, now=moment
            )

        if moment is not None:
            return self._context_past(requested())
        return self._services.assembler.context(requested())

    def _context_past(self, request: Request) -> Context:
        """Return the context of an earlier state."""
        services, question = self._services, request.question
        with services.past.at(services.store, services.vectorizer, self.scope, request.now) as past:
            assembler = Assembler(past.store, past.pipeline, services.settings)
            question = None if question is None else replace(question, spaces=past.spaces)
            return assembler.context(replace(request, spaces=past.spaces, question=question))

    def feedback(
        self,
        recall: Recall | Context | str | None = None,
        used: Sequence[str] = (),
        answer: str = "",
        at: datetime | str | None = None,
    ) -> Feedback:
        """Say which memories of a recall were of use, so that tiers follow what helps, not what is shown.

        Each memory counts once for a recall. Calling it again with the same arguments changes nothing.

        Args:
            recall: The recall or context, or its `recall_id`; None for the last ones of this scope.
            used: The ids of the memories that were used; they count as confirmed.
            answer: What the agent answered; memories of the recall that it repeats, and that the query did not say,
                count as reflected.
            at: When that was, if not now: a datetime, an ISO time, or "5m" (ago).
        """
        if isinstance(used, str) or not isinstance(answer, str):
            raise InvalidInput("feedback takes a list of ids in used, and a text in answer")
        log, spaces = self._services.feedback, self._view.spaces()
        moment = self._view.now() if at is None else as_moment(at, "at", self._view.now())
        records = [self._view.record(memory_id) for memory_id in used]
        if recall is None:
            return log.give(log.last(spaces[-1:], moment), records, answer, spaces, moment)
        recall_id = recall if isinstance(recall, str) else recall.recall_id
        if recall_id is None:
            raise InvalidInput("that recall is not in the recall log: set recall_log to text, and leave track on")
        inside = self._view.inside.spaces_within(self.scope)
        return log.give(
            [log.named((*spaces, *inside), recall_id, self._view.now())], records, answer, (*spaces, *inside), moment
        )

    def get_relevant_memories(self, agent_id: str, query: str, limit: int = 5) -> str:
        """Return the memories that answer a query as lines of text, pinned memories first."""
        view = self if self.scope.agent == agent_id else self.scoped(agent=agent_id)
        return _as_lines(view.recall(query, limit)) or "(No relevant memories)"

    def pinned(self) -> list[Memory]:
        """Return the pinned memories, oldest first."""
        return [record.memory for record in self._services.store.pinned(self._view.spaces(), self._view.now())]

    @property
    def policies(self) -> Policies:
        """Tier policies, and what they would do to these memories."""
        from memotherm.tiers.policies import Policies

        return Policies(self._view)

    # Reading

    def get(self, memory_id: str | None = None, *, key: str | None = None, inside: bool = False) -> Memory:
        """Return a memory by its id, archived and deleted ones included, unless it was purged.

        A context names a memory that it has shortened by `#` and its number; that is accepted as well.

        With a key instead, return the active memory that has it; of several visible scopes, the narrowest wins.
        With `inside`, look for an id at and below this scope, instead of in what is visible from it.
        """
        if (memory_id is None) == (key is None):
            raise InvalidInput("get takes either the id of a memory or a key")
        if memory_id is not None and inside:
            return self._view.record_inside(memory_id).memory
        record = self._view.record_with_key(checked_key(key)) if memory_id is None else self._view.record(memory_id)
        self._services.feedback.opened(record, self._view.spaces(), self._view.now())
        return record.memory

    def keys(
        self, prefix: str = "", depth: int | None = None, limit: int = _LARGEST_PAGE, after: str | None = None
    ) -> list[str]:
        """Return the distinct keys of the visible memories in order, or the prefixes that they have in common.

        Args:
            prefix: Only keys that begin with this.
            depth: Cut each key behind that many slashes after the prefix; a cut one ends with a slash.
            limit: The most keys.
            after: Continue behind this one, the last of the call before.
        """
        require_limit(limit, _LARGEST_PAGE)
        if depth is not None and (isinstance(depth, bool) or not isinstance(depth, int) or depth < 1):
            raise InvalidInput(f"depth must be a whole number from 1, or None for whole keys, not {depth!r}")
        begin = checked_key(prefix) if prefix else ""
        behind = None if after is None else checked_key(after)
        return list_keys(self._services.store, self._view.spaces(), self._view.now(), begin, depth, behind, limit)

    def full_id(self, prefix: str) -> str:
        """Return the id that begins with a prefix; raise `InvalidInput` if several do."""
        return self._view.full_id(prefix)

    def heat(self, memory: Memory | str) -> Heat:
        """Return how much a memory, or the one with an id, is used: its heat, and its decay since the last use."""
        from memotherm.model.reports import Heat

        found = self._view.record(memory).memory if isinstance(memory, str) else memory
        now = self._view.now()
        return Heat(heat=heat(found, now), decay=decay(found, now))

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
        """List memories, newest first unless another order is given, a page at a time.

        Args:
            limit: The most memories of a page.
            cursor: The cursor of the last page.
            inside: List the memories of this scope and of narrower ones, instead of those visible from it.
            order: newest, oldest, updated, used (last used first), most_used, largest or smallest (by tokens).
            skip: How many memories of the order to leave out; a page in another order than newest has no cursor.
            filters: Only memories of this `tier`, `priority` or `kind`; with one of these `tags`; created at or after
                `since` and before `until` (a datetime, an ISO date or time, or "7d" for seven days ago); with
                metadata that matches `where`, such as {"status": "open", "votes": {"$gte": 3}}; with a key that
                begins with `prefix`; with a content that contains the text `contains`, in upper or lower case.
                `retention` is active unless given: archived, deleted or any.
        """
        require_limit(limit, _LARGEST_PAGE)
        _require_order(order, skip, cursor)
        find = replace(self._view.listing(**filters), order=order, skip=skip)
        before = None if cursor is None else _cursor_number(cursor, "before")
        store, spaces = self._listed(inside)
        records = store.find(spaces, replace(find, limit=limit + 1, before=before))
        more = len(records) > limit
        page = records[:limit]
        return Page(
            memories=tuple(record.memory for record in page),
            cursor=f"before-{page[-1].no}" if more and page and order == "newest" else None,
            hint="" if page or inside or before is not None or skip else self._view.hint(),
        )

    def count(self, *, inside: bool = False, **filters: Unpack[MemoryFilters]) -> int:
        """Return how many memories `find` lists on all its pages.

        Args:
            inside: Count the memories of this scope and of narrower ones, instead of those visible from it.
            filters: As for `find`.
        """
        store, spaces = self._listed(inside)
        return store.count(spaces, self._view.listing(**filters))

    def _listed(self, inside: bool) -> tuple[Store, Sequence[int]]:
        """Return the store and the spaces of a listing."""
        if inside:
            return self._view.inside, self._view.inside.spaces_within(self.scope)
        return self._services.store, self._view.spaces()

    def uses(self, memory_id: str, limit: int = 20) -> Uses:
        """Return the last recalls that returned a memory, and the last contexts that considered it, inside this scope.

        The settings `recall_log_days` and `receipt_days` say how long they are kept.
        """
        from memotherm.model.reports import Uses

        require_limit(limit, _LARGEST_PAGE)
        record, store = self._view.record(memory_id), self._view.inside
        spaces = store.spaces_within(self.scope)
        return Uses(
            recalls=tuple(store.recalls_of(spaces, record.no, limit)),
            receipts=tuple(store.receipts_of(spaces, record.memory.id, limit)),
        )

    def neighbours(self, memory_id: str, limit: int = 10) -> list[Hit]:
        """Return the memories that are most like one, best first, from all tiers; nothing is counted or logged.

        Archived and deleted memories have neighbours, too, but are none.
        """
        require_limit(limit, _LARGEST_PAGE - 1)
        memory = self._view.record(memory_id).memory
        # The memory itself is the best hit.
        found = self.read_only().recall(memory.content[:_LIKENESS_CHARS], limit + 1, tuple(Tier))
        pinned = {hit.memory.id for hit in found.pinned}
        return [hit for hit in found if hit.memory.id not in pinned | {memory.id}][:limit]

    def tier_history(self, since: datetime | str = "30d", points: int = 60) -> list[TierPoint]:
        """Return how many active memories each tier had inside this scope, from a moment until now, by the ledger.

        Args:
            since: The first moment: a datetime, an ISO date or time, or "30d" for thirty days ago.
            points: How many moments, at equal distances; the last one is now.
        """
        from memotherm.tiers.tier_history import tier_history

        if isinstance(points, bool) or not isinstance(points, int) or not 2 <= points <= _MOST_POINTS:
            raise InvalidInput(f"points must be a whole number from 2 to {_MOST_POINTS}, not {points!r}")
        now, store = self._view.now(), self._view.inside
        first, spaces = as_moment(since, "since", now), store.spaces_within(self.scope)
        if first >= now:
            raise InvalidInput(f"since must be in the past, not {first.isoformat()}")
        step = (now - first) / (points - 1)
        moments = [now - step * back for back in range(points)]
        with store.snapshot():
            counts, changes = store.counts(spaces, now), store.tier_changes(spaces, first)
        return tier_history(counts.tiers, changes, moments)

    def history(self, memory_id: str) -> list[Event]:
        """Return the events of a memory, oldest first; they remain after a purge."""
        return self._services.store.events(self._view.record(memory_id, purged=True))

    def events(
        self, limit: int = 100, cursor: str | None = None, oldest_first: bool = False, inside: bool = False
    ) -> EventPage:
        """Return the events of all visible memories, and adoptions of policies, newest first, a page at a time.

        Args:
            limit: The most events of a page.
            cursor: The cursor of the last page; `after-N` and `before-N` continue from event N in either order.
            oldest_first: Start with the first event, if there is no cursor.
            inside: Return the events of memories of this scope and of narrower ones, instead of those visible from it.
        """
        from memotherm.tiers.adoption import adoption_events

        require_limit(limit, _LARGEST_PAGE)
        forward = oldest_first if cursor is None else str(cursor).startswith("after-")
        word = "after" if forward else "before"
        past = None if cursor is None else _cursor_number(cursor, word)
        store, spaces = self._listed(inside)
        events = [
            *store.ledger(spaces, past, limit + 1, oldest_first=forward),
            *adoption_events(store, past, oldest_first=forward),
        ]
        events.sort(key=lambda event: event.seq, reverse=not forward)
        page = tuple(events[:limit])
        return EventPage(events=page, cursor=f"{word}-{page[-1].seq}" if len(events) > limit and page else None)

    def receipts(self, session: str | None = None, limit: int = 20, cursor: str | None = None) -> ReceiptPage:
        """Return what was injected by contexts inside this scope, newest first, a page at a time.

        The setting `receipt_days` says how long receipts are kept; 0 keeps none.

        Args:
            session: Only contexts of this session.
            limit: The most receipts of a page.
            cursor: The cursor of the last page.
        """
        require_limit(limit, _LARGEST_PAGE)
        view = self._view.narrowed(session=session)
        past = None if cursor is None else _cursor_number(cursor, "before")
        found = view.inside.receipts(view.inside.spaces_within(view.scope), past, limit + 1)
        page = tuple(found[:limit])
        return ReceiptPage(receipts=page, cursor=f"before-{page[-1].number}" if len(found) > limit and page else None)

    def receipt(self, number: int) -> KeptReceipt:
        """Return the receipt of a context inside this scope, by its number."""
        store = self._view.inside
        found = store.receipts(store.spaces_within(self.scope), number + 1, 1) if number > 0 else []
        if not found or found[0].number != number:
            raise NotFound(f"no receipt {number} is kept in this scope ({self.scope}): `receipts` lists them")
        return found[0]

    def recalls(self, limit: int = 100, order: Literal["newest", "slowest"] = "newest") -> list[TimedRecall]:
        """Return queries of the recall log inside this scope, with how long each took and what it found.

        The setting `recall_log_days` says how long the log is kept.

        Args:
            limit: The most queries.
            order: Which come first: newest or slowest.
        """
        require_limit(limit, _LARGEST_PAGE)
        if order not in ("newest", "slowest"):
            raise InvalidInput(f"order must be newest or slowest, not {order!r}")
        store = self._view.inside
        return store.timed_recalls(store.spaces_within(self.scope), limit, slowest=order == "slowest")

    def explain_receipt(self, number: int, memory_id: str) -> ReceiptAnswer:
        """Return whether a memory was in the context of a receipt, and why.

        Args:
            number: The number of a receipt of a context inside this scope.
            memory_id: A memory that this scope can see, or one inside it.
        """
        receipt, store = self.receipt(number), self._view.inside
        try:
            record, reader = self._view.record(memory_id), self._services.store
        except NotFound:
            inner = store.get(store.spaces_within(self.scope), memory_id)
            if inner is None or inner.memory.retention is Retention.PURGED:
                raise
            record, reader = inner, store
        return explain(receipt, record.memory, reader.events(record))

    def status(self, inside: bool = False) -> Status:
        """Return counts of the visible memories and the state of the store.

        Args:
            inside: Count the memories of this scope and of narrower ones, instead of those visible from it.
        """
        from memotherm.model.reports import Status

        store = self._view.inside if inside else self._services.store
        spaces = store.spaces_within(self.scope) if inside else store.spaces(self.scope)
        counts = store.counts(spaces, self._view.now())
        waiting = store.pending(spaces) if self._services.vectorizer.enabled else 0
        active = self._services.active_policy.refresh()
        degraded = [
            self._services.vectorizer.obstacle(),
            missing_vectors(waiting) if waiting else None,
            self._services.active_policy.notice(),
            self._services.engine.clock_notice(spaces, self._view.now()),
        ]
        return Status(
            store=self._services.store.name,
            scope=self.scope,
            tiers=counts.tiers,
            retention=counts.retention,
            embedder=self._services.vectorizer.embedder.name,
            pending_vectors=waiting,
            bytes=self._services.store.size(),
            seq=self._services.store.seq(),
            schema=self._services.store.schema,
            policy="" if active.policy is None else f"{active.policy.name} ({active.policy.digest})",
            degraded=tuple(reason for reason in degraded if reason),
            hint="" if inside or any(count.memories for count in counts.tiers.values()) else self._view.hint(),
        )

    def everything(self) -> Everything:
        """Return all that is stored at and below this scope: memories of any retention, events, receipts, recalls."""
        from memotherm.remember.export_scope import everything

        return everything(self._view.inside, self.scope)

    def scopes(self) -> list[ScopeCount]:
        """Return every scope at and below this one that holds memories, with counts and tokens."""
        store = self._view.inside
        return store.scopes(store.spaces_within(self.scope))

    # Changing

    def update(
        self,
        memory_id: str,
        *,
        content: str | None = None,
        kind: str | None = None,
        tags: Iterable[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        ttl: timedelta | float | str | None = None,
        expires_at: datetime | str | None = None,
        key: str | None = None,
        why: str = "",
        version: int | None = None,
    ) -> Memory:
        """Change the content, kind, tags, metadata, expiry or key of a memory; arguments left out change nothing.

        It expires after `ttl` from now, or at `expires_at`. With `version`, that of the memory as you read it, a
        change that came in between is an error.
        """
        now = self._view.now()
        changes: dict[str, Any] = {}
        if kind is not None:
            changes["kind"] = checked_kind(kind, self.settings)
        if tags is not None:
            changes["tags"] = checked_tags(tags)
        if metadata is not None:
            changes["metadata"] = checked_metadata(metadata, self.settings.max_metadata_chars)
        lifetime = lifetime_of(ttl, expires_at, now)
        if lifetime is not None:
            changes["expires_at"] = expiry(now, lifetime)
        if key is not None:
            changes["key"] = checked_key(key)

        def alter(memory: Memory) -> Memory:
            if version is not None and memory.version != version:
                raise StaleWrite(f"{memory_id} has changed since version {version}: read it again, then change it")
            return replace(require_active(memory), **changes)

        cause = replace(self._view.cause("update", why), at=now)
        if content is None:
            return self._services.changes.change(self.scope, memory_id, alter, cause)
        content = require_content(content, self.settings.max_content_chars)
        stored = self._view.record(memory_id).memory
        return self._services.changes.rewrite(self.scope, stored, alter, content, cause)

    def move(self, memory_id: str, tier: Tier | TierName, why: str = "") -> Memory:
        """Move a memory to another tier."""
        return self._services.changes.move(self.scope, memory_id, Tier.of(tier), self._view.cause("move", why))

    def prioritize(self, memory_id: str, priority: Priority | PriorityName | int, why: str = "") -> Memory:
        """Set the priority of a memory."""
        wanted = Priority.of(priority)
        return self._services.changes.prioritize(self.scope, memory_id, wanted, self._view.cause("prioritize", why))

    def pin(self, memory_id: str, why: str = "") -> Memory:
        """Include a memory in every recall and context until it is unpinned."""
        return self.prioritize(memory_id, Priority.PINNED, why)

    def unpin(self, memory_id: str, why: str = "") -> Memory:
        """Give a pinned memory normal priority; another one is left as it is."""
        return self._services.changes.unpin(self.scope, memory_id, self._view.cause("prioritize", why))

    def verify(self, memory_id: str, why: str = "") -> Memory:
        """Record that a memory still holds; contexts say when an old fact was last verified."""
        return self._services.changes.verify(self.scope, memory_id, self._view.cause("verify", why))

    def widen(self, memory_id: str, why: str = "") -> Memory:
        """Move a memory from a session to the scope around it, so that it remains after the session."""
        return self._services.changes.widen(self.scope, memory_id, self._view.cause("widen", why))

    def archive(self, memory_id: str, why: str = "") -> Memory:
        """Hide a memory from every search; it can be read by its id and restored at any time."""
        return self._retain(memory_id, Retention.ARCHIVED, "archive", why)

    def forget(self, memory_id: str, why: str = "") -> Memory:
        """Delete a memory; `restore` brings it back within the grace days."""
        return self._retain(memory_id, Retention.DELETED, "forget", why)

    def restore(self, memory_id: str, why: str = "") -> Memory:
        """Make an archived or deleted memory active again."""
        return self._retain(memory_id, Retention.ACTIVE, "restore", why)

    def purge(self, memory_id: str, why: str = "") -> None:
        """Erase the content, vectors and words of a memory permanently; only its events remain."""
        self._services.changes.purge(self.scope, memory_id, self._view.cause("purge", why))

    def forget_many(
        self, why: str = "", *, count: int | None = None, dry_run: bool = False, **filters: Unpack[MemoryFilters]
    ) -> list[Memory]:
        """Delete all memories that the filters of `find` select, all or none; `restore_many` brings them back.

        Args:
            why: The reason, for the ledger.
            count: How many there must be; with another number nothing is changed.
            dry_run: Return the memories without changing them.
            filters: As in `find`; at least one.
        """
        memories = self._selected(count, filters)
        return memories if dry_run else self._retain_many(memories, Retention.DELETED, "forget", why)

    def restore_many(
        self, why: str = "", *, count: int | None = None, dry_run: bool = False, **filters: Unpack[MemoryFilters]
    ) -> list[Memory]:
        """Make all deleted memories that the filters select active again, or with `retention` archived ones.

        The arguments are those of `forget_many`.
        """
        memories = self._selected(count, {"retention": Retention.DELETED, **filters})
        return memories if dry_run else self._retain_many(memories, Retention.ACTIVE, "restore", why)

    def purge_many(
        self, why: str = "", *, count: int | None = None, dry_run: bool = False, **filters: Unpack[MemoryFilters]
    ) -> list[Memory]:
        """Erase all memories that the filters select permanently, deleted and archived ones included.

        The arguments are those of `forget_many`. Return the memories as they were.
        """
        memories = self._selected(count, {"retention": ANY_RETENTION, **filters})
        if memories and not dry_run:
            ids = [memory.id for memory in memories]
            self._services.changes.purge_many(self.scope, ids, self._view.cause("purge", why))
        return memories

    def erase(self, *, jobs: bool = True) -> Erased:
        """Erase everything at and below this scope permanently, and return what was removed.

        That is every memory of any retention, with its vectors, words and former contents, the recall log, the
        receipts and the states of sessions, and the reasons of events. Ids, times and the names of scopes remain,
        and marks of the erased contents, which keep imports from bringing them back. If it is interrupted, call it
        again.

        Args:
            jobs: Whether to erase the jobs of hooks as well, the captured texts that wait on this machine.
        """
        from memotherm.remember.export_scope import all_erased, erase
        from memotherm.spool import erase_jobs

        if not self.scope.items():
            raise InvalidInput("name the scope to erase, such as mem.scoped(user='ana').erase(): this one has no field")
        cause = replace(self._view.cause("purge"), rule="erase")
        # Before the store, so that no worker stores them afterwards.
        waiting = erase_jobs(user_spool(), self._services.store.name, self.scope) if jobs else 0
        erased = all_erased([erase(part, self.scope, cause) for part in self._services.whole.parts(self.scope)])
        return replace(erased, jobs=waiting)

    def undo(self, event_seq: int) -> Memory:
        """Undo one event of the ledger, unless later events depend on it."""
        cause = replace(self._view.cause("undo", f"took back event {event_seq}"), rule=f"undo:{event_seq}")
        return self._services.changes.undo(self.scope, self._view.spaces(), event_seq, cause)

    # Sessions

    def session(self, session_id: str) -> Session[Self]:
        """Return the working memory of one session, starting it if it is new."""
        view = self._view.narrowed(session=session_id)
        memory = self._of(view)
        if self.settings.sync_on_session_start:
            memory._sync_notes_at_start()
        return Session(memory, view)

    def session_status(self, session_id: str) -> SessionStatus:
        """Return the status of a session that has begun, without beginning or changing it."""
        view = self._view.narrowed(session=session_id)
        space = self._services.working.find(view.scope)
        if space is None:
            raise NotFound(f"no session {session_id!r} has begun in this scope ({self.scope})")
        return self._services.working.status(session_id, space, view.now())

    # Markdown notes

    def notes(
        self, root: str | PathLike[str] | None = None, extra_paths: Sequence[str] = (), *, name: str | None = None
    ) -> Notes:
        """Return the Markdown notes of a folder: MEMORY.md and memory/**/*.md, indexed and searchable.

        Args:
            root: The folder; None for that of the setting `notes_root`.
            extra_paths: More files and folders inside it that are notes.
            name: What its index is known by; None takes the folder's path.
        """
        from memotherm.notes import Notes

        if root is None and not self.settings.notes_root:
            raise NotFound("there are no notes: name their folder, or set notes_root to it")
        folder = self.settings.notes_root if root is None else root
        return Notes(self._note_services(self.scope), folder, extra_paths, name)

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
        now = self._view.now()
        importer = Importer(self._services.store, self._services.writer, self.scope, now, self._view.actor)
        from memotherm.notes.imports import import_memories

        return import_memories(kind, path, now, self.settings, importer.store, progress)

    def _note_services(self, scope: Scope) -> NoteServices:
        from memotherm.notes.notes import NoteServices

        return NoteServices(
            store=self._services.store,
            vectorizer=self._services.vectorizer,
            pipeline=self._services.pipeline,
            settings=self.settings,
            scope=scope,
            now=self._view.now,
            actor=self._view.actor,
            get=self.get,
            remember=lambda content: self.remember(content, source="note"),
            update=lambda memory_id, content: self.update(memory_id, content=content, why="settled with its note"),
        )

    def _sync_notes_at_start(self) -> None:
        """Synchronise the known folders of notes when a session starts; errors are logged."""
        space = self._services.store.collection(self.scope, "")
        if space is not None and self._services.store.session_state(space) is not None:
            return
        for root in self._services.store.roots(self._view.spaces()):
            if not Path(root.path).is_dir():
                continue
            try:
                self._known_notes(root).sync()
            except MemothermError as exc:
                _log.warning("the notes of %s could not be synced: %s", root.path, exc)

    def _refresh_notes(self) -> tuple[str, ...]:
        """Synchronise the notes of `notes_root` before a recall; return what may be out of date, and why."""
        folder = self.settings.notes_root
        if not folder or not self.settings.sync_on_search:
            return ()
        from memotherm.notes import Notes

        path = str(Path(folder).expanduser().resolve())
        visible = [root for root in self._services.store.roots(self._view.spaces()) if root.path == path]
        known = [root for root in visible if root.scope.tenant == self.scope.tenant]
        if self.scope.tenant is not None and not known:
            # The folder is the operator's; a tenant neither changes its index nor gets a copy.
            return ()
        try:
            # A folder that is not indexed yet belongs to the scope around a session, like other lasting memories.
            around = replace(self.scope, session=None)
            notes = [self._known_notes(root) for root in known] or [Notes(self._note_services(around), path)]
            return tuple(reason for each in notes for reason in each.refresh()[1])
        except InvalidInput as exc:
            return (f"the notes could not be synced: {exc}",)

    def _known_notes(self, root: RootRow) -> Notes:
        """Return the notes of a folder that is indexed."""
        name = root.collection.removeprefix("notes:")
        from memotherm.notes import Notes

        return Notes(self._note_services(root.scope), root.path, root.extra, name)

    def replay(
        self,
        policies: Sequence[PolicySource],
        since: datetime | str | None = None,
        limit: int = 10,
        progress: Progress | None = None,
    ) -> Replay:
        """Return what policies would have done with the past of these memories; see `policies.replay`."""
        return self.policies.replay(policies, since, limit, progress)

    def compact(self, dry_run: bool = False) -> Compaction:
        """Run the compaction rules once over all visible memories."""
        self._view.refresh()
        return self._services.engine.compact(self.scope, self._view.cause("move"), dry_run=dry_run)

    def maintain(self, progress: Progress | None = None) -> Maintenance:
        """Run the maintenance rules (expiry, retention windows, cooling, promotion) over all inside this scope.

        Also makes missing vectors, and all of them after a change of embedder.

        Args:
            progress: Called with (done, total) for the changes and then for the vectors; what is done stays if it is
                interrupted.
        """
        return combined([self._maintain(part, progress) for part in self._services.whole.parts(self.scope)])

    def _maintain(self, part: Store, progress: Progress | None = None) -> Maintenance:
        """Maintain the memories of one part of the store inside this scope."""
        self._view.refresh()
        cause = replace(self._view.cause("maintain"), actor="maintain")
        return self._services.on(part).engine.maintain(self.scope, cause, progress)

    def maintenance(self, every_minutes: float | None = None, first_minutes: float | None = None) -> Scheduler:
        """Return a scheduler that runs maintenance in the background: `with mem.maintenance(): ...`.

        Of all processes that use the store, only one runs maintenance at a time, and a run is left out if another
        process has finished one less than half an interval ago.

        Args:
            every_minutes: The interval; None for the setting `maintain_every_minutes`.
            first_minutes: The time before the first run; None for one interval.
        """
        from memotherm.tiers.scheduler import Scheduler

        minutes = self.settings.maintain_every_minutes if every_minutes is None else every_minutes
        every = as_duration(timedelta(minutes=minutes))
        name = f"maintain {self.scope}" if self.scope.items() else "maintain"
        first = None if first_minutes is None else as_duration(timedelta(minutes=first_minutes))
        return Scheduler(self._view.inside, name, self._maintain, self._view.now, every, _MAINTENANCE_JITTER, first)

    def metrics(self) -> Metrics:
        """Return metrics: hot utilisation, spills, recalls, promotions, latency, hit rate, moves by rule."""
        from memotherm.tiers.tier_history import metrics

        inside = self._view.inside.spaces_within(self.scope)
        of_session = self.scope.session is not None
        counted = inside if of_session else self._view.spaces()
        hot = self._view.inside.counts(counted, self._view.now()).tiers[Tier.HOT]
        limit = self.settings.hot_token_limit if of_session else self.settings.hot_max_tokens
        # Recalls from scopes without visible spaces are counted under space 0.
        recalled_in = inside if self.scope.items() else (0, *inside)
        return metrics(self._view.inside, recalled_in, hot.tokens, limit)

    # Maintenance

    def reembed(self, progress: Progress | None = None) -> int:
        """Make the missing vectors, and return for how many memories they were made.

        After a change of embedder the old vectors are used until all new ones are made, if the former embedder can
        be found by its name to embed queries; an interrupted run continues where it stopped.
        """
        return self._services.vectorizer.reembed(self._view.now(), progress)

    def check(self) -> list[Problem]:
        """Verify the whole store and return the problems found."""
        return self._services.whole.check()

    def missing_nodes(self) -> tuple[str, ...]:
        """Return the nodes of a distributed store that do not answer, each as host:port."""
        return self._services.whole.missing_nodes()

    def checkpoint(self, path: str | Path) -> Path:
        """Write a consistent copy of the whole store to a new file; other processes may keep writing."""
        target = Path(path).expanduser()
        store = self._services.whole
        if not isinstance(store, SupportsCheckpoint):
            raise InvalidInput(f"{store.name} cannot write checkpoints: use the backup of its database")
        store.checkpoint(target)
        return target

    def key_value(self, namespace: str) -> KeyValue:
        """Return the JSON values of a namespace, such as the server's API keys; no scope applies to them."""
        return KeyValue(self._services.whole, namespace, self._view.now)

    # Helpers

    def _selected(self, count: int | None, filters: MemoryFilters) -> list[Memory]:
        """Return all memories that filters select and that this scope may change."""
        if not any(value is not None for name, value in filters.items() if name != "retention"):
            raise InvalidInput(
                "no filter is given: name the memories with where, prefix, since, until, kind, tags or others"
            )
        find = replace(self._view.listing(**filters), limit=_LARGEST_PAGE)
        selected: list[Memory] = []
        while page := self._services.store.find(self._view.spaces(), find):
            selected += [record.memory for record in page if self.scope.may_change(record.memory.scope)]
            find = replace(find, before=page[-1].no)
        if count is not None and count != len(selected):
            raise StaleWrite(f"{len(selected)} memories match the filters, not {count}: nothing was changed")
        return selected

    def _retain_many(self, memories: Sequence[Memory], wanted: Retention, action: str, why: str) -> list[Memory]:
        ids = [memory.id for memory in memories]
        return self._services.changes.retain_many(self.scope, ids, wanted, self._view.cause(action, why))

    def _retain(self, memory_id: str, wanted: Retention, action: str, why: str) -> Memory:
        return self._services.changes.retain(self.scope, memory_id, wanted, self._view.cause(action, why))


def _given(rules: Iterable[Rule]) -> RuleSource:
    checked = checked_rules(rules)
    return lambda: checked


def _as_lines(recall: Recall) -> str:
    """Return a line for each hit; its priority is named unless it is normal."""
    labels = ("" if hit.memory.priority is Priority.NORMAL else f"[{hit.memory.priority}] " for hit in recall)
    return "\n".join(
        f"- {label}{' '.join(hit.memory.content.split())}" for label, hit in zip(labels, recall, strict=True)
    )


def _require_order(order: str, skip: int, cursor: str | None) -> None:
    """Refuse an unknown order, and a cursor together with a place in an order."""
    if order not in _ORDERS:
        raise InvalidInput(f"unknown order {order!r}: use {', '.join(_ORDERS)}")
    if isinstance(skip, bool) or not isinstance(skip, int) or not 0 <= skip <= _MOST_SKIPPED:
        raise InvalidInput(f"skip must be a whole number from 0 to {_MOST_SKIPPED}, not {skip!r}")
    if cursor is not None and (skip or order != "newest"):
        raise InvalidInput("a cursor continues the newest memories: leave out order and skip, or the cursor")


def _cursor_number(cursor: str, word: str) -> int:
    number = str(cursor).removeprefix(f"{word}-")
    if not number.isascii() or not number.isdigit() or len(number) > _LONGEST_CURSOR:
        raise InvalidInput(f"{cursor!r} is not a cursor: pass the one that the last page came with")
    return int(number)
