"""An operation: a method of the facade, and what interfaces need to know to offer it."""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from memotherm.errors import InvalidInput, NotFound
from memotherm.operations.parameters import Parameter, PolicyBody, documented, parameters_of

if TYPE_CHECKING:
    from memotherm.memory import Memotherm

Json = dict[str, Any]
#: What a method belongs to: the memory, a session, notes, or what `mem.<owner>` is.
Owner = Literal["memory", "session", "notes", "bulk", "inspect", "policies", "receipts", "store"]
#: The classes of the facade: what they are, their modules, and what the names of their operations begin with.
_CLASSES: Mapping[str, tuple[Owner, str, str]] = {
    "Memotherm": ("memory", "memory", ""),
    "Session": ("session", "session", "session_"),
    "Notes": ("notes", "notes.notes", "notes_"),
    "Bulk": ("bulk", "facade.bulk", ""),
    "Inspection": ("inspect", "facade.inspection", ""),
    "Policies": ("policies", "tiers.policies", "policy_"),
    "Receipts": ("receipts", "facade.inspection", ""),
    "Upkeep": ("store", "facade.upkeep", ""),
}


@dataclass(frozen=True, kw_only=True)
class Tool:
    """How agents call an operation, in few tokens."""

    name: str
    title: str
    #: The parameters that it has; `from_line:from` is called `from` there.
    parameters: str = ""
    #: For the model; the summary of the operation if empty.
    description: str = ""
    #: Defaults that differ from those of the operation.
    defaults: Mapping[str, Any] = field(default_factory=dict)
    #: Whether it needs a session that has begun, if the operation does not.
    begun: bool = False
    #: Whether it hides or deletes something.
    hides: bool = False
    #: Whether a second call with the same arguments changes nothing.
    repeatable: bool = False


@dataclass(frozen=True, kw_only=True)
class Operation:
    """A verb: declared once, offered by every interface. Parameters, types and help are those of the facade."""

    #: The method of the facade: `Memotherm.move`. It is a text, so that the table loads nothing.
    of: str
    #: What it is listed under.
    group: str
    #: The method and path of HTTP; empty for one that needs the store itself.
    route: str = ""
    #: Its id, if it is not the name of the method, after `session_`, `notes_` or `policy_`.
    id: str = ""
    #: Whether it changes memories; a key that may only read cannot call it.
    writes: bool = False
    #: Whether it concerns the whole store, so that no key of a tenant can call it.
    whole_store: bool = False
    #: Whether it needs a session that has begun; other operations of a session begin it.
    begun: bool = False
    #: Whether a successful request makes something.
    creates: bool = False
    #: Whether a request that is repeated with its Idempotency-Key may be carried out again.
    repeatable: bool = False
    #: How long a client waits for the answer, if that is longer than usual.
    seconds: float | None = None
    #: When a valid request can be refused because of what is stored: always, or if one of these parameters is given.
    conflicts: bool | tuple[str, ...] = False
    #: The member of the JSON that a result which is not an object is in.
    result: str = ""
    #: Parameters that only Python has, and those that Python does not have.
    left_out: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    #: Limits of parameters where they differ from those of the same name elsewhere.
    limits: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: The tool of agents.
    tool: Tool | None = None
    #: Arguments of calls, as JSON.
    examples: tuple[Mapping[str, Any], ...] = ()

    @cached_property
    def name(self) -> str:
        """The id: `recall`, `session_recall`, `policy_adopt`."""
        return self.id or _CLASSES[self.of.partition(".")[0]][2] + self.verb

    @property
    def verb(self) -> str:
        """The name of the method in Python."""
        return self.of.partition(".")[2]

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The method of the facade."""
        name = self.of.partition(".")[0]
        function: Callable[..., Any] = getattr(
            getattr(import_module(f"memotherm.{_CLASSES[name][1]}"), name), self.verb
        )
        return function

    @property
    def owner(self) -> Owner:
        """What the method belongs to."""
        return _CLASSES[self.of.partition(".")[0]][0]

    @property
    def method(self) -> str:
        """The method of HTTP."""
        return self.route.partition(" ")[0]

    @property
    def path(self) -> str:
        """The path of HTTP."""
        return self.route.partition(" ")[2]

    @property
    def once(self) -> bool:
        """Whether a request is carried out once for each Idempotency-Key."""
        return self.writes and self.method == "POST" and not self.repeatable

    @cached_property
    def hints(self) -> dict[str, Any]:
        """The types of the parameters and of the result, `return`."""
        return typing.get_type_hints(self.function, localns=_Names())

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters as callers outside of Python give them."""
        more = ("session_id", *self.more) if self.owner == "session" else self.more
        found = parameters_of(self.function, self.hints, left_out=self.left_out, more=more, limits=self.limits)
        return tuple(sorted(found, key=lambda each: (not each.required, each.name != "session_id")))

    @cached_property
    def by_wire(self) -> dict[str, Parameter]:
        """The parameters by their names outside of Python."""
        return {parameter.wire: parameter for parameter in self.parameters}

    @property
    def result_type(self) -> Any:  # noqa: ANN401 - any type hint
        """The type of the result in Python."""
        return self.hints["return"]

    def perform(self, memory: Memotherm, arguments: Mapping[str, Any], session_id: str | None = None) -> Any:  # noqa: ANN401
        """Call the method for a caller outside of Python, in the scope of the memory."""
        target: Any = memory
        if self.owner == "session":
            if self.begun:
                memory.inspect.session(str(session_id))  # an unknown session must not begin
            target = memory.session(str(session_id))
        elif self.owner == "notes":
            if not memory.settings.notes_root:
                raise NotFound("there are no notes: set notes_root to their folder")
            if self.writes and memory.scope.tenant is not None:
                raise InvalidInput("the notes of a server belong to all its tenants: curate them without a tenant")
            target = memory.notes()
        elif self.owner != "memory":
            target = getattr(memory, self.owner)
        return getattr(target, self.verb)(**arguments)

    def body(self, value: object) -> Any:  # noqa: ANN401 - any JSON
        """Return a result as JSON, in an object; None if there is none."""
        from memotherm.operations.codec import to_json
        from memotherm.operations.forms import with_item_names

        found = {self.result: to_json(value)} if self.result else to_json(value)
        return with_item_names(found) if self.owner == "session" else found

    @cached_property
    def description(self) -> str:
        """What it does, without the arguments."""
        return documented(self.function)[0]

    @property
    def summary(self) -> str:
        """What it does, in a sentence."""
        return " ".join(self.description.split("\n\n")[0].split())


class _Names(dict[str, Any]):
    """The types that the modules of the facade import for type checkers only, loaded when they are asked for."""

    _HOMES: ClassVar = {
        "Erased": "model.reports",
        "Flush": "notes.flush",
        "Imported": "notes.imports",
        "Metrics": "model.reports",
        "Replay": "tiers.replay",
        "Status": "model.reports",
    }

    def __missing__(self, name: str) -> Any:  # noqa: ANN401 - a type
        if name not in self._HOMES:
            raise KeyError(name)
        return getattr(import_module(f"memotherm.{self._HOMES[name]}"), name)


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
    if parameter.name == "policies":
        return [policy_of(each) for each in value]
    if parameter.type is datetime and isinstance(value, str):
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            raise InvalidInput(f"{parameter.wire} is a time such as 2026-01-31T12:00:00Z, not {value[:50]!r}") from None
    return value


def policy_of(body: Mapping[str, str | None]) -> Any:  # noqa: ANN401 - a policy, which most processes do not load
    """Return the policy of a text, or the one of a name; a text can extend only those that come with the package."""
    from memotherm.tiers.policy import load, loads

    name = body.get("name")
    return loads(body.get("text") or "") if name is None else load(name)
