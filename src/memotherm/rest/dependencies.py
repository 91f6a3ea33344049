"""What handlers depend on: the memory in the scope of a request, and the whole store.

They are coroutines, which FastAPI calls without a thread; none of them reads the store.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Header, Request
from starlette.exceptions import HTTPException

from memotherm import Memotherm
from memotherm.errors import InvalidInput
from memotherm.model import SCOPE_FIELDS
from memotherm.rest.scope_header import HEADER, PATTERN, requested_scope

__all__ = ["ABSENT", "ETAG", "OuterMemory", "View", "WholeStore", "in_session"]

#: The quotes are optional, because some clients drop them.
ETAG = '^"?[0-9]{1,18}"?$'
#: The default of an optional header that is never null.
ABSENT: Any = None

_ScopeHeader = Annotated[
    str,
    Header(
        json_schema_extra={"pattern": PATTERN},
        description="The scope, such as `project=web; agent=planner`, with the fields project, environment, user, "
        "agent and session in any order; names are percent-encoded. The tenant is that of the API key.",
    ),
]


# The header is a parameter for the document only: `requested_scope` reads every line of it.
async def outer_memory(request: Request, memotherm_scope: _ScopeHeader = ABSENT) -> Memotherm:  # noqa: ARG001
    """Return the memory of the key's tenant, in the scope of the header without its session."""
    scope = _requested(request)
    scope.pop("session", None)
    return _narrowed(request, scope)


async def scoped_memory(request: Request, memotherm_scope: _ScopeHeader = ABSENT) -> Memotherm:  # noqa: ARG001
    """Return the memory in the scope of the header, with its session."""
    return _narrowed(request, _requested(request))


async def whole_store(request: Request) -> Memotherm:
    """Return the memory of the whole store, unless the request is restricted to a part of it.

    FastAPI calls it before it validates the request: nobody else is told what is wrong with it.
    """
    mem: Memotherm = request.scope["memotherm"]
    if mem.scope.items():
        raise HTTPException(403, "this concerns the whole store: an API key of a tenant cannot see or change it")
    return mem


def _requested(request: Request) -> dict[str, str]:
    misplaced = [name for name in SCOPE_FIELDS if name in request.query_params]
    if misplaced:
        # Ignored, it would give the caller another scope than intended.
        raise InvalidInput(f"{misplaced[0]} is not a query parameter: send the header {HEADER}")
    return requested_scope(request.scope["headers"])


def _narrowed(request: Request, scope: dict[str, str]) -> Memotherm:
    mem: Memotherm = request.scope["memotherm"]
    return mem.scoped(**scope) if scope else mem


def in_session(view: Memotherm, session: str | None) -> Memotherm:
    """Return the memory in the session that a body names; another one than that of the header is a conflict."""
    try:
        return view if session is None else view.scoped(session=session)
    except InvalidInput as exc:
        raise HTTPException(409, str(exc)) from exc


OuterMemory = Annotated[Memotherm, Depends(outer_memory)]
View = Annotated[Memotherm, Depends(scoped_memory)]
WholeStore = Annotated[Memotherm, Depends(whole_store)]
