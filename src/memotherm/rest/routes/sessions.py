"""The working memory of sessions."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from memotherm import tools
from memotherm.model.results import Compaction
from memotherm.remote import encoding
from memotherm.rest.idempotency import once
from memotherm.rest.routes.declaring import route
from memotherm.rest.routes.parameters import ExistingSession, InSession, OuterMemory, SessionId
from memotherm.rest.routes.responses import (
    apply,
    compaction_response,
    context_response,
    memory_response,
    recall_response,
)
from memotherm.rest.schemas.filters import raw_where
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
    SessionEndResponse,
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


@route(router, "session_begin", status_code=204)
@once
def session_begin(session: InSession) -> None:
    """Begin a session, or continue it."""


@route(router, "session_start", response_model=ContextResponse)
def session_start(session: InSession, body: SessionStartRequest | None = None) -> Json:
    """Begin a session, and return its first context: pinned and hot memories."""
    request = body or SessionStartRequest(memories=False, parts=False)
    return context_response(
        session.session_start(request.budget, request.format), memories=request.memories, parts=request.parts
    )


@route(router, "session_compacted", status_code=204)
@once
def session_compacted(session: InSession) -> None:
    """Record that the host has compacted its context: contexts may repeat memories, and a flush may be due again."""
    session.context_compacted()


@route(router, "session_add", status_code=201, response_model=AddedMemoryResponse)
@once
def session_add(session: InSession, body: SessionAddRequest, response: Response) -> Json:
    """Add to a session's hot memory; older hot memories are spilled when it is full."""
    memory = session.add(body.content, body.type, body.metadata, tier=body.tier)
    added = serializers.added_json(
        memory, session.memory.settings.hot_token_limit, session.memory.secrets_in(body.content)
    )
    return {**memory_response(memory, response, created=True), **added}


@route(router, "session_hot", response_model=MemoriesResponse)
def session_hot(session: ExistingSession) -> Json:
    """Return a session's hot memories, newest first; 404 if the session has not begun."""
    return {"memories": [encoding.memory_json(memory) for memory in session.hot()]}


@route(router, "session_status", response_model=SessionStatusResponse,
    response_model_exclude_unset=True,
)  # fmt: skip
def session_status(outer: OuterMemory, session_id: SessionId) -> Json:
    """Return how full a session's hot memory is, and what is suggested; 404 if the session has not begun."""
    return tools.memory_status(outer, session_id)


@route(router, "session_spill", response_model=SpillResponse)
@once
def session_spill(session: InSession, body: SpillRequest) -> Json:
    """Move hot memories out: the least relevant and oldest, or those given in `ids`."""
    return tools.memory_spill(session.memory, session.id, body.count, body.ids)


@route(router, "session_promote", response_model=PromoteResponse)
@once
def session_promote(session: InSession, body: PromoteRequest) -> Json:
    """Move a memory of a session to hot; older hot memories are spilled if needed."""
    return {"id": body.memory_id, "promoted": session.promote(body.memory_id)}


@route(router, "session_demote", response_model=MemoryResponse)
@once
def session_demote(session: ExistingSession, body: DemoteRequest, response: Response) -> Json:
    """Move a memory of a session to warm or cold."""
    return memory_response(apply(session.demote, body.memory_id, body.tier), response)


@route(router, "session_forget", response_model=MemoryResponse)
@once
def session_forget(session: ExistingSession, body: KeepRequest, response: Response) -> Json:
    """Delete a memory of a session; it can be restored for `grace_days`."""
    return memory_response(apply(session.forget, body.memory_id), response)


@route(router, "session_keep", response_model=MemoryResponse)
@once
def session_keep(session: ExistingSession, body: KeepRequest, response: Response) -> Json:
    """Move a memory of a session to the scope around it, so that it remains after the session."""
    return memory_response(apply(session.keep, body.memory_id), response)


@route(router, "session_prune", response_model=PruneResponse)
@once
def session_prune(session: ExistingSession, body: PruneRequest | None = None) -> Json:
    """Delete the least relevant cold memories of a session beyond `keep`; they can be restored for `grace_days`."""
    return {"sessionId": session.id, "pruned": session.prune(None if body is None else body.keep)}


@route(router, "session_clear", response_model=ClearResponse)
@once
def session_clear(session: ExistingSession) -> Json:
    """Delete the memories of a session, except pinned ones; they can be restored for `grace_days`."""
    return {"sessionId": session.id, "cleared": session.clear()}


@route(router, "session_recall", response_model=RecallResponse)
def session_recall(session: InSession, body: SessionRecallRequest) -> Json:
    """Search a session's own memories in all tiers, and promote the best hits to hot."""
    return recall_response(session.recall(body.query, body.limit, body.auto_promote, body.types), body.limit)


@route(router, "session_context", response_model=ContextResponse)
def session_context(session: InSession, body: SessionContextRequest) -> Json:
    """Return the context of a turn, without memories that the session was given before."""
    arguments = {**body.model_dump(exclude={"memories", "parts"}), "where": raw_where(body)}
    return context_response(session.before_turn(**arguments), memories=body.memories, parts=body.parts)


@route(router, "session_flush", response_model=FlushResponse)
@once
def session_flush(session: InSession, body: FlushRequest) -> Json:
    """Return whether the agent should save memories before the host compacts its context, once per compaction."""
    flush = session.flush_due(**body.model_dump())
    return {"due": False} if flush is None else {"due": True, **serializers.flush_json(flush)}


@route(router, "session_run_ended", response_model=SessionEndResponse)
@once
def session_run_ended(session: InSession) -> Json:
    """Record the end of one run of the agent, and run compaction if `compact_every_run` is set."""
    return _end_response(session.run_ended())


@route(router, "session_end", response_model=SessionEndResponse)
@once
def session_end(session: InSession, body: SessionEndRequest | None = None) -> Json:
    """End a session, and run compaction if `compaction_on_session_end` is set."""
    return _end_response(session.session_end(None if body is None else body.summary))


def _end_response(compaction: Compaction | None) -> Json:
    response = compaction_response(Compaction() if compaction is None else compaction)
    return {**response, "compacted": compaction is not None}
