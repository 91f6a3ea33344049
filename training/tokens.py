"""Token ids of texts and questions, as the product makes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["QUERY_PREFIX", "QUESTION_TOKENS", "TEXT_TOKENS", "TokenIds", "Tokenizer", "padded"]

TokenIds = list[int]

#: The prefix of questions; `memotherm.embed.local` has the same.
QUERY_PREFIX = "Represent this sentence for searching relevant passages: "
_VOCABULARY = Path(__file__).parent.parent / "src/memotherm/embed/weights/vocab.txt"
#: [SEP], the last token of every text.
_END = 102
#: The longest texts and questions in training.
TEXT_TOKENS, QUESTION_TOKENS = 192, 96
#: Lengths of batches are multiples of this, which the GPU multiplies faster.
_MULTIPLE = 8


class Tokenizer:
    """BERT's WordPiece with the vocabulary of the bundled model."""

    def __init__(self, vocabulary: Path = _VOCABULARY) -> None:
        from tokenizers import BertWordPieceTokenizer

        self._words = BertWordPieceTokenizer(str(vocabulary), lowercase=True)

    def texts(self, texts: Sequence[str], longest: int = TEXT_TOKENS) -> list[TokenIds]:
        """Return the ids of stored texts, cut at a number of tokens."""
        return [
            ids if len(ids) <= longest else [*ids[: longest - 1], _END]
            for ids in (encoding.ids for encoding in self._words.encode_batch(list(texts)))
        ]

    def questions(self, questions: Sequence[str], longest: int = QUESTION_TOKENS) -> list[TokenIds]:
        """Return the ids of questions, which carry the prefix."""
        return self.texts([QUERY_PREFIX + question for question in questions], longest)


def padded(rows: Sequence[TokenIds]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ids as a matrix padded with zeros, and a mask that is 1 where there is a token."""
    longest = -(-max(map(len, rows)) // _MULTIPLE) * _MULTIPLE
    ids = np.zeros((len(rows), longest), np.int64)
    mask = np.zeros((len(rows), longest), np.int64)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = row
        mask[number, : len(row)] = 1
    return ids, mask
