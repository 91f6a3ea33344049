"""The facade: one class whose methods validate arguments, call a service and return a value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from memotherm.context.values import Context
from memotherm.embed import Embedder
from memotherm.errors import InvalidInput
from memotherm.facade.bulk import Bulk
from memotherm.facade.correction import Correction, update
from memotherm.facade.endings import Endings, renewed_anchors
from memotherm.facade.services import Services
from memotherm.facade.undoing import event_page, undo_event
from memotherm.facade.view import View
from memotherm.model import Event, Memory, Priority, Recall, Retention, Scope, Tier, Trust
from memotherm.model.actions import Action
from memotherm.model.clock import Clock, system_clock
from memotherm.model.marks import ANCHORS
from memotherm.model.memory import (
    FormatName,
    MemoryFilters,
    OrderName,
    PriorityName,
    ScopeFields,
    TierName,
    TierValue,
    placement,
)
from memotherm.model.recall import Feedback
from memotherm.model.results import LARGEST_PAGE, Captured, Compaction, EventPage, Maintenance, Page, Problem
from memotherm.recall.as_of import require_moment
from memotherm.recall.values import DEFAULT_RANKING, RankingOptions
from memotherm.remember.draft import Draft, checked_key, draft_of
from memotherm.session import Session
from memotherm.settings import Settings
from memotherm.storage.base import OwnProcess
from memotherm.storage.store import Store
from memotherm.tiers.active_policy import ActivePolicy
from memotherm.tiers.engine import combined
from memotherm.tiers.rules import Rule
from memotherm.tiers.rules.rule import checked_rules
from memotherm.vectors.embedder_session import ResolveFormer
from memotherm.vectors.vectorizer import Progress, Vectorizer

if TYPE_CHECKING:
    # Loaded by the methods that use them: a recall needs neither notes nor policies nor reports.
    from memotherm.facade.inspection import Inspection, Receipts
    from memotherm.facade.keys import Keys
    from memotherm.facade.note_folders import NoteFolders
    from memotherm.facade.upkeep import Upkeep
    from memotherm.model.reports import Erased, Metrics, Status
    from memotherm.notes.notes import Notes
    from memotherm.tiers.policies import Policies


class Memotherm(Correction):
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
        scope, all_tenants = scope or Scope(), store.for_tenant(None)
        given = None if rules is None else checked_rules(rules)
        services = Services(
            all_tenants.for_tenant(scope.tenant or ""),
            all_tenants,
            Vectorizer.open(all_tenants, embedder, fallback, resolve_former),
            ActivePolicy(all_tenants, None if given is None else lambda: given, settings or Settings()),
            clock or system_clock,
            ranking,
        )
        self._view = View(services, scope)
        self._process = OwnProcess(all_tenants.name)
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
    def _services(self) -> Services:
        return self._view.services

    def __repr__(self) -> str:
        return f"<Memotherm {self._services.store.name!r} scope: {self.scope}>"

    # What belongs together is reached together

    @property
    def bulk(self) -> Bulk:
        """Changes of all memories that filters select."""
        return Bulk(self._view)

    @property
    def inspect(self) -> Inspection:
        """What the store holds and how it is used: keys, heat, uses, neighbours, scopes, the recall log."""
        from memotherm.facade.inspection import Inspection

        return Inspection(self._view)

    @property
    def keys(self) -> Keys:
        """The API keys of the server."""
        from memotherm.facade.keys import Keys

        return Keys(self.store.key_value("api-keys"))

    @property
    def policies(self) -> Policies:
        """Tier policies, and what they would do to these memories."""
        from memotherm.tiers.policies import Policies

        return Policies(self._view)

    @property
    def receipts(self) -> Receipts:
        """What contexts have injected, and why."""
        from memotherm.facade.inspection import Receipts

        return Receipts(self._view)

    @property
    def store(self) -> Upkeep:
        """The store itself: vectors, imports, maintenance in the background, the nodes of a cluster."""
        from memotherm.facade.upkeep import Upkeep

        return Upkeep(self._view)

    # Scope and lifetime

    def scoped(self, /, **fields: Unpack[ScopeFields]) -> Self:
        """Return the same store seen from a narrower scope; closing it does not close the store.

        Args:
            fields: `tenant`, `project`, `environment`, `user`, `agent` and `session`; None restricts nothing.
        """
        return self._of(self._view.narrowed(**fields))

    def read_only(self) -> Self:
        """Return the same memory for reading: changes raise `ReadOnly`, and recalls are neither counted nor logged."""
        return self._of(self._view.read_only())

    def for_user(self) -> Self:
        """Return the same store seen from the scope of the user alone; closing it does not close the store."""
        if (scope := self.scope).user is None:
            raise InvalidInput("the scope has no user: open it with Scope(user=...)")
        return self._of(View(self._services, scope.of_user(), self._view.caller))

    def in_folder(self, folder: str | PathLike[str]) -> Self:
        """Return the same memory for somebody who works in a folder.

        The repository of the folder tells whether conditions that end memories have come true. Nothing of it is run,
        and nothing outside of it is read. Without it, and on servers, conditions are not checked.
        """
        return self._of(self._view.in_folder(str(folder)))

    def by(self, trust: Trust | str | None = None, name: str = "") -> Self:
        """Return the same memory for an interface in front of a person, an agent or another source.

        What it writes has at most this trust. A program that a person uses calls `by("person")`; tools that a model
        calls must not. Without it, everything is written by an agent.

        Args:
            trust: Who stands behind what is written; None: as before.
            name: Whom the ledger names as the actor of changes; if empty, the agent or the user of the scope, or else
                person or agent.
        """
        return self._of(self._view.by(self._view.trust if trust is None else Trust.of(trust), name))

    def close(self) -> None:
        """Close the store; calling it twice, or in a forked process, is harmless."""
        if self._owner and self._process.current:
            self._services.vectorizer.wait()
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
        tier: Tier | TierValue | None = None,
        priority: Priority | PriorityName | int = Priority.NORMAL,
        ttl: timedelta | float | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        source: str = "agent",
        supersedes: str | None = None,
        key: str | None = None,
        index: bool = True,
        expires_at: datetime | str | None = None,
        version: int | None = None,
        valid_from: datetime | str | None = None,
        valid_until: datetime | str | None = None,
        wait: bool = False,
    ) -> Memory:
        """Store a memory, or merge it into one with the same content.

        With a key, replace the memory of this scope that has the key, even if it is archived or deleted: it keeps
        its id, its first time and its history, and its tier and priority unless others are given.

        Args:
            content: The text.
            kind: fact, preference, decision, rule, task, message, entity, context, note, or your own word.
            tags: Free labels.
            tier: hot, warm or cold; None lets the settings and the time to live decide. Or a priority.
            priority: pinned, critical, important, normal or low, or 0 to 4.
            ttl: The time until it expires: seconds, a timedelta, or text such as "7d".
            metadata: Further values, as JSON; the value of `tier` counts like the argument, if that is not given, and
                `anchors` lists the files that it is about, such as "src/app.py:10-20".
            source: Where it comes from; `web` or a URL, `document` and `import` lower its trust.
            supersedes: The id of a memory that this one replaces; that one is archived.
            key: Your own name for it, unique in this scope, such as "notes/plan"; a purge makes it free again.
            index: Whether to make vectors of it; without them, it is found by its words only.
            expires_at: The time when it expires, instead of `ttl`: a datetime with a time zone, or ISO 8601 text.
            version: The version that the memory with the key must have, 0 if there must be none; `StaleWrite` is
                raised if it is another one.
            valid_from: When what it says begins to hold: a datetime, an ISO date or time, or "7d" (ago).
            valid_until: When it ceases to hold; a date alone includes that day. Nothing is deleted then, but contexts
                leave it out. Or a condition that ends it, such as "branch release/2.1 is gone", checked in the folder
                that `in_folder` names.
            wait: Whether to wait for the vectors of a content of more than 4,000 characters; it is found by its words
                at once, and by vectors a moment later.
        """
        asked = None if priority == Priority.NORMAL else priority
        draft = Draft(
            content=content, kind=kind, tags=tags, tier=tier, priority=asked, ttl=ttl, expires_at=expires_at,
            metadata=metadata, source=source, supersedes=supersedes, key=key, index=index, version=version,
            valid_from=valid_from, valid_until=valid_until,
        )  # fmt: skip
        stored = self._view.remember([draft], wait=wait)
        if not stored:
            raise InvalidInput(f"it was rejected, forgotten or corrected here: {source!r} cannot propose it again")
        return stored[0]

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
        return self._view.remember(drafts, forget, why)

    def capture(
        self,
        content: str,
        kind: str | None = None,
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        source: str = "capture",
        at: datetime | str | None = None,
    ) -> Captured:
        """Store text of a conversation, unless it is short, filler such as "ok, thanks", a question, or stored already.

        Its words decide its kind, as they do in hooks: rule, preference, fact, decision, task or message. What users
        say about themselves, and rules "for all my projects", are stored for the user, everything else in this scope.
        An open task that a user reports as done or cancelled is closed, and a rule that the user takes back ends.

        Blocks of recalled memories in the text are removed first, so that a memory is not stored again for
        having been recalled; the result says how many characters were removed. What looks like a credential, and
        passages between `<private>` and `</private>`, are replaced by `[redacted]`; the result says how many.

        Args:
            content: The text.
            kind: The kind of the memory, stored in this scope; None lets its words decide.
            tags: Free labels.
            metadata: Further values, as JSON; `role` is that of the speaker, "user" if it is not given.
            source: Where it comes from.
            at: When it was said, if not now: a datetime, an ISO time, or "5m" (ago).
        """
        # A process that recalls loads nothing of what reads statements.
        from memotherm.facade.capture import apply_reports, capture

        draft = Draft(content=content, kind=kind or "message", tags=tags, metadata=metadata, source=source)
        report = partial(apply_reports, self, at=self._view.now()) if kind is None else None
        return capture(self._view, draft, at, report)

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
        sources: Sequence[str] | None = None,
        mentions: Sequence[str] | None = None,
        true_at: datetime | str | None = None,
        scope: Mapping[str, str] | None = None,
        include_narrower: bool = False,
    ) -> Recall:
        """Return the memories that answer a query, best first.

        `pinned` has the pinned memories of any tier. The notes of `notes_root` are synced first (`sync_on_search`).

        Args:
            query: The question, in words. An empty one lists what passes the filters, newest first.
            limit: The most hits besides the pinned ones; a larger limit only appends hits.
            tiers: The tiers to search.
            kinds: Only memories of one of these kinds.
            tags: Only memories with at least one of these tags.
            min_score: The least relevance, before boosts; None for 0.
            promote: Move the hits that the promotion rules select to hot.
            track: Log it, and count it as a use of the hits.
            as_of: Answer from the state of the memories at an earlier moment, which the ledger records.
            since: Only memories created at or after this: a datetime, an ISO date or time, or "7d" (ago).
            until: Only memories created before this.
            where: Only memories whose metadata matches, such as {"status": "open", "votes": {"$gte": 3}}, {"tier": 0}.
            retention: active, archived, deleted, proposed or any. Only active memories are indexed: others take longer.
            prefix: Only memories whose key begins with this, such as "notes/".
            sources: Only memories from one of these sources, such as "hook".
            mentions: Only memories that mention one of these names or identifiers as a whole, in any spelling.
            true_at: Only memories that held at this moment; by default, ended ones, too. `as_of` is what was known.
            scope: Only memories whose own scope has these fields, such as {"environment": "production"}.
            include_narrower: Search this scope and narrower ones, instead of what is visible from it.
        """
        stale = () if as_of is not None else self._view.sync_notes()
        filters: dict[str, Any] = {"kinds": kinds, "tags": tags, "since": since, "until": until}
        filters |= {"where": where, "prefix": prefix, "sources": sources, "min_score": min_score}
        filters |= {"mentions": mentions, "true_at": true_at}
        options: dict[str, Any] = {"as_of": as_of, "retention": retention, "include_narrower": include_narrower}
        options["scope"] = scope
        recall = self._view.recall(query, limit, tiers, filters, promote=promote, track=track, **options)
        return replace(recall, degraded=(*stale, *recall.degraded)) if stale else recall

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
        included once. Without a query, as at the start of a session, nothing is searched. Hits are left out if the
        confidence of the search is below `context_min_confidence`. The notes of `notes_root` are synced first.

        Args:
            query: What the agent is about to work on, in words.
            budget: The most tokens of the text; 0 returns an empty context.
            format: markdown, xml, messages (JSON), or index (id, tier, score and title only).
            include_cold: Whether to also search cold; None takes the setting.
            track: Log it and keep its receipt; being in a context is no use of a memory.
            as_of: Assemble it from the state of the memories at an earlier moment; it is not counted or logged.
        """
        view, moment = self._view, None if as_of is None else require_moment(as_of)
        request = view.context_request(
            query, budget, format, include_cold=include_cold, track=track and moment is None, now=moment
        )
        return view.services.assembler.context(request) if moment is None else view.past_context(request)

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
        return self._view.feedback(recall, used, answer, at)

    def get_relevant_memories(self, agent_id: str, query: str, limit: int = 5) -> str:
        """Return the memories that answer a query as lines of text, pinned memories first."""
        found = self.scoped(agent=agent_id).recall(query, limit)
        memories = (hit.memory for hit in (*found.pinned, *found.hits))
        lines = (
            f"- {'' if each.priority is Priority.NORMAL else f'[{each.priority}] '}{' '.join(each.content.split())}"
            for each in memories
        )
        return "\n".join(lines) or "(No relevant memories)"

    def pinned(self) -> list[Memory]:
        """Return the pinned memories, oldest first."""
        return [record.memory for record in self._services.store.pinned(self._view.seen())]

    # Reading

    def get(self, memory_id: str | None = None, *, key: str | None = None, include_narrower: bool = False) -> Memory:
        """Return a memory by its id, archived and deleted ones included, or the active one that has a key.

        Instead of the id, `#` and a number are accepted, by which a context names a memory that it has shortened. Of
        several visible scopes that have the key, the narrowest wins. It counts as a use. With `include_narrower`, look
        for an id at and below this scope, instead of in what is visible from it; that does not count.
        """
        view = self._view
        if (memory_id is None) == (key is None):
            raise InvalidInput("get takes either the id of a memory or a key")
        if memory_id is not None and include_narrower:
            return view.record_inside(memory_id).memory
        record = view.with_key(checked_key(key)) if memory_id is None else view.record(memory_id)
        view.count_uses([record], named=False)
        return record.memory

    def find(
        self,
        *,
        limit: int = 100,
        cursor: str | None = None,
        include_narrower: bool = False,
        order: OrderName = "newest",
        skip: int = 0,
        **filters: Unpack[MemoryFilters],
    ) -> Page:
        """List memories, newest first unless another order is given, a page at a time.

        Args:
            limit: The most memories of a page.
            cursor: The cursor of the last page.
            include_narrower: List the memories of this scope and of narrower ones, instead of those visible from it.
            order: newest, oldest, updated, used (last used first), most_used, largest or smallest (by tokens).
            skip: How many memories of the order to leave out; a page in another order than newest has no cursor.
            filters: Only memories of this `tier`, `priority`, `kind` or `trust`; with one of these `tags`; created at
                or after `since` and before `until` (a datetime, an ISO date or time, or "7d" for seven days ago); with
                metadata that matches `where`, such as {"status": "open", "votes": {"$gte": 3}}; with a key that
                begins with `prefix`; with a content that contains the text `contains`, in upper or lower case, or
                that mentions one of the names and identifiers `mentions` as a whole; that held at the moment
                `true_at`; with one of these `ids`. `retention` is active unless given: archived, deleted, proposed
                or any.
        """
        page: dict[str, Any] = {"order": order, "skip": skip, "cursor": cursor}
        return self._view.page(limit, include_narrower=include_narrower, **page, **filters)

    def count(self, *, include_narrower: bool = False, **filters: Unpack[MemoryFilters]) -> int:
        """Return how many memories `find` lists on all its pages.

        Args:
            include_narrower: Count the memories of this scope and of narrower ones, instead of those visible from it.
            filters: As for `find`.
        """
        store, search = self._view.listing(include_narrower=include_narrower, **filters)
        return store.count(search)

    def kinds(self, *, include_narrower: bool = False, **filters: Unpack[MemoryFilters]) -> dict[str, int]:
        """Return the kinds of the memories that `find` lists on all its pages, each with its number of memories.

        Args:
            include_narrower: Count the memories of this scope and of narrower ones, instead of those visible from it.
            filters: As for `find`.
        """
        store, search = self._view.listing(include_narrower=include_narrower, **filters)
        return store.kinds(search)

    def history(self, memory_id: str) -> list[Event]:
        """Return the events of a memory, oldest first; they remain after a purge."""
        return self._services.store.events(self._view.record(memory_id, purged=True))

    def events(
        self,
        limit: int = 100,
        cursor: str | None = None,
        oldest_first: bool = False,
        include_narrower: bool = False,
        *,
        action: str = "",
        actor: str = "",
        rule: str = "",
        since: datetime | str | None = None,
        until: datetime | str | None = None,
    ) -> EventPage:
        """Return the events of all visible memories, and adoptions of policies, newest first, a page at a time.

        Args:
            limit: The most events of a page.
            cursor: The cursor of the last page; `after-N` and `before-N` continue from event N in either order.
            oldest_first: Start with the first event, if there is no cursor.
            include_narrower: Return the events of this scope and of narrower ones, instead of those visible from it.
            action: Only events of this action, such as move.
            actor: Only what this actor did, such as agent.
            rule: Only what this rule of the policy did.
            since: Only events at or after this moment: a datetime, an ISO date or time, or "7d" for seven days ago.
            until: Only events before this moment.
        """
        where = self._view.event_filter(action, actor, rule, since, until)
        return event_page(
            self._view, limit, cursor, where, oldest_first=oldest_first, include_narrower=include_narrower
        )

    def status(self, include_narrower: bool = False) -> Status:
        """Return counts of the visible memories and the state of the store.

        Args:
            include_narrower: Count the memories of this scope and of narrower ones, instead of those visible from it.
        """
        from memotherm.facade.inspection import status

        return status(self._view, include_narrower=include_narrower)

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
        valid_from: datetime | str | None = None,
        valid_until: datetime | str | None = None,
    ) -> Memory:
        """Change the content, kind, tags, metadata, expiry, validity or key of a memory; what is left out stays.

        It expires after `ttl` from now, or at `expires_at`. With `version`, that of the memory as you read it, a
        change that came in between is an error.
        """
        fields: dict[str, object] = {"kind": kind, "tags": tags, "metadata": metadata, "key": key}
        fields |= {"valid_from": valid_from, "valid_until": valid_until}
        return update(self._view, memory_id, content, fields, ttl, expires_at, why, version)

    def move(self, memory_id: str, tier: Tier | TierValue, why: str = "") -> Memory:
        """Move a memory to another tier; a priority is also accepted, and sets that."""
        wanted, priority = placement(tier)
        if wanted is None:
            return self.prioritize(memory_id, Priority.of(priority), why)
        return self._services.changes.move(self.scope, memory_id, wanted, self._view.cause(Action.MOVE, why))

    def prioritize(self, memory_id: str, priority: Priority | PriorityName | int, why: str = "") -> Memory:
        """Set the priority of a memory."""
        wanted = Priority.of(priority)
        return self._services.changes.prioritize(
            self.scope, memory_id, wanted, self._view.cause(Action.PRIORITIZE, why)
        )

    def pin(self, memory_id: str, why: str = "") -> Memory:
        """Include a memory in every recall and context until it is unpinned."""
        return self.prioritize(memory_id, Priority.PINNED, why)

    def unpin(self, memory_id: str, why: str = "") -> Memory:
        """Give a pinned memory normal priority; another one is left as it is."""
        return self._services.changes.unpin(self.scope, memory_id, self._view.cause(Action.PRIORITIZE, why))

    def verify(self, memory_id: str, why: str = "") -> Memory:
        """Record that a memory still holds; contexts say when an old fact was last verified.

        If a person verifies it, it has the trust of a person from then on. The files that it is about count as they
        are now, in the folder that `in_folder` names.
        """
        view = self._view
        known = {} if view.folder is None else renewed_anchors(view.record(memory_id).memory, view.folder)
        return self._services.changes.verify(self.scope, memory_id, view.cause(Action.VERIFY, why), view.trust, known)

    def stale(self, limit: int = 50) -> list[Memory]:
        """Return the memories whose files have changed or are gone, newest first, in the folder of `in_folder`.

        Args:
            limit: The most memories.
        """
        files_of = Endings(self._view).files_of
        found = self._view.page(LARGEST_PAGE, include_narrower=False, where={ANCHORS: {"$exists": True}})
        return [memory for memory in found if files_of(memory) in ("changed", "gone")][:limit]

    def move_out_of_session(self, memory_id: str, why: str = "") -> Memory:
        """Move a memory from a session to the scope around it, so that it remains after the session."""
        cause = self._view.cause(Action.MOVE_OUT_OF_SESSION, why)
        return self._services.changes.rescope(self.scope, memory_id, cause)

    def rescope(self, memory_id: str, scope: Mapping[str, str], why: str = "") -> Memory:
        """Move a memory to another scope of its tenant; its id and its history stay, and `undo` takes it back.

        Args:
            memory_id: A memory that may be changed from here.
            scope: The fields of its new scope, such as {"project": "shop"}.
            why: The reason, for the ledger.
        """
        if not isinstance(scope, Mapping) or "owner" in scope:
            raise InvalidInput(f"scope must be fields such as {{'project': 'shop'}}, not {scope!r}")
        cause = self._view.cause(Action.RESCOPE, why)
        return self._services.changes.rescope(self.scope, memory_id, cause, scope)

    def archive(self, memory_id: str, why: str = "") -> Memory:
        """Hide a memory from every search; it can be read by its id and restored at any time."""
        return self._view.retain([memory_id], Retention.ARCHIVED, Action.ARCHIVE, why)[0]

    def forget(self, memory_id: str, why: str = "") -> Memory:
        """Delete a memory; `restore` brings it back within the grace days."""
        return self._view.retain([memory_id], Retention.DELETED, Action.FORGET, why)[0]

    def restore(self, memory_id: str, why: str = "") -> Memory:
        """Make an archived or deleted memory active again."""
        return self._view.retain([memory_id], Retention.ACTIVE, Action.RESTORE, why)[0]

    def approve(self, memory_id: str, why: str = "") -> Memory:
        """Make a proposal active; what it supersedes is archived. `find(retention="proposed")` lists proposals.

        Only a person can do so: others get `Forbidden`.
        """
        return self._view.review([memory_id], Retention.ACTIVE, Action.APPROVE, why)[0]

    def reject(self, memory_id: str, why: str = "") -> Memory:
        """Delete a proposal, and keep it from being proposed or captured again."""
        return self._view.review([memory_id], Retention.DELETED, Action.REJECT, why)[0]

    def purge(self, memory_id: str, why: str = "") -> None:
        """Erase the content, vectors and words of a memory permanently; only its events remain."""
        self._services.changes.purge(self.scope, [memory_id], self._view.cause(Action.PURGE, why))

    def erase(self, *, jobs: bool = True) -> Erased:
        """Erase everything at and below this scope permanently, and return what was removed.

        That is every memory of any retention, with its vectors, words and former contents, the recall log, the
        receipts and the states of sessions, and the reasons of events. Ids, times and the names of scopes remain,
        and marks of the erased contents, which keep imports from bringing them back. If it is interrupted, call it
        again.

        Args:
            jobs: Whether to also erase the jobs of hooks: captured texts that wait on this machine.
        """
        from memotherm.facade.inspection import erase

        return erase(self._view, jobs=jobs)

    def undo(self, event_seq: int) -> Memory:
        """Undo one event of the ledger, unless later events depend on it; `bulk.undo` undoes a whole run."""
        return undo_event(self._view, event_seq)

    # Sessions and notes

    def session(self, session_id: str) -> Session[Self]:
        """Return the working memory of one session, starting it if it is new."""
        memory = self._of(self._view.narrowed(session=session_id))
        if self.settings.sync_on_session_start:
            memory._folders().sync_at_start()
        return Session(memory, memory._view)

    def notes(
        self, root: str | PathLike[str] | None = None, extra_paths: Sequence[str] = (), *, name: str | None = None
    ) -> Notes:
        """Return the Markdown notes of a folder: MEMORY.md and memory/**/*.md, indexed and searchable.

        Args:
            root: The folder; None for that of the setting `notes_root`.
            extra_paths: More files and folders inside it that are notes.
            name: What its index is known by; None takes the folder's path.
        """
        return self._folders().open(root, extra_paths, name)

    def _folders(self) -> NoteFolders:
        from memotherm.facade.note_folders import NoteFolders

        return NoteFolders(self._view)

    # Tiers and the whole store

    def compact(self, dry_run: bool = False) -> Compaction:
        """Run the compaction rules once over all visible memories."""
        return self._view.compact(dry_run=dry_run)

    def maintain(self, progress: Progress | None = None) -> Maintenance:
        """Run the maintenance rules (expiry, retention windows, cooling, promotion) over all inside this scope.

        Also makes missing vectors, and all of them after a change of embedder.

        Args:
            progress: Called with (done, total) for the changes and then for the vectors; what is done stays if it is
                interrupted.
        """
        return combined([self._view.maintain(part, progress) for part in self._services.all_tenants.parts(self.scope)])

    def metrics(self) -> Metrics:
        """Return metrics: hot utilisation, spills, recalls, promotions, latency, hit rate, moves by rule."""
        from memotherm.facade.inspection import metrics

        return metrics(self._view)

    def check(self) -> list[Problem]:
        """Verify the whole store and return the problems found."""
        return self._services.all_tenants.check()

    def checkpoint(self, path: str | Path) -> Path:
        """Write a consistent copy of the whole store to a new file; other processes may keep writing."""
        target = Path(path).expanduser()
        self._services.all_tenants.checkpoint(target)
        self.store.record_backup()
        return target
