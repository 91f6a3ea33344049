"""Lists of numbers and of texts as parameters; the driver's own conversion looks at every element several times."""

from __future__ import annotations

from typing import Any

from psycopg.abc import Buffer
from psycopg.adapt import PyFormat
from psycopg.types.array import ListDumper

__all__ = ["FastListDumper"]

_BIGINT_ARRAY = 1016


class FastListDumper(ListDumper):
    """Converts lists of whole numbers and of texts; others as the driver does."""

    def get_key(self, obj: list[Any], format: PyFormat) -> Any:  # noqa: A002, ANN401
        """Return what the conversion depends on: the type of the elements."""
        kind = type(obj[0]) if obj else None
        return (list, kind) if kind in _DUMPERS else super().get_key(obj, format)

    def upgrade(self, obj: list[Any], format: PyFormat) -> ListDumper:  # noqa: A002
        """Return the conversion for the type of the elements."""
        dumper = _DUMPERS.get(type(obj[0])) if obj else None
        return super().upgrade(obj, format) if dumper is None else dumper(list, self._tx)  # type: ignore[return-value]


class _NumbersDumper(ListDumper):
    oid = _BIGINT_ARRAY

    def dump(self, obj: list[Any]) -> Buffer:
        return f"{{{','.join(map(str, obj))}}}".encode()


class _TextsDumper(ListDumper):
    def get_key(self, obj: list[Any], format: PyFormat) -> Any:  # noqa: A002, ANN401, ARG002
        return list, str

    def dump(self, obj: list[Any]) -> Buffer | None:
        text = '","'.join(each.replace("\\", "\\\\").replace('"', '\\"') for each in obj)
        return super().dump(obj) if "\0" in text else f'{{"{text}"}}'.encode()


_DUMPERS: dict[type | None, type[ListDumper]] = {int: _NumbersDumper, str: _TextsDumper}
