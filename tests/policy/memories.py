"""Random memories for properties of policies."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from memotherm import Memory, Priority, Tier

NOW = datetime(2026, 1, 1, tzinfo=UTC)
_DAYS = st.integers(0, 25)


def _memory(values: dict[str, Any]) -> Memory:
    created = NOW - timedelta(days=values["age"])
    later = {name: max(created, NOW - timedelta(days=values[name])) for name in ("updated", "moved")}
    used = None if values["used"] is None else max(created, NOW - timedelta(days=values["used"]))
    uses = 0 if used is None else values["uses"]
    return Memory(
        id="mem_1",
        content="",
        kind=values["kind"],
        tags=tuple(values["tags"]),
        tier=values["tier"],
        priority=values["priority"],
        metadata=values["metadata"],
        tokens=values["tokens"],
        created_at=created,
        updated_at=later["updated"],
        accessed_at=used,
        expires_at=None if values["ends"] is None else NOW + timedelta(days=values["ends"]),
        access_count=uses,
        recent_uses=uses,
        tier_since=later["moved"],
        retention_since=created,
    )


MEMORIES = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(("fact", "decision", "message")),
        "tags": st.lists(st.sampled_from(("task", "api", "blocker")), unique=True),
        "tier": st.sampled_from(Tier),
        "priority": st.sampled_from(Priority),
        "metadata": st.sampled_from(({}, {"status": "done"}, {"team": "a"}, {"votes": 3}, {"votes": "3"})),
        "tokens": st.integers(0, 5),
        "age": _DAYS,
        "updated": _DAYS,
        "moved": _DAYS,
        "used": st.none() | _DAYS,
        "ends": st.none() | st.integers(1, 20),
        "uses": st.integers(1, 5),
    }
).map(_memory)
