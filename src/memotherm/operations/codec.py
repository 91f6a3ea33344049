"""Values as JSON and back: one form of every public value, for all interfaces.

The forms follow from the type hints of the dataclasses; `FORMS` lists what differs from them. Not pydantic: the
client of a server uses this module too, and is part of the core package, which does not depend on pydantic and is
imported in 50 ms. Encoding 100 hits takes 3 ms.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
import types
import typing
from collections.abc import Callable, Mapping
from datetime import date, datetime
from enum import Enum
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin

from memotherm.model import Scope
from memotherm.operations.forms import FORMS, Form

T = TypeVar("T")
Json = Any

_PLAIN = frozenset((str, int, float, bool, type(None)))
_NONE = type(None)
_SIMPLE = Form()
_UNIONS = (Union, types.UnionType)
_NUMBERS = {int: "integer", float: "number", str: "string", bool: "boolean", _NONE: "null"}


@functools.cache
def hints_of(kind: type) -> dict[str, Any]:
    """Return the types of the fields of a dataclass."""
    return typing.get_type_hints(kind)


@functools.cache
def fields_of(kind: type) -> tuple[tuple[str, str], ...]:
    """Return the names of the fields of a dataclass that its JSON has, each with its name there."""
    form = _form(kind)
    return tuple(
        (field.name, form.names.get(field.name, field.name))
        for field in dataclasses.fields(kind)
        if field.name not in form.left_out
    )


def _form(kind: type) -> Form:
    return FORMS.get(kind.__name__, _SIMPLE)


# To JSON


def to_json(value: object) -> Json:
    """Return a value as JSON: an object for a dataclass, a list for a sequence, texts for enums and times."""
    kind: Any = type(value)
    if kind in _PLAIN:
        return value
    return _encoder(kind)(value)


@functools.cache
def _encoder(kind: type) -> Callable[[Any], Json]:
    if issubclass(kind, Enum):
        return lambda value: value._value_
    if issubclass(kind, date):  # or a datetime
        return lambda value: value.isoformat()
    if issubclass(kind, Scope):
        return lambda scope: dict(scope.items())
    if dataclasses.is_dataclass(kind):
        return _object_encoder(kind)
    if issubclass(kind, Mapping):
        return _mapping
    if issubclass(kind, list | tuple | set | frozenset):
        return lambda values: [to_json(value) for value in values]
    return str


def _object_encoder(kind: type) -> Callable[[Any], Json]:
    """Return the encoder of a dataclass."""
    form = _form(kind)
    names = {name: ours for name, ours in fields_of(kind) if name != form.inline}
    # One call for all fields; for a single one it would not return a tuple.
    values_of = (
        operator.attrgetter(*names) if len(names) > 1 else lambda value: [getattr(value, name) for name in names]
    )
    ours = tuple(names.values())

    def encode(value: Any) -> Json:  # noqa: ANN401 - an instance of the dataclass
        found = to_json(getattr(value, form.inline)) if form.inline else {}
        for name, part in zip(ours, values_of(value), strict=True):
            found[name] = part if type(part) in _PLAIN else to_json(part)
        for name, (_, compute) in form.shown.items():
            found[name] = to_json(compute(value))
        for name in form.if_any:
            if not found[name]:
                del found[name]
        return found

    return encode


def _mapping(values: Mapping[Any, Any]) -> Json:
    """Return an object; a list of [key, value] if the keys are tuples."""
    if any(isinstance(key, tuple) for key in values):
        return [[to_json(key), to_json(value)] for key, value in values.items()]
    return {str(key): to_json(value) for key, value in values.items()}


# From JSON


def from_json(kind: type[T] | Any, found: Json) -> T:  # noqa: ANN401 - any type hint
    """Return the value of a type whose JSON this is; members that the type does not have are ignored."""
    hint: Any = kind
    return cast("T", _decoder(hint)(found))


@functools.cache
def _decoder(kind: Any) -> Callable[[Json], Any]:  # noqa: ANN401 - any type hint
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in _UNIONS:
        return _optional(arguments)
    if origin in (tuple, list) and (origin is list or arguments[-1] is Ellipsis):
        part = _decoder(arguments[0])
        return lambda found: origin(map(part, found))
    if origin is tuple:
        parts = [_decoder(argument) for argument in arguments]
        return lambda found: tuple(part(each) for part, each in zip(parts, found, strict=True))
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        key, value = map(_decoder, arguments)
        return lambda found: {key(one): value(other) for one, other in _pairs(found)}
    if not isinstance(kind, type):
        return lambda found: found
    return _plain_decoder(kind)


def _plain_decoder(kind: type) -> Callable[[Json], Any]:
    if issubclass(kind, Enum):
        return kind
    if issubclass(kind, datetime | date):
        return kind.fromisoformat
    if kind is Scope:
        return lambda found: Scope(**found)
    if not dataclasses.is_dataclass(kind):
        return lambda found: found
    read = _form(kind).read
    return functools.partial(_dataclass, kind) if read is None else lambda found: read(found, from_json)


def _dataclass(kind: type, found: Mapping[str, Json]) -> Any:  # noqa: ANN401 - a value of the type
    inline, hints = _form(kind).inline, hints_of(kind)
    values = {}
    for name, ours in fields_of(kind):
        if name == inline:
            values[name] = _decoder(hints[name])(_own_members(hints[name], found))
        elif ours in found:
            values[name] = _decoder(hints[name])(found[ours])
    return kind(**values)


def _own_members(kind: Any, found: Mapping[str, Json]) -> Json:  # noqa: ANN401 - any type hint
    """Return the members of an object that belong to a value whose members stand in it."""
    if dataclasses.is_dataclass(kind):
        return found
    keys = [str(member) for member in get_args(kind)[0]]  # a mapping whose keys are an enum
    return {key: found[key] for key in keys if key in found}


def _optional(arguments: tuple[Any, ...]) -> Callable[[Json], Any]:
    """Return the decoder of a value of a type or None; of several types, all of which must be plain, none is needed."""
    kinds = [argument for argument in arguments if argument is not _NONE]
    if len(kinds) > 1:
        return lambda found: found
    decode = _decoder(kinds[0])
    return lambda found: None if found is None else decode(found)


def _pairs(found: Json) -> Any:  # noqa: ANN401 - pairs of any JSON
    if isinstance(found, dict):
        return found.items()
    return ((tuple(key), value) for key, value in found)


# JSON Schema


def schema(kind: Any, definitions: dict[str, Json]) -> Json:  # noqa: ANN401 - any type hint
    """Return the JSON Schema of a type, with those of dataclasses as `definitions` by their names.

    References are those of an OpenAPI document.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in _UNIONS:
        return {"anyOf": [schema(argument, definitions) for argument in arguments]}
    if origin is Literal:
        return {"type": "string", "enum": list(arguments)}
    if origin in (tuple, list):
        items = schema(arguments[0], definitions) if len(set(arguments) - {Ellipsis}) == 1 else {}
        return {"type": "array", "items": items}
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        if get_origin(arguments[0]) is tuple:
            return {"type": "array", "items": {"type": "array"}}
        return {"type": "object", "additionalProperties": schema(arguments[1], definitions)}
    if not isinstance(kind, type):
        return {}
    return _plain_schema(kind, definitions)


def _plain_schema(kind: type, definitions: dict[str, Json]) -> Json:
    if kind in _NUMBERS:
        return {"type": _NUMBERS[kind]}
    if issubclass(kind, Enum):
        return {"type": "string", "enum": [str(member) for member in kind]}
    if issubclass(kind, datetime):
        return {"type": "string", "format": "date-time"}
    if issubclass(kind, date):
        return {"type": "string", "format": "date"}
    if kind is Scope:
        return {"type": "object", "additionalProperties": {"type": "string"}}
    if not dataclasses.is_dataclass(kind):
        return {}
    if kind.__name__ not in definitions:
        definitions[kind.__name__] = {}  # for values that contain their own kind
        definitions[kind.__name__] = _object_schema(kind, definitions)
    return {"$ref": f"#/components/schemas/{kind.__name__}"}


def _object_schema(kind: type, definitions: dict[str, Json]) -> Json:
    form, hints = _form(kind), hints_of(kind)
    properties: dict[str, Json] = {}
    for name, ours in fields_of(kind):
        if name != form.inline:
            properties[ours] = schema(hints[name], definitions)
        elif dataclasses.is_dataclass(hints[name]):
            properties |= _object_schema(hints[name], definitions)["properties"]
        else:
            key, value = get_args(hints[name])
            properties |= {str(member): schema(value, definitions) for member in key}
    properties |= {ours: schema(shown, definitions) for ours, (shown, _) in form.shown.items()}
    return {
        "type": "object",
        "title": kind.__name__,
        "description": (kind.__doc__ or "").split("\n")[0],
        "properties": properties,
        "required": [name for name in properties if name not in (*form.optional, *form.if_any)],
    }
