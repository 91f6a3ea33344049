"""Memotherm as the store of LangGraph: `MemothermStore("agent.db")` is a `BaseStore` whose items are keyed memories."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from types import TracebackType
from typing import Any, Literal, Self

try:
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
        validate_op_namespace,
    )
except ImportError as exc:
    raise ImportError("the adapter for LangGraph needs langgraph: pip install 'memotherm[langgraph]'") from exc

from memotherm import embed, opening
from memotherm.adapters.conversation import found
from memotherm.adapters.langgraph_items import (
    LangChainEmbedder,
    arguments_of,
    fields_of,
    full_key,
    lifetime,
    namespace_prefix,
    namespaces,
    texts_embedder,
    where_of,
)
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
