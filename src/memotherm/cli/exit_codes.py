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

_CODES = {
    FAILURE: "error store store_full store_damaged store_closed lease_lost embedder embedder_unavailable",
    USAGE: "invalid_input content_too_large",
    NOT_FOUND: "not_found",
    CONFLICT: "budget_too_small limit_reached stale_write read_only store_busy",
    CONFIG: "forbidden note_unavailable settings policy store_unavailable not_a_store wrong_key schema_too_new "
    "embedder_refused dimension_mismatch plugin plugin_not_found plugin_unavailable",
}
#: Every error code of `memotherm.errors`; a test keeps the table complete.
EXITS = {code: exit_code for exit_code, codes in _CODES.items() for code in codes.split()}


def exit_of(error: MemothermError) -> int:
    """Return the exit code of an error."""
    return EXITS.get(error.code, FAILURE)
