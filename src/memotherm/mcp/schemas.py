"""The JSON schemas of the tools.

They are short, because an agent pays for the whole list with tokens at every turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_origin

from memotherm.errors import SettingsError
from memotherm.tools import TOOLS, Parameter, Tool
from memotherm.tools.tool import SessionKind

Schema = dict[str, Any]

#: The tools that most agents need; the others manage working memory explicitly.
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
_TYPES: dict[Any, Schema] = {
    str: _TEXT,
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    list: {"type": "array", "items": _TEXT},
    Sequence: {"type": "array", "items": _TEXT},
    dict: {"type": "object"},
}
#: Descriptions of parameters whose name does not suffice, or whose default depends on another parameter.
_DESCRIPTIONS = {
    "types": "kinds",
    "limit": "10; 3 with sessionId",
    "autoPromote": "true with sessionId",
    "since": "date, or 7d (ago)",
    "where": 'metadata, {"n": {"$gte": 3}}',
    "retention": "or any",
    "includeNarrower": "with narrower scopes",
}

_MEMORY: Schema = {
    "type": "object",
    "properties": {"id": _TEXT, "tier": _TEXT, "version": {"type": "integer"}},
    "required": ["id", "tier"],
}
#: Tools whose result is not always a memory.
_NOT_ALWAYS = ("store_memory", "memory_get")


def selected(names: Sequence[str]) -> tuple[Tool, ...]:
    """Return tools in the order of the table: all, core, or by name."""
    chosen: set[str] = set()
    for name in names:
        if name not in (*TOOLS, "all", "core"):
            raise SettingsError(f"unknown tool {name!r}: use all, core, one, or some of {', '.join(TOOLS)}")
        chosen |= set(TOOLS) if name == "all" else set(CORE) if name == "core" else {name}
    if not chosen:
        raise SettingsError("no tools are selected: use all, core, one, or names of tools")
    return tuple(tool for name, tool in TOOLS.items() if name in chosen)


def input_schema(tool: Tool, kinds: Sequence[str] = ()) -> Schema:
    """Return the schema of a tool's parameters; `kinds` are those that the settings allow, if not all."""
    return {
        "type": "object",
        "properties": {parameter.name: _parameter(parameter, kinds) for parameter in tool.parameters},
        **({"required": list(tool.required)} if tool.required else {}),
    }


def output_schema(tool: Tool) -> Schema:
    """Return the schema of a tool's result, limited to the fields that an agent can rely on."""
    if tool.name in _NOT_ALWAYS:
        return {"type": "object"}
    if not tool.result:
        return _MEMORY
    return {"type": "object", "required": list(tool.result)}


def _parameter(parameter: Parameter, kinds: Sequence[str]) -> Schema:
    schema = dict(_TYPES.get(get_origin(parameter.type) or parameter.type, _TEXT))
    if parameter.choices:
        allowed = kinds if parameter.type is SessionKind and kinds else parameter.choices
        schema["enum"] = [str(choice) for choice in allowed]
    if parameter.default is not None:
        schema["default"] = list(parameter.default) if parameter.default == () else parameter.default
    if parameter.name in _DESCRIPTIONS:
        schema["description"] = _DESCRIPTIONS[parameter.name]
    return schema
