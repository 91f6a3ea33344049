"""The types of fields that several schemas share."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from memotherm.errors import InvalidInput
from memotherm.model.memory import FormatName, PriorityName, RetentionName, TierName
from memotherm.model.names import renamed

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
    "Moment",
    "PriorityName",
    "QueryText",
    "Reason",
    "RequestBody",
    "RetentionName",
    "SessionName",
    "Share",
    "Text",
    "TierName",
    "Tiers",
    "absent",
    "integer",
    "moment",
]


def integer(value: object) -> object:
    """Return 3 for 3.0: JSON has one type of number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def moment(value: object) -> datetime:
    """Return the time that a text gives; anything else is an error."""
    if not isinstance(value, str):
        raise ValueError("a time is text such as 2026-12-31T18:00:00Z")  # noqa: TRY004 - pydantic's way
    found = datetime.fromisoformat(value)
    if found.tzinfo is None:
        raise ValueError("a time needs an offset, such as the Z of 2026-12-31T18:00:00Z")
    return found


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
Tiers = Annotated[list[TierName], Field(min_length=1, max_length=3)]
Json = dict[str, Any]
Limit = Annotated[int, Field(ge=0, le=200), BeforeValidator(integer)]
Share = Annotated[float, Field(ge=0, le=1)]
Budget = Annotated[int, Field(ge=0, le=1_000_000), BeforeValidator(integer)]
Minutes = Annotated[float, Field(ge=0.1, le=_MAX_TTL_MINUTES, description="Time to live, in minutes.")]
Count = Annotated[int, Field(ge=0, le=1_000_000_000), BeforeValidator(integer)]
SessionName = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9_.:@+-]{1,200}$"),
    Field(description="The session, unless the header Memotherm-Scope names it."),
]
Moment = Annotated[datetime, BeforeValidator(moment), Field(description="The time of expiry, with an offset.")]
Format = FormatName


def _without_default(schema: Json) -> None:
    schema.pop("default", None)


def absent() -> Any:  # noqa: ANN401 - any field
    """Return the default of an optional field that is never null."""
    return Field(default=None, json_schema_extra=_without_default)


class RequestBody(BaseModel):
    """The base of request bodies: no unknown fields, no type conversion."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def read_other_names(cls, values: Any) -> Any:  # noqa: ANN401 - any JSON
        """Accept the names of other programs: `includeCold`, `category`, `text`, ..."""
        if not isinstance(values, dict):
            return values
        try:
            return renamed(values, cls.model_fields)
        except InvalidInput as exc:
            raise ValueError(str(exc)) from exc
