"""The verbs that correct: fields and parts replaced, what a request concerns, names that mean the same, conflicts.

And tasks, which are closed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Literal

from memotherm.errors import InvalidInput, StaleWrite
from memotherm.facade.endings import condition_here, with_anchors, written_condition
from memotherm.facade.view import View
from memotherm.model import Memory, Recall, Retention, Tier
from memotherm.model.actions import Action
from memotherm.model.clock import as_moment
from memotherm.model.marks import ENDS
from memotherm.model.memory import placed_in
from memotherm.model.results import LARGEST_PAGE, Conflict, Selection
from memotherm.recall.selecting import ALIAS, ALIASES, mentioned
from memotherm.remember.authority import outranks, require_visible
from memotherm.remember.draft import (
    Draft,
    checked_key,
    checked_kind,
    checked_metadata,
    checked_tags,
    end_of,
    expiry,
    lifetime_of,
)
from memotherm.text.content import digest, require_content, require_limit, require_text
from memotherm.text.mentions import tokens
from memotherm.tiers.rules.properties import is_closed
from memotherm.tiers.rules.retention import require_editable

#: How many hits of a search are looked at.
_POOL = 100
_LONGEST_REQUEST = 1000
_LONGEST_NAME = 200
#: How many statements with equally many words of a text are compared by their meaning.
_MOST_COMPARED = 50


def update(
    view: View,
    memory_id: str,
    content: str | None,
    fields: Mapping[str, Any],
    ttl: timedelta | float | str | None = None,
    expires_at: datetime | str | None = None,
    why: str = "",
    version: int | None = None,
    action: Action = Action.UPDATE,
    removed: Sequence[str] = (),
) -> Memory:
    """Change the content and the fields of a memory; None changes nothing. `removed` are parts that were wrong."""
    now, settings = view.now(), view.services.settings
    if (until := written_condition(fields.get("valid_until"))) is not None:
        metadata = fields.get("metadata") or view.record(memory_id).memory.metadata
        ends = condition_here(until, view.folder)
        fields = {**fields, "valid_until": None, "metadata": {**metadata, ENDS: ends}}
    fields = {**fields, "metadata": with_anchors(fields.get("metadata"), view.folder)}
    check: dict[str, Callable[[Any], Any]] = {
        "kind": checked_kind,
        "tags": checked_tags,
        "metadata": checked_metadata,
        "key": checked_key,
        "valid_from": lambda moment: as_moment(moment, "valid_from", now),
        "valid_until": lambda moment: end_of(moment, now),
    }
    changes = {name: check[name](value) for name, value in fields.items() if value is not None}
    lifetime = lifetime_of(ttl, expires_at, now)
    if lifetime is not None:
        changes["expires_at"] = expiry(now, lifetime)

    def alter(memory: Memory) -> Memory:
        if version is not None and memory.version != version:
            raise StaleWrite(f"{memory_id} has changed since version {version}: read it again, then change it")
        trust = memory.trust if content is None else memory.trust.after_rewrite(view.trust)
        return _placed(memory, replace(require_editable(memory), **changes, trust=trust))

    cause = replace(view.cause(action, why), at=now)
    if content is None:
        return view.services.changes.change(view.scope, memory_id, alter, cause)
    content = require_content(content, settings.max_content_chars)
    memory = view.record(memory_id).memory
    if memory.retention is Retention.ACTIVE and outranks(memory, view.trust):
        return _propose(view, alter(memory), content)
    return view.services.changes.rewrite(view.scope, memory, alter, content, cause, removed)


def _placed(before: Memory, after: Memory) -> Memory:
    """Return a changed memory with the tier or the priority that its metadata now name, if they named another one."""
    if after.metadata.get("tier") == before.metadata.get("tier"):
        return after
    tier, priority = placed_in(after.metadata)
    if tier is not None:
        return replace(after, tier=tier, tier_rule="explicit")
    return after if priority is None else replace(after, priority=priority)


def _propose(view: View, memory: Memory, content: str) -> Memory:
    """Store what would replace the content of a memory of more trust as a proposal, in the same scope."""
    services = view.services
    services.store.transact(lambda transaction: require_visible(transaction, view.scope, memory.id))
    draft = Draft(
        content=content, kind=memory.kind, tags=memory.tags, priority=memory.priority, metadata=memory.metadata,
        supersedes=memory.id, index=memory.index, expires_at=memory.expires_at, valid_from=memory.valid_from,
        valid_until=memory.valid_until,
    )  # fmt: skip
    return services.writer.remember([draft], memory.scope, view.cause(Action.REMEMBER))[0]


class Correction:
    """What `Memotherm` offers to correct memories, and for tasks. Few processes correct: imports are inside."""

    _view: View

    def select(self, request: str, include_hidden: bool = False, include_narrower: bool = False) -> Selection:
        """Return the memories that a request in words concerns, each with the reason; nothing is changed.

        Pass its `ids`, and the same `include_narrower`, to `bulk.forget` or `bulk.purge`. A name or an identifier in
        the request selects the memories that mention it; "everything about Frank" selects all of them, "Frank's phone
        number" those that also have one of the other words. A request without a name selects the memories that have
        most of its words. Memories with fewer of them, the one that is closest in meaning, and names in another script
        are only proposed.

        Args:
            request: Such as "everything about Frank the engineer" or "the old phone number".
            include_hidden: Whether archived and deleted memories are also searched.
            include_narrower: Search everything at and below the scope, instead of what is visible from it.
        """
        from memotherm.recall.selecting import select

        text = require_text(request, "the request", _LONGEST_REQUEST)
        view = self._view.read_only()
        retention = "any" if include_hidden else str(Retention.ACTIVE)

        def recall(query: str) -> Recall:
            # A name in another script has no relevance.
            return view.recall(
                query, min(_POOL, view.services.settings.pool_size), tuple(Tier), {"irrelevant": True}, promote=False,
                track=False,
                as_of=None, retention=retention, include_narrower=include_narrower,
            )  # fmt: skip

        def mentioning(names: Sequence[str]) -> list[Memory]:
            store, search = view.listing(retention=retention, include_narrower=include_narrower)
            nos = mentioned(store, search, names)
            records = store.records(nos)
            return [records[no].memory for no in sorted(records, reverse=True)]

        return select(text, recall, mentioning, view.services.settings.context_min_confidence)

    def amend(self, memory_id: str, content: str, part: str | None = None, why: str = "") -> Memory:
        """Correct a part of a memory: one statement of its content is replaced, the others stay.

        The memory keeps its id, and the ledger has one event, which `undo` takes back.

        Args:
            memory_id: The memory.
            content: The statement that is true now.
            part: The part that it replaces, as it stands in the content, or words that describe it ("the employer").
                None takes the statement that is closest to the new one, and refuses if none has a word of it; a content
                with one statement is replaced.
            why: The reason, for the ledger.
        """
        from memotherm.text.parts import replaced, statements, with_subject
        from memotherm.text.words import content_words

        view = self._view
        old = view.record(memory_id).memory.content
        new = require_text(content, "content", view.services.settings.max_content_chars)
        if part is not None:
            require_text(part, "part", view.services.settings.max_content_chars)
        said = statements(old) or [old]
        if part is None and len(said) > 1 and content_words(new).isdisjoint(content_words(old)):
            raise InvalidInput(f"{memory_id} says nothing about {new!r}: name the part that it replaces")
        chosen = part if part is not None and part in old else self._closest(said, f"{part or ''} {new}")
        removed = () if chosen == old else (chosen, with_subject(old, chosen, new))
        return update(
            view, memory_id, replaced(old, chosen, new.strip()), {}, why=why, action=Action.AMEND, removed=removed
        )

    def _closest(self, parts: Sequence[str], text: str) -> str:
        """Return the statement that shares most words with a text, then the one with the closest meaning."""
        from memotherm.recall.selecting import stems

        if len(parts) == 1:
            return parts[0]
        words = [stems(each) for each in parts]
        wanted = stems(text) - words[0].intersection(*words)
        shared = [len(wanted & each) for each in words]
        most = max(shared)
        closest = [part for part, count in zip(parts, shared, strict=True) if count == most][:_MOST_COMPARED]
        if len(closest) == 1:
            return closest[0]
        vectors = self._view.services.vectorizer.for_contents([text, *closest]).vectors
        asked, *meanings = (None if each is None else each[0] for each in vectors)
        alike = [0.0 if asked is None or each is None else float(asked @ each) for each in meanings]
        return closest[alike.index(max(alike))]

    def alias(self, name: str, also: str) -> Memory:
        """Record that two names mean the same, so that `recall`, `mentions` and `select` find both.

        It is a memory of this scope: `forget` takes it back.

        Args:
            name: A name, such as "Zhang Wei".
            also: Another name of the same, such as "张伟".
        """
        names = [require_text(each, "a name", _LONGEST_NAME).strip() for each in (name, also)]
        known = [" ".join(tokens(each)) for each in names]
        if not all(known) or known[0] == known[1]:
            raise InvalidInput(f"{names[0]!r} and {names[1]!r} are the same name: give another one")
        draft = Draft(
            content=f"{names[0]} is also called {names[1]}.", kind=ALIAS,
            # What is permanent does not go cold.
            metadata={"names": names, "permanent": True},
            key=f"{ALIASES}{digest(' = '.join(sorted(known)))[:16]}",
        )  # fmt: skip
        return self._view.remember([draft])[0]

    def conflicts(self, limit: int = 100, include_narrower: bool = False, ids: Sequence[str] = ()) -> list[Conflict]:
        """Return visible memories that disagree, newest first: another value of the same thing, or a denial.

        It compares their sentences, of messages only those of a known kind. Nothing is decided: `decide` does that.
        Two memories that were both verified since do not disagree.

        Args:
            limit: The most conflicts.
            include_narrower: Compare everything at and below this scope, instead of what it can see: memories of which
                one can be seen from the scope of the other.
            ids: Only conflicts of these memories.
        """
        require_limit(limit, LARGEST_PAGE)
        return self._conflicts(limit, ids, include_narrower=include_narrower)

    def decide(self, memory_id: str, over: Sequence[str] = (), why: str = "") -> list[Memory]:
        """Decide conflicts: keep a memory, and archive what it replaces; `undo` takes it back.

        Instead of a memory of more trust than the caller, the list has a proposal: its approval archives that memory.

        Args:
            memory_id: The id of the memory to keep.
            over: The ids of the memories that it replaces; none for all that it conflicts with.
            why: The reason, for the ledger.
        """
        from memotherm.remember.conflicts import supersede

        view = self._view
        kept = view.record(memory_id).memory.id
        found = [] if over else self._conflicts(None, [kept])
        replaced = list(over) or sorted({each.older.id if each.newer.id == kept else each.newer.id for each in found})
        services, cause = view.services, view.cause(Action.ARCHIVE, why)
        return supersede(services.store, view.scope, kept, replaced, cause, services.settings.tokenizer)

    def _conflicts(self, most: int | None, of: Sequence[str], *, include_narrower: bool = False) -> list[Conflict]:
        from memotherm.remember.conflicts import conflicts_in

        store, search = self._view.listing(include_narrower=include_narrower)
        return conflicts_in(store, search.spaces, search.now, together=not include_narrower, most=most, of=of)

    # Tasks: memories of the kind `task` whose status does not say that they are done

    def tasks(self, limit: int = 50, include_narrower: bool = False) -> list[Memory]:
        """Return the open tasks, newest first.

        Args:
            limit: The most tasks.
            include_narrower: List the tasks at and below this scope, instead of those that it can see.
        """
        require_limit(limit, LARGEST_PAGE)
        store, search = self._view.listing(kind="task", include_narrower=include_narrower)
        page = replace(search, limit=LARGEST_PAGE)
        return [record.memory for record in store.find(page) if not is_closed(record.memory)][:limit]

    def finish(self, memory_id: str, status: Literal["done", "cancelled"] = "done", why: str = "") -> Memory:
        """Close a task; `undo` opens it again.

        Args:
            memory_id: The task.
            status: done or cancelled.
            why: The reason, for the ledger.
        """
        if status not in ("done", "cancelled"):
            raise InvalidInput(f"status must be done or cancelled, not {status!r}")
        memory = self._view.record(memory_id).memory
        if memory.kind != "task" and "task" not in memory.tags:
            raise InvalidInput(f"{memory.id} is no task, but of the kind {memory.kind}")
        metadata = {**memory.metadata, "status": status}
        return update(self._view, memory_id, None, {"metadata": metadata}, why=why or status, action=Action.FINISH)
