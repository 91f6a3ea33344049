"""The schemas of the state of a store and its server."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from memotherm.rest.schemas.fields import TierName

__all__ = [
    "ApiKeysResponse",
    "CheckResponse",
    "DoctorResponse",
    "SettingsResponse",
    "StoreResponse",
    "TimedRecallsResponse",
]


class StoreResponse(BaseModel):
    """The store of the server."""

    name: str
    bytes: int
    events: int = Field(description="The number of the last event.")
    schema_version: int


class ProblemFoundResponse(BaseModel):
    """A problem that the check of a store has found."""

    code: str
    detail: str


class CheckResponse(BaseModel):
    """All problems of a store."""

    problems: list[ProblemFoundResponse]


class DoctorFindingResponse(BaseModel):
    """The result of one check of the installation."""

    name: str
    state: Literal["ok", "note", "warning", "failure"]
    detail: str
    remedy: str = Field(description="How to correct it.")


class DoctorResponse(BaseModel):
    """The results of all checks of the installation."""

    ok: bool
    findings: list[DoctorFindingResponse]


class SettingResponse(BaseModel):
    """A setting; a secret is `(set)` or empty."""

    name: str
    value: Any
    origin: str
    help: str


class SettingsResponse(BaseModel):
    """Every setting of the server."""

    settings: list[SettingResponse]


class ApiKeyResponse(BaseModel):
    """An API key without its secret."""

    name: str
    tenant: str
    user: str | None
    read_only: bool
    created_at: str


class ApiKeysResponse(BaseModel):
    """The API keys of the store."""

    keys: list[ApiKeyResponse]


class TimedRecallResponse(BaseModel):
    """A query of the recall log; `query` is null unless the log stores texts."""

    number: int
    at: str
    scope: dict[str, str]
    query: str | None
    tiers: list[TierName]
    milliseconds: float
    returned: int = Field(description="How many memories the caller got.")
    best: float = Field(description="The best relevance, 0 to 1.")
    degraded: list[str]


class TimedRecallsResponse(BaseModel):
    """Queries of the recall log."""

    recalls: list[TimedRecallResponse]
