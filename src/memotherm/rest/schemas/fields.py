"""The types of fields that several schemas share."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

__all__ = [
    "AnyKind",
    "Budget",
    "Count",
    "Format",
    "Json",
    "Key",
    "Kind",
    "Kinds",
    "Label",
    "Labels",
    "Limit",
    "MemoryId",
    "Minutes",
    "PriorityName",
    "QueryText",
    "Reason",
    "RequestBody",
    "RetentionName",
    "Share",
    "Text",
    "TierName",
    "Tiers",
    "absent",
    "integer",
]


def integer(value: object) -> object:
    """Return 3 for 3.0: JSON has one type of number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


#: A text without NUL, with at least one character that is not white space.
_NOT_BLANK = r"^[^\x00]*[!-~\u00a1-\u1fff\u3001-\ud7ff\uf900-\ufefe][^\x00]*$"
_MAX_TTL_MINUTES = 52_596_000.0

Text = Annotated[str, StringConstraints(min_length=1, max_length=1_000_000, pattern=_NOT_BLANK)]
QueryText = Annotated[str, StringConstraints(min_length=1, max_length=100_000, pattern=_NOT_BLANK)]
Label = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=_NOT_BLANK)]
Reason = Annotated[str, StringConstraints(max_length=1000, pattern=r"^[^\x00]*$")]
Kind = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]
MemoryId = Annotated[str, StringConstraints(pattern=r"^mem_[0-9a-z]{26}$")]
#: A text without control characters, with at least one character that is not white space.
_KEY = r"^[^\x00-\x1f\x7f]*[!-~\u00a1-\u1fff\u3001-\ud7ff\uf900-\ufefe][^\x00-\x1f\x7f]*$"
Key = Annotated[str, StringConstraints(min_length=1, max_length=400, pattern=_KEY)]
Labels = Annotated[list[Label], Field(max_length=64)]
Kinds = Annotated[list[Kind], Field(max_length=50)]
KnownKind = Literal["message", "fact", "decision", "entity", "context", "preference", "task", "note"]
#: The known kinds are listed, but any well-formed word is a kind.
AnyKind = KnownKind | Kind
TierName = Literal["hot", "warm", "cold"]
PriorityName = Literal["pinned", "critical", "important", "normal", "low"]
RetentionName = Literal["active", "archived", "deleted", "purged"]
Tiers = Annotated[list[TierName], Field(min_length=1, max_length=3)]
Json = dict[str, Any]
Limit = Annotated[int, Field(ge=0, le=200), BeforeValidator(integer)]
Share = Annotated[float, Field(ge=0, le=1)]
Budget = Annotated[int, Field(ge=0, le=1_000_000), BeforeValidator(integer)]
Minutes = Annotated[float, Field(ge=0.1, le=_MAX_TTL_MINUTES, description="Time to live, in minutes.")]
Count = Annotated[int, Field(ge=0, le=1_000_000_000), BeforeValidator(integer)]
Format = Literal["markdown", "xml", "messages", "index"]


def _without_default(schema: Json) -> None:
    schema.pop("default", None)


def absent() -> Any:  # noqa: ANN401 - any field
    """Return the default of an optional field that is never null."""
    return Field(default=None, json_schema_extra=_without_default)


class RequestBody(BaseModel):
    """The base of request bodies: no unknown fields, no type conversion."""

    model_config = ConfigDict(extra="forbid", strict=True)
