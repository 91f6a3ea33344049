"""What handlers depend on: the memory in the scope of a request, and the whole store.

They are coroutines, which FastAPI calls without a thread; none of them reads the store.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import Depends, Header, Request
from starlette.exceptions import HTTPException

from memotherm import Memotherm
from memotherm.errors import InvalidInput
from memotherm.model import SCOPE_FIELDS
from memotherm.operations.table import SCOPE_HEADER

#: The quotes are optional, because some clients drop them.
ETAG = '^"?[0-9]{1,18}"?$'
#: The default of an optional header that is never null.
ABSENT: Any = None

#: The fields of the header; the tenant is that of the API key.
_FIELDS = tuple(name for name in SCOPE_FIELDS if name != "tenant")
#: The plainest form of the header, for the OpenAPI document; `requested_scope` accepts more.
_PATTERN = "^" + "".join(f"({name}=[!-$&-:<-~]{{1,200}};?)?" for name in _FIELDS) + "$"
_ENCODED = re.compile("[ -~]*")
_BROKEN = re.compile("%(?![0-9A-Fa-f]{2})")

_ScopeHeader = Annotated[
    str,
    Header(
        json_schema_extra={"pattern": _PATTERN},
        description="The scope, such as `project=web; agent=planner`, with the fields project, environment, user, "
        "agent and session in any order; names are percent-encoded. The tenant is that of the API key.",
    ),
]


# The header is a parameter for the document only: `requested_scope` reads every line of it.
async def outer_memory(request: Request, memotherm_scope: _ScopeHeader = ABSENT) -> Memotherm:  # noqa: ARG001
    """Return the memory of the key's tenant, in the scope of the header without its session."""
    return _narrowed(request, session=False)


async def scoped_memory(request: Request, memotherm_scope: _ScopeHeader = ABSENT) -> Memotherm:  # noqa: ARG001
    """Return the memory in the scope of the header, with its session."""
    return _narrowed(request, session=True)


def _narrowed(request: Request, *, session: bool) -> Memotherm:
    misplaced = [name for name in SCOPE_FIELDS if name in request.query_params]
    if misplaced:
        # Ignored, it would give the caller another scope than intended.
        raise InvalidInput(f"{misplaced[0]} is not a query parameter: send the header {SCOPE_HEADER}")
    scope = requested_scope(request.scope["headers"])
    if not session:
        scope.pop("session", None)
    mem: Memotherm = request.scope["memotherm"]
    return mem.scoped(**scope) if scope else mem


async def whole_store(request: Request) -> Memotherm:
    """Return the memory of the whole store, unless the request is restricted to a part of it.

    FastAPI calls it before it validates the request: nobody else is told what is wrong with it.
    """
    mem: Memotherm = request.scope["memotherm"]
    if mem.scope.items():
        raise HTTPException(403, "this concerns the whole store: an API key of a tenant cannot see or change it")
    return mem


def requested_scope(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return the fields of the scope headers of a request, in any order: `project=my shop; user=J%C3%BCrgen`.

    Names are percent-encoded UTF-8; only `;`, `%`, white space at either end and characters other than ASCII
    need to be encoded.
    """
    # A client may send several.
    header = ";".join(value.decode("latin-1") for name, value in headers if name == SCOPE_HEADER.lower().encode())
    if not _ENCODED.fullmatch(header) or _BROKEN.search(header):
        raise InvalidInput(
            f"{SCOPE_HEADER}: percent-encode `%` and characters other than ASCII, as in user=J%C3%BCrgen"
        )
    scope: dict[str, str] = {}
    for part in header.split(";"):
        if not part.strip():
            continue
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if name not in _FIELDS:
            why = "; the tenant is that of the API key" if name == "tenant" else ""
            raise InvalidInput(f"{SCOPE_HEADER}: {name[:50]!r} is not one of its fields, {', '.join(_FIELDS)}{why}")
        if not equals or not value or name in scope:
            raise InvalidInput(f"{SCOPE_HEADER}: {name} needs one name, as in {name}=NAME")
        try:
            scope[name] = unquote(value, errors="strict")
        except UnicodeDecodeError:
            raise InvalidInput(f"{SCOPE_HEADER}: {value[:50]!r} is not percent-encoded UTF-8") from None
    return scope


def in_session(view: Memotherm, session: str | None) -> Memotherm:
    """Return the memory in the session that a body names; another one than that of the header is a conflict."""
    try:
        return view if session is None else view.scoped(session=session)
    except InvalidInput as exc:
        raise HTTPException(409, str(exc)) from exc


OuterMemory = Annotated[Memotherm, Depends(outer_memory)]
View = Annotated[Memotherm, Depends(scoped_memory)]
WholeStore = Annotated[Memotherm, Depends(whole_store)]
