"""The parameters of operations as callers outside of Python give them: JSON types, limits, and help.

Parameters with the same name mean the same in every operation, so that their types and limits are declared once.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from functools import cached_property
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from memotherm.model.memory import KNOWN_KINDS, PriorityValue, TierName, TierValue, TrustName
from memotherm.model.names import SYNONYMS

Json = dict[str, Any]
#: JSON that a policy is given as: `{"text": ...}` or `{"name": ...}`.
PolicyBody = dict[str, str]

#: A text without NUL, with at least one character that is not white space.
_NOT_BLANK = (
    r"^[^\x00]*[!-~\u00a1-\u1fff\u2010-\u2027\u2030-\u2fff\u3001-\ud7ff\uf900-\ufefe\U00010000-\U0010ffff][^\x00]*$"
)
_NO_NUL = r"^[^\x00]*$"
_KIND = r"^[a-z][a-z0-9_-]{0,31}$"
_ID = r"^mem_[0-9a-z]{26}$"
_DAY = (
    r"((19|20)[0-9]{2}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    r"|02-(0[1-9]|1[0-9]|2[0-8]))|((19|20)(0[48]|[2468][048]|[13579][26])|2000)-02-29)"
)
_TIME = r"T([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?(Z|[+-](0[0-9]|1[0-3]):[0-5][0-9])?"
_LARGE = 1_000_000_000
PATTERNS = {
    "text_or_empty": rf"{_NOT_BLANK}|^$",
    #: `#` and a number is how a context names a memory that it has shortened.
    "id_or_number": r"^(mem_[0-9a-z]{26}|#[0-9]{1,18})$",
    "session": r"^[A-Za-z0-9_.:@+-]{1,200}$",
    "moment": rf"^({_DAY}({_TIME})?|[1-9][0-9]{{0,4}}[smhdw])$",
}


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One parameter of an operation."""

    #: The name in Python.
    name: str = ""
    #: The type outside of Python, without None.
    type: Any
    #: The value if it is left out; None also for one that is required.
    default: Any = None
    required: bool = False
    #: Whether it may be null.
    nullable: bool = False
    #: What it means, in a sentence.
    help: str = ""
    #: `ge`, `le`, `min_length`, `max_length`, `pattern`, `examples`.
    limits: Mapping[str, Any] = field(default_factory=dict)
    #: The limits of the items of a list.
    item_limits: Mapping[str, Any] = field(default_factory=dict)
    #: The name outside of Python, such as `ttl_minutes` for `ttl`.
    wire: str = ""
    #: Whether it names or selects what there is; the other texts of an operation that writes are stored.
    selects: bool = False

    @property
    def choices(self) -> tuple[str, ...]:
        """The values of a closed set; empty if others are accepted."""
        kind = get_args(self.type)[0] if self.multiple else self.type
        return tuple(map(str, get_args(kind))) if get_origin(kind) is Literal else ()

    @property
    def multiple(self) -> bool:
        """Whether it is a list."""
        return get_origin(self.type) is list

    @cached_property
    def aliases(self) -> tuple[str, ...]:
        """The names that other programs use, in snake case; every name is accepted in camel case as well."""
        groups = [group for group in SYNONYMS if group[0] == self.wire]
        return tuple(name for group in groups for name in group if name != self.wire)


def _wire(
    kind: Any,  # noqa: ANN401 - any type hint
    *,
    items: Parameter | None = None,
    name: str = "",
    default: bool | None = None,
    required: bool = False,
    help: str = "",  # noqa: A002 - what everybody calls it
    selects: bool = False,
    **limits: Any,  # noqa: ANN401 - numbers and texts
) -> Parameter:
    """Return what all parameters of a name have in common."""
    item_limits = {} if items is None else items.limits
    return Parameter(
        type=kind, wire=name, default=default, required=required, help=help, limits=limits, item_limits=item_limits,
        selects=selects,
    )  # fmt: skip


_TEXT = _wire(str, min_length=1, max_length=1_000_000, pattern=_NOT_BLANK, help="The text.")
_QUERY = _wire(str, selects=True, min_length=1, max_length=100_000, pattern=_NOT_BLANK)
_LABEL = _wire(str, min_length=1, max_length=100, pattern=_NOT_BLANK)
_NAME = _wire(str, min_length=1, max_length=200, pattern=_NOT_BLANK)
_KINDS = _wire(list[str], selects=True, items=_wire(str, pattern=_KIND), max_length=50)
_KEY = r"^[^\x00-\x1f\x7f]*[!-~\u00a1-\u1fff\u3001-\ud7ff\uf900-\ufefe][^\x00-\x1f\x7f]*$"
_COUNT: Json = {"ge": 0, "le": _LARGE}
_IDS = _wire(list[str], selects=True, items=_wire(str, pattern=_ID), max_length=1000)
_MOMENT_HELP = "`2026-01-31`, `2026-01-31T12:00:00Z`, or `7d` for seven days ago."
_MOMENT = _wire(str, pattern=PATTERNS["moment"], help=_MOMENT_HELP, examples=["7d"])

#: The parameters by their names in Python.
WIRES: Mapping[str, Parameter] = {
    "content": _TEXT,
    "summary": _TEXT,
    "query": _QUERY,
    "prompt": _QUERY,
    "kind": _wire(str, pattern=_KIND, examples=list(KNOWN_KINDS), help="The kind, such as fact or decision."),
    "type": _wire(str, pattern=_KIND, examples=list(KNOWN_KINDS), help="The kind, such as message or fact."),
    "kinds": _KINDS,
    "types": _KINDS,
    "trust": _wire(TrustName, help="The trust level: person, agent, import, document or web."),
    "tags": _wire(list[str], items=_LABEL, max_length=64, help="Free labels."),
    "tier": _wire(TierValue, help="hot, warm or cold; a priority is also accepted."),
    "tiers": _wire(list[TierName], min_length=1, max_length=3),
    "priority": _wire(PriorityValue, help="pinned, critical, important, normal or low, or 0 to 4."),
    "ttl": _wire(float, name="ttl_minutes", ge=0.1, le=52_596_000.0, help="Time to live, in minutes."),
    "expires_at": _wire(datetime),
    "as_of": _wire(datetime),
    "valid_from": _MOMENT,
    "valid_until": _wire(
        str, max_length=400, pattern=_NOT_BLANK, examples=["2026-01-31"],
        help="A date or time, or a condition that ends it, such as `branch release/2.1 is gone`.",
    ),
    "true_at": _MOMENT,
    "metadata": _wire(Json, help="Further values, as JSON."),
    "scope": _wire(dict[str, str], examples=[{"project": "shop"}], help="The fields of a scope."),
    "source": _LABEL,
    "supersedes": _wire(str, selects=True, pattern=_ID),
    "key": _wire(str, min_length=1, max_length=400, pattern=_KEY),
    "after": _wire(str, selects=True, min_length=1, max_length=400, pattern=_KEY),
    "prefix": _wire(
        str, selects=True, min_length=1, max_length=400, pattern=_KEY, examples=["notes/"],
        help="Only keys that begin with this.",
    ),
    "version": _wire(int, **_COUNT),
    "memory_id": _wire(str, selects=True, pattern=_ID, help="The id of a memory."),
    "memory": _wire(str, selects=True, name="memory_id", pattern=_ID, help="The id of a memory."),
    "ids": _IDS,
    "used": _IDS,
    "forget": _IDS,
    "over": _IDS,
    "recall": _wire(
        str, selects=True, name="recall_id", max_length=100, help="The `recall_id` of a recall or context.",
    ),
    "answer": _wire(str, max_length=100_000),
    "tool": _NAME,
    "paths": _wire(list[str], selects=True, items=_wire(str, max_length=4096), max_length=100),
    "command": _wire(str, selects=True, max_length=100_000),
    "error": _wire(str, selects=True, max_length=1_000_000),
    "task": _wire(str, selects=True, max_length=100_000),
    "input": _wire(str, selects=True, max_length=1_000_000),
    "at": _wire(str, max_length=100),
    "why": _wire(str, max_length=1000, pattern=_NO_NUL, help="The reason, for the ledger."),
    "limit": _wire(int, ge=0, le=1000),
    "skip": _wire(int, **_COUNT),
    "depth": _wire(int, ge=1, le=400),
    "points": _wire(int, ge=2, le=1000),
    "budget": _wire(int, ge=0, le=1_000_000),
    "min_score": _wire(float, ge=0, le=1),
    "cursor": _wire(str, selects=True, pattern=r"^(before|after)-[0-9]{1,18}$"),
    "since": _MOMENT,
    "until": _MOMENT,
    "where": _wire(
        Json, selects=True, help="Conditions on the metadata.", examples=[{"status": "open", "votes": {"$gte": 3}}],
    ),
    "retention": _wire(
        Literal["active", "archived", "deleted", "proposed", "any"],
        help="active unless given, archived, deleted, proposed, or any.",
    ),
    "contains": _wire(
        str, selects=True, min_length=1, max_length=1000, pattern=_NOT_BLANK,
        help="A text that the content contains, in upper or lower case.",
    ),
    "mentions": _wire(
        list[str], selects=True, items=_wire(str, min_length=1, max_length=1000, pattern=_NOT_BLANK), max_length=100,
        help="Names and identifiers of which the content mentions at least one, as a whole and in any spelling.",
    ),
    "request": _wire(
        str, selects=True, min_length=1, max_length=1000, pattern=_NOT_BLANK, examples=["everything about Frank"],
    ),
    "part": _wire(str, selects=True, min_length=1, max_length=1_000_000, pattern=_NOT_BLANK),
    "name": _NAME,
    "also": _NAME,
    "include_hidden": _wire(bool, help="Whether archived and deleted memories are also searched."),
    "number": _wire(int, ge=1, le=2**62, help="The number of a receipt."),
    "event_seq": _wire(int, ge=1, le=2**62, help="The number of an event."),
    "events": _wire(
        list[int], selects=True, items=_wire(int, ge=1, le=2**62), max_length=1000, help="The numbers of events.",
    ),
    "run": _wire(bool, help="Whether to undo all that was made by the same call, such as a compaction."),
    "session_id": _wire(str, selects=True, required=True, pattern=PATTERNS["session"], help="The name of the session."),
    "count": _wire(int, **_COUNT),
    "keep": _wire(int, **_COUNT, help="How many stay; the setting if left out."),
    "total_tokens": _wire(int, **_COUNT),
    "context_window": _wire(int, ge=1, le=_LARGE),
    "compactions": _wire(int, **_COUNT),
    "path": _wire(str, selects=True, min_length=1, max_length=1000, help="The note, or a citation of its lines."),
    "from_line": _wire(int, ge=1, le=_LARGE, help="The first line."),
    "lines": _wire(int, ge=1, le=100_000, help="How many lines; all if left out."),
    "max_results": _wire(int, ge=0, le=100),
    "chat": _wire(str, max_length=100, help="direct, group or channel: whether citations are shown."),
    "decay": _wire(bool, help="Whether older dated notes score less; the setting if left out."),
    "diversity": _wire(bool, help="Whether repetitions are dropped; the setting if left out."),
    "dry_run": _wire(bool, help="Whether to change nothing."),
    "include_cold": _wire(bool, help="Whether to also search cold; the setting if left out."),
    "track": _wire(bool, help="Whether this counts as a use."),
    "include_narrower": _wire(bool, help="Everything at and below the scope, instead of what it can see."),
    "first": _wire(PolicyBody, help="The policy to compare with; the one in force if left out."),
    "second": _wire(PolicyBody, help="The text of a policy, or the name of one that comes with the package."),
    "policies": _wire(list[PolicyBody], selects=True, min_length=1, max_length=10, help="Each has its own name."),
    "policy": _wire(PolicyBody, help="The text of a policy, or the name of one that comes with the package."),
    # Not of the facade: what only callers outside of Python give.
    "session": _wire(
        str, selects=True, pattern=PATTERNS["session"], help="The session, unless the header Memotherm-Scope names it.",
    ),
    "with_cold": _wire(bool, name="include_cold", default=False, help="Search cold as well as `tiers`."),
    "memories": _wire(bool, default=False, help="Whether to also return the memories."),
    "hidden": _wire(bool, default=False, help="Include a memory that was forgotten."),
    "force": _wire(bool, default=False, help='Store it even if it has nothing to remember, such as "ok".'),
    "confirm": _wire(
        str, selects=True, required=True, max_length=2000, help="The scope to erase, such as `tenant=acme user=ana`.",
    ),
}  # fmt: skip


def documented(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Return the description in the docstring of a function, and what it says about each argument."""
    description, _, listed = (inspect.getdoc(function) or "").partition("Args:\n")
    found = re.findall(r"^    (\w+): ((?:.|\n        )+?)(?=\n    \w|\n*\Z)", listed, re.MULTILINE)
    return description.strip(), {name: " ".join(text.split()) for name, text in found}


def parameters_of(
    function: Callable[..., Any],
    hints: Mapping[str, Any],
    *,
    left_out: tuple[str, ...] = (),
    more: tuple[str, ...] = (),
    limits: Mapping[str, Mapping[str, Any]] | None = None,
) -> tuple[Parameter, ...]:
    """Return the parameters of a method of the facade, as far as callers outside of Python give them."""
    _, *declared = inspect.signature(function).parameters.values()
    help_of = documented(function)[1]
    found = []
    for each in declared:
        if each.kind is inspect.Parameter.VAR_KEYWORD:
            filters = get_type_hints(get_args(hints[each.name])[0])
            found += [replace(_parameter(name, hint, None), selects=True) for name, hint in filters.items()]
        elif each.name not in left_out:
            missing = each.default is inspect.Parameter.empty
            default = None if missing else _plain(each.default)
            found.append(
                _parameter(each.name, hints[each.name], default, required=missing, text=help_of.get(each.name, ""),
                           limits=(limits or {}).get(each.name))
            )  # fmt: skip
    found += [_parameter(name, WIRES[name].type, WIRES[name].default, required=WIRES[name].required) for name in more]
    return tuple(found)


def _parameter(
    name: str,
    hint: Any,  # noqa: ANN401 - any type hint
    default: Any,  # noqa: ANN401 - any value
    *,
    required: bool = False,
    text: str = "",
    limits: Mapping[str, Any] | None = None,
) -> Parameter:
    known = WIRES.get(name) or _wire(without_none(hint))
    own = dict(limits or {})
    return replace(
        known,
        name=name,
        wire=known.wire or name,
        type=own.pop("type", known.type),
        default=default,
        required=own.pop("required", required),
        nullable=type(None) in get_args(hint) or (default is None and not required),
        help=known.help if known.wire else text or known.help,
        limits={**known.limits, **own},
    )


def without_none(hint: Any) -> Any:  # noqa: ANN401 - any type hint
    """Return a type hint without None."""
    if get_origin(hint) in (Union, types.UnionType):
        return next(each for each in get_args(hint) if each is not type(None))
    return hint


def _plain(value: object) -> Any:  # noqa: ANN401 - any JSON
    """Return a default as JSON has it."""
    if isinstance(value, Enum):
        return str(value)
    return [_plain(each) for each in value] if isinstance(value, tuple) else value
