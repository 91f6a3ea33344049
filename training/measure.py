"""nDCG@10 of a ranking by cosine alone, on evaluation sets: a fast estimate of what a model is worth.

The numbers that count are those of the whole ranking (`python -m bench quality`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bench.datasets import EvaluationSet, load
from numpy.typing import NDArray

__all__ = ["Searched", "difference", "ndcg", "searched_sets"]

_DISCOUNTS = 1 / np.log2(np.arange(2, 12))
_RESAMPLES = 2000

#: nDCG@10 of each question of a set.
Measured = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Searched:
    """An evaluation set: its distinct texts, its questions, and for each question the texts it searches and wants."""

    name: str
    texts: list[str]
    questions: list[str]
    #: For each question, rows of `texts`, and which of them answer it.
    candidates: list[NDArray[np.int64]]
    gold: list[NDArray[np.bool_]]

    def measure(self, question_vectors: NDArray[np.float32], text_vectors: NDArray[np.float32]) -> Measured:
        """Return nDCG@10 of each question."""
        return np.array(
            [
                ndcg(text_vectors[rows] @ vector, gold)
                for vector, rows, gold in zip(question_vectors, self.candidates, self.gold, strict=True)
            ]
        )


def ndcg(scores: NDArray[np.floating], gold: NDArray[np.bool_]) -> float:
    """Return nDCG@10 with binary gains."""
    found = gold[np.argsort(-scores, kind="stable")[:10]]
    return float(_DISCOUNTS[: len(found)][found].sum() / _DISCOUNTS[: min(10, int(gold.sum()))].sum())


def searched_sets(folder: Path, names: Sequence[str] = ()) -> list[Searched]:
    """Return the evaluation sets of a folder, or those whose names begin with one of the given ones."""
    return [_searched(data) for data in load(folder) if not names or any(data.name.startswith(name) for name in names)]


def _searched(data: EvaluationSet) -> Searched:
    texts = list(dict.fromkeys(document.content for document in data.documents))
    row_of = {text: row for row, text in enumerate(texts)}
    scopes: dict[str | None, list[tuple[str, int]]] = {}
    for document in data.documents:
        scopes.setdefault(document.scope, []).append((document.id, row_of[document.content]))
    found = Searched(data.name, texts, [], [], [])
    for question in data.questions:
        documents = scopes.get(question.scope, [])
        gold = np.array([name in question.gold for name, _ in documents], bool)
        if gold.any():
            found.questions.append(question.text)
            found.candidates.append(np.array([row for _, row in documents]))
            found.gold.append(gold)
    return found


def difference(new: Measured, old: Measured) -> tuple[float, float, float]:
    """Return the mean difference and its 95 % interval, by paired bootstrap."""
    change = new - old
    chance = np.random.default_rng(0)
    means = change[chance.integers(0, len(change), (_RESAMPLES, len(change)))].mean(1)
    low, high = np.quantile(means, (0.025, 0.975))
    return float(change.mean()), float(low), float(high)


def table(new: Mapping[str, Measured], old: Mapping[str, Measured]) -> str:
    """Return lines of the form `set  N  old -> new  difference [interval]`."""
    lines = []
    for name, measured in new.items():
        change, low, high = difference(measured, old[name])
        lines.append(
            f"{name:24} {len(measured):4} {old[name].mean():.4f} -> {measured.mean():.4f} "
            f"{change:+.4f} [{low:+.4f}, {high:+.4f}]"
        )
    return "\n".join(lines)
