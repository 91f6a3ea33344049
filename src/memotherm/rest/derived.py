"""The routes of the table of operations: each request becomes one call of the facade."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from inspect import Parameter, Signature
from typing import Annotated, Any, Literal, NamedTuple, TypeVar
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread
from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import BaseModel
from pydantic_core import to_json as encoded
from starlette.exceptions import HTTPException

from memotherm import Memotherm
from memotherm.errors import ContentTooLarge, InvalidInput
from memotherm.model import Memory
from memotherm.operations.codec import schema
from memotherm.operations.operation import Operation, read_arguments
from memotherm.rest.dependencies import ABSENT, ETAG, OuterMemory, View, WholeStore, in_session
from memotherm.rest.idempotency import Answer, once
from memotherm.rest.problems import PROBLEMS
from memotherm.rest.requests import PolicyRequest, body_model, path_parameter, query_model
from memotherm.rest.turns import Turn

Json = dict[str, Any]
Handler = TypeVar("Handler", bound=Callable[..., Any])

_WITHOUT_BODY = ("GET", "DELETE")
#: The headers that a request for one memory may have.
_CONDITIONS = {"PATCH /memories/{memory_id}": ("if_match",), "GET /memories/{memory_id}": ("if_none_match",)}
#: The threads of slow requests.
_SLOW_THREADS = 4
#: The schemas of values, by name, that responses refer to.
SCHEMAS: dict[str, Json] = {}


class Call(NamedTuple):
    """A request: the operation, the memory in its scope, and the arguments."""

    operation: Operation
    view: Memotherm
    #: The arguments of the facade.
    arguments: Json
    #: The arguments that Python does not have.
    more: Json
    request: Request
    #: The members that the body has.
    given: frozenset[str] = frozenset()


class With(NamedTuple):
    """A result whose response has members that the value has not, or not all that it has."""

    value: object
    members: Mapping[str, Any]
    without: Collection[str] = ()
    #: Whether the caller has it already, so that the response is empty.
    unchanged: bool = False


class SlowWork:
    """Slow requests, one of each tenant at a time, in threads of their own: others need not wait for them."""

    def __init__(self) -> None:
        self._threads = anyio.CapacityLimiter(_SLOW_THREADS)
        self._turns: WeakValueDictionary[str | None, anyio.Lock] = WeakValueDictionary()

    async def run(self, tenant: str | None, turn: Turn, respond: Callable[[], Response]) -> Response:
        """Return the response of a function when it is the tenant's turn, instead of that of the caller."""
        turn.end()
        async with self._turns.setdefault(tenant, anyio.Lock()):
            return await anyio.to_thread.run_sync(respond, limiter=self._threads)


#: Carries out a call, and returns the result of the facade, perhaps with more.
Act = Callable[[Call], object]


def perform(call: Call) -> Any:  # noqa: ANN401 - the result of the facade
    """Call the method of the facade."""
    view = in_session(call.view, call.more.get("session"))
    return call.operation.perform(view, call.arguments, call.more.get("session_id"))


def add_route(
    router: APIRouter,
    operation: Operation,
    act: Act = perform,
    members: Mapping[str, Any] | None = None,
    *,
    route: str = "",
    id: str = "",  # noqa: A002 - what the document calls it
    without: Collection[str] = (),
) -> None:
    """Add the route of an operation; `members` are the types of what `act` adds to the response.

    `route` is another method and path, with an `id` of its own and `without` some parameters.
    """
    chosen = route or operation.route
    method, _, path = chosen.partition(" ")
    empty = operation.result_type is type(None)
    status = 204 if empty else 201 if operation.creates else 200
    found = None if empty else _response_schema(operation, members or {})
    skips = _skipped_schema() if operation.result_type is Memory and "force" in operation.more else None
    add = described(
        router, chosen, id or operation.name, operation.group, found, status, skips, description=operation.summary
    )
    add(_endpoint(operation, act, method, path, status, without))


def described(
    router: APIRouter,
    route: str,
    id: str,  # noqa: A002 - what the document calls it
    tag: str,
    found: Json | None = None,
    status: int = 200,
    skips: Json | None = None,
    **options: Any,  # noqa: ANN401 - those of FastAPI
) -> Callable[[Handler], Handler]:
    """Return a decorator that adds a route whose response has a schema of the document; None if it is empty.

    `skips` is the schema of the response of a route that creates something, if it does not.
    """
    method, _, path = route.partition(" ")
    responses: dict[int | str, Json] = dict(PROBLEMS)
    for code, each in ((status, found), (200, skips)):
        if each is not None:
            responses[code] = {
                "description": "Successful Response",
                "content": {"application/json": {"schema": each}},
            }
    return router.api_route(
        path, methods=[method], operation_id=id, tags=[tag], responses=responses, status_code=status,
        response_model=None, **options,
    )  # fmt: skip


def object_schema(name: str, description: str, /, **members: Any) -> Json:  # noqa: ANN401 - type hints, or schemas
    """Add the schema of an object to the document, and return a reference to it."""
    properties = {key: kind if isinstance(kind, dict) else schema(kind, SCHEMAS) for key, kind in members.items()}
    SCHEMAS[name] = {
        "type": "object", "title": name, "description": description,
        "properties": properties, "required": list(properties),
    }  # fmt: skip
    return {"$ref": f"#/components/schemas/{name}"}


def _skipped_schema() -> Json:
    description = "Nothing was stored, because the content has nothing to remember."
    return object_schema("NotStored", description, status=Literal["skipped"], why=str)


def _response_schema(operation: Operation, members: Mapping[str, Any]) -> Json:
    found: Json = schema(operation.result_type, SCHEMAS)
    if operation.result:
        found = {"type": "object", "properties": {operation.result: found}, "required": [operation.result]}
    if not members:
        return found
    added = {name: schema(kind, SCHEMAS) for name, kind in members.items()}
    return {"allOf": [found, {"type": "object", "properties": added, "required": list(added)}]}


def _endpoint(
    operation: Operation, act: Act, method: str, path: str, status: int, without: Collection[str]
) -> Callable[..., Awaitable[Response]]:
    """Return the handler of a route, with a signature that FastAPI reads."""
    parameters = [each for each in operation.parameters if each.name not in without]
    in_path = {each.wire: each for each in parameters if f"{{{each.wire}}}" in path}
    # The version that a changed memory must have is in the header If-Match.
    rest = [each for each in parameters if each.wire not in in_path and (method, each.name) != ("PATCH", "version")]
    extra = ("session_id", *operation.more) if operation.owner == "session" else operation.more
    model = (query_model if method in _WITHOUT_BODY else body_model)(operation, rest) if rest else None

    async def endpoint(request: Request, view: Memotherm, fields: BaseModel | None = None, **given: Any) -> Response:  # noqa: ANN401
        wire = {name: given[name] for name in in_path}
        if isinstance(fields, PolicyRequest):
            wire[rest[0].wire] = fields.model_dump()
        elif fields is not None:
            wire |= {name: _dumped(getattr(fields, name)) for name in type(fields).model_fields}
        if given.get("if_match"):
            wire["version"] = int(given["if_match"].strip('"'))

        def respond() -> Response:
            found = read_arguments(operation, wire)
            more = {name: found.pop(name) for name in extra if name in found}
            given_fields = frozenset() if fields is None else frozenset(fields.model_fields_set)
            return _response(Call(operation, view, found, more, request, given_fields), act, status)

        if wire.get("as_of") is None:
            return await anyio.to_thread.run_sync(respond)
        slow: SlowWork = request.app.state.slow
        return await slow.run(view.scope.tenant, request.scope["memotherm.turn"], respond)

    signature = [
        _keyword("request", Request),
        _keyword(
            "view", WholeStore if operation.whole_store else OuterMemory if "session_id" in operation.by_wire else View
        ),
        *(_keyword(name, path_parameter(each)) for name, each in in_path.items()),
        *([] if model is None else [_keyword("fields", *_fields(model, method))]),
        *(
            _keyword(name, Annotated[str, Header(pattern=ETAG)], ABSENT)
            for name in _CONDITIONS.get(operation.route, ())
        ),
    ]
    endpoint.__signature__ = Signature(signature)  # type: ignore[attr-defined]
    return endpoint


def _keyword(name: str, kind: Any, default: Any = Parameter.empty) -> Parameter:  # noqa: ANN401 - a type hint, a value
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=default)


def _fields(model: type[BaseModel], method: str) -> tuple[Any, ...]:
    """Return the type of the query string or the body, and its default if it may be left out."""
    if method in _WITHOUT_BODY:
        return (Annotated[model, Query()],)
    required = any(field.is_required() for field in model.model_fields.values()) or model is PolicyRequest
    return (model,) if required else (model | None, None)


def _dumped(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return a field of a request; one that is a request itself, or a list of them, as JSON."""
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_unset=True)
    return [_dumped(part) for part in value] if isinstance(value, list) else value


def _response(call: Call, act: Act, status: int) -> Response:
    """Carry out a call, and return its response."""
    operation = call.operation

    def answer() -> Answer:
        nonlocal status
        try:
            found = act(call)
        except ContentTooLarge:
            raise
        except InvalidInput as exc:
            # The request is valid, so that this may be a conflict with what is stored.
            conflicts = operation.conflicts
            if conflicts is True or (conflicts and not call.arguments.keys().isdisjoint(conflicts)):
                raise HTTPException(409, str(exc)) from exc
            raise
        extended = found if isinstance(found, With) else With(found, {})
        headers = {}
        if isinstance(extended.value, Memory):
            headers["etag"] = etag(extended.value)
            if operation.creates:
                headers["location"] = f"/memories/{extended.value.id}"
        body = _body(operation, extended)
        if extended.unchanged:
            status = 304
        return Answer(body, headers)

    body, headers = once(call.request, answer) if operation.once else answer()
    if operation.creates and isinstance(body, dict) and body.get("status") == "skipped":
        status = 200
    if status in (204, 304):
        return Response(status_code=status, headers=headers)
    return Response(encoded(body), status, headers, "application/json")


def _body(operation: Operation, found: With) -> Any:  # noqa: ANN401 - any JSON
    body = operation.body(found.value)
    if not found.members and not found.without:
        return body
    return {name: part for name, part in (body or {}).items() if name not in found.without} | dict(found.members)


def etag(memory: Memory) -> str:
    """Return the entity tag of a memory."""
    return f'"{memory.version}"'
