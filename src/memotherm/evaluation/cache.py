"""A cache of vectors in a folder, so that a set is embedded once and ranked many times.

A text's vector depends on the model and the text alone, so a run with a cache measures the same as one without.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memotherm import embed
from memotherm.embed import Embedder
from memotherm.settings.private_files import create_file, create_folder

__all__ = ["cached"]

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
        """Return what the cosines of a query count."""
        return embed.query_weight(self._embedder, text)

    def word_similarity(self, words: Sequence[str], texts: Sequence[str]) -> Vectors:
        """Return how similar each word is to the most similar one of each text."""
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
            # In one write, so that the records of two runs at once do not mix.
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
