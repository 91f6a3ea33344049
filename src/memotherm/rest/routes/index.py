"""Find the route of a request by the first part of its path, instead of asking every route in turn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

__all__ = ["RouteIndex"]


class RouteIndex(BaseRoute):
    """Routes whose paths begin with a fixed part; of those with the same part, the first that matches is taken."""

    def __init__(self, routes: Iterable[APIRoute]) -> None:
        self._routes: dict[str, list[APIRoute]] = defaultdict(list)
        for route in routes:
            self._routes[_first_part(route.path)].append(route)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return how a route matches a request; one with another method only if there is none with the same."""
        found: tuple[Match, Scope] = Match.NONE, {}
        if scope["type"] != "http":
            return found
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        for route in self._routes.get(_first_part(path), ()):
            match, child_scope = route.matches(scope)
            if match is Match.FULL:
                return match, child_scope
            if match is Match.PARTIAL and found[0] is Match.NONE:
                found = match, child_scope
        return found

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the route that matches handle the request; it has put itself into the scope."""
        await scope["route"].handle(scope, receive, send)


def _first_part(path: str) -> str:
    return path.split("/", 2)[1] if path.startswith("/") else path
