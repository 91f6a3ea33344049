"""The readers of transcripts, one module for each program."""

from __future__ import annotations

from memotherm.history.records import Source

__all__ = ["SOURCES"]

#: By name.
SOURCES: dict[str, Source] = {}
