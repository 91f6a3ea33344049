"""claude-mem: the JSON of its `export-memories` script, or its database `claude-mem.db`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from memotherm.errors import NotAStore
from memotherm.notes.imports.reading import Draft, Import, json_value, moment, pieces, read_entries
from memotherm.storage.sqlite.files import is_sqlite, read_tables

__all__ = ["read"]

#: The tables of the database and the lists of the export that hold the same.
_TABLES = {"observations": "observations", "summaries": "session_summaries"}
_SUMMARY = ("request", "investigated", "learned", "completed", "next_steps", "notes")


def read(source: Path, reading: Import) -> None:
    """Read the observations and the summaries of sessions."""
    file = source / "claude-mem.db" if source.is_dir() else source
    data = _database(file, reading) if is_sqlite(file) else json_value(file, reading)
    if not isinstance(data, Mapping):
        reading.skip(file.name, "not an export of claude-mem")
        return
    for name, drafts_of in (("observations", _observation), ("summaries", _summary)):
        entries = data.get(name)
        read_entries(entries if isinstance(entries, list) else [], reading, drafts_of, f"{file.name} {name}")


def _database(file: Path, reading: Import) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of the database as the export has them."""
    reading.files += 1
    try:
        rows = read_tables(file, list(_TABLES.values()))
    except NotAStore as exc:
        reading.skip(file.name, str(exc))
        return {}
    return {name: rows[table] for name, table in _TABLES.items()}


def _observation(entry: Mapping[str, Any], now: datetime) -> Iterator[Draft]:
    title, text = str(entry.get("title") or ""), str(entry.get("narrative") or entry.get("text") or "")
    facts = [str(fact) for fact in _listed(entry.get("facts"))]
    parts = [title, text or "\n".join(f"- {fact}" for fact in facts)]
    sort = str(entry.get("type") or "")
    for piece in pieces("\n\n".join(part for part in parts if part)):
        yield {
            "content": piece,
            "kind": "decision" if sort == "decision" else "fact",
            "tags": list(dict.fromkeys([*([sort] if sort else []), *map(str, _listed(entry.get("concepts")))])),
            **_common(entry, now),
        }


def _summary(entry: Mapping[str, Any], now: datetime) -> Iterator[Draft]:
    parts = [f"{name.replace('_', ' ').capitalize()}: {entry[name]}" for name in _SUMMARY if entry.get(name)]
    for piece in pieces("\n".join(parts)):
        yield {"content": piece, "kind": "context", "tags": ["summary"], **_common(entry, now)}


def _common(entry: Mapping[str, Any], now: datetime) -> Draft:
    metadata = {"original_id": str(entry["id"])} if entry.get("id") is not None else {}
    files = [str(file) for file in _listed(entry.get("files_modified"))]
    return {
        "metadata": {**metadata, **({"files": files} if files else {})},
        "scope": {"project": str(entry["project"])} if entry.get("project") else {},
        **(moment(entry.get("created_at_epoch"), now) or moment(entry.get("created_at"), now)),
    }


def _listed(value: object) -> list[Any]:
    """Return a list that is stored as JSON text."""
    if isinstance(value, str) and value.startswith("["):
        value = json.loads(value)
    return value if isinstance(value, list) else []
