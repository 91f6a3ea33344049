"""The working memory of sessions."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from memotherm import tools
from memotherm.model.results import Compaction
from memotherm.rest.idempotency import once
from memotherm.rest.routes.parameters import ExistingSession, InSession, OuterMemory, SessionId
from memotherm.rest.routes.responses import (
    apply,
    compaction_response,
    context_response,
    memory_response,
    recall_response,
)
from memotherm.rest.schemas.administration import CompactionResponse
from memotherm.rest.schemas.memories import MemoriesResponse, MemoryResponse
from memotherm.rest.schemas.search import ContextResponse, RecallResponse
from memotherm.rest.schemas.sessions import (
    AddedMemoryResponse,
    ClearResponse,
    DemoteRequest,
    FlushRequest,
    FlushResponse,
    KeepRequest,
    PromoteRequest,
    PromoteResponse,
    PruneRequest,
    PruneResponse,
    SessionAddRequest,
    SessionContextRequest,
    SessionEndRequest,
    SessionRecallRequest,
    SessionStartRequest,
    SessionStatusResponse,
    SpillRequest,
    SpillResponse,
)
from memotherm.tools import serializers

__all__ = ["router"]

Json = dict[str, Any]

router = APIRouter(tags=["sessions"])


@router.post("/sessions/{session_id}/start", operation_id="session_start", response_model=ContextResponse)
def session_start(session: InSession, body: SessionStartRequest | None = None) -> Json:
    """Begin a session, and return its first context: pinned and hot memories."""
    request = body or SessionStartRequest()
    return context_response(session.session_start(request.budget, request.format))


@router.post("/sessions/{session_id}/compacted", operation_id="session_compacted", status_code=204)
@once
def session_compacted(session: InSession) -> None:
    """Record that the host has compacted its context: contexts may repeat memories, and a flush may be due again."""
    session.context_compacted()


@router.post(
    "/sessions/{session_id}/memories", operation_id="session_add", status_code=201, response_model=AddedMemoryResponse
)
@once
def session_add(session: InSession, body: SessionAddRequest, response: Response) -> Json:
    """Add to a session's hot memory; older hot memories are spilled when it is full."""
    memory = session.add(body.content, body.type, body.metadata)
    added = serializers.added_json(
        memory, session.memory.settings.hot_token_limit, session.memory.secrets_in(body.content)
    )
    return {**memory_response(memory, response, created=True), **added}


@router.get("/sessions/{session_id}/hot", operation_id="session_hot", response_model=MemoriesResponse)
def session_hot(session: ExistingSession) -> Json:
    """Return a session's hot memories, newest first; 404 if the session has not begun."""
    return {"memories": [serializers.memory_json(memory) for memory in session.hot()]}


@router.get(
    "/sessions/{session_id}/status", operation_id="session_status", response_model=SessionStatusResponse,
    response_model_exclude_unset=True,
)  # fmt: skip
def session_status(outer: OuterMemory, session_id: SessionId) -> Json:
    """Return how full a session's hot memory is, and what is suggested; 404 if the session has not begun."""
    return tools.memory_status(outer, session_id)


@router.post("/sessions/{session_id}/spill", operation_id="session_spill", response_model=SpillResponse)
@once
def session_spill(session: InSession, body: SpillRequest) -> Json:
    """Move hot memories out: the least relevant and oldest, or those given in `ids`."""
    return tools.memory_spill(session.memory, session.id, body.count, body.ids)


@router.post("/sessions/{session_id}/promote", operation_id="session_promote", response_model=PromoteResponse)
@once
def session_promote(session: InSession, body: PromoteRequest) -> Json:
    """Move a memory of a session to hot; older hot memories are spilled if needed."""
    return {"id": body.memory_id, "promoted": session.promote(body.memory_id)}


@router.post("/sessions/{session_id}/demote", operation_id="session_demote", response_model=MemoryResponse)
@once
def session_demote(session: ExistingSession, body: DemoteRequest, response: Response) -> Json:
    """Move a memory of a session to warm or cold."""
    return memory_response(apply(session.demote, body.memory_id, body.tier), response)


@router.post("/sessions/{session_id}/keep", operation_id="session_keep", response_model=MemoryResponse)
@once
def session_keep(session: ExistingSession, body: KeepRequest, response: Response) -> Json:
    """Move a memory of a session to the scope around it, so that it remains after the session."""
    return memory_response(apply(session.keep, body.memory_id), response)


@router.post("/sessions/{session_id}/prune", operation_id="session_prune", response_model=PruneResponse)
@once
def session_prune(session: ExistingSession, body: PruneRequest | None = None) -> Json:
    """Delete the least relevant cold memories of a session beyond `keep`; they can be restored for `grace_days`."""
    return {"sessionId": session.id, "pruned": session.prune(None if body is None else body.keep)}


@router.post("/sessions/{session_id}/clear", operation_id="session_clear", response_model=ClearResponse)
@once
def session_clear(session: ExistingSession) -> Json:
    """Delete the memories of a session, except pinned ones; they can be restored for `grace_days`."""
    return {"sessionId": session.id, "cleared": session.clear()}


@router.post("/sessions/{session_id}/recall", operation_id="session_recall", response_model=RecallResponse)
def session_recall(session: InSession, body: SessionRecallRequest) -> Json:
    """Search a session's own memories in all tiers, and promote the best hits to hot."""
    return recall_response(session.recall(body.query, body.limit, body.auto_promote, body.types), body.limit)


@router.post("/sessions/{session_id}/context", operation_id="session_context", response_model=ContextResponse)
def session_context(session: InSession, body: SessionContextRequest) -> Json:
    """Return the context of a turn, without memories that the session was given before."""
    return context_response(session.before_turn(body.prompt, body.budget, body.format, body.include_cold))


@router.post("/sessions/{session_id}/flush", operation_id="session_flush", response_model=FlushResponse)
@once
def session_flush(session: InSession, body: FlushRequest) -> Json:
    """Return whether the agent should save memories before the host compacts its context, once per compaction."""
    flush = session.flush_due(**body.model_dump())
    return {"due": False} if flush is None else {"due": True, **serializers.flush_json(flush)}


@router.post("/sessions/{session_id}/end", operation_id="session_end", response_model=CompactionResponse)
@once
def session_end(session: InSession, body: SessionEndRequest | None = None) -> Json:
    """End a session, and run compaction if `compaction_on_session_end` is set."""
    compaction = session.session_end(None if body is None else body.summary)
    return compaction_response(Compaction() if compaction is None else compaction)
