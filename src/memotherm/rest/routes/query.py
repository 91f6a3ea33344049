"""Requests with another form than their operation: a query, a memory by its key, a session to begin, policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from fastapi import APIRouter, Request, Response
from pydantic import BeforeValidator, ConfigDict, Field, model_validator
from starlette.exceptions import HTTPException

from memotherm import Memotherm
from memotherm.errors import InvalidInput, PolicyError
from memotherm.model import Recall, Retention, Tier
from memotherm.operations.codec import schema, to_json
from memotherm.operations.operation import policy_of
from memotherm.operations.table import OPERATIONS
from memotherm.rest.dependencies import OuterMemory, View, WholeStore, in_session
from memotherm.rest.idempotency import Answer, once
from memotherm.rest.requests import PolicyRequest, RequestBody, absent, field_type, path_parameter
from memotherm.rest.routes.derived import SCHEMAS, described, object_schema
from memotherm.tiers.policy import Finding
from memotherm.tools.results import policy_json

Json = dict[str, Any]

router = APIRouter()

_recall = OPERATIONS["recall"].by_wire
_Query: Any = field_type(_recall["query"])
_Limit: Any = field_type(_recall["limit"])
_Labels: Any = field_type(_recall["tags"])
_Kinds: Any = field_type(_recall["kinds"])
_Sources: Any = field_type(_recall["sources"])
#: One source may be given as a text.
_OneOrMore: Any = Annotated[
    _Sources,
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value, json_schema_input_type=str | _Sources),
]
_Session: Any = field_type(_recall["session"])
SessionId: Any = path_parameter(OPERATIONS["session_status"].by_wire["session_id"])
_Tier: Any = field_type(OPERATIONS["find"].by_wire["tier"])
_LIMIT = 10


_Retention: Any = field_type(_recall["retention"])
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

#: Operations of the table with a route here.
OWN = ("policy_lint",)

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
