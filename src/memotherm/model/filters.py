"""The filters of listings and of changes of many memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict

from memotherm.model.literals import PriorityName, TierName
from memotherm.model.memory import Priority, Retention, Tier

__all__ = ["MemoryFilters"]


class MemoryFilters(TypedDict, total=False):
    """The filters of `find`; those that are left out restrict nothing, except `retention`."""

    tier: Tier | TierName | None
    priority: Priority | PriorityName | int | None
    retention: Retention | str
    kind: str | None
    tags: Sequence[str] | None
    #: Created at or after this: a datetime, an ISO date or time, or "7d" (ago).
    since: datetime | str | None
    #: Created before this.
    until: datetime | str | None
    #: The metadata, such as {"status": "open", "votes": {"$gte": 3}}.
    where: Mapping[str, Any] | None
    #: What the key begins with, such as "notes/".
    prefix: str | None
    #: A text that the content contains, in upper or lower case.
    contains: str | None
