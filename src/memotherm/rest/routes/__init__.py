"""The routes: those of the table of operations, and those of the server itself."""

from __future__ import annotations

from fastapi import APIRouter

from memotherm.operations.table import OPERATIONS
from memotherm.rest.routes import query, server
from memotherm.rest.routes.derived import SCHEMAS, add_route
from memotherm.rest.routes.overrides import OVERRIDES

__all__ = ["SCHEMAS", "router"]

#: Filters that a query string cannot have.
_IN_BODIES = ("where", "contains", "mentions", "ids", "order", "skip")

router = APIRouter()
router.include_router(server.router)
for operation in OPERATIONS.values():
    if operation.route and operation.name not in query.OWN:
        add_route(router, operation, *OVERRIDES.get(operation.name, ()))
add_route(router, OPERATIONS["find"], route="GET /memories", id="list_memories", without=_IN_BODIES)
router.include_router(query.router)
