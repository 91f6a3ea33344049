"""How many tokens a text costs in a prompt.

The count is exact for the `o200k_base` vocabulary where the tokenizer's wheel exists; elsewhere it is
an upper bound, because a budget that is exceeded is worse than one that is not filled.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

__all__ = ["count_tokens"]


def count_tokens(text: str) -> int:
    """Return the number of tokens of a text."""
    return _counter()(text)


@functools.cache
def _counter() -> Callable[[str], int]:
    try:
        import splintr
    except ImportError:
        return _upper_bound
    encode = splintr.Tokenizer.from_pretrained("o200k_base").encode
    return lambda text: len(encode(text))


def _upper_bound(text: str) -> int:
    """Return the number of UTF-8 bytes: no byte-level vocabulary can need more tokens."""
    return len(text.encode())
