"""Changes of stored memories, each in one transaction with its event."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from memotherm.errors import Forbidden, InvalidInput, MemothermError, NotFound, StaleWrite
from memotherm.model import Event, Memory, Priority, Retention, Scope, Tier, Trust
from memotherm.model.actions import Action
from memotherm.model.marks import ENDED_BY, ENDS, ends_of
from memotherm.remember.authority import (
    require_authority,
    require_ids,
    require_own,
    require_person,
    require_visible,
    was_proposed,
)
from memotherm.remember.forgotten import mark_forgotten, require_allowed
from memotherm.remember.limits import Limits, duplicate_of, prioritized
from memotherm.remember.summaries import proposals_to_keep, remake, summaries_of
from memotherm.settings import Settings
from memotherm.storage.rows import apply_changes, changes_between
from memotherm.storage.store import Store, Transaction
from memotherm.storage.values import Cause, Record
from memotherm.text.content import digest
from memotherm.text.redaction import MARK, named_values, secret_values
from memotherm.text.tokens import count_tokens
from memotherm.tiers.rules.properties import in_file, is_closed
from memotherm.tiers.rules.retention import changed_retention, require_active, require_editable
from memotherm.vectors.vectorizer import Vectorizer

#: How many memories are moved in one transaction.
_TOGETHER = 500


class Changes:
    """Changes single memories, within the limits."""

    def __init__(self, store: Store, vectorizer: Vectorizer, limits: Limits, settings: Settings) -> None:
        self._store = store
        self._vectorizer = vectorizer
        self._limits = limits
        self._settings = settings

    def change(self, scope: Scope, memory_id: str, alter: Callable[[Memory], Memory], cause: Cause) -> Memory:
        """Replace a memory by the result of `alter`."""

        def change(transaction: Transaction) -> Memory:
            record = require_visible(transaction, scope, memory_id)
            return self.apply_once(transaction, record, alter(record.memory), cause).memory

        changed = self._store.transact(change)
        if changed.kind == "task" and is_closed(changed):
            summaries = summaries_of(self._store, scope, [changed.id], cause)
            self._store.transact(lambda transaction: remake(transaction, summaries, cause, self._settings.tokenizer))
        return changed

    def move(self, scope: Scope, memory_id: str, tier: Tier, cause: Cause) -> Memory:
        """Move an active memory to another tier."""
        return self.change(
            scope, memory_id, lambda memory: replace(require_active(memory), tier=tier, tier_rule="explicit"), cause
        )

    def move_many(self, scope: Scope, memory_ids: Sequence[str], tier: Tier, cause: Cause) -> list[Memory]:
        """Move active memories to another tier, some in each transaction; they are one run of the ledger."""

        def move(ids: Sequence[str]) -> list[Memory]:
            def change(transaction: Transaction) -> list[Memory]:
                records = [require_visible(transaction, scope, memory_id) for memory_id in ids]
                moved = [replace(require_active(record.memory), tier=tier, tier_rule="explicit") for record in records]
                pairs = zip(records, moved, strict=True)
                return [self.apply_once(transaction, record, after, cause).memory for record, after in pairs]

            return self._store.transact(change)

        parts = (memory_ids[start : start + _TOGETHER] for start in range(0, len(memory_ids), _TOGETHER))
        return [memory for part in parts for memory in move(part)]

    def prioritize(self, scope: Scope, memory_id: str, priority: Priority, cause: Cause) -> Memory:
        """Set the priority of an active memory."""
        return self.change(scope, memory_id, lambda memory: prioritized(require_active(memory), priority), cause)

    def unpin(self, scope: Scope, memory_id: str, cause: Cause) -> Memory:
        """Give a pinned memory normal priority; others are unchanged."""

        def unpinned(memory: Memory) -> Memory:
            pinned = require_active(memory).priority is Priority.PINNED
            return prioritized(memory, Priority.NORMAL) if pinned else memory

        return self.change(scope, memory_id, unpinned, cause)

    def verify(self, scope: Scope, memory_id: str, cause: Cause, by: Trust, metadata: Mapping[str, Any]) -> Memory:
        """Record that an active memory was verified, with new metadata; a person stands behind it from then on."""

        def verified(memory: Memory) -> Memory:
            trust = by if by is Trust.PERSON else memory.trust
            known = {**memory.metadata, **metadata}
            return replace(require_active(memory), verified_at=cause.at, trust=trust, metadata=known)

        return self.change(scope, memory_id, verified, cause)

    def end(self, scope: Scope, memory_id: str, cause: Cause) -> Memory:
        """End a memory whose condition has come true, with the trust of whoever has set it.

        The condition is taken off by an event of its own: when the end is undone, it does not end the memory again.
        """

        def change(transaction: Transaction) -> Memory:
            record = require_visible(transaction, scope, memory_id)
            memory, ends = record.memory, ends_of(record.memory)
            if "when" not in ends or memory.retention is not Retention.ACTIVE:
                return memory
            by = replace(cause, by=memory.trust, rule="condition", why=f"{ends['when']} came true")
            kept = {name: value for name, value in memory.metadata.items() if name != ENDS}
            told = replace(memory, metadata={**kept, ENDED_BY: ends["when"]})
            record = self.apply(transaction, record, told, by)
            ended = self.apply(transaction, record, replace(record.memory, valid_until=cause.at), by)
            remake(transaction, summaries, cause, self._settings.tokenizer)
            return ended.memory

        summaries = summaries_of(self._store, scope, [memory_id], cause)
        return self._store.transact(change)

    def rescope(
        self, scope: Scope, memory_id: str, cause: Cause, to: Mapping[str, str] | None = None, owner: int | None = None
    ) -> Memory:
        """Give a memory another scope, None = its own without the session; with `owner`, only one in that space."""

        def change(transaction: Transaction) -> Memory:
            record = require_visible(transaction, scope, memory_id)
            _require_outside_notes(transaction, record)
            if owner is not None and record.space != owner:
                raise NotFound(f"this session has no memory {memory_id!r}")
            former = record.memory.scope
            target = replace(former, session=None) if to is None else Scope(tenant=former.tenant).narrowed(**to)
            if target.tenant != former.tenant:
                raise InvalidInput(f"a memory stays with its tenant: leave out the tenant {target.tenant!r}")
            require_own(scope, target)
            after = replace(require_active(record.memory), scope=target)
            return self.apply_once(transaction, record, after, cause).memory

        return self._store.transact(change)

    def rewrite(
        self,
        scope: Scope,
        memory: Memory,
        alter: Callable[[Memory], Memory],
        content: str,
        cause: Cause,
        removed: Sequence[str] = (),
    ) -> Memory:
        """Like `change`, with new content; its vectors are made before the transaction.

        The former content, and parts of it that were `removed`, do not come back by themselves.
        """
        embedded = self._vectorizer.for_contents([content if memory.index else None])

        def change(transaction: Transaction) -> Memory:
            record = require_visible(transaction, scope, memory.id)
            if in_file(record.memory):
                path = record.memory.metadata.get("path", "a note")
                raise InvalidInput(f"{memory.id} is part of {path}: edit the file, and the next sync follows")
            after = with_content(alter(record.memory), content, self._settings.tokenizer)
            changed = self.apply_once(transaction, record, after, cause, embedded.vectors[0])
            for former in (record.memory.content, *removed):
                transaction.tombstones.add(record, cause, former, beside=content)
            remake(transaction, summaries, cause, self._settings.tokenizer)
            return changed.memory

        summaries = summaries_of(self._store, scope, [memory.id], cause)
        return self._store.transact(change, made_by=embedded.made_by)

    def retain(
        self, scope: Scope, memory_ids: Sequence[str], wanted: Retention, cause: Cause, *, inside: bool = False
    ) -> list[Memory]:
        """Hide or restore memories, all or none; restoring an expired memory removes its expiry."""
        require_ids(*memory_ids)

        def change(transaction: Transaction) -> list[Memory]:
            changed = []
            for record in [require_visible(transaction, scope, each, inside=inside) for each in memory_ids]:
                retention = changed_retention(record.memory, wanted, cause.at, self._settings)
                if wanted is Retention.ACTIVE and was_proposed(transaction.events(record)):
                    require_person(cause.by)
                expires_at = record.memory.expires_at
                if wanted is Retention.ACTIVE and expires_at is not None and expires_at <= cause.at:
                    expires_at = None
                after = replace(record.memory, retention=retention, expires_at=expires_at)
                changed.append(self.apply_once(transaction, record, after, cause).memory)
                if wanted is Retention.DELETED:
                    mark_forgotten(transaction, record, cause)
            remake(transaction, summaries, cause, self._settings.tokenizer)
            return changed

        hides = wanted is not Retention.ACTIVE
        summaries = summaries_of(self._store, scope, memory_ids, cause) if hides else []
        return self._store.transact(change)

    def purge(
        self,
        scope: Scope,
        memory_ids: Sequence[str],
        cause: Cause,
        selected_by: Sequence[str] = (),
        *,
        inside: bool = False,
    ) -> None:
        """Erase memories, all or none; only their events stay.

        Secret values in them, also in the reason or in texts that they were `selected_by`, do not come back either.
        """
        require_ids(*memory_ids)
        named = set().union(*map(named_values, (cause.why, *selected_by)))
        patterns = self._settings.redact_patterns

        def change(transaction: Transaction) -> None:
            ids = dict.fromkeys(memory_ids)
            records = [require_visible(transaction, scope, memory_id, inside=inside) for memory_id in ids]
            records += [record for record in copies if record.memory.id not in memory_ids]
            contents = [record.memory.content.casefold() for record in records]
            found = {value for value in named if any(value.casefold() in content for content in contents)}
            reason = cause.why
            for value in found:
                reason = reason.replace(value, MARK)
            for place, record in enumerate(records, 1):
                require_authority(record.memory, None, cause.by)
                secrets = {value for value in found if value.casefold() in record.memory.content.casefold()}
                secrets |= secret_values(record.memory.content, patterns) if patterns else set()
                transaction.purge(record, replace(cause, why=reason), clean=place == len(records), secrets=secrets)
            remake(transaction, summaries, cause, self._settings.tokenizer)

        summaries = summaries_of(self._store, scope, memory_ids, cause)
        copies = proposals_to_keep(self._store, scope, memory_ids, cause)
        self._store.transact(change)

    def undo(
        self, wanted: Sequence[tuple[Scope, Event, Record]], cause: Cause
    ) -> list[tuple[Event, Memory | MemothermError]]:
        """Undo events in one transaction, the newest first, each from a scope that can see its memory.

        Return for each the memory, or why it was left as it is.
        """
        newest = sorted(wanted, key=lambda each: each[1].seq, reverse=True)
        before = [_values_before(event) for _, event, _ in newest]
        contents = [
            values.get("content") if values.get("index", record.memory.index) else None
            for values, (_, _, record) in zip(before, newest, strict=True)
        ]
        embedded = self._vectorizer.for_contents(contents)

        def change(transaction: Transaction) -> list[tuple[Event, Memory | MemothermError]]:
            return [
                (event, self._undo(transaction, scope, event, values, vectors, cause))
                for (scope, event, _), values, vectors in zip(newest, before, embedded.vectors, strict=True)
            ]

        return self._store.transact(change, made_by=embedded.made_by)

    def _undo(
        self,
        transaction: Transaction,
        scope: Scope,
        event: Event,
        before: dict[str, Any],
        vectors: Any,  # noqa: ANN401
        cause: Cause,
    ) -> Memory | MemothermError:
        """Put values back that an event has changed; return the memory, or why that is not possible."""
        of_a_rule = f", made by the rule {event.rule}" if _is_of_a_rule(event) else ""
        cause = replace(cause, why=f"took back event {event.seq}{of_a_rule}", rule=f"undo:{event.seq}")
        try:
            _require_undoable(event, transaction.get(event.memory_id))
            current = require_visible(transaction, scope, event.memory_id)
            _require_unchanged(event, current.memory)
            after = apply_changes(current.memory, before)
            require_own(scope, after.scope)
            if after.retention is not current.memory.retention:
                changed_retention(current.memory, after.retention, cause.at, self._settings)
            elif before.keys() != {"scope"}:  # a project is moved with its archived memories
                require_editable(current.memory)
            if "content" in before:
                after = with_content(after, before["content"], self._settings.tokenizer)
            changed = self.apply(transaction, current, after, cause, vectors)
        except (Forbidden, InvalidInput, NotFound, StaleWrite) as exc:
            # Raised before anything is changed. A limit may have moved others already: it takes everything back.
            return exc
        if is_first(event):
            mark_forgotten(transaction, current, cause)
        if event.action == Action.APPROVE and current.memory.supersedes is not None:
            self._bring_back(transaction, current.memory.supersedes, event, cause)
        return changed.memory

    def _bring_back(self, transaction: Transaction, superseded: str, approval: Event, cause: Cause) -> None:
        """Give a memory its key back that an approval has taken, and make it active if the approval archived it."""
        record = transaction.get(superseded)
        if record is None or record.memory.retention is Retention.PURGED:
            return
        after = replace(record.memory, key=approval.changes.get("key", (None, record.memory.key))[1])
        hidden = next(event for event in reversed(transaction.events(record)) if "retention" in event.changes)
        if (hidden.rule, hidden.at) == ("superseded", approval.at):
            after = replace(after, retention=Retention.ACTIVE)
        self.apply(transaction, record, after, cause)

    def apply_once(
        self,
        transaction: Transaction,
        record: Record,
        after: Memory,
        cause: Cause,
        vectors: Any = None,  # noqa: ANN401
    ) -> Record:
        """Store a changed memory, unless another memory of its scope has the same content."""
        before = record.memory
        if _duplicable(after) != _duplicable(before) and after.retention is Retention.ACTIVE and not in_file(after):
            other = duplicate_of(transaction, transaction.space(after.scope), after, cause.at, self._settings)
            if other is not None and other.memory.id != after.id:
                raise InvalidInput(
                    f"{other.memory.id} has the same content in this scope: use that one, or forget it first"
                )
        return self.apply(transaction, record, after, cause, vectors)

    def apply(
        self,
        transaction: Transaction,
        record: Record,
        after: Memory,
        cause: Cause,
        vectors: Any = None,  # noqa: ANN401
    ) -> Record:
        """Store a changed memory in a transaction, if trust and limits admit it and nothing of it was forgotten."""
        require_authority(record.memory, after, cause.by)
        require_allowed(transaction, after, cause.by, record.memory)
        space = record.space
        if after.scope != record.memory.scope:
            _require_outside_notes(transaction, record)
            space = transaction.space(after.scope)
        if after.key is not None and (after.key, after.scope) != (record.memory.key, record.memory.scope):
            owner = transaction.with_key(space, after.key)
            if owner is not None and owner.memory.id != after.id:
                raise InvalidInput(
                    f"the key {after.key!r} belongs to {owner.memory.id} ({owner.memory.retention}) in this scope: "
                    "update that one, give it another key, or purge it"
                )
        self._limits.admit(transaction, space, after, cause, record)
        return transaction.change(record, after, cause, vectors)


def _require_outside_notes(transaction: Transaction, record: Record) -> None:
    """Refuse a memory that is part of a note; notes decide its scope."""
    location = transaction.chunk_locations([record.no]).get(record.no)
    if location is None:
        return
    raise InvalidInput(
        f"{record.memory.id} is part of {location.path} and has the scope of its notes: "
        "open the folder from the wider scope, or remember the text there"
    )


def _duplicable(memory: Memory) -> tuple[object, ...]:
    """Return the values that decide whether two memories are duplicates."""
    return memory.digest, memory.kind, memory.scope, memory.retention, memory.key


def with_content(memory: Memory, content: str, tokenizer: str) -> Memory:
    """Return the memory with new content, digest and token count."""
    return replace(memory, content=content, digest=digest(content), tokens=count_tokens(content, tokenizer))


def _is_of_a_rule(event: Event) -> bool:
    """Return whether a rule made a change, and not a caller; what stores a memory names the rule of its first tier."""
    return not is_first(event) and event.rule != "explicit" and event.action != Action.UNDO


def _require_undoable(event: Event, record: Record | None) -> None:
    if event.action == Action.PURGE or (record is not None and record.memory.retention is Retention.PURGED):
        raise InvalidInput(f"event {event.seq} cannot be undone: {event.memory_id} was purged and its content is gone")
    if not event.changes:
        raise InvalidInput(f"event {event.seq} ({event.action}) changed nothing that could be put back")


def _values_before(event: Event) -> dict[str, Any]:
    """Return the values to put back; undoing the first event deletes the memory."""
    if is_first(event):
        return {"retention": str(Retention.DELETED)}
    return {name: was for name, (was, _) in event.changes.items()}


def is_first(event: Event) -> bool:
    """Return whether an event is the first of a memory."""
    return "retention" in event.changes and event.changes["retention"][0] is None


def _require_unchanged(event: Event, memory: Memory) -> None:
    if is_first(event):
        return
    then = apply_changes(memory, {name: now for name, (_, now) in event.changes.items()})
    moved_on = changes_between(memory, then)
    if moved_on:
        raise StaleWrite(
            f"{memory.id} has changed again since event {event.seq} ({', '.join(moved_on)}): undo those first"
        )


def archive_superseded(
    transaction: Transaction, superseded: Record, successor: str, content: str, cause: Cause
) -> Record:
    """Archive the memory that another one with a new content replaces, and return it."""
    if superseded.memory.id == successor:
        raise InvalidInput(f"{successor} already has this content: a memory cannot supersede itself")
    superseded = _open_circle(transaction, superseded, successor, cause)
    if superseded.memory.retention is not Retention.ACTIVE:
        return superseded
    archived = replace(superseded.memory, retention=Retention.ARCHIVED)
    require_authority(superseded.memory, archived, cause.by, "replace it")
    why = "; ".join(filter(None, (f"replaced by {successor}", cause.why)))
    transaction.tombstones.add(superseded, cause, beside=content)
    return transaction.change(superseded, archived, replace(cause, action=Action.ARCHIVE, rule="superseded", why=why))


def _open_circle(transaction: Transaction, superseded: Record, successor: str, cause: Cause) -> Record:
    """Break a cycle of `supersedes` before it closes; return the superseded memory."""
    reason = replace(cause, action=Action.UPDATE, rule="superseded", why=f"{successor} replaces what had replaced it")
    link: Record | None = superseded
    seen: set[str] = set()
    while link is not None and link.memory.supersedes is not None and link.memory.id not in seen:
        seen.add(link.memory.id)
        if link.memory.supersedes == successor:
            opened = transaction.change(link, replace(link.memory, supersedes=None), reason)
            return opened if link is superseded else superseded
        link = transaction.get(link.memory.supersedes)
    return superseded
