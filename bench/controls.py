"""Control rankings to compare with, and a cache of vectors for repeated measurements."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memotherm import embed
from memotherm.embed import Embedder
from memotherm.settings.paths import create_file, create_folder
from memotherm.text.words import query_words, words

__all__ = ["CONTROLS", "OUR_WORDS", "PLAIN", "STRICTER", "Corpus", "cached", "embedded"]

Vectors = NDArray[np.float32]

_KEY_BYTES = 32


class CachedEmbedder:
    """An embedder that calls another one only for texts that are not in the cache."""

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        self._embedder = embedder
        self.name = embedder.name
        calibration = getattr(embedder, "calibration", None)
        if calibration is not None:
            self.calibration = calibration
        # One record after the other: the key, then the vector.
        self._file = folder / f"{hashlib.sha256(self.name.encode()).hexdigest()[:16]}.vectors"
        self._cache = self._read()

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each text."""
        return self._rows("text", texts, self._embedder.embed)

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a query."""
        row: Vectors = self._rows("query", [text], lambda _: embed.embed_query(self._embedder, text)[np.newaxis])[0]
        return row

    def query_weight(self, text: str) -> float:
        """Return the weight of the cosines of a query."""
        return embed.query_weight(self._embedder, text)

    def word_similarity(self, words: Sequence[str], texts: Sequence[str]) -> Vectors:
        """Return the best similarity of each word in each text."""
        return embed.word_similarity(self._embedder, words, texts)

    def split(self, text: str) -> list[str]:
        """Split a content as the embedder does."""
        return embed.split(self._embedder, text)

    def close(self) -> None:
        """Close the embedder; the cache stays in the file."""
        embed.close(self._embedder)

    def _rows(self, kind: str, texts: Sequence[str], make: Callable[[list[str]], Vectors]) -> Vectors:
        keys = [hashlib.sha256(f"{kind}\0{text}".encode("utf-8", "surrogatepass")).digest() for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._cache}
        if missing:
            vectors = np.asarray(make(list(missing.values())), "<f4")
            new = {key: row.tobytes() for key, row in zip(missing, vectors, strict=True)}
            self._cache |= new
            # One write, so that concurrent runs do not mix their records.
            create_file(self._file)
            with self._file.open("ab", buffering=0) as file:
                file.write(b"".join(key + row for key, row in new.items()))
        rows = b"".join(self._cache[key] for key in keys)
        return np.frombuffer(rows, "<f4").reshape(len(keys), -1)

    def _read(self) -> dict[bytes, bytes]:
        """Return the records of the file; an incomplete one at its end is removed."""
        if not self._file.exists():
            return {}
        data = self._file.read_bytes()
        size = _KEY_BYTES + 4 * self.dimensions
        whole = len(data) // size * size
        if whole < len(data):
            self._file.write_bytes(data[:whole])
        records = (data[start : start + size] for start in range(0, whole, size))
        return {record[:_KEY_BYTES]: record[_KEY_BYTES:] for record in records}


def cached(embedder: Embedder, folder: Path | None) -> Embedder:
    """Return an embedder with a cache in a folder, or the embedder itself without a folder."""
    if folder is None:
        return embedder
    create_folder(folder)
    return CachedEmbedder(embedder, folder)


Scores = NDArray[np.float64]

_B = 0.75
_RRF_K = 60
_POOL = 200
_WORD = re.compile(r"\w+")


class Wording(NamedTuple):
    """How BM25 splits a text and a question into words, and its k1."""

    of_text: Callable[[str], Sequence[str]]
    of_question: Callable[[str], Sequence[str]]
    k1: float


def _lowered(text: str) -> list[str]:
    return _WORD.findall(text.lower())


PLAIN = Wording(_lowered, _lowered, 1.5)
OUR_WORDS = Wording(words, query_words, 1.2)


class Corpus:
    """The documents of one scope, scored in full for any question."""

    def __init__(self, contents: Sequence[str], vectors: NDArray[np.float32], wording: Wording) -> None:
        self._vectors = vectors
        self._wording = wording
        counts = [Counter(wording.of_text(content)) for content in contents]
        lengths = np.array([sum(count.values()) for count in counts], np.float64)
        self._norm = wording.k1 * (1 - _B + _B * lengths / max(lengths.mean(), 1.0)) if counts else lengths
        self._postings: dict[str, tuple[list[int], list[int]]] = {}
        for row, count in enumerate(counts):
            for word, times in count.items():
                rows, tallies = self._postings.setdefault(word, ([], []))
                rows.append(row)
                tallies.append(times)
        self._size = len(counts)

    def text_scores(self, question: str) -> Scores:
        """Return BM25 of every document."""
        scores = np.zeros(self._size)
        for word in self._wording.of_question(question):
            rows, tallies = self._postings.get(word, ([], []))
            if rows:
                idf = math.log(1 + (self._size - len(rows) + 0.5) / (len(rows) + 0.5))
                times = np.array(tallies, np.float64)
                scores[rows] += idf * times * (self._wording.k1 + 1) / (times + self._norm[rows])
        return scores

    def vector_scores(self, vector: NDArray[np.float32]) -> Scores:
        """Return the cosine of every document."""
        return np.asarray(self._vectors @ vector, np.float64)


def embedded(
    embedder: Embedder, contents: Sequence[str], progress: Callable[[int], None]
) -> dict[str, NDArray[np.float32]]:
    """Return one vector for each distinct text, truncated where the model truncates it."""
    distinct = list(dict.fromkeys(contents))
    vectors: dict[str, NDArray[np.float32]] = {}
    for start in range(0, len(distinct), 64):
        batch = distinct[start : start + 64]
        vectors.update(zip(batch, embed.checked(embedder, batch), strict=True))
        progress(len(batch))
    return vectors


def _weighted(text: Scores, vector: Scores) -> Scores:
    """Return 0.7 of the vector scores and 0.3 of the text scores, each scaled to [0, 1] for the question."""
    return 0.7 * _min_max(vector) + 0.3 * _min_max(text)


def _min_max(scores: Scores) -> Scores:
    if not scores.size or scores.max() <= scores.min():
        return np.zeros_like(scores)
    return np.asarray((scores - scores.min()) / (scores.max() - scores.min()), np.float64)


def _reciprocal(text: Scores, vector: Scores) -> Scores:
    total = np.zeros_like(text)
    for scores in (text, vector):
        order = np.argsort(-scores, kind="stable")[:_POOL]
        order = order[scores[order] > 0]
        total[order] += 1 / (_RRF_K + 1 + np.arange(len(order)))
    return total


#: Name -> a score for every document, from its BM25 and its cosine.
CONTROLS: Mapping[str, Callable[[Scores, Scores], Scores]] = {
    "BM25": lambda text, vector: text,  # noqa: ARG005
    "vector": lambda text, vector: vector,  # noqa: ARG005
    "0.7/0.3": _weighted,
    "RRF": _reciprocal,
}

#: The same with the product's own words; a vector has none.
STRICTER = {f"{name}, our words": control for name, control in CONTROLS.items() if name != "vector"}
