"""The requests of operations as pydantic models, made from the table of operations."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Self, Union, get_args

from fastapi import Path
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    WithJsonSchema,
    WrapValidator,
    create_model,
    model_validator,
)
from typing_extensions import TypeAliasType

from memotherm.errors import InvalidInput
from memotherm.model.memory import KNOWN_KINDS
from memotherm.model.names import renamed
from memotherm.operations.operation import Operation
from memotherm.operations.parameters import Parameter, PolicyBody
from memotherm.operations.table import OPERATIONS
from memotherm.tiers.policy import PRESETS
from memotherm.tiers.rules.where import parsed_where

Json = dict[str, Any]


# The filter of metadata

_Text = Annotated[str, StringConstraints(max_length=65_536, pattern=r"^[^\x00]*$")]
#: The name of a member; one that begins with `$` is an operator.
_Member = Annotated[str, StringConstraints(max_length=65_536, pattern=r"^([^\x00$][^\x00]*)?$")]
_Integer = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
_Number = Annotated[float, Field(ge=-1e308, le=1e308, allow_inf_nan=False)]
_Compared = Union[_Integer, _Number, _Text]  # noqa: UP007 - evaluated when the model is built


def _nested(item: str) -> str:
    """Return the type of a value that is an item or a list, also of lists of lists of items.

    It ends there: TypeScript, for which clients are generated, has no type of endless lists.
    """
    found = item
    for _ in range(3):
        found = f"{item} | list[{found}]"
    return found


_Operand: Any = TypeAliasType("_Operand", _nested("bool | _Compared | dict[_Text, _Operand] | None"))
_Condition: Any = TypeAliasType(
    "_Condition", _nested("bool | _Compared | WhereOperators | dict[_Member, _Condition] | None")
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
    in_: Annotated[list[_Operand], Field(fail_fast=True, max_length=1000)] = Field(default=[], alias="$in")
    nin: Annotated[list[_Operand], Field(fail_fast=True, max_length=1000)] = Field(default=[], alias="$nin")
    exists: bool = Field(default=True, alias="$exists")


def _as_it_was_sent(value: Any, validate: Any) -> Any:  # noqa: ANN401 - pydantic's types
    """Validate a filter, and return the JSON itself.

    It is parsed first: that stops at the first error, where the types have one for each form that a value could have.
    """
    try:
        parsed_where(value)
    except InvalidInput as exc:
        raise ValueError(str(exc)) from exc
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


# Requests


class _Renamed(BaseModel):
    """A request whose fields may have the names of other programs: `includeCold`, `category`, `text`, ..."""

    @model_validator(mode="before")
    @classmethod
    def read_other_names(cls, values: Any) -> Any:  # noqa: ANN401 - any JSON
        """Return the values under our names."""
        if not isinstance(values, dict):
            return values
        try:
            return renamed(values, cls.model_fields)
        except InvalidInput as exc:
            raise ValueError(str(exc)) from exc


class RequestBody(_Renamed):
    """The base of request bodies: no unknown fields, no type conversion."""

    model_config = ConfigDict(extra="forbid", strict=True)


def _without_default(schema: Json) -> None:
    schema.pop("default", None)


def absent() -> Any:  # noqa: ANN401 - any field
    """Return the default of an optional field that is never null."""
    return Field(default=None, json_schema_extra=_without_default)


def _preset(name: str) -> str:
    if name not in PRESETS:
        raise ValueError(f"no policy of the package is called {name!r}: use one of {', '.join(PRESETS)}")
    return name


class PolicyRequest(RequestBody):
    """A policy: the text of its file, or the name of one that comes with the package."""

    text: Annotated[str, Field(**OPERATIONS["remember"].by_wire["content"].limits)] = absent()
    name: Annotated[str, AfterValidator(_preset), WithJsonSchema({"type": "string", "enum": list(PRESETS)})] = absent()

    @model_validator(mode="after")
    def one_of_both(self) -> Self:
        """Refuse both and neither."""
        if (self.text is None) == (self.name is None):
            raise ValueError("give either the text of a policy or the name of one that comes with the package")
        return self


def body_model(operation: Operation, parameters: Iterable[Parameter]) -> type[BaseModel]:
    """Return the model of the body of an operation; a policy that is the only parameter is the body itself."""
    listed = list(parameters)
    if [parameter.type for parameter in listed] == [PolicyBody]:
        return PolicyRequest
    fields: Any = {parameter.wire: _field(parameter) for parameter in listed}
    name = "".join(word.capitalize() for word in operation.name.split("_")) + "Request"
    return create_model(name, __base__=RequestBody, __doc__=operation.summary, **fields)


def query_model(operation: Operation, parameters: Iterable[Parameter]) -> type[BaseModel]:
    """Return the model of the query string of an operation."""
    fields: Any = {}
    for parameter in parameters:
        kind, field = _field(parameter)
        numbers = any(isinstance(choice, int) for choice in get_args(parameter.type))
        fields[parameter.wire] = (Annotated[kind, BeforeValidator(_whole)] if numbers else kind), field
    return create_model(f"{operation.name}_query", __base__=_Renamed, **fields)


def path_parameter(parameter: Parameter) -> Any:  # noqa: ANN401 - a type hint
    """Return the type of a parameter in the path."""
    limits = dict(parameter.limits)
    return Annotated[parameter.type, Path(description=parameter.help, **limits)]


def _field(parameter: Parameter) -> tuple[Any, Any]:
    """Return the type and the default of a field."""
    kind: Any = field_type(parameter)
    description = parameter.help or None
    default = ... if parameter.required else parameter.default
    if default == "" and parameter.limits.get("min_length"):
        # Its own limits refuse the default, which means that it is left out.
        return kind, Field(None, description=description, json_schema_extra=_without_default)
    return kind | None if parameter.nullable else kind, Field(default, description=description)


def field_type(parameter: Parameter) -> Any:  # noqa: ANN401 - a type hint
    """Return the type of a field, with its limits."""
    limits = dict(parameter.limits)
    if parameter.name == "where":
        return Where
    if parameter.name == "memories" and parameter.multiple:
        draft: Any = _draft_model()
        return Annotated[list[draft], Field(fail_fast=True, **limits)]
    if parameter.type is PolicyBody:
        return PolicyRequest
    if parameter.name == "policies":
        return Annotated[list[PolicyRequest], Field(**limits)]
    if parameter.type is int:
        return Annotated[int, Field(**limits), BeforeValidator(_integer)]
    if parameter.type is datetime:
        return Annotated[datetime, BeforeValidator(_moment), Field(**limits)]
    if parameter.multiple:
        item: Any = Annotated[get_args(parameter.type)[0], Field(**parameter.item_limits)]
        return Annotated[list[item], Field(fail_fast=True, **limits)]
    if limits.get("examples") == list(KNOWN_KINDS):
        # The known kinds are listed, but any well-formed word is a kind.
        schema = {
            "anyOf": [{"type": "string", "enum": list(KNOWN_KINDS)}, {"type": "string", "pattern": limits["pattern"]}]
        }
        return Annotated[str, Field(pattern=limits["pattern"]), WithJsonSchema(schema)]
    return Annotated[parameter.type, Field(**limits)] if limits else parameter.type


@cache
def _draft_model() -> type[BaseModel]:
    remember = OPERATIONS["remember"]
    fields: Any = {each.wire: _field(each) for each in remember.parameters if each.name not in remember.more}
    return create_model("MemoryRequest", __base__=RequestBody, __doc__="A memory to store.", **fields)


def _integer(value: object) -> object:
    """Return 3 for 3.0: JSON has one type of number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _whole(value: object) -> object:
    """Return the number that a text of a query string writes, for a choice among names and numbers."""
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value


def _moment(value: object) -> datetime:
    """Return the time that a text gives; anything else is an error."""
    if not isinstance(value, str):
        raise ValueError("a time is text such as 2026-12-31T18:00:00Z")  # noqa: TRY004 - pydantic's way
    found = datetime.fromisoformat(value)
    if found.tzinfo is None:
        raise ValueError("a time needs an offset, such as the Z of 2026-12-31T18:00:00Z")
    return found
