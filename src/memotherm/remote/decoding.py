"""Values from the JSON of responses; the counterpart of `encoding` and of the serializers."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from memotherm.context.values import Context, Entry, Receipt
from memotherm.model import Event, Hit, Memory, Move, Priority, Recall, Retention, Scope, Tier, Why
from memotherm.model.recall import Feedback, TimedRecall
from memotherm.model.reports import Erased, Everything, Heat, KeptEntry, KeptReceipt, Metrics, Status, TierPoint, Uses
from memotherm.model.results import (
    Captured,
    Compaction,
    LoggedRecall,
    Maintenance,
    ScopeCount,
    SessionStatus,
    Spill,
    Suggestion,
    TierCount,
)
from memotherm.model.value import Lazy
from memotherm.notes.flush import Flush
from memotherm.text.content import digest

__all__ = [
    "captured_of",
    "compaction_of",
    "context_of",
    "ended_of",
    "erased_of",
    "event_of",
    "everything_of",
    "feedback_of",
    "flush_of",
    "heat_of",
    "hits_of",
    "maintenance_of",
    "memory_of",
    "metrics_of",
    "moves_of",
    "recall_of",
    "receipt_of",
    "scope_count_of",
    "session_status_of",
    "spill_of",
    "status_of",
    "tier_points_of",
    "timed_recall_of",
    "uses_of",
]

Json = dict[str, Any]

_TIMES = (
    "created_at", "updated_at", "accessed_at", "last_used_at", "verified_at", "expires_at", "tier_since",
    "retention_since",
)  # fmt: skip
_PLAIN = (
    "id", "content", "key", "kind", "metadata", "source", "tokens", "access_count", "use_weight", "recent_uses",
    "relevance", "supersedes", "tier_rule", "index", "version",
)  # fmt: skip


def memory_of(found: Json) -> Memory:
    """Return a memory."""
    return Memory(
        **{name: found[name] for name in _PLAIN},
        **{name: _time(found[name]) for name in _TIMES},
        tags=tuple(found["tags"]),
        tier=Tier(found["tier"]),
        priority=Priority(found["priority"]),
        retention=Retention(found["retention"]),
        scope=Scope(**found["scope"]),
        digest=digest(found["content"]),
    )


def recall_of(found: Json) -> Recall:
    """Return the result of a query."""
    return Recall(
        recall_id=found.get("recall_id"),
        query=found["query"],
        hits=tuple(hits_of(found)),
        promoted=tuple(found["promoted"]),
        tiers=_tiers(found["tiers"]),
        degraded=tuple(found["degraded"]),
        confidence=found["confidence"],
        hint=found.get("hint", ""),
    )


def hits_of(found: Json) -> list[Hit]:
    """Return the hits of a search."""
    return [_hit(item) for item in found["items"]]


def _hit(found: Json) -> Hit:
    return Hit(memory=memory_of(found), score=found["score"], why=Why(**found["parts"]))


def context_of(found: Json) -> Context:
    """Return a context with its receipt."""
    memories = {memory["id"]: memory_of(memory) for memory in found["memories"]}
    receipt, lines = found["receipt"], {part["id"]: part["text"] for part in found["parts"]}
    included, left_out = (
        tuple(_entry(entry, memories[entry["id"]], lines.get(entry["id"], "")) for entry in receipt[name])
        for name in ("included", "left_out")
    )
    plain = ("query", "budget", "tokens", "shares", "tokenizer", "exact", "format", "settings", "pinned_cut")
    return Context(
        recall_id=found.get("recall_id"),
        text=found["text"],
        tokens=found["tokens"],
        budget=receipt["budget"],
        receipt=Receipt(
            **{name: receipt[name] for name in plain},
            at=_moment(receipt["at"]),
            tiers=_tiers(receipt["tiers"]),
            notes=tuple(receipt["notes"]),
            degraded=tuple(receipt["degraded"]),
            _included=Lazy(lambda: included),
            _left_out=Lazy(lambda: left_out),
        ),
    )


def _entry(found: Json, memory: Memory, lines: str) -> Entry:
    plain = ("section", "form", "tokens", "rule", "reason", "score", "fits_at")
    why = None if found["parts"] is None else Why(**found["parts"])
    return Entry(
        _memory=memory,
        **{name: found[name] for name in plain},
        lines=lines,
        _why=None if why is None else Lazy(lambda: why),
    )


def feedback_of(found: Json) -> Feedback:
    """Return the uses that feedback has counted."""
    return Feedback(
        recall_id=found["recall_id"], confirmed=tuple(found["confirmed"]), reflected=tuple(found["reflected"])
    )


def event_of(found: Json) -> Event:
    """Return an event of the ledger."""
    plain = ("seq", "action", "actor", "rule", "why")
    changes = {name: (change["from"], change["to"]) for name, change in found["changes"].items()}
    return Event(
        **{name: found[name] for name in plain},
        at=_moment(found["at"]),
        memory_id=found["id"],
        changes=changes,
        policy=found.get("policy") or "",
    )


def _kept_entry(found: Json) -> KeptEntry:
    return KeptEntry(**{name: found[name] for name in ("id", "section", "form", "tokens", "reason", "score")})


def timed_recall_of(found: Json) -> TimedRecall:
    """Return a query of the recall log."""
    plain = ("number", "query", "milliseconds", "best", "returned")
    return TimedRecall(
        **{name: found[name] for name in plain},
        at=_moment(found["at"]),
        scope=Scope(**found["scope"]),
        tiers=_tiers(found["tiers"]),
        degraded=tuple(found["degraded"]),
    )


def uses_of(found: Json) -> Uses:
    """Return where a memory was returned and injected."""
    return Uses(
        recalls=tuple(map(_logged_recall, found["recalls"])), receipts=tuple(map(receipt_of, found["receipts"]))
    )


def everything_of(found: Json) -> Everything:
    """Return what is stored at and below a scope."""
    return Everything(
        memories=tuple(map(memory_of, found["memories"])),
        events=tuple(map(event_of, found["events"])),
        receipts=tuple(map(receipt_of, found["receipts"])),
        recalls=tuple(map(_logged_recall, found["recalls"])),
    )


def _logged_recall(found: Json) -> LoggedRecall:
    return LoggedRecall(
        at=_moment(found["at"]), query=found["query"], tiers=_tiers(found["tiers"]), returned=found["returned"]
    )


def tier_points_of(found: Json) -> list[TierPoint]:
    """Return how many memories each tier had."""
    return [TierPoint(**{**point, "at": datetime.fromisoformat(point["at"])}) for point in found["points"]]


def receipt_of(found: Json) -> KeptReceipt:
    """Return a receipt that the store keeps."""
    plain = ("number", "query", "budget", "tokens", "format")
    return KeptReceipt(
        **{name: found[name] for name in plain},
        at=_moment(found["at"]),
        scope=Scope(**found["scope"]),
        included=tuple(map(_kept_entry, found["included"])),
        left_out=tuple(map(_kept_entry, found["left_out"])),
    )


def captured_of(found: Json) -> Captured:
    """Return the result of a capture."""
    memory = None if found["memory"] is None else memory_of(found["memory"])
    return Captured(status=found["status"], memory=memory, why=found["why"], removed_chars=found["removed_chars"])


def heat_of(found: Json) -> Heat:
    """Return the heat of a memory that was read by its id."""
    return Heat(heat=found["heat"], decay=found["decay"])


def compaction_of(found: Json) -> Compaction:
    """Return the moves of a compaction."""
    return Compaction(moves=moves_of(found["moves"]), dry_run=found["dry_run"], degraded=tuple(found["degraded"]))


def ended_of(found: Json) -> Compaction | None:
    """Return the moves of a compaction, or None if none was run."""
    return compaction_of(found) if found["compacted"] else None


def erased_of(found: Json) -> Erased:
    """Return what was erased."""
    return Erased(**{**found, "scope": Scope(**found["scope"]), "folders": tuple(found["folders"])})


def maintenance_of(found: Json) -> Maintenance:
    """Return the effects of maintenance."""
    numbers = ("expired", "archived", "deleted", "purged", "ended", "embedded")
    return Maintenance(
        moves=moves_of(found["moves"]),
        **{name: found[name] for name in numbers},
        degraded=tuple(found["degraded"]),
    )


def spill_of(found: Json) -> Spill:
    """Return the memories that were spilled."""
    return Spill(moved=moves_of(found["moved"]))


def status_of(found: Json, store: str, scope: Scope) -> Status:
    """Return the status of a store; the size and the numbers of the whole store are the server's own, and 0 here."""
    return Status(
        store=store,
        scope=scope,
        tiers=_counts(found),
        retention={Retention(name): count for name, count in found["retention"].items()},
        embedder=found["embedder"],
        pending_vectors=found["pending_vectors"],
        bytes=0,
        seq=0,
        schema=0,
        degraded=tuple(found["degraded"]),
        hint=found.get("hint", ""),
    )


def metrics_of(found: Json) -> Metrics:
    """Return the metrics of a status."""
    return Metrics(**found["measured"])


def scope_count_of(found: Json) -> ScopeCount:
    """Return what a scope holds."""
    return ScopeCount(scope=Scope(**found["scope"]), tiers=_counts(found), hidden=found["hidden"])


def session_status_of(found: Json) -> SessionStatus:
    """Return the status of a session."""
    counts = _counts(found)
    return SessionStatus(
        session=found["sessionId"],
        state=found["state"],
        hot=counts[Tier.HOT],
        warm=counts[Tier.WARM],
        cold=counts[Tier.COLD],
        limit=found["hot"]["limit"],
        suggestions=tuple(
            Suggestion(type=each["type"], reason=each["reason"], ids=tuple(each.get("itemIds", ())))
            for each in found["suggestions"]
        ),
    )


def flush_of(found: Json) -> Flush | None:
    """Return a flush, or None if none is due."""
    if not found["due"]:
        return None
    plain = ("prompt", "system", "file", "total_tokens", "threshold", "silent_token")
    return Flush(**{name: found[name] for name in plain}, date=date.fromisoformat(found["date"]))


def moves_of(found: list[Json]) -> tuple[Move, ...]:
    """Return moves of memories."""
    return tuple(
        Move(
            id=move["id"],
            from_tier=Tier(move["from"]),
            to=Tier(move["to"]),
            rule=move["rule"],
            why=move["why"],
            retention=None if move.get("retention") is None else Retention(move["retention"]),
            policy=move.get("policy") or "",
        )
        for move in found
    )


def _counts(found: Json) -> dict[Tier, TierCount]:
    return {tier: TierCount(memories=found[tier]["items"], tokens=found[tier]["tokens"]) for tier in Tier}


def _tiers(names: list[str]) -> tuple[Tier, ...]:
    return tuple(Tier(name) for name in names)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _time(text: str | None) -> Any:  # noqa: ANN401 - only some times of a memory may be None
    return None if text is None else datetime.fromisoformat(text)
