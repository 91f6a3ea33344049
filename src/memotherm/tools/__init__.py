"""The tools that agents call: those of the table of operations, and those that are written by hand."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from keyword import iskeyword
from typing import Any, get_origin

from memotherm.errors import InvalidInput
from memotherm.memory import Memotherm
from memotherm.model import Memory, Priority
from memotherm.model.names import renamed
from memotherm.operations.codec import fields_of
from memotherm.operations.operation import Operation, read_arguments
from memotherm.operations.operation import Tool as Declared
from memotherm.operations.parameters import WIRES, Parameter, without_none
from memotherm.operations.table import OPERATIONS
from memotherm.settings.sources import snake_case
from memotherm.tools.results import secret_warnings, without_secrets
from memotherm.tools.written import (
    memory_add,
    memory_context,
    memory_get,
    memory_get_key,
    memory_put_key,
    memory_recall,
    memory_search,
    memory_status,
    set_memory_tier,
    store_memory,
)

Json = dict[str, Any]


def _read(parameter: Parameter, value: Any) -> Any:  # noqa: ANN401 - a value of JSON
    """Return a value as the tool takes it: 3 for 3.0, a list for one text, the name of a tier or priority."""
    if get_origin(parameter.type) in (list, Sequence) and isinstance(value, str):
        return [value]
    choices = parameter.choices
    if isinstance(value, float) and value.is_integer() and (parameter.type is int or choices):
        value = int(value)
    if not choices or isinstance(value, bool):
        return value
    if isinstance(value, int) and Priority.LOW in choices and 0 <= value < len(Priority):
        return str(list(Priority)[value])
    return value.strip().lower() if isinstance(value, str) else value


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool: its name and description for the model, its parameters, and what it does."""

    name: str
    title: str
    description: str
    parameters: tuple[Parameter, ...]
    #: Called with the memory and the arguments.
    function: Callable[[Memotherm, Json], Json]
    #: Whether it changes nothing but the count of uses.
    reads_only: bool = False
    #: Whether it hides or deletes something.
    hides: bool = False
    #: Whether a second call with the same arguments changes nothing.
    repeatable: bool = False
    #: Other names of parameters, besides the synonyms that all tools know.
    aliases: Mapping[str, str] = field(default_factory=dict)
    #: What the result surely has, for its schema; empty for a memory.
    result: tuple[str, ...] = ()

    @property
    def stored(self) -> tuple[str, ...]:
        """The names of the parameters whose texts it stores: all but those that select something."""
        if self.reads_only:
            return ()
        texts = (each for each in self.parameters if each.type not in (int, float, bool, datetime))
        return tuple(each.name for each in texts if not each.selects and not each.choices)

    @property
    def required(self) -> tuple[str, ...]:
        """The names of the required parameters."""
        return tuple(parameter.name for parameter in self.parameters if parameter.required)

    def read(self, arguments: Mapping[str, Any]) -> Json:
        """Return the arguments of a caller under the names of the parameters, as the tool takes them."""
        parameters = {parameter.name: parameter for parameter in self.parameters}
        named = renamed({self.aliases.get(key, key): value for key, value in arguments.items()}, parameters)
        return {key: _read(parameters[key], value) if key in parameters else value for key, value in named.items()}


def from_operation(operation: Operation) -> Tool:
    """Return the tool that the table declares for an operation."""
    declared = operation.tool or Declared(name=operation.name, title=operation.name)
    names = {alias or wire: wire for wire, _, alias in (word.partition(":") for word in declared.parameters.split())}
    parameters = []
    for name, wire in names.items():
        known = operation.by_wire.get(wire)
        if known is None:
            parameters.append(Parameter(name=name, type=str, selects=True))  # the session, which is part of the scope
        else:
            parameters.append(replace(known, name=name, default=declared.defaults.get(wire, known.default)))

    def call(memory: Memotherm, arguments: Json) -> Json:
        given = {**declared.defaults, **{names[name]: value for name, value in arguments.items()}}
        session = given.pop("session_id" if operation.owner == "session" else "session", None)
        if operation.owner != "session" and session is not None:
            memory = memory.scoped(session=session)
        if declared.begun:
            memory.inspect.session(session)
        found: Json = operation.body(operation.perform(memory, read_arguments(operation, given), session))
        return found

    return Tool(
        name=declared.name,
        title=declared.title,
        description=declared.description or operation.summary,
        parameters=tuple(parameters),
        function=call,
        reads_only=not operation.writes,
        hides=declared.hides,
        repeatable=declared.repeatable,
        result=() if operation.result_type is Memory else (operation.result or fields_of(operation.result_type)[0][1],),
    )


#: Stores secrets as they are; a parameter of tools that may.
KEEP_SECRETS = Parameter(name="keepSecrets", type=bool, default=False)


def from_function(function: Callable[..., Json], title: str, *, may_keep: bool = False, **more: Any) -> Tool:  # noqa: ANN401
    """Return the tool of a function; its first argument is the memory, the others are the caller's.

    Args:
        function: Its docstring describes the tool.
        title: The title for people.
        may_keep: Whether it stores secrets if `keepSecrets` is given.
        more: Other fields of the tool.
    """
    hints = typing.get_type_hints(function)
    _, *declared = inspect.signature(function).parameters.values()
    parameters = []
    for each in declared:
        required = each.default is inspect.Parameter.empty
        # A Python keyword has an underscore appended.
        name, kind = each.name.rstrip("_"), without_none(hints[each.name])
        known = WIRES.get(snake_case(name))
        selects = known is not None and known.selects
        default = None if required else each.default
        parameters.append(Parameter(name=name, type=kind, required=required, default=default, selects=selects))
    if may_keep:
        parameters.append(KEEP_SECRETS)

    @functools.wraps(function)
    def call(memory: Memotherm, arguments: Json) -> Json:
        return function(memory, **{f"{key}_" if iskeyword(key) else key: value for key, value in arguments.items()})

    return Tool(
        name=function.__name__,
        title=title,
        description=inspect.cleandoc(function.__doc__ or ""),
        parameters=tuple(parameters),
        function=call,
        **more,
    )


__all__ = [
    "KEEP_SECRETS",
    "TOOLS",
    "Json",
    "Parameter",
    "Tool",
    "call",
    "from_function",
    "from_operation",
    "memory_add",
    "memory_recall",
    "memory_search",
    "memory_status",
    "set_memory_tier",
    "store_memory",
]

#: Every tool by its name; made when it is first asked for, because commands only need the module `results`.
TOOLS: dict[str, Tool]


@functools.cache
def _tools() -> dict[str, Tool]:
    written = (
        from_function(memory_recall, "Recall memories", result=("items", "promoted")),
        from_function(memory_context, "Context for a prompt", reads_only=True, repeatable=True, result=("text",)),
        from_function(store_memory, "Store a memory", may_keep=True),
        from_function(set_memory_tier, "Set tier or priority", repeatable=True),
        from_function(memory_get, "Read a note or memory", reads_only=True, repeatable=True, aliases={"id": "path"}),
        from_function(memory_search, "Search notes", reads_only=True, repeatable=True, result=("results",)),
        from_function(memory_status, "Memory status", reads_only=True, repeatable=True, result=("hot",)),
        from_function(memory_add, "Add to working memory", may_keep=True),
        from_function(memory_put_key, "Store under a key", may_keep=True, repeatable=True),
        from_function(memory_get_key, "Read a key", reads_only=True, repeatable=True),
    )
    derived = (from_operation(operation) for operation in OPERATIONS.values() if operation.tool is not None)
    return {tool.name: tool for tool in (*written, *derived)}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name == "TOOLS":
        return _tools()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def call(mem: Memotherm, name: str, arguments: Mapping[str, Any]) -> Json:
    """Call a tool by its name; an unknown tool or parameter is an error that lists the known ones.

    Secrets in the texts that a tool stores are replaced, and the result warns of it.
    """
    tool = _tools().get(name)
    if tool is None:
        raise InvalidInput(f"unknown tool {name!r}: use one of {', '.join(_tools())}")
    arguments = tool.read(arguments)
    known = [parameter.name for parameter in tool.parameters]
    unknown = [key for key in arguments if key not in known]
    if unknown:
        raise InvalidInput(f"{name} has no parameter {unknown[0]!r}: use {', '.join(known)}")
    missing = [key for key in tool.required if arguments.get(key) is None]
    if missing:
        raise InvalidInput(f"{name} requires the parameter {missing[0]!r}")
    if arguments.pop(KEEP_SECRETS.name, False):
        warnings = secret_warnings(str(arguments.get("content")), mem.settings)
    else:
        advice = f": {KEEP_SECRETS.name} stores them" if KEEP_SECRETS in tool.parameters else ""
        arguments, warnings = without_secrets(arguments, tool.stored, mem.settings, advice)
    result = tool.function(mem, arguments)
    return {**result, "warnings": [*result.get("warnings", ()), *warnings]} if warnings else result
