"""The table of routes; the server declares its handlers with it, and the client finds their paths in it."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ROUTES", "SCOPE_HEADER", "Route"]

#: The header that names the scope of a request.
SCOPE_HEADER = "Memotherm-Scope"


class Route(NamedTuple):
    """The method and path of an operation."""

    method: str
    path: str
    #: Whether it changes memories.
    writes: bool = True


def _query(path: str) -> Route:
    return Route("POST", path, writes=False)


def _get(path: str) -> Route:
    return Route("GET", path, writes=False)


def _post(path: str) -> Route:
    return Route("POST", path)


#: The routes by the id of the operation.
ROUTES = {
    "list_memories": _get("/memories"),
    "find": _query("/memories:find"),
    "count": _query("/memories:count"),
    "forget_many": _post("/memories:forget"),
    "restore_many": _post("/memories:restore"),
    "purge_many": _post("/memories:purge"),
    "remember": _post("/memories"),
    "remember_many": _post("/memories:batch"),
    "capture": _post("/memories:capture"),
    "get_by_key": _get("/memories:key"),
    "list_keys": _get("/memories:keys"),
    "full_id": _get("/memories:id"),
    "get_memory": _get("/memories/{memory_id}"),
    "change": Route("PATCH", "/memories/{memory_id}"),
    "forget": Route("DELETE", "/memories/{memory_id}"),
    "move": _post("/memories/{memory_id}/move"),
    "prioritize": _post("/memories/{memory_id}/prioritize"),
    "pin": _post("/memories/{memory_id}/pin"),
    "unpin": _post("/memories/{memory_id}/unpin"),
    "verify": _post("/memories/{memory_id}/verify"),
    "widen": _post("/memories/{memory_id}/widen"),
    "archive": _post("/memories/{memory_id}/archive"),
    "restore": _post("/memories/{memory_id}/restore"),
    "purge": _post("/memories/{memory_id}/purge"),
    "history": _get("/memories/{memory_id}/history"),
    "recall": _query("/recall"),
    "query": _query("/memory/query"),
    "context": _query("/context"),
    "feedback": _post("/feedback"),
    "receipts": _get("/receipts"),
    "receipt": _get("/receipts/{number}"),
    "explain_receipt": _get("/receipts/{number}/memories/{memory_id}"),
    "session_begin": _post("/sessions/{session_id}"),
    "session_start": _post("/sessions/{session_id}/start"),
    "session_compacted": _post("/sessions/{session_id}/compacted"),
    "session_add": _post("/sessions/{session_id}/memories"),
    "session_hot": _get("/sessions/{session_id}/hot"),
    "session_status": _get("/sessions/{session_id}/status"),
    "session_spill": _post("/sessions/{session_id}/spill"),
    "session_promote": _post("/sessions/{session_id}/promote"),
    "session_demote": _post("/sessions/{session_id}/demote"),
    "session_forget": _post("/sessions/{session_id}/forget"),
    "session_keep": _post("/sessions/{session_id}/keep"),
    "session_prune": _post("/sessions/{session_id}/prune"),
    "session_clear": _post("/sessions/{session_id}/clear"),
    "session_recall": _post("/sessions/{session_id}/recall"),
    "session_context": _post("/sessions/{session_id}/context"),
    "session_flush": _post("/sessions/{session_id}/flush"),
    "session_run_ended": _post("/sessions/{session_id}/run-ended"),
    "session_end": _post("/sessions/{session_id}/end"),
    "search_notes": _query("/notes/search"),
    "read_note": _get("/notes/lines"),
    "curate": _post("/notes/curate"),
    "neighbours": _get("/memories/{memory_id}/neighbours"),
    "uses": _get("/memories/{memory_id}/uses"),
    "tier_history": _get("/tiers/history"),
    "status": _get("/status"),
    "scopes": _get("/scopes"),
    "everything": _get("/everything"),
    "store": _get("/store"),
    "check": _get("/check"),
    "doctor": _get("/doctor"),
    "settings": _get("/settings"),
    "keys": _get("/keys"),
    "recalls": _get("/recalls"),
    "compact": _post("/compact"),
    "maintain": _post("/maintain"),
    "policy_show": _get("/policy"),
    "policy_lint": _query("/policy/lint"),
    "policy_test": _query("/policy/test"),
    "policy_diff": _query("/policy/diff"),
    "policy_adopt": _post("/policy/adopt"),
    "policy_rollback": _post("/policy/rollback"),
    "policy_shadow_report": _get("/policy/shadow"),
    "policy_shadow_start": _post("/policy/shadow"),
    "policy_shadow_stop": Route("DELETE", "/policy/shadow"),
    "policy_replay": _query("/policy/replay"),
    "job": _get("/jobs/{job_id}"),
    "job_cancel": Route("DELETE", "/jobs/{job_id}", writes=False),
    "erase": _post("/erase"),
    "events": _get("/events"),
    "stream_events": _get("/events/stream"),
    "undo": _post("/events/{event_seq}/undo"),
    "login": _query("/login"),
    "login_status": _get("/login"),
    "logout": Route("DELETE", "/login", writes=False),
    "health": _get("/health"),
    "metrics": _get("/metrics"),
}
