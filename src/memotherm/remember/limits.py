"""What every stored or changed memory passes, inside its transaction: who may change it, and the limits.

A caller sees what it changes, and less trust neither replaces nor erases what more trust stands behind. It may archive
and forget it, which can be undone, as an agent does when its user asks for it; but not what is pinned, which it cannot
unpin either. Tier, other priorities, tags and metadata are not what a memory says.

Two limits hold here and nowhere else, so that no way of writing can bypass them: how many of the
memories that a scope sees hold a priority, and how many tokens a session keeps hot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from logging import getLogger
from typing import Any

from memotherm.errors import Forbidden, InvalidInput, LimitReached, NotFound
from memotherm.model import Event, Memory, Move, Priority, Retention, Scope, Tier, Trust
from memotherm.model.actions import Action
from memotherm.model.marks import ENDED_BY, ENDS, ends_of
from memotherm.settings import Settings
from memotherm.storage.store import Transaction
from memotherm.storage.values import Cause, Record
from memotherm.tiers.rules import Select, Situation
from memotherm.tiers.rules.rule import RuleSet, RuleSource

#: The fields that decide what a memory says, until when, and under which key it is found.
_SAID = ("kind", "key", "valid_from", "valid_until")


def outranks(memory: Memory, by: Trust) -> bool:
    """Return whether a memory has more trust than a caller; a proposal is nobody's until it is approved."""
    return memory.trust.rank > by.rank and memory.retention is not Retention.PROPOSED


def require_authority(before: Memory, after: Memory | None, by: Trust, taken: str = "") -> None:
    """Raise `Forbidden` if a caller takes away what more trust stands behind.

    It would be `after`, or erased if that is None; `taken` says what the caller does if that is forbidden in any case,
    such as "replace it".
    """
    if not outranks(before, by):
        return
    taken = taken or ("erase it" if after is None else _taken(before, after))
    if taken:
        raise Forbidden(
            f"{before.id} has the trust {before.trust}, and a caller with the trust {by} may not {taken}: ask the "
            "user, who can do so on the command line or in the dashboard"
        )


def with_end_of(stored: Memory, memory: Memory, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a memory that is stated again, with the condition that ends it then.

    It stays if it was set by more trust than the second statement has, and a guess does not replace it.
    """
    guess = "when" in ends_of(stored) and "when" not in ends_of(memory)
    ends = ends_of(stored) if guess or stored.trust.rank > memory.trust.rank else ends_of(memory)
    kept = {name: value for name, value in metadata.items() if name not in (ENDS, ENDED_BY)}
    ended = {ENDED_BY: stored.metadata[ENDED_BY]} if ENDED_BY in stored.metadata and not ends else {}
    return {**kept, **({ENDS: dict(ends)} if ends else ended)}


def _taken(before: Memory, after: Memory) -> str:
    """Return what a change takes away from those who see a memory, or an empty text."""
    pinned = before.priority is Priority.PINNED
    if pinned and after.retention is not before.retention and after.retention is not Retention.ACTIVE:
        return "hide it while it is pinned"
    if pinned and after.priority is not Priority.PINNED:
        return "unpin it"
    if after.digest != before.digest:
        return "change its content"
    if after.trust.rank < before.trust.rank:
        return "lower its trust"
    if not before.scope.sees(after.scope):
        return "hide it from its scope"
    if after.expires_at not in (before.expires_at, None):
        return "let it expire"
    if before.metadata.get(ENDS) != after.metadata.get(ENDS):
        return "change the condition that ends it"
    changed = [name for name in _SAID if getattr(before, name) != getattr(after, name)]
    return f"change its {changed[0]}" if changed else ""


def require_ids(*memory_ids: object) -> None:
    """Raise `InvalidInput` for a memory in the place of its id."""
    for each in memory_ids:
        if isinstance(each, Memory):
            raise InvalidInput(f"this takes the id of a memory, not the memory: give memory.id ({each.id!r})")


def require_visible(transaction: Transaction, scope: Scope, memory_id: str, *, inside: bool = False) -> Record:
    """Return a memory that the scope can see and change, or is at or below it if `inside` is true, or raise."""
    require_ids(memory_id)
    record = transaction.get(memory_id) if isinstance(memory_id, str) else None
    if inside and record is not None and record.memory.scope.sees(scope):
        scope = scope.narrowed(**dict(record.memory.scope.items()))
    if record is None or not scope.sees(record.memory.scope) or record.memory.retention is Retention.PURGED:
        raise NotFound(f"no memory {memory_id!r} can be seen from here ({scope})")
    if scope.owner not in (None, record.memory.scope.user):
        raise Forbidden(
            f"{memory_id} belongs to a wider scope ({record.memory.scope}) than this API key, which may only read it: "
            "use a key of the tenant, or create one for the user with --shared"
        )
    if not scope.may_change(record.memory.scope):
        raise InvalidInput(f"{memory_id} is shared by all tenants and read-only from here ({scope})")
    return record


def require_person(by: Trust) -> None:
    """Refuse to let somebody else than a person make a proposal active."""
    if by is not Trust.PERSON:
        raise Forbidden(
            "only a person approves a proposal: ask the user, who can do so with `memotherm approve`, in the "
            'dashboard, or in a program with mem.by("person")'
        )


def was_proposed(events: Sequence[Event]) -> bool:
    """Return whether a memory was a proposal before it was hidden."""
    hidden = next((event for event in reversed(events) if "retention" in event.changes), None)
    return hidden is not None and hidden.changes["retention"][0] == Retention.PROPOSED


def require_own(scope: Scope, target: Scope) -> None:
    """Refuse to give a memory to somebody else than the user of an API key."""
    if scope.owner not in (None, target.user):
        raise Forbidden(f"this API key may only store memories of the user {scope.owner}, not in the scope {target}")


_log = getLogger(__name__)


class Limits:
    """The limits of a store, and the spill rules that make room under them."""

    def __init__(self, settings: Settings, rules: RuleSource) -> None:
        self._settings = settings
        self._rules = rules

    def admit(
        self, transaction: Transaction, space: int, after: Memory, cause: Cause, before: Record | None = None
    ) -> None:
        """Make room for a memory about to be stored, or raise `LimitReached` if it would break a limit."""
        if not after.visible_at(cause.at):
            return
        was = before.memory if before is not None and before.memory.visible_at(cause.at) else None
        if was is None or was.priority is not after.priority or not after.scope.sees(was.scope):
            self._admit_priority(transaction, space, after, cause)
        if after.tier is Tier.HOT and after.scope.session is not None:
            here = before is not None and before.space == space
            freed = was.tokens if was is not None and here and was.tier is Tier.HOT else 0
            self._admit_hot(transaction, space, after, after.tokens - freed, cause)

    def make_room(
        self,
        transaction: Transaction,
        space: int,
        needed: int,
        cause: Cause,
        keep: frozenset[str] = frozenset(),
    ) -> bool:
        """Spill hot memories of a session until `needed` tokens fit; return whether they do.

        Nothing moves when it would not help: pinned memories and those to keep are never spilled.
        """
        free = self._settings.hot_token_limit - transaction.hot_tokens(space, cause.at)
        if free >= needed:
            return True
        if not self._settings.auto_spill:
            return False
        chosen: list[tuple[Record, Move]] = []
        for record, move in self.spills(transaction, space, cause, "made room in hot"):
            if record.memory.id in keep:
                continue
            chosen.append((record, move))
            free += record.memory.tokens
            if free >= needed:
                self.spill(transaction, space, chosen, cause)
                return True
        return False

    def spills(self, transaction: Transaction, space: int, cause: Cause, reason: str) -> Iterator[tuple[Record, Move]]:
        """Yield the hot memories of a session that the spill rules would move out, in the order of the rules."""
        situation = Situation(now=cause.at, settings=self._settings, reason=reason)
        rules, hot = RuleSet(self._rules(), "spill"), dict[str, Record]()

        def selected(selects: Select, situation: Situation) -> Iterator[Memory]:
            for record in transaction.select((space,), replace(selects, tiers=(Tier.HOT,)), situation):
                hot[record.memory.id] = record
                yield record.memory

        for memory, move in rules.decisions(selected, situation):
            if move.to is not Tier.HOT:
                yield hot[memory.id], move
        for line in rules.degraded():
            _log.warning("%s", line)

    def is_spill_rule(self, rule_id: str) -> bool:
        """Return whether a rule moves memories out of a full session."""
        return any(rule.id == rule_id for rule in self._rules() if rule.selects.during == "spill")

    def spill(
        self, transaction: Transaction, space: int, spills: Sequence[tuple[Record, Move]], cause: Cause
    ) -> list[Move]:
        """Move memories out of hot and count them as spilled."""
        for record, move in spills:
            after = replace(record.memory, tier=move.to, tier_rule=move.rule)
            transaction.change(record, after, cause.for_move(move))
        if spills:
            transaction.tally(space, "spill", len(spills))
        return [move for _, move in spills]

    def _admit_hot(self, transaction: Transaction, space: int, after: Memory, needed: int, cause: Cause) -> None:
        limit = self._settings.hot_token_limit
        if after.tokens > limit:
            raise LimitReached(
                f"{after.tokens} tokens cannot be hot in a session whose limit is {limit}: "
                "store it warm, or raise the setting hot_token_limit"
            )
        if not self.make_room(transaction, space, needed, cause, keep=frozenset({after.id})):
            raise LimitReached(
                f"hot is full: {after.tokens} tokens do not fit into the {limit} of this session "
                "beside what may not be spilled: spill, unpin, or raise the setting hot_token_limit"
            )

    def _admit_priority(self, transaction: Transaction, space: int, after: Memory, cause: Cause) -> None:
        """Admit a priority; only memories of the same scope give way, since narrower scopes do not decide for wider."""
        priority, limit = after.priority, _most(after.priority, self._settings)
        demotes = self._settings.on_tier_limit == "demote_oldest"
        while is_full(transaction, after.scope, priority, cause.at, self._settings):
            oldest = transaction.oldest_of_priority(space, priority, cause.at) if demotes else None
            if oldest is None:
                hint = "none of them belongs to this scope" if demotes else "or set on_tier_limit = 'demote_oldest'"
                raise LimitReached(
                    f"{limit} memories that this scope sees are {priority} already, and max_{priority} is "
                    f"{limit}: lower another one first, {hint}"
                )
            why = f"made room for another {priority} memory"
            demotion = replace(cause, action=Action.PRIORITIZE, rule="limit.demote_oldest", why=why)
            transaction.change(oldest, replace(oldest.memory, priority=Priority.NORMAL), demotion)


def is_full(transaction: Transaction, scope: Scope, priority: Priority, now: datetime, settings: Settings) -> bool:
    """Return whether a scope sees as many memories of a priority as it may."""
    most = _most(priority, settings)
    return most is not None and transaction.count_priority(scope, priority, now) >= most


def _most(priority: Priority, settings: Settings) -> int | None:
    return {Priority.PINNED: settings.max_pinned, Priority.CRITICAL: settings.max_critical}.get(priority)


def duplicate_of(
    transaction: Transaction, space: int, memory: Memory, at: datetime, settings: Settings
) -> Record | None:
    """Return the visible memory of a space with the same content and kind; None for keyed memories."""
    if memory.key is not None or not settings.duplicate_window_hours:
        return None
    since = at - timedelta(hours=settings.duplicate_window_hours)
    return transaction.duplicate(space, memory.digest, memory.kind, at, since)
