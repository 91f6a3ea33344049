"""The JSON schemas of the tools.

They are short, because an agent pays for the whole list with tokens at every turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memotherm.errors import SettingsError
from memotherm.tools import TOOLS, Parameter, Tool

__all__ = ["CORE", "input_schema", "output_schema", "selected"]

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
_TYPES: dict[str, Schema] = {
    "str": _TEXT,
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "Sequence[str]": {"type": "array", "items": _TEXT},
    "Json": {"type": "object"},
}
#: Descriptions of parameters whose name does not suffice, or whose default depends on another parameter.
_DESCRIPTIONS = {
    "types": "kinds",
    "limit": "10; 3 with sessionId",
    "autoPromote": "true with sessionId",
    "since": "date, or 7d (ago)",
    "where": 'metadata, {"n": {"$gte": 3}}',
    "retention": "or any",
    "inside": "with narrower scopes",
}

_LIST: Schema = {"type": "array"}
_OBJECT: Schema = {"type": "object"}
_NUMBER: Schema = {"type": "integer"}


def _object(required: str = "", **properties: Schema) -> Schema:
    schema: Schema = {"type": "object", "properties": properties}
    return {**schema, "required": required.split()} if required else schema


_MEMORY = _object("id tier", id=_TEXT, tier=_TEXT, version=_NUMBER)
_OUTPUTS: dict[str, Schema] = {
    "store_memory": _object(id=_TEXT, tier=_TEXT, version=_NUMBER),
    "memory_recall": _object("items", items=_LIST, promoted=_LIST),
    "memory_spill": _object("spilledIds", spilledIds=_LIST),
    "memory_promote": _object("promoted", promoted={"type": "boolean"}),
    "memory_prune": _object("pruned", pruned=_LIST),
    "memory_clear": _object("cleared", cleared=_NUMBER),
    "memory_end": _object("moves", moves=_LIST),
    "memory_compact": _object("moves", moves=_LIST),
    "memory_status": _object("hot", hot=_OBJECT),
    "memory_search": _object("results", results=_LIST),
    "memory_find": _object("items", items=_LIST),
    "memory_scopes": _object("scopes", scopes=_LIST),
    "memory_get": _OBJECT,
    "memory_feedback": _object("confirmed", confirmed=_LIST),
    "memory_receipts": _object("receipts", receipts=_LIST),
    "memory_curate": _object("path lines", path=_TEXT, lines=_LIST),
    "memory_list_keys": _object("keys", keys=_LIST),
    "memory_context": _object("text", text=_TEXT, tokens=_NUMBER),
}


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
    return _OUTPUTS.get(tool.name, _MEMORY)


def _parameter(parameter: Parameter, kinds: Sequence[str]) -> Schema:
    schema = dict(_TYPES.get(parameter.type, _TEXT))
    if parameter.choices:
        allowed = kinds if parameter.type == "SessionKind" and kinds else parameter.choices
        schema["enum"] = [str(choice) for choice in allowed]
    if parameter.default is not None:
        schema["default"] = list(parameter.default) if parameter.default == () else parameter.default
    if parameter.name in _DESCRIPTIONS:
        schema["description"] = _DESCRIPTIONS[parameter.name]
    return schema
