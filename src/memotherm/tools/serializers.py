"""What comes back, as plain JSON: the same through every door."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from memotherm.model import Event, Hit, Memory, Move, Recall
from memotherm.model.results import SessionStatus, Status, TierCount
from memotherm.notes import NoteHit, NoteText

__all__ = [
    "Json",
    "event_json",
    "hit_json",
    "memory_json",
    "move_json",
    "note_hit_json",
    "note_text_json",
    "recall_json",
    "session_status_json",
    "status_json",
]

Json = dict[str, Any]


def recall_json(recall: Recall) -> Json:
    """Return the answer to a query, with its hits."""
    return {
        "items": [hit_json(hit) for hit in recall],
        "pinned": [hit.memory.id for hit in recall.pinned],
        "promoted": list(recall.promoted),
        "relevanceScores": {hit.memory.id: round(hit.why.relevance, 4) for hit in recall},
        "tiers": [str(tier) for tier in recall.tiers],
        "degraded": list(recall.degraded),
    }


def hit_json(hit: Hit) -> Json:
    """Return a hit: its memory, its score and the reasons."""
    return {**memory_json(hit.memory), "score": round(hit.score, 4), "why": str(hit.why)}


def memory_json(memory: Memory) -> Json:
    """Return a memory as plain values."""
    return {
        "id": memory.id,
        "content": memory.content,
        "kind": memory.kind,
        "tags": list(memory.tags),
        "tier": str(memory.tier),
        "priority": str(memory.priority),
        "retention": str(memory.retention),
        "scope": dict(memory.scope.items()),
        "metadata": dict(memory.metadata),
        "source": memory.source,
        "tokens": memory.tokens,
        "relevance": round(memory.relevance, 4),
        "access_count": memory.access_count,
        "created_at": _moment(memory.created_at),
        "updated_at": _moment(memory.updated_at),
        "accessed_at": _moment(memory.accessed_at),
        "expires_at": _moment(memory.expires_at),
        "supersedes": memory.supersedes,
        "version": memory.version,
    }


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def move_json(move: Move) -> Json:
    """Return a move: which memory, from where to where, by which rule and why."""
    return {"id": move.id, "from": str(move.from_tier), "to": str(move.to), "rule": move.rule, "why": move.why}


def event_json(event: Event) -> Json:
    """Return one line of the ledger: what happened to which memory, when, by whom, by which rule and why."""
    return {
        "seq": event.seq,
        "at": event.at.isoformat(),
        "id": event.memory_id,
        "action": event.action,
        "actor": event.actor,
        "rule": event.rule,
        "why": event.why,
        "changes": {name: {"from": was, "to": now} for name, (was, now) in event.changes.items()},
    }


def _count(count: TierCount) -> Json:
    return {"items": count.memories, "tokens": count.tokens}


def session_status_json(status: SessionStatus) -> Json:
    """Return how full a session is, and what it suggests."""
    percent = round(status.utilization_percent, 1)
    return {
        "sessionId": status.session,
        "state": status.state,
        "hot": {**_count(status.hot), "limit": status.limit, "utilizationPercent": percent},
        "warm": _count(status.warm),
        "cold": _count(status.cold),
        "suggestions": [
            {"type": each.type, "reason": each.reason, **({"itemIds": list(each.ids)} if each.ids else {})}
            for each in status.suggestions
        ],
    }


def status_json(status: Status) -> Json:
    """Return how much a store holds."""
    return {
        "store": status.store,
        "scope": dict(status.scope.items()),
        **{str(tier): _count(count) for tier, count in status.tiers.items()},
        "retention": {str(retention): count for retention, count in status.retention.items()},
        "embedder": status.embedder,
        "degraded": list(status.degraded),
    }


def note_hit_json(hit: NoteHit) -> Json:
    """Return a hit in notes: where it stands, and what is said there."""
    return {
        "path": hit.path,
        "startLine": hit.start_line,
        "endLine": hit.end_line,
        "score": round(hit.score, 4),
        "snippet": hit.snippet,
        "source": hit.source,
        "citation": hit.citation,
    }


def note_text_json(note: NoteText) -> Json:
    """Return a part of a note, and where it goes on."""
    return {
        "path": note.path,
        "text": note.text,
        "startLine": note.start_line,
        "endLine": note.end_line,
        "totalLines": note.total_lines,
        "nextLine": note.next_line,
        "hint": note.hint,
    }
