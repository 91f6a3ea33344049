"""The JSON of values where it is not simply their fields: other names, computed members, members of a part.

The names are those that agents and the sources know: `items`, `spilledIds`, `startLine`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from memotherm.context.values import Context, Entry, Receipt
from memotherm.model import Event, Memory, Priority, Tier, Why
from memotherm.model.receipts import Reason
from memotherm.model.results import SessionStatus, Suggestion, TierCount
from memotherm.model.value import Lazy
from memotherm.text.content import first_line

#: A member of the JSON that is computed: its type, and a function of the value.
Shown = tuple[Any, Callable[[Any], object]]
Decode = Callable[[Any, Any], Any]

_LINES = {"start_line": "startLine", "end_line": "endLine", "total_lines": "totalLines", "next_line": "nextLine"}


@dataclass(frozen=True, kw_only=True)
class Form:
    """How the JSON of a dataclass differs from its fields."""

    #: Other names of fields.
    names: Mapping[str, str] = field(default_factory=dict)
    #: The field whose members stand beside the other fields.
    inline: str = ""
    #: Fields that it does not have.
    left_out: Collection[str] = ()
    #: Computed members, which are ignored when the value is read.
    shown: Mapping[str, Shown] = field(default_factory=dict)
    #: Members that it has only if they are not empty.
    if_any: Collection[str] = ()
    #: Members that an interface may leave out.
    optional: Collection[str] = ()
    #: Makes the value of the JSON, if its fields do not; it gets the function that reads a part as a type.
    read: Callable[[Any, Decode], object] | None = None


def _event_of(found: dict[str, Any], decode: Decode) -> Event:  # noqa: ARG001
    plain = {name: found[name] for name in ("seq", "action", "actor", "rule", "why", "policy") if name in found}
    changes = {name: (change["from"], change["to"]) for name, change in found["changes"].items()}
    return Event(**plain, at=datetime.fromisoformat(found["at"]), memory_id=found["id"], changes=changes)


def _session_status_of(found: dict[str, Any], decode: Decode) -> SessionStatus:
    return SessionStatus(
        session=found["sessionId"],
        state=found["state"],
        **{str(tier): decode(TierCount, found[tier]) for tier in Tier},
        limit=found["hot"]["limit"],
        suggestions=decode(tuple[Suggestion, ...], found["suggestions"]),
    )


def _hot(status: SessionStatus) -> dict[str, Any]:
    count = {"items": status.hot.memories, "tokens": status.hot.tokens}
    return {**count, "limit": status.limit, "utilizationPercent": round(status.utilization_percent, 1)}


def _context_of(found: dict[str, Any], decode: Decode) -> Context:
    """Return a context whose JSON has the memories that were considered."""
    memories: dict[str, Memory] = {memory["id"]: decode(Memory, memory) for memory in found["memories"]}
    receipt: dict[str, Any] = found["receipt"]
    lines: dict[str, str] = {part["id"]: part["text"] for part in found["parts"]}
    plain = ("query", "budget", "tokens", "shares", "tokenizer", "exact", "format", "confidence", "settings")

    def entries(name: str) -> Lazy[tuple[Entry, ...]]:
        read = tuple(_entry_of(entry, memories[entry["id"]], lines.get(entry["id"], "")) for entry in receipt[name])
        return Lazy(lambda: read)

    return Context(
        **{name: found[name] for name in ("text", "tokens", "budget", "recall_id")},
        receipt=Receipt(
            **{name: receipt[name] for name in (*plain, "pinned_cut")},
            at=datetime.fromisoformat(receipt["at"]),
            tiers=tuple(map(Tier, receipt["tiers"])),
            notes=tuple(receipt["notes"]),
            degraded=tuple(receipt["degraded"]),
            _included=entries("included"),
            _left_out=entries("left_out"),
        ),
    )


def _entry_of(found: dict[str, Any], memory: Memory, lines: str) -> Entry:
    plain = ("section", "form", "tokens", "score", "fits_at")
    why = None if found["parts"] is None else Why(**found["parts"])
    lazy = None if why is None else Lazy(lambda: why)
    reasons = tuple(Reason(code=each["code"], details=tuple(each["details"])) for each in found["reasons"])
    return Entry(memory=memory, **{name: found[name] for name in plain}, reasons=reasons, lines=lines, _why=lazy)


#: What decided, and the reasons in words.
_REASON: Mapping[str, tuple[Any, Callable[[Any], Any]]] = {
    "rule": (str, lambda entry: entry.rule),
    "reason": (str, lambda entry: entry.reason),
}

#: The types whose JSON is not simply their fields, by name: most processes do not load all of them.
FORMS: Mapping[str, Form] = {
    "Hit": Form(inline="memory", names={"why": "parts"}, shown={"why": (str, lambda hit: str(hit.why))}),
    "Recall": Form(
        names={"hits": "items"},
        shown={
            "relevanceScores": (
                dict[str, float],
                lambda recall: {hit.memory.id: hit.why.relevance for hit in (*recall.pinned, *recall.hits)},
            ),
        },
    ),
    "Move": Form(names={"from_tier": "from"}, if_any=("retention", "policy")),
    "Event": Form(
        names={"memory_id": "id"},
        left_out=("changes",),
        if_any=("policy",),
        shown={
            "changes": (
                dict[str, dict[str, Any]],
                lambda event: {name: {"from": was, "to": now} for name, (was, now) in event.changes.items()},
            )
        },
        read=_event_of,
    ),
    "Adoption": Form(left_out=("document",)),
    "TierCount": Form(names={"memories": "items"}),
    "Compaction": Form(
        shown={
            "hot": (int, lambda done: done.hot),
            "warm": (int, lambda done: done.warm),
            "cold": (int, lambda done: done.cold),
        }
    ),
    "Spill": Form(
        shown={
            "spilledCount": (int, lambda spill: spill.spilled_count),
            "spilledIds": (list[str], lambda spill: spill.spilled_ids),
            "targetTier": (Literal["warm", "cold", "mixed"] | None, lambda spill: spill.target_tier),
        }
    ),
    "Suggestion": Form(names={"ids": "itemIds"}, if_any=("itemIds",)),
    "SessionStatus": Form(
        names={"session": "sessionId"},
        left_out=("limit", "hot"),
        shown={"hot": (dict[str, float], _hot)},
        read=_session_status_of,
    ),
    "Status": Form(inline="tiers", optional=("store", "bytes", "seq", "schema")),
    "ScopeCount": Form(
        inline="tiers",
        shown={"memories": (int, lambda count: count.memories), "tokens": (int, lambda count: count.tokens)},
    ),
    # Histograms have an infinite bound, which JSON has not.
    "Metrics": Form(left_out=("live_recalls", "cold_recalls")),
    "Entry": Form(
        left_out=("memory", "_why", "lines"),
        shown={
            "id": (str, lambda entry: entry.id),
            "title": (str, lambda entry: first_line(entry.content)),
            "tier": (Tier, lambda entry: entry.memory.tier),
            "priority": (Priority, lambda entry: entry.memory.priority),
            "parts": (Why | None, lambda entry: entry.why),
            **_REASON,
        },
    ),
    "KeptEntry": Form(shown=_REASON),
    "ReceiptAnswer": Form(shown=_REASON),
    "Receipt": Form(
        left_out=("_included", "_left_out"),
        shown={
            "included": (list[Entry], lambda receipt: receipt.included),
            "left_out": (list[Entry], lambda receipt: receipt.left_out),
        },
    ),
    "Context": Form(
        shown={
            "parts": (
                list[dict[str, str | None]],
                lambda context: [{"id": memory_id, "text": text} for memory_id, text in context.parts()],
            )
        },
        read=_context_of,
    ),
    "NoteHit": Form(
        names={**_LINES, "why": "parts"}, shown={"citation": (str | None, lambda hit: hit.citation)},
        optional=("citation",),
    ),
    "NoteResults": Form(names={"hits": "results"}),
    "NoteText": Form(names=_LINES),
    "Curated": Form(names=_LINES),
    # The tiers of all memories at the end would be most of the report.
    "Replay": Form(names={"rows": "policies", "askable": "asked_again"}, left_out=("final",)),
}  # fmt: skip

#: The names that the working memory of a session also gives to the fields of a memory.
_ITEM_NAMES = {"type": "kind", "accessCount": "access_count", "createdAt": "created_at", "relevanceScore": "relevance"}
#: The members of results that are lists of memories.
_ITEM_LISTS = ("items", "pinned", "memories")


def with_item_names(found: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return the JSON of a session's result, whose memories also have the names of its source, such as `sessionId`."""
    if isinstance(found, list):
        return [with_item_names(each) for each in found]
    if not isinstance(found, dict):
        return found
    if "access_count" not in found:
        return {name: with_item_names(value) if name in _ITEM_LISTS else value for name, value in found.items()}
    named = {"sessionId": found["scope"].get("session"), "lastAccessedAt": found["accessed_at"] or found["created_at"]}
    return {**found, **named, **{name: found[ours] for name, ours in _ITEM_NAMES.items()}}
