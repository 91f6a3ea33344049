"""Hard negatives: the texts of a question's store that a model ranks highest and that do not answer the question."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from training.questions import Questions

__all__ = ["NEAR_COPY", "Mined", "mine"]

#: Texts with a greater cosine to an answer say the same.
NEAR_COPY = 0.975
_NEGATIVES = 20
#: A question whose answer has a higher rank is probably not answered by it.
_WORST_RANK = 20
_GOLD = -9.0


@dataclass(frozen=True, slots=True)
class Mined:
    """For each question its negatives, the hardest first, and whether the question is used."""

    negatives: list[list[int]]
    used: list[bool]


def mine(questions: Questions, question_vectors: NDArray[np.float32], text_vectors: NDArray[np.float32]) -> Mined:
    """Find the negatives of each question by the vectors of a model."""
    negatives: list[list[int]] = []
    used: list[bool] = []
    for rows, asked in zip(questions.store_texts, questions.store_questions, strict=True):
        texts = text_vectors[rows.start : rows.stop]
        cosines = question_vectors[asked.start : asked.stop] @ texts.T
        for number, scores in zip(asked, cosines, strict=True):
            gold = [answer - rows.start for answer in questions.answers[number]]
            best = scores[gold].max()
            scores[gold] = _GOLD
            same = texts @ texts[gold[0]] >= NEAR_COPY
            hardest = [int(index) for index in np.argsort(-scores)[:_NEGATIVES] if not same[index]]
            negatives.append([rows.start + index for index in hardest if scores[index] > _GOLD])
            used.append(int((scores > best).sum()) < _WORST_RANK)
    return Mined(negatives, used)
