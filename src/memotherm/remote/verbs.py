"""The methods of a remote memory, made from the table of operations: the same signature, sent to the server."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from memotherm.errors import InvalidInput
from memotherm.operations.arguments import write_arguments
from memotherm.operations.codec import from_json
from memotherm.operations.operation import Operation
from memotherm.operations.table import operations_of

Class = TypeVar("Class", bound=type)


class NotRemote(InvalidInput, AttributeError):
    """A verb that a server does not offer, because it needs the store itself; `hasattr` is false for it."""


def with_verbs(owner: str, **groups: Callable[[Any], object]) -> Callable[[Class], Class]:
    """Return a decorator that replaces what a class inherits from the facade and does not define itself.

    The verbs of the table become requests, and `groups` properties that make a group of the memory; other public
    attributes need the store itself and raise `NotRemote`. Type checkers see the methods of the facade.
    """
    offered = {operation.verb: operation for operation in operations_of(owner)}

    def add(cls: Class) -> Class:
        for name in dir(cls):
            if name in groups:
                setattr(cls, name, property(groups[name], doc=getattr(cls, name).__doc__))
            elif not name.startswith("_") and name not in vars(cls):
                setattr(cls, name, _sent(offered[name]) if name in offered else _refused(name))
        return cls

    return add


def _refused(name: str) -> property:
    def refuse(self: object) -> NoReturn:
        raise NotRemote(f"{name} needs the store itself: run it where the server of {self!r} runs")

    return property(refuse)


def _sent(operation: Operation) -> Any:  # noqa: ANN401 - a method
    """Return the method of an operation as a request: its arguments under their names, and its result."""
    function = operation.function
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        _, *given = bound.arguments.items()
        arguments = {name: value for name, value in given if name != "filters"} | bound.arguments.get("filters", {})
        # What a program stores is stored, whether it has something to remember or not.
        forced = {"force": True} if "force" in operation.more else {}
        return result_of(operation, self._call(operation, write_arguments(operation, arguments) | forced))

    return call


def result_of(operation: Operation, found: dict[str, Any]) -> Any:  # noqa: ANN401 - the result of the method
    """Return the value that the JSON of a response is."""
    if operation.result_type is type(None):
        return None
    return from_json(operation.result_type, found[operation.result] if operation.result else found)
