"""Limit the size of tool results; a result says what was cut or left out."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from memotherm.operations.table import AGENTS_DO_NOT_NEED
from memotherm.text.content import first_characters
from memotherm.text.tokens import counter

Json = dict[str, Any]

#: The fields with long lists, and those with long texts.
_LISTS = (
    "items",
    "memories",
    "keys",
    "receipts",
    "results",
    "moved",
    "included",
    "leftOut",
    "suggestions",
    "pinned",
    "conflicts",
)
_TEXTS = ("content", "text", "snippet")
#: The fields with values of the caller.
_VALUES = ("metadata", "tags")
#: The fields of every hit, and those that a hit has if they are not at their default.
_HIT_FIELDS = ("id", "tier", "score", "content")
_HIT_DEFAULTS: Json = {
    "key": None,
    "kind": "fact",
    "priority": "normal",
    "retention": "active",
    "tags": [],
    "scope": {},
    "metadata": {},
    "source": "agent",
    "trust": "agent",
    "verified_at": None,
    "expires_at": None,
    "valid_from": None,
    "valid_until": None,
    "supersedes": None,
    "files": "",
}
#: The fields of a hit in the working memory of a session, which replace those with other names.
_ITEM_FIELDS = ("id", "sessionId", "content", "type", "tier", "score", "accessCount", "lastAccessedAt", "createdAt",
                "relevanceScore", "metadata")  # fmt: skip
_ITEM_DEFAULTS = {"kind", "scope", "source", "metadata"}
_RENAMED = {"access_count", "accessed_at", "created_at", "relevance"}
#: The fields of a recall that repeat its arguments or its hits, or that no tool takes; and those that are left out if
#: they are empty. `tiers`, `limit` and `autoPromote` stay, because their defaults depend on the session.
_ECHOES = ("relevanceScores", "sessionId", "recall_id", "query")
_NOTICES = ("pinned", "degraded", "hint")
_MIN_CHARS = 200
_MAX_CHARS = 4000
#: Texts are cut further before there are fewer items than this.
_MIN_ITEMS = 5


def encoded(value: object) -> str:
    """Return a value as compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def concise(result: Json, *, changed: bool = False) -> Json:
    """Return a result without what agents do not need; hits also without what is at its default.

    Memories that were `changed` keep their version, which `memory_undo` takes.
    """
    hidden = AGENTS_DO_NOT_NEED | _RENAMED if "accessCount" in result else AGENTS_DO_NOT_NEED
    shorter = {name: _rounded(value) for name, value in result.items() if name not in hidden}
    if isinstance(result.get("conflicts"), list):
        return shorter | {"conflicts": [_concise_conflict(each) for each in shorter["conflicts"]]}
    name = next((name for name in ("items", "memories") if isinstance(result.get(name), list)), None)
    if name is None:
        return shorter
    shorter = {name: value for name, value in shorter.items() if name not in _ECHOES}
    shorter = {name: value for name, value in shorter.items() if name not in _NOTICES or value}
    fields = (*_HIT_FIELDS, "version") if changed and name == "memories" else _HIT_FIELDS
    return shorter | {
        each: [_concise_hit(hit, fields) for hit in shorter[each]] for each in (name, "pinned") if each in shorter
    }


def _rounded(value: Any) -> Any:  # noqa: ANN401 - a value of JSON
    """Return a value with numbers of at most four decimals."""
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    return [_rounded(part) for part in value] if isinstance(value, list) else value


def _concise_hit(hit: Json, fields: Sequence[str]) -> Json:
    if "sessionId" in hit:
        more = {name: hit[name] for name, default in _HIT_DEFAULTS.items() if hit.get(name, default) != default}
        first = {name: hit[name] for name in _ITEM_FIELDS if name in hit}
        return first | {name: value for name, value in more.items() if name not in _ITEM_DEFAULTS}
    first = {name: hit[name] for name in fields if name in hit} | {"date": hit["updated_at"][:10]}
    return first | {name: hit[name] for name, default in _HIT_DEFAULTS.items() if hit.get(name, default) != default}


def _concise_conflict(conflict: Json) -> Json:
    """Return a conflict with a line for each of its memories."""
    sides = {name: conflict[name] for name in ("newer", "older")}
    said = {
        name: f"{side['id']} {side['updated_at'][:10]}: {first_characters(side['content'], _MIN_CHARS)}"
        for name, side in sides.items()
    }
    return {"about": conflict["about"], **said, "winner": conflict["winner"], "why": conflict["why"]}


def bounded(result: Json, max_tokens: int, tokenizer: str) -> Json:
    """Return a result of at most so many tokens: long texts are cut first, then the last items are left out."""
    count = counter(tokenizer).count
    text = encoded(result)
    # A token has at least one byte, so that a short text need not be counted.
    if len(text.encode("utf-8", "replace")) <= max_tokens or count(text) <= max_tokens:
        return result
    name = next((field for field in _LISTS if result.get(field) and isinstance(result[field], list)), None)
    max_chars = max(_MIN_CHARS, min(_MAX_CHARS, max_tokens))
    while True:
        shorter = _with_short_texts(result, max_chars)
        if name is not None:
            shorter = _with_items_that_fit(shorter, name, max_tokens, count)
        enough = name is None or len(shorter[name]) >= min(_MIN_ITEMS, len(result[name]))
        if enough and count(encoded(shorter)) <= max_tokens:
            return shorter
        if max_chars <= _MIN_CHARS:
            return _with_short_fields(shorter, max_tokens, count)
        max_chars = max(_MIN_CHARS, max_chars // 2)


def _with_items_that_fit(result: Json, name: str, max_tokens: int, count: Callable[[str], int]) -> Json:
    """Return a result with as many of the first items as fit, and the number of the others."""
    numbers = range(1, len(result[name]) + 1)
    most = bisect_right(numbers, max_tokens, key=lambda number: count(encoded(_with_first_items(result, name, number))))
    return _with_first_items(result, name, most)


def _with_first_items(result: Json, name: str, number: int) -> Json:
    items = result[name]
    if number == len(items):
        return result
    return {**result, name: items[:number], "leftOut": len(items) - number}


def _with_short_texts(result: Json, max_chars: int) -> Json:
    """Return a result with texts of at most so many characters; `cut` says how many characters are missing."""
    shorter: Json = {}
    missing = 0
    for name, value in result.items():
        if name in _TEXTS and isinstance(value, str) and len(value) > max_chars:
            shorter[name] = first_characters(value, max_chars)
            missing += len(value) - len(shorter[name])
        elif name in _LISTS and isinstance(value, list):
            shorter[name] = [_with_short_texts(item, max_chars) if isinstance(item, dict) else item for item in value]
        elif name in _VALUES and len(encoded(value)) > max_chars:
            shorter[name] = _first_values(value, max_chars)
            missing += len(encoded(value)) - len(encoded(shorter[name]))
        else:
            shorter[name] = value
    if missing:
        shorter["cut"] = missing + int(result.get("cut", 0))
    return shorter


def _first_values(value: Any, max_chars: int) -> Any:  # noqa: ANN401 - a value of JSON
    """Return the entries of a list or an object that fit, in their order; one that does not fit is left out."""
    kept: list[Any] = []
    for entry in value.items() if isinstance(value, dict) else value:
        size = len(encoded(entry))
        if size <= max_chars:
            kept.append(entry)
            max_chars -= size
    return dict(kept) if isinstance(value, dict) else kept


def _with_short_fields(result: Json, max_tokens: int, count: Callable[[str], int]) -> Json:
    """Return a result whose longest field is halved until the result fits; `cut` counts the missing characters."""
    shorter = dict(result)
    while count(encoded(shorter)) > max_tokens:
        name = max(shorter.keys() - {"cut"}, key=lambda field: len(encoded(shorter[field])))
        size = len(encoded(shorter[name]))
        shorter[name] = _halved(shorter[name])
        shorter["cut"] = shorter.get("cut", 0) + size - len(encoded(shorter[name]))
    return shorter


def _halved(value: Any) -> Any:  # noqa: ANN401 - a value of JSON
    if isinstance(value, str):
        return first_characters(value, len(value) // 2)
    if isinstance(value, list):
        return value[: len(value) // 2]
    if isinstance(value, dict):
        return dict(list(value.items())[: len(value) // 2])
    return None
