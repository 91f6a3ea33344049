"""The exit codes of commands: those of errors (`MemothermError.exit_code`), and of other ends."""

from __future__ import annotations

__all__ = ["CONFIG", "CONFLICT", "FAILURE", "INTERRUPTED", "NOT_FOUND", "OK", "USAGE"]

OK = 0
FAILURE = 1
USAGE = 2
NOT_FOUND = 3
CONFLICT = 4
CONFIG = 5
INTERRUPTED = 130
