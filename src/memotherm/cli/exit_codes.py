"""The exit code of each error code.

0 ok · 1 failure · 2 usage · 3 not found · 4 conflict · 5 configuration · 130 interrupted
"""

from __future__ import annotations

from memotherm.errors import MemothermError

__all__ = ["CONFIG", "CONFLICT", "EXITS", "FAILURE", "INTERRUPTED", "NOT_FOUND", "OK", "USAGE", "exit_of"]

OK = 0
FAILURE = 1
USAGE = 2
NOT_FOUND = 3
CONFLICT = 4
CONFIG = 5
INTERRUPTED = 130

#: Every error code of `memotherm.errors`; a test keeps the table complete.
EXITS = {
    "error": FAILURE,
    "invalid_input": USAGE,
    "content_too_large": USAGE,
    "budget_too_small": CONFLICT,
    "not_found": NOT_FOUND,
    "limit_reached": CONFLICT,
    "stale_write": CONFLICT,
    "read_only": CONFLICT,
    "forbidden": CONFIG,
    "note_unavailable": CONFIG,
    "settings": CONFIG,
    "policy": CONFIG,
    "store": FAILURE,
    "store_unavailable": CONFIG,
    "not_a_store": CONFIG,
    "wrong_key": CONFIG,
    "schema_too_new": CONFIG,
    "store_busy": CONFLICT,
    "store_full": FAILURE,
    "store_damaged": FAILURE,
    "store_closed": FAILURE,
    "lease_lost": FAILURE,
    "embedder": FAILURE,
    "embedder_unavailable": FAILURE,
    "embedder_refused": CONFIG,
    "dimension_mismatch": CONFIG,
    "plugin": CONFIG,
    "plugin_not_found": CONFIG,
    "plugin_unavailable": CONFIG,
}


def exit_of(error: MemothermError) -> int:
    """Return the exit code of an error."""
    return EXITS.get(error.code, FAILURE)
