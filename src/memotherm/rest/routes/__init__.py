"""The request handlers, one module per subject: each makes one call of the facade."""

from __future__ import annotations

from fastapi.routing import APIRoute

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

#: All routes, in the order of the document.
ROUTES: tuple[APIRoute, ...] = tuple(
    route for subject in _SUBJECTS for route in subject.router.routes if isinstance(route, APIRoute)
)
