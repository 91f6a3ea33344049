"""Declare a handler with its route of the table that the client uses too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import APIRouter

from memotherm.remote.table import ROUTES

__all__ = ["route"]

Handler = TypeVar("Handler", bound=Callable[..., Any])


def route(router: APIRouter, operation: str, **options: Any) -> Callable[[Handler], Handler]:  # noqa: ANN401
    """Return a decorator that lets a function handle the route of an operation."""
    method, path, _ = ROUTES[operation]
    return router.api_route(path, methods=[method], operation_id=operation, **options)
