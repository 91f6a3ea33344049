"""The state of the whole store and of its server, for requests that no API key restricts."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from typing_extensions import TypedDict

from memotherm.doctor import findings, store_findings
from memotherm.operations.codec import to_json
from memotherm.rest.dependencies import WholeStore
from memotherm.rest.keys import Keys
from memotherm.rest.problems import PROBLEMS
from memotherm.settings import FIELDS
from memotherm.settings.sources import described_settings

__all__ = ["router"]

router = APIRouter(tags=["store"], responses=PROBLEMS)


class StoreInfo(TypedDict):
    """The store of the server; `events` is the number of the last event."""

    name: str
    bytes: int
    events: int
    schema_version: int


class DoctorFinding(TypedDict):
    """The result of one check of the installation, and how to correct it."""

    name: str
    state: str
    detail: str
    remedy: str


class DoctorReport(TypedDict):
    """The results of all checks of the installation."""

    ok: bool
    findings: list[DoctorFinding]


class Setting(TypedDict):
    """A setting; a secret is `(set)` or empty."""

    name: str
    value: Any
    origin: str
    help: str


class SettingsList(TypedDict):
    """Every setting of the server."""

    settings: list[Setting]


class ApiKey(TypedDict):
    """An API key without its secret."""

    name: str
    tenant: str
    user: str | None
    read_only: bool
    created_at: str


class ApiKeys(TypedDict):
    """The API keys of the store."""

    keys: list[ApiKey]


@router.get("/store", operation_id="store")
def store(mem: WholeStore) -> StoreInfo:
    """Return the name, the size and the version of the store."""
    found = mem.status(inside=True)
    return StoreInfo(name=found.store, bytes=found.bytes, events=found.seq, schema_version=found.schema)


@router.get("/doctor", operation_id="doctor")
def doctor(mem: WholeStore) -> DoctorReport:
    """Check the installation of the server and its store, and return how to correct problems."""
    found = list(findings(lambda: store_findings(mem, mem.status().store, inside=True)))
    listed = [DoctorFinding(**finding._asdict()) for finding in found]  # type: ignore[typeddict-item]
    return DoctorReport(ok=all(finding.state != "failure" for finding in found), findings=listed)


@router.get("/settings", operation_id="settings")
def settings(mem: WholeStore) -> SettingsList:
    """Return every setting of the server with its value and where the value comes from, without secrets."""
    return SettingsList(
        settings=[
            Setting(name=name, **entry, help=FIELDS[name].metadata["description"])  # type: ignore[typeddict-item]
            for name, entry in described_settings(mem.settings).items()
        ]
    )


@router.get("/keys", operation_id="keys_list")
def keys(mem: WholeStore) -> ApiKeys:
    """Return the names and rights of the API keys; nobody can read the keys themselves again."""
    return ApiKeys(keys=to_json(Keys(mem).all()))
