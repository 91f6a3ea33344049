"""Names of settings in other programs, so that a block of their configuration can be used as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["OTHER_NAMES", "flat", "snake_case"]

#: Another name of a setting, with the blocks around it, and ours.
OTHER_NAMES = {
    "memoryTiering.enabled": "tiering",
    "memoryTiering.hotMaxTokens": "hot_max_tokens",
    "memoryTiering.hotMaxFacts": "hot_max_facts",
    "memoryTiering.compactionOnSessionEnd": "compaction_on_session_end",
    "memoryTiering.inactivePreferenceDays": "inactive_preference_days",
    "memory.max_pinned": "max_pinned",
    "memory.tier_boosts.pinned": "boost_pinned",
    "memory.tier_boosts.critical": "boost_critical",
    "memory.tier_boosts.important": "boost_important",
    "memory.tier_boosts.normal": "boost_normal",
    "memory.tier_boosts.low": "boost_low",
    "agent.memory.hotTokenLimit": "hot_token_limit",
    "agent.memory.warmAccessThreshold": "warm_access_threshold",
    "agent.memory.promoteThreshold": "promote_threshold",
    "agent.memory.maxColdItems": "max_cold_items",
    "agent.memory.autoSpillEnabled": "auto_spill",
    "agent.memory.autoPromoteEnabled": "auto_promote",
    "chunking.tokens": "chunk_tokens",
    "chunking.overlap": "chunk_overlap",
    "sync.onSessionStart": "sync_on_session_start",
    "sync.onSearch": "sync_on_search",
    "sync.watch": "watch_notes",
    "sync.watchDebounceMs": "watch_debounce_ms",
    "query.hybrid.vectorWeight": "vector_weight",
    "query.hybrid.textWeight": "text_weight",
    "experimental.sessionMemory": "experimental_session_memory",
}

_CAPITAL = re.compile(r"(?<=[a-z0-9])[A-Z]")


def snake_case(name: str) -> str:
    """Return a name in camel case with underscores: `hot_max_tokens` for `hotMaxTokens`."""
    return _CAPITAL.sub(lambda match: f"_{match[0]}", name).lower()


def flat(values: Mapping[str, Any], block: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the names and values of a configuration, those in blocks with the names of the blocks before them."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{block}{name}.")
        else:
            yield f"{block}{name}", value
