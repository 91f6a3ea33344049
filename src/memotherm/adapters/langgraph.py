"""Memotherm as the store of LangGraph: `MemothermStore("agent.db")` is a `BaseStore` whose items are keyed memories.

    ("users", "ada"), "profile"    langgraph/users/ada//profile

The empty part before the last one tells the items of a namespace from the namespaces inside it.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
import sys
from collections.abc import Collection, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from itertools import islice
from typing import Any, Literal, Self, cast
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

try:
    from langchain_core.embeddings import Embeddings
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        IndexConfig,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        ensure_embeddings,
        get_text_at_path,
        tokenize_path,
        validate_op_namespace,
    )
    from langgraph.store.base.embed import EmbeddingsLambda
except ImportError as exc:
    raise ImportError("the adapter for LangGraph needs langgraph: pip install 'memotherm[langgraph]'") from exc

from memotherm import embed, opening
from memotherm.adapters.conversation import found
from memotherm.embed import Embedder
from memotherm.errors import InvalidInput, NotFound
from memotherm.memory import Memotherm
from memotherm.model import Memory, Scope, Tier
from memotherm.model.clock import Clock
from memotherm.settings import embedder_keys, load
from memotherm.settings.keys import Key
from memotherm.tiers.scheduler import Scheduler

Rank = Literal["hybrid", "cosine"]

#: Settings of each order; a search by cosines may ask for many items.
_SETTINGS: Mapping[Rank, Mapping[str, Any]] = {"hybrid": {}, "cosine": {"pool_size": 10_000}}


class MemothermStore(BaseStore):
    """Items in namespaces, stored as memories with keys; every change is in the ledger and can be undone.

    An item that is put again keeps its `created_at`. A deleted item can be restored within the grace days.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: Memotherm | str | os.PathLike[str] | None = None,
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        rank: Rank = "hybrid",
        scope: Scope | None = None,
        settings: Mapping[str, Any] | None = None,
        clock: Clock | None = None,
        key: Key | None = None,
    ) -> None:
        """Open a store.

        Args:
            memory: A path or URL as in `memotherm.open`, or an open memory, which stays open on `close`.
            index: The embeddings, their dimensions and the fields to index, as in LangGraph. Without it, the
                embedder of the settings indexes the whole value; with rank "cosine", nothing is indexed.
            ttl: The default time to live in minutes, and whether reading an item renews it.
            rank: "hybrid" orders by vectors, words and use; "cosine" by vectors alone, with the cosine as score, as
                LangGraph's own stores do.
            scope: The scope of the items.
            settings: Settings by name.
            clock: A function that returns the time.
            key: The encryption key of a SQLite file.
        """
        if rank not in ("hybrid", "cosine"):
            raise InvalidInput(f"rank is 'hybrid' or 'cosine', not {rank!r}")
        self.ttl_config = ttl
        self.index_config = index
        self.embeddings = ensure_embeddings(index["embed"]) if index and "embed" in index else None
        self._rank: Rank = rank
        self._fields: Sequence[str] = ("$",) if rank == "hybrid" else ()
        if index is not None:
            self._fields = tuple(index.get("fields") or ("$",))
        self._owner = isinstance(memory, str | os.PathLike | None)
        self._sweeper: Scheduler | None = None
        if not isinstance(memory, str | os.PathLike | None):
            if self.embeddings is not None or rank == "cosine":
                raise InvalidInput(
                    "an open memory has its own embedder and ranking: pass its path, or leave embed and rank out"
                )
            self.memory = memory
            return
        chosen = {**_SETTINGS[rank], **(settings or {})}
        self.memory = opening.open(
            memory, scope=scope, embedder=self._embedder(chosen), settings=chosen, clock=clock, key=key
        )

    def _embedder(self, settings: Mapping[str, Any]) -> Embedder | str:
        if self.embeddings is not None and self.index_config is not None:
            return texts_embedder(LangChainEmbedder(self.embeddings, self.index_config["dims"]))
        if self._rank == "cosine" and self.index_config is None:
            return "none"
        inner = embed.resolve(load(settings).embedder, keys=embedder_keys())
        return inner if inner.name == "none" else texts_embedder(inner)

    def close(self) -> None:
        """Stop the sweeper, and close the memory if this store has opened it."""
        self.stop_ttl_sweeper()
        if self._owner:
            self.memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await asyncio.to_thread(self.close)

    # Operations

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations; reads see the state before the writes, and of several writes of a key the last wins."""
        operations = list(ops)
        for op in operations:
            validate_op_namespace(op)
        results = [self._answer(op) for op in operations]
        self._write({(op.namespace, op.key): op for op in operations if isinstance(op, PutOp)}.values())
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations on another thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _answer(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._list_namespaces(op)
        if isinstance(op, PutOp):
            return None
        raise ValueError(f"Unknown operation type: {type(op)}")

    def _get(self, op: GetOp) -> Item | None:
        memory = self._found(op.namespace, op.key)
        if memory is None:
            return None
        if op.refresh_ttl:
            self._refresh([memory])
        return Item(**fields_of(memory))

    def _write(self, ops: Collection[PutOp]) -> None:
        """Store and delete in one transaction; a value that is refused leaves everything as it was."""
        most_chars = self.memory.settings.max_content_chars
        deleted = (self._found(op.namespace, op.key) for op in ops if op.value is None)
        self.memory.remember_many(
            (arguments_of(op, self._fields, most_chars) for op in ops if op.value is not None),
            forget=[memory.id for memory in deleted if memory is not None],
            why="deleted from the LangGraph store",
        )

    def _found(self, namespace: Sequence[str], key: str) -> Memory | None:
        try:
            return self.memory.get(key=full_key(namespace, key))
        except NotFound:
            return None

    def _refresh(self, memories: Iterable[Memory]) -> None:
        """Let items with a time to live expire later, because they were read."""
        for memory in memories:
            ttl = lifetime(memory)
            if ttl is not None:
                with suppress(NotFound):
                    self.memory.update(memory.id, ttl=ttl, why="read from the LangGraph store")

    # Search

    def _search(self, op: SearchOp) -> list[SearchItem]:
        wanted = op.offset + op.limit
        filters: dict[str, Any] = {"prefix": namespace_prefix(op.namespace_prefix), "where": where_of(op.filter)}
        scored = self._scored(op.query, wanted, filters) if op.query and op.query.strip() and self._fields else []
        page = list(scored[op.offset : wanted])
        if len(page) < op.limit:
            skipped = {memory.id for memory, _ in scored}
            unscored = (memory for memory in found(self.memory, **filters) if memory.id not in skipped)
            start = max(0, op.offset - len(scored))
            page += [(memory, None) for memory in islice(unscored, start, start + op.limit - len(page))]
        if op.refresh_ttl:
            self._refresh(memory for memory, _ in page)
        return [SearchItem(**fields_of(memory), score=score) for memory, score in page]

    def _scored(self, query: str, wanted: int, filters: Mapping[str, Any]) -> Sequence[tuple[Memory, float | None]]:
        """Return the best items with their scores, best first."""
        limit = min(wanted, self.memory.settings.pool_size)
        if self._rank == "cosine":
            return self.memory._view.nearest(query, limit, **filters)
        found = self.memory.recall(query, limit, tiers=tuple(Tier), min_score=0.0, **filters)
        return [(hit.memory, hit.score) for hit in (*found.pinned, *found.hits)]

    # Namespaces

    def _list_namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        begin = next((condition.path for condition in conditions if condition.match_type == "prefix"), ())
        literal = begin[: begin.index("*")] if "*" in begin else begin
        every = namespaces(self.memory, tuple(map(str, literal)))
        matching = (each for each in every if all(_matches(condition, each) for condition in conditions))
        listed = sorted({each[: op.max_depth] for each in matching})
        return listed[op.offset : op.offset + op.limit]

    # Expiry

    def sweep_ttl(self) -> int:
        """Run maintenance now, and return how many items and other memories have expired; expired items are hidden."""
        return self.memory.maintain().expired

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> None:
        """Run maintenance in the background, every `sweep_interval_minutes` of the TTL configuration unless given."""
        if self._sweeper is None:
            minutes = sweep_interval_minutes or (self.ttl_config or {}).get("sweep_interval_minutes")
            self._sweeper = self.memory.store.maintenance(minutes).start()

    def stop_ttl_sweeper(self) -> None:
        """Stop maintenance in the background."""
        if self._sweeper is not None:
            self._sweeper.stop()
            self._sweeper = None


def _matches(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    """Return whether a namespace begins, or ends, with a path in which "*" is any label."""
    path = tuple(condition.path)
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(expected in ("*", label) for expected, label in zip(path, part, strict=True))


# Keys of items

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
