"""The filter of metadata as a schema: what `where` accepts, for the OpenAPI document and its readers."""

from __future__ import annotations

from typing import Annotated, Any, Union

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, WrapValidator
from typing_extensions import TypeAliasType

__all__ = ["Where"]

_Text = Annotated[str, StringConstraints(max_length=10_000, pattern=r"^[^\x00]*$")]
#: The name of a member; one that begins with `$` is an operator.
_Member = Annotated[str, StringConstraints(max_length=10_000, pattern=r"^([^\x00$][^\x00]*)?$")]
_Integer = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
_Number = Annotated[float, Field(ge=-1e308, le=1e308, allow_inf_nan=False)]
_Compared = Union[_Integer, _Number, _Text]  # noqa: UP007 - evaluated when the model is built

_Operand = TypeAliasType(
    "_Operand",
    "bool | _Integer | _Number | _Text | list[_Operand] | dict[_Text, _Operand] | None",
)
_Condition = TypeAliasType(
    "_Condition",
    "bool | _Integer | _Number | _Text | WhereOperators | list[_Condition] | dict[_Member, _Condition] | None",
)


class WhereOperators(BaseModel):
    """Conditions on a value of the metadata; all must hold."""

    model_config = ConfigDict(extra="forbid", strict=True)

    eq: _Operand = Field(default=None, alias="$eq")
    ne: _Operand = Field(default=None, alias="$ne")
    gt: _Compared = Field(default=0, alias="$gt")
    gte: _Compared = Field(default=0, alias="$gte")
    lt: _Compared = Field(default=0, alias="$lt")
    lte: _Compared = Field(default=0, alias="$lte")
    in_: Annotated[list[_Operand], Field(max_length=1000)] = Field(default=[], alias="$in")
    nin: Annotated[list[_Operand], Field(max_length=1000)] = Field(default=[], alias="$nin")
    exists: bool = Field(default=True, alias="$exists")


def _as_it_was_sent(value: Any, validate: Any) -> Any:  # noqa: ANN401 - pydantic's types
    """Validate a filter, and return the JSON itself."""
    validate(value)
    return value


#: Fields of the metadata and what they must be.
Where = Annotated[
    dict[_Text, _Condition],
    WrapValidator(_as_it_was_sent),
    Field(
        description="Conditions on the metadata: values, nested objects, lists, and `$eq $ne $gt $gte $lt $lte $in "
        "$nin $exists`.",
    ),
]
