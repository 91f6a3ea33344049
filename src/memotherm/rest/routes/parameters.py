"""Parameters that several handlers take: the scope of a request, ids and headers."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Header, Path, Query, Request
from starlette.exceptions import HTTPException

from memotherm import Memotherm
from memotherm.errors import InvalidInput
from memotherm.model import SCOPE_FIELDS
from memotherm.rest.schemas.fields import Key
from memotherm.rest.scope_header import HEADER, PATTERN, requested_scope
from memotherm.session import Session

__all__ = [
    "ABSENT",
    "ETAG",
    "NAME",
    "ExistingSession",
    "InSession",
    "Inside",
    "KeyPrefix",
    "KindFilter",
    "MemoryId",
    "MemoryIdOrNumber",
    "OuterMemory",
    "SessionId",
    "View",
    "WholeStore",
    "in_session",
]

#: Visible ASCII, with spaces inside only.
NAME = r"^[!-~]([ -~]{0,198}[!-~])?$"
#: The quotes are optional, because some clients drop them.
ETAG = '^"?[0-9]{1,18}"?$'
#: The default of an optional header that is never null.
ABSENT: Any = None

_KIND = r"^[a-z][a-z0-9_-]{0,31}$"
_SESSION_ID = r"^[A-Za-z0-9_.:@+-]{1,200}$"


_ScopeHeader = Annotated[
    str,
    Header(
        json_schema_extra={"pattern": PATTERN},
        description="The scope, such as `project=web; agent=planner`, with the fields project, environment, user, "
        "agent and session in any order; names are percent-encoded. The tenant is that of the API key.",
    ),
]


# The header is a parameter for the document only: `requested_scope` reads every line of it.
def outer_memory(request: Request, memotherm_scope: _ScopeHeader = ABSENT) -> Memotherm:  # noqa: ARG001
    """Return the memory of the key's tenant, in the scope of the header without its session."""
    scope = _requested(request)
    scope.pop("session", None)
    return _narrowed(request, scope)


def scoped_memory(request: Request, memotherm_scope: _ScopeHeader = ABSENT) -> Memotherm:  # noqa: ARG001
    """Return the memory in the scope of the header, with its session."""
    return _narrowed(request, _requested(request))


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


_Kind = Annotated[str | None, Query(pattern=_KIND)]
_Type = Annotated[str | None, Query(alias="type", pattern=_KIND, include_in_schema=False)]
_Category = Annotated[str | None, Query(alias="category", pattern=_KIND, include_in_schema=False)]


def kind_filter(kind: _Kind = None, type_: _Type = None, category: _Category = None) -> str | None:
    """Return the kind to list, which other programs call type or category."""
    given = [value for value in (kind, type_, category) if value is not None]
    if len(given) > 1:
        raise InvalidInput("kind, type and category mean the same: give one of them")
    return next(iter(given), None)


KindFilter = Annotated[str | None, Depends(kind_filter)]
OuterMemory = Annotated[Memotherm, Depends(outer_memory)]
View = Annotated[Memotherm, Depends(scoped_memory)]
Inside = Annotated[bool, Query(description="Everything at and below the scope, instead of what it can see.")]
KeyPrefix = Annotated[Key | None, Query(description="Only keys that begin with this.")]
MemoryId = Annotated[str, Path(pattern=r"^mem_[0-9a-z]{26}$")]
#: The id of a memory, or `#` and its number, as a context names a memory that it has shortened.
MemoryIdOrNumber = Annotated[str, Path(pattern=r"^(mem_[0-9a-z]{26}|#[0-9]{1,18})$")]
SessionId = Annotated[str, Path(pattern=_SESSION_ID)]


# A coroutine, which FastAPI calls before it validates the request: nobody else is told what is wrong with it.
async def whole_store(request: Request) -> Memotherm:
    """Return the memory of the whole store, unless the request is restricted to a part of it."""
    mem: Memotherm = request.scope["memotherm"]
    if mem.scope.items():
        raise HTTPException(403, "this concerns the whole store: an API key of a tenant cannot see it")
    return mem


WholeStore = Annotated[Memotherm, Depends(whole_store)]


def begun_session(
    request: Request, session_id: SessionId, memotherm_scope: _ScopeHeader = ABSENT
) -> Session[Memotherm]:
    """Return a session; a new one begins."""
    return outer_memory(request, memotherm_scope).session(session_id)


def existing_session(
    request: Request, session_id: SessionId, memotherm_scope: _ScopeHeader = ABSENT
) -> Session[Memotherm]:
    """Return a session that has begun; reading one must not begin it."""
    outer = outer_memory(request, memotherm_scope)
    outer.session_status(session_id)
    return outer.session(session_id)


InSession = Annotated[Session[Memotherm], Depends(begun_session)]
ExistingSession = Annotated[Session[Memotherm], Depends(existing_session)]
