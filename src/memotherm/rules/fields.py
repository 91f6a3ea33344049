"""The fields of a memory that a condition in a policy file can name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from memotherm.model import SCOPE_FIELDS, Memory, Priority, Tier
from memotherm.rules.heat import heat, recent_uses
from memotherm.rules.marks import in_file, is_blocker, is_closed, is_open
from memotherm.rules.rule import Situation
from memotherm.settings import Settings

__all__ = ["FIELDS", "FREE_FIELDS", "Field", "FieldType", "field_named"]


class FieldType(StrEnum):
    """What kind of value a field has, and so how a condition is written."""

    WORD = "a word or a list of words"
    TAGS = "a tag or a list of tags"
    YES_NO = "true or false"
    NUMBER = 'a number or a comparison such as ">= 3"'
    DURATION = 'a comparison with a duration, such as ">= 14d"'
    VALUE = "a value, a list of values or a comparison with a number"


@dataclass(frozen=True, slots=True)
class Field:
    """A property of a memory, and how to read it."""

    name: str
    type: FieldType
    description: str
    #: Return the value; None never satisfies a condition.
    read: Callable[[Memory, Situation], Any] = field(compare=False)
    #: The words it can have; empty when any word is allowed.
    words: tuple[str, ...] = ()


def _session(memory: Memory, situation: Situation) -> str:
    if memory.scope.session is None:
        return "none"
    return "open" if memory.scope.session in situation.open_sessions else "ended"


def _status(memory: Memory, situation: Situation) -> str:  # noqa: ARG001
    if is_closed(memory):
        return "done"
    return "open" if is_open(memory) else "none"


def _since_use(memory: Memory, situation: Situation) -> timedelta | None:
    return None if memory.last_used_at is None else situation.now - memory.last_used_at


def _until_expiry(memory: Memory, situation: Situation) -> timedelta | None:
    return None if memory.expires_at is None else memory.expires_at - situation.now


def _recent_uses(memory: Memory, situation: Situation) -> float:
    if situation.recalled:
        return recent_uses(memory, situation.now, situation.settings) + situation.settings.weight_returned
    return memory.recent_uses


def _used_in_tier(memory: Memory, situation: Situation) -> bool:  # noqa: ARG001
    return memory.last_used_at is not None and memory.last_used_at > memory.tier_since


_DECLARED = (
    Field("tier", FieldType.WORD, "Its tier.", lambda memory, _: str(memory.tier), tuple(Tier)),
    Field("kind", FieldType.WORD, "Its kind, such as decision.", lambda memory, _: memory.kind),
    Field("tags", FieldType.TAGS, "At least one of these tags; `tags.all` asks for all of them.",
          lambda memory, _: memory.tags),
    Field("priority", FieldType.WORD, "Its priority.", lambda memory, _: str(memory.priority), tuple(Priority)),
    Field("source", FieldType.WORD, "Where it came from.", lambda memory, _: memory.source),
    Field("status", FieldType.WORD, "What its metadata `status` or `state` says: open, done, or none of both.",
          _status, ("open", "done", "none")),
    Field("session", FieldType.WORD, "Whether its session is open or has ended; none outside of a session.",
          _session, ("open", "ended", "none")),
    Field("tier_rule", FieldType.WORD, "The id of the rule that moved it into its tier; explicit after a call.",
          lambda memory, _: memory.tier_rule),
    Field("blocker", FieldType.YES_NO, "Whether it has the tag `blocker` and is not done.",
          lambda memory, _: is_blocker(memory)),
    Field("note", FieldType.YES_NO, "Whether it is part of a note file.", lambda memory, _: in_file(memory)),
    Field("moved", FieldType.YES_NO, "Whether it has ever been in another tier.",
          lambda memory, _: memory.tier_since > memory.created_at),
    Field("used_in_tier", FieldType.YES_NO, "Whether it was used since it came into its tier.", _used_in_tier),
    Field("age", FieldType.DURATION, "Time since it was stored.",
          lambda memory, situation: situation.now - memory.created_at),
    Field("idle", FieldType.DURATION, "Time since it was last used, or stored if it never was.",
          lambda memory, situation: situation.now - memory.used_at),
    Field("used", FieldType.DURATION, "Time since it was last used; no comparison holds if it never was.", _since_use),
    Field("untouched", FieldType.DURATION, "Time since it was last used or changed.",
          lambda memory, situation: situation.now - max(memory.updated_at, memory.used_at)),
    Field("in_tier", FieldType.DURATION, "Time since it came into its tier.",
          lambda memory, situation: situation.now - memory.tier_since),
    Field("expires_in", FieldType.DURATION, "Time until it expires; no comparison holds if it does not.",
          _until_expiry),
    Field("tokens", FieldType.NUMBER, "The tokens of its content.", lambda memory, _: memory.tokens),
    Field("uses", FieldType.NUMBER, "How often it was returned or injected.", lambda memory, _: memory.access_count),
    Field("use_weight", FieldType.NUMBER, "The sum of the weights of its uses.", lambda memory, _: memory.use_weight),
    Field("recent_uses", FieldType.NUMBER,
          "The weight of its uses in its last window of use; a recall that promotes counts itself.", _recent_uses),
    Field("heat", FieldType.NUMBER, "The logarithm of the weight of its uses, halved for every half-life without use.",
          lambda memory, situation: heat(memory, situation.now, situation.settings)),
    Field("relevance", FieldType.NUMBER, "Its running average relevance to queries.",
          lambda memory, _: memory.relevance),
    Field("query_relevance", FieldType.NUMBER, "In the run `promote`: how well it answers the query.",
          lambda _, situation: situation.relevance),
)  # fmt: skip

#: The fields with one name, by name.
FIELDS: Mapping[str, Field] = MappingProxyType({declared.name: declared for declared in _DECLARED})
#: The fields that are followed by a name of their own: `metadata.status`, `scope.project`, `setting.tiering`.
FREE_FIELDS = ("metadata", "scope", "setting")
_SETTINGS = frozenset(setting.name for setting in fields(Settings))


def field_named(name: str) -> Field | None:
    """Return the field with a name such as `idle` or `metadata.status`, or None if there is none."""
    first, _, rest = name.partition(".")
    if first == "metadata" and rest:
        return Field(name, FieldType.VALUE, f"The metadata {rest}.", lambda memory, _: memory.metadata.get(rest))
    if first == "scope" and rest in SCOPE_FIELDS:
        return Field(name, FieldType.WORD, f"The {rest} of its scope.", lambda memory, _: getattr(memory.scope, rest))
    if first == "setting" and rest in _SETTINGS:
        return Field(name, FieldType.VALUE, f"The setting {rest}.", lambda _, now: getattr(now.settings, rest))
    return FIELDS.get(name)
