"""The schemas of tier policies."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, Field, WithJsonSchema, model_validator

from memotherm.rest.schemas.administration import MoveResponse
from memotherm.rest.schemas.fields import Json, RequestBody, Text, TierName, absent
from memotherm.rest.schemas.memories import MemoryResponse
from memotherm.tiers.policy import PRESETS

__all__ = [
    "AdoptionResponse",
    "DiffRequest",
    "DiffResponse",
    "LintResponse",
    "PolicyRequest",
    "PolicyResponse",
    "RollbackResponse",
    "ShadowResponse",
    "TestsResponse",
]


def _preset(name: str) -> str:
    if name not in PRESETS:
        raise ValueError(f"no policy of the package is called {name!r}: use one of {', '.join(PRESETS)}")
    return name


PresetName = Annotated[str, AfterValidator(_preset), WithJsonSchema({"type": "string", "enum": list(PRESETS)})]


class PolicyRequest(RequestBody):
    """A policy: the text of its file, or the name of one that comes with the package."""

    text: Text = absent()
    name: PresetName = absent()

    @model_validator(mode="after")
    def one_of_both(self) -> Self:
        """Refuse both and neither."""
        if (self.text is None) == (self.name is None):
            raise ValueError("give either the text of a policy or the name of one that comes with the package")
        return self


class DiffRequest(RequestBody):
    """Two policies; without the second one, that in force."""

    policy: PolicyRequest
    against: PolicyRequest = absent()
    memories: bool = Field(False, description="Whether to return the memories with all their fields.")


class AdoptionResponse(BaseModel):
    """A policy that was put in force or in the shadow."""

    number: int
    at: str
    actor: str
    action: Literal["adopt", "rollback", "shadow", "end_shadow"]
    name: str
    #: Empty for the built-in rules.
    hash: str


class RuleResponse(BaseModel):
    """A rule of a policy."""

    id: str
    run: str
    to: str
    why: str
    #: The policy that it comes from.
    origin: str
    #: The conditions as the policy file has them; one table of `when` must hold, and none of `unless`.
    when: list[Json]
    unless: list[Json]
    #: How many memories it has moved since the store was created, under any policy that has it.
    moved: int


class PolicyResponse(BaseModel):
    """The policy in force."""

    name: str
    hash: str
    description: str
    limits: Json
    rules: list[RuleResponse]
    #: The text of its file, without what it extends.
    text: str
    #: The texts of everything that it extends and its own, each with its `origin`, as JSON.
    packed: str
    #: Why it is not used; null if it is.
    unused: str | None
    #: The name of the policy in the shadow.
    shadow: str | None
    adoptions: list[AdoptionResponse]


class FindingResponse(BaseModel):
    """What lint found."""

    code: str
    severity: Literal["error", "warning"]
    line: int | None
    path: str
    message: str


class LintResponse(BaseModel):
    """All that lint found."""

    findings: list[FindingResponse]


class TestResponse(BaseModel):
    """The result of one test of a policy."""

    name: str
    passed: bool
    detail: str


class TestsResponse(BaseModel):
    """The results of the tests of a policy."""

    tests: list[TestResponse]
    failed: int


class DifferenceResponse(BaseModel):
    """A memory that two policies would leave in different tiers."""

    id: str
    content: str
    tier: TierName
    run: str
    #: What each policy would do; null leaves it where it is.
    first: MoveResponse | None
    second: MoveResponse | None
    #: The memory, if it was requested.
    memory: MemoryResponse | None = None


class DiffResponse(BaseModel):
    """The memories whose next move differs."""

    differences: list[DifferenceResponse]


class SkippedResponse(BaseModel):
    """A memory whose move was not taken back."""

    id: str
    why: str


class RollbackResponse(BaseModel):
    """What a rollback did."""

    name: str
    hash: str
    adoption: AdoptionResponse
    moves: list[MoveResponse]
    skipped: list[SkippedResponse]


class DifferingResponse(BaseModel):
    """How many memories the shadow would have in another tier."""

    shadow: TierName
    tier: TierName
    memories: int
    tokens: int


class ShadowResponse(BaseModel):
    """What the policy in the shadow would have done."""

    name: str
    hash: str
    since: str
    recalls: int
    missed: int
    spared: int
    differing: list[DifferingResponse]
