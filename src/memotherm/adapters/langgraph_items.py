"""Items of LangGraph as memories: keys, values, filters and vectors.

    ("users", "ada"), "profile"    langgraph/users/ada//profile

The empty part before the last one tells the items of a namespace from the namespaces inside it.
"""

from __future__ import annotations

import asyncio
import math
import re
import sys
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, cast
from urllib.parse import unquote

import numpy as np
from langchain_core.embeddings import Embeddings
from langgraph.store.base import PutOp, get_text_at_path, tokenize_path
from langgraph.store.base.embed import EmbeddingsLambda
from numpy.typing import NDArray

from memotherm import embed
from memotherm.embed import Embedder
from memotherm.memory import Memotherm
from memotherm.model import Memory

# Keys

#: Prefix of the keys of all items.
_ROOT = "langgraph/"

_RESERVED = re.compile("[%/\x00-\x1f\x7f]")


def namespace_prefix(namespace: Sequence[str]) -> str:
    """Return the key prefix of a namespace."""
    return _ROOT + "".join(f"{_quoted(label)}/" for label in namespace)


def full_key(namespace: Sequence[str], key: str) -> str:
    """Return the key of the memory that holds an item."""
    return f"{namespace_prefix(namespace)}/{_quoted(key)}"


def namespaces(mem: Memotherm, within: Sequence[str] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the namespaces that hold items, at and inside a namespace."""
    prefix = namespace_prefix(within)
    after = None
    while page := mem.inspect.keys(prefix, depth=1, after=after):
        for entry in page:
            if entry == f"{prefix}/":
                yield tuple(within)
            elif entry.endswith("/"):
                yield from namespaces(mem, (*within, unquote(entry[len(prefix) : -1])))
        after = page[-1]


def _quoted(text: str) -> str:
    return _RESERVED.sub(lambda match: f"%{ord(match[0]):02X}", text)


# Embedders

#: Separates the indexed texts of an item.
_SEPARATOR = "\x1e"


class _TextsEmbedder:
    """Another embedder, for contents that consist of several texts."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - a member of the other embedder
        return getattr(self._inner, name)

    def split(self, content: str) -> list[str]:
        """Return the windows of each text."""
        return [window for text in content.split(_SEPARATOR) for window in embed.split(self._inner, text)]


def texts_embedder(inner: Embedder) -> Embedder:
    """Return an embedder that embeds each text of a content by itself."""
    return cast("Embedder", _TextsEmbedder(inner))


class LangChainEmbedder:
    """LangChain's embeddings as an embedder: each text gets one vector, however long it is."""

    def __init__(self, embeddings: Embeddings, dimensions: int) -> None:
        self._embeddings = embeddings
        model = getattr(embeddings, "model", None) or getattr(embeddings, "model_name", "")
        self.name = f"langchain:{type(embeddings).__name__}:{model}:{dimensions}"
        self.dimensions = dimensions
        #: A function that LangGraph's wrapper calls in a coroutine only.
        self._only_async = isinstance(embeddings, EmbeddingsLambda) and getattr(embeddings, "func", None) is None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text."""
        embeddings, listed = self._embeddings, list(texts)
        vectors = (
            _result(embeddings.aembed_documents(listed)) if self._only_async else embeddings.embed_documents(listed)
        )
        return np.asarray(vectors, np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a query."""
        if self._only_async:
            return np.asarray(_result(self._embeddings.aembed_query(text)), np.float32)
        return np.asarray(self._embeddings.embed_query(text), np.float32)

    def split(self, text: str) -> list[str]:
        """Return the text as one window, as LangGraph's own stores do."""
        return [text]


def _result(coroutine: Coroutine[Any, Any, list[Any]]) -> list[Any]:
    """Run a coroutine in an event loop of its own, also where another loop is running."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


# Items and filters

_OPERATORS = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists")
#: The bits of an integer that every store can compare.
_BITS = 64


def arguments_of(op: PutOp, fields: Sequence[str], most_chars: int) -> dict[str, Any]:
    """Return the arguments of `remember` that store an item; `fields` are the paths to index unless it names some."""
    value = dict(op.value or {})
    texts = _texts(value, fields if op.index is None else op.index or ())
    metadata: dict[str, Any] = {"value": value}
    arguments: dict[str, Any] = {
        "content": _SEPARATOR.join(texts)[:most_chars] or " ".join((*op.namespace, op.key)),
        "kind": "item",
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
    *labels, _, key = (memory.key or "").removeprefix(_ROOT).split("/")
    return {
        "value": memory.metadata["value"],
        "key": unquote(key),
        "namespace": tuple(unquote(label) for label in labels),
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
    return [text.replace(_SEPARATOR, " ") for text in found if text.strip()]


def _condition(value: Any) -> Any:  # noqa: ANN401
    """Return a part of a filter; a value that cannot be stored becomes a condition that never holds."""
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
