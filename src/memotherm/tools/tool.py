"""A tool and its parameters, as its function declares them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from memotherm.model import Priority, Tier
from memotherm.model.memory import KNOWN_KINDS
from memotherm.model.names import renamed
from memotherm.tools.serializers import Json

__all__ = ["ChatType", "LowerTier", "Parameter", "PriorityName", "SessionKind", "TierOrPriority", "Tool"]

# The annotations of parameters with a closed set of values.
TierOrPriority: TypeAlias = str | int
PriorityName: TypeAlias = str | int
LowerTier: TypeAlias = str
SessionKind: TypeAlias = str
ChatType: TypeAlias = str

_CHOICES: dict[str, tuple[str, ...]] = {
    "TierOrPriority": (*Tier, *Priority),
    "PriorityName": tuple(Priority),
    "TierName": tuple(Tier),
    "LowerTier": (Tier.WARM, Tier.COLD),
    "SessionKind": KNOWN_KINDS,
    "ChatType": ("direct", "group", "channel"),
}
_OPTIONAL = " | None"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a tool."""

    name: str
    #: The Python annotation, as text, without None.
    type: str
    required: bool
    default: Any = None

    @property
    def choices(self) -> tuple[str, ...]:
        """The values of a closed set; empty if any value of the type is accepted."""
        return _CHOICES.get(self.type, ())

    def read(self, value: Any) -> Any:  # noqa: ANN401 - a value of JSON
        """Return a value as the function takes it: 3 for 3.0, a list for one text, the name of a tier or priority."""
        if self.type == "Sequence[str]" and isinstance(value, str):
            return [value]
        if isinstance(value, float) and value.is_integer() and (self.type == "int" or self.choices):
            value = int(value)
        if not self.choices or isinstance(value, bool):
            return value
        if isinstance(value, int) and self.choices[-1] == Priority.LOW and 0 <= value < len(Priority):
            return str(list(Priority)[value])
        return value.strip().lower() if isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that an interface offers; its first argument is the memory, the others are the caller's."""

    function: Callable[..., Json]
    title: str
    #: Whether it changes nothing but the count of uses.
    reads_only: bool = False
    #: Whether it hides or deletes something.
    hides: bool = False
    #: Whether a second call with the same arguments changes nothing.
    repeatable: bool = False
    #: Other names of parameters, besides the synonyms that all tools know.
    aliases: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the tool."""
        return self.function.__name__

    @property
    def description(self) -> str:
        """The description for the model."""
        return inspect.cleandoc(self.function.__doc__ or "")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters of the caller, in order."""
        _, *parameters = inspect.signature(self.function).parameters.values()
        return tuple(
            Parameter(
                # A Python keyword has an underscore appended.
                name=parameter.name.rstrip("_"),
                type=str(parameter.annotation).removesuffix(_OPTIONAL),
                required=parameter.default is inspect.Parameter.empty,
                default=None if parameter.default is inspect.Parameter.empty else parameter.default,
            )
            for parameter in parameters
        )

    @property
    def required(self) -> tuple[str, ...]:
        """The names of the required parameters."""
        return tuple(parameter.name for parameter in self.parameters if parameter.required)

    def read(self, arguments: Mapping[str, Any]) -> Json:
        """Return the arguments of a caller under the names of the parameters, as the function takes them."""
        parameters = {parameter.name: parameter for parameter in self.parameters}
        named = renamed({self.aliases.get(key, key): value for key, value in arguments.items()}, parameters)
        return {key: parameters[key].read(value) if key in parameters else value for key, value in named.items()}
