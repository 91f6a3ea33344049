"""Fast construction of many named tuples."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, TypeVar

__all__ = ["named_tuples"]

T = TypeVar("T", bound=tuple[Any, ...])


def named_tuples(kind: type[T], rows: Iterable[tuple[Any, ...]]) -> list[T]:
    """Return a named tuple for each row of values, without a Python call per row; rows must have all fields."""
    return list(map(partial(tuple.__new__, kind), rows))
