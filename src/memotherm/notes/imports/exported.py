"""The JSON lines that `memotherm export` writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from memotherm.model import Priority, Retention, Scope, Tier
from memotherm.model.names import field_of
from memotherm.notes.imports.reading import Draft, Import, json_lines, moment
from memotherm.tiers.rules.properties import FILE_SOURCE

__all__ = ["read"]

#: The fields of an exported memory that are imported.
_EXPORTED = ("content", "kind", "tags", "tier", "priority", "metadata", "source", "key", "index")


def read(source: Path, reading: Import) -> None:
    """Read one memory per line."""
    json_lines(source, reading, _drafts, "not an exported memory")


def _drafts(entry: Mapping[str, Any], now: datetime) -> Iterator[Draft]:
    """Yield a memory that `export` wrote, with its scope, tier, priority, retention and times."""
    fields = ((name, field_of(entry, name)) for name in _EXPORTED)
    draft: Draft = {name: value for name, value in fields if value is not None}
    content = draft.get("content")
    if not isinstance(content, str) or not content.strip():
        raise ValueError("its content is empty, or no text")
    draft |= moment(entry.get("created_at"), now)
    if verified := moment(entry.get("verified_at"), now):
        draft["verified_at"] = verified["created_at"]
    if str(draft.get("source", "")).startswith(FILE_SOURCE):
        draft["source"] = "import"  # its file is not here
    Tier.of(draft.get("tier", "warm"))
    Priority.of(draft.get("priority", "normal"))
    retention = Retention.of(entry.get("retention") or "active")
    if retention is Retention.ARCHIVED:
        draft["retention"] = "archived"
    elif retention is not Retention.ACTIVE:
        raise ValueError(f"it was {retention}")
    scope = Scope(**entry.get("scope") or {})
    if scope.items():
        draft["scope"] = dict(scope.items())
    expires = entry.get("expires_at")
    if expires:
        left = (datetime.fromisoformat(str(expires)) - now).total_seconds()
        if left > 0:
            draft["ttl"] = left
        elif "retention" not in draft:
            raise ValueError(f"it expired on {expires}")
    yield draft
