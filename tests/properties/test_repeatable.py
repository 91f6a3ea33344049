"""The same store, clock and query give the same answer, whatever this process or another one has done before."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memotherm import Memotherm
from memotherm.errors import MemothermError
from tests.stores import limits

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
        [(hit.memory, hit.score) for hit in mem.recall(query, 100, min_score=0, track=False)] for query in queries
    ]
    return [*recalled, *(mem.context(query, 800, track=False).text for query in queries)]


@pytest.mark.slow
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


#: Verbs of one memory that leave it, or its uses, different.
_VERBS: tuple[Callable[[Memotherm, str, random.Random], object], ...] = (
    lambda mem, memory_id, dice: mem.update(memory_id, content=phrase(dice)),
    lambda mem, memory_id, dice: mem.move(memory_id, dice.choice(["hot", "warm", "cold"])),
    lambda mem, memory_id, dice: mem.prioritize(memory_id, dice.choice(["important", "low"])),
    lambda mem, memory_id, _: mem.archive(memory_id),
    lambda mem, memory_id, _: mem.forget(memory_id),
    lambda mem, memory_id, _: mem.restore(memory_id),
    lambda mem, memory_id, _: mem.purge(memory_id),
    lambda mem, memory_id, _: mem.undo(mem.history(memory_id)[-1].seq),
    lambda mem, _, dice: mem.remember(phrase(dice)),
    lambda mem, _, dice: mem.recall(phrase(dice)),
    lambda mem, _, dice: mem.context(phrase(dice), 400),
    lambda mem, *_: mem.compact(),
)


#: Limits with which a store in a file keeps vectors as codes, or next to nothing, in memory.
_LIMITS: tuple[dict[str, int], ...] = (
    {},
    {"exact": 16},
    {"candidates": 30_000, "vectors": 60_000},
)


@pytest.mark.slow
def test_memories_that_change_a_store_at_once_agree_afterwards(
    open_mem: Callable[..., Memotherm], tmp_path: Path, store_kind: str
) -> None:
    """What each of them keeps in memory follows the changes of the other, and of its own threads."""
    for number, kept in enumerate(_LIMITS if store_kind == "sqlite" else _LIMITS[:1]):
        with limits(**kept):
            change_at_once(partial(open_mem, tmp_path / f"{number}.db", embedder=Dense()))


def change_at_once(opened: Callable[[], Memotherm]) -> None:
    """Let threads change a store that is opened twice, and compare both with a third that is opened afterwards."""

    def change(task: tuple[Memotherm, str, int]) -> None:
        mem, memory_id, seed = task
        own_dice = random.Random(seed)
        with suppress(MemothermError):  # purged meanwhile, or deleted
            own_dice.choice(_VERBS)(mem, memory_id, own_dice)

    dice, pair = random.Random(22), (opened(), opened())
    ids = [memory.id for memory in pair[0].remember_many([{"content": phrase(dice)} for _ in range(120)])]
    queries = [phrase(dice) for _ in range(4)]
    with ThreadPoolExecutor(6) as pool:
        for _ in range(4):
            tasks = [(dice.choice(pair), dice.choice(ids), dice.getrandbits(32)) for _ in range(24)]
            list(pool.map(change, tasks))
            for mem in pair:
                mem.status()  # which writes the uses that wait
            expected = answers(opened(), queries)
            assert [answers(mem, queries) for mem in pair] == [expected, expected]
