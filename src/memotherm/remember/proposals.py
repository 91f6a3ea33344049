"""Proposals: memories that wait until a person approves or rejects them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memotherm.errors import Forbidden, InvalidInput
from memotherm.model import Memory, Priority, Retention, Scope
from memotherm.model.actions import Action
from memotherm.remember.authority import require_person, require_visible
from memotherm.remember.changes import Changes, archive_superseded
from memotherm.remember.forgotten import mark_forgotten
from memotherm.remember.summaries import KEEPS, kept_by, remake, summaries_of
from memotherm.settings import Settings
from memotherm.storage.store import Store, Transaction
from memotherm.storage.values import Cause, Record
from memotherm.text.content import digest


class Proposals:
    """Approves and rejects proposals."""

    def __init__(self, store: Store, changes: Changes, settings: Settings) -> None:
        self._store = store
        self._changes = changes
        self._settings = settings

    def review(
        self, scope: Scope, memory_ids: Sequence[str], wanted: Retention, cause: Cause, *, inside: bool = False
    ) -> list[Memory]:
        """Approve proposals, which become active, or reject them, all or none; only a person approves."""
        if wanted is Retention.ACTIVE:
            require_person(cause.by)

        def change(transaction: Transaction) -> list[Memory]:
            changed = []
            for record in [require_visible(transaction, scope, each, inside=inside) for each in memory_ids]:
                memory = record.memory
                if memory.retention is not Retention.PROPOSED:
                    raise InvalidInput(f"{memory.id} is {memory.retention}, not proposed: there is nothing to decide")
                if wanted is Retention.ACTIVE:
                    changed.append(self._approve(transaction, scope, record, cause, inside=inside).memory)
                    continue
                rejected = self._changes.apply_once(transaction, record, replace(memory, retention=wanted), cause)
                changed.append(rejected.memory)
                mark_forgotten(transaction, record, cause)
            remake(transaction, summaries, cause, self._settings.tokenizer)
            return changed

        reads = self._store.spaces_within if inside else self._store.spaces
        spaces = reads(scope) if wanted is Retention.ACTIVE else ()
        proposals = [self._store.get(spaces, memory_id) for memory_id in (memory_ids if spaces else ())]
        replaced = [each.memory.supersedes for each in proposals if each is not None and each.memory.supersedes]
        summaries = summaries_of(self._store, scope, replaced, cause)
        return self._store.transact(change)

    def _approve(
        self, transaction: Transaction, scope: Scope, proposal: Record, cause: Cause, *, inside: bool
    ) -> Record:
        """Make a proposal active, or the memory that it keeps the successor; archive what it supersedes."""
        kept = kept_by(transaction, proposal)
        target = kept or proposal
        key = target.memory.key
        if proposal.memory.supersedes is not None:
            superseded = require_visible(transaction, scope, proposal.memory.supersedes, inside=inside)
            archived = archive_superseded(transaction, superseded, target.memory.id, target.memory.content, cause)
            if key is None and archived.memory.scope == target.memory.scope:
                key = archived.memory.key
                passed_on = replace(cause, action=Action.UPDATE, rule="superseded")
                transaction.change(archived, replace(archived.memory, key=None), passed_on)
        if kept is not None:
            used = replace(cause, action=Action.FORGET, why=f"its approval keeps {target.memory.id}")
            transaction.change(proposal, replace(proposal.memory, retention=Retention.DELETED), used)
        after = replace(
            target.memory, retention=Retention.ACTIVE, trust=cause.by, key=key, supersedes=proposal.memory.supersedes
        )
        return self._changes.apply_once(transaction, target, after, cause)


def propose_decision(transaction: Transaction, kept: Memory, superseded: Memory, cause: Cause) -> Record:
    """Store the proposal that one memory replaces another one of more trust than the caller, and return it.

    Its approval does what `decide` does: the kept memory stays, the other one is archived. The same decision is
    proposed once.
    """
    name = digest(f"{kept.id} {kept.digest} {superseded.id} {superseded.digest}")[:26]
    known = transaction.get(f"mem_{name}")
    if known is not None and known.memory.retention is not Retention.PROPOSED:
        raise Forbidden(f"whether {kept.id} replaces {superseded.id} was proposed and decided before: ask the user")
    if known is not None:
        return known
    scope = kept.scope.narrowed(**dict(superseded.scope.items()))
    at = cause.at
    proposal = replace(
        kept, id=f"mem_{name}", key=None, priority=Priority.NORMAL, retention=Retention.PROPOSED, scope=scope,
        metadata={KEEPS: {kept.id: kept.version}}, trust=kept.trust.at_most(cause.by), supersedes=superseded.id,
        created_at=at, updated_at=at, tier_since=at, retention_since=at, accessed_at=None, verified_at=None,
        access_count=0, use_weight=0.0, recent_uses=0.0,
    )  # fmt: skip
    stored = replace(cause, action=Action.REMEMBER, rule=proposal.tier_rule)
    return transaction.insert(transaction.space(scope), proposal, None, stored)
