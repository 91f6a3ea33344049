"""Names of arguments and fields in other programs, accepted as synonyms of ours."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from memotherm.errors import InvalidInput
from memotherm.settings.sources import snake_case

#: Names of the same field; the first is ours. A singular may stand for a plural.
SYNONYMS = (
    ("kind", "category", "type"),
    ("kinds", "types", "categories", "kind", "category", "type"),
    ("content", "text"),
    ("where", "filters"),
    ("session", "session_id"),
    ("project", "project_id"),
    ("retention", "retention_status"),
    ("sources", "source"),
    ("memory_id", "item_id"),
    ("ids", "item_ids"),
    ("promote", "auto_promote"),
    ("chat", "chat_type"),
)

#: More members than any request or call has.
_MOST_NAMES = 100


def known_name(name: str, known: Collection[str]) -> str:
    """Return the known name for a synonym or another spelling; the name itself if there is none."""
    if name in known:
        return name
    by_words = {snake_case(each): each for each in known}
    words = snake_case(name)
    groups = ((words,), *(group for group in SYNONYMS if words in group))
    return next((by_words[each] for group in groups for each in group if each in by_words), name)


def renamed(values: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Rename the keys of a mapping to known names; two names of the same field are an error."""
    if len(values) > _MOST_NAMES:
        raise InvalidInput(f"{len(values)} fields are more than anything here takes: use some of {', '.join(known)}")
    given: dict[str, str] = {}
    for name in values:
        ours = known_name(name, known)
        if ours in given:
            raise InvalidInput(f"{given[ours]} and {name} mean the same: give one of them")
        given[ours] = name
    return {ours: values[name] for ours, name in given.items()}


def field_of(record: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 - any JSON
    """Return a field of another program's record by our name or a synonym; None if it is missing."""
    names = next((group for group in SYNONYMS if group[0] == name), (name,))
    return next((record[each] for each in names if record.get(each) is not None), None)
