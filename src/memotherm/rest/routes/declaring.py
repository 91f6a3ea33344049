"""Declare a handler with its route of the table that the client uses too."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, iscoroutinefunction, signature
from typing import Any, TypeVar

from fastapi import APIRouter, Response
from fastapi.params import Depends
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
        endpoint = handler if iscoroutinefunction(handler) else _with_dependencies(handler)
        if response_model is not None:
            endpoint = _encoding(endpoint, response_model, status_code, exclude_unset=response_model_exclude_unset)
        declare(endpoint)
        return handler

    return declared


def _with_dependencies(handler: Callable[..., Any]) -> Callable[..., Any]:
    """Return a handler that takes the parameters of its dependencies besides its own, and calls them itself.

    FastAPI would resolve each dependency as it resolves a handler, and call it in a thread of its own. Those that
    are coroutines are left to it.
    """
    own = signature(handler, eval_str=True).parameters
    dependencies = {name: found for name, parameter in own.items() if (found := _dependency(parameter)) is not None}
    taken = {name: signature(function, eval_str=True).parameters for name, function in dependencies.items()}
    direct = {name: parameter for name, parameter in own.items() if name not in dependencies}

    @wraps(handler)
    def complete(**arguments: Any) -> Any:  # noqa: ANN401 - what the handler takes and returns
        values = {name: arguments[name] for name in direct}
        for name, dependency in dependencies.items():
            values[name] = dependency(**{each: arguments[each] for each in taken[name]})
        return handler(**values)

    parameters = dict(direct)
    for more in taken.values():
        parameters |= more
    keywords = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in parameters.values()]
    complete.__signature__ = Signature(keywords)  # type: ignore[attr-defined]
    return complete


def _dependency(parameter: Parameter) -> Callable[..., Any] | None:
    """Return the function whose result a parameter is, unless it is none, or a coroutine's."""
    details = getattr(parameter.annotation, "__metadata__", ())
    found = next((detail.dependency for detail in details if isinstance(detail, Depends)), None)
    return None if iscoroutinefunction(found) else found


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
