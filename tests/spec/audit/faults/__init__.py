"""Deliberate breaks of the product (faults): one for each line, which a check of that line must notice.

A fault replaces attributes of the package: functions, methods, properties or constants. The modules beside this one
have the tables, one for each document; `python -m tests.spec.audit --faults` applies all of them.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

from tests.spec.audit.faults import hot_warm_cold, notes, priorities, retention, sessions
from tests.spec.audit.faults.breaks import Change, Fault

__all__ = ["FAULTS", "applied", "command", "located"]

#: The fault of each line, by its id.
FAULTS: Mapping[str, Fault] = {
    **hot_warm_cold.FAULTS,
    **priorities.FAULTS,
    **sessions.FAULTS,
    **retention.FAULTS,
    **notes.FAULTS,
}


@contextmanager
def applied(line: str) -> Iterator[None]:
    """Break the package in this process, in every module that has imported what is changed."""
    with ExitStack() as undo:
        for place, change in FAULTS[line].items():
            owner, attribute, original = located(place)
            bound = isinstance(original, classmethod | staticmethod)
            changed = type(original)(_alike(original.__func__, change)) if bound else _alike(original, change)
            for each, name in {(owner, attribute), *([] if isinstance(owner, type) else _users(attribute, original))}:
                setattr(each, name, changed)
                undo.callback(setattr, each, name, original)
        yield


def _alike(original: Any, change: Change) -> Any:
    """Return what stands in the place of an attribute; a function keeps its name and its parameters."""
    changed = change(original)
    return functools.wraps(original)(changed) if isinstance(original, FunctionType) else changed


def located(place: str) -> tuple[Any, str, Any]:
    """Return the module or class of an attribute, its name, and its value."""
    module, _, path = place.partition(":")
    *names, attribute = path.split(".")
    owner: Any = functools.reduce(getattr, names, import_module(module))
    return owner, attribute, owner.__dict__[attribute]


def _users(attribute: str, original: Any) -> list[tuple[Any, str]]:
    """Return the modules that have imported an attribute, and its name there; only a function has others."""
    loaded = [module for name, module in sys.modules.items() if name.startswith("memotherm.")]
    return [
        (module, name)
        for module in loaded
        for name, value in vars(module).items()
        if value is original and (name == attribute or isinstance(original, FunctionType))
    ]


def command(line: str) -> tuple[str, ...]:
    """Return the command of a product with the fault of a line."""
    return (sys.executable, str(Path(__file__).with_name("__main__.py")), line)
