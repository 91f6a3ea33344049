"""Faults of the document about priorities (E)."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from memotherm import Priority, Tier
from memotherm.settings.types import Boosts
from tests.spec.audit.faults.breaks import (
    MANY,
    Fault,
    answering,
    calling,
    constant,
    instead,
    returning,
    settings,
    stored,
    without_name,
)

_CHANGES = "memotherm.remember.changes:Changes"
_MEMORY = "memotherm.memory:Memotherm"
_PACK = "memotherm.context.packer:pack"
_PINNED = "memotherm.storage.store:SearchStore.pinned"
_PLACEMENT = "memotherm.model.memory:placement"
_SEARCH = "memotherm.recall.recaller:Recaller.search"


def _boosts(**values: float) -> Fault:
    return settings(priority_boosts=Boosts(**values))


def _other_numbers(original: Any) -> Any:
    return lambda tier, *more: original(tier + 1 if isinstance(tier, int) and tier < 4 else tier, *more)


def _no_priorities(original: Any) -> Any:
    return lambda tier, *more: original(tier if str(tier) in list(Tier) else None, *more)


def _three_is_low(original: Any) -> Any:
    return lambda cls, value: cls("low") if value == 3 else original(cls, value)


def _unchanged(original: Any) -> Any:
    """Accept a change of a memory, and change nothing."""
    return lambda self, scope, memory_id, value, cause: self.change(scope, memory_id, lambda memory: memory, cause)


def _got(original: Any) -> Any:
    """Return a memory instead of changing it."""
    return lambda self, memory_id, *more: self.get(memory_id)


def _by_relevance(original: Any) -> Any:
    """Order by relevance, before anything is added to it."""

    def rank(evidence: Any, weights: Any, now: int) -> Any:
        ranked = original(evidence, weights, now)
        places = sorted(range(len(ranked)), key=lambda place: -ranked.parts.relevance[ranked.rows[place]])
        columns = ([column[place] for place in places] for column in (ranked._nos, ranked._scores, ranked.rows))
        return type(ranked)(*columns, ranked.parts)

    return rank


def _within_limit(found: Any) -> Any:
    return replace(found, hits=found.hits[: max(0, found.limit - len(found.pinned))])


def _listed_by_search(original: Any) -> Any:
    return lambda self: [hit.memory for hit in self.recall("everything").pinned]


def _without_agent(original: Any) -> Any:
    """Store what is an agent's own in the scope around it."""
    return lambda self, scope, collection="": original(self, replace(scope, agent=None), collection)


def _always_pinned(original: Any) -> Any:
    """Keep returning what was pinned once."""
    seen: dict[str, Any] = {}

    def pinned(self: Any, search: Any) -> list[Any]:
        seen.update({record.memory.id: record for record in original(self, search)})
        return list(seen.values())

    return pinned


def _restored_as_normal(original: Any) -> Any:
    def restore(checkpoint: Any, into: Any, *more: Any) -> None:
        original(checkpoint, into, *more)
        with contextlib.closing(sqlite3.connect(into)) as file, file:
            file.execute("UPDATE memories SET priority = 3")

    return restore


def _new_memories_only(original: Any) -> Any:
    """Let a change pass the limits, unlike a new memory."""
    return lambda self, transaction, space, after, cause, before=None: (
        None if before else original(self, transaction, space, after, cause)
    )


def _pruning_everything(original: Any) -> Any:
    from memotherm.tiers.working_memory import _forget

    return lambda self, space, keep, cause: self._store.transact(
        lambda transaction: _forget(transaction, transaction.list_tier(space, Tier.COLD, cause.at)[keep:], cause)
    )


def _own_scope_only(original: Any) -> Any:
    """Count without what wider scopes have."""

    def count(self: Any, scope: Any, *more: Any) -> int:
        wider = replace(scope, **dict.fromkeys([name for name, _ in scope.items()][-1:]))
        return int(original(self, scope, *more) - (original(self, wider, *more) if scope.items() else 0))

    return count


def _renamed(memories: list[Any]) -> list[Any]:
    return [replace(each, id=each.id[:-1] + ("0" if each.id[-1] != "0" else "1")) for each in memories]


FAULTS: Mapping[str, Fault] = {
    "E01": instead(_PLACEMENT, _other_numbers),
    "E02": stored(priority=Priority.LOW),
    "E03": instead(_PLACEMENT, _no_priorities),
    "E04": instead("memotherm.memory:Memotherm.move", _got),
    "E05": instead(f"{_MEMORY}.pin", _got),
    "E06": instead(f"{_MEMORY}.unpin", _got),
    "E07": answering(_PINNED, lambda records: [each for each in records if each.memory.tier is Tier.HOT]),
    "E08": _boosts(critical=0.0),
    "E09": _boosts(important=0.0),
    "E10": constant("memotherm.context.packer:_LOW", None),
    "E11": calling(f"{_MEMORY}.get_relevant_memories", limit=8),
    "E12": answering(_SEARCH, _within_limit),
    "E13": instead(
        "memotherm.recall.pipeline:FindCandidates._size", lambda original: lambda self, state: max(1, state.depth)
    ),
    "E14": _boosts(low=-0.2),
    "E15": instead("memotherm.recall.rank:rank", _by_relevance),
    "E16": instead("memotherm.model.memory:Priority.of", _three_is_low),
    "E17": returning("memotherm.model.memory:placed_in", (None, None)),
    "E18": instead(f"{_MEMORY}.pinned", _listed_by_search),
    "E19": _boosts(critical=0.0, important=0.0, low=0.0),
    "E20": settings(max_pinned=6),
    "E21": _boosts(),
    "E22": settings(max_critical=11),
    "E23": returning("memotherm.remember.limits:_most", 5),
    "E24": settings(on_tier_limit="reject"),
    "E25": answering(_PINNED, lambda records: [each for each in records if each.memory.expires_at is None]),
    "E26": calling(_PACK, listed=lambda listed: [each._replace(section="hot") for each in listed]),
    "E27": calling(_PACK, listed=lambda listed: listed[::-1]),
    "E28": calling("memotherm.memory:Memotherm.context", query=None),
    "E29": calling(
        "memotherm.remember.writer:MemoryWriter.capture", draft=lambda draft: replace(draft, priority="important")
    ),
    "E30": answering(
        "memotherm.remember.draft:memory_of",
        lambda memory: replace(memory, priority=Priority.CRITICAL) if "critical" in memory.tags else memory,
    ),
    "E31": instead("memotherm.storage.transaction:Transaction.space", _without_agent),
    "E32": stored(priority=Priority.NORMAL),
    "E33": answering(_SEARCH, lambda found: replace(found, pinned=())),
    "E34": instead(_PINNED, _always_pinned),
    "E35": _boosts(low=0.5),
    "E36": settings(max_pinned=MANY),
    "E37": instead("memotherm.storage.sqlite.copies:restore", _restored_as_normal),
    "E38": stored(priority=Priority.CRITICAL),
    "E39": calling("memotherm.context.selection:Selection.limit_pinned", limit=0),
    "E40": _boosts(critical=0.3, important=0.3, normal=0.3, low=0.3),
    "E41": settings(on_tier_limit="demote_oldest"),
    "E42": instead(f"{_CHANGES}.prioritize", _unchanged),
    "E43": answering("memotherm.storage.rows:_memory_of", lambda memory: replace(memory, priority=Priority.NORMAL)),
    "E44": instead("memotherm.remember.limits:Limits.admit", _new_memories_only),
    "E45": instead("memotherm.tiers.working_memory:WorkingMemory.prune", _pruning_everything),
    "E46": answering(_SEARCH, lambda found: replace(found, hits=(*found.pinned, *found.hits))),
    "E47": answering("memotherm.facade.view:View.retain", _renamed),
    "E48": answering("memotherm.recall.recaller:Recaller.list", lambda found: replace(found, hits=found.hits[::-1])),
    "E49": instead("memotherm.storage.transaction:Transaction.count_priority", _own_scope_only),
    "E50": without_name("memory.tier_boosts"),
}
