"""The tools that agents call: those of the table of operations, and those that are written by hand."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from memotherm.errors import InvalidInput
from memotherm.memory import Memotherm
from memotherm.operations.table import OPERATIONS
from memotherm.tools.results import secret_warnings, without_secrets
from memotherm.tools.tool import KEEP_SECRETS, Json, Parameter, Tool, from_function, from_operation
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

__all__ = [
    "TOOLS",
    "Parameter",
    "Tool",
    "call",
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
