"""The same store, clock and query give the same answer, whatever the process has done before."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memotherm import Memotherm

_WORDS = [f"{first}{second}" for first in ("ota", "heri", "bado", "luma", "sevi") for second in "abcdefghijkl"]


class Dense:
    """An embedder whose vectors fill the space evenly, so that many are about as near as the last that fits."""

    name = "dense"
    dimensions = 64

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = [np.random.default_rng(zlib.crc32(text.encode())).normal(size=self.dimensions) for text in texts]
        vectors = np.array(rows, np.float32).reshape(len(rows), self.dimensions)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def phrase(dice: random.Random) -> str:
    return " ".join(dice.choices(_WORDS, k=dice.randrange(3, 9)))


def answers(mem: Memotherm, queries: list[str]) -> list[object]:
    recalled = [
        [(hit.memory.id, hit.score) for hit in mem.recall(query, 100, min_score=0, track=False)] for query in queries
    ]
    return [*recalled, *(mem.context(query, 800, track=False).text for query in queries)]


def test_a_warmed_process_answers_as_a_fresh_one(
    open_mem: Callable[..., Memotherm], tmp_path: Path, store_kind: str
) -> None:
    """Recalls that came before, and changes in between, leave no trace in the answers to later queries."""
    dice = random.Random(16)
    contents = {f"{phrase(dice)} {number}" for number in range(4400 if store_kind == "sqlite" else 400)}
    warmed = open_mem(tmp_path / "memory.db", embedder=Dense())
    warmed.remember_many([{"content": content} for content in sorted(contents)])
    # Words that no memory has leave every place to the vectors.
    queries = [*(phrase(dice) for _ in range(4)), *(f"absent{number}" for number in range(12))]
    for _ in range(2):
        for _ in range(12):
            warmed.recall(phrase(dice), track=False)
        assert answers(warmed, queries) == answers(open_mem(tmp_path / "memory.db", embedder=Dense()), queries)
        for memory in warmed.find(limit=50).memories[::2]:
            warmed.move(memory.id, dice.choice(["hot", "cold"]))
        warmed.remember_many([{"content": phrase(dice)} for _ in range(50)])
        assert answers(warmed, queries) == answers(open_mem(tmp_path / "memory.db", embedder=Dense()), queries)
