"""The log of recalls on a PostgreSQL server; on a cluster, memories without a tenant are counted by themselves."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from memotherm.model.clock import to_micros
from memotherm.storage.log_writer import Logged
from memotherm.storage.postgres.base import PostgresBase
from memotherm.storage.statements import Statements
from memotherm.storage.uses import add_later_use, count_uses
from memotherm.storage.values import LaterUse, RecallEntry, Use

__all__ = ["PostgresUsage"]


class PostgresUsage(PostgresBase):
    """The part of a store that counts uses."""

    def log_recall(self, entry: RecallEntry, *, keep: bool) -> None:
        """Count the uses of a recall and log it; on a cluster, memories without a tenant are counted by themselves.

        They are on other nodes than the tenant's memories, and a tenant's transaction needs one node.
        """
        super().log_recall(entry, keep=keep)
        if not self._connections.distributed or not self.tenant:
            return
        shared = self._shared_among({*(use.no for use in entry.uses), *(no for no, _ in entry.relevance)})
        if shared:
            uses = tuple(use for use in entry.uses if use.no in shared)
            relevance = tuple(pair for pair in entry.relevance if pair[0] in shared)
            self.for_tenant("").log_recall(replace(entry, uses=uses, relevance=relevance, receipt=None), keep=False)

    def log_later_use(self, later: LaterUse) -> None:
        """Record and count a use that followed a recall; never wait for other writers of the tenant."""
        super().log_later_use(later)
        self._count_shared([self._uncounted.popleft() for _ in range(len(self._uncounted))])

    @property
    def _log_tenant(self) -> str | None:
        return self.tenant

    def _write_log(
        self, tenant: str | None, waiting: Sequence[Logged], committing: AbstractContextManager[None]
    ) -> None:
        view = self if tenant == self.tenant else self.for_tenant(tenant)
        super(PostgresUsage, view)._write_log(tenant, waiting, committing)

    def _log_entries(self, statements: Statements, entries: Sequence[Logged]) -> None:
        if self._connections.distributed:
            window = self._shared.window_micros
            later = [logged.entry for logged in entries if isinstance(logged.entry, LaterUse)]
            self._uncounted.extend(use for use in later if add_later_use(statements, use, window))
            entries = [logged for logged in entries if isinstance(logged.entry, RecallEntry)]
        super()._log_entries(statements, entries)

    def _shared_among(self, nos: Collection[int]) -> set[int]:
        """Return those of some memories that have no tenant."""
        return {no for (no,) in self._unlogged_rows("shared_numbers", nos=list(nos))} if nos else set()

    def _count_shared(self, later: Sequence[LaterUse]) -> None:
        """Count the uses of memories without a tenant, which a transaction of the tenant cannot change."""
        shared = self._shared_among({use.no for use in later}) if self.tenant else set()
        if not shared:
            return
        with self.for_tenant("")._writing() as statements:
            for use in later:
                if use.no in shared:
                    counted = Use(use.no, use.weight, times=0), to_micros(use.at)
                    count_uses(statements, [counted], self._shared.window_micros)
