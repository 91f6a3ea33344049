"""The handlers: each reads one request, makes one call of the facade, and renders the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from starlette.exceptions import HTTPException

from memotherm import Context, Memotherm, __version__, tools
from memotherm.errors import ContentTooLarge, InvalidInput, NotFound
from memotherm.model import SCOPE_FIELDS, Memory, Move, Recall, Retention
from memotherm.rest import bodies
from memotherm.rest.bodies import PriorityName, TierName
from memotherm.rest.observability import Counts
from memotherm.rest.problems import PROBLEM_TYPE
from memotherm.session import Session
from memotherm.tools import serializers

__all__ = ["router"]

Json = dict[str, Any]

_PROBLEM = {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
_PROBLEMS: dict[int | str, Json] = {
    "4XX": {"description": "The request cannot be served; `code` and `detail` say why.", "content": _PROBLEM},
    "5XX": {"description": "The server or its store has a problem.", "content": _PROBLEM},
}
#: Visible ASCII, blanks inside only.
_NAME = r"^[!-~]([ -~]{0,198}[!-~])?$"
_PLAIN = r"^[A-Za-z0-9_.:@+-]{1,200}$"
_VALUE = "[!-:<-~]{1,200}"
_FIELDS = ("project", "environment", "user", "agent", "session")
_SCOPE = "^" + "".join(f"({name}={_VALUE};?)?" for name in _FIELDS) + "$"
#: With its quotes; some clients drop them.
_ETAG = '^"?[0-9]{1,18}"?$'

router = APIRouter(responses=_PROBLEMS)

#: A header that may be left out, and is never null.
_ABSENT: Any = None


# The first two do no work that would be worth a thread of its own.
async def the_surroundings(
    request: Request,
    memotherm_scope: Annotated[
        str,
        Header(
            pattern=_SCOPE, description="Whose memories: `project=web;agent=planner`, from the widest field to session."
        ),
    ] = _ABSENT,
) -> Memotherm:
    """Return the memory as this request may see it: the key's tenant, narrowed by what the header names."""
    mem: Memotherm = request.scope["memotherm"]
    misplaced = [name for name in SCOPE_FIELDS if name in request.query_params]
    if misplaced:
        # Left unread, it would let a caller see and write another scope than it means.
        raise InvalidInput(f"{misplaced[0]} is no query parameter: send the header Memotherm-Scope")
    pairs = (pair.partition("=") for pair in (memotherm_scope or "").split(";") if pair)
    named = {name: value for name, _, value in pairs}
    request.state.session = named.pop("session", None)
    return mem.scoped(**named) if named else mem


async def the_view(request: Request, around: Annotated[Memotherm, Depends(the_surroundings)]) -> Memotherm:
    """Return the same, from inside a session if the header names one."""
    return around if request.state.session is None else around.scoped(session=request.state.session)


View = Annotated[Memotherm, Depends(the_view)]
MemoryId = Annotated[str, Path(pattern=r"^mem_[0-9a-z]{26}$")]
SessionId = Annotated[str, Path(pattern=_PLAIN)]


def the_session(around: Annotated[Memotherm, Depends(the_surroundings)], session_id: SessionId) -> Session[Memotherm]:
    """Return a session's working memory."""
    return around.session(session_id)


InSession = Annotated[Session[Memotherm], Depends(the_session)]


# Memories


@router.get("/memories", operation_id="list_memories", tags=["memories"], response_model=bodies.PageAnswer)
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
    found = view.find(
        tier=tier, priority=priority, retention=retention, kind=kind, tags=None if tag is None else [tag],
        limit=limit, cursor=page,
    )  # fmt: skip
    return {"memories": [serializers.memory_json(memory) for memory in found], "next_page": found.cursor}


@router.post(
    "/memories", operation_id="remember", tags=["memories"], status_code=201, response_model=bodies.MemoryAnswer
)
def remember(view: View, body: bodies.NewMemory, response: Response) -> Json:
    """Store a memory, or recognise one that says the same."""
    return _told(view.remember(**body.arguments()), response, made=True)


@router.post(
    "/memories:batch", operation_id="remember_many", tags=["memories"], status_code=201,
    response_model=bodies.MemoriesAnswer,
)  # fmt: skip
def remember_many(view: View, body: bodies.Batch) -> Json:
    """Store several memories: all of them, or none."""
    made = view.remember_many([each.arguments() for each in body.memories])
    return {"memories": [serializers.memory_json(memory) for memory in made]}


@router.get("/memories/{memory_id}", operation_id="get_memory", tags=["memories"], response_model=bodies.MemoryAnswer)
def get_memory(
    view: View,
    memory_id: MemoryId,
    response: Response,
    hidden: Annotated[bool, Query(description="Also when it was forgotten.")] = False,
    if_none_match: Annotated[str, Header(pattern=_ETAG)] = _ABSENT,
) -> Any:  # noqa: ANN401 - an answer, or none when nothing has changed
    """Return a memory; one that was forgotten only if hidden ones are asked for."""
    memory = view.get(memory_id)
    if memory.retention is Retention.DELETED and not hidden:
        raise NotFound(f"{memory_id} was forgotten: add ?hidden=true to read it, or POST to its restore")
    if if_none_match and if_none_match.strip('"') == str(memory.version):
        return Response(status_code=304, headers={"etag": _etag(memory)})
    return _told(memory, response)


@router.patch("/memories/{memory_id}", operation_id="change", tags=["memories"], response_model=bodies.MemoryAnswer)
def change(
    view: View,
    memory_id: MemoryId,
    body: bodies.Change,
    response: Response,
    if_match: Annotated[str, Header(pattern=_ETAG)] = _ABSENT,
) -> Json:
    """Change what a memory says; with If-Match only if it is still as it was read."""
    memory = _changed(
        view.update,
        memory_id,
        content=body.content,
        kind=body.kind,
        tags=body.tags,
        metadata=body.metadata,
        ttl=None if body.ttl_minutes is None else body.ttl_minutes * 60,
        why=body.why,
        version=int(if_match.strip('"')) if if_match else None,
    )
    return _told(memory, response)


@router.delete("/memories/{memory_id}", operation_id="forget", tags=["memories"], response_model=bodies.MemoryAnswer)
def forget(view: View, memory_id: MemoryId, response: Response) -> Json:
    """Forget a memory; it can be restored for some days, and `version` is the event to undo."""
    if view.get(memory_id).retention is Retention.DELETED:
        raise NotFound(f"{memory_id} was forgotten already")
    return _told(view.forget(memory_id), response)


@router.post("/memories/{memory_id}/move", operation_id="move", tags=["memories"], response_model=bodies.MemoryAnswer)
def move(view: View, memory_id: MemoryId, body: bodies.MoveWish, response: Response) -> Json:
    """Keep a memory in another tier."""
    return _told(_changed(view.move, memory_id, body.tier, body.why), response)


@router.post(
    "/memories/{memory_id}/prioritize", operation_id="prioritize", tags=["memories"], response_model=bodies.MemoryAnswer
)
def prioritize(view: View, memory_id: MemoryId, body: bodies.PriorityWish, response: Response) -> Json:
    """Let a memory insist more, or less."""
    return _told(_changed(view.prioritize, memory_id, body.priority, body.why), response)


@router.post("/memories/{memory_id}/pin", operation_id="pin", tags=["memories"], response_model=bodies.MemoryAnswer)
def pin(view: View, memory_id: MemoryId, response: Response, body: bodies.Why | None = None) -> Json:
    """Include a memory always, until it is unpinned."""
    return _told(_changed(view.pin, memory_id, _why(body)), response)


@router.post("/memories/{memory_id}/unpin", operation_id="unpin", tags=["memories"], response_model=bodies.MemoryAnswer)
def unpin(view: View, memory_id: MemoryId, response: Response, body: bodies.Why | None = None) -> Json:
    """Give a pinned memory normal priority again."""
    return _told(_changed(view.unpin, memory_id, _why(body)), response)


@router.post(
    "/memories/{memory_id}/archive", operation_id="archive", tags=["memories"], response_model=bodies.MemoryAnswer
)
def archive(view: View, memory_id: MemoryId, response: Response, body: bodies.Why | None = None) -> Json:
    """Hide a memory from every search."""
    return _told(_changed(view.archive, memory_id, _why(body)), response)


@router.post(
    "/memories/{memory_id}/restore", operation_id="restore", tags=["memories"], response_model=bodies.MemoryAnswer
)
def restore(view: View, memory_id: MemoryId, response: Response, body: bodies.Why | None = None) -> Json:
    """Bring an archived or forgotten memory back."""
    return _told(_changed(view.restore, memory_id, _why(body)), response)


@router.get("/memories/{memory_id}/history", operation_id="history", tags=["memories"], response_model=bodies.History)
def history(view: View, memory_id: MemoryId) -> Json:
    """Return everything that happened to a memory, oldest first."""
    return {"events": [serializers.event_json(event) for event in view.history(memory_id)]}


# Asking


@router.post("/recall", operation_id="recall", tags=["search"], response_model=bodies.RecallAnswer)
def recall(view: View, body: bodies.RecallWish) -> Json:
    """Return what answers a question, best first: from hot and warm unless other tiers are named."""
    return _recalled(view.recall(**body.model_dump()))


@router.post("/memory/query", operation_id="query", tags=["search"], response_model=bodies.QueryAnswer)
def query(view: View, body: bodies.Query) -> Json:
    """Return what answers a question, from all tiers or one; the closer tiers rank first."""
    return tools.query(view, body.model_dump(exclude_none=True))


@router.post("/context", operation_id="context", tags=["search"], response_model=bodies.ContextAnswer)
def context(view: View, body: bodies.ContextWish) -> Json:
    """Return what an agent should read before it works, within a token budget, with a receipt."""
    return _context(view.context(**body.model_dump()))


# Sessions


@router.post(
    "/sessions/{session_id}/start", operation_id="session_start", tags=["sessions"], response_model=bodies.ContextAnswer
)
def session_start(session: InSession, body: bodies.Beginning | None = None) -> Json:
    """Return the block that a session begins with: pinned and hot memories."""
    wish = body or bodies.Beginning()
    return _context(session.session_start(wish.budget, wish.format))


@router.post("/sessions/{session_id}/compacted", operation_id="session_compacted", tags=["sessions"], status_code=204)
def session_compacted(session: InSession) -> None:
    """Tell that the host has summarised the conversation: everything may be given, and flushed, again."""
    session.context_compacted()


@router.post(
    "/sessions/{session_id}/memories", operation_id="session_add", tags=["sessions"], status_code=201,
    response_model=bodies.MemoryAnswer,
)  # fmt: skip
def session_add(session: InSession, body: bodies.SessionAdd, response: Response) -> Json:
    """Add to a session's hot memory; older hot memories are spilled when it is full."""
    return _told(session.add(body.content, body.type, body.metadata), response, made=True)


@router.get(
    "/sessions/{session_id}/hot", operation_id="session_hot", tags=["sessions"], response_model=bodies.MemoriesAnswer
)
def session_hot(session: InSession) -> Json:
    """Return a session's hot memories, newest first."""
    return {"memories": [serializers.memory_json(memory) for memory in session.hot()]}


@router.get(
    "/sessions/{session_id}/status", operation_id="session_status", tags=["sessions"],
    response_model=bodies.SessionState,
)  # fmt: skip
def session_status(session: InSession) -> Json:
    """Tell how full a session's hot memory is, and what to do next."""
    return tools.memory_status(session.memory, session.id)


@router.post(
    "/sessions/{session_id}/spill", operation_id="session_spill", tags=["sessions"], response_model=bodies.SpillAnswer
)
def session_spill(session: InSession, body: bodies.SpillWish) -> Json:
    """Move hot memories out: the least relevant and oldest, or those named."""
    return tools.memory_spill(session.memory, session.id, body.count, body.ids)


@router.post(
    "/sessions/{session_id}/promote", operation_id="session_promote", tags=["sessions"], response_model=bodies.Promoted
)
def session_promote(session: InSession, body: bodies.SessionPromote) -> Json:
    """Bring a memory of a session to hot, making room for it first."""
    return {"id": body.memory_id, "promoted": session.promote(body.memory_id)}


@router.post(
    "/sessions/{session_id}/recall", operation_id="session_recall", tags=["sessions"],
    response_model=bodies.RecallAnswer,
)  # fmt: skip
def session_recall(session: InSession, body: bodies.SessionRecall) -> Json:
    """Find what a session has spilled, and bring back to hot what has earned it."""
    return _recalled(session.recall(body.query, body.limit, body.auto_promote, body.types))


@router.post(
    "/sessions/{session_id}/context", operation_id="session_context", tags=["sessions"],
    response_model=bodies.ContextAnswer,
)  # fmt: skip
def session_context(session: InSession, body: bodies.Turn) -> Json:
    """Return the block for a turn, without what this session was given before."""
    return _context(session.before_turn(body.prompt, body.budget, body.format, body.include_cold))


@router.post(
    "/sessions/{session_id}/flush", operation_id="session_flush", tags=["sessions"], response_model=bodies.FlushAnswer
)
def session_flush(session: InSession, body: bodies.FlushWish) -> Json:
    """Tell whether memories should be saved before the host cuts its context, at most once between two cuts."""
    due = session.flush_due(body.total_tokens, body.context_window)
    return (
        {"due": False} if due is None else {"due": True, "prompt": due.prompt, "system": due.system, "file": due.file}
    )


@router.post(
    "/sessions/{session_id}/end", operation_id="session_end", tags=["sessions"], response_model=bodies.MovesAnswer
)
def session_end(session: InSession, body: bodies.SessionEnd | None = None) -> Json:
    """End a session, and run the tier rules if the settings say so."""
    run = session.session_end(None if body is None else body.summary)
    if run is None:
        return {"hot": 0, "warm": 0, "cold": 0, "dry_run": False, "moves": []}
    return {"hot": run.hot, "warm": run.warm, "cold": run.cold, "dry_run": False, "moves": _moves(run.moves)}


# Upkeep


@router.get("/status", operation_id="status", tags=["upkeep"], response_model=bodies.StatusAnswer)
def status(view: View) -> Json:
    """Tell what is stored and how it can be searched."""
    return {key: value for key, value in tools.memory_status(view).items() if key != "store"}


@router.post("/compact", operation_id="compact", tags=["upkeep"], response_model=bodies.MovesAnswer)
def compact(view: View, body: bodies.Run | None = None) -> Json:
    """Run the tier rules once."""
    run = view.compact(dry_run=body is not None and body.dry_run)
    return {"hot": run.hot, "warm": run.warm, "cold": run.cold, "dry_run": run.dry_run, "moves": _moves(run.moves)}


@router.post("/maintain", operation_id="maintain", tags=["upkeep"], response_model=bodies.MaintenanceAnswer)
def maintain(view: View) -> Json:
    """Let expiry, retention windows and cooling do their work."""
    run = view.maintain()
    return {
        "moves": _moves(run.moves),
        "expired": run.expired,
        "archived": run.archived,
        "deleted": run.deleted,
        "purged": run.purged,
        "embedded": run.embedded,
        "degraded": list(run.degraded),
    }


@router.get("/events", operation_id="events", tags=["upkeep"], response_model=bodies.EventsAnswer)
def events(
    view: View,
    order: Annotated[
        Literal["newest", "oldest"], Query(description="Which come first, if no page is named.")
    ] = "newest",
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    page: Annotated[
        str | None, Query(pattern=r"^(before|after)-[0-9]{1,18}$", description="`after-N`: what came after event N.")
    ] = None,
) -> Json:
    """Return what happened to all memories that can be seen, a page at a time."""
    found = view.events(limit, page, order == "oldest")
    return {"events": [serializers.event_json(event) for event in found], "next_page": found.cursor}


@router.post("/events/{seq}/undo", operation_id="undo", tags=["upkeep"], response_model=bodies.MemoryAnswer)
def undo(view: View, seq: Annotated[int, Path(ge=1, le=2**62)], response: Response) -> Json:
    """Take back one event of the ledger, unless later ones build on it."""
    return _told(_changed(view.undo, seq), response)


@router.get(
    "/health", operation_id="health", tags=["server"], response_model=bodies.Health, openapi_extra={"security": []}
)
def health(request: Request) -> Json:
    """Tell whether the server and its store work."""
    request.app.state.mem.status()
    return {"status": "ok", "version": __version__}


@router.get(
    "/metrics", operation_id="metrics", tags=["server"], response_class=Response,
    responses={200: {"description": "For Prometheus.", "content": {"text/plain": {"schema": {"type": "string"}}}}},
)  # fmt: skip
def metrics(view: View, request: Request) -> Response:
    """Return the metrics of the server and of the memories that are visible with this key."""
    counts: Counts = request.app.state.counts
    return Response(counts.page(view), media_type="text/plain; version=0.0.4; charset=utf-8")


# Small steps


def _changed(verb: Callable[..., Memory], *arguments: object, **more: object) -> Memory:
    """Make a change; what was asked for is well-formed here, so what is wrong is the state of the memory."""
    try:
        return verb(*arguments, **more)
    except ContentTooLarge:
        raise
    except InvalidInput as exc:
        raise HTTPException(409, str(exc)) from exc


def _etag(memory: Memory) -> str:
    return f'"{memory.version}"'


def _told(memory: Memory, response: Response, *, made: bool = False) -> Json:
    response.headers["etag"] = _etag(memory)
    if made:
        response.headers["location"] = f"/memories/{memory.id}"
    return serializers.memory_json(memory)


def _why(body: bodies.Why | None) -> str:
    return "" if body is None else body.why


def _recalled(found: Recall) -> Json:
    return {
        "items": [serializers.hit_json(hit) for hit in found],
        "promoted": list(found.promoted),
        "tiers": [str(tier) for tier in found.tiers],
        "degraded": list(found.degraded),
    }


def _context(found: Context) -> Json:
    return {"text": found.text, "tokens": found.tokens, "receipt": found.receipt.as_dict()}


def _moves(moves: tuple[Move, ...]) -> list[Json]:
    return [serializers.move_json(each) for each in moves]
