"""The routes: those of the server, of the table of operations, and requests with another form than an operation.

Of the table, the responses of some are more than the result of the facade, or their requests more than its arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from fastapi import APIRouter, Request, Response
from pydantic import BeforeValidator, ConfigDict, Field, model_validator
from starlette.exceptions import HTTPException

from memotherm import Memotherm
from memotherm.errors import InvalidInput, NotFound, PolicyError
from memotherm.model import Memory, Recall, Retention, Tier
from memotherm.model.receipts import KeptEntry
from memotherm.operations.codec import schema, to_json
from memotherm.operations.operation import policy_of, read_arguments
from memotherm.operations.table import OPERATIONS
from memotherm.rest import server
from memotherm.rest.dependencies import OuterMemory, View, WholeStore, in_session
from memotherm.rest.derived import SCHEMAS, Act, Call, With, add_route, described, object_schema, perform
from memotherm.rest.idempotency import Answer, once
from memotherm.rest.requests import PolicyRequest, RequestBody, absent, field_type, path_parameter
from memotherm.text.content import first_line, pluralize
from memotherm.tiers.policy import Finding
from memotherm.tools.results import added_warnings, metrics_json, policy_json, secret_warnings, skipped

Json = dict[str, Any]

_WARNINGS = {"warnings": list[str]}
#: What only those who may see the whole store are told.
_OF_THE_STORE = ("store", "bytes", "seq", "schema")


def _remember(call: Call) -> With:
    asked = call.more["force"] or not call.given.isdisjoint(("kind", "key"))
    if (answer := skipped(call.arguments["content"], asked=asked)) is not None:
        return With(None, answer)
    warnings = secret_warnings(call.arguments["content"], call.view.settings)
    return With(perform(call), {"warnings": warnings})


def _remember_many(call: Call) -> With:
    remember = OPERATIONS["remember"]
    drafts, left_out = [], []
    for given in call.arguments["memories"]:
        asked = call.more["force"] or "kind" in given or "key" in given
        if (answer := skipped(given["content"], asked=asked)) is None:
            drafts.append(read_arguments(remember, given))
        else:
            left_out.append({"content": given["content"], **answer})
    memories = perform(call._replace(arguments={**call.arguments, "memories": drafts}))
    warnings = [secret_warnings(draft["content"], call.view.settings) for draft in drafts]
    listed = [{**to_json(memory), "warnings": found} for memory, found in zip(memories, warnings, strict=True)]
    return With([], {"memories": listed, "skipped": left_out})


def _recall(call: Call) -> With:
    tiers = call.arguments.get("tiers", ())
    if call.more.get("with_cold") and "cold" not in tiers:
        call = call._replace(arguments={**call.arguments, "tiers": [*tiers, "cold"]})
    return With(perform(call), {"limit": call.arguments["limit"]})


def _context(call: Call) -> With:
    context = perform(call)
    entries = (*context.included, *context.left_out) if call.more.get("memories") else ()
    memories = {entry.id: entry.memory for entry in entries}
    return With(context, {"memories": [to_json(memory) for memory in memories.values()]})


def _get(call: Call) -> With:
    memory = perform(call)
    if memory.retention is Retention.DELETED and not call.more.get("hidden"):
        raise NotFound(f"{memory.id} was forgotten: add ?hidden=true to read it, or restore it")
    if call.request.headers.get("if-none-match", "").strip('"') == str(memory.version):
        return With(memory, {}, unchanged=True)
    return With(memory, to_json(call.view.inspect.heat(memory)))


def _forget(call: Call) -> object:
    memory_id = call.arguments["memory_id"]
    if call.view.read_only().get(memory_id).retention is Retention.DELETED:
        raise NotFound(f"{memory_id} was forgotten already")
    return perform(call)


def _change_many(call: Call) -> With:
    """Change several memories if their number is confirmed; a dry run returns it."""
    wanted = call.arguments.get("dry_run", False)
    dry_run = wanted or "count" not in call.arguments
    memories = perform(call._replace(arguments={**call.arguments, "dry_run": dry_run}))
    if dry_run and not wanted:
        raise HTTPException(409, f"{pluralize(len(memories), 'memory')} match: send count={len(memories)} to confirm")
    shown = memories if call.more.get("memories") else []
    return With(shown, {"count": len(memories), "dry_run": dry_run})


def _session_add(call: Call) -> With:
    memory = perform(call)
    warnings = added_warnings(memory, call.arguments["content"], call.view.settings)
    return With(memory, {"rule": memory.tier_rule, "warnings": warnings})


def _session_status(call: Call) -> With:
    view = in_session(call.view, call.arguments["session_id"])
    return With(perform(call), {"metrics": metrics_json(view.metrics())})


def _status(call: Call) -> With:
    view, metrics = call.view, call.view.metrics()
    members: Json = {
        "hot_limit": view.settings.hot_max_tokens,
        "session_hot_limit": view.settings.hot_token_limit,
        "metrics": metrics_json(metrics),
        "measured": to_json(metrics),
    }
    return With(perform(call), members, without=_OF_THE_STORE)


def _receipt(call: Call) -> With:
    """Return a receipt with the titles and tiers that its memories have now."""
    found = perform(call)
    own = dict(call.view.scope.items())
    # To look at a receipt is no use of its memories.
    inner = call.view.scoped(**{name: value for name, value in found.scope.items() if name not in own}).read_only()

    def titled(entry: KeptEntry) -> Json:
        try:
            memory = inner.get(entry.id)
        except NotFound:
            return {**to_json(entry), "title": None, "tier": None}
        return {**to_json(entry), "title": first_line(memory.content), "tier": str(memory.tier)}

    sections = {"included": found.included, "left_out": found.left_out}
    return With(found, {name: [titled(entry) for entry in entries] for name, entries in sections.items()})


def _erase(call: Call) -> object:
    scope = call.view.scope
    if not scope.items() or call.more["confirm"] != str(scope):
        raise HTTPException(409, f"confirm must be {str(scope)!r}, a scope with a field: nothing was erased")
    return perform(call)


def _policy_diff(call: Call) -> object:
    arguments = {"first": call.view.policies.current(), **call.arguments}
    return perform(call._replace(arguments=arguments))


_CONTEXTS = ("context", "start", "session_start", "session_before_turn", "session_before_tool")
_CHANGES_OF_MANY = ("forget_many", "restore_many", "approve_many", "reject_many", "purge_many")
#: What carries out an operation, and the members that its response has beside those of the value.
OVERRIDES: Mapping[str, tuple[Act, Mapping[str, Any]]] = {
    "remember": (_remember, _WARNINGS),
    "remember_many": (_remember_many, {"skipped": list[dict[str, str]]}),
    **dict.fromkeys(("recall", "session_recall"), (_recall, {"limit": int})),
    **dict.fromkeys(_CONTEXTS, (_context, {"memories": list[Memory]})),
    "get": (_get, {"heat": float, "decay": float}),
    "forget": (_forget, {}),
    **dict.fromkeys(_CHANGES_OF_MANY, (_change_many, {"count": int, "dry_run": bool})),
    "session_add": (_session_add, {"rule": str, **_WARNINGS}),
    "session_status": (_session_status, {"metrics": dict[str, float]}),
    "status": (
        _status,
        {"hot_limit": int, "session_hot_limit": int, "metrics": dict[str, float], "measured": dict[str, Any]},
    ),
    "receipt": (_receipt, {}),
    "erase": (_erase, {}),
    "policy_diff": (_policy_diff, {}),
}

# The routes of the server and of the table

#: Operations of the table with a route below.
_OWN = ("policy_lint",)
#: Filters that a query string cannot have.
_IN_BODIES = ("where", "contains", "mentions", "ids", "order", "skip")

router = APIRouter()
router.routes.extend(server.router.routes)
for operation in OPERATIONS.values():
    if operation.route and operation.name not in _OWN:
        add_route(router, operation, *OVERRIDES.get(operation.name, ()))
add_route(router, OPERATIONS["find"], route="GET /memories", id="list_memories", without=_IN_BODIES)

# Queries and sessions

_of_recall = OPERATIONS["recall"].by_wire
_Query: Any = field_type(_of_recall["query"])
_Limit: Any = field_type(_of_recall["limit"])
_Labels: Any = field_type(_of_recall["tags"])
_Kinds: Any = field_type(_of_recall["kinds"])
_Sources: Any = field_type(_of_recall["sources"])
#: One source may be given as a text.
_OneOrMore: Any = Annotated[
    _Sources,
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value, json_schema_input_type=str | _Sources),
]
_Session: Any = field_type(_of_recall["session"])
SessionId: Any = path_parameter(OPERATIONS["session_status"].by_wire["session_id"])
_Tier: Any = field_type(OPERATIONS["find"].by_wire["tier"])
_LIMIT = 10


_Retention: Any = field_type(_of_recall["retention"])
_ScopeName: Any = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[!-~]([ -~]{0,198}[!-~])?$")]


class QueryFilters(RequestBody):
    """The filters of a query: memories that pass all of them."""

    tier: _Tier = absent()
    tags: _Labels = absent()
    kinds: _Kinds = absent()
    sources: _OneOrMore = absent()
    retention: _Retention = absent()
    project: _ScopeName = absent()
    environment: _ScopeName = absent()


#: What the document says about names of the same field: give one of them.
_NOT_TWICE: list[Any] = [
    {"not": {"required": ["limit", "k"]}},
    *(
        {"not": {"required": [name, "filters"], "properties": {"filters": {"required": [name]}}}}
        for name in QueryFilters.model_fields
    ),
]


class QueryRequest(QueryFilters):
    """A query over all tiers, or one; `k` is another name for `limit`. Each filter may stand in `filters` or beside it.

    An empty query lists what passes the filters.
    """

    model_config = ConfigDict(json_schema_extra={"allOf": _NOT_TWICE})

    query: _Query
    limit: _Limit = absent()
    k: _Limit = absent()
    filters: QueryFilters = absent()
    track: bool = True
    session: _Session | None = None

    @model_validator(mode="after")
    def refuse_aliases_together(self) -> Self:
        """Refuse two names of the same field."""
        if {"limit", "k"} <= self.model_fields_set:
            raise ValueError("limit and k mean the same: give one of them")
        twice = self.model_fields_set & (self.filters.model_fields_set if self.filters else set())
        if twice:
            raise ValueError(f"{min(twice)} and filters.{min(twice)} mean the same: give one of them")
        return self

    def filter(self, name: str) -> Any:  # noqa: ANN401 - any filter
        """Return a filter, from wherever it stands; None if it is not given."""
        place = self.filters if self.filters and name in self.filters.model_fields_set else self
        return getattr(place, name)


def _results_schema() -> Json:
    schema(Recall, SCHEMAS)
    members = dict(SCHEMAS["Recall"]["properties"])
    return object_schema("QueryResults", "The memories.", results=members.pop("items"), limit=int, **members)


@described(router, "POST /memory/query", "query", "search", _results_schema())
def query(view: View, body: QueryRequest) -> Json:
    """Return the memories that match a query, from all tiers or one; warm and cold memories score less."""
    limit = next((given for given in (body.limit, body.k) if given is not None), _LIMIT)
    tier = body.filter("tier")
    scope = {name: body.filter(name) for name in ("project", "environment") if body.filter(name) is not None}
    view = in_session(view, body.session)
    _require_within(view, scope)
    recall = view.recall(
        body.query,
        limit,
        tuple(Tier),
        where=None if tier is None else {"tier": tier},
        kinds=body.filter("kinds"),
        tags=body.filter("tags"),
        sources=body.filter("sources"),
        retention=body.filter("retention") or Retention.ACTIVE,
        scope=scope or None,
        track=body.track,
    )
    found = to_json(recall)
    return {"results": found.pop("items"), **found, "limit": limit}


def _require_within(view: Memotherm, scope: Mapping[str, str]) -> None:
    """Refuse a filter that contradicts the scope of the request."""
    try:
        view.scope.narrowed(**scope)
    except InvalidInput as exc:
        raise HTTPException(409, str(exc)) from exc


@described(router, "POST /sessions/{session_id}", "session_begin", "sessions", status=204)
def session_begin(outer: OuterMemory, session_id: SessionId, request: Request) -> Response:
    """Begin a session, or continue it."""

    def begin() -> Answer:
        outer.session(session_id)
        return Answer(None, {})

    return Response(status_code=204, headers=once(request, begin).headers)


# Tier policies of the whole store

_POLICY = object_schema(
    "Shown",
    "The policy in force, which ones were adopted and rolled back, and what its rules moved; "
    "`packed` has the texts of everything that it extends and its own as JSON, `unused` is why it is not used.",
    name=str, hash=str, description=str, limits=Json, rules=list[Json], text=str, packed=str, unused=str | None,
    adoptions=list[Json],
)  # fmt: skip
_FINDINGS = object_schema("Findings", "All that lint found.", findings=list[Finding])
_TESTS = object_schema("TestResults", "The results of the tests of a policy.", tests=list[Json], failed=int)


@described(router, "GET /policy", "policy_show", "policies", _POLICY)
def show(mem: WholeStore) -> Json:
    """Return the policy in force with what its rules moved, and which ones were adopted and rolled back."""
    policies, moves = mem.policies, mem.metrics().moves
    current = policies.current()
    shown = policy_json(current)
    return {
        **shown,
        "rules": [{**rule, "moved": moves.get(rule["id"], 0)} for rule in shown["rules"]],
        "packed": current.packed(),
        "unused": policies.unused(),
        "adoptions": to_json(policies.history()),
    }


@described(router, "POST /policy/lint", "policy_lint", "policies", _FINDINGS)
def lint(mem: WholeStore, body: PolicyRequest) -> Json:
    """Return errors and warnings of a policy, also about what it would do to the memories of the store."""
    try:
        found = mem.policies.lint(policy_of(body.model_dump()))
    except PolicyError as exc:
        if not exc.findings:
            raise
        found = [finding for finding in exc.findings if isinstance(finding, Finding)]
    return {"findings": to_json(found)}


@described(router, "POST /policy/test", "policy_test", "policies", _TESTS)
def test(mem: WholeStore, body: PolicyRequest) -> Json:  # noqa: ARG001 - it checks the key
    """Run the tests of a policy."""
    results = policy_of(body.model_dump()).test()
    return {"tests": to_json(results), "failed": sum(not result.passed for result in results)}
