"""The base of the public values, and their lazily computed parts.

Public values are frozen dataclasses that can be compared, hashed, copied and pickled.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import fields, make_dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Generic, TypeVar

_MAX_CHARS = 48

T = TypeVar("T")


class Value:
    """Base of the public dataclasses: `repr` is one short line.

    It omits empty fields, shortens long texts, and prints only the size of a long collection.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        pairs = (_printed(self, field.name) for field in fields(self) if field.repr)  # type: ignore[arg-type]
        parts = (f"{name}={_short(value)}" for name, value in pairs if value not in (None, "", (), {}))
        return f"{type(self).__name__}({', '.join(parts)})"


def constructor(kind: type[T]) -> Callable[..., T]:
    """Return a faster constructor of a frozen dataclass: it takes all fields by position, and checks nothing.

    A frozen dataclass calls `object.__setattr__` for each field. Here an unfrozen class with the same slots is filled
    and then becomes the frozen one, in a tenth of the time: for the memories of 10 hits, 2 % of a recall.
    """

    def freeze(value: object) -> None:
        value.__class__ = kind

    names = [(field.name, Any) for field in fields(kind)]  # type: ignore[arg-type]
    namespace = {"__post_init__": freeze}
    return make_dataclass(
        kind.__name__, names, bases=kind.__bases__, namespace=namespace, slots=True, eq=False, repr=False
    )


class Lazy(Generic[T]):
    """A value that is computed when it is first read; it compares, hashes, pickles and prints as that value.

    There is no lock, which a fork could leave locked: two threads that read at once may both compute the value.
    """

    __slots__ = ("_compute", "_value")

    def __init__(self, compute: Callable[[], T]) -> None:
        self._compute: Callable[[], T] | None = compute
        self._value: T

    @property
    def value(self) -> T:
        """The computed value."""
        compute = self._compute
        if compute is not None:
            self._value = compute()
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
    """Return the name and the value of a field; a lazy field is computed."""
    found = getattr(value, name)
    return name.removeprefix("_"), found.value if isinstance(found, Lazy) else found


def _short(value: object) -> str:
    if isinstance(value, Enum):
        return repr(value.value)
    if isinstance(value, str):
        return repr(value if len(value) <= _MAX_CHARS else f"{value[: _MAX_CHARS - 1]}…")
    if isinstance(value, datetime):
        return repr(value.isoformat())
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Collection) and not isinstance(value, Value):
        text = repr(value) if len(value) <= _MAX_CHARS else ""
        return text if text and len(text) <= _MAX_CHARS else f"<{len(value)} items>"
    return repr(value)
