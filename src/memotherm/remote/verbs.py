"""The methods of a remote memory, made from the table of operations: the same signature, sent to the server."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

from memotherm.errors import InvalidInput
from memotherm.operations.arguments import write_arguments
from memotherm.operations.codec import from_json
from memotherm.operations.operation import Operation
from memotherm.operations.table import operations_of

__all__ = ["NotRemote", "Remote", "refuse", "result_of", "with_verbs"]

Json = dict[str, Any]
Class = TypeVar("Class", bound=type)


class NotRemote(InvalidInput, AttributeError):
    """A verb that a server does not offer, because it needs the store itself; `hasattr` is false for it."""


class Remote(Protocol):
    """What carries out operations on a server."""

    def _call(self, operation: Operation, arguments: Mapping[str, Any]) -> Json:
        """Carry out an operation, with arguments of JSON."""


def with_verbs(owner: str) -> Any:  # noqa: ANN401 - a decorator of classes
    """Return a decorator that adds the verbs of the table to a class, except those that it has itself."""

    def add(cls: Class) -> Class:
        for operation in operations_of(owner):
            if operation.verb not in vars(cls):
                setattr(cls, operation.verb, _sent(operation))
        return cls

    return add


def refuse(name: str, facade: type, remote: object) -> AttributeError:
    """Return the error of an attribute that a remote memory does not have."""
    if name.startswith("_") or not hasattr(facade, name):
        return AttributeError(f"{type(remote).__name__!r} object has no attribute {name!r}")
    return NotRemote(f"{name} needs the store itself: run it where the server of {remote!r} runs")


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
        view = self
        if operation.owner == "memory" and arguments.get("session") is not None:
            view = self.scoped(session=arguments["session"])
        return result_of(operation, view._call(operation, write_arguments(operation, arguments)))

    return call


def result_of(operation: Operation, found: Json) -> Any:  # noqa: ANN401 - the result of the method
    """Return the value that the JSON of a response is."""
    if operation.result_type is type(None):
        return None
    return from_json(operation.result_type, found[operation.result] if operation.result else found)
