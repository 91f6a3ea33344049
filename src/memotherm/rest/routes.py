"""The request handlers: each makes one call of the facade."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal
from urllib.parse import unquote

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from starlette.exceptions import HTTPException

from memotherm import Context, Memotherm, __version__, tools
from memotherm.errors import ContentTooLarge, InvalidInput, NotFound
from memotherm.model import SCOPE_FIELDS, Memory, Recall, Retention
from memotherm.model.results import Compaction
from memotherm.rest import schemas
from memotherm.rest.observability import RequestMetrics
from memotherm.rest.problems import PROBLEM_TYPE
from memotherm.rest.schemas import PriorityName, TierName
from memotherm.session import Session
from memotherm.tools import serializers

__all__ = ["router"]

Json = dict[str, Any]

_PROBLEM = {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemResponse"}}}
_PROBLEMS: dict[int | str, Json] = {
    "4XX": {"description": "The request cannot be served; `code` and `detail` say why.", "content": _PROBLEM},
    "5XX": {"description": "The server or its store has a problem.", "content": _PROBLEM},
}
#: Visible ASCII, with spaces inside only.
_NAME = r"^[!-~]([ -~]{0,198}[!-~])?$"
_SESSION_ID = r"^[A-Za-z0-9_.:@+-]{1,200}$"
#: A name in the scope header: visible ASCII without the semicolon; percent-encoding gives any other character.
_VALUE = "[!-:<-~]{1,2400}"
_FIELDS = ("project", "environment", "user", "agent", "session")
_SCOPE = "^" + "".join(f"({name}={_VALUE};?)?" for name in _FIELDS) + "$"
#: The quotes are optional, because some clients drop them.
_ETAG = '^"?[0-9]{1,18}"?$'

router = APIRouter(responses=_PROBLEMS)

#: The default of an optional header that is never null.
_ABSENT: Any = None


# The first two are coroutines, because they do too little for a thread.
async def outer_memory(
    request: Request,
    memotherm_scope: Annotated[
        str,
        Header(
            pattern=_SCOPE,
            description="The scope, such as `project=web;agent=planner`, in the order project, environment, user, "
            "agent, session; other characters are percent-encoded. The tenant is that of the API key.",
        ),
    ] = _ABSENT,
) -> Memotherm:
    """Return the memory of the key's tenant, in the scope of the header without its session."""
    mem: Memotherm = request.scope["memotherm"]
    misplaced = [name for name in SCOPE_FIELDS if name in request.query_params]
    if misplaced:
        # Ignored, it would give the caller another scope than intended.
        raise InvalidInput(f"{misplaced[0]} is not a query parameter: send the header Memotherm-Scope")
    pairs = (pair.partition("=") for pair in (memotherm_scope or "").split(";") if pair)
    scope = {name: unquote(value) for name, _, value in pairs}
    request.state.session = scope.pop("session", None)
    return mem.scoped(**scope) if scope else mem


async def scoped_memory(request: Request, outer: Annotated[Memotherm, Depends(outer_memory)]) -> Memotherm:
    """Return the memory in the scope of the header, with its session."""
    return outer if request.state.session is None else outer.scoped(session=request.state.session)


OuterMemory = Annotated[Memotherm, Depends(outer_memory)]
View = Annotated[Memotherm, Depends(scoped_memory)]
MemoryId = Annotated[str, Path(pattern=r"^mem_[0-9a-z]{26}$")]
SessionId = Annotated[str, Path(pattern=_SESSION_ID)]


def begun_session(outer: Annotated[Memotherm, Depends(outer_memory)], session_id: SessionId) -> Session[Memotherm]:
    """Return a session; a new one begins."""
    return outer.session(session_id)


def existing_session(outer: OuterMemory, session_id: SessionId) -> Session[Memotherm]:
    """Return a session that has begun; reading one must not begin it."""
    outer.session_status(session_id)
    return outer.session(session_id)


InSession = Annotated[Session[Memotherm], Depends(begun_session)]
ExistingSession = Annotated[Session[Memotherm], Depends(existing_session)]


# Memories


@router.get("/memories", operation_id="list_memories", tags=["memories"], response_model=schemas.MemoryPageResponse)
def list_memories(
    view: View,
    tier: Annotated[TierName | None, Query()] = None,
    priority: Annotated[PriorityName | None, Query()] = None,
    retention: Annotated[Literal["active", "archived", "deleted"], Query()] = "active",
    kind: Annotated[str | None, Query(pattern=r"^[a-z][a-z0-9_-]{0,31}$")] = None,
    tag: Annotated[str | None, Query(pattern=_NAME, max_length=100)] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    page: Annotated[str | None, Query(pattern=r"^before-[0-9]{1,18}$")] = None,
) -> Json:
    """List memories, newest first, a page at a time."""
    memories = view.find(
        tier=tier, priority=priority, retention=retention, kind=kind, tags=None if tag is None else [tag],
        limit=limit, cursor=page,
    )  # fmt: skip
    return {"memories": [serializers.memory_json(memory) for memory in memories], "next_page": memories.cursor}


@router.post(
    "/memories", operation_id="remember", tags=["memories"], status_code=201, response_model=schemas.MemoryResponse
)
def remember(view: View, body: schemas.RememberRequest, response: Response) -> Json:
    """Store a memory, replace the one with the same key, or count a use of one with the same content."""
    return _memory_response(view.remember(**body.arguments()), response, created=True)


@router.post(
    "/memories:batch", operation_id="remember_many", tags=["memories"], status_code=201,
    response_model=schemas.MemoriesResponse,
)  # fmt: skip
def remember_many(view: View, body: schemas.RememberManyRequest) -> Json:
    """Store several memories, all or none."""
    memories = view.remember_many([request.arguments() for request in body.memories])
    return {"memories": [serializers.memory_json(memory) for memory in memories]}


@router.get("/memories:key", operation_id="get_by_key", tags=["memories"], response_model=schemas.MemoryResponse)
def get_by_key(view: View, key: Annotated[schemas.Key, Query()], response: Response) -> Json:
    """Return the active memory with a key; of several visible scopes, the narrowest wins."""
    return _memory_response(view.get(key=key), response)


@router.get("/memories:keys", operation_id="list_keys", tags=["memories"], response_model=schemas.KeysResponse)
def list_keys(
    view: View,
    prefix: Annotated[schemas.Key | None, Query(description="Only keys that begin with this.")] = None,
    depth: Annotated[int | None, Query(ge=1, le=400, description="Cut keys behind that many slashes.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
    after: Annotated[schemas.Key | None, Query(description="Continue behind this key, the last one.")] = None,
) -> Json:
    """List the distinct keys of the visible memories in order, or the prefixes that they have in common."""
    return {"keys": view.keys(prefix or "", depth, limit, after)}


@router.get(
    "/memories/{memory_id}", operation_id="get_memory", tags=["memories"], response_model=schemas.MemoryResponse
)
def get_memory(
    view: View,
    memory_id: MemoryId,
    response: Response,
    hidden: Annotated[bool, Query(description="Include a memory that was forgotten.")] = False,
    if_none_match: Annotated[str, Header(pattern=_ETAG)] = _ABSENT,
) -> Any:  # noqa: ANN401 - JSON, or an empty response if nothing has changed
    """Return a memory; 404 if it was forgotten, unless `hidden` is true."""
    memory = view.get(memory_id)
    if memory.retention is Retention.DELETED and not hidden:
        raise NotFound(f"{memory_id} was forgotten: add ?hidden=true to read it, or restore it")
    if if_none_match and if_none_match.strip('"') == str(memory.version):
        return Response(status_code=304, headers={"etag": _etag(memory)})
    return _memory_response(memory, response)


@router.patch("/memories/{memory_id}", operation_id="change", tags=["memories"], response_model=schemas.MemoryResponse)
def change(
    view: View,
    memory_id: MemoryId,
    body: schemas.UpdateRequest,
    response: Response,
    if_match: Annotated[str, Header(pattern=_ETAG)] = _ABSENT,
) -> Json:
    """Change a memory; with If-Match only if it has not changed since it was read."""
    memory = _change(
        view.update,
        memory_id,
        content=body.content,
        kind=body.kind,
        tags=body.tags,
        metadata=body.metadata,
        ttl=None if body.ttl_minutes is None else body.ttl_minutes * 60,
        key=body.key,
        why=body.why,
        version=int(if_match.strip('"')) if if_match else None,
    )
    return _memory_response(memory, response)


@router.delete("/memories/{memory_id}", operation_id="forget", tags=["memories"], response_model=schemas.MemoryResponse)
def forget(view: View, memory_id: MemoryId, response: Response) -> Json:
    """Delete a memory; it can be restored for `grace_days`, and `version` is the event to undo."""
    if view.get(memory_id).retention is Retention.DELETED:
        raise NotFound(f"{memory_id} was forgotten already")
    return _memory_response(view.forget(memory_id), response)


@router.post(
    "/memories/{memory_id}/move", operation_id="move", tags=["memories"], response_model=schemas.MemoryResponse
)
def move(view: View, memory_id: MemoryId, body: schemas.MoveRequest, response: Response) -> Json:
    """Move a memory to another tier."""
    return _memory_response(_change(view.move, memory_id, body.tier, body.why), response)


@router.post(
    "/memories/{memory_id}/prioritize",
    operation_id="prioritize",
    tags=["memories"],
    response_model=schemas.MemoryResponse,
)
def prioritize(view: View, memory_id: MemoryId, body: schemas.PrioritizeRequest, response: Response) -> Json:
    """Set the priority of a memory."""
    return _memory_response(_change(view.prioritize, memory_id, body.priority, body.why), response)


@router.post("/memories/{memory_id}/pin", operation_id="pin", tags=["memories"], response_model=schemas.MemoryResponse)
def pin(view: View, memory_id: MemoryId, response: Response, body: schemas.ReasonRequest | None = None) -> Json:
    """Pin a memory: every context includes it until it is unpinned."""
    return _memory_response(_change(view.pin, memory_id, _reason(body)), response)


@router.post(
    "/memories/{memory_id}/unpin", operation_id="unpin", tags=["memories"], response_model=schemas.MemoryResponse
)
def unpin(view: View, memory_id: MemoryId, response: Response, body: schemas.ReasonRequest | None = None) -> Json:
    """Give a pinned memory normal priority."""
    return _memory_response(_change(view.unpin, memory_id, _reason(body)), response)


@router.post(
    "/memories/{memory_id}/archive", operation_id="archive", tags=["memories"], response_model=schemas.MemoryResponse
)
def archive(view: View, memory_id: MemoryId, response: Response, body: schemas.ReasonRequest | None = None) -> Json:
    """Archive a memory: no search finds it until it is restored."""
    return _memory_response(_change(view.archive, memory_id, _reason(body)), response)


@router.post(
    "/memories/{memory_id}/restore", operation_id="restore", tags=["memories"], response_model=schemas.MemoryResponse
)
def restore(view: View, memory_id: MemoryId, response: Response, body: schemas.ReasonRequest | None = None) -> Json:
    """Restore an archived or deleted memory."""
    return _memory_response(_change(view.restore, memory_id, _reason(body)), response)


@router.get(
    "/memories/{memory_id}/history", operation_id="history", tags=["memories"], response_model=schemas.HistoryResponse
)
def history(view: View, memory_id: MemoryId) -> Json:
    """Return the events of a memory, oldest first."""
    return {"events": [serializers.event_json(event) for event in view.history(memory_id)]}


# Recall and context


@router.post("/recall", operation_id="recall", tags=["search"], response_model=schemas.RecallResponse)
def recall(view: View, body: schemas.RecallRequest) -> Json:
    """Return the memories that match a query, best first; from hot and warm unless `tiers` gives others."""
    return _recall_response(view.recall(**body.model_dump()))


@router.post("/memory/query", operation_id="query", tags=["search"], response_model=schemas.QueryResponse)
def query(view: View, body: schemas.QueryRequest) -> Json:
    """Return the memories that match a query, from all tiers or one; warm and cold memories score less."""
    return tools.query(view, body.model_dump(exclude_none=True))


@router.post("/context", operation_id="context", tags=["search"], response_model=schemas.ContextResponse)
def context(view: View, body: schemas.ContextRequest) -> Json:
    """Return pinned, hot and recalled memories within a token budget, with a receipt."""
    return _context_response(view.context(**body.model_dump()))


# Sessions


@router.post(
    "/sessions/{session_id}/start",
    operation_id="session_start",
    tags=["sessions"],
    response_model=schemas.ContextResponse,
)
def session_start(session: InSession, body: schemas.SessionStartRequest | None = None) -> Json:
    """Begin a session, and return its first context: pinned and hot memories."""
    request = body or schemas.SessionStartRequest()
    return _context_response(session.session_start(request.budget, request.format))


@router.post("/sessions/{session_id}/compacted", operation_id="session_compacted", tags=["sessions"], status_code=204)
def session_compacted(session: InSession) -> None:
    """Record that the host has compacted its context: contexts may repeat memories, and a flush may be due again."""
    session.context_compacted()


@router.post(
    "/sessions/{session_id}/memories", operation_id="session_add", tags=["sessions"], status_code=201,
    response_model=schemas.AddedMemoryResponse,
)  # fmt: skip
def session_add(session: InSession, body: schemas.SessionAddRequest, response: Response) -> Json:
    """Add to a session's hot memory; older hot memories are spilled when it is full."""
    memory = session.add(body.content, body.type, body.metadata)
    added = serializers.added_json(memory, session.memory.settings.hot_token_limit)
    return {**_memory_response(memory, response, created=True), **added}


@router.get(
    "/sessions/{session_id}/hot", operation_id="session_hot", tags=["sessions"], response_model=schemas.MemoriesResponse
)
def session_hot(session: ExistingSession) -> Json:
    """Return a session's hot memories, newest first; 404 if the session has not begun."""
    return {"memories": [serializers.memory_json(memory) for memory in session.hot()]}


@router.get(
    "/sessions/{session_id}/status", operation_id="session_status", tags=["sessions"],
    response_model=schemas.SessionStatusResponse,
)  # fmt: skip
def session_status(outer: OuterMemory, session_id: SessionId) -> Json:
    """Return how full a session's hot memory is, and what is suggested; 404 if the session has not begun."""
    return tools.memory_status(outer, session_id)


@router.post(
    "/sessions/{session_id}/spill",
    operation_id="session_spill",
    tags=["sessions"],
    response_model=schemas.SpillResponse,
)
def session_spill(session: InSession, body: schemas.SpillRequest) -> Json:
    """Move hot memories out: the least relevant and oldest, or those scope."""
    return tools.memory_spill(session.memory, session.id, body.count, body.ids)


@router.post(
    "/sessions/{session_id}/promote",
    operation_id="session_promote",
    tags=["sessions"],
    response_model=schemas.PromoteResponse,
)
def session_promote(session: InSession, body: schemas.PromoteRequest) -> Json:
    """Move a memory of a session to hot; older hot memories are spilled if needed."""
    return {"id": body.memory_id, "promoted": session.promote(body.memory_id)}


@router.post(
    "/sessions/{session_id}/demote",
    operation_id="session_demote",
    tags=["sessions"],
    response_model=schemas.MemoryResponse,
)
def session_demote(session: ExistingSession, body: schemas.DemoteRequest, response: Response) -> Json:
    """Move a memory of a session to warm or cold."""
    return _memory_response(_change(session.demote, body.memory_id, body.tier), response)


@router.post(
    "/sessions/{session_id}/keep", operation_id="session_keep", tags=["sessions"], response_model=schemas.MemoryResponse
)
def session_keep(session: ExistingSession, body: schemas.KeepRequest, response: Response) -> Json:
    """Move a memory of a session to the scope around it, so that it remains after the session."""
    return _memory_response(_change(session.keep, body.memory_id), response)


@router.post(
    "/sessions/{session_id}/prune",
    operation_id="session_prune",
    tags=["sessions"],
    response_model=schemas.PruneResponse,
)
def session_prune(session: ExistingSession, body: schemas.PruneRequest | None = None) -> Json:
    """Delete the least relevant cold memories of a session beyond `keep`; they can be restored for `grace_days`."""
    return {"sessionId": session.id, "pruned": session.prune(None if body is None else body.keep)}


@router.post(
    "/sessions/{session_id}/clear",
    operation_id="session_clear",
    tags=["sessions"],
    response_model=schemas.ClearResponse,
)
def session_clear(session: ExistingSession) -> Json:
    """Delete the memories of a session, except pinned ones; they can be restored for `grace_days`."""
    return {"sessionId": session.id, "cleared": session.clear()}


@router.post(
    "/sessions/{session_id}/recall", operation_id="session_recall", tags=["sessions"],
    response_model=schemas.RecallResponse,
)  # fmt: skip
def session_recall(session: InSession, body: schemas.SessionRecallRequest) -> Json:
    """Search a session's own memories in all tiers, and promote the best hits to hot."""
    return _recall_response(session.recall(body.query, body.limit, body.auto_promote, body.types))


@router.post(
    "/sessions/{session_id}/context", operation_id="session_context", tags=["sessions"],
    response_model=schemas.ContextResponse,
)  # fmt: skip
def session_context(session: InSession, body: schemas.SessionContextRequest) -> Json:
    """Return the context of a turn, without memories that the session was given before."""
    return _context_response(session.before_turn(body.prompt, body.budget, body.format, body.include_cold))


@router.post(
    "/sessions/{session_id}/flush",
    operation_id="session_flush",
    tags=["sessions"],
    response_model=schemas.FlushResponse,
)
def session_flush(session: InSession, body: schemas.FlushRequest) -> Json:
    """Return whether the agent should save memories before the host compacts its context, once per compaction."""
    due = session.flush_due(body.total_tokens, body.context_window)
    return (
        {"due": False} if due is None else {"due": True, "prompt": due.prompt, "system": due.system, "file": due.file}
    )


@router.post(
    "/sessions/{session_id}/end",
    operation_id="session_end",
    tags=["sessions"],
    response_model=schemas.CompactionResponse,
)
def session_end(session: InSession, body: schemas.SessionEndRequest | None = None) -> Json:
    """End a session, and run compaction if `compaction_on_session_end` is set."""
    compaction = session.session_end(None if body is None else body.summary)
    return _compaction_response(Compaction() if compaction is None else compaction)


# Administration


@router.get("/status", operation_id="status", tags=["administration"], response_model=schemas.StatusResponse)
def status(view: View) -> Json:
    """Return how much is stored, and how it can be searched."""
    return {key: value for key, value in tools.memory_status(view).items() if key != "store"}


@router.post("/compact", operation_id="compact", tags=["administration"], response_model=schemas.CompactionResponse)
def compact(view: View, body: schemas.CompactRequest | None = None) -> Json:
    """Run the tier rules once."""
    return _compaction_response(view.compact(dry_run=body is not None and body.dry_run))


@router.post("/maintain", operation_id="maintain", tags=["administration"], response_model=schemas.MaintenanceResponse)
def maintain(view: View) -> Json:
    """Run maintenance: expiry, retention and cooling."""
    run = view.maintain()
    return {
        "moves": [serializers.move_json(move) for move in run.moves],
        "expired": run.expired,
        "archived": run.archived,
        "deleted": run.deleted,
        "purged": run.purged,
        "embedded": run.embedded,
        "degraded": list(run.degraded),
    }


@router.get("/events", operation_id="events", tags=["administration"], response_model=schemas.EventPageResponse)
def events(
    view: View,
    order: Annotated[Literal["newest", "oldest"], Query(description="The order, if no page is given.")] = "newest",
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    page: Annotated[
        str | None, Query(pattern=r"^(before|after)-[0-9]{1,18}$", description="`after-N`: the events after event N.")
    ] = None,
) -> Json:
    """Return the events of all visible memories, a page at a time."""
    ledger = view.events(limit, page, order == "oldest")
    return {"events": [serializers.event_json(event) for event in ledger], "next_page": ledger.cursor}


@router.post("/events/{seq}/undo", operation_id="undo", tags=["administration"], response_model=schemas.MemoryResponse)
def undo(view: View, seq: Annotated[int, Path(ge=1, le=2**62)], response: Response) -> Json:
    """Undo an event of the ledger, unless later events depend on it."""
    return _memory_response(_change(view.undo, seq), response)


@router.get(
    "/health",
    operation_id="health",
    tags=["server"],
    response_model=schemas.HealthResponse,
    openapi_extra={"security": []},
)
def health(request: Request) -> Json:
    """Return 200 if the server and its store work."""
    request.app.state.mem.status()
    return {"status": "ok", "version": __version__}


@router.get(
    "/metrics", operation_id="metrics", tags=["server"], response_class=Response,
    responses={200: {"description": "Prometheus metrics.", "content": {"text/plain": {"schema": {"type": "string"}}}}},
)  # fmt: skip
def metrics_page(view: View, request: Request) -> Response:
    """Return the metrics of the server and of the memories visible with this key, for Prometheus."""
    metrics: RequestMetrics = request.app.state.metrics
    return Response(metrics.page(view), media_type="text/plain; version=0.0.4; charset=utf-8")


# Responses


def _change(verb: Callable[..., Memory], *arguments: object, **options: object) -> Memory:
    """Call a verb; the request is valid, so that an error is a conflict with the state of the memory."""
    try:
        return verb(*arguments, **options)
    except ContentTooLarge:
        raise
    except InvalidInput as exc:
        raise HTTPException(409, str(exc)) from exc


def _etag(memory: Memory) -> str:
    return f'"{memory.version}"'


def _memory_response(memory: Memory, response: Response, *, created: bool = False) -> Json:
    response.headers["etag"] = _etag(memory)
    if created:
        response.headers["location"] = f"/memories/{memory.id}"
    return serializers.memory_json(memory)


def _reason(body: schemas.ReasonRequest | None) -> str:
    return "" if body is None else body.why


def _recall_response(recall: Recall) -> Json:
    return {
        "items": [serializers.hit_json(hit) for hit in recall],
        "promoted": list(recall.promoted),
        "tiers": [str(tier) for tier in recall.tiers],
        "degraded": list(recall.degraded),
    }


def _context_response(context: Context) -> Json:
    return {"text": context.text, "tokens": context.tokens, "receipt": context.receipt.as_dict()}


def _compaction_response(compaction: Compaction) -> Json:
    counts = {"hot": compaction.hot, "warm": compaction.warm, "cold": compaction.cold}
    moves = [serializers.move_json(move) for move in compaction.moves]
    return {**counts, "dry_run": compaction.dry_run, "moves": moves, "degraded": list(compaction.degraded)}
