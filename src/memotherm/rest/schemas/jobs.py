"""The schemas of jobs."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from memotherm.rest.schemas.fields import Json, RequestBody
from memotherm.rest.schemas.policies import PolicyRequest

__all__ = ["JobResponse", "ReplayRequest"]


class ReplayRequest(RequestBody):
    """The policies to replay, each under a name of its own."""

    policies: list[PolicyRequest] = Field(min_length=1, max_length=10)
    since: str | None = Field(None, max_length=100, description="When the period begins, or how long ago: `90d`.")
    limit: int = Field(10, ge=1, le=100, description="How many of the best hits of a question it demands at most.")


class JobResponse(BaseModel):
    """A job: its progress, and its result or error when it has ended."""

    id: str
    kind: Literal["replay"]
    state: Literal["running", "done", "failed", "cancelled"]
    done: int = Field(description="How many of `total` questions, and then steps of the policies, are done.")
    total: int
    started_at: str
    finished_at: str | None
    result: Json | None = Field(description="The report, as `policy replay --json` prints it.")
    error: Json | None = Field(description="`code` and `detail` of what went wrong.")
