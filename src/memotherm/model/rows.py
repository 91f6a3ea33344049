"""Named tuples by the hundred, as every search makes them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, TypeVar

__all__ = ["named_tuples"]

T = TypeVar("T", bound=tuple[Any, ...])


def named_tuples(kind: type[T], rows: Iterable[tuple[Any, ...]]) -> list[T]:
    """Return a named tuple for each row of values, defaults included: without a call of Python's own for each."""
    return list(map(partial(tuple.__new__, kind), rows))
