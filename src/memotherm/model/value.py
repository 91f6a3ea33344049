"""The base of the public values, and their lazily computed parts.

Public values are frozen dataclasses that can be compared, hashed, copied and pickled.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import fields, make_dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Generic, TypeVar

__all__ = ["Lazy", "Value", "constructor"]

_MOST_CHARS = 48

T = TypeVar("T")


class Value:
    """Base of the public dataclasses: `repr` is one short line.

    Empty fields are left out, long texts are shortened, and of a long collection only the size is printed.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        pairs = (_printed(self, field.name) for field in fields(self) if field.repr)  # type: ignore[arg-type]
        parts = (f"{name}={_short(value)}" for name, value in pairs if value not in (None, "", (), {}))
        return f"{type(self).__name__}({', '.join(parts)})"


def constructor(kind: type[T]) -> Callable[..., T]:
    """Return a function that makes a frozen dataclass of the values of all its fields, in their order.

    The dataclass itself makes a call for each field. Here a class with the same slots, which is not frozen, takes
    the values and then becomes the frozen one: a quarter of the time. Nothing is checked or converted.
    """

    def freeze(value: object) -> None:
        value.__class__ = kind

    names = [(field.name, Any) for field in fields(kind)]  # type: ignore[arg-type]
    namespace = {"__post_init__": freeze}
    return make_dataclass(
        kind.__name__, names, bases=kind.__bases__, namespace=namespace, slots=True, eq=False, repr=False
    )


class Lazy(Generic[T]):
    """A value that is computed when it is first read; it compares, hashes, pickles and prints as that value."""

    __slots__ = ("_compute", "_lock", "_value")

    def __init__(self, compute: Callable[[], T]) -> None:
        self._lock = threading.Lock()
        self._compute: Callable[[], T] | None = compute
        self._value: T

    @property
    def value(self) -> T:
        """The computed value."""
        if self._compute is None:
            return self._value
        with self._lock:
            if self._compute is not None:
                self._value = self._compute()
                self._compute = None
        return self._value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lazy) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return repr(self.value)

    def __reduce__(self) -> tuple[Any, ...]:
        return _computed, (self.value,)


def _computed(value: T) -> Lazy[T]:
    return Lazy(lambda: value)


def _printed(value: object, name: str) -> tuple[str, object]:
    """Return the name and the value of a field, of one that is computed when it is read as of any other."""
    found = getattr(value, name)
    return name.removeprefix("_"), found.value if isinstance(found, Lazy) else found


def _short(value: object) -> str:
    if isinstance(value, Enum):
        return repr(value.value)
    if isinstance(value, str):
        return repr(value if len(value) <= _MOST_CHARS else f"{value[: _MOST_CHARS - 1]}…")
    if isinstance(value, datetime):
        return repr(value.isoformat())
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Collection) and not isinstance(value, Value):
        text = repr(value) if len(value) <= _MOST_CHARS else ""
        return text if text and len(text) <= _MOST_CHARS else f"<{len(value)} items>"
    return repr(value)
