"""The schemas of the ledger."""

from __future__ import annotations

from pydantic import BaseModel

from memotherm.rest.schemas.fields import Json

__all__ = ["EventPageResponse", "EventResponse", "HistoryResponse"]


class EventResponse(BaseModel):
    """An event of the ledger."""

    seq: int
    at: str
    id: str
    action: str
    actor: str
    rule: str
    why: str
    changes: dict[str, Json]
    #: The hash of the adopted policy that the rule belongs to.
    policy: str | None = None


class HistoryResponse(BaseModel):
    """The events of a memory, oldest first."""

    events: list[EventResponse]


class EventPageResponse(HistoryResponse):
    """A page of the ledger; `next_page` is null on the last one."""

    next_page: str | None
