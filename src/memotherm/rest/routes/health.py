"""The state of the whole store and of its server, for requests that no API key restricts; and the log of recalls."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from memotherm.doctor import findings, store_findings
from memotherm.rest.keys import Keys
from memotherm.rest.routes.declaring import route
from memotherm.rest.routes.parameters import View, WholeStore
from memotherm.rest.schemas.health import (
    ApiKeysResponse,
    CheckResponse,
    DoctorResponse,
    SettingsResponse,
    StoreResponse,
    TimedRecallsResponse,
)
from memotherm.settings import FIELDS
from memotherm.settings.sources import described_settings

__all__ = ["router"]

Json = dict[str, Any]

router = APIRouter(tags=["administration"])


@route(router, "store", response_model=StoreResponse)
def store(mem: WholeStore) -> Json:
    """Return the name, the size and the version of the store."""
    found = mem.status(inside=True)
    return {"name": found.store, "bytes": found.bytes, "events": found.seq, "schema_version": found.schema}


@route(router, "check", response_model=CheckResponse)
def check(mem: WholeStore) -> Json:
    """Verify the whole store, and return the problems found; it reads everything."""
    return {"problems": [{"code": problem.code, "detail": problem.detail} for problem in mem.check()]}


@route(router, "doctor", response_model=DoctorResponse)
def doctor(mem: WholeStore) -> Json:
    """Check the installation of the server and its store, and return how to correct problems."""
    found = list(findings(lambda: store_findings(mem, mem.status().store, inside=True)))
    return {
        "ok": all(finding.state != "failure" for finding in found),
        "findings": [finding._asdict() for finding in found],
    }


@route(router, "settings", response_model=SettingsResponse)
def settings(mem: WholeStore) -> Json:
    """Return every setting of the server with its value and where the value comes from, without secrets."""
    return {
        "settings": [
            {"name": name, **entry, "help": FIELDS[name].metadata["description"]}
            for name, entry in described_settings(mem.settings).items()
        ]
    }


@route(router, "keys", response_model=ApiKeysResponse)
def keys(mem: WholeStore) -> Json:
    """Return the names and rights of the API keys; nobody can read the keys themselves again."""
    return {"keys": [key.as_dict() for key in Keys(mem).all()]}


@route(router, "recalls", response_model=TimedRecallsResponse)
def recalls(
    view: View,
    order: Annotated[Literal["newest", "slowest"], Query(description="Which come first.")] = "newest",
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Json:
    """Return queries of the recall log inside the scope, with how long each took and whether it found something."""
    return {"recalls": [recall.as_dict() for recall in view.recalls(limit, order)]}
