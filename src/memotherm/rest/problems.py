"""Errors as `application/problem+json` (RFC 9457)."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from memotherm.errors import InvalidInput, MemothermError, StoreBusy, StoreError, StoreFull

_log = logging.getLogger("memotherm.rest")

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

#: Statuses with a Retry-After header.
_RETRY_STATUSES = {429, 503}


class KeyReused(InvalidInput, code="idempotency_key_reused"):
    """An Idempotency-Key that was used for another request."""


def error_response(error: MemothermError) -> Response:
    """Return an error as a problem; what a store says about itself is for the log only, not for callers."""
    detail = str(error)
    if isinstance(error, StoreError) and not isinstance(error, StoreBusy | StoreFull):
        _log.error("the store failed: %s", detail)
        detail = f"{type(error).__doc__} The log of the server says more."
    return problem_response(error.status, error.code, detail)


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
