"""Arguments of `remember`: validation, keys, and the memory made from them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from memotherm.errors import InvalidInput
from memotherm.model import Memory, Priority, Retention, Scope, Tier, Trust
from memotherm.model.clock import as_duration, as_moment, new_id
from memotherm.model.memory import PriorityName, TierValue, placed_in, placement
from memotherm.model.names import renamed
from memotherm.settings import Settings
from memotherm.storage.store import Store
from memotherm.storage.values import AFTER_PREFIX
from memotherm.text.content import digest, require_content, require_text
from memotherm.text.tokens import count_tokens
from memotherm.tiers.rules.properties import FILE_SOURCE

# Keys

#: A PostgreSQL index entry has at most 2,700 bytes for key, tenant and space.
#: As JSON; frameworks keep whole values of a conversation in it, images included.
_LONGEST_METADATA = 10_000_000
_LONGEST_KEY = 400
_PAGE = 500
_CONTROL = re.compile("[\x00-\x1f\x7f]")


def checked_key(key: object) -> str:
    """Return a key that can be stored, or raise `InvalidInput`."""
    if isinstance(key, str) and len(key) > _LONGEST_KEY:
        raise InvalidInput(f"a key has at most {_LONGEST_KEY} characters, not {len(key):,}: keep the rest in metadata")
    text = require_text(key, "a key", _LONGEST_KEY)
    if _CONTROL.search(text):
        raise InvalidInput(f"the key {key!r} contains a line break or another control character: remove it")
    return text


def list_keys(
    store: Store,
    spaces: Sequence[int],
    now: datetime,
    prefix: str,
    depth: int | None,
    after: str | None,
    limit: int,
) -> list[str]:
    """Return the distinct keys with a prefix in order, each cut behind its `depth`-th slash after the prefix.

    Keys behind a cut are skipped by the index, however many there are.
    """
    found: list[str] = []
    first = prefix if after is None else max(prefix, _behind(after, depth))
    while len(found) < limit:
        page = store.keys(spaces, first, prefix + AFTER_PREFIX, now, _PAGE)
        for key in page:
            if key >= first:
                found.append(_cut(key, len(prefix), depth))
                first = _behind(found[-1], depth)
        if len(page) < _PAGE:
            break
    return found[:limit]


def _cut(key: str, start: int, depth: int | None) -> str:
    if depth is None:
        return key
    for _ in range(depth):
        slash = key.find("/", start)
        if slash < 0:
            return key
        start = slash + 1
    return key[:start]


def _behind(key: str, depth: int | None) -> str:
    """Return the lower bound of the keys after a key, or after all keys with a cut prefix."""
    if depth is not None and key.endswith("/"):
        return key[:-1] + chr(ord("/") + 1)
    return key + " "


# Drafts

_KIND = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MOST_TAGS = 64
LONGEST_TAG = 100
_DEEPEST_METADATA = 32


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """The arguments of `remember`, before they are validated."""

    content: str
    kind: str = "fact"
    tags: Iterable[str] = ()
    tier: Tier | TierValue | None = None
    #: None means normal, unless `tier` or the metadata name another one.
    priority: Priority | PriorityName | int | None = None
    ttl: timedelta | float | str | None = None
    metadata: Mapping[str, Any] | None = field(default=None)
    source: str = "agent"
    supersedes: str | None = None
    expires_at: datetime | str | None = None
    valid_from: datetime | str | None = None
    valid_until: datetime | str | None = None
    key: str | None = None
    index: bool = True
    version: int | None = None
    #: Fields of the memory that only imports set, such as `created_at`; with an `id` if it was exported.
    state: Mapping[str, Any] = field(default_factory=dict)


#: `json.dumps` with these options makes an encoder for every call.
_encode = json.JSONEncoder(allow_nan=False, ensure_ascii=False).encode
#: The arguments of `remember`.
_ARGUMENTS = tuple(name for name in Draft.__dataclass_fields__ if name != "state")


def draft_of(values: Mapping[str, Any], state: Mapping[str, Any] | None = None) -> Draft:
    """Read a draft from a mapping, as `remember_many` takes them; only imports give a `state`."""
    if not isinstance(values, Mapping):
        raise InvalidInput(f"a memory is a mapping with a 'content', not {type(values).__name__}")
    unknown = values.keys() - _ARGUMENTS
    if unknown:
        values = renamed(values, _ARGUMENTS)
        unknown = values.keys() - _ARGUMENTS
    if unknown:
        raise InvalidInput(f"unknown field {min(unknown)!r} in a memory: use {', '.join(_ARGUMENTS)}")
    if "content" not in values:
        raise InvalidInput("a memory without content: give each one a 'content'")
    return Draft(**values, state=state or {})


def memory_of(draft: Draft, scope: Scope, now: datetime, settings: Settings, by: Trust = Trust.AGENT) -> Memory:
    """Return the memory that a draft of somebody describes, or raise `InvalidInput`."""
    content, version = require_content(draft.content, settings.max_content_chars), draft.version
    if version is not None and draft.key is None:
        raise InvalidInput("version is that of the memory with the key: give a key as well")
    if version is not None and (isinstance(version, bool) or not isinstance(version, int) or version < 0):
        raise InvalidInput(f"version must be a whole number from 0, not {version!r}")
    if not isinstance(draft.index, bool):
        raise InvalidInput(f"index must be true or false, not {draft.index!r}")
    lifetime = lifetime_of(draft.ttl, draft.expires_at, now)
    asked, priority = placement(draft.tier, draft.priority)
    other_tier, other_priority = placed_in(draft.metadata)
    source = _checked_source(draft.source)
    trust = _trust(source, draft.metadata, by).at_most(draft.state.get("trust", by))
    tier, rule = first_tier(asked or other_tier, lifetime, settings)
    priority = priority or other_priority or Priority.NORMAL
    state = {name: value for name, value in draft.state.items() if name != "trust"}
    if trust.is_low and (by.is_low or rule != "explicit"):
        # Only a caller may ask for more, not a file.
        priority = Priority.IMPORTANT if priority is Priority.PINNED else priority
        if tier is Tier.HOT:
            tier, state["tier_rule"] = Tier.WARM, "trust"
    # An export says that a memory was approved; that of somebody else is not believed.
    approved = "retention" in state and not by.is_low
    if proposes(source, settings) and not approved and state.get("retention", Retention.ACTIVE) is Retention.ACTIVE:
        state["retention"] = Retention.PROPOSED
    values: dict[str, Any] = {
        "id": state.get("id") or new_id("mem", now),
        "content": content,
        "key": None if draft.key is None else checked_key(draft.key),
        "kind": checked_kind(draft.kind),
        "tags": checked_tags(draft.tags),
        "tier": tier,
        "tier_rule": rule,
        "priority": priority,
        "scope": scope,
        "metadata": checked_metadata(draft.metadata),
        "source": source,
        "trust": trust,
        "tokens": count_tokens(content, settings.tokenizer),
        "digest": digest(content),
        "created_at": now,
        "updated_at": now,
        "expires_at": None if lifetime is None else expiry(now, lifetime),
        "valid_from": None if draft.valid_from is None else as_moment(draft.valid_from, "valid_from", now),
        "valid_until": None if draft.valid_until is None else end_of(draft.valid_until, now),
        "relevance": 1.0 if tier is Tier.HOT else 0.5,
        "supersedes": draft.supersedes,
        "index": draft.index,
        "tier_since": now,
        "retention_since": now,
    }
    return Memory(**values | state)


def proposes(source: str, settings: Settings) -> bool:
    """Return whether memories of a source wait until somebody approves them."""
    return any(source == each or source.startswith(f"{each}:") for each in settings.propose_sources)


def _trust(source: str, metadata: Mapping[str, Any] | None, by: Trust) -> Trust:
    """Return the trust of a draft: that of whoever wrote it, or less if its source or its role says so."""
    name = source.strip().lower()
    if name == Trust.WEB or "://" in name:
        return Trust.WEB
    if name in (Trust.DOCUMENT, Trust.IMPORT):
        return by.at_most(Trust(name))
    if isinstance(metadata, Mapping) and metadata.get("role", "user") != "user":
        return by.at_most(Trust.AGENT)
    return by


def first_tier(asked: Tier | None, lifetime: timedelta | None, settings: Settings) -> tuple[Tier, str]:
    """Return the first tier of a memory and the rule that decides it; an explicit tier always wins.

    A time to live never makes it hotter than it would be without.
    """
    if asked is not None:
        return asked, "explicit"
    default = Tier(settings.default_tier)
    if lifetime is None:
        return default, "default"
    days = lifetime / timedelta(days=1)
    if days >= settings.ttl_hot_days:
        return default, "ttl"
    hottest = Tier.WARM if days >= settings.ttl_warm_days else Tier.COLD
    return max(default, hottest, key=lambda tier: tier.rank), "ttl"


def lifetime_of(
    ttl: timedelta | float | str | None, expires_at: datetime | str | None, now: datetime
) -> timedelta | None:
    """Return the lifetime that a time to live or a time of expiry gives; None if neither is given."""
    if ttl is not None and expires_at is not None:
        raise InvalidInput("ttl and expires_at both say when the memory expires: give one of them")
    if expires_at is None:
        return None if ttl is None else as_duration(ttl)
    moment = as_moment(expires_at, "expires_at", None)
    if moment <= now:
        raise InvalidInput(f"expires_at {moment.isoformat()} has passed: give a later time, or leave it out")
    return moment - now


def expiry(now: datetime, lifetime: timedelta) -> datetime:
    """Return when a memory of that lifetime expires."""
    try:
        return now + lifetime
    except OverflowError as exc:
        raise InvalidInput("the time to live reaches beyond the calendar: leave it out to keep the memory") from exc


def end_of(moment: datetime | str, now: datetime) -> datetime:
    """Return when a memory ceases to hold; a date alone includes that day."""
    found = as_moment(moment, "valid_until", now)
    return found + timedelta(days=1) if isinstance(moment, str) and _DATE.fullmatch(moment.strip()) else found


def checked_kind(kind: object) -> str:
    """Return a well-formed kind; the set is open."""
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise InvalidInput(f"unknown kind {kind!r}: a kind is a short lower-case word such as fact or preference")
    return kind


def checked_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return the tags without repetition, in their order."""
    if isinstance(tags, str):
        raise InvalidInput(f"tags is a list of words: write tags=[{tags!r}]")
    if not isinstance(tags, Iterable):
        raise InvalidInput(f"tags is a list of words, not {type(tags).__name__}")
    distinct = tuple(dict.fromkeys(require_text(tag, "a tag", LONGEST_TAG).strip() for tag in tags))
    if len(distinct) > _MOST_TAGS:
        raise InvalidInput(f"{len(distinct)} tags are more than {_MOST_TAGS}: keep the rest in metadata")
    return distinct


def checked_metadata(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the metadata after a round trip through JSON, so that reads equal writes."""
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise InvalidInput(f"metadata must be a mapping, not {type(metadata).__name__}")
    try:
        text = _encode(dict(metadata))
        text.encode()
        loaded: dict[str, Any] = json.loads(text)
    except (TypeError, ValueError, RecursionError) as exc:
        raise InvalidInput(f"metadata must be plain JSON: {exc}") from exc
    if len(text) > _LONGEST_METADATA:
        raise InvalidInput(
            f"metadata takes {len(text):,} characters and the limit is {_LONGEST_METADATA:,}: keep less in it"
        )
    _require_flat(loaded)
    return loaded


def _checked_source(source: object) -> str:
    """Return a valid source; callers cannot use the source of note files."""
    text = require_text(source, "source", LONGEST_TAG)
    if text.strip().lower().startswith(FILE_SOURCE):
        raise InvalidInput(
            f"the source {text!r} is that of a note: index the file with mem.notes(...), or name another source"
        )
    return text


_CONTAINERS = (dict, list)


def _require_flat(value: object) -> None:
    """Refuse deep nesting, which a reader with a smaller stack could not read back."""
    level = [value]
    for _ in range(_DEEPEST_METADATA):
        nested = [value for value in level if isinstance(value, _CONTAINERS)]
        if not nested:
            return
        level = [item for value in nested for item in (value.values() if isinstance(value, dict) else value)]
    if level:
        raise InvalidInput(f"metadata is nested more than {_DEEPEST_METADATA} levels deep: flatten it")


def is_by_user(metadata: object) -> bool:
    """Return whether a user said a text, as the role in its metadata tells; without a role, it was the user."""
    return not isinstance(metadata, Mapping) or metadata.get("role", "user") == "user"
