"""The lines of the source documents, and the check of each."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["DECISIONS", "LINES", "Check", "audit", "checks"]

_HERE = Path(__file__).parent
_MODULES = ("hot_warm_cold", "priorities", "sessions", "retention", "flush", "notes", "promises")


def _read(name: str) -> dict[str, str]:
    rows = (_HERE / name).read_text("utf-8").splitlines()
    return dict(row.split(" ", 1) for row in rows)


#: The sentence of each line, by its id.
LINES = _read("lines.txt")
#: Where the documents disagree, and what was decided, by its id.
DECISIONS = _read("decisions.txt")


@dataclass(frozen=True)
class Check:
    """The check of one or more lines; it raises AssertionError if they do not hold."""

    ids: tuple[str, ...]
    function: Callable[..., None]
    #: The decisions that replace the wording of lines, by line; the check asks for what was decided.
    decisions: Mapping[str, str]
    #: Whether the test suite runs it as well.
    fast: bool

    @property
    def interfaces(self) -> tuple[str, ...]:
        """The interfaces that it asks: the names of its parameters."""
        return tuple(inspect.signature(self.function).parameters)


_CHECKS: list[Check] = []


def audit(*ids: str, fast: bool = False, **decided: str) -> Callable[[Callable[..., Any]], Any]:
    """Register the function below as the check of lines, and of lines that a decision replaces: `E03="D18"`."""

    def registered(function: Callable[..., Any]) -> Callable[..., Any]:
        _CHECKS.append(Check((*ids, *decided), function, decided, fast))
        return function

    return registered


def checks() -> list[Check]:
    """Return every check, in the order of the documents."""
    for name in _MODULES:
        import_module(f"{__package__}.{name}")
    return list(_CHECKS)
