"""Methods that are derived from those of the facade: the same signature, sent to an operation of the server."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Concatenate, NoReturn, ParamSpec, TypeVar

from memotherm.errors import InvalidInput
from memotherm.model import Priority
from memotherm.model.clock import as_duration

__all__ = ["plain", "refusal", "refused", "sent"]

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S")
Json = dict[str, Any]

#: Arguments that are lists, whether one or several values are given.
_LISTS = frozenset({"tags", "tiers", "kinds", "types", "ids"})


def sent(
    method: Callable[Concatenate[S, P], T], operation: str, decode: Callable[[Json], T]
) -> Callable[Concatenate[S, P], T]:
    """Return the method as a request: its arguments under their names, and its result from the response."""
    signature = inspect.signature(method)

    @functools.wraps(method)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:  # noqa: ANN401
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        _, *arguments = bound.arguments.items()
        return decode(self._call(operation, plain(dict(arguments))))

    return call


def refused(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Return the method as an error: it needs the store itself."""

    @functools.wraps(method)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> NoReturn:  # noqa: ANN401, ARG001
        raise refusal(method.__name__, self)

    return call


def refusal(name: str, memory: object) -> InvalidInput:
    """Return the error of what needs the store itself."""
    return InvalidInput(f"{name} needs the store itself: run it where the server of {memory!r} runs")


def plain(arguments: Mapping[str, Any]) -> Json:
    """Return arguments as the server takes them: JSON, and times to live in minutes."""
    values = {name: _argument(name, value) for name, value in arguments.items() if name != "ttl"}
    ttl = arguments.get("ttl")
    return values if ttl is None else {**values, "ttl_minutes": as_duration(ttl) / timedelta(minutes=1)}


def _argument(name: str, value: Any) -> Any:  # noqa: ANN401
    if name == "priority" and isinstance(value, int):
        return str(Priority.of(value))
    if name == "prefix":
        return value or None
    if name in _LISTS and value is not None:
        return [_json(part) for part in ([value] if isinstance(value, str) else value)]
    return _json(value)


def _json(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, Enum):
        return str(value)
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise InvalidInput(f"{value!r} has no time zone: write datetime(2026, 1, 31, tzinfo=UTC)")
        return value.isoformat()
    if isinstance(value, Mapping):
        return {name: _json(part) for name, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_json(part) for part in value]
    return value
