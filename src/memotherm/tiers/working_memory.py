"""The working memory of one session: a few hot tokens, and what they push out and bring back.

Everything happens in the session's own space; other sessions' memories do not exist here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from memotherm.errors import InvalidInput, LimitReached, NotFound
from memotherm.model import Hit, Memory, Move, Priority, Retention, Scope, Tier
from memotherm.model.results import SessionStatus, Spill, Suggestion, TierCount
from memotherm.remember.draft import Draft, memory_of
from memotherm.remember.limits import make_room_in_hot, spilled
from memotherm.remember.writer import Remember
from memotherm.rules.promotion import promotion
from memotherm.settings import Settings
from memotherm.storage.contract import Store, Transaction
from memotherm.storage.values import Cause, Record
from memotherm.vectors.vectorizer import Vectorizer

__all__ = ["WorkingMemory"]

_ALL = 1 << 31
_SUGGESTED = 5
_ROOMY = 0.5


class WorkingMemory:
    """What sessions do with their memories."""

    def __init__(self, store: Store, remember: Remember, vectorizer: Vectorizer, settings: Settings) -> None:
        self._store = store
        self._remember = remember
        self._vectorizer = vectorizer
        self._settings = settings

    def begin(self, scope: Scope, now: datetime) -> int:
        """Return the number of a session's space; a new one begins, one that has ended stays so for now."""
        begun = self.find(scope)
        if begun is not None:
            return begun
        with self._store.write() as transaction:
            space = transaction.space(scope)
            transaction.set_session(space, "active", now)
        return space

    def find(self, scope: Scope) -> int | None:
        """Return the number of a session's space; None if the session has not begun."""
        known = set(self._store.spaces(scope)) & set(self._store.spaces_within(scope))
        return next((space for space in known if self._store.session_state(space) is not None), None)

    def _go_on(self, transaction: Transaction, space: int, now: datetime) -> None:
        """Let a session that had ended go on, because something comes to the front in it again."""
        if self._store.session_state(space) != "active":
            transaction.set_session(space, "active", now)

    def end(self, space: int, state: str, now: datetime) -> None:
        """Record that a session has ended."""
        with self._store.write() as transaction:
            transaction.set_session(space, state, now)

    def add(self, scope: Scope, draft: Draft, cause: Cause) -> Memory:
        """Add a hot memory; others make room for it first, and what can never fit is stored warm."""
        asked_hot = draft.tier is not None
        memory = memory_of(replace(draft, tier=Tier.HOT), scope, cause.at, self._settings)
        if not asked_hot:
            memory = replace(memory, tier_rule="session.add")
        (vectors,), _ = self._vectorizer.for_contents([memory.content])
        with self._store.write(made_by=self._vectorizer.number) as transaction:
            space = transaction.space(scope)
            self._go_on(transaction, space, cause.at)
            if not asked_hot:
                memory = self._placed(transaction, space, memory, cause)
            return self._remember.store_one(transaction, space, memory, vectors, cause).memory

    def _placed(self, transaction: Transaction, space: int, memory: Memory, cause: Cause) -> Memory:
        """Return the memory in the tier where it fits."""
        if memory.tokens > self._settings.hot_token_limit:
            return replace(memory, tier=Tier.WARM, tier_rule="session.oversized")
        known = transaction.duplicate(space, memory.digest, memory.kind, cause.at)
        held = known.memory.tokens if known is not None and known.memory.tier is Tier.HOT else 0
        keep = frozenset({known.memory.id}) if known is not None else frozenset[str]()
        fits, _ = make_room_in_hot(transaction, space, memory.tokens - held, self._settings, cause, keep)
        if fits:
            return memory
        if not self._settings.auto_spill:
            raise LimitReached(
                f"hot is full ({self._settings.hot_token_limit} tokens) and auto_spill is off: spill something first"
            )
        return replace(memory, tier=Tier.WARM, tier_rule="session.full")

    def hot(self, space: int, now: datetime) -> list[Record]:
        """Return the hot memories of a session, newest first."""
        return self._store.place(space, Tier.HOT, now, _ALL)

    def spill(self, space: int, count: int, ids: Sequence[str] | None, cause: Cause) -> Spill:
        """Move hot memories out: the named ones, or the least relevant and oldest."""
        with self._store.write() as transaction:
            if ids is None:
                chosen = transaction.spillable(space, cause.at, count)
            else:
                chosen = [self._spillable(transaction, space, each) for each in dict.fromkeys(ids)]
            moved = [spilled(transaction, record, self._settings, cause, "spilled on request") for record in chosen]
            if moved:
                transaction.tally(space, "spill", len(moved))
        return Spill(moved=tuple(moved))

    def _spillable(self, transaction: Transaction, space: int, memory_id: str) -> Record:
        record = self._own(transaction, space, memory_id)
        if record.memory.tier is not Tier.HOT:
            raise InvalidInput(f"{memory_id} is {record.memory.tier}: only hot memories can be spilled")
        if record.memory.priority is Priority.PINNED:
            raise InvalidInput(f"{memory_id} is pinned and never spilled: unpin it first")
        return record

    def promote(self, space: int, memory_id: str, cause: Cause) -> bool:
        """Bring a memory of the session to hot, making room first; tell whether it moved."""
        with self._store.write() as transaction:
            try:
                record = self._own(transaction, space, memory_id)
            except NotFound:
                return False
            move = Move(
                id=memory_id, from_tier=record.memory.tier, to=Tier.HOT, rule="session.promote", why="asked for"
            )
            return self._promoted(transaction, record, move, cause, frozenset(), relevance=1.0)

    def promote_hits(self, space: int, hits: Sequence[Hit], cause: Cause) -> list[Move]:
        """Bring back the hits that earned it, best first; none of them pushes another one out."""
        earned = [move for hit in hits if (move := promotion(hit, cause.at, self._settings)) is not None]
        done: list[Move] = []
        if not earned:
            return done
        with self._store.write() as transaction:
            for move in earned:
                record = transaction.get(move.id)
                keep = frozenset(each.id for each in done)
                if record is None or record.space != space:
                    continue
                if self._promoted(transaction, record, move, cause, keep, relevance=None):
                    done.append(move)
        return done

    def _promoted(
        self,
        transaction: Transaction,
        record: Record,
        move: Move,
        cause: Cause,
        keep: frozenset[str],
        *,
        relevance: float | None,
    ) -> bool:
        memory = record.memory
        if memory.tier is Tier.HOT or not memory.visible_at(cause.at):
            return False
        fits, _ = make_room_in_hot(transaction, record.space, memory.tokens, self._settings, cause, keep | {memory.id})
        if not fits:
            return False
        after = replace(
            memory,
            tier=Tier.HOT,
            tier_rule=move.rule,
            relevance=memory.relevance if relevance is None else relevance,
        )
        transaction.change(record, after, replace(cause, action="move", rule=move.rule, why=move.why))
        self._go_on(transaction, record.space, cause.at)
        return True

    def prune(self, space: int, keep: int, cause: Cause) -> list[str]:
        """Forget the cold memories beyond `keep` that are worth the least; restore brings them back."""
        pruned: list[str] = []
        with self._store.write() as transaction:
            everything = transaction.prunable(space, cause.at, -1)
            for record in everything[: max(0, len(everything) - keep)]:
                after = replace(record.memory, retention=Retention.DELETED)
                transaction.change(record, after, replace(cause, action="forget", rule="session.prune"))
                pruned.append(record.memory.id)
        return pruned

    def clear(self, space: int, cause: Cause) -> int:
        """Forget everything of the session but what is pinned; restore brings it back."""
        forgotten = 0
        with self._store.write() as transaction:
            for tier in Tier:
                for record in self._store.place(space, tier, cause.at, _ALL):
                    if record.memory.priority is not Priority.PINNED:
                        after = replace(record.memory, retention=Retention.DELETED)
                        transaction.change(record, after, replace(cause, action="forget", rule="session.clear"))
                        forgotten += 1
        return forgotten

    def status(self, session: str, space: int, now: datetime) -> SessionStatus:
        """Return what the session holds and what it might do next."""
        hot, warm, cold = (self._store.place_count(space, tier, now) for tier in Tier)
        return SessionStatus(
            session=session,
            state=self._store.session_state(space) or "active",
            hot=hot,
            warm=warm,
            cold=cold,
            limit=self._settings.hot_token_limit,
            suggestions=tuple(self._suggestions(space, hot, cold, now)),
        )

    def _suggestions(self, space: int, hot: TierCount, cold: TierCount, now: datetime) -> list[Suggestion]:
        limit = self._settings.hot_token_limit
        used = hot.tokens / limit if limit else 1.0
        found = []
        if hot.memories and used >= self._settings.spill_suggested_at:
            found.append(Suggestion(type="spill", reason=f"hot memory is {100 * used:.0f}% full"))
        if used < _ROOMY and (ids := self._worth_recalling(space, limit - hot.tokens, now)):
            reason = f"hot memory is {100 * used:.0f}% full and {len(ids)} spilled memories would fit"
            found.append(Suggestion(type="recall", reason=reason, ids=ids))
        if cold.memories > self._settings.max_cold_items:
            reason = f"{cold.memories} cold memories are more than {self._settings.max_cold_items}"
            found.append(Suggestion(type="prune", reason=reason))
        return found

    def _worth_recalling(self, space: int, room: int, now: datetime) -> tuple[str, ...]:
        """Return the spilled memories worth the most that fit into the free room."""
        spilled_here = [
            record.memory
            for tier in (Tier.WARM, Tier.COLD)
            for record in self._store.place(space, tier, now, 10 * _SUGGESTED)
            if record.memory.tier_rule == "session.spill"
        ]
        chosen: list[str] = []
        for memory in sorted(spilled_here, key=lambda each: (-each.relevance - 0.1 * each.access_count, each.id)):
            if memory.tokens <= room and len(chosen) < _SUGGESTED:
                room -= memory.tokens
                chosen.append(memory.id)
        return tuple(chosen)

    def claim_flush(self, space: int, cycle: int | None, *, due: bool) -> bool:
        """Tell whether a flush is due that nobody was told of in this cycle; a cycle ends when it is not due."""
        state = self._store.flush_state(space)
        if not due and (cycle is not None or state is None or state[1]):
            return False
        with self._store.write() as transaction:
            return transaction.claim_flush(space, cycle, due=due)

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
