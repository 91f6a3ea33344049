"""Hindsight: the JSON that lists the memories of a bank, `GET /v1/default/banks/{bank}/memories/list`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from memotherm.notes.imports.reading import Draft, Import, json_value, moment, read_entries, tags_of, text_of

__all__ = ["read"]

_KEPT = ("context", "occurred_start", "occurred_end", "document_id")


def read(source: Path, reading: Import) -> None:
    """Read a list of facts, or an object that has it as `items` or `results`."""
    data = json_value(source, reading)
    if isinstance(data, dict):
        data = data.get("items", data.get("results", [data]))
    read_entries(data if isinstance(data, list) else [data], reading, _drafts, source.name)


def _drafts(entry: Mapping[str, Any], now: datetime) -> Iterator[Draft]:
    sort = str(entry.get("fact_type") or entry.get("type") or "")
    own = entry.get("metadata")
    metadata = dict(own) if isinstance(own, Mapping) else {}
    metadata |= {name: entry[name] for name in _KEPT if entry.get(name)}
    metadata |= {"original_id": str(entry["id"])} if entry.get("id") else {}
    created = (moment(entry.get(name), now) for name in ("mentioned_at", "date", "created_at"))
    yield {
        "content": text_of(entry, "text"),
        "tags": [*([sort] if sort else []), *tags_of(entry.get("tags"))],
        "metadata": metadata,
        **next((at for at in created if at), {}),
    }
