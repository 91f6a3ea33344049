"""The schemas of the server itself."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from memotherm.rest.schemas.fields import Json

__all__ = ["HealthResponse", "LoginResponse", "ProblemResponse"]


class HealthResponse(BaseModel):
    """The state of the server."""

    status: Literal["ok", "degraded"]
    version: str
    missing_nodes: list[str] = Field(default=[], description="Nodes of a distributed store that do not answer.")


class LoginResponse(BaseModel):
    """Whose memories the requests of a caller see."""

    #: The name of the API key; null if the caller needs none.
    key: str | None
    scope: dict[str, str]
    #: Whether requests may only read.
    read_only: bool
    #: Whether the caller is a browser that has logged in.
    cookie: bool


class ProblemResponse(BaseModel):
    """A problem (RFC 9457)."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    errors: list[Json] | None = None
