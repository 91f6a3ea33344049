"""The working memory of sessions: a limited number of hot tokens, spilling and promotion.

Every operation is limited to the space of the session; memories of other sessions are neither read nor moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Literal, Never, cast

from memotherm.errors import InvalidInput, LimitReached, NotFound
from memotherm.model import Hit, Memory, Move, Priority, Retention, Scope, Tier, Trust
from memotherm.model.actions import Action
from memotherm.model.results import SessionStatus, Spill, Suggestion, TierCount
from memotherm.remember.authority import outranks
from memotherm.remember.draft import Draft, memory_of
from memotherm.remember.forgotten import without_secrets
from memotherm.remember.limits import Limits
from memotherm.settings import Settings
from memotherm.storage.store import Store, Transaction
from memotherm.storage.values import Cause, Record
from memotherm.tiers.engine import RuleEngine, moved
from memotherm.vectors.vectorizer import Vectorizer

_ALL = 1 << 31
_SUGGESTED = 5
#: The shares of the limit at which the status suggests a spill, and below which it suggests a recall.
_NEARLY_FULL, _MOSTLY_FREE = 0.9, 0.5


class WorkingMemory:
    """The operations of sessions on their memories."""

    def __init__(
        self,
        store: Store,
        vectorizer: Vectorizer,
        limits: Limits,
        engine: RuleEngine,
        settings: Settings,
    ) -> None:
        self._store = store
        self._limits = limits
        self._engine = engine
        self._vectorizer = vectorizer
        self._settings = settings

    def begin(self, scope: Scope, now: datetime) -> int:
        """Return the number of a session's space, starting the session if it is new."""
        begun = self.find(scope)
        if begun is not None:
            return begun

        def begin(transaction: Transaction) -> int:
            space = transaction.space(scope)
            transaction.set_session(space, "active", now)
            return space

        return self._store.transact(begin)

    def find(self, scope: Scope) -> int | None:
        """Return the number of a session's space; None if the session has not begun."""
        known = set(self._store.spaces(scope)) & set(self._store.spaces_within(scope))
        return next((space for space in known if self._store.session_state(space) is not None), None)

    @staticmethod
    def _reactivate(transaction: Transaction, space: int, now: datetime) -> None:
        if transaction.session_state(space) != "active":
            transaction.set_session(space, "active", now)

    def end(self, space: int, state: str, now: datetime) -> None:
        """Record that a session has ended."""
        self._store.transact(lambda transaction: transaction.set_session(space, state, now))

    def add(self, scope: Scope, draft: Draft, cause: Cause, by: Trust) -> Memory:
        """Add a hot memory, spilling others first if needed; store it warm if it cannot fit.

        The same words said twice are two turns, so a duplicate is added as well.
        """
        draft = without_secrets(self._store, scope, draft)
        asked_hot = draft.tier is not None
        memory = memory_of(replace(draft, tier=Tier.HOT), scope, cause.at, self._settings, by)
        if not asked_hot:
            memory = replace(memory, tier_rule="session.add")
        embedded = self._vectorizer.for_contents([memory.content])

        def add(transaction: Transaction) -> Memory:
            space = transaction.space(scope)
            self._reactivate(transaction, space, cause.at)
            fitted = memory if asked_hot else self._fitted(transaction, space, memory, cause)
            self._limits.admit(transaction, space, fitted, cause)
            because = replace(cause, rule=fitted.tier_rule)
            return transaction.insert(space, fitted, embedded.vectors[0], because).memory

        return self._store.transact(add, made_by=embedded.made_by)

    def _fitted(self, transaction: Transaction, space: int, memory: Memory, cause: Cause) -> Memory:
        """Return the memory with the tier that it fits into."""
        if memory.tokens > self._settings.hot_token_limit:
            return replace(memory, tier=Tier.WARM, tier_rule="session.oversized")
        if self._limits.make_room(transaction, space, memory.tokens, cause):
            return memory
        if not self._settings.auto_spill:
            raise LimitReached(
                f"hot is full ({self._settings.hot_token_limit} tokens) and auto_spill is off: spill something first"
            )
        return replace(memory, tier=Tier.WARM, tier_rule="session.full")

    def hot(self, space: int, now: datetime) -> list[Record]:
        """Return the hot memories of a session, newest first."""
        return self._store.list_tier(space, Tier.HOT, now, _ALL)

    def spill(self, space: int, count: int, ids: Sequence[str] | None, cause: Cause) -> Spill:
        """Move hot memories out: the named ones, or the least relevant and oldest."""

        def spill(transaction: Transaction) -> Spill:
            spills = list(self._limits.spills(transaction, space, cause, "spilled on request"))
            if ids is None:
                spills = spills[:count]
            else:
                by_id = {record.memory.id: (record, move) for record, move in spills}
                spills = [
                    by_id.get(memory_id) or self._refuse_spill(transaction, space, memory_id)
                    for memory_id in dict.fromkeys(ids)
                ]
            return Spill(moved=tuple(self._limits.spill(transaction, space, spills, cause)))

        return self._store.transact(spill)

    def _refuse_spill(self, transaction: Transaction, space: int, memory_id: str) -> Never:
        """Say why a memory cannot be spilled."""
        memory = self._own(transaction, space, memory_id).memory
        if memory.tier is not Tier.HOT:
            raise InvalidInput(f"{memory_id} is {memory.tier}: only hot memories can be spilled")
        if memory.priority is Priority.PINNED:
            raise InvalidInput(f"{memory_id} is pinned and never spilled: unpin it first")
        raise InvalidInput(f"{memory_id} cannot be spilled: no spill rule moves it")

    def promote(self, space: int, memory_id: str, cause: Cause) -> bool:
        """Move a memory of the session to hot, spilling others if needed; return whether it moved."""

        def promote(transaction: Transaction) -> bool:
            try:
                record = self._own(transaction, space, memory_id)
            except NotFound:
                return False
            move = Move(
                id=memory_id, from_tier=record.memory.tier, to=Tier.HOT, rule="session.promote", why="asked for"
            )
            return self._promoted(transaction, record, move, cause)

        return self._store.transact(promote)

    def promote_hits(self, space: int, hits: Sequence[Hit], cause: Cause) -> tuple[list[Move], tuple[str, ...]]:
        """Promote the hits that the rules select, best first; none of them spills another one."""
        earned, failures = self._engine.promotions(hits, (space,), cause.at)
        if not earned:
            return [], failures

        def promote(transaction: Transaction) -> list[Move]:
            done: list[Move] = []
            for move in earned:
                record = transaction.get(move.id)
                keep = frozenset(promoted.id for promoted in done)
                if record and record.space == space and self._promoted(transaction, record, move, cause, keep):
                    done.append(move)
            return done

        return self._store.transact(promote), failures

    def _promoted(
        self,
        transaction: Transaction,
        record: Record,
        move: Move,
        cause: Cause,
        keep: frozenset[str] = frozenset(),
    ) -> bool:
        memory = record.memory
        if memory.tier is Tier.HOT or not memory.visible_at(cause.at):
            return False
        if not self._limits.make_room(transaction, record.space, memory.tokens, cause, keep | {memory.id}):
            return False
        transaction.change(record, moved(memory, move), cause.for_move(move))
        self._reactivate(transaction, record.space, cause.at)
        return True

    def prune(self, space: int, keep: int, cause: Cause) -> list[str]:
        """Delete the least relevant cold memories beyond `keep`, except those of more trust; `restore` undoes it."""

        def prune(transaction: Transaction) -> list[str]:
            prunable = _own_trust(transaction.prunable(space, cause.at, -1), cause)
            return _forget(transaction, prunable[: max(0, len(prunable) - keep)], replace(cause, rule="session.prune"))

        return self._store.transact(prune)

    def clear(self, space: int, cause: Cause) -> int:
        """Delete the memories of the session, except pinned ones and those of more trust; `restore` undoes it."""

        def clear(transaction: Transaction) -> int:
            records = [record for tier in Tier for record in transaction.list_tier(space, tier, cause.at)]
            unpinned = [record for record in records if record.memory.priority is not Priority.PINNED]
            return len(_forget(transaction, _own_trust(unpinned, cause), replace(cause, rule="session.clear")))

        return self._store.transact(clear)

    def status(self, session: str, space: int, now: datetime) -> SessionStatus:
        """Return the counts of the session and suggestions."""
        counts = self._store.counts((space,), now).tiers
        hot, warm, cold = (counts[tier] for tier in Tier)
        return SessionStatus(
            session=session,
            state=cast("Literal['active', 'archived', 'summarized']", self._store.session_state(space) or "active"),
            hot=hot,
            warm=warm,
            cold=cold,
            limit=self._settings.hot_token_limit,
            suggestions=tuple(self._suggestions(space, hot, cold, now)),
        )

    def _suggestions(self, space: int, hot: TierCount, cold: TierCount, now: datetime) -> list[Suggestion]:
        limit = self._settings.hot_token_limit
        used = hot.tokens / limit if limit else 1.0
        suggestions = []
        if hot.memories and used >= _NEARLY_FULL:
            suggestions.append(Suggestion(type="spill", reason=f"hot memory is {100 * used:.0f}% full"))
        if used < _MOSTLY_FREE and (ids := self._fitting_spills(space, limit - hot.tokens, now)):
            reason = f"hot memory is {100 * used:.0f}% full and {len(ids)} spilled memories would fit"
            suggestions.append(Suggestion(type="recall", reason=reason, ids=ids))
        if cold.memories > self._settings.max_cold_items:
            reason = f"{cold.memories} cold memories are more than {self._settings.max_cold_items}"
            suggestions.append(Suggestion(type="prune", reason=reason))
        return suggestions

    def _fitting_spills(self, space: int, room: int, now: datetime) -> tuple[str, ...]:
        """Return the ids of the most relevant spilled memories that fit into the free tokens."""
        spilled = [
            record.memory
            for tier in (Tier.WARM, Tier.COLD)
            for record in self._store.list_tier(space, tier, now, 10 * _SUGGESTED)
            if self._limits.is_spill_rule(record.memory.tier_rule)
        ]
        chosen: list[str] = []
        for memory in sorted(spilled, key=lambda memory: (-memory.relevance - 0.1 * memory.access_count, memory.id)):
            if memory.tokens <= room and len(chosen) < _SUGGESTED:
                room -= memory.tokens
                chosen.append(memory.id)
        return tuple(chosen)

    def claim_flush(self, space: int, cycle: int | None, *, due: bool) -> bool:
        """Return whether to prompt for a flush: once per cycle, which ends when no flush is due."""
        state = self._store.flush_state(space)
        if not due and (cycle is not None or state is None or state[1]):
            return False
        return self._store.transact(lambda transaction: transaction.claim_flush(space, cycle, due=due))

    def require_own(self, space: int, memory_id: str) -> None:
        """Refuse a memory that is not this session's own."""
        if not isinstance(memory_id, str) or self._store.get((space,), memory_id) is None:
            raise NotFound(f"this session has no memory {memory_id!r}")

    @staticmethod
    def _own(transaction: Transaction, space: int, memory_id: str) -> Record:
        record = transaction.get(memory_id) if isinstance(memory_id, str) else None
        if record is None or record.space != space or record.memory.retention is Retention.PURGED:
            raise NotFound(f"this session has no memory {memory_id!r}")
        return record


def _own_trust(records: Sequence[Record], cause: Cause) -> list[Record]:
    """Return the memories that have no more trust than the caller."""
    return [record for record in records if not outranks(record.memory, cause.by)]


def _forget(transaction: Transaction, records: Sequence[Record], cause: Cause) -> list[str]:
    """Delete memories, and return their ids."""
    cause = replace(cause, action=Action.FORGET)
    for record in records:
        transaction.change(record, replace(record.memory, retention=Retention.DELETED), cause)
    return [record.memory.id for record in records]
