"""The names of the members of a memory's axes and of context formats, for type checkers."""

from __future__ import annotations

from typing import Literal

__all__ = ["FormatName", "OrderName", "PriorityName", "RetentionName", "TierName"]

TierName = Literal["hot", "warm", "cold"]
PriorityName = Literal["pinned", "critical", "important", "normal", "low"]
RetentionName = Literal["active", "archived", "deleted", "purged"]
#: The orders of a listing.
OrderName = Literal["newest", "oldest", "updated", "used", "most_used", "largest", "smallest"]
FormatName = Literal["markdown", "xml", "messages", "index"]
