"""Synthetic texts and vectors in large numbers.

Texts follow Zipf's law, stop words first, so that a text index sees common and rare words in
their usual shares. Vectors lie in clusters and are a function of the text alone. Everything
is deterministic; nothing here knows the store.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Iterator, Sequence
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from memotherm.embed.calibration import Calibration

__all__ = ["DIMENSIONS", "BenchDraft", "SyntheticEmbedder", "drafts", "queries", "texts"]

Vectors = NDArray[np.float32]

DIMENSIONS = 384
_WORDS = 30_000
_CLUSTERS = 1000
#: Two vectors of one cluster have about this cosine; the bundled model's lie between .5 and .8.
_COSINE = 0.65
#: Words of a text: about 100 characters.
_TEXT_WORDS = 17
_CHUNK = 10_000
_STOP_WORDS = """the to and of a in is it you that for was on are with as be this have at by not but from or an
    they which we there can has so will if about what when who would do no some could""".split()  # noqa: SIM905


class BenchDraft(TypedDict):
    """The arguments of `remember` that the benchmarks use."""

    content: str
    tier: str


@functools.cache
def _vocabulary() -> NDArray[np.object_]:
    """Return stop words, then generated words, from the most to the least frequent."""
    syllables = ["".join(pair) for pair in itertools.product("bdfgklmnprstvz", "aeiou")]
    made = ("".join(parts) for length in (2, 3) for parts in itertools.product(syllables, repeat=length))
    order = np.random.default_rng(5).permutation(60_000)[: _WORDS - len(_STOP_WORDS)]
    listed = list(itertools.islice(made, 60_000))
    return np.array([*_STOP_WORDS, *(listed[place] for place in order)], dtype=object)


@functools.cache
def _cumulative() -> NDArray[np.float64]:
    weights = 1.0 / (np.arange(_WORDS) + 2.7)
    return np.asarray(np.cumsum(weights) / weights.sum())


def texts(count: int, seed: int) -> Iterator[str]:
    """Yield texts of about 100 characters; duplicates are practically impossible."""
    random = np.random.default_rng(seed)
    for start in range(0, count, _CHUNK):
        size = min(_CHUNK, count - start)
        places = np.searchsorted(_cumulative(), random.random((size, _TEXT_WORDS)))
        chosen = _vocabulary()[np.minimum(places, _WORDS - 1)]
        yield from map(" ".join, chosen.tolist())


def drafts(count: int, seed: int, tier: str) -> Iterator[BenchDraft]:
    """Yield memories for `remember_many`."""
    return ({"content": text, "tier": tier} for text in texts(count, seed))


def queries(count: int, seed: int) -> list[str]:
    """Return queries of six words with the frequencies of the texts, and two stop words."""
    random = np.random.default_rng([seed, 1])
    first = float(_cumulative()[len(_STOP_WORDS) - 1])
    telling = _vocabulary()[np.searchsorted(_cumulative(), first + random.random((count, 6)) * (0.999 - first))]
    stops = _vocabulary()[random.integers(0, len(_STOP_WORDS), (count, 2))]
    return [" ".join((*some, *words)) for some, words in zip(stops.tolist(), telling.tolist(), strict=True)]


class SyntheticEmbedder:
    """Fast vectors: the centre of a cluster plus an offset, both chosen by the hash of the text."""

    calibration = Calibration(((0.0, 0.0), (0.3, 0.2), (0.6, 0.6), (1.0, 1.0)))

    def __init__(self, dimensions: int = DIMENSIONS) -> None:
        self.name = f"synthetic:{dimensions}"
        self.dimensions = dimensions
        random = np.random.default_rng(7)
        self._centres = _unit(random.standard_normal((_CLUSTERS, dimensions)))
        # The variance falls with the dimension, as along the principal axes of real vectors.
        spread = (np.arange(dimensions) + 10.0) ** -0.35
        self._steps = _unit(random.standard_normal((6, 4096, dimensions)) * spread) * np.sqrt((1 / _COSINE - 1) / 6)

    def embed(self, contents: Sequence[str]) -> Vectors:
        """Return one row for each text."""
        hashes = b"".join(hashlib.blake2b(each.encode(), digest_size=16).digest() for each in contents)
        numbers = np.frombuffer(hashes, "<u2").reshape(len(contents), 8)
        rows = self._centres[numbers[:, 0].astype(np.int64) * _CLUSTERS >> 16]
        for step, chosen in zip(self._steps, numbers[:, 1:7].T, strict=True):
            rows = rows + step[chosen >> 4]
        return _unit(rows)

    def split(self, text: str) -> list[str]:
        """Return the text unchanged: no synthetic text is long."""
        return [text]


def _unit(rows: NDArray[np.float32] | NDArray[np.float64]) -> Vectors:
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True), np.float32)
