"""The rows of texts that a network reads, one text after the other on the device."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from memotherm.embed.local import static_vectors
from training.model import DEVICE

__all__ = ["Rows", "Side", "pieces_of", "read"]

T = TypeVar("T")
_TEXTS = 200


class Side(NamedTuple):
    """The pieces or the tokens of a text, or of several."""

    #: Equal for equal ones; 0 for marks of a beginning or an end.
    numbers: Tensor
    values: Tensor
    #: 0 in the older text, 1 in the newer one, 2 in what that answers.
    segments: Tensor
    #: Which rows there are, as a column; None if all.
    there: Tensor | None = None


class Rows:
    """The pieces or the tokens of all texts, one text after the other."""

    def __init__(self, numbers: Sequence[Sequence[int]], values: Sequence[Any], most: int) -> None:
        """Keep them on the device.

        Args:
            numbers: For each text, the numbers of its rows.
            values: For each text, the values of its rows, as float16.
            most: How many rows of a text and of what it answers are read.
        """
        lengths = torch.tensor([*map(len, numbers), 0])  # the place of no text is -1
        self._starts, self._lengths = (lengths.cumsum(0) - lengths).to(DEVICE), lengths.to(DEVICE)
        self._numbers = torch.tensor([number for each in numbers for number in each], device=DEVICE)
        self._values = torch.from_numpy(np.concatenate(values)).to(DEVICE)
        self._most = most

    def older(self, texts: Tensor) -> Side:
        """Return the rows of older texts."""
        side = self.newer(texts, torch.full_like(texts, -1))
        return side._replace(segments=torch.zeros_like(side.segments))

    def newer(self, texts: Tensor, answered: Tensor) -> Side:
        """Return the rows of newer texts behind those of what they answer."""
        before = self._lengths[answered][:, None]
        length = (before + self._lengths[texts][:, None]).clamp(max=self._most)
        at = torch.arange(max(1, int(length.max())), device=DEVICE)[None]
        there = at < length
        starts = torch.where(at < before, self._starts[answered][:, None], self._starts[texts][:, None] - before)
        rows = (starts + at) * there
        return Side(
            self._numbers[rows] * there,
            self._values[rows].float() * there[..., None],
            torch.where(at < before, 2, 1),
            (there | (at == 0))[..., None],
        )


def read(texts: Sequence[str], one: Callable[[str], T]) -> list[T]:
    """Return what a function makes of each text; all processors work at it."""
    with multiprocessing.Pool() as pool:
        return pool.map(one, texts, chunksize=_TEXTS)


def pieces_of(text: str, most: int) -> tuple[list[int], Any]:
    """Return the rows of the word pieces of a text in the table, and their vectors and marks as float16."""
    rows, marks = static_vectors().rows(text, most)
    vectors = np.hstack([static_vectors().vectors(rows), np.array(marks, np.float32).reshape(-1, 2)])
    return rows, vectors.astype(np.float16)
