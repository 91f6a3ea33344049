"""The JSON lines of the MCP reference memory server: entities with observations, and relations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from memotherm.notes.imports.reading import Draft, Import, json_lines, text_of

__all__ = ["read"]


def read(source: Path, reading: Import) -> None:
    """Read `memory.jsonl`, or `memory.json` of older versions."""
    names = ("memory.jsonl", "memory.json")
    file = next((source / name for name in names if (source / name).is_file()), source)
    json_lines(file, reading, _drafts, "not an entity or relation")


def _drafts(entry: Mapping[str, Any], now: datetime) -> Iterator[Draft]:  # noqa: ARG001
    """Yield the observations of an entity, or a relation, as sentences."""
    if entry.get("type") == "entity":
        name, sort = text_of(entry, "name"), str(entry.get("entityType", ""))
        metadata = {"entity": name, "entity_type": sort}
        for observation in entry.get("observations") or []:
            if not isinstance(observation, str):
                raise TypeError(f"an observation of {name} is no text")
            yield {"content": f"{name}: {observation}", "kind": "entity", "metadata": metadata}
        if not entry.get("observations"):
            yield {"content": f"{name} is a {sort}" if sort else name, "kind": "entity", "metadata": metadata}
    elif entry.get("type") == "relation":
        subject, verb, target = (text_of(entry, key) for key in ("from", "relationType", "to"))
        metadata = {"from": subject, "relation": verb, "to": target}
        yield {"content": f"{subject} {verb.replace('_', ' ')} {target}", "kind": "entity", "metadata": metadata}
    else:
        raise ValueError(f"type {entry.get('type')!r}")
