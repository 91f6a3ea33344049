"""The request handlers, one module per subject: each makes one call of the facade."""

from __future__ import annotations

from starlette.routing import BaseRoute

from memotherm.rest.routes import (
    administration,
    events,
    health,
    jobs,
    logins,
    memories,
    notes,
    policies,
    search,
    server,
    sessions,
)

__all__ = ["ROUTES"]

_SUBJECTS = (search, sessions, memories, notes, administration, policies, jobs, health, events, logins, server)

#: All routes in one list, those of most requests first; routers inside a router are matched several times a request.
ROUTES: tuple[BaseRoute, ...] = tuple(route for subject in _SUBJECTS for route in subject.router.routes)
