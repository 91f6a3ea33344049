"""Errors as `application/problem+json` (RFC 9457), and the HTTP status of each error code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from memotherm.errors import InvalidInput, MemothermError

__all__ = ["PROBLEMS", "PROBLEM_SCHEMA", "STATUSES", "KeyReused", "problem_response", "status_of"]

_PROBLEM_TYPE = "application/problem+json"

#: The schema of a problem.
PROBLEM_SCHEMA = {
    "type": "object",
    "title": "ProblemResponse",
    "description": "A problem (RFC 9457).",
    "properties": {
        **{name: {"type": "string"} for name in ("type", "title", "code", "detail")},
        "status": {"type": "integer"},
        "errors": {"type": "array", "items": {"type": "object"}},
    },
    "required": ["type", "title", "status", "code", "detail"],
}
_PROBLEM = {_PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemResponse"}}}
#: The problems of every route, for the OpenAPI document.
PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "The request cannot be served; `code` and `detail` say why.", "content": _PROBLEM},
    "5XX": {"description": "The server or its store has a problem.", "content": _PROBLEM},
}

#: Every error code of `memotherm.errors`; a test keeps the table complete.
STATUSES = {
    "error": 500,
    "invalid_input": 422,
    "content_too_large": 413,
    "not_found": 404,
    "limit_reached": 409,
    "budget_too_small": 409,
    "stale_write": 412,
    "read_only": 403,
    "forbidden": 403,
    "note_unavailable": 503,
    "settings": 500,
    "policy": 422,
    "store": 500,
    "store_unavailable": 503,
    "not_a_store": 500,
    "wrong_key": 500,
    "schema_too_new": 500,
    "store_busy": 503,
    "store_full": 507,
    "store_damaged": 500,
    "store_closed": 503,
    "lease_lost": 503,
    "embedder": 502,
    "embedder_unavailable": 503,
    "embedder_refused": 502,
    "dimension_mismatch": 502,
    "plugin": 500,
    "plugin_not_found": 500,
    "plugin_unavailable": 501,
}
#: Statuses with a Retry-After header.
_RETRY_STATUSES = {429, 503}


class KeyReused(InvalidInput):
    """An Idempotency-Key that was used for another request."""

    code = "idempotency_key_reused"


def status_of(error: MemothermError) -> int:
    """Return the HTTP status of an error."""
    return 422 if isinstance(error, KeyReused) else STATUSES.get(error.code, 500)


def problem_response(
    status: int, code: str, detail: str, headers: Mapping[str, str] | None = None, **members: object
) -> Response:
    """Return a problem; `code` is for programs, `detail` tells a person what to do."""
    body = {
        "type": f"urn:memotherm:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": code,
        "detail": detail,
        **members,
    }
    retry = {"retry-after": "1"} if status in _RETRY_STATUSES else {}
    return Response(json.dumps(body), status, {**retry, **(headers or {})}, _PROBLEM_TYPE)
