"""MemPalace: the folder that `mempalace export` writes, as JSON lines or as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from memotherm.notes.imports.reading import Draft, Import, json_lines, moment, pieces, text_of

__all__ = ["read"]

_TITLE = re.compile(r"\A# (?P<wing>.+) / (?P<room>.+)\n")
_DRAWER = re.compile(
    r"^## (?P<id>\S+)\n\n> (?P<content>.*?)\n\n\| Field \| Value \|\n\|-+\|-+\|\n(?P<fields>(?:\|[^\n]*\|\n)+)\n---$",
    re.MULTILINE | re.DOTALL,
)
_FIELD = re.compile(r"^\| (.+?) \| (.*) \|$", re.MULTILINE)
_NAMES = {"Source": "source_file", "Filed": "filed_at", "Added by": "added_by"}


def read(source: Path, reading: Import) -> None:
    """Read the drawers of all wings and rooms."""
    lines = sorted(source.rglob("*.jsonl")) if source.is_dir() else [source] * (source.suffix == ".jsonl")
    for file in lines:
        json_lines(file, reading, _drawer, "not a drawer")
    if lines:
        return
    for file in sorted(source.rglob("*.md")) if source.is_dir() else [source]:
        _room(file, reading)


def _room(file: Path, reading: Import) -> None:
    """Read the Markdown of a room; indexes and overviews have another title."""
    text = reading.text(file)
    title = _TITLE.match(text)
    if title is None:
        return
    drawers = list(_DRAWER.finditer(text))
    if not drawers:
        reading.skip(file.name, "no drawer in the form of an export")
    for drawer in drawers:
        fields = {_NAMES[name]: value for name, value in _FIELD.findall(drawer["fields"]) if name in _NAMES}
        known = {name: value for name, value in fields.items() if value != "unknown"}
        entry = {
            "id": drawer["id"],
            "document": re.sub(r"^> ?", "", drawer["content"], flags=re.MULTILINE),
            "metadata": {"wing": title["wing"], "room": title["room"], **known},
        }
        for draft in _drawer(entry, reading.now):
            reading.add(draft, f"{file.name}#{drawer['id']}")


def _drawer(entry: Mapping[str, Any], now: datetime) -> Iterator[Draft]:
    own = entry.get("metadata")
    metadata = dict(own) if isinstance(own, Mapping) else {}
    filed, wing = metadata.pop("filed_at", None), metadata.get("wing")
    for piece in pieces(text_of(entry, "document")):
        yield {
            "content": piece,
            "tags": [str(metadata[name]) for name in ("wing", "room") if metadata.get(name)],
            "metadata": {**metadata, "original_id": str(entry["id"])},
            "scope": {"project": str(wing)} if wing and str(wing) != "unknown" else {},
            **moment(filed, now),
        }
