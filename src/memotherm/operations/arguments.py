"""Arguments of an operation: from JSON to those of the facade, and back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from memotherm.errors import InvalidInput
from memotherm.model import Memory, Priority
from memotherm.model.clock import as_duration
from memotherm.operations.operation import Operation
from memotherm.operations.parameters import Parameter, PolicyBody

Json = dict[str, Any]


def read_arguments(operation: Operation, given: Mapping[str, Any]) -> Json:
    """Return the arguments of the facade from those of a caller outside of Python; null means left out.

    Parameters that Python does not have are among them, under their names in the table.
    """
    found = {}
    for wire, value in given.items():
        parameter = operation.by_wire[wire]
        if value is not None or parameter.required:
            found[parameter.name] = _read(parameter, value)
    return found


def _read(parameter: Parameter, value: Any) -> Any:  # noqa: ANN401 - any JSON
    if parameter.wire == "ttl_minutes":
        return value * 60
    if parameter.type is PolicyBody:
        return policy_of(value)
    if parameter.type is datetime and isinstance(value, str):
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            raise InvalidInput(f"{parameter.wire} is a time such as 2026-01-31T12:00:00Z, not {value[:50]!r}") from None
    return value


def write_arguments(operation: Operation, arguments: Mapping[str, Any]) -> Json:
    """Return arguments of the facade as the server takes them, without those that are None."""
    found = {}
    for parameter in operation.parameters:
        value = arguments.get(parameter.name)
        if value is not None:
            found[parameter.wire] = _written(parameter, value)
    return {name: value for name, value in found.items() if value is not None}


def _written(parameter: Parameter, value: Any) -> Any:  # noqa: ANN401 - any argument
    if parameter.wire == "ttl_minutes":
        return as_duration(value) / timedelta(minutes=1)
    if parameter.type is PolicyBody:
        return policy_body(value)
    if parameter.name == "priority" and isinstance(value, int):
        return str(Priority.of(value))
    if parameter.name == "prefix":
        return value or None
    if parameter.name == "memories" and parameter.multiple:
        from memotherm.operations.table import OPERATIONS

        return [_written_draft(OPERATIONS["remember"], draft) for draft in value]
    if parameter.multiple and isinstance(value, str):
        return [value]
    return _plain(value)


def _written_draft(remember: Operation, draft: Mapping[str, Any]) -> Json:
    """Return a memory to store; names that are no parameters are left to the server to refuse."""
    ours = {parameter.name for parameter in remember.parameters}
    unknown = {name: _plain(value) for name, value in draft.items() if name not in ours}
    return write_arguments(remember, draft) | unknown


def _plain(value: Any) -> Any:  # noqa: ANN401 - any argument
    if isinstance(value, Enum):
        return str(value)
    if isinstance(value, Memory):
        return value.id
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise InvalidInput(f"{value!r} has no time zone: write datetime(2026, 1, 31, tzinfo=UTC)")
        return value.isoformat()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, str | int | float) or value is None:
        return value
    if hasattr(value, "recall_id"):
        if value.recall_id is None:
            raise InvalidInput("that recall is not in the recall log: set recall_log to text, and leave track on")
        return value.recall_id
    return [_plain(part) for part in value]


def policy_of(body: Mapping[str, str | None]) -> Any:  # noqa: ANN401 - a policy, which most processes do not load
    """Return the policy of a text, or the one of a name; a text can extend only those that come with the package."""
    from memotherm.tiers.policy import load, loads

    name = body.get("name")
    return loads(body.get("text") or "") if name is None else load(name)


def policy_body(policy: Any) -> Json:  # noqa: ANN401 - a policy, the path of its file, or a name
    """Return a policy as the server takes it: the name of one of the package, or a text."""
    from memotherm.tiers.policy import PRESETS, Policy, load

    loaded = policy if isinstance(policy, Policy) else load(policy)
    if loaded.name in PRESETS and loaded == load(loaded.name):
        return {"name": loaded.name}
    return {"text": loaded.text}
