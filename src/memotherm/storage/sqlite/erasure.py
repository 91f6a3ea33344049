"""Removal of purged content from the text indexes, the vector caches and the write-ahead log.

A purge deletes rows, but copies of the content remain in segments of the text indexes, in cache files and in the
log, which cannot be truncated while another connection reads an older state. The transaction of the purge records
in the store that an erasure is pending; any process can finish it later.
"""

from __future__ import annotations

import logging

from memotherm.errors import StoreBusy, StoreFull, StoreUnavailable
from memotherm.storage.sqlite.bands import Bands
from memotherm.storage.sqlite.connections import Connections
from memotherm.storage.sqlite.statements import SqliteStatements
from memotherm.storage.writer import Writer

__all__ = ["Erasure"]

_log = logging.getLogger(__name__)

#: The metadata key of the pending erasure; its value is the step to do next and the event of the last purge.
_KEY = "erasure"
_INDEXES, _LOG = "indexes", "log"
#: How long the writer waits for readers that are about to finish.
_WAIT_MS = 50


class Erasure:
    """The pending erasure of one store."""

    def __init__(self, connections: Connections, bands: Bands, writer: Writer) -> None:
        self._connections = connections
        self._bands = bands
        self._writer = writer

    @staticmethod
    def record(statements: SqliteStatements, seq: int) -> None:
        """Record, in the transaction of a purge, that its content is to be erased from indexes and log."""
        statements.run("meta_set", key=_KEY, value=f"{_INDEXES}:{seq}")

    @staticmethod
    def is_log(state: str | None) -> bool:
        """Return whether only the log is left to be truncated, which any writer can try at little cost."""
        return state is not None and state.startswith(_LOG)

    def finish(self, *, wait: bool = True) -> None:
        """Do what is pending, as far as other connections permit; what cannot be done yet stays pending."""
        with self._connections.reading(once=True) as statements:
            state: str | None = statements.value("meta_get", key=_KEY)
        if state is None:
            return
        try:
            if state.startswith(_INDEXES):
                state = self._rewrite_indexes(state)
            if self._connections.truncate_log(_WAIT_MS if wait else 0):
                # Unless another purge came in between.
                self._writer.run(lambda statements: statements.run("meta_drop_value", key=_KEY, value=state))
        except StoreBusy:
            return
        except (StoreFull, StoreUnavailable) as exc:
            # The purge itself is committed.
            _log.warning("purged content is not erased from the files yet, which will be tried again: %s", exc)

    def _rewrite_indexes(self, state: str) -> str:
        """Delete the cache files, rewrite the text indexes, and return the next state."""
        self._bands.forget_files()
        following = state.replace(_INDEXES, _LOG, 1)

        def rewrite(statements: SqliteStatements) -> None:
            statements.run("text_live_optimize")
            statements.run("text_cold_optimize")
            statements.run("meta_replace", key=_KEY, before=state, value=following)

        self._writer.run(rewrite)
        return following
