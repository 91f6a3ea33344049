"""The schemas of filters: metadata, times, and changes of many memories."""

from __future__ import annotations

from typing import Annotated, Literal, Union

from pydantic import BeforeValidator, Field, StringConstraints
from typing_extensions import TypeAliasType

from memotherm.model.memory import OrderName
from memotherm.rest.schemas.fields import (
    Json,
    Key,
    Kind,
    Labels,
    PriorityName,
    Reason,
    RequestBody,
    TierName,
    absent,
    integer,
)

__all__ = [
    "ChangeManyRequest",
    "CountRequest",
    "FilterRequest",
    "FindRequest",
    "ListedRetention",
    "Moment",
    "Where",
    "raw_where",
]

_DAY = (
    r"((19|20)[0-9]{2}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    r"|02-(0[1-9]|1[0-9]|2[0-8]))|((19|20)(0[48]|[2468][048]|[13579][26])|2000)-02-29)"
)
_TIME = r"T([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?(Z|[+-](0[0-9]|1[0-3]):[0-5][0-9])?"

#: A date or time in ISO format, in UTC unless it has an offset, or a duration before now.
Moment = Annotated[
    str,
    StringConstraints(pattern=rf"^({_DAY}({_TIME})?|[1-9][0-9]{{0,4}}[smhdw])$"),
    Field(description="`2026-01-31`, `2026-01-31T12:00:00Z`, or `7d` for seven days ago.", examples=["7d"]),
]
ListedRetention = Literal["active", "archived", "deleted", "any"]

#: A text without NUL, with at least one visible character.
_PART = r"^[^\x00]*[!-~\u00a1-\u1fff\u3001-\ud7ff\uf900-\ufefe][^\x00]*$"
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


class WhereOperators(RequestBody):
    """Conditions on a value of the metadata; all must hold."""

    eq: _Operand = Field(default=None, alias="$eq")
    ne: _Operand = Field(default=None, alias="$ne")
    gt: _Compared = Field(default=0, alias="$gt")
    gte: _Compared = Field(default=0, alias="$gte")
    lt: _Compared = Field(default=0, alias="$lt")
    lte: _Compared = Field(default=0, alias="$lte")
    in_: Annotated[list[_Operand], Field(max_length=1000)] = Field(default=[], alias="$in")
    nin: Annotated[list[_Operand], Field(max_length=1000)] = Field(default=[], alias="$nin")
    exists: bool = Field(default=True, alias="$exists")


#: Fields of the metadata and what they must be.
Where = Annotated[
    dict[_Text, _Condition],
    Field(
        description="Conditions on the metadata: values, nested objects, lists, and `$eq $ne $gt $gte $lt $lte $in "
        "$nin $exists`.",
        examples=[{"status": "open", "votes": {"$gte": 3}}],
    ),
]


def raw_where(body: RequestBody) -> Json | None:
    """Return the filter as it was sent."""
    where: Json | None = body.model_dump(by_alias=True, exclude_unset=True).get("where")
    return where


class FilterRequest(RequestBody):
    """Filters; those that are left out restrict nothing."""

    since: Moment | None = None
    until: Moment | None = None
    where: Where | None = None
    prefix: Key | None = Field(None, description="Only memories whose key begins with this.", examples=["notes/"])


class ListFilters(FilterRequest):
    """The filters of a listing, or of a change of many memories."""

    tier: TierName | None = None
    priority: PriorityName | None = None
    kind: Kind | None = None
    tags: Labels | None = None
    contains: Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=_PART)] | None = Field(
        default=None, description="A text that the content contains, in upper or lower case."
    )

    def filters(self) -> Json:
        """Return the filters of `find`; `retention` only if it was sent."""
        names = ("tier", "priority", "kind", "tags", "since", "until", "prefix", "contains")
        sent = {"retention"} & self.model_fields_set
        return {**{name: getattr(self, name) for name in (*names, *sent)}, "where": raw_where(self)}


class CountRequest(ListFilters):
    """The filters of a listing."""

    retention: ListedRetention = "active"
    inside: bool = False


class FindRequest(CountRequest):
    """The filters and the page of a listing."""

    order: OrderName = "newest"
    skip: Annotated[int, Field(ge=0, le=1_000_000_000), BeforeValidator(integer)] = Field(
        default=0, description="How many memories of the order to leave out; a page of another order has no next_page."
    )
    limit: Annotated[int, Field(ge=1, le=100), BeforeValidator(integer)] = 20
    page: Annotated[str, StringConstraints(pattern=r"^before-[0-9]{1,18}$")] | None = None


class ChangeManyRequest(ListFilters):
    """Which memories to change, and how many there are: `dry_run` tells the number, `count` confirms it."""

    retention: ListedRetention = absent()
    why: Reason = ""
    dry_run: bool = False
    memories: bool = Field(False, description="Whether to return the memories as well as their number.")
    count: Annotated[int, Field(ge=0, le=1_000_000_000), BeforeValidator(integer)] | None = None
