"""Items of LangGraph as memories, and its filters as filters on metadata."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from langgraph.store.base import PutOp, get_text_at_path, tokenize_path

from memotherm.adapters.langgraph.embedder import SEPARATOR
from memotherm.adapters.langgraph.keys import full_key, namespace_and_key
from memotherm.model import Memory

__all__ = ["KIND", "arguments_of", "fields_of", "lifetime", "where_of"]

#: The kind of the memories that hold items.
KIND = "item"

_OPERATORS = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists")
#: The bits of an integer that every store can compare.
_BITS = 64


def arguments_of(op: PutOp, fields: Sequence[str], most_chars: int) -> dict[str, Any]:
    """Return the arguments of `remember` that store an item.

    Args:
        op: The operation, with a value.
        fields: The paths of the texts to index, unless the operation names others.
        most_chars: How much of the texts is indexed.
    """
    value = dict(op.value or {})
    texts = _texts(value, fields if op.index is None else op.index or ())
    metadata: dict[str, Any] = {"value": value}
    arguments: dict[str, Any] = {
        "content": SEPARATOR.join(texts)[:most_chars] or " ".join((*op.namespace, op.key)),
        "kind": KIND,
        "key": full_key(op.namespace, op.key),
        "metadata": metadata,
        "source": "langgraph",
        "index": bool(texts),
    }
    if op.ttl is not None:
        metadata["ttl"] = op.ttl
        # Without a tier, a short time to live would choose cold.
        arguments |= {"ttl": timedelta(minutes=op.ttl), "tier": "warm"}
    return arguments


def fields_of(memory: Memory) -> dict[str, Any]:
    """Return the arguments of the item that a memory holds."""
    namespace, key = namespace_and_key(memory.key or "")
    return {
        "value": memory.metadata["value"],
        "key": key,
        "namespace": namespace,
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
    }


def lifetime(memory: Memory) -> timedelta | None:
    """Return the time to live that an item was put with."""
    minutes = memory.metadata.get("ttl")
    return None if minutes is None else timedelta(minutes=minutes)


def where_of(conditions: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the filter of a search as a filter on the metadata of memories."""
    if not conditions:
        return None
    return {"value": {name: _condition(value) for name, value in conditions.items()}}


def _texts(value: dict[str, Any], paths: Sequence[str]) -> list[str]:
    found = (text for path in paths for text in get_text_at_path(value, path if path == "$" else tokenize_path(path)))
    return [text.replace(SEPARATOR, " ") for text in found if text.strip()]


def _condition(value: Any) -> Any:  # noqa: ANN401
    """Return a part of a filter; what no stored value can equal becomes a condition that never holds."""
    if isinstance(value, Mapping):
        if any(isinstance(name, str) and name.startswith("$") for name in value):
            return dict(_operation(name, operand) for name, operand in value.items())
        return {name: _condition(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_condition(part) for part in value]
    return value if _storable(value) else {"$in": []}


def _operation(name: str, operand: Any) -> tuple[str, Any]:  # noqa: ANN401
    """Return an operator and its operand; raise the error of LangGraph's own stores for another operator."""
    if name not in _OPERATORS:
        raise ValueError(f"Unsupported operator: {name}")
    if name in ("$gt", "$gte", "$lt", "$lte") and isinstance(operand, int | float) and operand == operand:
        return name, operand if _storable(operand) else _finite(operand)
    if _storable(operand):
        return name, operand
    return ("$nin" if name == "$ne" else "$in"), []


def _storable(value: object) -> bool:
    """Return whether JSON in a store can have a value."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return value.bit_length() < _BITS
    return not isinstance(value, str) or "\x00" not in value


def _finite(number: float) -> float:
    """Return the finite number nearest to a large one."""
    largest = sys.float_info.max
    return largest if number > largest else -largest if number < -largest else float(number)
