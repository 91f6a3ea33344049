"""The verbs: one class that parses arguments, calls a service and returns a value."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from memotherm.context.values import Context
from memotherm.embed import Embedder
from memotherm.errors import InvalidInput, MemothermError, NotFound, StaleWrite
from memotherm.model import Event, Hit, Memory, Move, Priority, Recall, Retention, Scope, Tier
from memotherm.model.clock import Clock, as_duration, reading, system_clock
from memotherm.model.results import (
    Captured,
    Compaction,
    EventPage,
    Maintenance,
    Metrics,
    Page,
    Problem,
    SessionStatus,
    Status,
)
from memotherm.notes import Imported, Notes
from memotherm.notes.importing import import_memories
from memotherm.notes.notes import NoteServices
from memotherm.recall.as_of import stored
from memotherm.remember.draft import Draft, checked_kind, checked_metadata, checked_tags, draft_of, expiry
from memotherm.rules.promotion import promotion
from memotherm.rules.retention import require_active
from memotherm.services import Services, View, require_limit
from memotherm.session import Session
from memotherm.settings import Settings
from memotherm.storage.contract import Store
from memotherm.storage.keyvalue import KeyValue
from memotherm.storage.open import open_store
from memotherm.storage.values import Find
from memotherm.text.clean import digest, require_text
from memotherm.text.marker import without_blocks
from memotherm.tiers.engine import combined
from memotherm.tiers.metrics import metrics
from memotherm.tiers.scheduler import Scheduler
from memotherm.vectors.vectorizer import Progress, Vectorizer, missing_vectors

__all__ = ["KeyValue", "Memotherm"]

_log = logging.getLogger(__name__)

_LARGEST_PAGE = 1000
_LONGEST_CURSOR = 18


class Memotherm:
    """An agent's memory: one store, seen from one scope."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        *,
        fallback: Embedder | None = None,
        scope: Scope | None = None,
        settings: Settings | None = None,
        clock: Clock | None = None,
    ) -> None:
        whole = store.for_tenant(None)
        scope = scope or Scope()
        services = Services.build(
            whole.for_tenant(scope.tenant or ""),
            whole,
            Vectorizer(whole, embedder, fallback),
            settings or Settings(),
            clock or system_clock,
        )
        self._view = View(services, scope)
        self._owner = True

    @classmethod
    def _of(cls, view: View) -> Self:
        """Return the memory that a view shows; closing it closes nothing."""
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
        """The settings that it was opened with."""
        return self._services.settings

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
        """Return the same store seen from a narrower scope; closing it closes nothing."""
        view = self._view.narrowed(
            tenant=tenant, project=project, environment=environment, user=user, agent=agent, session=session
        )
        return self._of(view)

    def close(self) -> None:
        """Close the store; calling it twice is harmless."""
        if self._owner:
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
        tier: Tier | str | None = None,
        priority: Priority | str | int = Priority.NORMAL,
        ttl: timedelta | float | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        source: str = "agent",
        supersedes: str | None = None,
    ) -> Memory:
        """Store a memory, or recognise one that says the same.

        Args:
            content: The text.
            kind: fact, preference, decision, task, message, entity, context, note, or your own word.
            tags: Free labels.
            tier: hot, warm or cold; None lets the settings and the time to live decide.
            priority: pinned, critical, important, normal or low.
            ttl: How long it lives: seconds, a timedelta, or text such as "7d".
            metadata: Anything else to keep with it, as JSON.
            source: Where it comes from.
            supersedes: The id of a memory that this one replaces; that one is archived.
        """
        draft = Draft(
            content=content, kind=kind, tags=tags, tier=tier, priority=priority, ttl=ttl,
            metadata=metadata, source=source, supersedes=supersedes,
        )  # fmt: skip
        return self._services.remember.remember([draft], self.scope, self._view.now(), self._view.actor)[0]

    def remember_many(self, memories: Iterable[Mapping[str, Any]]) -> list[Memory]:
        """Store several memories, given as mappings of `remember`'s arguments: all of them, or none."""
        drafts = [draft_of(values) for values in memories]
        if not drafts:
            return []
        return self._services.remember.remember(drafts, self.scope, self._view.now(), self._view.actor)

    def capture(
        self,
        content: str,
        kind: str = "message",
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        source: str = "capture",
    ) -> Captured:
        """Store text of a conversation, unless it is short or stored already.

        Blocks of recalled memories in the text are removed first, so that a memory is not stored again for
        having been recalled; the result says how many characters were removed.
        """
        text = without_blocks(content) if isinstance(content, str) else content
        removed = len(content) - len(text) if isinstance(content, str) else 0
        why = f"{removed} characters of recalled memories were removed" if removed else ""
        if removed and not text.strip():
            return Captured(status="skipped", why="nothing but recalled memories", removed_chars=removed)
        if isinstance(text, str) and len(text.strip()) < self.settings.capture_min_chars:
            why = "; ".join([f"shorter than {self.settings.capture_min_chars} characters", *([why] if why else [])])
            return Captured(status="skipped", why=why, removed_chars=removed)
        before = self._services.store.seq()
        memory = self.remember(text, kind=kind, tags=tags, metadata=metadata, source=source)
        new = memory.version > before and memory.access_count == 0
        return Captured(status="stored" if new else "duplicate", memory=memory, why=why, removed_chars=removed)

    # Recalling

    def recall(
        self,
        query: str,
        limit: int = 10,
        tiers: Sequence[Tier | str] | str = ("hot", "warm"),
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        min_score: float | None = None,
        promote: bool = False,
        track: bool = True,
        as_of: datetime | None = None,
    ) -> Recall:
        """Return what answers a query, best first.

        Pinned memories come first, from any tier, and do not count towards `limit`.

        Args:
            query: What is asked, in words.
            limit: How many hits beside the pinned ones; the answer for k begins the answer for k + 1.
            tiers: Where to look.
            kinds: Only memories of one of these kinds.
            tags: Only memories with at least one of these tags.
            min_score: The least relevance, before boosts; None takes the setting.
            promote: Move hits that earned it to hot.
            track: Count this as a use of the hits; False leaves no trace but the log.
            as_of: Answer as this memory would have at an earlier moment, rebuilt from the ledger.
        """
        if as_of is not None:
            past = self._past(as_of)
            try:
                return past.recall(query, limit, tiers, kinds, tags, min_score, track=False)
            finally:
                past._services.store.close()
        now = self._view.now()
        question = self._view.question(query, tiers, kinds=kinds, tags=tags, min_score=min_score)
        require_limit(limit, self.settings.pool_size)

        def promoted(hits: Sequence[Hit]) -> list[Move]:
            own = [hit for hit in hits if self.scope.may_change(hit.memory.scope)]
            moves = [move for hit in own if (move := promotion(hit, now, self.settings)) is not None]
            return self._services.changes.carry_out(moves, self._view.cause("move"))

        return self._services.recaller.recall(question, limit, promote=promoted if promote else None, track=track)

    def context(
        self,
        query: str | None = None,
        budget: int = 2000,
        format: str = "markdown",  # noqa: A002 - the word everyone uses for it
        include_cold: bool | None = None,
        track: bool = True,
    ) -> Context:
        """Return what an agent should read before it works, in at most `budget` tokens, with a receipt.

        Pinned memories come first, then the hot block, then what the query finds in warm; no memory
        comes twice. Without a query, which is the start of a session, nothing is searched.

        Args:
            query: What the agent is about to work on, in words.
            budget: The most tokens that the text may cost; 0 turns the context off.
            format: markdown, xml, messages (JSON), or index (id, tier, score and title only).
            include_cold: Whether to search cold as well; None takes the setting.
            track: Count this as a use of what is in the text; False leaves no trace.
        """
        request = self._view.context_request(query, budget, format, include_cold=include_cold, track=track)
        return self._services.assembler.context(request)

    def get_relevant_memories(self, agent_id: str, query: str, limit: int = 5) -> str:
        """Return what an agent should know for a query, as lines of text, pinned memories first."""
        view = self if self.scope.agent == agent_id else self.scoped(agent=agent_id)
        return _as_lines(view.recall(query, limit)) or "(No relevant memories)"

    def pinned(self) -> list[Memory]:
        """Return the pinned memories, oldest first."""
        return [record.memory for record in self._services.store.pinned(self._view.spaces(), self._view.now())]

    # Reading

    def get(self, memory_id: str) -> Memory:
        """Return a memory by its id, hidden ones included, as long as its content exists."""
        return self._view.record(memory_id).memory

    def find(
        self,
        *,
        tier: Tier | str | None = None,
        priority: Priority | str | int | None = None,
        retention: Retention | str = Retention.ACTIVE,
        kind: str | None = None,
        tags: Sequence[str] | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page:
        """List memories, newest first, a page at a time."""
        require_limit(limit, _LARGEST_PAGE)
        find = Find(
            now=self._view.now(),
            tier=None if tier is None else Tier.of(tier),
            priority=None if priority is None else Priority.of(priority),
            retention=Retention.of(retention),
            kind=kind,
            tags=None if tags is None else checked_tags(tags),
            limit=limit + 1,
            before=None if cursor is None else _place(cursor, "before"),
        )
        records = self._services.store.find(self._view.spaces(), find)
        more = len(records) > limit
        page = records[:limit]
        return Page(
            memories=tuple(record.memory for record in page),
            cursor=f"before-{page[-1].no}" if more and page else None,
        )

    def history(self, memory_id: str) -> list[Event]:
        """Return everything that happened to a memory, oldest first; it outlives a purge."""
        return self._services.store.events(self._view.record(memory_id, purged=True))

    def events(self, limit: int = 100, cursor: str | None = None, oldest_first: bool = False) -> EventPage:
        """Return the ledger of everything that is visible from here, newest first, a page at a time.

        Args:
            limit: How many at once.
            cursor: Where the last page ended. `after-N` and `before-N` begin behind event N in either order.
            oldest_first: Whether to begin with the first event, if there is no cursor.
        """
        require_limit(limit, _LARGEST_PAGE)
        forward = oldest_first if cursor is None else str(cursor).startswith("after-")
        word = "after" if forward else "before"
        past = None if cursor is None else _place(cursor, word)
        found = self._services.store.ledger(self._view.spaces(), past, limit + 1, oldest_first=forward)
        page = tuple(found[:limit])
        return EventPage(events=page, cursor=f"{word}-{page[-1].seq}" if len(found) > limit and page else None)

    def status(self, inside: bool = False) -> Status:
        """Return what is stored and how it can be searched.

        Args:
            inside: Count what lies inside this scope, narrower ones included, not what is visible from it.
        """
        store = self._view.inside if inside else self._services.store
        spaces = store.spaces_within(self.scope) if inside else store.spaces(self.scope)
        counts = store.counts(spaces, self._view.now())
        reason = self._services.vectorizer.obstacle()
        waiting = store.pending(spaces) if self._services.vectorizer.enabled else 0
        notes = [reason, missing_vectors(waiting) if waiting else None]
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
            degraded=tuple(note for note in notes if note),
        )

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
        why: str = "",
        version: int | None = None,
    ) -> Memory:
        """Change what a memory says; what is left out stays as it is.

        With `version`, that of the memory as you read it, a change that came in between is an error.
        """
        now = self._view.now()
        changes: dict[str, Any] = {}
        if kind is not None:
            changes["kind"] = checked_kind(kind, self.settings)
        if tags is not None:
            changes["tags"] = checked_tags(tags)
        if metadata is not None:
            changes["metadata"] = checked_metadata(metadata)
        if ttl is not None:
            changes["expires_at"] = expiry(now, as_duration(ttl))

        def alter(memory: Memory) -> Memory:
            if version is not None and memory.version != version:
                raise StaleWrite(f"{memory_id} has changed since version {version}: read it again, then change it")
            return replace(require_active(memory), **changes)

        cause = replace(self._view.cause("update", why), at=now)
        if content is None:
            return self._services.changes.change(self.scope, memory_id, alter, cause)
        content = require_text(content, "content", self.settings.max_content_chars)
        self._view.record(memory_id)
        return self._services.changes.rewrite(self.scope, memory_id, alter, content, cause)

    def move(self, memory_id: str, tier: Tier | str, why: str = "") -> Memory:
        """Move a memory to another tier."""
        return self._services.changes.move(self.scope, memory_id, Tier.of(tier), self._view.cause("move", why))

    def prioritize(self, memory_id: str, priority: Priority | str | int, why: str = "") -> Memory:
        """Set the priority of a memory."""
        wanted = Priority.of(priority)
        return self._services.changes.prioritize(self.scope, memory_id, wanted, self._view.cause("prioritize", why))

    def pin(self, memory_id: str, why: str = "") -> Memory:
        """Include a memory always, whatever is asked, until it is unpinned."""
        return self.prioritize(memory_id, Priority.PINNED, why)

    def unpin(self, memory_id: str, why: str = "") -> Memory:
        """Give a pinned memory normal priority; another one is left as it is."""
        return self._services.changes.unpin(self.scope, memory_id, self._view.cause("prioritize", why))

    def widen(self, memory_id: str, why: str = "") -> Memory:
        """Give a memory of a session to the scope around it, so that it outlives the session."""
        return self._services.changes.widen(self.scope, memory_id, self._view.cause("widen", why))

    def archive(self, memory_id: str, why: str = "") -> Memory:
        """Hide a memory from every search; it can be read by its id and restored at any time."""
        return self._retain(memory_id, Retention.ARCHIVED, "archive", why)

    def forget(self, memory_id: str, why: str = "") -> Memory:
        """Delete a memory in a way that `restore` can take back."""
        return self._retain(memory_id, Retention.DELETED, "forget", why)

    def restore(self, memory_id: str, why: str = "") -> Memory:
        """Bring an archived or forgotten memory back."""
        return self._retain(memory_id, Retention.ACTIVE, "restore", why)

    def purge(self, memory_id: str, why: str = "") -> None:
        """Erase a memory for good: content, vectors and words; only its events stay."""
        self._services.changes.purge(self.scope, memory_id, self._view.cause("purge", why))

    def undo(self, event_seq: int) -> Memory:
        """Take back one event of the ledger, unless later ones build on it."""
        cause = replace(self._view.cause("undo", f"took back event {event_seq}"), rule=f"undo:{event_seq}")
        return self._services.changes.undo(self.scope, self._view.spaces(), event_seq, cause)

    # Tiers at work

    def session(self, session_id: str) -> Session[Self]:
        """Return the working memory of one session, beginning or continuing it."""
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

    def notes(self, root: str | PathLike[str], extra_paths: Sequence[str] = (), *, name: str | None = None) -> Notes:
        """Return the Markdown notes of a folder: MEMORY.md and memory/**/*.md, indexed and searchable.

        Args:
            root: The folder.
            extra_paths: More files and folders inside it that are notes.
            name: What its index is known by; None takes the folder's path.
        """
        return Notes(self._workshop(self.scope), root, extra_paths, name)

    def import_(self, kind: str, path: str | PathLike[str]) -> Imported:
        """Import memories of another program: openclaw, claude-code, codex, mcp-memory, or jsonl from an export.

        Memories that were archived when they were exported are stored as archived.
        """
        now = self._view.now()
        archived: set[tuple[str, str]] | None = None

        def store(entries: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
            nonlocal archived
            drafts = [_imported_draft(entry) for entry in entries]
            if any(draft.retention is Retention.ARCHIVED for draft in drafts):
                archived = self._archived() if archived is None else archived
                drafts = _without_repeats(drafts, archived)
            before = self._services.store.seq()
            memories = self._services.remember.bring(drafts, self.scope, now, self._view.actor)
            new = {memory.id for memory in memories if memory and memory.version > before and not memory.access_count}
            return len(new), memories.count(None)

        return import_memories(kind, path, now, self.settings, store)

    def _archived(self) -> set[tuple[str, str]]:
        """Return the digest and kind of every archived memory of exactly this scope."""
        pages = [page := self.find(retention=Retention.ARCHIVED, limit=_LARGEST_PAGE)]
        while page.cursor is not None:
            pages.append(page := self.find(retention=Retention.ARCHIVED, limit=_LARGEST_PAGE, cursor=page.cursor))
        return {(memory.digest, memory.kind) for page in pages for memory in page if memory.scope == self.scope}

    def _workshop(self, scope: Scope) -> NoteServices:
        return NoteServices(
            store=self._services.store,
            vectorizer=self._services.vectorizer,
            search=self._services.search,
            settings=self.settings,
            scope=scope,
            now=self._view.now,
            actor=self._view.actor,
            get=self.get,
            remember=lambda content: self.remember(content, source="note"),
            update=lambda memory_id, content: self.update(memory_id, content=content, why="settled with its note"),
        )

    def _sync_notes_at_start(self) -> None:
        """Bring the known folders of notes up to date when a session begins; trouble is logged, not raised."""
        space = self._services.store.shelf(self.scope, "")
        if space is not None and self._services.store.session_state(space) is not None:
            return
        for known in self._services.store.roots(self._view.spaces()):
            if not Path(known.path).is_dir():
                continue
            name = known.shelf.removeprefix("notes:")
            try:
                Notes(self._workshop(known.scope), known.path, known.extra, name).sync()
            except MemothermError as exc:
                _log.warning("the notes of %s could not be synced: %s", known.path, exc)

    def compact(self, dry_run: bool = False) -> Compaction:
        """Run the tier rules once over everything that is visible from here."""
        return self._services.tiering.compact(self.scope, self._view.cause("move"), dry_run=dry_run)

    def maintain(self) -> Maintenance:
        """Let expiry, retention windows and cooling do their work on everything inside this scope."""
        return combined([self._maintain(part) for part in self._services.whole.parts(self.scope)])

    def _maintain(self, part: Store) -> Maintenance:
        """Maintain what one part of the store has inside this scope."""
        cause = replace(self._view.cause("maintain"), actor="maintain")
        return self._services.on(part).tiering.maintain(part.spaces_within(self.scope), cause)

    def maintenance(self, every_minutes: float | None = None) -> Scheduler:
        """Return maintenance that runs in the background: `with mem.maintenance(): ...`.

        Of all processes that use the store, one at a time does the work.
        """
        minutes = self.settings.maintain_every_minutes if every_minutes is None else every_minutes
        every = as_duration(timedelta(minutes=minutes))
        name = f"maintain {self.scope}" if self.scope.items() else "maintain"
        return Scheduler(self._view.inside, name, self._maintain, self._view.now, every, self.settings.maintain_jitter)

    def metrics(self) -> Metrics:
        """Return how the tiers work out: use of hot, spills, recalls, promotions, latency, hit rate, moves."""
        inside = self._view.inside.spaces_within(self.scope)
        of_session = self.scope.session is not None
        counted = inside if of_session else self._view.spaces()
        hot = self._view.inside.counts(counted, self._view.now()).tiers[Tier.HOT]
        limit = self.settings.hot_token_limit if of_session else self.settings.hot_max_tokens
        # Recalls from scopes that nothing can be seen from are counted under 0, for everyone together.
        heard = inside if self.scope.items() else (0, *inside)
        return metrics(self._view.inside, heard, hot.tokens, limit)

    # Upkeep

    def reembed(self, progress: Progress | None = None) -> int:
        """Make the vectors that are missing, and return how many memories got theirs.

        After a change of embedder the old vectors serve until all new ones are there; a run that
        was interrupted goes on where it stopped.
        """
        return self._services.vectorizer.reembed(self._view.now(), progress)

    def check(self) -> list[Problem]:
        """Verify the whole store; an empty list means that all is well."""
        return self._services.whole.check()

    def checkpoint(self, path: str | Path) -> Path:
        """Write a consistent copy of the whole store to a new file while others go on working."""
        target = Path(path).expanduser()
        self._services.whole.checkpoint(target)
        return target

    def key_value(self, namespace: str) -> KeyValue:
        """Return the JSON values of a namespace, such as the server's API keys; no scope applies to them."""
        return KeyValue(self._services.whole, namespace, self._view.now)

    # Helpers

    def _retain(self, memory_id: str, wanted: Retention, action: str, why: str) -> Memory:
        return self._services.changes.retain(self.scope, memory_id, wanted, self._view.cause(action, why))

    def _past(self, moment: datetime) -> Memotherm:
        """Return what was visible from here at an earlier moment, in a store in memory."""
        then = reading(lambda: moment)
        store = open_store(":memory:", self.settings)
        stored(self._services.store, store, self._view.spaces(), then)
        view = Memotherm(
            store, self._services.vectorizer.embedder, scope=self.scope, settings=self.settings, clock=lambda: then
        )
        if self._services.vectorizer.enabled and store.identity() is not None:
            view.reembed()
        return view


def _as_lines(recall: Recall) -> str:
    """Return a line for each hit; its priority is named unless it is normal."""
    labels = ("" if hit.memory.priority is Priority.NORMAL else f"[{hit.memory.priority}] " for hit in recall)
    return "\n".join(
        f"- {label}{' '.join(hit.memory.content.split())}" for label, hit in zip(labels, recall, strict=True)
    )


def _imported_draft(entry: Mapping[str, Any]) -> Draft:
    draft = draft_of({name: value for name, value in entry.items() if name != "retention"})
    return replace(draft, retention=Retention.of(entry.get("retention", Retention.ACTIVE)))


def _without_repeats(drafts: Sequence[Draft], archived: set[tuple[str, str]]) -> list[Draft]:
    """Return the drafts without archived ones that are archived here already; remember the others there."""
    kept = []
    for draft in drafts:
        key = (digest(draft.content), draft.kind)
        if draft.retention is Retention.ARCHIVED:
            if key in archived:
                continue
            archived.add(key)
        kept.append(draft)
    return kept


def _place(cursor: str, word: str) -> int:
    number = str(cursor).removeprefix(f"{word}-")
    if not number.isascii() or not number.isdigit() or len(number) > _LONGEST_CURSOR:
        raise InvalidInput(f"{cursor!r} is not a cursor: pass the one that the last page came with")
    return int(number)
