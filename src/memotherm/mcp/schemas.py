"""From the table of tools to what a host is told of them: names, parameters, hints, shapes of answers.

It is kept short, because every agent pays for the whole list at every turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memotherm.errors import SettingsError
from memotherm.tools.definitions import TOOLS, Parameter, Tool

__all__ = ["CORE", "input_schema", "output_schema", "selected"]

Schema = dict[str, Any]

#: What most agents need; the others are for working memory by hand.
CORE = (
    "memory_recall",
    "memory_context",
    "memory_get",
    "memory_status",
    "store_memory",
    "set_memory_tier",
    "memory_forget",
    "memory_undo",
)

_TEXT: Schema = {"type": "string"}
_TYPES: dict[str, Schema] = {
    "str": _TEXT,
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    # One type in each branch: not every host understands a list of types.
    "str | int": {"anyOf": [_TEXT, {"type": "integer"}]},
    "Sequence[str]": {"type": "array", "items": _TEXT},
    "Json": {"type": "object"},
}
_TOLD = {"types": "kinds"}

_LIST: Schema = {"type": "array"}
_OBJECT: Schema = {"type": "object"}
_NUMBER: Schema = {"type": "integer"}


def _object(required: str = "", **properties: Schema) -> Schema:
    shape: Schema = {"type": "object", "properties": properties}
    return {**shape, "required": required.split()} if required else shape


_MEMORY = _object("id tier", id=_TEXT, tier=_TEXT, version=_NUMBER)
_OUTPUTS: dict[str, Schema] = {
    "memory_recall": _object("items", items=_LIST, promoted=_LIST),
    "memory_spill": _object("spilledIds", spilledIds=_LIST),
    "memory_promote": _object("promoted", promoted={"type": "boolean"}),
    "memory_status": _object("hot", hot=_OBJECT),
    "memory_search": _object("results", results=_LIST),
    "memory_get": _OBJECT,
    "memory_context": _object("text", text=_TEXT, tokens=_NUMBER),
}


def selected(wanted: Sequence[str]) -> tuple[Tool, ...]:
    """Return the tools of a set, in the order of the table: all, core, or tools by name."""
    names: set[str] = set()
    for word in wanted:
        if word not in (*TOOLS, "all", "core"):
            raise SettingsError(f"unknown tool {word!r}: use all, core, one, or some of {', '.join(TOOLS)}")
        names |= set(TOOLS) if word == "all" else set(CORE) if word == "core" else {word}
    if not names:
        raise SettingsError("no tools are named: use all, core, one, or names of tools")
    return tuple(tool for name, tool in TOOLS.items() if name in names)


def input_schema(tool: Tool) -> Schema:
    """Return what a tool takes."""
    return {
        "type": "object",
        "properties": {each.name: _parameter(each) for each in tool.parameters},
        **({"required": list(tool.required)} if tool.required else {}),
    }


def output_schema(tool: Tool) -> Schema:
    """Return what a tool gives back, as far as an agent can rely on it."""
    return _OUTPUTS.get(tool.name, _MEMORY)


def _parameter(parameter: Parameter) -> Schema:
    schema = dict(_TYPES[parameter.type.removesuffix(" | None")])
    if parameter.default not in (None, ()):
        schema["default"] = parameter.default
    if parameter.name in _TOLD:
        schema["description"] = _TOLD[parameter.name]
    return schema
