"""Store, read and change memories."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Response
from starlette.exceptions import HTTPException

from memotherm.errors import NotFound
from memotherm.model import Memory, Retention
from memotherm.remote import encoding
from memotherm.rest.idempotency import once
from memotherm.rest.routes.declaring import route
from memotherm.rest.routes.parameters import (
    ABSENT,
    ETAG,
    NAME,
    Inside,
    KeyPrefix,
    KindFilter,
    MemoryId,
    MemoryIdOrNumber,
    View,
    in_session,
)
from memotherm.rest.routes.responses import apply, etag, hit_response, memory_response, page_response, reason
from memotherm.rest.schemas.events import HistoryResponse
from memotherm.rest.schemas.fields import Key, PriorityName, Reason, TierName
from memotherm.rest.schemas.filters import ChangeManyRequest, CountRequest, FindRequest, ListedRetention, Moment
from memotherm.rest.schemas.memories import (
    CapturedResponse,
    CaptureRequest,
    ChangedManyResponse,
    CountResponse,
    IdResponse,
    KeysResponse,
    MemoryPageResponse,
    MemoryResponse,
    MoveRequest,
    PrioritizeRequest,
    ReadMemoryResponse,
    ReasonRequest,
    RememberedManyResponse,
    RememberedResponse,
    RememberManyRequest,
    RememberRequest,
    UpdateRequest,
)
from memotherm.rest.schemas.search import NeighboursResponse, UsesResponse
from memotherm.text.content import pluralize
from memotherm.tools import serializers

__all__ = ["router"]

Json = dict[str, Any]

router = APIRouter(tags=["memories"])


@route(router, "list_memories", response_model=MemoryPageResponse)
def list_memories(
    view: View,
    kind: KindFilter,
    tier: Annotated[TierName | None, Query()] = None,
    priority: Annotated[PriorityName | None, Query()] = None,
    retention: Annotated[ListedRetention, Query()] = "active",
    tag: Annotated[str | None, Query(pattern=NAME, max_length=100)] = None,
    since: Annotated[Moment | None, Query()] = None,
    until: Annotated[Moment | None, Query()] = None,
    prefix: KeyPrefix = None,
    inside: Inside = False,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    page: Annotated[str | None, Query(pattern=r"^before-[0-9]{1,18}$")] = None,
) -> Json:
    """List memories, newest first, a page at a time; `POST /memories:find` also filters by metadata."""
    memories = view.find(
        tier=tier, priority=priority, retention=retention, kind=kind, tags=None if tag is None else [tag],
        since=since, until=until, prefix=prefix, inside=inside, limit=limit, cursor=page,
    )  # fmt: skip
    return page_response(memories)


@route(router, "find", response_model=MemoryPageResponse)
def find(view: View, body: FindRequest) -> Json:
    """List memories that match filters, newest first unless another order is given, a page at a time."""
    memories = view.find(
        **body.filters(), inside=body.inside, limit=body.limit, cursor=body.page, order=body.order, skip=body.skip
    )
    return page_response(memories)


@route(router, "count", response_model=CountResponse)
def count(view: View, body: CountRequest) -> Json:
    """Return how many memories match filters."""
    return {"count": view.count(**body.filters(), inside=body.inside)}


@route(router, "forget_many", response_model=ChangedManyResponse, response_model_exclude_unset=True)
@once
def forget_many(view: View, body: ChangeManyRequest) -> Json:
    """Delete all memories that match filters, all or none; `count` must be their number."""
    return _change_many(view.forget_many, body)


@route(router, "restore_many", response_model=ChangedManyResponse, response_model_exclude_unset=True)
@once
def restore_many(view: View, body: ChangeManyRequest) -> Json:
    """Restore all deleted memories that match filters, all or none; `count` must be their number."""
    return _change_many(view.restore_many, body)


@route(router, "purge_many", response_model=ChangedManyResponse, response_model_exclude_unset=True)
@once
def purge_many(view: View, body: ChangeManyRequest) -> Json:
    """Erase all memories that match filters permanently, all or none; `count` must be their number."""
    return _change_many(view.purge_many, body)


def _change_many(verb: Callable[..., list[Memory]], body: ChangeManyRequest) -> Json:
    dry_run = body.dry_run or body.count is None
    memories = apply(verb, body.why, count=body.count, dry_run=dry_run, **body.filters())
    if dry_run and not body.dry_run:
        raise HTTPException(409, f"{pluralize(len(memories), 'memory')} match: send count={len(memories)} to confirm")
    found = {"memories": [encoding.memory_json(memory) for memory in memories]} if body.memories else {}
    return {"count": len(memories), "dry_run": dry_run, **found}


@route(router, "remember", status_code=201, response_model=RememberedResponse)
@once
def remember(view: View, body: RememberRequest, response: Response) -> Json:
    """Store a memory, replace the one with the same key, or count a use of one with the same content."""
    remember_it = in_session(view, body.session).remember
    memory = apply(remember_it, **body.arguments()) if body.may_conflict else remember_it(**body.arguments())
    warnings = serializers.secret_warnings(view.secrets_in(body.content))
    return {**memory_response(memory, response, created=True), "warnings": warnings}


@route(router, "remember_many", status_code=201, response_model=RememberedManyResponse)
@once
def remember_many(view: View, body: RememberManyRequest) -> Json:
    """Store several memories, and delete others in the same transaction: all, or nothing."""
    drafts = [request.arguments() for request in body.memories]
    options: Json = {"forget": body.forget, "why": body.why}
    # So is a memory that cannot be deleted.
    conflict = bool(body.forget) or any(request.may_conflict for request in body.memories)
    memories = apply(view.remember_many, drafts, **options) if conflict else view.remember_many(drafts, **options)
    found = [view.secrets_in(request.content) for request in body.memories]
    stored = map(serializers.remembered_json, memories, found)
    return {
        "memories": [{**each, **encoding.memory_json(memory)} for each, memory in zip(stored, memories, strict=True)]
    }


@route(router, "capture", response_model=CapturedResponse)
@once
def capture(view: View, body: CaptureRequest) -> Json:
    """Store text of a conversation, unless it is short, filler, or stored already."""
    captured = in_session(view, body.session).capture(**body.model_dump(exclude={"session"}))
    memory = None if captured.memory is None else encoding.memory_json(captured.memory)
    outcome = {"status": captured.status, "why": captured.why, "removed_chars": captured.removed_chars}
    return {**outcome, "memory": memory}


@route(router, "full_id", response_model=IdResponse)
def full_id(view: View, prefix: Annotated[str, Query(pattern=NAME, max_length=100)]) -> Json:
    """Return the id that begins with a prefix; 409 if several do."""
    return {"id": apply(view.full_id, prefix)}


@route(router, "get_by_key", response_model=MemoryResponse)
def get_by_key(view: View, key: Annotated[Key, Query()], response: Response) -> Json:
    """Return the active memory with a key; of several visible scopes, the narrowest wins."""
    return memory_response(view.get(key=key), response)


@route(router, "list_keys", response_model=KeysResponse)
def list_keys(
    view: View,
    prefix: KeyPrefix = None,
    depth: Annotated[int | None, Query(ge=1, le=400, description="Cut keys behind that many slashes.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
    after: Annotated[Key | None, Query(description="Continue behind this key, the last one.")] = None,
) -> Json:
    """List the distinct keys of the visible memories in order, or the prefixes that they have in common."""
    return {"keys": view.keys(prefix or "", depth, limit, after)}


@route(router, "get_memory", response_model=ReadMemoryResponse)
def get_memory(
    view: View,
    memory_id: MemoryIdOrNumber,
    response: Response,
    hidden: Annotated[bool, Query(description="Include a memory that was forgotten.")] = False,
    inside: Annotated[bool, Query(description="Look at and below the scope, instead of in what it can see.")] = False,
    if_none_match: Annotated[str, Header(pattern=ETAG)] = ABSENT,
) -> Any:  # noqa: ANN401 - JSON, or an empty response if nothing has changed
    """Return a memory; 404 if it was forgotten, unless `hidden` is true."""
    memory = view.get(memory_id, inside=inside)
    if memory.retention is Retention.DELETED and not hidden:
        raise NotFound(f"{memory_id} was forgotten: add ?hidden=true to read it, or restore it")
    if if_none_match and if_none_match.strip('"') == str(memory.version):
        return Response(status_code=304, headers={"etag": etag(memory)})
    return {**serializers.read_json(memory, view.heat(memory)), **memory_response(memory, response)}


@route(router, "change", response_model=MemoryResponse)
def change(
    view: View,
    memory_id: MemoryId,
    body: UpdateRequest,
    response: Response,
    if_match: Annotated[str, Header(pattern=ETAG)] = ABSENT,
) -> Json:
    """Change a memory; with If-Match only if it has not changed since it was read."""
    memory = apply(
        view.update,
        memory_id,
        content=body.content,
        kind=body.kind,
        tags=body.tags,
        metadata=body.metadata,
        ttl=None if body.ttl_minutes is None else body.ttl_minutes * 60,
        expires_at=body.expires_at,
        key=body.key,
        why=body.why,
        version=int(if_match.strip('"')) if if_match else None,
    )
    return memory_response(memory, response)


@route(router, "forget", response_model=MemoryResponse)
def forget(view: View, memory_id: MemoryId, response: Response, why: Annotated[Reason, Query()] = "") -> Json:
    """Delete a memory; it can be restored for `grace_days`, and `version` is the event to undo."""
    if view.get(memory_id).retention is Retention.DELETED:
        raise NotFound(f"{memory_id} was forgotten already")
    return memory_response(view.forget(memory_id, why), response)


@route(router, "move", response_model=MemoryResponse)
@once
def move(view: View, memory_id: MemoryId, body: MoveRequest, response: Response) -> Json:
    """Move a memory to another tier."""
    return memory_response(apply(view.move, memory_id, body.tier, body.why), response)


@route(router, "prioritize", response_model=MemoryResponse)
@once
def prioritize(view: View, memory_id: MemoryId, body: PrioritizeRequest, response: Response) -> Json:
    """Set the priority of a memory."""
    return memory_response(apply(view.prioritize, memory_id, body.priority, body.why), response)


@route(router, "pin", response_model=MemoryResponse)
@once
def pin(view: View, memory_id: MemoryId, response: Response, body: ReasonRequest | None = None) -> Json:
    """Pin a memory: every context includes it until it is unpinned."""
    return memory_response(apply(view.pin, memory_id, reason(body)), response)


@route(router, "unpin", response_model=MemoryResponse)
@once
def unpin(view: View, memory_id: MemoryId, response: Response, body: ReasonRequest | None = None) -> Json:
    """Give a pinned memory normal priority."""
    return memory_response(apply(view.unpin, memory_id, reason(body)), response)


@route(router, "verify", response_model=MemoryResponse)
@once
def verify(view: View, memory_id: MemoryId, response: Response, body: ReasonRequest | None = None) -> Json:
    """Record that a memory still holds."""
    return memory_response(apply(view.verify, memory_id, reason(body)), response)


@route(router, "widen", response_model=MemoryResponse)
@once
def widen(view: View, memory_id: MemoryId, response: Response, body: ReasonRequest | None = None) -> Json:
    """Move a memory from a session to the scope around it."""
    return memory_response(apply(view.widen, memory_id, reason(body)), response)


@route(router, "archive", response_model=MemoryResponse)
@once
def archive(view: View, memory_id: MemoryId, response: Response, body: ReasonRequest | None = None) -> Json:
    """Archive a memory: no search finds it until it is restored."""
    return memory_response(apply(view.archive, memory_id, reason(body)), response)


@route(router, "restore", response_model=MemoryResponse)
@once
def restore(view: View, memory_id: MemoryId, response: Response, body: ReasonRequest | None = None) -> Json:
    """Restore an archived or deleted memory."""
    return memory_response(apply(view.restore, memory_id, reason(body)), response)


@route(router, "purge", status_code=204)
@once
def purge(view: View, memory_id: MemoryId, body: ReasonRequest | None = None) -> None:
    """Erase the content, vectors and words of a memory permanently; only its events remain."""
    view.purge(memory_id, reason(body))


@route(router, "history", response_model=HistoryResponse)
def history(view: View, memory_id: MemoryId) -> Json:
    """Return the events of a memory, oldest first."""
    return {"events": [serializers.event_json(event) for event in view.history(memory_id)]}


@route(router, "uses", response_model=UsesResponse)
def uses(view: View, memory_id: MemoryId, limit: Annotated[int, Query(ge=1, le=100)] = 20) -> Json:
    """Return the last recalls that returned a memory, and the last contexts that considered it, newest first."""
    return serializers.uses_json(view.uses(memory_id, limit))


@route(router, "neighbours", response_model=NeighboursResponse)
def neighbours(view: View, memory_id: MemoryId, limit: Annotated[int, Query(ge=1, le=100)] = 10) -> Json:
    """Return the memories that are most like one, best first, from all tiers; nothing is counted or logged."""
    return {"items": [hit_response(hit) for hit in view.neighbours(memory_id, limit)]}
