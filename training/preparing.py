"""What every training begins with: the published model, the questions as tokens, their vectors and negatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.measure import Measured, Searched
from training.model import Weights, encoder, read
from training.negatives import Mined, mine
from training.questions import Questions, read_questions
from training.sources import read_sources
from training.tokens import TokenIds, Tokenizer
from training.vectors import embed

__all__ = ["Prepared", "measured", "prepare"]

#: The longest input of the model; training sets are cut earlier.
_LONGEST = 512


@dataclass(frozen=True, slots=True)
class Prepared:
    """The published model, and what it makes of the questions."""

    weights: Weights
    model: Any
    tokenizer: Tokenizer
    questions: Questions
    #: Questions with the prefix, questions without it, and texts.
    question_ids: list[TokenIds]
    bare_ids: list[TokenIds]
    text_ids: list[TokenIds]
    question_vectors: NDArray[np.float32]
    text_vectors: NDArray[np.float32]
    mined: Mined


def prepare(base: Path, questions: Path, log: Callable[[str], None], *, every: int = 1) -> Prepared:
    """Read the model and the questions, or one store of questions in `every`."""
    weights = read(base)
    model = encoder(weights)
    tokenizer = Tokenizer()
    asked = read_questions(questions, read_sources(), every=every)
    log(f"{len(asked.questions)} questions about {len(asked.texts)} texts")
    question_ids, bare_ids = tokenizer.questions(asked.questions), tokenizer.texts(asked.questions, 64)
    text_ids = tokenizer.texts(asked.texts)
    log("made tokens")
    question_vectors, text_vectors = embed(model, question_ids), embed(model, text_ids)
    mined = mine(asked, question_vectors, text_vectors)
    log(f"mined negatives; {sum(mined.used)} questions are used")
    return Prepared(
        weights, model, tokenizer, asked, question_ids, bare_ids, text_ids, question_vectors, text_vectors, mined
    )


def measured(model: Any, sets: Sequence[Searched], tokenizer: Tokenizer) -> dict[str, Measured]:  # noqa: ANN401
    """Return nDCG@10 of each question of each set, by the cosines of a model."""
    return {
        data.name: data.measure(
            embed(model, tokenizer.questions(data.questions, _LONGEST)),
            embed(model, tokenizer.texts(data.texts, _LONGEST)),
        )
        for data in sets
    }
