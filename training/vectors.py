"""Vectors of texts by a model: its first token, scaled to length 1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import normalize

from training.model import DEVICE
from training.tokens import TokenIds, padded

__all__ = ["embed", "first_tokens", "forward", "in_batches"]

#: Tokens in one pass: with gradients, and without.
_TOKENS, _TOKENS_WITHOUT_GRADIENTS = 1 << 15, 1 << 17


def forward(model: Any, rows: Sequence[TokenIds], tokens: int = _TOKENS) -> Tensor:  # noqa: ANN401
    """Return the vectors of rows, in their order."""
    order: list[int] = []
    parts: list[Tensor] = []
    for batch in in_batches([len(row) for row in rows], tokens):
        order += batch
        parts.append(first_tokens(model, [rows[index] for index in batch]))
    vectors = normalize(torch.cat(parts).float(), dim=1)
    return vectors[torch.from_numpy(np.argsort(order)).to(DEVICE)]


@torch.no_grad()
def embed(model: Any, rows: Sequence[TokenIds]) -> NDArray[np.float32]:  # noqa: ANN401
    """Return the vectors of rows as an array, without gradients."""
    model.eval()
    vectors: NDArray[np.float32] = forward(model, rows, _TOKENS_WITHOUT_GRADIENTS).cpu().numpy()
    return vectors


def in_batches(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Yield the indices of rows of similar length, the shortest first, with at most so many tokens in a batch."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[index] > tokens:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def first_tokens(model: Any, rows: Sequence[TokenIds], second: Sequence[int] | None = None) -> Tensor:  # noqa: ANN401
    """Return the last state of the first token of each row; `second` is where the second text of a pair begins."""
    ids, mask = (torch.from_numpy(array).to(DEVICE, non_blocking=True) for array in padded(rows))
    types = {}
    if second is not None:
        begins = torch.tensor(second, device=DEVICE)[:, None]
        types["token_type_ids"] = (torch.arange(mask.shape[1], device=DEVICE) >= begins).long() * mask
    with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
        first: Tensor = model(input_ids=ids, attention_mask=mask, **types).last_hidden_state[:, 0]
    return first
