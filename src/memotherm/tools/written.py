"""The tools whose behaviour is more than one operation: written by hand, beside those of the table.

Parameters have the names that hosts know (`sessionId`, `includeCold`, `type`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from memotherm.errors import Forbidden, InvalidInput, NotFound
from memotherm.memory import Memotherm
from memotherm.model import Memory, Priority, Retention, Tier
from memotherm.model.memory import PriorityName, TierValue, placement
from memotherm.operations.codec import to_json
from memotherm.operations.forms import with_item_names
from memotherm.statements.kinds import Kind, classified
from memotherm.text.content import first_characters
from memotherm.tools.results import metrics_json, placement_warnings, skipped

Json = dict[str, Any]
ChatType = Literal["direct", "group", "channel"]

_ALL_TIERS = tuple(Tier)
_OF_THE_WHOLE_STORE = ("bytes", "seq", "schema")
_SNIPPET_CHARS = 700
_GET_CHARS = 20_000
_MAX_LEFT_OUT = 20


def memory_add(
    mem: Memotherm,
    sessionId: str,  # noqa: N803
    content: str,
    type: str,  # noqa: A002
    metadata: Json | None = None,
) -> Json:
    """Add to the session's hot memory; older hot memories are spilled when it is full."""
    memory = mem.session(sessionId).add(content, type, metadata)
    warnings = placement_warnings(memory, mem.settings)
    return {**with_item_names(to_json(memory)), "rule": memory.tier_rule, "warnings": warnings}


def memory_recall(
    mem: Memotherm,
    query: str,
    sessionId: str | None = None,  # noqa: N803
    limit: int | None = None,
    includeCold: bool = False,  # noqa: N803
    autoPromote: bool | None = None,  # noqa: N803
    types: Sequence[str] | None = None,
    tags: Sequence[str] | None = None,
    minScore: float | None = None,  # noqa: N803
    includeNarrower: bool = False,  # noqa: N803
    mentions: Sequence[str] | None = None,
) -> Json:
    """Recall memories by meaning and words.

    With a sessionId: the session's own, warm and cold; the best become hot.
    Without: hot and warm; includeCold adds cold.
    """
    if sessionId is not None:
        if tags is not None or minScore is not None or mentions is not None or includeNarrower:
            raise InvalidInput(
                "tags, minScore, mentions and includeNarrower are for a recall without a sessionId:"
                " leave one of them out"
            )
        max_hits = 3 if limit is None else limit
        recall = mem.session(sessionId).recall(query, max_hits, autoPromote, types)
        promote = mem.settings.auto_promote if autoPromote is None else autoPromote
        return {**with_item_names(to_json(recall)), "sessionId": sessionId, "limit": max_hits, "autoPromote": promote}
    max_hits = 10 if limit is None else limit
    promote = bool(autoPromote)
    tiers = _ALL_TIERS if includeCold else (Tier.HOT, Tier.WARM)
    recall = mem.recall(
        query,
        max_hits,
        tiers,
        kinds=types,
        tags=tags,
        min_score=minScore,
        promote=promote,
        include_narrower=includeNarrower,
        mentions=mentions,
    )
    return {**to_json(recall), "limit": max_hits, "autoPromote": promote}


def memory_status(mem: Memotherm, sessionId: str | None = None, includeNarrower: bool = False) -> Json:  # noqa: N803
    """Return what each tier holds; for a session also suggestions."""
    if sessionId is not None and includeNarrower:
        raise InvalidInput("a session has no narrower scopes: leave out sessionId or includeNarrower")
    status = mem.status(include_narrower=includeNarrower) if sessionId is None else mem.inspect.session(sessionId)
    shown = {name: value for name, value in to_json(status).items() if name not in _OF_THE_WHOLE_STORE}
    return {**shown, "metrics": metrics_json(_view(mem, sessionId).metrics())}


def store_memory(
    mem: Memotherm,
    content: str,
    tier: TierValue | None = None,
    kind: str | None = None,
    tags: Sequence[str] = (),
    priority: PriorityName | None = None,
    ttl_minutes: float | None = None,
    metadata: Json | None = None,
    supersedes: str | None = None,
    valid_until: str | None = None,
    sessionId: str | None = None,  # noqa: N803
    force: bool = False,
) -> Json:
    """Store a memory; `tier` may be a priority. Credentials are replaced unless keepSecrets is true."""
    placement(tier, priority)  # a contradiction is an error of filler as well
    if (answer := skipped(content, asked=force or kind is not None)) is not None:
        return answer
    said = classified(content, by_user=False) if kind is None else Kind(kind, about_user=kind == "preference")
    everywhere = said.about_user and sessionId is None and mem.scope.user and mem.scope.project
    view = mem.for_user() if everywhere else _view(mem, sessionId)
    try:
        memory = view.remember(
            content,
            kind=kind or ("fact" if said.name == "message" else said.name),
            tags=(*tags, *said.tags) if kind is None else tags,
            tier=tier,
            priority=priority or Priority.NORMAL,
            ttl=None if ttl_minutes is None else ttl_minutes * 60,
            metadata=metadata,
            supersedes=supersedes,
            valid_until=valid_until,
        )
    except Forbidden as refused:
        return {"status": "skipped", "why": str(refused)}
    return {**to_json(memory), "warnings": _waiting(memory)}


def set_memory_tier(mem: Memotherm, memory_id: str, tier: TierValue, sessionId: str | None = None) -> Json:  # noqa: N803
    """Move a memory to another tier, or give it a priority."""
    return _json(_view(mem, sessionId).move(memory_id, tier))


def memory_context(
    mem: Memotherm,
    query: str | None = None,
    budget: int = 2000,
    sessionId: str | None = None,  # noqa: N803
) -> Json:
    """Return what to read before working, within a token budget."""
    context = _view(mem, sessionId).context(query, budget)
    return {
        "text": context.text,
        "tokens": context.tokens,
        "included": [entry.id for entry in context.included],
        "leftOut": [{"id": entry.id, "reason": entry.reason} for entry in context.left_out[:_MAX_LEFT_OUT]],
        "leftOutCount": len(context.left_out),
        "confidence": context.confidence,
        "notes": list(context.receipt.notes),
        "degraded": list(context.receipt.degraded),
    }


def memory_search(
    mem: Memotherm,
    query: str,
    maxResults: int = 6,  # noqa: N803
    minScore: float = 0.35,  # noqa: N803
    sessionId: str | None = None,  # noqa: N803
    chat: ChatType | None = None,
    since: str | None = None,
    until: str | None = None,
    where: Json | None = None,
    prefix: str | None = None,
    retention: str = "active",
    includeNarrower: bool = False,  # noqa: N803
) -> Json:
    """Search the Markdown notes; memories if there are none, or with filters."""
    view = _view(mem, sessionId)
    filters: Json = {
        "since": since,
        "until": until,
        "where": where,
        "prefix": prefix,
        "include_narrower": includeNarrower,
    }
    if retention != "active":
        filters["retention"] = retention
    if not mem.settings.notes_root or any(filters.values()):
        return _search_memories(view, query, maxResults, minScore, filters)
    from memotherm.notes.search import chat_of

    notes = mem.notes(mem.settings.notes_root)
    found = notes.search(query, maxResults, minScore, chat=chat or chat_of(sessionId))
    results = to_json(found)
    for hit in results["results"] if not found.citations else ():
        del hit["citation"]
    return {name: results[name] for name in ("results", "citations", "stale", "degraded")}


def memory_get(
    mem: Memotherm,
    path: str,
    from_: int = 1,
    lines: int | None = None,
    sessionId: str | None = None,  # noqa: N803
) -> Json:
    """Read lines of a note by its path, or a memory by its id."""
    if path.startswith(("mem_", "#")):
        view = _view(mem, sessionId)
        memory = view.get(path)
        return {**to_json(memory), **to_json(view.inspect.heat(memory)), **_memory_lines(memory, from_, lines)}
    if not mem.settings.notes_root:
        raise NotFound(f"no memory {path!r}, and no notes: set notes_root to their folder")
    return _json(mem.notes(mem.settings.notes_root).get(path, from_, lines))


def memory_put_key(
    mem: Memotherm,
    key: str,
    content: str,
    kind: str = "fact",
    tags: Sequence[str] = (),
    metadata: Json | None = None,
    index: bool = True,
    sessionId: str | None = None,  # noqa: N803
) -> Json:
    """Store a memory under a key; replaces the one that has it, with history."""
    view = _view(mem, sessionId)
    memory = view.remember(content, kind=kind, tags=tags, metadata=metadata, key=key, index=index)
    return {**to_json(memory), "warnings": _waiting(memory)}


def memory_get_key(mem: Memotherm, key: str, sessionId: str | None = None) -> Json:  # noqa: N803
    """Return the memory with a key."""
    return _json(_view(mem, sessionId).get(key=key))


# Arguments


def _view(mem: Memotherm, session: str | None) -> Memotherm:
    return mem if session is None else mem.scoped(session=session)


# Results


def _waiting(memory: Memory) -> list[str]:
    """Return why a memory that was to be stored is a proposal."""
    if memory.retention is not Retention.PROPOSED:
        return []
    replaced = f"would replace {memory.supersedes}, behind which more trust stands, and " if memory.supersedes else ""
    return [f"it {replaced}waits as a proposal: ask the user to approve it with `memotherm review`"]


def _json(value: object) -> Json:
    found: Json = to_json(value)
    return found


def _search_memories(view: Memotherm, query: str, max_hits: int, min_score: float, filters: Json) -> Json:
    recall = view.recall(query, max_hits, _ALL_TIERS, min_score=min_score, **filters)
    found = [hit for hit in recall if hit.why.relevance >= min_score or not query]
    hits = [*recall.pinned, *found[:max_hits]]
    results = [
        {
            "path": hit.memory.id,
            "startLine": 1,
            "endLine": hit.memory.content.count("\n") + 1,
            "score": round(hit.score, 4),
            "date": f"{hit.memory.updated_at:%Y-%m-%d}",
            "snippet": first_characters(hit.memory.content, _SNIPPET_CHARS),
            "source": "memories",
        }
        for hit in hits
    ]
    hint = {"hint": recall.hint} if recall.hint else {}
    return {"results": results, "citations": False, "stale": False, "degraded": list(recall.degraded), **hint}


def _memory_lines(memory: Memory, first: int, count: int | None) -> Json:
    """Return a range of the lines of a memory as its content; `hint` says what is missing."""
    if first < 1 or (count is not None and count < 1):
        raise InvalidInput("from and lines count from 1")
    all_lines = memory.content.split("\n")
    text = "\n".join(all_lines[first - 1 : None if count is None else first - 1 + count])
    content = first_characters(text, _GET_CHARS)
    hint = "" if content == text else f"{len(text) - len(content)} more characters: use from and lines"
    return {"content": content, "totalLines": len(all_lines), "hint": hint}
