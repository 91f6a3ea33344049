"""SQL as data: named statements, read from files once."""

from __future__ import annotations

import functools
import re
from importlib import resources

__all__ = ["load", "migrations"]

_HEADER = re.compile(r"^-- (\w+): .+$", re.MULTILINE)


@functools.cache
def load(dialect: str) -> dict[str, str]:
    """Return the shared statements, with those of the dialect added."""
    folder = resources.files(__package__) / "sql"
    found: dict[str, str] = {}
    for name in ("queries.sql", f"{dialect}.sql"):
        found |= _parse((folder / name).read_text("utf-8"))
    return found


def migrations(dialect: str) -> list[str]:
    """Return the schema's steps in order; step n leads to schema version n."""
    folder = resources.files(__package__) / "sql" / dialect
    steps = sorted((each for each in folder.iterdir() if each.name.endswith(".sql")), key=lambda each: each.name)
    return [each.read_text("utf-8") for each in steps]


def _parse(text: str) -> dict[str, str]:
    pieces = _HEADER.split(text)[1:]
    return {name: body.strip() for name, body in zip(pieces[::2], pieces[1::2], strict=True)}
