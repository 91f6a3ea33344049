"""The process that `bench.sizes` starts for each system: stores memories, answers searches, writes their times.

All systems get the same texts and the same vectors, which are made before a search is timed.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from bench.synthetic import DIMENSIONS, SyntheticEmbedder, queries, texts

__all__ = ["SEARCHES", "SYSTEMS"]

_BATCH = 5000
_LIMIT = 10
_SCOPES = 10
_QUERIES = queries(50, seed=11)
#: What is searched, by the key of a search.
SEARCHES = {"all": "no filter", "half": "a filter over half", "scope": "one scope of 10 %"}


class System(Protocol):
    """A store of memories. Half of them are decisions, and they belong to ten scopes in turn."""

    def store(self, memories: Sequence[tuple[int, str]]) -> None:
        """Store memories, numbered."""

    def search(self, kind: str) -> Callable[[str], object]:
        """Return the call of a search."""


class Embedder(SyntheticEmbedder):
    """Remembers the vectors of the queries."""

    def __init__(self) -> None:
        super().__init__()
        self._queries = {query: self.embed_query(query) for query in _QUERIES}

    def embed_query(self, text: str) -> Any:  # noqa: ANN401
        """Return the vector of a query."""
        known = getattr(self, "_queries", {}).get(text)
        return self.embed([text])[0] if known is None else known


class Memotherm:
    """This package: one store with all memories in one scope, and one with ten scopes."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        import memotherm

        # The second store is for searches in a scope: a recall in a scope does not see the others.
        self._one, self._ten = (memotherm.open(folder / f"{name}.db", embedder=embedder) for name in ("one", "ten"))
        self._scopes = [self._ten.scoped(project=f"p{number}") for number in range(_SCOPES)]

    def store(self, memories: Sequence[tuple[int, str]]) -> None:
        """Store memories in one scope."""
        self._one.remember_many([{"content": text, "kind": _kind(number)} for number, text in memories])

    def store_in_scopes(self, memories: Sequence[tuple[int, str]]) -> None:
        """Store memories in ten scopes."""
        for scope, view in enumerate(self._scopes):
            view.remember_many([{"content": text} for number, text in memories if number % _SCOPES == scope])

    def search(self, kind: str) -> Callable[[str], object]:
        """Return the call of a search."""
        if kind == "scope":
            return lambda query: self._scopes[3].recall(query, limit=_LIMIT)
        return lambda query: self._one.recall(query, limit=_LIMIT, kinds=["decision"] if kind == "half" else None)


class Chroma:
    """Chroma, in this process, with its files on disk."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        chromadb: Any = import_module("chromadb")  # not among the packages for development
        client = chromadb.PersistentClient(str(folder), settings=chromadb.Settings(anonymized_telemetry=False))
        self._memories = client.get_or_create_collection(
            "memories", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )
        self._embedder = embedder

    def store(self, memories: Sequence[tuple[int, str]]) -> None:
        """Store memories with their texts and vectors."""
        contents = [text for _, text in memories]
        self._memories.add(
            ids=[str(number) for number, _ in memories],
            embeddings=self._embedder.embed(contents),
            documents=contents,
            metadatas=[{"kind": _kind(number), "scope": number % _SCOPES} for number, _ in memories],
        )

    def search(self, kind: str) -> Callable[[str], object]:
        """Return the call of a search."""
        where: Any = {"all": None, "half": {"kind": "decision"}, "scope": {"scope": 3}}[kind]
        return lambda query: self._memories.query(
            query_embeddings=[self._embedder.embed_query(query)], n_results=_LIMIT, where=where
        )


class LangGraph:
    """LangGraph's SqliteStore."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        import sqlcipher3.dbapi2
        from langgraph.store.sqlite import SqliteStore

        def embed(contents: Sequence[str]) -> list[list[float]]:
            if len(contents) == 1:
                return [embedder.embed_query(contents[0]).tolist()]
            return [row.tolist() for row in embedder.embed(contents)]

        # The sqlite3 of many Pythons cannot load the extension that the store needs.
        connection = sqlcipher3.dbapi2.connect(str(folder / "store.db"), check_same_thread=False, isolation_level=None)
        index: Any = {"dims": DIMENSIONS, "embed": embed, "fields": ["text"], "text_fields": ["text"]}
        self._memories: Any = SqliteStore(connection, index=index)
        self._memories.setup()

    def store(self, memories: Sequence[tuple[int, str]]) -> None:
        """Store memories in ten namespaces."""
        from langgraph.store.base import PutOp

        self._memories.batch(
            [
                PutOp(("memories", str(number % _SCOPES)), str(number), {"text": text, "kind": _kind(number)})
                for number, text in memories
            ]
        )

    def search(self, kind: str) -> Callable[[str], object]:
        """Return the call of a search."""
        namespace = ("memories", "3") if kind == "scope" else ("memories",)
        conditions = {"kind": "decision"} if kind == "half" else None
        return lambda query: self._memories.search(namespace, query=query, filter=conditions, limit=_LIMIT)


class Scan:
    """All vectors in memory, and one product with them: what a search must do at least."""

    def __init__(self, _folder: Path, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: list[Any] = []

    def store(self, memories: Sequence[tuple[int, str]]) -> None:
        """Append the vectors."""
        self._vectors.append(self._embedder.embed([text for _, text in memories]))

    def search(self, kind: str) -> Callable[[str], object]:
        """Return the call of a search."""
        step = {"all": 1, "half": 2, "scope": _SCOPES}[kind]
        self._vectors = [np.concatenate(self._vectors)]
        vectors = self._vectors[0] if step == 1 else self._vectors[0][::step].copy()
        return lambda query: np.argpartition(-(vectors @ self._embedder.embed_query(query)), _LIMIT)[:_LIMIT]


SYSTEMS: dict[str, Callable[[Path, Embedder], System]] = {
    "memotherm": Memotherm,
    "chroma": Chroma,
    "langgraph": LangGraph,
    "numpy scan": Scan,
}


def _kind(number: int) -> str:
    return "decision" if number % 2 else "fact"


class Worker:
    """One system and what it has stored so far."""

    def __init__(self, name: str, folder: Path) -> None:
        self._system = SYSTEMS[name](folder, Embedder())
        self._memories: Iterator[tuple[int, str]] = enumerate(texts(2_000_000, 1))
        self._calls: dict[str, Callable[[str], object]] = {}
        self._count = 0

    def fill(self, size: int) -> float:
        """Store memories until there are so many; return the seconds that the system took."""
        return self._stored(self._system.store, size - self._count)

    def fill_scopes(self, size: int) -> float:
        """Store as many memories in ten scopes, where that is another store."""
        own = getattr(self._system, "store_in_scopes", None)
        if own is None:
            return 0.0
        return self._stored(own, size)

    def _stored(self, store: Callable[[Sequence[tuple[int, str]]], None], count: int) -> float:
        taken = 0.0
        wanted = itertools.islice(self._memories, count)
        while batch := list(itertools.islice(wanted, _BATCH)):
            started = time.perf_counter()
            store(batch)
            taken += time.perf_counter() - started
        self._count += count
        self._calls.clear()
        return taken

    def one_by_one(self, count: int) -> float:
        """Store memories in a call each; return the seconds."""
        self._calls.clear()
        batch = list(itertools.islice(self._memories, count))
        self._count += count
        started = time.perf_counter()
        for memory in batch:
            self._system.store([memory])
        return time.perf_counter() - started

    def search(self, kind: str, index: int) -> tuple[float, float]:
        """Search once; return the wall-clock and CPU milliseconds."""
        call = self._calls.get(kind) or self._calls.setdefault(kind, self._system.search(kind))
        query = _QUERIES[index % len(_QUERIES)]
        cpu, wall = time.process_time(), time.perf_counter()
        call(query)
        return (time.perf_counter() - wall) * 1000, (time.process_time() - cpu) * 1000


def main() -> None:
    """Answer requests until there are no more."""
    worker = Worker(sys.argv[1], Path(sys.argv[2]))
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        request = json.loads(line)
        answer = getattr(worker, request.pop("do"))(**request)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
