"""Declare a handler with its route of the table that the client uses too."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from fastapi import APIRouter, Response
from pydantic import BaseModel, TypeAdapter

from memotherm.remote.table import ROUTES
from memotherm.rest.problems import PROBLEM_TYPE

__all__ = ["route"]

Handler = TypeVar("Handler", bound=Callable[..., Any])

_PROBLEM = {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemResponse"}}}
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "The request cannot be served; `code` and `detail` say why.", "content": _PROBLEM},
    "5XX": {"description": "The server or its store has a problem.", "content": _PROBLEM},
}


def route(
    router: APIRouter,
    operation: str,
    *,
    response_model: type[BaseModel] | None = None,
    response_model_exclude_unset: bool = False,
    status_code: int = 200,
    **options: Any,  # noqa: ANN401
) -> Callable[[Handler], Handler]:
    """Return a decorator that lets a function handle the route of an operation."""
    method, path, _ = ROUTES[operation]
    responses = {**_PROBLEMS, **options.pop("responses", {})}
    declare = router.api_route(
        path,
        methods=[method],
        operation_id=operation,
        responses=responses,
        response_model=response_model,
        response_model_exclude_unset=response_model_exclude_unset,
        status_code=status_code,
        **options,
    )

    def declared(handler: Handler) -> Handler:
        if response_model is None:
            declare(handler)
        else:
            declare(_encoding(handler, response_model, status_code, exclude_unset=response_model_exclude_unset))
        return handler

    return declared


def _encoding(
    handler: Callable[..., Any], model: type[BaseModel], status_code: int, *, exclude_unset: bool
) -> Callable[..., Response]:
    """Return a handler that also validates and encodes its response; FastAPI would do that in a second thread."""
    schema = TypeAdapter(model)

    @wraps(handler)
    def encoded(**arguments: Any) -> Response:  # noqa: ANN401 - what the handler takes
        result = handler(**arguments)
        if isinstance(result, Response):
            return result
        body = schema.dump_json(schema.validate_python(result), by_alias=True, exclude_unset=exclude_unset)
        response = Response(body, status_code, media_type="application/json")
        if (given := arguments.get("response")) is not None:
            response.status_code = given.status_code or status_code
            response.headers.raw.extend(given.headers.raw)
        return response

    return encoded
