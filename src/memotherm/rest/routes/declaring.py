"""Declare a handler with its route of the table that the client uses too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import APIRouter

from memotherm.remote.table import ROUTES
from memotherm.rest.problems import PROBLEM_TYPE

__all__ = ["route"]

Handler = TypeVar("Handler", bound=Callable[..., Any])

_PROBLEM = {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemResponse"}}}
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "The request cannot be served; `code` and `detail` say why.", "content": _PROBLEM},
    "5XX": {"description": "The server or its store has a problem.", "content": _PROBLEM},
}


def route(router: APIRouter, operation: str, **options: Any) -> Callable[[Handler], Handler]:  # noqa: ANN401
    """Return a decorator that lets a function handle the route of an operation."""
    method, path, _ = ROUTES[operation]
    responses = {**_PROBLEMS, **options.pop("responses", {})}
    return router.api_route(path, methods=[method], operation_id=operation, responses=responses, **options)
