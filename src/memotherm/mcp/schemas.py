"""The JSON schemas of the tools.

They are short, because an agent pays for the whole list with tokens at every turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_origin

from memotherm.errors import SettingsError
from memotherm.tools import TOOLS, Parameter, Tool

Schema = dict[str, Any]

#: The tools that most agents need.
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
#: The sets of tools: by default the tools of the sources; core has fewer.
SETS = {
    "standard": (*CORE, "memory_search", "memory_add", "memory_spill", "pin_memory", "unpin_memory"),
    "core": CORE,
    "all": tuple(TOOLS),
}

_TEXT: Schema = {"type": "string"}
_TYPES: dict[Any, Schema] = {
    str: _TEXT,
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    list: {"type": "array", "items": _TEXT},
    list[int]: {"type": "array", "items": {"type": "integer"}},
    Sequence: {"type": "array", "items": _TEXT},
    dict: {"type": "object"},
}
#: Descriptions of parameters whose name does not suffice.
_DESCRIPTIONS = {
    "types": "kinds",
    "since": "date, or 7d (ago)",
    "where": 'metadata, {"n": {"$gte": 3}}',
    "retention": "or any",
    "includeNarrower": "with narrower scopes",
}
#: Parameters whose default depends on whether there is a session.
_BY_SESSION: dict[str, Schema] = {
    "limit": {"default": 10, "description": "3 with sessionId"},
    "autoPromote": {"default": False, "description": "true with sessionId"},
}
_SESSION_KIND = ("memory_add", "type")
#: What the schema says about a parameter beside its type, by tool and parameter.
_MORE: dict[tuple[str, str], Schema] = {
    # It matters whether it was given, so that the function has no default.
    ("store_memory", "kind"): {"default": "fact"},
    _SESSION_KIND: {
        "examples": ["message", "fact", "decision", "rule", "entity", "context", "preference", "task", "note"]
    },
}

_MEMORY = ("id", "tier", "version")
#: Tools whose result is not always a memory.
_NOT_ALWAYS = ("store_memory", "memory_get")


def selected(names: Sequence[str]) -> tuple[Tool, ...]:
    """Return tools in the order of the table, by their names or those of sets."""
    chosen: set[str] = set()
    for name in names:
        if name not in (*TOOLS, *SETS):
            raise SettingsError(f"unknown tool {name!r}: use {', '.join(SETS)}, one, or some of {', '.join(TOOLS)}")
        chosen.update(SETS.get(name, (name,)))
    if not chosen:
        raise SettingsError(f"no tools are selected: use {', '.join(SETS)}, one, or names of tools")
    return tuple(tool for name, tool in TOOLS.items() if name in chosen)


def input_schema(tool: Tool, kinds: Sequence[str] = ()) -> Schema:
    """Return the schema of a tool's parameters; `kinds` are those that the settings allow, if not all."""
    more = {**_MORE, _SESSION_KIND: {"enum": list(kinds)}} if kinds else _MORE
    return {
        "type": "object",
        "properties": {
            parameter.name: _parameter(parameter) | more.get((tool.name, parameter.name), {})
            for parameter in tool.parameters
        },
        **({"required": list(tool.required)} if tool.required else {}),
    }


def output_schema(tool: Tool) -> Schema:
    """Return the schema of a tool's result, limited to the fields that an agent can rely on."""
    if tool.name in _NOT_ALWAYS:
        return {"type": "object"}
    return {"type": "object", "required": list(tool.result or _MEMORY)}


def _parameter(parameter: Parameter) -> Schema:
    schema = dict(_TYPES.get(parameter.type) or _TYPES.get(get_origin(parameter.type), _TEXT))
    if parameter.choices:
        schema["enum"] = [str(choice) for choice in parameter.choices if not str(choice).isdigit()]
    if parameter.default is not None:
        schema["default"] = list(parameter.default) if parameter.default == () else parameter.default
    elif not parameter.required:
        schema |= _BY_SESSION.get(parameter.name, {})
    if parameter.name in _DESCRIPTIONS:
        schema["description"] = _DESCRIPTIONS[parameter.name]
    return schema
