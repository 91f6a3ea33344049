"""Responses that several handlers give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import Response
from starlette.exceptions import HTTPException

from memotherm import Context
from memotherm.errors import ContentTooLarge, InvalidInput
from memotherm.model import Hit, Memory, Recall
from memotherm.model.results import Compaction, Page
from memotherm.remote import encoding
from memotherm.rest.schemas.memories import ReasonRequest
from memotherm.tools import serializers

__all__ = [
    "apply",
    "compaction_response",
    "context_response",
    "etag",
    "hit_response",
    "memory_response",
    "page_response",
    "reason",
    "recall_response",
]

Json = dict[str, Any]
Result = TypeVar("Result")


def apply(verb: Callable[..., Result], *arguments: object, **options: object) -> Result:
    """Call a verb; the request is valid, so that an error is a conflict with the state of the memory."""
    try:
        return verb(*arguments, **options)
    except ContentTooLarge:
        raise
    except InvalidInput as exc:
        raise HTTPException(409, str(exc)) from exc


def etag(memory: Memory) -> str:
    """Return the entity tag of a memory."""
    return f'"{memory.version}"'


def memory_response(memory: Memory, response: Response, *, created: bool = False) -> Json:
    """Return a memory as JSON, and set the headers that belong to it."""
    response.headers["etag"] = etag(memory)
    if created:
        response.headers["location"] = f"/memories/{memory.id}"
    return encoding.memory_json(memory)


def reason(body: ReasonRequest | None) -> str:
    """Return the reason that an optional body gives."""
    return "" if body is None else body.why


def recall_response(recall: Recall, limit: int) -> Json:
    """Return the hits of a recall as JSON, with the limit that took effect."""
    return {"items": [hit_response(hit) for hit in recall], **serializers.found_json(recall), "limit": limit}


def hit_response(hit: Hit) -> Json:
    """Return a hit as JSON, with the parts of its score."""
    return {**encoding.memory_json(hit.memory), **serializers.score_json(hit), "parts": hit.why.as_dict()}


def page_response(page: Page) -> Json:
    """Return a page of memories as JSON."""
    memories = [encoding.memory_json(memory) for memory in page]
    return {"memories": memories, "next_page": page.cursor, "hint": page.hint}


def context_response(context: Context, *, memories: bool = False, parts: bool = False) -> Json:
    """Return a context as JSON, on request with the memories that were considered for it, and the parts of its text."""
    sizes = {"tokens": context.tokens, "recall_id": context.recall_id}
    found = {"text": context.text, **sizes, "receipt": context.receipt.as_dict()}
    cut = [{"id": memory_id, "text": text} for memory_id, text in context.parts()] if parts else []
    return {**found, "memories": encoding.considered_json(context) if memories else [], "parts": cut}


def compaction_response(compaction: Compaction) -> Json:
    """Return a compaction as JSON."""
    counts = {"hot": compaction.hot, "warm": compaction.warm, "cold": compaction.cold}
    moves = [serializers.move_json(move) for move in compaction.moves]
    return {**counts, "dry_run": compaction.dry_run, "moves": moves, "degraded": list(compaction.degraded)}
