"""Store new memories: merge duplicates, replace memories by key, and import from other programs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import compress
from typing import Any

from memotherm.errors import StaleWrite
from memotherm.model import Memory, Priority, Retention, Scope, Trust
from memotherm.model.actions import Action
from memotherm.model.memory import SUMMARY, UNREAD_TURN
from memotherm.remember.authority import outranks, require_authority, require_visible, with_end_of
from memotherm.remember.changes import archive_superseded
from memotherm.remember.draft import Draft, draft_of, memory_of, proposes
from memotherm.remember.forgotten import cleaned, require_allowed
from memotherm.remember.limits import Limits, duplicate_of
from memotherm.remember.proposals import propose_decision
from memotherm.remember.summaries import remake, summaries_of
from memotherm.remember.superseding import as_read, correct_past, mark_doubtful, mark_superseded, superseded_by
from memotherm.settings import Settings
from memotherm.storage.rows import changes_between
from memotherm.storage.store import Store, Transaction
from memotherm.storage.tombstones import Compared
from memotherm.storage.values import Cause, Record
from memotherm.text.claims import MOST_CHARS, Claims
from memotherm.text.content import digest
from memotherm.text.corrections import corrections
from memotherm.tiers.rules.retention import changed_retention
from memotherm.vectors.vectorizer import Vectorizer

_NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class _Write:
    """A memory to store, where, and why."""

    transaction: Transaction
    space: int
    memory: Memory
    vectors: Any
    cause: Cause
    #: Whether an entry of an import says when it was changed.
    dated: bool = False
    #: The spaces that the scope sees, if the memory corrects something.
    spaces: Sequence[int] = ()
    #: The ids of the memories that it has superseded are added here.
    superseded: list[str] = field(default_factory=list)
    #: The ids of the memories of which it perhaps replaces a part, each with that part.
    replaced: Mapping[str, str] = field(default_factory=lambda: _NOTHING)


class MemoryWriter:
    """Stores drafts in a scope: all of them, or none."""

    def __init__(self, store: Store, vectorizer: Vectorizer, limits: Limits, settings: Settings) -> None:
        self._store = store
        self._vectorizer = vectorizer
        self._limits = limits
        self._settings = settings

    def remember(
        self, drafts: Sequence[Draft], scope: Scope, cause: Cause, forget: Sequence[str] = (), *, wait: bool = False
    ) -> list[Memory]:
        """Store the drafts and delete memories, in one transaction; return what was stored, in the same order.

        The reason of the cause is that of what is deleted. Without `wait`, vectors of long contents are made later.
        """
        records = self._write(drafts, scope, cause, forget=forget, wait=wait)
        return [record.memory for record in records if isinstance(record, Record)]

    def capture(
        self, draft: Draft, scope: Scope, cause: Cause, replaced: Mapping[str, str] = _NOTHING
    ) -> Memory | None:
        """Store a text of a conversation, without passages that were forgotten; None if that is all of it.

        `replaced` names the memories of which it perhaps replaces a part, each with that part.
        """
        (record,) = self._write([draft], scope, cause, captures=True, replaced=replaced)
        return record.memory if isinstance(record, Record) else None

    def import_drafts(
        self, drafts: Sequence[Draft], scope: Scope, cause: Cause, claims: Mapping[str, Claims] | None = None
    ) -> list[str]:
        """Store the entries of an import; return "stored", "known", "forgotten", or why it was left out, for each.

        With `claims`, those of contents, they are texts of past sessions: their vectors are made later. A turn that is
        here and was not read yet becomes the entry with its id, which is then "read".
        """
        records = self._write(drafts, scope, cause, imports=True, claims=claims)
        return [record if isinstance(record, str) else "stored" for record in records]

    def correct(self, memory_id: str, scope: Scope, cause: Cause, known: Claims) -> None:
        """Let what was said before a stored text of a past session cease to hold, as far as the text corrects it."""
        spaces = self._store.spaces(scope)
        superseded = self._store.transact(
            lambda transaction: correct_past(transaction, spaces, memory_id, known, cause)
        )
        self._remake(superseded, scope, cause)

    def _remake(self, superseded: Sequence[str], scope: Scope, cause: Cause) -> None:
        """Make the summaries anew that repeat what was superseded."""
        if superseded:
            restated = summaries_of(self._store, scope, superseded, cause)
            self._store.transact(lambda transaction: remake(transaction, restated, cause, self._settings.tokenizer))

    def _write(
        self,
        drafts: Sequence[Draft],
        scope: Scope,
        cause: Cause,
        *,
        imports: bool = False,
        captures: bool = False,
        forget: Sequence[str] = (),
        replaced: Mapping[str, str] = _NOTHING,
        claims: Mapping[str, Claims] | None = None,
        wait: bool = False,
    ) -> list[Record | str]:
        now, by, why, past = cause.at, cause.by, cause.why, claims is not None
        given = claims or {}
        unasked = imports or captures
        drafts, forgotten, compared = self._without_forgotten(drafts, scope, all_of_them=unasked)
        memories = [memory_of(draft, scope, now, self._settings, by) for draft in drafts]
        embedded = self._vectorizer.for_contents(
            [memory.content if memory.index and not past else None for memory in memories], wait=wait or imports
        )
        rule = memories[0].tier_rule if memories else "explicit"
        cause = replace(cause, rule=rule, why="")
        correcting = [not imports and _corrects(memory) for memory in memories]
        spaces = self._store.spaces(scope) if any(correcting) else ()
        superseded: list[str] = []

        def store_all(transaction: Transaction) -> list[Record | str]:
            space = transaction.space(scope)
            transaction.tombstones.compared, transaction.claims = compared, given
            if len(memories) > 1:
                transaction.prefetch_duplicates({memory.digest for memory in memories})
            records: list[Record | str] = []
            for draft, memory, vectors, corrects in zip(drafts, memories, embedded.vectors, correcting, strict=True):
                seen = (*spaces, space) if corrects else ()
                write = _Write(
                    transaction, space, memory, vectors, cause, "updated_at" in draft.state, seen, superseded, replaced
                )
                if imports:
                    store = self._read if past else self._restore if "id" in draft.state else self._add
                    records.append(store(write, forgotten))
                    continue
                if memory.content in forgotten and (captures or memory.retention is Retention.PROPOSED):
                    records.append("forgotten")
                    continue
                if draft.version is not None:
                    _require_version(transaction.with_key(space, memory.key or ""), memory, draft.version, now)
                records.append(self._put(write, asked=not unasked))
            for memory_id in forget:
                unwanted = require_visible(transaction, scope, memory_id)
                retention = changed_retention(unwanted.memory, Retention.DELETED, now, self._settings)
                after = replace(unwanted.memory, retention=retention)
                require_authority(unwanted.memory, after, by)
                transaction.change(unwanted, after, replace(cause, action=Action.FORGET, why=why))
                transaction.tombstones.add(unwanted, cause)
            if summaries:
                remake(transaction, summaries, cause, self._settings.tokenizer)
            return records

        gone = [*forget, *(memory.supersedes for memory in memories if memory.supersedes is not None)]
        summaries = summaries_of(self._store, scope, gone, cause) if gone else []
        written = self._store.transact(store_all, made_by=embedded.made_by)
        late = [each for each in written if isinstance(each, Record) and each.memory.content in embedded.late]
        self._vectorizer.make_later([(each.no, each.memory.content) for each in late], now)
        self._remake(superseded, scope, cause)
        return written

    def _without_forgotten(
        self, drafts: Sequence[Draft], scope: Scope, *, all_of_them: bool
    ) -> tuple[Sequence[Draft], set[str], Compared]:
        """Return drafts without what was forgotten here, and the contents of which nothing is left.

        Unless it concerns all of them, only proposals are looked at.
        """
        unasked = [all_of_them or proposes(str(draft.source), self._settings) for draft in drafts]
        if not any(unasked):
            return drafts, set(), Compared()
        left, forgotten, compared = cleaned(self._store, scope, list(compress(drafts, unasked)))
        remaining = iter(left)
        return (
            [next(remaining) if each else draft for draft, each in zip(drafts, unasked, strict=True)],
            forgotten,
            compared if all(unasked) else Compared(),
        )

    def _add(self, write: _Write, forgotten: Collection[str]) -> Record | str:
        """Store an entry of another program, unless its content was forgotten here; "known" if one was changed."""
        known = self._existing(write)
        if write.memory.content in forgotten and (known is None or known.memory.digest != write.memory.digest):
            return "forgotten"
        record = self._put(write, asked=False)
        return record if known is None else "known"

    def _restore(self, write: _Write, forgotten: Collection[str]) -> Record | str:
        """Store an exported memory as it was; one that is here is only changed if it has a key and an older content."""
        return self._restored(write, write.transaction.get(write.memory.id), forgotten)

    def _restored(self, write: _Write, known: Record | None, forgotten: Collection[str]) -> Record | str:
        """Do what `_restore` does, given the memory with the id."""
        transaction, memory = write.transaction, write.memory
        if known is not None and known.memory.scope != memory.scope:
            # A copy from another scope has the same id every time, so that a second import finds it.
            memory = replace(memory, id=f"mem_{digest(f'{memory.id} {memory.scope}')[:26]}")
            write = replace(write, memory=memory)
            known = transaction.get(memory.id)
        # Any number of archived memories may have the same content.
        if known is None and (memory.key is not None or memory.retention is not Retention.ARCHIVED):
            known = self._existing(write)
        if known is None:
            return "forgotten" if memory.content in forgotten else self._insert_correcting(write)
        stored = known.memory
        if stored.retention is Retention.PURGED:
            return "forgotten"
        if memory.digest != stored.digest and memory.content in forgotten:
            return "forgotten"
        newer = write.dated and stored.updated_at < memory.updated_at and memory.digest != stored.digest
        if newer and memory.key is not None and memory.key == stored.key:
            if outranks(stored, memory.trust):
                return f"{stored.id} has the same key and the trust {stored.trust}, this entry only {memory.trust}"
            return self._replace(write, known)
        if stored.id != memory.id:
            return f"{stored.id} has the same {'content' if memory.key is None else 'key'} in this scope"
        lowered = _LOWERED if memory.trust.is_low else ()
        differing = [name for name in changes_between(stored, memory) if name not in lowered]
        return f"{stored.id} is here already, with another {', '.join(differing)}" if differing else "known"

    def _read(self, write: _Write, forgotten: Collection[str]) -> Record | str:
        """Store a text of a past session, or let the unread turn with its id become that: it is then "read"."""
        transaction, memory = write.transaction, write.memory
        turn = transaction.get(memory.id)
        if turn is not None and memory.kind == UNREAD_TURN:
            return "known"
        if turn is None or turn.memory.kind != UNREAD_TURN:
            return self._restored(write, turn, forgotten)
        if turn.memory.retention is not Retention.ACTIVE:
            return "forgotten"
        cause = replace(write.cause, action=Action.UPDATE, rule="read", why="its statements were read")
        twin = self._existing(replace(write, space=transaction.space(memory.scope)))
        if twin is not None and twin.no != turn.no:
            said = replace(cause, action=Action.FORGET, why=f"{twin.memory.id} says the same")
            transaction.change(turn, replace(turn.memory, retention=Retention.DELETED), said)
            return "known"
        after = replace(turn.memory, kind="message") if memory.content in forgotten else as_read(turn.memory, memory)
        require_allowed(transaction, after, cause.by, turn.memory)
        self._limits.admit(transaction, transaction.space(after.scope), after, cause, turn)
        transaction.change(turn, after, cause)
        return "read"

    def _put(self, write: _Write, *, asked: bool) -> Record:
        """Store a memory, or change the memory with the same key or content.

        A proposal changes no other memory, and only somebody who asks makes one active. What would replace a memory
        of more trust is one.
        """
        memory, stored = write.memory, self._existing(write)
        by = write.cause.by if asked else memory.trust
        if memory.retention is Retention.ACTIVE and (replaced := _of_more_trust(write, stored, by)) is not None:
            if (
                stored is not None
                and stored.memory.digest == memory.digest
                and stored.memory.visible_at(write.cause.at)
            ):
                return propose_decision(write.transaction, stored.memory, replaced, write.cause)
            memory = replace(memory, retention=Retention.PROPOSED)
            write = replace(write, memory=memory)
        proposal = memory.retention is Retention.PROPOSED
        if proposal and memory.key is not None and stored is not None and stored.memory.digest != memory.digest:
            # An approval replaces the memory with the key.
            memory = replace(memory, key=None, supersedes=stored.memory.id)
            write = replace(write, memory=memory)
            stored = self._existing(write)
        if stored is not None and (proposal or (stored.memory.retention is Retention.PROPOSED and not asked)):
            return stored
        if memory.supersedes is not None and not proposal:
            successor = stored.memory.id if stored is not None else memory.id
            superseded = require_visible(write.transaction, memory.scope, memory.supersedes)
            archive_superseded(write.transaction, superseded, successor, memory.content, write.cause)
        if stored is None:
            return self._insert(write) if proposal else self._insert_correcting(write)
        return self._merge(write, stored) if memory.key is None else self._replace(write, stored)

    def _insert_correcting(self, write: _Write) -> Record:
        """Store a new memory, and let those cease to hold that it corrects."""
        transaction, memory, cause = write.transaction, write.memory, write.cause
        if not write.spaces and not write.replaced:
            return self._insert(write)
        superseded = superseded_by(transaction, list(set(write.spaces)), memory, corrections(memory.content), cause)
        linked = (each.record.memory for each in superseded if not outranks(each.record.memory, cause.by))
        if memory.supersedes is None and (first := next(linked, None)) is not None:
            write = replace(write, memory=replace(memory, supersedes=first.id))
        record = self._insert(write)
        for each in superseded:
            mark_superseded(transaction, each, record.memory, cause)
            write.superseded.append(each.record.memory.id)
        for memory_id in write.replaced.keys() - {each.record.memory.id for each in superseded}:
            mark_doubtful(transaction, memory_id, write.replaced[memory_id], record.memory, cause)
        return record

    def _insert(self, write: _Write) -> Record:
        cause = write.cause
        if cause.rule != write.memory.tier_rule:
            cause = replace(cause, rule=write.memory.tier_rule)
        if write.transaction.tombstones.exist:
            require_allowed(write.transaction, write.memory, cause.by)
        self._limits.admit(write.transaction, write.space, write.memory, cause)
        return write.transaction.insert(write.space, write.memory, write.vectors, cause)

    def _existing(self, write: _Write) -> Record | None:
        """Return the memory with the same key, or without a key the one with the same content."""
        if write.memory.key is not None:
            return write.transaction.with_key(write.space, write.memory.key)
        return duplicate_of(write.transaction, write.space, write.memory, write.cause.at, self._settings)

    def _replace(self, write: _Write, stored: Record) -> Record:
        """Replace the values of the memory with the key; a hidden memory becomes active again."""
        memory, cause = write.memory, write.cause
        if memory.retention is not Retention.ACTIVE:
            return stored
        before = stored.memory
        # The same text, since another one of less trust is proposed: what it says, and until when, stays.
        said = before if outranks(before, cause.by) else memory
        # A visible memory keeps its tier and priority, unless the second call gave others.
        visible = before.visible_at(cause.at)
        keeps_tier = visible and memory.tier_rule in ("default", "ttl")
        keeps_priority = visible and memory.priority is Priority.NORMAL
        after = replace(
            before,
            content=memory.content,
            tokens=memory.tokens,
            digest=memory.digest,
            kind=said.kind,
            tags=memory.tags,
            metadata=with_end_of(before, memory, memory.metadata),
            source=said.source,
            trust=before.trust.after_rewrite(memory.trust) if said is memory else before.trust,
            index=memory.index,
            expires_at=said.expires_at,
            valid_from=said.valid_from,
            valid_until=said.valid_until,
            supersedes=memory.supersedes or before.supersedes,
            retention=Retention.ACTIVE,
            priority=before.priority if keeps_priority else memory.priority,
            tier=before.tier if keeps_tier else memory.tier,
            tier_rule=before.tier_rule if keeps_tier else memory.tier_rule,
        )
        again = replace(cause, action=Action.UPDATE, rule="key", why="remembered again under its key")
        require_allowed(write.transaction, after, cause.by, before)
        self._limits.admit(write.transaction, write.space, after, again, stored)
        return write.transaction.change(stored, after, again, write.vectors)

    def _merge(self, write: _Write, duplicate: Record) -> Record:
        """Count a use of the stored memory, and add the values that the second call gave explicitly."""
        transaction, memory, cause = write.transaction, write.memory, write.cause
        transaction.touch([duplicate.no], cause.at)
        current = transaction.get(duplicate.memory.id) or duplicate
        stored = current.memory
        # A time to live only decides the first tier of a memory, and the later of two expiry times wins.
        explicit = memory.tier_rule not in ("default", "ttl")
        ends = [end for end in (stored.expires_at, memory.expires_at) if end is not None]
        said = stored if outranks(stored, cause.by) else memory
        # What is stated again after it had ceased to hold, holds again.
        ceased = said is memory and stored.valid_until is not None and stored.valid_until <= memory.created_at
        after = replace(
            stored,
            tags=tuple(dict.fromkeys((*stored.tags, *memory.tags))),
            metadata=with_end_of(stored, memory, {**stored.metadata, **memory.metadata}),
            trust=memory.trust if memory.trust is Trust.PERSON else stored.trust,
            priority=stored.priority if memory.priority is Priority.NORMAL else memory.priority,
            supersedes=memory.supersedes or stored.supersedes,
            retention=Retention.ACTIVE,
            tier=memory.tier if explicit else stored.tier,
            tier_rule=memory.tier_rule if explicit else stored.tier_rule,
            expires_at=max(ends) if len(ends) == 2 else None,
            valid_from=memory.valid_from if ceased else said.valid_from or stored.valid_from,
            valid_until=memory.valid_until if ceased else said.valid_until or stored.valid_until,
        )
        repeat = replace(cause, action=Action.UPDATE, rule="duplicate", why="remembered again")
        require_allowed(transaction, after, cause.by, stored)
        self._limits.admit(transaction, write.space, after, repeat, current)
        return transaction.change(current, after, repeat)


def _corrects(memory: Memory) -> bool:
    """Return whether a memory says that something else holds now."""
    if memory.kind == SUMMARY or memory.retention is Retention.PROPOSED or len(memory.content) > MOST_CHARS:
        return False
    return bool(corrections(memory.content))


def _of_more_trust(write: _Write, stored: Record | None, by: Trust) -> Memory | None:
    """Return the active memory that a content would replace, if it has more trust than whoever writes that."""
    memory = write.memory
    if stored is not None and memory.key is not None and stored.memory.digest != memory.digest:
        return stored.memory if outranks(stored.memory, by) else None
    if memory.supersedes is None or (stored is not None and stored.memory.id == memory.supersedes):
        return None
    replaced = require_visible(write.transaction, memory.scope, memory.supersedes).memory
    return replaced if replaced.retention is Retention.ACTIVE and outranks(replaced, by) else None


def _require_version(stored: Record | None, memory: Memory, version: int, now: datetime) -> None:
    """Raise `StaleWrite` unless the visible memory with the key has this version; 0 means no memory."""
    found = stored.memory.version if stored is not None and stored.memory.visible_at(now) else 0
    if found != version:
        state = f"has version {found}, not {version}" if found else f"has no memory, and not one of version {version}"
        raise StaleWrite(f"the key {memory.key!r} {state}: read it again, then store it")


# Imports

#: What an import with low trust does not keep of an exported memory.
_LOWERED = ("trust", "tier", "tier_rule", "priority")


def imported_draft(entry: Mapping[str, Any], trust: Trust) -> Draft:
    """Read a draft from an entry of an import: `remember`'s arguments, `created_at`, and `state` (other fields).

    An entry that names no trust has at most `trust`.
    """
    created = {"created_at": entry["created_at"]} if entry.get("created_at") else {}
    values = {name: value for name, value in entry.items() if name not in ("created_at", "state")}
    return draft_of(values, {"trust": trust, **created, **entry.get("state", {})})
