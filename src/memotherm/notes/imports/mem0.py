"""mem0: the JSON of `Memory.get_all()`, or of the platform's list and export."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from memotherm.notes.imports.reading import Draft, Import, json_value, moment, read_entries, tags_of

__all__ = ["read"]

#: Fields of an entry and the fields of a scope that they become.
_SCOPE = {"user_id": "user", "agent_id": "agent", "app_id": "project"}
_KEPT = ("run_id", "actor_id", "role")


def read(source: Path, reading: Import) -> None:
    """Read a list of entries, or an object that has it as `results` or `memories`."""
    data = json_value(source, reading)
    if isinstance(data, dict):
        data = data.get("results", data.get("memories", [data]))
    read_entries(data if isinstance(data, list) else [data], reading, _drafts, source.name)


def _drafts(entry: Mapping[str, Any], now: datetime) -> Iterator[Draft]:
    content = entry.get("memory", entry.get("text"))
    if not isinstance(content, str):
        raise TypeError("it has no text in `memory`")
    own = entry.get("metadata")
    metadata = dict(own) if isinstance(own, Mapping) else {}
    metadata |= {name: entry[name] for name in _KEPT if entry.get(name)}
    metadata |= {"original_id": str(entry["id"])} if entry.get("id") else {}
    expiry = moment(entry.get("expiration_date"), datetime.max.replace(tzinfo=now.tzinfo)).get("created_at")
    if expiry is not None and expiry <= now:
        raise ValueError(f"it expired on {entry['expiration_date']}")
    yield {
        "content": content,
        "tags": tags_of(entry.get("categories")),
        "metadata": metadata,
        "scope": {field: str(entry[name]) for name, field in _SCOPE.items() if entry.get(name)},
        **({} if expiry is None else {"ttl": (expiry - now).total_seconds()}),
        **moment(entry.get("created_at"), now),
    }
