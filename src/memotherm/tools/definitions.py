"""The tools that agents call: each makes one call of the facade and returns JSON.

MCP, REST and the command line use the same table. Parameters have the names that hosts know (`sessionId`,
`includeCold`, `type`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from keyword import iskeyword
from typing import Any

from memotherm.errors import InvalidInput, NotFound
from memotherm.memory import Memotherm
from memotherm.model import Memory, Priority, Tier
from memotherm.model.memory import TierName
from memotherm.session import Session
from memotherm.text.content import first_characters
from memotherm.text.phrases import is_filler
from memotherm.tools.serializers import (
    Json,
    added_json,
    curated_json,
    feedback_json,
    memory_json,
    metrics_json,
    move_json,
    note_results_json,
    note_text_json,
    read_json,
    recall_json,
    remembered_json,
    scope_count_json,
    session_status_json,
    status_json,
)
from memotherm.tools.tool import ChatType, LowerTier, PriorityName, SessionKind, TierOrPriority, Tool

__all__ = [
    "TOOLS",
    "call",
    "memory_add",
    "memory_clear",
    "memory_compact",
    "memory_context",
    "memory_curate",
    "memory_demote",
    "memory_end",
    "memory_feedback",
    "memory_find",
    "memory_forget",
    "memory_get",
    "memory_get_key",
    "memory_keep",
    "memory_list_keys",
    "memory_promote",
    "memory_prune",
    "memory_put_key",
    "memory_recall",
    "memory_receipts",
    "memory_scopes",
    "memory_search",
    "memory_spill",
    "memory_status",
    "memory_undo",
    "memory_update",
    "memory_verify",
    "pin_memory",
    "query",
    "set_memory_tier",
    "store_memory",
    "unpin_memory",
]

_ALL_TIERS = tuple(Tier)
_QUERY_LIMIT = 10
_SNIPPET_CHARS = 700
_GET_CHARS = 20_000
_MAX_LEFT_OUT = 20
_QUERY_FIELDS = {"query", "tier", "limit", "k", "filters", "track"}
_FILTER_FIELDS = {"tier", "tags", "kinds", "types"}


def call(mem: Memotherm, name: str, arguments: Mapping[str, Any]) -> Json:
    """Call a tool by its name; an unknown tool or parameter is an error that lists the known ones."""
    tool = TOOLS.get(name)
    if tool is None:
        raise InvalidInput(f"unknown tool {name!r}: use one of {', '.join(TOOLS)}")
    arguments = tool.read(arguments)
    known = [parameter.name for parameter in tool.parameters]
    unknown = [key for key in arguments if key not in known]
    if unknown:
        raise InvalidInput(f"{name} has no parameter {unknown[0]!r}: use {', '.join(known)}")
    missing = [key for key in tool.required if arguments.get(key) is None]
    if missing:
        raise InvalidInput(f"{name} requires the parameter {missing[0]!r}")
    return tool.function(mem, **{f"{key}_" if iskeyword(key) else key: value for key, value in arguments.items()})


# The tools


def memory_add(mem: Memotherm, sessionId: str, content: str, type: SessionKind, metadata: Json | None = None) -> Json:  # noqa: A002, N803
    """Add to the session's hot memory; older hot memories are spilled when it is full."""
    return added_json(
        mem.session(sessionId).add(content, type, metadata), mem.settings.hot_token_limit, mem.secrets_in(content)
    )


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
    inside: bool = False,
) -> Json:
    """Recall memories by meaning and words.

    With a sessionId: the session's own, in all tiers; the best become hot.
    Without: hot and warm; includeCold adds cold.
    """
    if sessionId is not None:
        if tags is not None or minScore is not None or inside:
            raise InvalidInput("tags, minScore and inside are for a recall without a sessionId: leave one of them out")
        return _session_recall(mem, sessionId, query, 3 if limit is None else limit, autoPromote, types)
    max_hits = 10 if limit is None else limit
    promote = bool(autoPromote)
    tiers = _ALL_TIERS if includeCold else (Tier.HOT, Tier.WARM)
    recall = mem.recall(
        query, max_hits, tiers, kinds=types, tags=tags, min_score=minScore, promote=promote, inside=inside
    )
    return {**recall_json(recall), "limit": max_hits, "autoPromote": promote}


def memory_spill(mem: Memotherm, sessionId: str, count: int = 4, ids: Sequence[str] | None = None) -> Json:  # noqa: N803
    """Move hot memories of a session out: the least relevant and oldest, or `ids`."""
    spill = mem.session(sessionId).spill(count, ids)
    return {
        "spilledCount": spill.spilled_count,
        "spilledIds": list(spill.spilled_ids),
        "targetTier": spill.target_tier,
        "moved": [move_json(move) for move in spill.moved],
    }


def memory_promote(mem: Memotherm, sessionId: str, memory_id: str) -> Json:  # noqa: N803
    """Move a memory of a session to hot; older hot memories are spilled if needed."""
    return {"id": memory_id, "promoted": mem.session(sessionId).promote(memory_id)}


def memory_demote(mem: Memotherm, sessionId: str, memory_id: str, tier: LowerTier = "warm") -> Json:  # noqa: N803
    """Move a memory of a session to warm or cold."""
    return memory_json(_begun(mem, sessionId).demote(memory_id, Tier.of(tier)))


def memory_keep(mem: Memotherm, sessionId: str, memory_id: str) -> Json:  # noqa: N803
    """Keep a memory of a session in the scope around it."""
    return memory_json(_begun(mem, sessionId).keep(memory_id))


def memory_prune(mem: Memotherm, sessionId: str, keep: int | None = None) -> Json:  # noqa: N803
    """Delete the least relevant cold memories beyond `keep`."""
    return {"sessionId": sessionId, "pruned": _begun(mem, sessionId).prune(keep)}


def memory_clear(mem: Memotherm, sessionId: str) -> Json:  # noqa: N803
    """Delete the memories of a session, except pinned ones."""
    return {"sessionId": sessionId, "cleared": _begun(mem, sessionId).clear()}


def memory_end(mem: Memotherm, sessionId: str, summary: str | None = None) -> Json:  # noqa: N803
    """End a session, and run the tier rules."""
    compaction = _begun(mem, sessionId).session_end(summary)
    moves = [] if compaction is None else [move_json(move) for move in compaction.moves]
    return {"sessionId": sessionId, "moves": moves}


def memory_compact(mem: Memotherm, dryRun: bool = False) -> Json:  # noqa: N803
    """Run the tier rules once."""
    compaction = mem.compact(dry_run=dryRun)
    moves = [move_json(move) for move in compaction.moves]
    return {"moves": moves, "dryRun": compaction.dry_run, "degraded": list(compaction.degraded)}


def memory_status(mem: Memotherm, sessionId: str | None = None, inside: bool = False) -> Json:  # noqa: N803
    """Return what each tier holds; for a session also suggestions."""
    if sessionId is not None and inside:
        raise InvalidInput("a session has no narrower scopes: leave out sessionId or inside")
    status = (
        status_json(mem.status(inside=inside))
        if sessionId is None
        else session_status_json(mem.session_status(sessionId))
    )
    return {**status, "metrics": metrics_json(_view(mem, sessionId).metrics())}


def store_memory(
    mem: Memotherm,
    content: str,
    tier: TierOrPriority | None = None,
    kind: str = "fact",
    tags: Sequence[str] = (),
    priority: PriorityName | None = None,
    ttl_minutes: float | None = None,
    metadata: Json | None = None,
    supersedes: str | None = None,
    sessionId: str | None = None,  # noqa: N803
) -> Json:
    """Store a memory; `tier` may be a priority."""
    wanted_tier, wanted_priority = (None, None) if tier is None else _tier_or_priority(tier)
    if wanted_priority is not None and priority is not None and Priority.of(priority) is not wanted_priority:
        raise InvalidInput(f"tier {tier!r} and priority {priority!r} are two different priorities: give one of them")
    skipped = _filler_json(content)
    if skipped is not None:
        return skipped
    everywhere = kind == "preference" and sessionId is None and mem.scope.user and mem.scope.project
    view = mem.for_user() if everywhere else _view(mem, sessionId)
    memory = view.remember(
        content,
        kind=kind,
        tags=tags,
        tier=wanted_tier,
        priority=wanted_priority or (Priority.NORMAL if priority is None else Priority.of(priority)),
        ttl=None if ttl_minutes is None else ttl_minutes * 60,
        metadata=metadata,
        supersedes=supersedes,
    )
    return remembered_json(memory, mem.secrets_in(content))


def memory_update(
    mem: Memotherm,
    memory_id: str,
    content: str | None = None,
    kind: str | None = None,
    tags: Sequence[str] | None = None,
    metadata: Json | None = None,
    ttl_minutes: float | None = None,
    expires_at: str | None = None,
    sessionId: str | None = None,  # noqa: N803
) -> Json:
    """Change a memory; what is left out stays as it is."""
    memory = _view(mem, sessionId).update(
        memory_id,
        content=content,
        kind=kind,
        tags=tags,
        metadata=metadata,
        ttl=None if ttl_minutes is None else ttl_minutes * 60,
        expires_at=expires_at,
    )
    return memory_json(memory)


def set_memory_tier(mem: Memotherm, memory_id: str, tier: TierOrPriority, sessionId: str | None = None) -> Json:  # noqa: N803
    """Move a memory to another tier, or give it a priority."""
    wanted_tier, priority = _tier_or_priority(tier)
    view = _view(mem, sessionId)
    if priority is not None:
        return memory_json(view.prioritize(memory_id, priority))
    return memory_json(view.move(memory_id, Tier.of(wanted_tier)))


def pin_memory(mem: Memotherm, memory_id: str, sessionId: str | None = None) -> Json:  # noqa: N803
    """Pin a memory: every context includes it until it is unpinned."""
    return memory_json(_view(mem, sessionId).pin(memory_id))


def unpin_memory(mem: Memotherm, memory_id: str, sessionId: str | None = None) -> Json:  # noqa: N803
    """Give a pinned memory normal priority."""
    return memory_json(_view(mem, sessionId).unpin(memory_id))


def memory_verify(mem: Memotherm, memory_id: str, sessionId: str | None = None) -> Json:  # noqa: N803
    """Record that a memory still holds."""
    return memory_json(_view(mem, sessionId).verify(memory_id))


def memory_forget(mem: Memotherm, memory_id: str, sessionId: str | None = None) -> Json:  # noqa: N803
    """Delete a memory; it can be restored for some days."""
    return memory_json(_view(mem, sessionId).forget(memory_id))


def memory_undo(mem: Memotherm, event: int, sessionId: str | None = None) -> Json:  # noqa: N803
    """Undo a change: `event` is the version in its result."""
    return memory_json(_view(mem, sessionId).undo(event))


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


def memory_feedback(
    mem: Memotherm,
    used: Sequence[str] | None = None,
    answer: str = "",
    sessionId: str | None = None,  # noqa: N803
) -> Json:
    """Say which recalled memories you used, or what you answered."""
    return feedback_json(_view(mem, sessionId).feedback(None, used or (), answer))


def memory_receipts(
    mem: Memotherm,
    sessionId: str | None = None,  # noqa: N803
    limit: int = 5,
    cursor: str | None = None,
) -> Json:
    """Return what contexts have injected and why, newest first."""
    page = mem.receipts(sessionId, limit, cursor)
    return {"receipts": [receipt.as_dict() for receipt in page], "cursor": page.cursor}


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
    inside: bool = False,
) -> Json:
    """Search the Markdown notes; memories if there are none, or with filters."""
    view = _view(mem, sessionId)
    filters: Json = {"since": since, "until": until, "where": where, "prefix": prefix, "inside": inside}
    if retention != "active":
        filters["retention"] = retention
    if not mem.settings.notes_root or any(filters.values()):
        return _search_memories(view, query, maxResults, minScore, filters)
    return note_results_json(mem.notes(mem.settings.notes_root).search(query, maxResults, minScore, chat=chat))


def memory_find(
    mem: Memotherm,
    tier: TierName | None = None,
    kind: str | None = None,
    tags: Sequence[str] | None = None,
    since: str | None = None,
    until: str | None = None,
    where: Json | None = None,
    prefix: str | None = None,
    retention: str = "active",
    inside: bool = False,
    limit: int = 20,
    cursor: str | None = None,
    sessionId: str | None = None,  # noqa: N803
) -> Json:
    """List memories, newest first."""
    page = _view(mem, sessionId).find(
        tier=tier, kind=kind, tags=tags, since=since, until=until, where=where, prefix=prefix, retention=retention,
        inside=inside, limit=limit, cursor=cursor,
    )  # fmt: skip
    hint = {"hint": page.hint} if page.hint else {}
    return {"items": [memory_json(memory) for memory in page], "cursor": page.cursor, **hint}


def memory_scopes(mem: Memotherm) -> Json:
    """List the scopes at and below this one, with counts."""
    return {"scopes": [scope_count_json(count) for count in mem.scopes()]}


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
        return {**read_json(memory, view.heat(memory)), **_memory_lines(memory, from_, lines)}
    if not mem.settings.notes_root:
        raise NotFound(f"no memory {path!r}, and no notes: set notes_root to their folder")
    return note_text_json(mem.notes(mem.settings.notes_root).get(path, from_, lines))


def memory_curate(
    mem: Memotherm,
    path: str,
    from_: int = 1,
    lines: int | None = None,
    dryRun: bool = False,  # noqa: N803
) -> Json:
    """Copy lines of a daily note to MEMORY.md, except those it has."""
    if not mem.settings.notes_root:
        raise NotFound("there are no notes: set notes_root to their folder")
    if mem.scope.tenant is not None:
        raise InvalidInput("the notes of a server belong to all its tenants: curate them without a tenant")
    return curated_json(mem.notes(mem.settings.notes_root).curate(path, from_, lines, dryRun))


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
    return remembered_json(memory, mem.secrets_in(content))


def memory_get_key(mem: Memotherm, key: str, sessionId: str | None = None) -> Json:  # noqa: N803
    """Return the memory with a key."""
    return memory_json(_view(mem, sessionId).get(key=key))


def memory_list_keys(
    mem: Memotherm,
    prefix: str = "",
    depth: int | None = None,
    after: str | None = None,
    sessionId: str | None = None,  # noqa: N803
) -> Json:
    """List keys; with a depth, their distinct prefixes."""
    return {"keys": _view(mem, sessionId).keys(prefix, depth, after=after)}


_TABLE = (
    Tool(memory_add, "Add to working memory"),
    Tool(memory_recall, "Recall memories"),
    Tool(memory_spill, "Spill working memory"),
    Tool(memory_promote, "Promote to working memory"),
    Tool(memory_demote, "Demote from working memory", repeatable=True),
    Tool(memory_keep, "Keep after the session", repeatable=True),
    Tool(memory_prune, "Prune a session", hides=True, repeatable=True),
    Tool(memory_clear, "Clear a session", hides=True, repeatable=True),
    Tool(memory_end, "End a session"),
    Tool(memory_compact, "Run the tier rules"),
    Tool(memory_status, "Memory status", reads_only=True, repeatable=True),
    Tool(memory_search, "Search notes", reads_only=True, repeatable=True),
    Tool(memory_find, "List memories", reads_only=True, repeatable=True),
    Tool(memory_scopes, "List scopes", reads_only=True, repeatable=True),
    Tool(memory_get, "Read a note or memory", reads_only=True, repeatable=True, aliases={"id": "path"}),
    Tool(memory_curate, "Curate notes", repeatable=True),
    Tool(memory_context, "Context for a prompt", reads_only=True, repeatable=True),
    Tool(store_memory, "Store a memory"),
    Tool(memory_update, "Change a memory"),
    Tool(set_memory_tier, "Set tier or priority", repeatable=True),
    Tool(pin_memory, "Pin a memory", repeatable=True),
    Tool(unpin_memory, "Unpin a memory", repeatable=True),
    Tool(memory_forget, "Forget a memory", hides=True, repeatable=True),
    Tool(memory_undo, "Undo a change"),
    Tool(memory_feedback, "Feedback", repeatable=True),
    Tool(memory_receipts, "What was injected", reads_only=True, repeatable=True),
    Tool(memory_verify, "Verify a memory"),
    Tool(memory_put_key, "Store under a key", repeatable=True),
    Tool(memory_get_key, "Read a key", reads_only=True, repeatable=True),
    Tool(memory_list_keys, "List keys", reads_only=True, repeatable=True),
)

#: Every tool by its name.
TOOLS: dict[str, Tool] = {tool.name: tool for tool in _TABLE}


def query(mem: Memotherm, body: Mapping[str, Any]) -> Json:
    """Answer `POST /memory/query`: search all tiers unless one is given; warm and cold memories score less.

    `k` is another name for `limit`, and `filters.tier` for `tier`.
    """
    _require_known(body, _QUERY_FIELDS, "the query")
    if "query" not in body:
        raise InvalidInput("the query requires the field 'query'")
    filters = body.get("filters") or {}
    if not isinstance(filters, Mapping):
        raise InvalidInput('filters must be an object such as {"tier": "cold"}')
    _require_known(filters, _FILTER_FIELDS, "filters")
    limit = _one_of("limit", body.get("limit"), "k", body.get("k"))
    tier = _one_of("tier", body.get("tier"), "filters.tier", filters.get("tier"))
    kinds = _one_of("filters.kinds", filters.get("kinds"), "filters.types", filters.get("types"))
    max_hits = _QUERY_LIMIT if limit is None else limit
    tiers: Any = _ALL_TIERS if tier is None else ([tier] if isinstance(tier, str) else tier)
    recall = mem.recall(
        body["query"], max_hits, tiers, kinds=kinds, tags=filters.get("tags"), track=body.get("track", True)
    )
    found = recall_json(recall)
    return {"results": found.pop("items"), **found, "limit": max_hits}


# Arguments


def _begun(mem: Memotherm, session: str) -> Session[Memotherm]:
    """Return a session that has begun, or raise `NotFound`."""
    mem.session_status(session)
    return mem.session(session)


def _view(mem: Memotherm, session: str | None) -> Memotherm:
    return mem if session is None else mem.scoped(session=session)


def _tier_or_priority(value: str | int) -> tuple[Tier | None, Priority | None]:
    """Return the tier (hot, warm, cold) or the priority (pinned to low, or 0 to 4) that a value names."""
    word = str(value).strip().lower() if not isinstance(value, bool) else value
    if word in list(Tier):
        return Tier(str(word)), None
    if isinstance(word, str) and word.isascii() and word.isdigit():
        return None, Priority.of(int(word))
    if word in list(Priority):
        return None, Priority(str(word))
    raise InvalidInput(f"unknown tier {value!r}: use one of {', '.join([*Tier, *Priority])}, or a priority from 0 to 4")


def _one_of(name: str, value: Any, alias: str, other: Any) -> Any:  # noqa: ANN401
    if value is not None and other is not None and value != other:
        raise InvalidInput(f"{name} and {alias} are the same field with different values: give one of them")
    return other if value is None else value


def _require_known(values: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(set(values) - known)
    if unknown:
        raise InvalidInput(f"unknown field {unknown[0]!r} in {where}: use {', '.join(sorted(known))}")


# Results


def _search_memories(view: Memotherm, query: str, max_hits: int, min_score: float, filters: Json) -> Json:
    recall = view.recall(query, max_hits, _ALL_TIERS, min_score=min_score, **filters)
    found = [hit for hit in recall if hit not in recall.pinned and hit.why.relevance >= min_score]
    hits = [*recall.pinned, *found[:max_hits]]
    results = [
        {
            "path": hit.memory.id,
            "startLine": 1,
            "endLine": hit.memory.content.count("\n") + 1,
            "score": round(hit.score, 4),
            "snippet": first_characters(hit.memory.content, _SNIPPET_CHARS),
            "source": "memories",
        }
        for hit in hits
    ]
    hint = {"hint": recall.hint} if recall.hint else {}
    return {"results": results, "citations": False, "stale": False, "degraded": list(recall.degraded), **hint}


def _filler_json(content: str) -> Json | None:
    """Return that a content is skipped because it is filler; None if it is to be stored."""
    if not isinstance(content, str) or not content.strip() or not is_filler(content):
        return None
    return {"status": "skipped", "why": "nothing but filler words: write what should be remembered as a sentence"}


def _memory_lines(memory: Memory, first: int, count: int | None) -> Json:
    """Return a range of the lines of a memory as its content; `hint` says what is missing."""
    if first < 1 or (count is not None and count < 1):
        raise InvalidInput("from and lines count from 1")
    all_lines = memory.content.split("\n")
    text = "\n".join(all_lines[first - 1 : None if count is None else first - 1 + count])
    content = first_characters(text, _GET_CHARS)
    hint = "" if content == text else f"{len(text) - len(content)} more characters: use from and lines"
    return {"content": content, "totalLines": len(all_lines), "hint": hint}


def _session_recall(
    mem: Memotherm, session: str, query: str, limit: int, promote: bool | None, types: Sequence[str] | None
) -> Json:
    recall = mem.session(session).recall(query, limit, promote, types)
    promoting = mem.settings.auto_promote if promote is None else promote
    return {**recall_json(recall), "sessionId": session, "limit": limit, "autoPromote": promoting}
